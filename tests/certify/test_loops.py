"""Certificates of looped and padded transformers: circuits, graphs, the circuit evaluator."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import softmachine as sm
from softmachine.certify.softmax_error import compute_budget
from softmachine.ir import Program, Signal, attend, constant, loop, named, position, recogniser
from softmachine.ir.gadgets import round_unit_bit
from softmachine.ir.primitives import token
from softmachine.ir.ranges import BIT
from softmachine.languages.circuit import parity, threshold
from softmachine.testing.circuit import random_circuit
from softmachine.transformer.attention import Mask
from softmachine.transformer.features import I

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
    leak = 3 * math.exp(-6)
    expected = 0.0
    for _ in range(turns):
        expected += leak * (1 + 2 * expected)
    found = compute_budget(repeating(turns, rounds=False), 3, 6)
    assert found.holds
    assert found.margin == pytest.approx(1 - 2 * expected)
    assert found.rows[0].error_out == pytest.approx(expected)


def test_errors_that_are_rounded_away_do_not() -> None:
    assert compute_budget(repeating(500, rounds=True), 3, 6).margin == 1
    assert not compute_budget(repeating(500, rounds=False), 3, 6).holds


def test_an_error_too_large_to_be_rounded_away_is_noticed_inside_a_loop() -> None:
    failure = compute_budget(repeating(2, rounds=True), 30, 2).failure
    assert failure is not None
    assert "'again' rounds away errors up to 1/4" in failure


def test_a_long_loop_is_certified_and_beyond_what_theorem_26_can_say() -> None:
    """It unrolls to hundreds of layers, whose bounds are no floats; the certificate said "scale inf / gap"."""
    said = str(sm.certificate("parity-loop-rasp", length=20))
    assert "Theorem 26 gives no temperature" in said
    assert "margin of the logits ≥ 1.0" in said
