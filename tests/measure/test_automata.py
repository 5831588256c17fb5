"""Lemma 4.2 of "Softmax Transformers are Turing-Complete": the automata of programs, built, run and minimised."""

from __future__ import annotations

from itertools import product

import pytest

from softmachine.languages.crasp import CraspProgram, run
from softmachine.studies.measure.crasp_automaton import build_automaton
from softmachine.studies.measure.growth_laws import find_closed_form
from softmachine.studies.measure.myhill_nerode import compute_slices
from softmachine.support.errors import UsageError
from softmachine.testing import load_as


@pytest.mark.parametrize("name", ["majority-crasp", "parity-crasp", "dyck-1-crasp", "in-order-crasp", "anbncn-crasp"])
def test_the_automaton_accepts_what_the_program_does(name: str) -> None:
    """With and without chain of thought; its classes are those of the language's slices."""
    given = load_as(name, CraspProgram)
    n = 7 if len(given.alphabet) == 2 else 5
    built = build_automaton(given, n)
    words = [word for length in range(n + 1) for word in product(given.alphabet, repeat=length)]
    assert [word for word in words if built.accepts(word) != run(given, word).accepted] == []
    (whole,) = compute_slices(lambda word: run(given, word).accepted, given.alphabet, [n])
    assert built.count_classes(n) == whole.classes


@pytest.mark.parametrize("name", ["majority-crasp", "parity-crasp"])
def test_automata_of_programs_have_polynomially_many_states(name: str) -> None:
    """At eight lengths: n² + n + 1."""
    sizes = {n: build_automaton(load_as(name, CraspProgram), n).size for n in (1, 2, 4, 8, 12, 16, 20, 24)}
    assert str(find_closed_form(sizes)) == "n² + n + 1"


def test_a_program_that_counts_through_r_has_no_such_automaton() -> None:
    with pytest.raises(UsageError, match="depends on positions"):
        build_automaton(load_as("palindrome-relative", CraspProgram), 3)
