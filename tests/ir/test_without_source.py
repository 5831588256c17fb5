"""Weights without a source: random transformers, and compiled models without names."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from softmachine.ir import lift
from softmachine.ir.analysis import Analysis
from softmachine.ir.domain import Domain
from softmachine.ir.head_rules import HeadFact
from softmachine.support.errors import ConstructionError
from softmachine.transformer.features import (
    I_SQUARED,
    N_PLUS_ONE,
    RECIPROCAL,
    REMAINING,
    Alternating,
    Bit,
    Feature,
    I,
    Last,
    N,
    PredecessorShare,
    Residue,
)
from softmachine.transformer.weights import Block, Layer, Transformer
from tests.cases import Case as SmallCase
from tests.certified.cases import Case, cases
from tests.ir.checker import find_false_facts
from tests.ir.zoo import SMALL, Compiled, compile_case, small_model
from tests.sources.transformers import VOCABULARY, RandomTransformer

LENGTH = 12
"""n of the analyses of compiled models."""
FEATURES: tuple[Feature, ...] = (
    *(I, I_SQUARED, RECIPROCAL, N, I * N_PLUS_ONE**-1, N_PLUS_ONE**-1, REMAINING**-1, PredecessorShare()),
    *(Alternating(), Bit(0), Residue(3, 2), Last()),
)


# Random transformers.


def check_random_transformer(seed: int, longest: int, rules: Counter[tuple[str, bool]]) -> list[str]:
    """The facts about a random transformer that are false on some input up to a length; its heads are counted."""
    lifted = lift(RandomTransformer(seed, features=FEATURES).transformer())
    analysis = Analysis(lifted, Domain.all_sequences(VOCABULARY), longest - 1)
    analysis.follow(lifted.logits.forms)
    rules.update((head.rule, head.gap is not None) for head in analysis.heads.values() if head.rule != "uniform")
    return find_false_facts(analysis, range(1, longest + 1), len(VOCABULARY) ** longest)


def describe(rules: Counter[tuple[str, bool]]) -> str:
    """The share of the heads that choose for which a positive gap is derived, and the rules."""
    total, derived = rules.total(), sum(count for (_, holds), count in rules.items() if holds)
    return f"{derived} of {total} heads that choose have a derived gap ({derived / max(total, 1):.0%}): {dict(rules)}"


def test_no_fact_about_random_weights_is_false() -> None:
    rules = Counter[tuple[str, bool]]()
    assert {seed: found for seed in range(30) if (found := check_random_transformer(seed, 3, rules))} == {}
    assert sum(count for (_, holds), count in rules.items() if holds) > 5


@pytest.mark.slow
def test_no_fact_about_300_random_transformers_is_false_on_any_input_up_to_length_6() -> None:
    rules = Counter[tuple[str, bool]]()
    found = {seed: check_random_transformer(seed, 6, rules) for seed in range(1000, 1300)}
    print(describe(rules))
    assert {seed: false for seed, false in found.items() if false} == {}


# Models without names.


def strip(weights: Transformer) -> Transformer:
    """The weights with numbers in place of the names of coordinates, heads, units and loops."""
    heads = iter(range(len(weights.heads)))

    def layer(old: Layer) -> Layer:
        forward = old.feed_forward
        named = tuple(replace(head, name=f"{next(heads)}") for head in old.heads)
        return Layer(named, replace(forward, units=tuple(map(str, range(len(forward.units))))))

    def block(number: int, old: Block) -> Block:
        return replace(old, layers=tuple(map(layer, old.layers)), name=old.name and str(number))

    return replace(
        weights,
        name="",
        coordinates=tuple(map(str, range(weights.width))),
        blocks=tuple(block(number, old) for number, old in enumerate(weights.blocks)),
    )


def heads_of(compiled: Compiled, weights: Transformer) -> list[HeadFact]:
    """What is derived of the heads, in the order of the layers."""
    lifted = lift(weights, position_count=compiled.program.position_count)
    analysis = Analysis(lifted, compiled.domain, LENGTH)
    analysis.follow(lifted.logits.forms)
    names = {head.name: place for place, head in enumerate(weights.heads)}
    found = sorted(analysis.heads.items(), key=lambda pair: names[pair[0].name])
    return [replace(fact, index=None, reason="") for _, fact in found]


def compare_stripped(compiled: Compiled) -> tuple[int, list[tuple[HeadFact, HeadFact]]]:
    """The number of heads with a derived gap, and those of which names show another one."""
    before, after = heads_of(compiled, compiled.weights), heads_of(compiled, strip(compiled.weights))
    assert len(before) == len(after)
    pairs = list(zip(before, after, strict=True))
    return sum(head.gap is not None for head in after), [(old, new) for old, new in pairs if old != new]


HARD = [case for case in SMALL if case.attention == "hard"]
LONG = ("turing-ternary", "turing-ternary-summary", "circuit-evaluator-threshold", "odd-walks", "uniform-circuits")


@pytest.mark.parametrize("case", [case for case in HARD if case.theorem not in LONG], ids=str)
def test_a_model_without_names_has_the_gaps_that_it_had(case: SmallCase) -> None:
    _, others = compare_stripped(small_model(case))
    assert others == []


@pytest.mark.slow
def test_100_models_without_names_have_the_gaps_that_they_had() -> None:
    models, heads, others = 0, 0, dict[str, object]()
    for case in list(cases())[::3]:
        compiled = compile_hard(case)
        if compiled is not None and models < 100:
            derived, different = compare_stripped(compiled)
            models, heads = models + 1, heads + derived
            if different:
                others[str(case)] = different
    print(f"{models} models, {heads} heads with a derived gap")
    assert models == 100
    assert others == {}


def compile_hard(case: Case) -> Compiled | None:
    """A model with hard attention and at most 60 positions, if padding fixes these; None if there is none."""
    if case.attention != "hard" or case.theorem in ("turing-counter", "turing-counter-relative-bias"):
        return None
    try:
        compiled = compile_case(case)
    except ConstructionError:
        return None
    return compiled if compiled is not None and (compiled.program.position_count or 0) <= 60 else None
