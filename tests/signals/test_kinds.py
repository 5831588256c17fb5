"""Value ranges: inferred ranges are correct and as narrow as possible."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from softmachine.ir import Signal, attend, constant, evaluate, position, relu, stack, token
from softmachine.ir.ranges import (
    BIT,
    INTEGERS,
    OVER_POSITIONS,
    SIGN,
    ValueRange,
    affine_range,
    exact,
    integer,
    real,
    relu_range,
    union,
)
from softmachine.support.errors import ConstructionError
from softmachine.support.polynomial import Polynomial
from softmachine.transformer.attention import LEFTMOST_HARD, RIGHTMOST_HARD, Mask
from softmachine.transformer.features import I_SQUARED, RECIPROCAL, I
from tests.sources.oracle import letter
from tests.sources.signal_programs import random_program, random_tokens

N = Polynomial(0, 1)
A = letter("a")
SHARE = ValueRange(Polynomial(0), Polynomial(1), OVER_POSITIONS)


def random_kind(chooser: random.Random) -> ValueRange:
    low = Polynomial(chooser.randrange(-4, 4), -chooser.randrange(2))
    span = Polynomial(chooser.randrange(4), chooser.randrange(2))
    return ValueRange(low, low + span, chooser.choice((INTEGERS, OVER_POSITIONS, None)))


def member(kind: ValueRange, chooser: random.Random, i: int, n: int) -> Fraction:
    """A number of this kind at position i of n."""
    low, high = kind.low.at(n), kind.high.at(n)
    grid = {INTEGERS: 1, OVER_POSITIONS: i + 1, None: 7}[kind.denominator]
    return Fraction(chooser.randrange(int(low * grid), int(high * grid) + 1), grid)


def test_what_is_inferred_of_a_combination_a_relu_or_a_union_admits_every_value() -> None:
    chooser = random.Random(0)
    for _ in range(3000):
        n = chooser.randrange(1, 6)
        i = chooser.randrange(n)
        kinds = [random_kind(chooser) for _ in range(chooser.randrange(1, 4))]
        values = [member(kind, chooser, i, n) for kind in kinds]
        factors = [Fraction(chooser.randrange(-3, 4), chooser.choice((1, 1, 2))) for _ in kinds]
        constants = Fraction(chooser.randrange(-3, 4), chooser.choice((1, 1, 2)))
        total = constants + sum(f * v for f, v in zip(factors, values, strict=True))
        inferred = affine_range(zip(factors, kinds, strict=True), constants)
        assert all(kind.contains(value, i, n) for kind, value in zip(kinds, values, strict=True))
        assert inferred.contains(total, i, n)
        assert relu_range(inferred).contains(max(total, Fraction(0)), i, n)
        assert all(union(kinds).contains(value, i, n) for value in values)
        assert all(kind.is_within(union(kinds)) for kind in kinds)


def test_within_means_that_every_number_of_one_kind_is_of_the_other() -> None:
    chooser = random.Random(1)
    for _ in range(3000):
        one, other = random_kind(chooser), random_kind(chooser)
        if one.is_within(other):
            n = chooser.randrange(1, 6)
            i = chooser.randrange(n)
            assert other.contains(member(one, chooser, i, n), i, n)


@pytest.mark.parametrize(
    ("one", "other"),
    [(BIT, SIGN), (BIT, integer(0, N + Polynomial(1))), (BIT, real(0, 1)), (BIT, SHARE)],
)
def test_bits_are_signs_reals_and_shares(one: ValueRange, other: ValueRange) -> None:
    assert one.is_within(other)
    assert not other.is_within(one)


def test_a_count_up_to_n_may_be_zero_so_that_a_bit_is_not_always_one() -> None:
    assert not BIT.is_within(integer(0, N))


def test_the_kinds_of_nodes_in_random_programs_hold() -> None:
    """The evaluator checks the kind of every node; here nothing but inference has promised them."""
    for seed in range(150):
        evaluate(random_program(seed).logits, random_tokens(seed, 4), 3)


@pytest.mark.parametrize(
    ("signal", "kind"),
    [
        (constant(3), "integer in 3..3"),
        (constant(Fraction(1, 2)), "real in 1/2..1/2"),
        (position(I), "integer in 0..n"),
        (position(I) + 1, "integer in 1..n+1"),
        (position(I_SQUARED), "integer in 0..n^2"),
        (position(RECIPROCAL), "integer/(i+1) in 0..1"),
        (3 * position(RECIPROCAL) + 1, "integer/(i+1) in 1..4"),
        (Fraction(1, 2) * position(RECIPROCAL), "real in 0..1/2"),
        (letter("a"), "bit"),
        (1 - letter("a"), "bit"),
        (A - A, "integer in 0..0"),
        (token("t", {"a": (5,), "b": (-2,)}), "integer in -2..5"),
        (relu("r", letter("a") - 3), "integer in 0..0"),
        (attend("h", value=letter("a")), "integer/(i+1) in 0..1"),
        (attend("h", value=letter("a"), mask=Mask.ALL), "real in 0..1"),
        (attend("h", value=letter("a"), single_key=True), "bit"),
        (attend("h", value=letter("a"), weighting=LEFTMOST_HARD), "bit"),
        (attend("h", value=constant(3), weighting=RIGHTMOST_HARD, mask=Mask.PAST), "integer in 0..3"),
        (attend("h", value=position(RECIPROCAL), single_key=True), "real in 0..1"),
        (attend("h", value=attend("m", value=letter("a"))), "real in 0..1"),
    ],
)
def test_kinds_print_what_is_known(signal: Signal, kind: str) -> None:
    assert str(signal.ranges[0]) == kind


def test_an_exact_number_is_its_own_bound() -> None:
    assert exact(Fraction(3)).contains(Fraction(3), 0, 1)
    assert not exact(Fraction(3)).contains(Fraction(2), 0, 1)


def test_a_sum_of_components_of_a_one_hot_vector_is_a_bit() -> None:
    onehot = token("x", {"a": (1, 0, 0), "b": (0, 1, 0)}, labels=("p", "q", "r"))
    assert onehot.is_one_hot
    assert onehot.total.ranges == (BIT,)
    assert onehot.sum_of_labels(["p", "r", "p"]).ranges == (BIT,)
    assert [list(row) for row in evaluate(onehot.sum_of_labels(["p", "r", "p"]), ["a", "b"])] == [[1], [0]]
    assert onehot["q"].ranges == (BIT,)
    assert attend("h", value=onehot, weighting=LEFTMOST_HARD).is_one_hot
    assert not attend("h", value=onehot).is_one_hot


def test_a_table_that_is_not_one_hot_is_not_taken_for_one() -> None:
    assert not token("x", {"a": (1, 1)}).is_one_hot
    assert not token("x", {"a": (2, 0)}).is_one_hot
    assert not token("x", {"a": (1, -1)}).is_one_hot


# Signals that do not fit


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: letter("a") + stack(letter("a"), letter("b")), "signals of width 1 and 2 cannot be added"),
        (lambda: stack(letter("a"), letter("b")).with_range(BIT, BIT, BIT), "width 2 cannot have 3 ranges"),
        (lambda: letter("a").with_labels(("x", "y")), "width 1 cannot have 2 labels"),
        (lambda: token("t", {"a": (1, 2)}, labels=("x",)), "width 2 cannot have 1 labels"),
        (lambda: token("t", {"a": (1, 2), "b": (1,)}), r"table 't' have widths \[1, 2\]; give them one"),
        (lambda: token("t", {}), "give them one"),
        (lambda: letter("a")["x"], "has no component 'x'"),
        (lambda: letter("a").with_labels(("x",)).sum_of_labels(["y"]), "has no component 'y'"),
        (lambda: attend("h", query=letter("a"), value=letter("a")), "head 'h': the query has width 1, the key 0"),
    ],
)
def test_signals_that_do_not_fit_are_refused(build: object, message: str) -> None:
    assert callable(build)
    with pytest.raises(ConstructionError, match=message):
        build()


def test_a_signal_is_a_sequence_of_its_components() -> None:
    both = stack(letter("a"), 2 * letter("b")).with_labels(("x", "y"))
    assert len(both) == 2
    assert [evaluate(part, ["b"])[0][0] for part in (both[1], both["y"], both[-1], both[1:])] == [2] * 4
    assert both[:1].labels == ("x",)
