"""Transformers that no construction made: the fast engine gives what exact arithmetic gives, or says that it cannot."""

from __future__ import annotations

import pytest

from softmachine.engines.dense import DenseEngine
from softmachine.engines.fast import Declined, FastEngine
from softmachine.errors import AmbiguousTokenError, PrecisionError
from tests.engines.transformers import CAUSAL, RandomTransformer, random_word


def outcome(engine: DenseEngine | FastEngine, word: list[str]) -> list[str] | str:
    """The answers, or the tie that stops them."""
    try:
        return engine.answers([word])[0] if isinstance(engine, DenseEngine) else engine.answers(word)
    except AmbiguousTokenError as tie:
        return str(tie)


def compare(seed: int, words: int, longest: int, *, plain: bool = True, integers: bool = False) -> tuple[int, int]:
    """How many words were compared, and how many the fast engine could not do."""
    numbers = (1,) if integers else (1, 1, 1, 2, 3)
    transformer = RandomTransformer(seed, masks=CAUSAL, denominators=numbers).transformer()
    try:
        dense, fast = DenseEngine(transformer, "exact"), FastEngine(transformer, plain=plain)
    except Declined:
        return words, words
    refused = 0
    for number in range(words):
        word = random_word(1000 * seed + number, 1 + (7 * seed + 5 * number) % longest)
        try:
            found = outcome(fast, word)
        except PrecisionError:
            refused += 1
            continue
        assert found == outcome(dense, word), (seed, word)
    return words, refused


@pytest.mark.parametrize("seed", range(24))
def test_random_transformers(seed: int) -> None:
    compare(seed, 3, 12)


@pytest.mark.parametrize("seed", [902, 903])
def test_random_transformers_as_machine_code(seed: int) -> None:
    compare(seed, 40, 30, plain=False, integers=True)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [*range(904, 924), 901])
def test_large_random_transformers_as_machine_code(seed: int) -> None:
    compare(seed, 40, 30, plain=False, integers=True)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(50))
def test_10000_random_sequences(part: int) -> None:
    done = refused = 0
    for seed in range(2000 + 40 * part, 2040 + 40 * part):
        words, declined = compare(seed, 5, 20, integers=seed % 2 == 0)
        done, refused = done + words, refused + declined
    assert refused < done / 5


def test_an_empty_sequence_has_no_answers() -> None:
    transformer = RandomTransformer(1, masks=CAUSAL).transformer()
    assert FastEngine(transformer, plain=True).answers([]) == []


def test_unknown_relations_are_declined() -> None:
    from dataclasses import replace

    from softmachine.positions import Relation, relation

    relation("next door", lambda key, query: int(key == query - 1))
    for seed in range(100):
        transformer = RandomTransformer(seed, masks=CAUSAL).transformer()
        heads = [plan.head.name for plan in FastEngine(transformer, plain=True).code.plans]
        if heads:
            break
    layer = transformer.blocks[0].layers[0]
    strange = tuple(replace(head, bias=Relation("next door")) for head in layer.heads)
    block = replace(transformer.blocks[0], layers=(replace(layer, heads=strange), *transformer.blocks[0].layers[1:]))
    with pytest.raises(Declined, match="next door"):
        FastEngine(replace(transformer, blocks=(block, *transformer.blocks[1:])))
