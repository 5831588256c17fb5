"""Messages of refused certificates name a gadget, and with this gadget the certificate holds."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from softmachine.certify.certificate import certify
from softmachine.ir import Program, Signal, attend, constant, position, recogniser, stack, step, token
from softmachine.ir.domain import Domain
from softmachine.ir.gadgets import (
    WithSquare,
    at_least,
    compare_with_zero,
    exclusive_or,
    fetch_latest,
    fetch_previous,
    lookup,
    mean,
    recover_integer,
    round_to_integer,
    round_to_trit,
    round_unit_bit,
)
from softmachine.ir.primitives import norm
from softmachine.ir.ranges import BIT, integer
from softmachine.support.errors import ConstructionError
from softmachine.transformer.features import I

TOKENS = ("<s>", "a", "b")
DOMAIN = Domain(frozenset({"<s>"}), frozenset("ab"))
LENGTH = 12
Build = Callable[[], Signal]


def number(name: str, a: int, b: int, start: int = 0) -> Signal:
    """A number for each token."""
    return token(name, {"<s>": (start,), "a": (a,), "b": (b,)})


def certified(bit: Signal) -> bool:
    """Whether softmax is certified for a recogniser."""
    program: Program = recogniser("advice", TOKENS, bit)
    return certify(program, LENGTH, domain=DOMAIN).holds


def same_as_previous(read: Signal, fix: Callable[[Signal], Signal] = lambda signal: signal) -> Signal:
    """Whether the previous number is at least this one: a step at 0."""
    return step("at least", fix(fetch_previous("previous", read)) - read)


BIT_OF_A, SIGN, DIGIT = number("bit", 1, 0), number("sign", 1, -1), number("digit", 1, 2)
HASH = norm("sign", stack(SIGN, DIGIT))[0]
PLACE = lookup("third", constant(3), position(I)) - 2


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
    "may be 0, where any error changes the result: round 'previous' with round_unit_bit": (
        lambda: same_as_previous(BIT_OF_A),
        lambda: same_as_previous(BIT_OF_A, lambda x: round_unit_bit("rounded", x)),
    ),
    "round 'previous' with round_to_trit": (
        lambda: same_as_previous(SIGN),
        lambda: same_as_previous(SIGN, lambda x: round_to_trit("rounded", x)),
    ),
    "round 'previous' with round_to_integer, or": (
        lambda: same_as_previous(DIGIT),
        lambda: same_as_previous(DIGIT, lambda x: round_to_integer("rounded", x, 2)),
    ),
    "or compare it with compare_with_zero": (
        lambda: step("later", PLACE),
        lambda: compare_with_zero("later", PLACE, ">=", constant(1)),
    ),
    "recover the integer of which 'mean' is a share (recover_integer)": (
        lambda: step("more", mean("mean", fetch_previous("previous", SIGN))),
        lambda: compare_with_zero("more", recovered(mean("mean", fetch_previous("previous", SIGN))), ">=", constant(1)),
    ),
    "keys at different positions have different denominators: mean\n  recover": (largest, lambda: largest(recovered)),
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


def test_scores_with_errors_ask_for_rounding() -> None:
    def largest_pair(fix: Callable[[Signal], Signal]) -> Program:
        pair = 100 * fix(fetch_previous("previous", BIT_OF_A)) + BIT_OF_A
        best = attend("best", query=constant(1), key=pair, value=pair, single_key=True)
        return recogniser("advice", TOKENS, at_least("both", best, 101))

    refused = certify(largest_pair(lambda x: x), LENGTH, 3, DOMAIN)
    assert "use up the gap 1: round 'previous' with round_unit_bit" in refused.explain_failure
    repaired = certify(largest_pair(lambda x: round_unit_bit("rounded", x)), LENGTH, domain=DOMAIN)
    assert repaired.sharpness < certify(largest_pair(lambda x: x), LENGTH, domain=DOMAIN).sharpness


def test_a_gadget_that_takes_bits_says_how_to_get_one() -> None:
    share = attend("first", query=constant(1), key=BIT_OF_A, value=BIT_OF_A)
    with pytest.raises(ConstructionError, match=r"first is real in 0..1\n.*round_unit_bit.*declare single_key=True"):
        exclusive_or("differ", share, BIT_OF_A)
    with pytest.raises(ConstructionError, match=r"(?s)'first' takes integers.*recover_integer"):
        fetch_latest("first", SIGN, matches=(WithSquare(share, share), WithSquare(share, share)))
    bit = attend("first", query=constant(1), key=BIT_OF_A, value=BIT_OF_A, single_key=True)
    assert certified(exclusive_or("differ", bit, BIT_OF_A))
