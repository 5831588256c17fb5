"""A student of theory: a formula, a program and a theorem of their own, checked, certified, and put into a thesis."""

from __future__ import annotations

import csv
import shutil
from fractions import Fraction
from pathlib import Path

import pytest

from tests.roles.conftest import Desk
from tests.shell import in_a_shell, installed

EXAMPLE = Path(__file__).parents[2] / "examples" / "own-theorem" / "src" / "own_theorem"
PNG = b"\x89PNG"
FORMULA = """alphabet a b c
# As many a's as b's, and no c before the last a.
#<[Q_a] = #<[Q_b] and not once (Q_a and once Q_c)
"""
PROGRAM = """# Twice as many a's as b's.
alphabet a b
twice := #[Q_a] - 2*#[Q_b]
accept twice = 0
"""


def test_a_formula_in_the_command_is_run_checked_and_certified(desk: Desk) -> None:
    assert desk.types('softmachine run "#<[Q_a] = 2" abba').out.splitlines()[-1].startswith("accept  in one pass")
    checked = desk.types('softmachine check "#<[Q_a] = 2" --up-to 6').out.splitlines()
    assert checked[0].startswith("127 inputs, 769 tokens, no disagreement")
    assert checked[1] == "alphabet: a b (others: --alphabet SYMBOLS)"
    wider = desk.types('softmachine check "#<[Q_a] = 2" --up-to 4 --alphabet abc').out
    assert wider.startswith("121 inputs")


def test_a_formula_of_their_own_gets_a_certificate_with_table_and_picture(desk: Desk) -> None:
    desk.writes("pairs.ltl", FORMULA)
    assert desk.types("softmachine run pairs.ltl abcc").out.splitlines()[1] == "0  1  1  1"
    assert "1,093 inputs" in desk.types("softmachine check pairs.ltl --up-to 6").out
    said = desk.types("softmachine certify pairs.ltl --length 100 --csv pairs.csv --latex pairs.tex --plot pairs.png")
    assert said.out.startswith("certificate for every input up to 100 symbols, scale ")
    assert all(f"written to pairs.{ending}" in said.out for ending in ("csv", "tex", "png"))
    rows = list(csv.DictReader(desk.reads("pairs.csv").splitlines()))
    assert {row["lemma"] for row in rows} <= {"exact", "Lemma 6", "Lemma 7", "Lemma 33"}
    assert all(row["holds"] == "true" and row["length"] == "100" for row in rows)
    assert all(Fraction(row["error_out"]) < Fraction(1, 4) for row in rows)
    assert desk.reads("pairs.tex").startswith(r"\begin{tabular}")
    assert (desk.folder / "pairs.png").read_bytes().startswith(PNG)


def test_what_is_certified_runs_softly_and_says_for_how_long(desk: Desk) -> None:
    desk.writes("pairs.ltl", FORMULA)
    assert "accept" in desk.types("softmachine run pairs.ltl abcc --attention soft --length 20").out
    said = desk.types("softmachine check pairs.ltl --up-to 4 --attention soft --length 20", status=2).err
    assert "leave out --length" in said
    desk.types("softmachine check pairs.ltl --up-to 4 --attention soft")


def test_a_mistake_is_shown_where_it_is(desk: Desk) -> None:
    desk.writes("pairs.ltl", FORMULA.replace("once Q_c", "once c"))
    said = desk.types("softmachine check pairs.ltl --up-to 6", status=2).err.splitlines()
    assert said[0] == "error: pairs.ltl:3:46: unknown name 'c'"
    assert said[2].index("^") == said[1].index("c)")
    assert said[3] == "  write Q_c for the symbol c"


def test_a_program_of_their_own(desk: Desk) -> None:
    desk.writes("twice.crasp", PROGRAM)
    assert "accept" in desk.types("softmachine run twice.crasp aba").out
    assert "no disagreement" in desk.types("softmachine check twice.crasp --up-to 6").out
    assert "classes: unclear: like n^1.50" in desk.types("softmachine slices twice.crasp --up-to 9").out
    desk.types("softmachine compile twice.crasp -o twice")
    assert "reject" in desk.types("softmachine run twice abb").out


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the example's package, as somebody would begin with it."""
    shutil.copytree(EXAMPLE, tmp_path / "src" / "minority")
    module = tmp_path / "src" / "minority" / "majority.py"
    text = module.read_text(encoding="utf-8").replace('"majority"', '"minority"')
    text = text.replace('word.count("a") > word.count("b")', 'word.count("a") < word.count("b")')
    module.write_text(text.replace("MAJORITY = ", "MINORITY = "), encoding="utf-8")
    installed(tmp_path / "src", "minority", "softmachine.theorems", "minority = minority.majority:MINORITY")
    return module


@pytest.mark.slow
def test_a_theorem_of_their_own_whose_first_proof_is_wrong(package: Path, tmp_path: Path) -> None:
    """The language was changed and the proof was not: `check` says on which word, and then that it holds."""

    def softmachine(arguments: str) -> tuple[int, str]:
        done = in_a_shell(f"softmachine {arguments}", tmp_path, [tmp_path / "src"])
        return done.returncode, done.stdout + done.stderr

    status, said = softmachine("check minority --up-to 4")
    assert status == 1
    assert "input a: " in said
    right = package.read_text(encoding="utf-8").replace('"a": (1,), "b": (-1,)', '"a": (-1,), "b": (1,)')
    package.write_text(right, encoding="utf-8")
    assert softmachine("check minority --up-to 6")[0] == 0
    status, said = softmachine("certify minority --length 100")
    assert status == 0
    assert "mean" in said
    assert softmachine("theorems minority")[1].startswith("minority: ")
