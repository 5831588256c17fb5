"""Exact evaluation: the meaning of every primitive, and every promise checked."""

from __future__ import annotations

from fractions import Fraction

import pytest

from softmachine.ir import Signal, attend, constant, evaluate, loop, named, position, relu, stack, step, token
from softmachine.ir.ranges import BIT, integer, real
from softmachine.ir.signal import Affine, topological_order
from softmachine.support.errors import ConstructionError
from softmachine.transformer.attention import (
    AVERAGE_HARD,
    LEFTMOST_HARD,
    RIGHTMOST_HARD,
    Mask,
    Weighting,
    softmax_weighting,
)
from softmachine.transformer.features import HALF_RECIPROCAL, Distance, Feature, I, Last, Logarithm, N
from tests.sources.oracle import START, letter

WORD = [START, "a", "b", "a"]


def scalars(signal: Signal, tokens: list[str] = WORD, length: int | None = None) -> list[Fraction]:
    return [row[0] for row in evaluate(signal, tokens, length)]


# What primitives mean


def test_tokens_that_a_table_leaves_out_have_zeros() -> None:
    numbers = token("numbers", {"a": (1, Fraction(1, 2)), "b": (2, 3)})
    assert [list(row) for row in evaluate(numbers, [START, "b"])] == [[0, 0], [2, 3]]


def test_relu_and_step_differ_at_zero_and_above() -> None:
    x = letter("a") - letter("b")
    assert scalars(relu("relu", x)) == [0, 1, 0, 1]
    assert scalars(step("step", x)) == [1, 1, 0, 1]
    assert scalars(step("step", Fraction(1, 3) * x)) == [1, 1, 0, 1]


def test_features_of_the_length_need_it() -> None:
    assert scalars(position(Last()), length=3) == [0, 0, 0, 1]
    with pytest.raises(ConstructionError, match="depends on the length"):
        scalars(position(Last()))


@pytest.mark.parametrize(
    ("weighting", "expected"),
    [(AVERAGE_HARD, [0, 1, 1, 2]), (LEFTMOST_HARD, [0, 1, 1, 1]), (RIGHTMOST_HARD, [0, 1, 1, 3])],
)
def test_ties_are_averaged_or_go_to_the_left_or_to_the_right(weighting: Weighting, expected: list[int]) -> None:
    found = attend("a", query=constant(1), key=letter("a"), value=position(I), weighting=weighting)
    assert scalars(found) == expected


@pytest.mark.parametrize(
    ("mask", "expected"),
    [
        (Mask.ALL, [Fraction(3, 2)] * 4),
        (Mask.CAUSAL, [0, Fraction(1, 2), 1, Fraction(3, 2)]),
        (Mask.PAST, [0, 0, Fraction(1, 2), 1]),
        (Mask.ANTICAUSAL, [Fraction(3, 2), 2, Fraction(5, 2), 3]),
        (Mask.FUTURE, [2, Fraction(5, 2), 3, 0]),
    ],
)
def test_a_mask_says_which_positions_count_and_a_query_that_sees_nothing_gets_zero(
    mask: Mask, expected: list[Fraction]
) -> None:
    assert scalars(attend("mean", value=position(I), mask=mask)) == expected


def test_a_query_that_sees_nothing_gets_zero_whatever_the_scores_are() -> None:
    found = attend("past", query=constant(3), key=position(I), value=constant(5), mask=Mask.PAST)
    assert scalars(found) == [0, 5, 5, 5]


def test_a_relative_bias_is_added_to_the_scores() -> None:
    """With the distance as the score, the farthest position wins; against i · j the trade-off is exact."""
    assert scalars(attend("far", value=position(I), bias=Distance())) == [0, 0, 0, 0]
    nearer = attend("near", query=constant(2), key=position(I), value=position(I), bias=Distance())
    assert scalars(nearer) == [0, 1, 2, 3]
    tied = attend("tied", query=constant(1), key=position(I), value=position(I), bias=Distance())
    assert scalars(tied) == [0, Fraction(1, 2), 1, Fraction(3, 2)]


def test_softmax_of_equal_scores_is_the_mean() -> None:
    found = attend("soft", query=letter("a"), key=constant(2), value=position(I), weighting=softmax_weighting(3))
    assert scalars(found) == [0, Fraction(1, 2), 1, Fraction(3, 2)]


def test_softmax_of_different_scores_has_no_rational_value() -> None:
    found = attend("soft", query=constant(1), key=letter("a"), value=position(I), weighting=softmax_weighting())
    with pytest.raises(ConstructionError, match="'soft': softmax of different scores has no rational value"):
        evaluate(found, WORD)


def test_an_empty_sequence_has_no_values() -> None:
    assert evaluate(attend("mean", value=position(I)), []) == []


# Loops


@pytest.mark.parametrize(("length", "times"), [(1, 0), (2, 1), (3, 2), (4, 2), (5, 3), (8, 3), (9, 4)])
def test_a_loop_may_run_as_often_as_a_feature_of_the_length_says(length: int, times: int) -> None:
    counted = loop(
        "count",
        iterations=Logarithm(of_length=True),
        initial=constant(0).with_range(integer(0, 100)),
        body=lambda x: (x + 1).with_range(integer(0, 100)),
    )
    assert scalars(counted, [START, *"a" * length], length) == [times] * (length + 1)


def test_a_loop_that_depends_on_the_length_needs_it() -> None:
    counted = loop("count", iterations=N, initial=letter("a"), body=lambda x: x)
    with pytest.raises(ConstructionError, match="depends on the length"):
        evaluate(counted, WORD)


