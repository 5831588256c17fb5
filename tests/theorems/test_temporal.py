"""Temporal logic in a transformer: right at every position, with hard attention and with softmax."""

from __future__ import annotations

import random
from itertools import product

import pytest

import softmachine as sm
from softmachine.compiler import compile_program
from softmachine.engines.dense.engine import DenseEngine
from softmachine.languages.temporal import (
    Formula,
    Specification,
    TemporalOperator,
    find_fragment,
    parse_formula,
    to_core,
    truth_values,
)
from softmachine.support.errors import ConstructionError, InputError, SourceError
from softmachine.testing.temporal import ALL, OF_LENGTH, random_formula
from softmachine.theorems.logic.temporal.heads import Masking, Variant
from softmachine.theorems.logic.temporal.theorem import signals
from softmachine.theorems.shared.recogniser_codec import START_TOKEN
from softmachine.transformer.weights import Transformer

FORMULAS = [
    "Q_a since Q_b", "Q_a since! Q_b", "Q_a until Q_b", "Q_a until! Q_b", "prev Q_a", "next Q_a", "prev prev Q_a",
    "next next Q_b", "next prev Q_a", "first", "last", "once Q_a", "always (Q_a -> once Q_b)", "eventually prev Q_b",
    "prev not Q_a", "#<[not Q_a] = 2", "#<[Q_a] > #<[Q_b]", "#>[Q_a] = 1", "2*#<[Q_a] - 3*#>[Q_b] + 1 <= 0",
    "#<[#<[Q_a] >= #<[Q_b]] != 2", "odd(i)", "prime(i)", "power2(#<[Q_a])", "mod(#>[Q_a],3,0)", "odd(#<[Q_a])",
    "#<[true] = #>[true]", "1 <= 2", "historically (Q_a or next Q_b)",
    "half(i)", "middle(i) and Q_a", "divides(#<[Q_a])", "upto(#>[Q_b],1,3)",
]  # fmt: skip
VARIANTS = [Variant(*choice) for choice in product(Masking, (False, True), (False, True), (False, True))]
LITERAL = [variant for variant in VARIANTS if variant.paper_positions]


def specification(formula: Formula | str) -> Specification:
    parsed = parse_formula(formula) if isinstance(formula, str) else formula
    return Specification(name="formula", formula=parsed, alphabet=("a", "b"))


def compiled(formula: Formula | str, variant: Variant) -> Transformer | None:
    """The transformer, or None if the formula looks ahead and the transformer cannot."""
    try:
        return compile_program(signals(specification(formula), variant))
    except ConstructionError as error:
        used = find_fragment(to_core(specification(formula).formula))
        ahead = not used.is_past_only and ("later positions" in str(error) or "depends on the length" in str(error))
        counts = (
            TemporalOperator.LEFT_COUNT in used.operators
            and variant.unbounded_positions
            and "temperature 1" in str(error)
        )
        if variant.masking is Masking.MASKED and (ahead or counts):
            return None
        raise


def right_everywhere(formula: Formula | str, variant: Variant, arithmetic: str, longest: int) -> None:
    model = compiled(formula, variant)
    if model is None:
        return
    engine = DenseEngine(model, arithmetic)
    for n in range(1, longest + 1):
        words = list(product("ab", repeat=n))
        found = engine.predict(
            [[START_TOKEN, *word] for word in words], n if variant.masking is Masking.ENCODER else None
        )
        for word, answers in zip(words, found, strict=True):
            expected = list(truth_values(specification(formula), word))
            assert [answer == "true" for answer in answers[1:]] == expected, f"{formula} on {''.join(word)}, {variant}"


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_formulas_hold_where_the_evaluator_says(formula: str, variant: Variant) -> None:
    right_everywhere(formula, variant, "float64", 6)
    if not variant.soft:
        right_everywhere(formula, variant, "exact", 3)


@pytest.mark.parametrize("block", range(10))
def test_random_formulas_hold_where_the_evaluator_says(block: int) -> None:
    for seed in range(10 * block, 10 * (block + 1)):
        formula = random_formula(random.Random(seed), 4, "ab")
        for variant in VARIANTS:
            right_everywhere(formula, variant, "float64", 4)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(60))
def test_three_thousand_random_formulas_hold_where_the_evaluator_says(block: int) -> None:
    for seed in range(1000 + 50 * block, 1000 + 50 * (block + 1)):
        formula = random_formula(random.Random(seed), 6, "ab")
        for variant in VARIANTS:
            right_everywhere(formula, variant, "float64", 6)


def test_softmax_holds_on_longer_words() -> None:
    chooser = random.Random(0)
    for formula in ("Q_a since Q_b", "prev Q_a", "2*#<[Q_a] >= #<[Q_b]", "odd(#<[Q_a])"):
        for vision in Masking:
            spec = specification(formula)
            model = compile_program(signals(spec, Variant(vision, soft=True)))
            for n in (30, 60, 100):
                word = chooser.choices("ab", k=n)
                length = n if vision is Masking.ENCODER else None
                answers = DenseEngine(model).predict([[START_TOKEN, *word]], length)[0]
                assert [answer == "true" for answer in answers[1:]] == list(truth_values(spec, word))


@pytest.mark.parametrize("block", range(4))
def test_random_formulas_with_predicates_of_the_length_hold_where_the_evaluator_says(block: int) -> None:
    for seed in range(6 * block, 6 * (block + 1)):
        formula = random_formula(random.Random(seed), 3, "ab", (*ALL, OF_LENGTH))
        for variant in VARIANTS:
            right_everywhere(formula, variant, "float64", 3)


