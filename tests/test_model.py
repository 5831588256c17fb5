"""Properties and texts of models and theorems."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import pytest

import softmachine as sm
from softmachine.support.errors import ConstructionError, UsageError
from softmachine.testing import load_as
from softmachine.theorems import all_theorems, applicable_theorems, find_theorem, get_theorem
from tests.models import model_of


def machine() -> sm.TuringMachine:
    return load_as("increment", sm.TuringMachine)


def test_a_model_knows_its_source_its_theorem_and_its_name() -> None:
    model = model_of("increment")
    assert model.source == machine()
    assert model.theorem is get_theorem("turing-average-hard")
    assert (model.name, model.attention, model.context) == ("increment", "hard", None)
    assert str(model) == str(model.weights)
    assert model._repr_html_() == model.weights._repr_html_()


def test_a_model_is_a_value() -> None:
    assert sm.compile("increment") == sm.compile(machine())
    assert sm.compile("increment") != sm.compile("parity")
    with pytest.raises(FrozenInstanceError):
        model_of("increment").context = 5  # type: ignore[misc]


def test_a_model_is_compiled_as_it_is() -> None:
    model = model_of("increment", "turing-residue-address", length=32)
    assert sm.compile(model) is sm.compile(model, "turing-residue-address", attention="hard", length=16) is model
    with pytest.raises(UsageError, match="is already compiled with turing-residue-address, hard attention"):
        sm.compile(model, "turing-average-hard")
    with pytest.raises(UsageError, match="is already compiled"):
        sm.compile(model, attention="soft")
    with pytest.raises(UsageError, match="was built for length 32, not 64"):
        sm.compile(model, length=64)


def test_a_length_belongs_to_the_model_only_if_the_weights_depend_on_it() -> None:
    assert sm.compile("increment", length=9).context is None
    assert model_of("increment", "turing-residue-address", length=32).context == 32
    with pytest.raises(ConstructionError, match="depend on a length"):
        sm.compile("increment", "turing-residue-address")


def test_the_older_name_of_a_theorem_is_taken_too() -> None:
    assert sm.compile("increment", theorem="turing-residue-address", length=32) == model_of(
        "increment", "turing-residue-address", length=32
    )


def test_theorems_are_found_by_name_and_by_source() -> None:
    names = [theorem.name for theorem in all_theorems()]
    assert len(names) == len(set(names)) >= 25
    for theorem in all_theorems():
        assert get_theorem(theorem.name) is theorem
        assert theorem.documentation
        assert theorem.steps
        assert "\n" not in theorem.statement
    assert applicable_theorems(machine())[0] is find_theorem(machine()) is get_theorem("turing-average-hard")
    assert {theorem.language for theorem in applicable_theorems(machine())} == {"turing"}
    assert applicable_theorems("a text") == ()
    assert get_theorem("chapter-9") is None


def test_a_theorem_that_does_not_apply_is_refused_with_those_that_do() -> None:
    with pytest.raises(ConstructionError, match=r"(?s)applies to TuringMachine.*turing-average-hard"):
        find_theorem(machine(), "srasp")


def test_a_theorem_of_ones_own_is_taken_as_it_is() -> None:
    theorem = get_theorem("turing-average-hard")
    assert theorem is not None
    own = replace(theorem, name="own")
    model = sm.compile(machine(), own)
    assert model.theorem is own
    assert sm.run(model, "11").output == "100"
    with pytest.raises(ConstructionError, match="does not define soft attention"):
        own.choose_attention("soft")


@pytest.mark.parametrize(("source", "word", "last"), [("palindrome", "abba", 20), ("Q_a since Q_b", "abba", 4)])
def test_beyond_the_certified_length_every_answer_says_so(source: str, word: str, last: int, tmp_path: Path) -> None:
    for certified, beyond in ((last, False), (last - 1, True)):
        model, _ = sm.soften(source, length=certified)
        sm.save(model, tmp_path / str(certified))
        for each in (model, sm.load(tmp_path / str(certified))):
            run = sm.run(each, word)
            assert run.accepted
            assert any("beyond the certified length" in note for note in run.notes) == beyond
            assert ("beyond the certified length" in run.format_summary()) == beyond