def test_loops_may_nest_in_evaluation() -> None:
    wide = integer(0, 1000)

    def outer(x: Signal) -> Signal:
        return loop("inner", iterations=2, initial=x.with_range(wide), body=lambda y: (y + x).with_range(wide))

    tripled = loop("outer", iterations=3, initial=letter("a").with_range(wide), body=outer)
    assert scalars(tripled) == [0, 27, 0, 27]


def test_what_a_loop_carries_is_not_to_be_read_outside() -> None:
    leaked: list[Signal] = []

    def body(x: Signal) -> Signal:
        leaked.append(x)
        return x

    loop("leaky", iterations=1, initial=letter("a"), body=body)
    with pytest.raises(ConstructionError, match="'leaky' is read outside the loop that carries it"):
        evaluate(leaked[0], WORD)


def test_what_a_loop_carries_is_checked_at_every_turn() -> None:
    """It leaves its range in the second iteration and returns in the third."""
    small = integer(0, 2)
    there_and_back = loop(
        "there and back",
        iterations=3,
        initial=(letter("a") + 1).with_range(small),
        body=lambda x: (3 * x - 4 * relu("r", x - 2).with_range(real(-9, 9))).with_range(small),
    )
    with pytest.raises(
        ConstructionError, match=r"there and back is \d+ at position 0, outside its declared range: integer in 0..2"
    ):
        evaluate(there_and_back, WORD)


# Promises


def test_a_gap_that_is_smaller_than_promised_is_an_error() -> None:
    def head(gap: Fraction | Feature | int) -> Signal:
        return attend("h", query=constant(1), key=Fraction(1, 3) * position(I), value=position(I), gap=gap)

    assert scalars(head(Fraction(1, 3))) == [0, 1, 2, 3]
    with pytest.raises(ConstructionError, match="'h' at position 1: the gap is 1/3, less than the declared 1"):
        evaluate(head(1), WORD)
    with pytest.raises(ConstructionError, match="'h' at position 1: the gap is 1/3, less than the declared 1/2"):
        evaluate(head(Fraction(1, 2)), WORD)
    assert scalars(head(HALF_RECIPROCAL)) == [0, 1, 2, 3]
    with pytest.raises(ConstructionError, match="'h' at position 1: the gap is 1/3, less than the declared 1"):
        evaluate(head(I), WORD)


def test_equal_scores_do_not_break_a_gap() -> None:
    assert scalars(attend("h", query=constant(1), key=constant(1), value=constant(1), gap=10)) == [1] * 4


def test_tied_positions_of_different_values_break_the_promise_of_a_single_one() -> None:
    fine = attend("h", query=constant(1), key=letter("a"), value=letter("a"), single_key=True)
    assert scalars(fine) == [0, 1, 1, 1]
    broken = attend("h", query=constant(1), key=letter("a"), value=position(I), single_key=True)
    with pytest.raises(ConstructionError, match=r"'h' at position 3: tied positions \[1, 3\] differ in value"):
        evaluate(broken, WORD)


@pytest.mark.parametrize(
    ("signal", "message"),
    [
        (named("x", (2 * letter("a")).with_range(BIT)), "x is 2 at position 1, outside its declared range: bit"),
        (
            named("x", (-letter("a")).with_range(integer(0, 5))),
            "x is -1 at position 1, outside its declared range: integer in 0..5",
        ),
        (
            named("x", (Fraction(1, 2) * letter("a")).with_range(BIT)),
            "x is 1/2 at position 1, outside its declared range: bit",
        ),
        (
            named("x", stack(letter("a"), 3 * letter("b")).with_range(BIT).with_labels(("p", "q"))),
            r"x\[q\] is 3 at position 2, outside its declared range: bit",
        ),
        (
            relu("r", (5 + letter("b")).with_range(integer(0, 5))),
            "r is 6 at position 2, outside its declared range: integer in 0..5",
        ),
        (
            attend("h", value=(2 * letter("a")).with_range(BIT), mask=Mask.ANTICAUSAL),
            "h is .* declared range: real in 0..1",
        ),
    ],
)
def test_a_kind_that_was_promised_and_does_not_hold_is_an_error(signal: Signal, message: str) -> None:
    with pytest.raises(ConstructionError, match=message):
        evaluate(signal, WORD)


def test_bounds_that_grow_with_the_length_are_checked_at_that_length() -> None:
    assert scalars(named("i", position(I))) == [0, 1, 2, 3]
    with pytest.raises(ConstructionError, match=r"x is 8 at position 2, outside its declared range: integer in 0..2n"):
        scalars(named("x", (4 * position(I)).with_range((2 * position(I)).ranges[0])), [START, "a", "a"])


# Graphs


def test_a_graph_may_be_deeper_than_the_stack_of_calls() -> None:
    deep = letter("a")
    for k in range(3000):
        deep = relu(f"layer {k}", 1 - deep)
    assert scalars(deep, [START, "a"]) == [0, 1]


def test_a_chain_of_sums_is_evaluated_once_a_node() -> None:
    one, two = letter("a"), letter("b")
    for k in range(200):
        one, two = two, named(f"sum {k}", one + two)
    assert scalars(two, [START, "a", "b"])[1] > 10**40


def test_nodes_come_after_what_they_read() -> None:
    a, b = letter("a"), letter("b")
    one = relu("one", a + b)
    two = attend("two", query=a, key=one, value=b)
    nodes = list(topological_order(two.forms))
    assert [node.name for node in nodes] == ["a", "b", "one", "two"]
    known = {nodes[2]}
    assert [node.name for node in topological_order([*two.forms, Affine({})], skipped=known)] == ["a", "b", "two"]
