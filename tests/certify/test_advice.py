"""Messages of refused certificates name a gadget, and with this gadget the certificate holds."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from itertools import product

import pytest

from softmachine.certify.certificate import Certificate, certify
from softmachine.compiler import compile_program
from softmachine.engines.dense.engine import DenseEngine
from softmachine.ir import Program, Signal, attend, constant, recogniser, stack, step, token
from softmachine.ir.domain import Domain
from softmachine.ir.gadgets import (
    WithSquare,
    at_least,
    compare_with_zero,
    exclusive_or,
    fetch_latest,
    fetch_previous,
    mean,
    recover_integer,
    round_to_integer,
    round_to_trit,
    round_unit_bit,
)
from softmachine.ir.primitives import norm
from softmachine.ir.ranges import BIT, integer
from softmachine.support.errors import ConstructionError

TOKENS = ("<s>", "a", "b")
DOMAIN = Domain(frozenset({"<s>"}), frozenset("ab"))
LENGTH = 12
Build = Callable[[], Signal]


def number(name: str, a: int, b: int, start: int = 0) -> Signal:
    """A number for each token."""
    return token(name, {"<s>": (start,), "a": (a,), "b": (b,)})


def certified(bit: Signal) -> bool:
    """Whether softmax is certified for a recogniser, and then decides like hard attention in float64."""
    program: Program = recogniser("advice", TOKENS, bit)
    certificate = certify(program, LENGTH, domain=DOMAIN)
    words = [["<s>", *word] for word in product("ab", repeat=6)]
    hard, soft = DenseEngine(compile_program(program), "exact"), DenseEngine(certificate.soft_transformer)
    return certificate.holds and hard.predict(words) == soft.predict(words)


BIT_OF_A, SIGN, DIGIT = number("bit", 1, 0), number("sign", 1, -1), number("digit", 1, 2)
HASH = norm("sign", stack(SIGN, DIGIT))[0]
PREVIOUS = fetch_previous("previous", DIGIT) - DIGIT
"""At least 0 if the previous letter comes after this one."""


def largest(fix: Callable[[Signal], Signal] = lambda signal: signal) -> Signal:
    """Whether the number of a's ever exceeded that of b's by 2: the head compares numbers at several positions."""
    height = fix(mean("mean", SIGN))
    best = attend("best", query=constant(1), key=height, value=height, single_key=True)
    bounded = best.with_range(integer(-LENGTH, LENGTH))
    return at_least("two", bounded, 2)


def recovered(share: Signal) -> Signal:
    """The integer of which a signal is a share of i+1."""
    return recover_integer("height", share, constant(0), negative=True).integer.value


CASES: dict[str, tuple[Build, Build]] = {
    "step 'falls' may read 0, where any error of 'previous' changes the result: compare it with compare_with_zero": (
        lambda: step("falls", PREVIOUS),
        lambda: compare_with_zero("falls", PREVIOUS, ">=", constant(1)),
    ),
    "compare 2 times it with compare_with_zero": (
        lambda: step("falls", PREVIOUS * Fraction(1, 2)),
        lambda: compare_with_zero("falls", PREVIOUS, ">=", constant(1)),
    ),
    "recover the integer of which it is a share (recover_integer), and compare that with compare_with_zero": (
        lambda: step("more", mean("mean", fetch_previous("previous", SIGN))),
        lambda: compare_with_zero("more", recovered(mean("mean", fetch_previous("previous", SIGN))), ">=", constant(1)),
    ),
    "keys differ in their denominators: mean\n  recover": (largest, lambda: largest(recovered)),
    "compare integers or bits in place of the layer norm 'sign": (
        lambda: attend("best", query=constant(1), key=HASH, value=BIT_OF_A).with_range(BIT),
        lambda: attend("best", query=constant(1), key=BIT_OF_A, value=BIT_OF_A, single_key=True),
    ),
}


@pytest.mark.parametrize("message", CASES)
def test_the_message_of_a_refused_certificate_names_a_gadget_that_repairs_it(message: str) -> None:
    refused, repaired = CASES[message]
    with pytest.raises(ConstructionError, match=re.escape(message)):
        certified(refused())
    assert certified(repaired())


def largest_pair(number: Signal, fix: Callable[[Signal], Signal] = lambda signal: signal) -> Certificate:
    """A certificate for a head whose scores are pairs of the previous number and this one."""
    pair = 100 * fix(fetch_previous("previous", number)) + number
    best = attend("best", query=constant(1), key=pair, value=pair, single_key=True)
    return certify(recogniser("advice", TOKENS, at_least("both", best, 101)), LENGTH, 3, DOMAIN)


@pytest.mark.parametrize(
    ("number", "gadget", "fix"),
    [
        (BIT_OF_A, "round_unit_bit", lambda x: round_unit_bit("rounded", x)),
        (SIGN, "round_to_trit", lambda x: round_to_trit("rounded", x)),
        (DIGIT, "round_to_integer", lambda x: round_to_integer("rounded", x, 2)),
    ],
)
def test_scores_with_errors_ask_for_rounding(number: Signal, gadget: str, fix: Callable[[Signal], Signal]) -> None:
    assert f"use up the gap 1: round 'previous' with {gadget}" in largest_pair(number).explain_failure
    assert "use up the gap" not in largest_pair(number, fix).explain_failure


def test_a_gadget_that_takes_bits_says_how_to_get_one() -> None:
    share = attend("first", query=constant(1), key=BIT_OF_A, value=BIT_OF_A)
    with pytest.raises(ConstructionError, match=r"first is real in 0..1\n.*round_unit_bit.*declare single_key=True"):
        exclusive_or("differ", share, BIT_OF_A)
    with pytest.raises(ConstructionError, match=r"(?s)'first' takes integers.*recover_integer"):
        fetch_latest("first", SIGN, matches=(WithSquare(share, share), WithSquare(share, share)))
    bit = attend("first", query=constant(1), key=BIT_OF_A, value=BIT_OF_A, single_key=True)
    assert certified(exclusive_or("differ", bit, BIT_OF_A))