ENCODED = {
    (Masking.ENCODER, False): {"(i+1)/(n+1)", "(-1)^i", "i", "i²"},
    (Masking.MASKED, False): {"(-1)^i", "i", "i²"},
    (Masking.ENCODER, True): {"(i+1)/(n+1)", "(-1)^i", "n+1", "i(n+1)", "i²(n+1)", "i"},
    (Masking.MASKED, True): {"(-1)^i", "(i+1)²"},
}
"""The position encodings of Corollaries 22 (a), 23, 22 (b) and 18 (b)."""


@pytest.mark.parametrize("variant", LITERAL, ids=str)
def test_the_literal_encodings_are_those_of_the_corollaries(variant: Variant) -> None:
    seen: set[str] = set()
    for formula in FORMULAS:
        model = compiled(formula, variant)
        names = {feature.name for feature in model.features} if model else set()
        seen |= {name for name in names if not name.startswith("predicate(")}
    assert seen == ENCODED[variant.masking, variant.unbounded_positions]


@pytest.mark.parametrize("variant", [variant for variant in LITERAL if variant.soft], ids=str)
def test_the_literal_theorems_have_one_temperature(variant: Variant) -> None:
    scales = set()
    for formula in FORMULAS:
        model = compiled(formula, variant)
        scales |= {str(head.weighting.scale) for head in model.heads if head.query.bias} if model else set()
    one = "n+1" if variant.masking is Masking.ENCODER else "(i+1)²"
    assert scales == {"1" if variant.unbounded_positions else one}


@pytest.mark.parametrize("depth", range(1, 8))
def test_proposition_11_costs_two_uniform_heads_and_layers_once(depth: int) -> None:
    """Theorem 13: two heads and two layers a previous; what marks the first position is shared by all of them."""
    formula = "prev " * depth + "Q_a"
    ours = compiled(formula, Variant(Masking.MASKED, soft=False))
    literal = compiled(formula, Variant(Masking.MASKED, soft=False, paper_positions=True))
    assert ours is not None
    assert literal is not None
    assert (len(ours.heads), len(ours.layers)) == (2 * depth, 2 * depth)
    assert (len(literal.heads), len(literal.layers)) == (2 * depth + 2, 2 * depth + 2)


@pytest.mark.parametrize("variant", LITERAL, ids=str)
def test_literal_softmax_holds_on_longer_words(variant: Variant) -> None:
    chooser = random.Random(1)
    for formula in ("Q_a since Q_b", "prev Q_a", "2*#<[Q_a] >= #<[Q_b]", "next Q_a", "divides(#>[Q_a])"):
        model, spec = compiled(formula, variant), specification(formula)
        if model is None:
            continue
        for n in (17, 40):
            word = chooser.choices("ab", k=n)
            length = n if variant.masking is Masking.ENCODER else None
            answers = DenseEngine(model).predict([[START_TOKEN, *word]], length)[0]
            assert [answer == "true" for answer in answers[1:]] == list(truth_values(spec, word)), (formula, n)


def test_parity_is_right_on_words_without_ones() -> None:
    """The paper's lookup finds θ(1) where the count is 0; the start token makes position 0 there to be found."""
    for attention in ("hard", "soft"):
        run = sm.run(sm.compile("odd(#<[Q_1]) and not Q_0 or odd(#<[Q_1])", attention=attention), "0000")
        assert not run.accepted


def test_theorem_15_costs_one_head_a_since_and_no_position_feature_but_the_ramp() -> None:
    model = compiled("Q_a since Q_b", Variant(Masking.ENCODER, soft=True))
    assert model is not None
    assert len(model.heads) == 1
    assert [feature.name for feature in model.features] == ["i/(n+1)"]


def test_theorem_12_costs_two_heads_a_previous() -> None:
    model = compiled("prev prev prev Q_a", Variant(Masking.ENCODER, soft=False))
    assert model is not None
    assert (len(model.heads), len(model.layers)) == (6, 6)


def test_a_formula_is_a_source_like_any_other(tmp_path: object) -> None:
    run = sm.run("Q_a since Q_b", "aabaa")
    assert run.accepted
    assert run.format().splitlines()[:2] == ["a  a  b  a  a", "0  0  1  1  1"]
    assert sm.check("Q_a since Q_b", up_to=5, attention="soft")


def test_a_saved_formula_runs_again(tmp_path: object) -> None:
    from pathlib import Path

    folder = Path(str(tmp_path)) / "model"
    model = sm.compile("prev Q_a or odd(#>[Q_b])", attention="soft")
    sm.save(model, folder)
    assert sm.load(folder) == model
    assert sm.check(folder, up_to=4)


def test_a_check_finds_a_wrong_formula_out() -> None:
    report = sm.check(sm.compile("Q_a since Q_b"), specification("Q_b since Q_a"), up_to=3)
    assert not report


def test_prompts_of_many_words_are_those_of_each() -> None:
    for codec in (sm.compile("Q_a since Q_b").codec, sm.compile("Q_a since Q_b", "temporal-masked").codec):
        for length in (0, 1, 3):
            words = list(product("ab", repeat=length))
            assert codec.prompt_batch(words) == [codec.prompt(word) for word in words]
        with pytest.raises(InputError, match="'c' at position 2"):
            codec.prompt_batch([("a", "b"), ("a", "c")])


def test_mistakes_are_told() -> None:
    with pytest.raises(SourceError, match="unknown name"):
        sm.compile("Q_a sinc Q_b")
    with pytest.raises(InputError, match="'c' at position 2"):
        sm.run(sm.compile("Q_a since Q_b"), "ac")
    with pytest.raises(ConstructionError, match="later positions"):
        sm.compile("next Q_a", "temporal-masked")
    with pytest.raises(sm.SoftmachineError, match="unknown attention 'sharp'"):
        sm.compile("prev Q_a", attention="sharp")
