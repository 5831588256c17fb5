"""Every command and every piece of Python on the pages and in the help is run, and its output compared.

``tests/pages.py`` parses pages. Times, speeds and sizes of files are not compared. Output is that of a terminal with
100 columns.
"""

from __future__ import annotations

import importlib.util
import re
import shlex
import shutil
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import softmachine
from softmachine.cli.app import COMMANDS, EXAMPLES
from tests import pages
from tests.command_output import commands
from tests.pages import Item
from tests.shell import in_a_shell, installed

ROOT = Path(__file__).parent.parent
ZOO = Path(softmachine.__file__).parent / "languages" / "zoo"
EXAMPLE = ROOT / "examples" / "own-theorem"
OWN = ROOT / "docs" / "own-theorem.md"
CHOOSING = ROOT / "docs" / "own-theorem-2.md"
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md"), *ROOT.glob("src/**/*.md")]

NOT_RUN = {
    "pip ": "needs the network; .ci/run does it",
    "pytest ": "runs this test",
    "dask ": "starts servers that do not terminate; tests/sweeps/test_cluster.py does it",
    "softmachine run busy-beaver-5 --engine dense": "takes a day, as stated on the page",
    "softmachine run ends-in-ab": "needs the written package; tests/cli/test_new.py installs one",
    'softmachine run "at least 3"': "needs the format that the page describes; tests/outside has one",
    'softmachine check "Q_a since Q_b" --up-to 26': "needs a cluster; tests/sweeps/test_cluster.py has one",
    "softmachine learn division-counter": "trains for minutes; tests/learn trains tiny models",
    "softmachine experiments": "trains for half an hour and more; tests/learn does both with tiny models",
    "softmachine --install-completion": "would change the user's shell",
}
"""Prefixes of commands that are not run, with the reason."""
MENTIONED = ("run", "export", "certify", "check", "show", "compile", "circuit", "slices", "dataset", "learn")
"""Commands whose bare name, in the text, is not a call."""
SLOW = (
    "busy-beaver-5",
    "export",
    "transformers",
    "0RA0RA",
    "turing-counter-relative-bias",
    "turing-ternary-summary",
    "dataset division-counter",
    "check increment",
    "slices majority-crasp",
    "atlas",
    "softmachine bench",
    "softmachine learn",
    "universal",
)
"""Parts of items that take more than two seconds."""
NEEDS = {
    "transformer_lens": ("transformer_lens", "def write(stream"),
    "torch": ("softmachine export", "from transformers", "softmachine learn", "softmachine.studies.learn"),
    "pyarrow": (".parquet",),
    "matplotlib": ("--plot", "--probes"),
}
"""Package → parts of items that need it."""
MISSING = [package for package in NEEDS if importlib.util.find_spec(package) is None]
FILES = {"loop.bench": "INPUT(x)\nOUTPUT(y)\ny = AND(x, z)\nz = NOT(y)\n"}
"""Files that pages mention, besides those of the zoo."""


def texts() -> dict[str, list[Item]]:
    """Return the items of every page and every help text, by name."""
    found = {page.relative_to(ROOT).as_posix(): pages.items(page.read_text(encoding="utf-8")) for page in PAGES}
    found["--help"] = pages.examples(EXAMPLES)
    for name in COMMANDS:
        found[f"{name} --help"] = pages.examples(import_module(f"softmachine.cli.{name}").EXAMPLES)
    return found


def is_runnable(item: Item) -> bool:
    """Return whether an item is run here."""
    mention = item.kind == "command" and item.text.removeprefix("softmachine ") in MENTIONED
    return not item.text.startswith(tuple(NOT_RUN)) and not mention


def cases() -> list[object]:
    """Return one test case for each group of items that depend on one another."""
    found: list[object] = []
    seen: set[str] = set()
    for page, items in texts().items():
        for group in pages.groups([item for item in items if is_runnable(item)]):
            whole = "\n".join(item.text for item in group)
            if whole in seen and not any(item.output for item in group):
                continue
            seen.add(whole)
            lacking = {item: package for item in group for package in MISSING if needs(item, package)}
            runnable = [item for item in group if item not in lacking]
            marks = [pytest.mark.slow] if any(part in whole for part in SLOW) else []
            found += [case(page, runnable, *marks)] if runnable else []
            found += [case(page, [item], pytest.mark.skip(reason=f"needs {lacking[item]}")) for item in lacking]
    return found


def case(page: str, group: list[Item], *marks: pytest.MarkDecorator) -> object:
    """Return a case of the test below."""
    return pytest.param(page, group, marks=marks, id=f"{page}:{group[0].line} {group[0].text[:50]!r}")


def needs(item: Item, package: str) -> bool:
    """Return whether an item needs a package."""
    return any(part in item.text for part in NEEDS[package])


