"""Leftmost and rightmost heads: a term of the scores takes the place of the tie-break, and softmax that of the head."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import product

import pytest

import softmachine as sm
from softmachine.certify import certify
from softmachine.certify.tie_breaking import break_ties_in_program
from softmachine.compiler import compile_program
from softmachine.engines.dense.engine import DenseEngine
from softmachine.ir import Program, Signal, attend, constant, evaluate, loop, position, recogniser, stack, token
from softmachine.ir.gadgets import round_unit_bit
from softmachine.ir.primitives import Attention
from softmachine.ir.ranges import BIT
from softmachine.ir.signal import topological_order
from softmachine.languages.temporal import Specification, find_fragment, to_core, truth_values
from softmachine.support.errors import ConstructionError
from softmachine.testing.temporal import ALL, COMPARISON, COUNT_PREDICATE, COUNTS, random_formula
from softmachine.theorems.logic.temporal_unique_hard import signals
from softmachine.theorems.shared.recogniser_codec import START_TOKEN
from softmachine.transformer.attention import LEFTMOST_HARD, RIGHTMOST_HARD, AttentionKind, Mask, Weighting
from softmachine.transformer.features import I_PLUS_ONE, N_PLUS_ONE, RECIPROCAL, Feature, Last

LETTERS = ("a", "b", "c")
STAR_FREE = [name for name in ALL if name not in (*COUNTS, COUNT_PREDICATE, COMPARISON)]


def heads_of(program: Program) -> list[Attention]:
    return [node for node in topological_order(program.logits.forms) if isinstance(node, Attention)]


def random_heads(seed: int, *, told: bool) -> Program:
    """Two unique-hard heads on top of each other, with ties everywhere; their scores are multiples of their gap."""
    chooser = random.Random(seed)
    masks = list(Mask) if told else [Mask.CAUSAL, Mask.PAST]
    bits: Signal = token("bits", {START_TOKEN: (0, 0), "a": (1, 0), "b": (0, 1), "c": (1, 1)})
    for number in range(2):
        gaps: list[Fraction | Feature] = [Fraction(1), Fraction(1, 3), RECIPROCAL]
        gap = chooser.choice(gaps)
        unit = position(gap) if isinstance(gap, Feature) else constant(gap)
        one, two = (chooser.randint(-2, 2) for _ in range(2))
        scored = chooser.random() < 0.8
        found = attend(
            f"head {number}",
            query=unit if scored else None,
            key=one * bits[0] + two * bits[1] if scored else None,
            value=bits,
            mask=chooser.choice(masks),
            weighting=chooser.choice([LEFTMOST_HARD, RIGHTMOST_HARD]),
            gap=gap if scored else None,
        )
        bits = stack(round_unit_bit(f"bit {number}, 0", found[0]), round_unit_bit(f"bit {number}, 1", found[1]))
    return recogniser("heads", (START_TOKEN, *LETTERS), bits[0])


@pytest.mark.parametrize("told", [False, True])
def test_without_ties_the_same_is_retrieved_and_every_promise_holds(told: bool) -> None:
    """The exact evaluator checks gaps, falls and that one key is best."""
    for seed in range(12):
        program = random_heads(seed, told=told)
        other = break_ties_in_program(program)
        assert {head.weighting.kind for head in heads_of(other)} <= {AttentionKind.AVERAGE}
        for n in range(1, 4):
            for word in product(LETTERS[: 4 - n // 2], repeat=n):
                tokens = [START_TOKEN, *word]
                assert evaluate(other.logits, tokens, n) == evaluate(program.logits, tokens, n), (seed, word)


@pytest.mark.parametrize("told", [False, True])
def test_softmax_decides_as_unique_hard_heads_do(told: bool) -> None:
    chooser = random.Random(0)
    for seed in range(15):
        program, length = random_heads(seed, told=told), 9
        certificate = certify(program, length)
        soft = certificate.soft_transformer
        assert certificate.holds
        assert all(head.weighting.kind is AttentionKind.SOFTMAX for head in soft.heads)
        for n in (1, 4, length):
            words = [[START_TOKEN, *chooser.choices(LETTERS, k=n)] for _ in range(12)]
            found = DenseEngine(soft).predict(words, n)
            assert found == DenseEngine(compile_program(program), "exact").predict(words, n)


@pytest.mark.parametrize("weighting", [RIGHTMOST_HARD, LEFTMOST_HARD])
@pytest.mark.parametrize("looped", [False, True])
def test_the_head_that_stayed_hard_is_soft(weighting: Weighting, looped: bool) -> None:
    """It kept its weighting once, and the certificate said "holds"; later it was refused."""
    bit = token("bit", {START_TOKEN: (0,), "a": (1,), "b": (0,)})

    def pick(of: Signal) -> Signal:
        found = attend("pick", query=constant(1), key=bit, value=of, weighting=weighting, gap=1)
        return round_unit_bit("picked", found)

    picked = loop("turn", iterations=2, initial=bit, body=pick) if looped else pick(bit)
    program = recogniser("picky", (START_TOKEN, "a", "b"), picked.with_range(BIT))
    certificate = certify(program, 6)
    (head,) = certificate.soft_transformer.heads
    assert certificate.holds
    assert head.weighting.kind is AttentionKind.SOFTMAX
    assert str(head.weighting.scale) == f"{certificate.sharpness}(i+1)²"


def test_who_knows_the_length_gets_the_milder_term() -> None:
    """Lemma 8 (b) and (c) have gap 1/(2(n+1)), (a) has 1/(i+1)²."""
    bit = token("bit", {START_TOKEN: (0,), "a": (1,), "b": (0,)})
    head = attend("pick", query=constant(1), key=bit, value=bit, weighting=RIGHTMOST_HARD, gap=1)
    alone = break_ties_in_program(recogniser("alone", (START_TOKEN, "a", "b"), head))
    (found,) = heads_of(alone)
    assert found.gap == 1 / I_PLUS_ONE**2
    told = recogniser(
        "told", (START_TOKEN, "a", "b"), attend("both", value=head, mask=Mask.FUTURE, weighting=LEFTMOST_HARD)
    )
    assert {head.gap for head in heads_of(break_ties_in_program(told))} == {Fraction(1, 2) / N_PLUS_ONE}


def test_padding_has_more_positions_than_the_length_says() -> None:
    bit = token("bit", {START_TOKEN: (0,), "a": (1,), "b": (0,)})
    head = attend("pick", query=constant(1), key=bit, value=bit, weighting=LEFTMOST_HARD, mask=Mask.ALL, gap=1)
    program = recogniser("padded", (START_TOKEN, "a", "b"), head, positions=5)
    other = break_ties_in_program(program)
    assert heads_of(other)[0].gap == Fraction(1, 25)
    for tokens in product((START_TOKEN, "a", "b"), repeat=5):
        assert evaluate(other.logits, tokens, 2) == evaluate(program.logits, tokens, 2)


def test_a_head_that_promises_no_gap_is_refused_by_name() -> None:
    bit = token("bit", {START_TOKEN: (0,), "a": (1,), "b": (0,)})
    head = attend("pick", query=constant(1), key=bit, value=bit, weighting=LEFTMOST_HARD)
    with pytest.raises(ConstructionError, match="head 'pick' is leftmost-hard, and does not say what gap"):
        certify(recogniser("silent", (START_TOKEN, "a", "b"), head), 4)
    odd = attend("pick", query=constant(1), key=bit, value=bit, weighting=LEFTMOST_HARD, gap=Last())
    with pytest.raises(ConstructionError, match="no term that breaks ties is known for the gap last"):
        certify(recogniser("odd", (START_TOKEN, "a", "b"), odd), 4)


def test_a_program_without_such_heads_is_left_alone() -> None:
    bit = token("bit", {START_TOKEN: (0,), "a": (1,), "b": (0,)})
    program = recogniser("plain", (START_TOKEN, "a", "b"), bit)
    assert break_ties_in_program(program) is program


@pytest.mark.parametrize("block", range(4))
def test_formulas_by_unique_hard_attention_are_right_when_softened(block: int) -> None:
    """Section 4.3: any masked unique-hard transformer of a formula, as one with softmax."""
    chooser = random.Random(block)
    for seed in range(5 * block, 5 * (block + 1)):
        formula = random_formula(random.Random(seed), 3, "ab", STAR_FREE)
        specification = Specification(name="formula", formula=formula, alphabet=("a", "b"))
        program = signals(specification)
        certificate = certify(program, 10)
        soft = DenseEngine(certificate.soft_transformer)
        assert certificate.holds
        told = not find_fragment(to_core(formula)).is_past_only
        words = [word for n in range(1, 5) for word in product("ab", repeat=n)]
        words += [tuple(chooser.choices("ab", k=10)) for _ in range(5)]
        for word in words:
            answers = soft.predict([[START_TOKEN, *word]], len(word) if told else None)[0]
            assert [answer == "true" for answer in answers[1:]] == list(truth_values(specification, word)), formula


def test_a_softened_model_is_saved_checked_and_proven() -> None:
    soft, certificate = sm.soften(sm.compile("Q_a since prev Q_b", "temporal-unique-hard"), length=8)
    assert certificate.holds
    assert [feature.name for feature in soft.weights.features] == ["1/(i+1)"]
    assert sm.check(soft, up_to=4, arithmetic="ball")
