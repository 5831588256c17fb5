"""Hints that name options are values, and work when they are followed."""

from __future__ import annotations

import ast
import json
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import softmachine
from softmachine.cli.errors import apply_hint
from softmachine.support.errors import FixHint
from tests.cli.conftest import Cli

ROOM = Path(softmachine.__file__).parent
Site = tuple[str, int]
"""A file, and a line in it."""

REFUSED = (
    "run busy-beaver-3 --theorem turing-ternary --context 24",
    "run palindrome abba --theorem turing-residue-address --context 5",
    "compile palindrome -o {folder} --theorem turing-ternary",
    "run busy-beaver-5 --theorem turing-residue-address",
    "run palindrome abba --engine dense --audit 3",
    "run palindrome abba --seed 3",
    "run palindrome abba --unchecked --verify",
    "slices parity-crasp --volume --automata --up-to 3",
    "run palindrome abba --engine dense --checkpoint {folder}/run.npz",
    "run 'Q_a since Q_b' ab --engine fast",
    "run full-adder 010 --engine fast",
    "run palindrome abba --theorem turing-counter",
    "run palindrome abba --attention soft --arithmetic exact",
    "run palindrome abba --attention soft --arithmetic int8",
    "run palindrome abba --arithmetic int8",
    "run busy-beaver-4 --arithmetic float8_e5m2",
    "run 'next Q_a' ab --theorem temporal-masked",
    "run palindrome ab --sample --theorem turing-average-hard-summary",
    "run palindrome abba --svg-of attention",
    "run palindrome abba --svg {folder}.svg --svg-of board",
    "check parity",
    "check adder-8",
    "check parity --up-to 3 --sample 3 --length 2",
    "check 'Q_a since Q_b' --up-to 3 --attention soft --length 20",
    "dataset palindrome --sample 3 --length 4 --near-misses -o {folder}.jsonl",
    "dataset palindrome --up-to 3 --max-steps 8 -o {folder}.jsonl",
    "check {product} --up-to 2",
    "check {product} --up-to 2 --context 3000",
    "run 'Q_a since Q_b' ab --theorem temporal-masked --checkpoint {folder}/run.npz",
    "run palindrome abba --html-at 3",
    "run 'half(i)' ab --theorem temporal-masked",
    "run '#<[Q_a] >= #>[Q_b]' ab --theorem temporal-layer-norm",
    "reduce one-way-streets 'home station'",
    "slices palindrome --up-to 4 --automata",
    "run '#<[Q_a] >= 2' ab --theorem temporal-unique-hard",
    "show parity-8 --growth 2,4,8",
    "rewrite 'Q_a since Q_b' --as softmax-fixed-point --up-to 2 --arithmetic float64",
)
"""Commands that are refused with a hint that names options."""
PRODUCT = "# alphabet: a b\nx = selector_width(select(tokens, tokens, ==)) * length;\n"
"""A RASP program that takes a table for each length."""

BEYOND = {
    "theorems/codec.py": "models that part from their source, which none of ours does: tests/engines/test_verify.py",
    "exports/folder.py": "a folder that is there: tests/exports/test_folders.py",
    "support/files.py": "a file that is there: tests/test_files.py",
    "certify/promises.py": "weights that were edited: tests/certify/test_promises.py",
    "studies/sweeps.py": "a cluster that makes other weights: tests/sweeps/test_check.py",
    "engines/numerics/base.py": "layer norm of several numbers, which no theorem has: tests/signals/test_norm.py",
    "engines/numerics/exact.py": "likewise",
    "support/resources.py": "what is refused takes more than ten minutes",
    "engines/fast/engine.py": "numbers of more than 62 bits, which no zoo entry has",
    "engines/fast/indexes/linear_scan.py": "likewise",
    "engines/fast/indexes/arrays.py": "likewise",
    "engines/fast/checkpoint.py": "damaged files: tests/engines/fast/test_saved_run.py",
    "engines/dense/forward_pass.py": "logits that float64 does not tell apart, which no zoo entry has",
    "studies/learn/data.py": "training needs torch: tests/learn",
    "engines/dense/run.py": "in Python only: the command refuses before",
    "engines/numerics/float.py": "numbers beyond 10^308",
    "engines/numerics/low_precision.py": "numbers beyond the range of a format",
    "engines/numerics/int8.py": "three ways in which int8 is too small; one is tried",
    "inspection/inspection.py": "softmax that 128 bits do not decide, which no zoo entry has",
    "exports/export.py": "exports take long, and torch",
    "cli/export.py": "likewise",
    "engines/fast/run.py": "models that the fast engine declines: tests/engines/fast",
}
"""Where hints are made that are not all followed here, and why."""


def sites() -> Iterator[Site]:
    """Where remedies are made."""
    for file in ROOM.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Remedy":
                yield str(file.relative_to(ROOM)), node.lineno


def test_hints_that_name_options_are_remedies() -> None:
    for file in ROOM.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.keyword) and node.arg == "hint" and not isinstance(node.value, ast.Call):
                texts = [part.value for part in ast.walk(node.value) if isinstance(part, ast.Constant)]
                named = [text for text in texts if isinstance(text, str) and "--" in text.replace("--help", "")]
                assert not named, f"{file}:{node.value.lineno}: a hint that names an option is a Remedy"


def test_every_remedy_works_when_it_is_followed(cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made: list[tuple[FixHint, Site]] = []
    plain = FixHint.__init__

    def recorded(self: FixHint, text: str = "{}", **options: str | int | None) -> None:
        plain(self, text, **options)
        frame = sys._getframe(1)
        made.append((self, (str(Path(frame.f_code.co_filename).relative_to(ROOM)), frame.f_lineno)))

    monkeypatch.setattr(FixHint, "__init__", recorded)
    reached: set[Site] = set()
    product = tmp_path / "product.rasp"
    product.write_text(PRODUCT, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for number, command in enumerate(REFUSED):
        folder = tmp_path / str(number)
        arguments = shlex.split(command.format(folder=folder, product=product))
        if "--checkpoint" in arguments:
            folder.mkdir()
        made.clear()
        called = cli(*arguments, "--json")
        assert called.status == 2, command
        problem = json.loads(called.out)["error"]
        remedy, site = next((remedy, site) for remedy, site in reversed(made) if str(remedy) == problem["hint"])
        reached.add(site)
        again = apply_hint(remedy, arguments)
        assert shlex.split(problem["try"])[1:] == apply_hint(remedy, [*arguments, "--json"])
        assert cli(*again).status in (0, 3), f"{command}: {problem['hint']}"
    missed = {site for site in sites() if site not in reached and site[0] not in BEYOND}
    assert not missed, "a command in REFUSED should come here"


@pytest.mark.parametrize(
    ("before", "options", "after"),
    [
        ("run x --engine dense ab", {"engine": "fast"}, "run x ab --engine fast"),
        ("run x --engine=dense -- -a", {"engine": "fast"}, "run x --engine fast -- -a"),
        ("run x --resume f ab", {"resume": None}, "run x ab"),
        ("slices x --automata --up-to 4", {"automata": False}, "slices x --up-to 4"),
        ("run x ab", {"max_steps": 5, "yes": True}, "run x ab --max-steps 5 --yes"),
    ],
)
def test_a_remedy_takes_the_place_of_what_was_said(
    before: str, options: dict[str, str | int | None], after: str
) -> None:
    assert apply_hint(FixHint(**options), before.split()) == after.split()  # type: ignore[arg-type]
