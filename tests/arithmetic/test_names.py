"""Arithmetics are found by name: built-in ones as modules of the folder, others by entry points."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import softmachine as sm
from softmachine.engines.numerics import ARITHMETICS, find_arithmetic
from softmachine.support.errors import UsageError

TOY = '''
from softmachine.engines.numerics import ArithmeticFamily
from softmachine.engines.numerics.exact import Exact


class Counting(Exact):
    """Rational numbers that are counted."""

    def __init__(self, name):
        self.name, self.sums = name, 0

    def add(self, x, y):
        self.sums += 1
        return super().add(x, y)


ARITHMETIC = ArithmeticFamily(
    lambda name: Counting(name) if name.startswith("toy:") else None, ("toy:N",), "toy:3 is a toy"
)
'''


@pytest.fixture
def _toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package with an arithmetic."""
    (tmp_path / "toy_numbers.py").write_text(TOY)
    info = tmp_path / "toy-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[softmachine.arithmetics]\ntoy = toy_numbers:ARITHMETIC\n")
    monkeypatch.syspath_prepend(tmp_path)
    vars(ARITHMETICS).pop("_external", None)
    yield
    del vars(ARITHMETICS)["_external"]


@pytest.mark.usefixtures("_toy")
def test_other_packages_bring_arithmetics() -> None:
    run = sm.run(sm.compile("palindrome"), "abba", arithmetic="toy:3")
    assert (run.accepted, run.arithmetic) == (True, "toy:3")
    with pytest.raises(UsageError, match="unknown arithmetic 'toy'") as caught:
        find_arithmetic("toy")
    assert caught.value.hint == "did you mean toy:N?"


@pytest.mark.parametrize("name", ["plain", "rounded", "base", "", "int8:plain"])
def test_all_names_are_listed_where_there_is_none(name: str) -> None:
    with pytest.raises(UsageError, match=f"unknown arithmetic {name!r}") as caught:
        find_arithmetic(name)
    assert caught.value.hint == (
        "choose exact, float64, float32, ball, fixed:B, bfloat16, float16, float8_e4m3fn, float8_e5m2, int8; ball:256 "
        "are balls of 256 bits, float32:plain is float32 without error bounds, fixed:8 has 8 integer and 8 fractional "
        "bits"
    )


@pytest.mark.parametrize(("name", "meant"), [("float46", "float64"), ("exact:3", "exact"), ("fp16", "float16")])
def test_a_similar_name_is_suggested(name: str, meant: str) -> None:
    with pytest.raises(UsageError, match=f"unknown arithmetic {name!r}") as caught:
        find_arithmetic(name)
    assert str(caught.value.hint).startswith(f"did you mean {meant}")


@pytest.mark.parametrize(
    ("name", "modules"),
    [
        ("exact", {"exact", "python_objects"}),
        ("ball:64", {"exact", "interval", "python_objects"}),  # exact has the name in a hint
        ("fixed:8", {"fixed_point", "fixed_point_array"}),
        ("int8", {"int8", "float_unchecked"}),
        ("float32:plain", {"float_unchecked"}),
        ("float64", {"float", "float_affine", "float_mlp", "float_scores", "float_softmax"}),
        ("bfloat16", {"float", "float_affine", "float_mlp", "float_scores", "float_softmax", "low_precision"}),
    ],
)
def test_only_the_modules_of_the_chosen_one_are_imported(name: str, modules: set[str]) -> None:
    find = f"from softmachine.engines.numerics import find_arithmetic; find_arithmetic({name!r})"
    code = f"import sys; {find}; print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    own = {module.removeprefix("softmachine.engines.numerics.") for module in found if ".numerics." in module}
    assert own - {"base"} == modules
