"""Strategies: one for every source language, of valid sources that theorems compile; failures shrink."""

from __future__ import annotations

import importlib
import sys

import pytest
from hypothesis import HealthCheck, find, given, settings
from hypothesis import strategies as st

from softmachine.languages.formats import formats
from softmachine.languages.source import Source
from softmachine.support.errors import UsageError
from softmachine.testing import assert_kept_as_text, assert_theorem_holds, strategies
from softmachine.theorems import all_theorems

FEW = settings(max_examples=10, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


def test_every_source_language_has_a_strategy() -> None:
    assert {theorem.language for theorem in all_theorems()} == set(strategies.LANGUAGES)
    assert set(strategies.LANGUAGES) - {"turing", "circuit", "graph"} <= set(formats())


@pytest.mark.parametrize("language", strategies.LANGUAGES)
def test_sources_of_a_language_are_valid_and_survive_as_text(language: str) -> None:
    @FEW
    @given(st.data())
    def run(data: st.DataObject) -> None:
        source = data.draw(strategies.sources(language))
        assert isinstance(source, Source)
        assert source.language == language
        assert_kept_as_text(source)
        word = data.draw(strategies.words(source, max_length=3))
        assert source.word(word) == word

    run()


@pytest.mark.parametrize(
    "theorem", ["turing-average-hard", "temporal-encoder", "crasp", "counter", "srasp", "rasp", "connectivity"]
)
def test_a_theorem_holds_on_sources_that_it_compiles(theorem: str) -> None:
    @FEW
    @given(st.data())
    def run(data: st.DataObject) -> None:
        source = data.draw(strategies.sources_of(theorem))
        inputs = [data.draw(strategies.words(source, min_length=1, max_length=3))]
        if theorem == "counter" and getattr(source, "order", False):
            inputs = [tuple(sorted(word, key=source.alphabet.index)) for word in inputs]
        assert_theorem_holds(theorem, source, inputs, arithmetics=("float64",), max_steps=20)

    run()


def test_a_failing_source_shrinks() -> None:
    graph = find(strategies.graphs(), lambda graph: len(graph.edges) >= 2)
    assert len(graph.vertices) == 2
    circuit = find(strategies.circuits(), lambda circuit: len(circuit.gates) >= 2)
    assert len(circuit.gates) == 2


def test_unknown_languages_and_theorems_are_named() -> None:
    with pytest.raises(UsageError, match="unknown source language 'prolog'"):
        strategies.sources("prolog")
    with pytest.raises(UsageError, match="unknown theorem 'none'"):
        strategies.sources_of("none")


def test_without_hypothesis_the_message_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    monkeypatch.delitem(sys.modules, "softmachine.testing.strategies")
    with pytest.raises(UsageError, match=r"pip install 'softmachine\[testing\]'"):
        importlib.import_module("softmachine.testing.strategies")
