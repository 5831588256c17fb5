"""Sampling: the distribution is the softmax of the exact logits, and sampled frequencies match it."""

from __future__ import annotations

from collections import Counter
from math import exp, isclose

import pytest

import softmachine as sm
from softmachine.engines.sampling import sample
from softmachine.support.compare import first_difference
from softmachine.support.errors import ContextTooShortError, UsageError
from tests.models import model_of


def test_the_distribution_is_the_softmax_of_the_exact_logits() -> None:
    """Along the machine's run, up to the first sampled token that differs."""
    inside = sm.inspect(sm.run("palindrome", "ab"))
    found = sample(model_of("palindrome"), "ab", seed=1)
    shared = found.difference.position if found.difference else len(found.sampled)
    assert shared > 0
    for number, drawn in enumerate(found.sampled[: shared + 1]):
        logits = inside.at(2 + number).logits
        weights = {output: exp(float(value)) for output, value in zip(logits.outputs, logits.values, strict=True)}
        assert drawn.distribution.keys() == weights.keys()
        for output, weight in weights.items():
            assert isclose(drawn.distribution[output], weight / sum(weights.values()), rel_tol=1e-12)
        assert drawn.argmax_token == logits.winner
        assert isclose(sum(drawn.distribution.values()), 1)


def test_tokens_are_drawn_as_often_as_their_probability_says() -> None:
    model, seeds = model_of("parity"), 100
    drawn = [sample(model, "1", seed=seed, max_steps=0).sampled[0] for seed in range(seeds)]
    often, expected = Counter(each.token for each in drawn), drawn[0].distribution
    assert len(often) > 1
    for token, probability in expected.items():
        spread = (seeds * probability * (1 - probability)) ** 0.5
        assert abs(often[token] - seeds * probability) <= 4.5 * spread, token


def test_a_seed_is_a_run() -> None:
    model = model_of("palindrome")
    runs = [sample(model, "abba", seed=seed).tokens for seed in (5, 5, 6, 7, 8)]
    assert runs[0] == runs[1]
    assert len(set(runs)) > 1
    assert sample(model, "abba", seed=5, arithmetic="exact").tokens == runs[0]


@pytest.mark.parametrize("seed", range(8))
def test_it_says_where_it_first_parts_from_the_interpreter(seed: int) -> None:
    model = model_of("palindrome")
    found = sample(model, "a", seed=seed, max_steps=50)
    right = tuple(model.codec.expected("a", 50))
    assert found.difference == first_difference(right[: len(found.tokens)], found.tokens)
    assert found.ended == (found.tokens[-1] in ("ACC", "REJ"))


def test_the_limit_is_that_of_a_decided_run() -> None:
    found = next(
        drawn
        for seed in range(50)
        if not (drawn := sample(model_of("palindrome"), "abab", seed=seed, max_steps=2)).ended
    )
    assert len(found.sampled) == len(sm.run("palindrome", "abab", max_steps=2).tokens)


def test_models_without_a_next_token_are_refused() -> None:
    with pytest.raises(UsageError, match="is an encoder, which has no next token"):
        sample(model_of("Q_a since Q_b"), "ab")
    summary = sm.compile("palindrome", theorem="turing-average-hard-summary")
    with pytest.raises(UsageError, match="decode from summaries"):
        sample(summary, "ab")


def test_a_context_that_is_full_is_an_error() -> None:
    model = sm.compile("palindrome", theorem="turing-binary-address", context=12)

    def until_one_is_long() -> None:
        for seed in range(60):
            sample(model, "abab", seed=seed)

    with pytest.raises(ContextTooShortError, match="12 positions"):
        until_one_is_long()
