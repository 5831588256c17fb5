"""Assertions hold for right models and fail, with a message, for wrong ones."""

from __future__ import annotations

import random
import subprocess
import sys
from dataclasses import replace

import pytest

import softmachine as sm
from softmachine.engines.fast import code_cache
from softmachine.ir import Program, attend, stack, token
from softmachine.languages.turing import TuringMachine
from softmachine.support.errors import UsageError
from softmachine.testing import (
    arithmetics_for,
    assert_agrees,
    assert_computes_signals,
    assert_engines_agree,
    assert_kept_as_text,
    assert_theorem_holds,
    load_as,
    random_word,
    strings,
    words,
)
from softmachine.testing.temporal import random_specification
from softmachine.testing.turing import random_turing_machine
from softmachine.theorems import find_theorem
from tests.models import model_of


def wrong_model() -> sm.Model:
    """The weights of one formula with the codec of another."""
    return replace(model_of("Q_a since Q_b"), codec=model_of("Q_a and Q_b").codec)


def test_a_right_model_agrees_and_the_report_counts_inputs() -> None:
    assert assert_agrees("Q_a since Q_b", up_to=3).inputs == 15
    assert assert_agrees(model_of("palindrome"), ["abba", ("a", "b")]).inputs == 2
    assert assert_agrees("full-adder").inputs == 8


def test_a_wrong_model_fails_with_its_theorem_arithmetic_and_first_inputs() -> None:
    with pytest.raises(AssertionError) as caught:
        assert_agrees(wrong_model(), up_to=3, arithmetic="exact")
    first, *others = str(caught.value).splitlines()
    assert "temporal-encoder, hard attention, exact: wrong on" in first
    assert first.endswith("of 15 inputs")
    assert 1 <= len(others) <= 5
    assert all(line.startswith("  input ") for line in others)


def test_a_comparison_without_inputs_is_an_error() -> None:
    with pytest.raises(UsageError, match="no input"):
        assert_agrees("palindrome", [])


def test_a_theorem_is_tested_in_every_attention_and_arithmetic(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def record(model: sm.Model, *_: object, arithmetic: str, **__: object) -> None:
        tried.append((model.attention, arithmetic))

    monkeypatch.setattr("softmachine.testing.agreement.assert_agrees", record)
    assert_theorem_holds("temporal-encoder", model_of("Q_a since Q_b").source, up_to=2)
    assert tried == [("hard", "float64"), ("hard", "exact"), ("soft", "float64"), ("soft", "ball")]
    tried.clear()
    assert_theorem_holds("turing-average-hard", model_of("parity").source, up_to=2, certified=10)
    assert tried == [("hard", "float64"), ("hard", "exact"), ("soft", "float64"), ("soft", "ball")]


@pytest.mark.parametrize("seed", range(3))
def test_theorems_hold_on_random_sources(seed: int) -> None:
    assert_theorem_holds("turing-average-hard", random_turing_machine(seed), up_to=2, max_steps=30)
    assert_theorem_holds("temporal-encoder", random_specification(seed, depth=3), up_to=3)


def test_a_wrong_theorem_does_not_hold() -> None:
    right = find_theorem(model_of("Q_a").source)
    other = model_of("Q_b")
    wrong = replace(right, signals=lambda _, attention: other.theorem.signals(other.codec, attention))
    with pytest.raises(AssertionError, match="wrong on"):
        assert_theorem_holds(wrong, model_of("Q_a").source, up_to=2)


def test_softmax_runs_in_balls_and_hard_attention_in_rationals() -> None:
    assert arithmetics_for(model_of("Q_a since Q_b")) == ("float64", "exact")
    assert arithmetics_for(model_of("Q_a since Q_b", None, "soft")) == ("float64", "ball")


def test_engines_agree_and_a_difference_is_located(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("softmachine.engines.fast.engine.compile_code", code_cache.define_plain)
    assert_engines_agree(model_of("increment"), ["", "1011"])
    real = sm.api.run

    def other(model: sm.Model, word: str, *, engine: str, max_steps: int) -> sm.Run:
        run: sm.Run = real(model, word if engine == "dense" else "0", engine="dense", max_steps=max_steps)
        return run

    monkeypatch.setattr("softmachine.testing.agreement.run", other)
    with pytest.raises(AssertionError, match=r"increment on '1': the dense and the fast engine differ at token \d"):
        assert_engines_agree(model_of("increment"), ["1"])


def test_weights_compute_signals_and_a_difference_is_located(monkeypatch: pytest.MonkeyPatch) -> None:
    value = token("a", {"a": (1,), "b": (0,)})
    program = Program("share", ("a", "b"), ("no", "yes"), stack(value - value, attend("share", value=value)))
    assert [row[1] for row in assert_computes_signals(program, "aab")] == [1, 1, pytest.approx(2 / 3)]
    monkeypatch.setattr("softmachine.testing.agreement.logits", lambda *_: [[0, 0]] * 3)
    with pytest.raises(AssertionError, match="logits at position 0: the weights give"):
        assert_computes_signals(program, "aab")


def test_a_source_whose_text_loses_something_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    source = load_as("increment", TuringMachine)
    assert_kept_as_text(source)
    monkeypatch.setattr("softmachine.testing.agreement.deserialise_source", lambda *_: replace(source, name="another"))
    with pytest.raises(AssertionError, match="comes back"):
        assert_kept_as_text(source)


def test_words_are_in_order_of_length_and_then_lexicographic() -> None:
    assert strings("ab", 2) == ["", "a", "b", "aa", "ab", "ba", "bb"]
    assert words(("x", "yz"), 1, shortest=1) == [("x",), ("yz",)]
    assert words(model_of("palindrome").source, 1) == [(), ("a",), ("b",)]
    assert random_word(random.Random(1), "ab", 9) == random_word(1, "ab", 9)
    with pytest.raises(TypeError, match="'dyck-1-crasp' is a CraspProgram, not a TuringMachine"):
        load_as("dyck-1-crasp", TuringMachine)


def test_importing_softmachine_and_its_commands_imports_no_tests() -> None:
    code = "import sys, softmachine.cli, softmachine.api; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not [name for name in loaded if name.startswith(("softmachine.testing", "hypothesis"))]
    without = "import sys; sys.modules['hypothesis'] = None; import softmachine.testing; print('imported')"
    assert subprocess.run([sys.executable, "-c", without], capture_output=True, text=True, check=True).stdout.strip()
