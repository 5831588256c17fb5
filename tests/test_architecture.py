"""docs/architecture.md against the code: the order of packages, no cycles, and the files that one run enters."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import networkx as nx
import pytest

import softmachine

ROOT = Path(softmachine.__file__).parent
MAP = (Path(__file__).parent.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
ORDER = [
    "support",
    "languages",
    "transformer",
    "ir",
    "theorems",
    "compiler",
    "engines",
    "certify",
    "exports",
    "inspection",
    "studies",
    "api",
    "cli",
    "testing",
]


def table(heading: str) -> list[list[str]]:
    """The rows of the table below a heading, without its first two lines."""
    section = MAP.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    rows = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[2:]]


def modules() -> dict[str, Path]:
    """All modules by name."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(("softmachine", *(part for part in parts if part != "__init__")))] = path
    return found


MODULES = modules()


def imports(path: Path) -> Iterator[str]:
    """The modules that a file imports, also inside functions; not those that only types need."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typed = [node for node in ast.walk(tree) if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    ignored = {id(inner) for block in typed for part in block.body for inner in ast.walk(part)}
    for node in ast.walk(tree):
        if id(node) in ignored:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if full in MODULES else node.module


def package(module: str) -> str:
    """The top-level name that a module belongs to."""
    return module.split(".")[1] if "." in module else "__init__"


def test_the_page_states_the_order_and_describes_every_package() -> None:
    assert re.findall(r"\w+", MAP.split("\n    support <", 1)[1].partition("\n")[0]) == ORDER[1:]
    assert [row[0].strip("`") for row in table("Flow")] == ORDER
    assert {package(module) for module in MODULES} == {*ORDER, "__init__", "__main__", "rasp"}


def test_modules_import_only_from_packages_further_left() -> None:
    rank = {name: ORDER.index(name) for name in ORDER} | {"rasp": ORDER.index("ir"), "__init__": 99, "__main__": 99}
    edges = {
        (module, name) for module in MODULES for name in imports(MODULES[module]) if name.startswith("softmachine")
    }
    wrong = [(a, b) for a, b in edges if rank[package(b)] > rank[package(a)]]
    assert not wrong
    apart = {"languages", "transformer"}
    assert not [(a, b) for a, b in edges if {package(a), package(b)} == apart]


def test_there_are_no_cycles_not_even_through_functions() -> None:
    edges = ((module, name) for module, path in MODULES.items() for name in imports(path) if name != module)
    graph = nx.DiGraph((a, b) for a, b in edges if b in MODULES and not a.startswith(f"{b}."))
    assert not [sorted(found) for found in nx.strongly_connected_components(graph) if len(found) > 1]


ENTERED = """
import sys
from softmachine.cli import main

root, order = sys.argv[1], {}

def enter(frame, event, argument):
    code = frame.f_code
    if event != "call" or not code.co_filename.startswith(root) or not code.co_flags & 2 or code.co_filename in order:
        return
    while frame is not None and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    if frame is None or not frame.f_code.co_filename.startswith(root):  # it is not just being imported
        order[code.co_filename] = None

sys.setprofile(enter)
main(["run", "palindrome", "abba", "--quiet"])
sys.setprofile(None)
print("ENTERED", *(name[len(root) + 1:] for name in order))
print("IMPORTED", *(name for name in sys.modules if name.partition(".")[0] == "softmachine"))
"""


@pytest.fixture(scope="module")
def run() -> dict[str, list[str]]:
    """The files that a run enters, in order, and the modules that it imports."""
    command = [sys.executable, "-c", ENTERED, str(ROOT)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return {words[0]: words[1:] for words in (line.split() for line in printed)}


def test_the_path_of_one_run_names_the_files_that_are_entered_in_order(run: dict[str, list[str]]) -> None:
    listed = [name for row in table("The path of one run") for name in re.findall(r"`([^`]+\.py)`", row[1])]
    assert listed == run["ENTERED"]


def test_one_run_imports_few_modules(run: dict[str, list[str]]) -> None:
    assert len(run["IMPORTED"]) <= 100


def imported_by(*arguments: str) -> set[str]:
    """The modules of softmachine that a command imports."""
    code = f"import sys; from softmachine.cli import main; main({list(arguments)!r}); print('MODULES', *sys.modules)"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    return {name for name in printed.rpartition("MODULES")[2].split() if name.partition(".")[0] == "softmachine"}


def test_a_formula_is_checked_without_the_parsers_of_other_languages() -> None:
    modules = imported_by("check", "Q_a since Q_b", "--up-to", "2")
    assert len(modules) <= 160
    languages = {path.name for path in (ROOT / "languages").iterdir() if (path / "parser.py").is_file()}
    assert not modules & {f"softmachine.languages.{name}.parser" for name in languages - {"temporal"}}


SAME_NAMES = """
import importlib, pkgutil, softmachine
before = {name: getattr(softmachine, name) for name in softmachine.__all__}
for module in pkgutil.walk_packages(softmachine.__path__, "softmachine."):
    if module.name != "softmachine.__main__":
        try:
            importlib.import_module(module.name)
        except (ImportError, softmachine.SoftmachineError):  # an extra is not installed
            pass
print(*(name for name, item in before.items() if getattr(softmachine, name) is not item))
print(callable(softmachine.ir.evaluate))
"""


def test_public_names_are_the_same_objects_after_all_modules_were_imported() -> None:
    command = [sys.executable, "-W", "ignore", "-c", SAME_NAMES]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "\nTrue\n"


def test_importing_softmachine_imports_nothing_heavy() -> None:
    code = "import softmachine, sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "numba", "flint", "yaml", "lark", "torch", "transformers", "rich"} & set(loaded)
