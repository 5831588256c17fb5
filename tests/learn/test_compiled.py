"""Compiled baseline of a trained model, and linear probes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install 'softmachine[learn]'")

import softmachine as sm
from softmachine.studies.learn.compiled_baseline import check_compiled_traces, evaluate_baseline, record_activations
from softmachine.studies.learn.data import load_corpus
from softmachine.studies.learn.probes import fit_probe
from softmachine.studies.learn.training import train
from tests.learn.helpers import parity, setting


def test_the_compiled_model_says_every_trace_and_no_other() -> None:
    model, examples = sm.compile("parity-counter"), load_corpus(parity()).tests["test1"][:6]
    assert all(check_compiled_traces(model, examples))
    for each in examples:
        ((prompt, output),) = each.segments
        other = replace(each, segments=((prompt, (*output[:-1], "ACC" if output[-1] == "REJ" else "REJ")),))
        assert check_compiled_traces(model, [other]) == [False]


def test_a_trained_model_knows_what_the_compiled_one_stores_and_a_random_one_knows_less() -> None:
    corpus = load_corpus(parity())
    decoder, _ = train(setting(steps=150, layers=2), corpus)
    found = evaluate_baseline(sm.compile("parity-counter"), corpus, decoder)
    assert found.exact_shares == {"test0": 1.0, "test1": 1.0}
    rules = [each for each in found.probes if each.name.startswith("rule")]
    assert rules
    for each in rules:
        assert each.trained[-1] > 0.8
        assert each.trained[-1] > each.trained[0] + 0.2
        assert each.trained[-1] > each.control[-1]


def test_both_models_are_read_at_the_same_positions() -> None:
    corpus = load_corpus(parity())
    decoder, _ = train(setting(steps=1), corpus)
    examples = corpus.train[:3]
    found = record_activations(sm.compile("parity-counter"), decoder, corpus, examples)
    positions = sum(len(output) for each in examples for _, output in each.segments)
    assert found.variables.shape == (positions, len(found.names))
    assert [layer.shape for layer in found.layers] == [(positions, 32)] * 2


def test_a_probe_finds_what_is_linear_and_nothing_else() -> None:
    random = np.random.default_rng(0)
    stream, other = random.normal(size=(600, 5)), random.normal(size=(200, 5))
    weights = random.normal(size=5)
    assert fit_probe(stream, stream @ weights + 3, other, other @ weights + 3) > 0.999
    assert fit_probe(stream, random.normal(size=600), other, random.normal(size=200)) < 0.1