def run_with_example(item: Item, folder: Path) -> tuple[int, str]:
    """Run a command in a shell, with the example package installed; return status and output."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    entries = dict(project["entry-points"]["softmachine.theorems"])
    broken = "own_theorem.majorty:MAJORITY"
    if broken in (item.output or ""):
        entries["majority"] = broken
    lines = "\n".join(f"{name} = {module}" for name, module in entries.items())
    place = installed(folder / "site", "own_theorem", "softmachine.theorems", lines)
    done = in_a_shell(item.text, folder, [place, EXAMPLE / "src"], **commands.ENVIRONMENT)
    return done.returncode, done.stdout + done.stderr


def run_command(item: Item, folder: Path) -> tuple[int, str]:
    """Run a command, in this process if possible; return status and output."""
    if " | " in item.text or re.search(r"\b(majority|same-ends)\b(?!-)", item.text):
        status, printed = run_with_example(item, folder)
        return status, "\n".join(commands.normalise(printed, folder))
    program, *words = shlex.split(item.text)
    assert program == "softmachine"
    (result,) = commands.execute(commands.Line("", shlex.join(words)), folder)
    return result["status"], "\n".join([*result["out"], *result["err"]])


def difference(item: Item, names: dict[str, object], shown: str, folder: Path) -> str:
    """Run an item and return its difference from the page, whose text is given; empty if there is none."""
    if item.kind != "command":
        printed, wrong = pages.run_python(item, names)
        if item.output is not None:
            return wrong + pages.compare_output(printed, item.output)
        return wrong + "".join(f"not on the page: {x}\n" for x in printed.splitlines() if x.strip() not in shown)
    status, printed = run_command(item, folder)
    if (status != 0) != item.fails:
        return f"status {status}\n{printed}"
    if not item.output:
        return ""
    return pages.compare_output(printed, "\n".join(commands.normalise(item.output, folder)))


@pytest.mark.parametrize(("page", "group"), cases())
def test_a_page_shows_the_actual_output(
    page: str, group: list[Item], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shown = (ROOT / page).read_text(encoding="utf-8") if page.endswith(".md") else ""
    names: dict[str, object] = {}
    for item in group:
        give_files(item.text, shown, tmp_path)
        wrong = difference(item, names, shown, tmp_path)
        assert not wrong, f"{page}:{item.line}: {item.text}\n{wrong}"


def give_files(text: str, shown: str, folder: Path) -> None:
    """Create the files that a text names, and those that its page shows: blocks whose first line is ``# file``."""
    for name, block in re.findall(r"^```\w+\n# ([\w-]+\.\w+)\n(.*?)^```$", shown, flags=re.MULTILINE | re.DOTALL):
        (folder / name).write_text(block, encoding="utf-8")
    for name in re.findall(r"[\w-]+\.(?:bench|cm|crasp)\b", text):
        if name in FILES:
            (folder / name).write_text(FILES[name], encoding="utf-8")
        for known in ZOO.glob(f"*/{name}"):
            shutil.copy(known, folder)


@pytest.mark.parametrize("page", [OWN, CHOOSING], ids=lambda page: page.stem)
def test_the_example_has_the_entry_points_that_the_page_shows(page: Path) -> None:
    (entry,) = re.findall(r"^```toml\n(.*?)^```$", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    assert entry in (EXAMPLE / "pyproject.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("page", "file", "begins"),
    [
        (OWN, "majority.py", "    # Step 1."),
        (OWN, "majority.py", "MAJORITY = "),
        (CHOOSING, "same_ends.py", "    # Step 1."),
        (CHOOSING, "same_ends.py", "SAME_ENDS = "),
    ],
)
def test_the_example_is_the_package_that_the_page_builds(page: Path, file: str, begins: str) -> None:
    found = pages.items(page.read_text(encoding="utf-8"))
    built = next(item.text for item in found if item.kind == "python" and begins in item.text)
    module = (EXAMPLE / "src" / "own_theorem" / file).read_text(encoding="utf-8")
    assert built[built.index(begins) :].removesuffix("\n\ncertify()\n") in module


def test_every_exception_is_needed() -> None:
    everything = [item for items in texts().values() for item in items]
    for start in NOT_RUN:
        assert any(item.text.startswith(start) for item in everything), start
    for part in SLOW:
        assert any(part in item.text for item in everything), part


PAGE = """
Try `softmachine zoo`, `softmachine run FILE` and

    $ softmachine run parity 11 --quiet
    {verdict}  '11'  after {steps} steps, 5 tokens, 80 tokens/s (dense, float64)

    softmachine compile parity -o model    # keeps it

    $ softmachine run model 11 --arithmetic fixed:x
    error: …

```python
1 + 1  # {sum}
print("hello")
```

```text
{greeting}
```

    >>> 2 + 2
    {value}
"""
RIGHT = {"verdict": "reject", "steps": 3, "sum": 2, "greeting": "hello", "value": 4}


def test_the_items_of_a_page_are_found() -> None:
    found = pages.items(PAGE.format(**RIGHT))
    assert [(item.kind, item.text.splitlines()[0], item.line) for item in found] == [
        ("command", "softmachine zoo", 2),
        ("command", "softmachine run parity 11 --quiet", 4),
        ("command", "softmachine compile parity -o model", 7),
        ("command", "softmachine run model 11 --arithmetic fixed:x", 9),
        ("python", "1 + 1  # 2", 13),
        ("session", ">>> 2 + 2", 21),
    ]
    assert [item.output for item in found[2:5]] == [None, "error: …", "hello\n"]
    assert [item.fails for item in found[:4]] == [False, False, False, True]
    assert [[found.index(item) for item in group] for group in pages.groups(found)] == [[0], [1], [2, 3], [4, 5]]


@pytest.mark.parametrize("stale", [{"verdict": "accept"}, {"steps": 4}, {"sum": 3}, {"greeting": "bye"}, {"value": 5}])
def test_a_stale_page_is_detected(stale: dict[str, object], tmp_path: Path) -> None:
    def wrong(values: dict[str, object]) -> str:
        group = [item for item in pages.items(PAGE.format(**values)) if item.line in (4, 13, 21)]
        return "".join(difference(item, {}, "page", tmp_path) for item in group)

    assert not wrong(RIGHT)
    assert wrong(RIGHT | stale)
