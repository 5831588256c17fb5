"""Certificates of looped and padded transformers: circuits, graphs, the circuit evaluator."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import product

import pytest

import softmachine as sm
from softmachine.certify import certify
from softmachine.ir import Program, Signal, attend, constant, loop, named, position, recogniser, relu, stack
from softmachine.ir.analysis import Analysis
from softmachine.ir.domain import Domain
from softmachine.ir.gadgets.boolean import round_unit_bit
from softmachine.ir.interpreter import evaluate
from softmachine.ir.primitives import Loop, token
from softmachine.ir.ranges import BIT, REALS
from softmachine.languages.circuit import parity, threshold
from softmachine.testing.circuit import random_circuit
from softmachine.transformer.attention import Mask
from softmachine.transformer.features import I_SQUARED, I

BITS = {"0": (0,), "1": (1,)}


@pytest.mark.parametrize("construction", ["circuit-and-or-not", "circuit-threshold"])
@pytest.mark.parametrize("seed", range(6))
def test_certified_circuits_agree_with_the_evaluator(construction: str, seed: int) -> None:
    source = random_circuit(seed, inputs=1 + seed % 4, gates=2 + 2 * seed, outputs=2, fan_in=2 + seed % 4)
    hard = sm.compile(source, construction)
    soft, certificate = sm.soften(hard, length=source.width)
    assert certificate.holds
    assert not any(head.weighting.is_hard for head in soft.weights.heads)
    assert sm.check(soft, up_to=source.width)


@pytest.mark.parametrize("name", ["koenigsberg", "one-way-streets"])
def test_certified_graphs_agree_with_reachability(name: str) -> None:
    soft, certificate = sm.soften(name, length=2)
    assert certificate.holds
    assert sm.check(soft, sample=4, length=2)


def test_padding_counts() -> None:
    """The weight on wrong keys grows with the number of positions, which the length of a word does not say."""
    models = [sm.compile(source, "circuit-and-or-not") for source in (threshold(8, 8), parity(8))]
    few, many = (sm.certificate(model, length=8).sharpness for model in models)
    assert few < many


def repeating(turns: int, *, rounds: bool) -> Program:
    """A bit that is fetched from position 0 again and again, rounded or not."""

    def turn(bit: Signal) -> Signal:
        query, key = constant(1), -position(I)
        found = attend("first", query=query, key=key, value=bit, mask=Mask.ALL, gap=Fraction(1), single_key=True)
        return round_unit_bit("again", found) if rounds else named("again", found.with_range(BIT))

    first = named("bit", token("bit", BITS))
    return recogniser("repeating", tuple(BITS), loop("turns", iterations=turns, initial=first, body=turn))


@pytest.mark.parametrize("turns", [1, 2, 5])
def test_errors_that_are_not_rounded_away_add_up_turn_by_turn(turns: int) -> None:
    leak = math.exp(-6) / (1 - math.exp(-6))  # the scores are a ramp, which is derived: Lemma 6
    expected = 0.0
    for _ in range(turns):
        expected += leak * (1 + 2 * expected)
    found = certify(repeating(turns, rounds=False), 3, 6)
    assert found.holds
    assert found.margin == pytest.approx(1 - 2 * expected)
    assert found.rows[0].error_out == pytest.approx(expected)


def test_errors_that_are_rounded_away_do_not() -> None:
    assert certify(repeating(500, rounds=True), 3, 6).margin == 1
    assert not certify(repeating(500, rounds=False), 3, 6).holds


def test_an_error_too_large_to_be_rounded_away_is_noticed_inside_a_loop() -> None:
    found = certify(repeating(2, rounds=True), 30, 1)
    assert not found.holds
    assert "margin of the logits" in found.explain_failure


def test_a_long_loop_is_certified_and_beyond_what_theorem_26_can_say() -> None:
    """It unrolls to hundreds of layers, whose bounds are no floats; the certificate said "scale inf / gap"."""
    said = str(sm.certificate("parity-loop-rasp", length=20))
    assert "Theorem 26 gives no temperature" in said
    assert "margin of the logits ≥ 1.0" in said


def random_loop(seed: int, turns: int) -> Signal:
    """Two numbers at every position that are moved, added, clamped and averaged in each iteration."""
    chooser = random.Random(seed)
    shift, limit = chooser.choice([-1, 0, 1]), chooser.choice([1, 3, 50])
    kinds = chooser.choices(["grow", "clamp", "look", "mean", "keep"], k=2)

    def turn(carried: Signal) -> Signal:
        following = []
        for k, kind in enumerate(kinds):
            own, other = carried[k], carried[1 - k]
            if kind == "grow":
                found = 2 * own + other + shift
            elif kind == "clamp":
                total = own + other + 1
                found = named(f"clamp {k}", relu(f"from 0 {k}", total) - relu(f"from {limit} {k}", total - limit))
            elif kind == "look":
                query, key = stack(2 * (position(I) + shift), constant(-1)), stack(position(I), position(I_SQUARED))
                found = attend(f"look {k}", query=query, key=key, value=own + other)
            elif kind == "mean":
                found = attend(f"mean {k}", query=constant(1), key=other, value=own)
            else:
                found = own - shift * token("bit", BITS)
            following.append(found.with_range(REALS))
        return stack(*following)

    initial = stack(token("bit", BITS), constant(0)).with_range(REALS)
    return loop("turns", iterations=turns, initial=initial, body=turn)


@pytest.mark.parametrize("seed", range(30))
def test_facts_of_loops_hold_in_every_iteration(seed: int) -> None:
    most, length = 1 + seed % 3 * 3, 2
    ended = random_loop(seed, most)
    ((node, _),) = ended.forms[0].terms
    assert isinstance(node, Loop)
    one_word = Domain.of_positions([("0",), ("1",), ("0",)])
    for domain, count in ((Domain.all_sequences(BITS), None), (Domain.all_sequences(BITS), 3), (one_word, 3)):
        program = Program("random", tuple(BITS), ("first", "second"), ended, position_count=count)
        analysis = Analysis(program, domain, length)
        analysis.follow(ended.forms)
        for turns, word in product(range(most + 1), domain.iterate_sequences(length + 1)):
            values = evaluate(random_loop(seed, turns), word, length)
            for row, k in product(values, range(2)):
                fact = analysis.facts[node.carried if turns < most else node, k]
                assert fact.low <= row[k] <= fact.high
                assert fact.values is None or row[k] in fact.values
                if fact.step is not None and fact.step.is_constant:
                    assert row[k] == 0 if not fact.step.factor else (row[k] / fact.step.factor).denominator == 1


@pytest.mark.parametrize("turns", [3, 100])
def test_numbers_without_bounds_are_refused_with_the_place(turns: int) -> None:
    def turn(carried: Signal) -> Signal:
        query, key = constant(1), -position(I)
        number, bit = carried[0], carried[1]
        again = attend("first", query=query, key=key, value=bit, gap=Fraction(1), single_key=True)
        return stack((2 * number + 1).with_range(REALS), again.with_range(BIT))

    initial = stack(constant(0).with_range(REALS), token("bit", BITS))
    ended = loop("turns", iterations=turns, initial=initial, body=turn)
    query, key = stack(ended[0], constant(1)), stack(ended[1], -position(I))
    found = attend("reads all", query=query, key=key, value=ended[1], gap=Fraction(1), single_key=True)
    program = recogniser("growing", tuple(BITS), round_unit_bit("answer", found))
    if turns == 3:
        assert certify(program, 3).holds
    else:
        with pytest.raises(sm.SoftmachineError, match="'reads all': errors of the scores up to inf"):
            certify(program, 3)
