"""Every gadget equals its definition on all short inputs: as signals, in exact weights and in float64."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache

import numpy as np
import pytest

from softmachine.compiler import compile_program
from softmachine.engines.dense.engine import DenseEngine
from softmachine.ir import Program, Signal, Vocabulary, constant, evaluate, position, relu, stack, step
from softmachine.ir.gadgets import (
    TableRow,
    WithSquare,
    all_of,
    any_of,
    at_least,
    exclusive_or,
    exists,
    fetch,
    fetch_latest,
    fetch_previous,
    first_position,
    gate,
    gate_by_zero,
    lookup,
    lookup_table,
    mean,
    one_hot_with_default,
    position_with_square,
    recover_integer,
    round_unit_bit,
    select,
)
from softmachine.ir.ranges import BIT, integer, real
from softmachine.support.errors import ConstructionError
from softmachine.support.polynomial import Polynomial
from softmachine.testing import strings
from softmachine.transformer.attention import Mask
from softmachine.transformer.features import RECIPROCAL, Bit, I
from tests.sources.oracle import LETTERS, START, letter

NUMBERS = Vocabulary({str(k): k for k in range(-4, 5)})
"""Tokens that are small integers."""
NUMBER = NUMBERS.number("x", lambda number: number)
PAIRS = Vocabulary({f"{a}{b}": (a, b) for a in range(2) for b in range(2)})
"""Tokens that are two bits."""
FIRST, SECOND = PAIRS.bit("p", lambda pair: pair[0] == 1), PAIRS.bit("q", lambda pair: pair[1] == 1)


@lru_cache(maxsize=16)
def engines(signal: Signal, vocabulary: tuple[str, ...]) -> tuple[DenseEngine, DenseEngine]:
    """The weights of a signal, exact and in float64."""
    transformer = compile_program(Program("test", vocabulary, tuple(f"out {k}" for k in range(len(signal))), signal))
    return DenseEngine(transformer, "exact"), DenseEngine(transformer, "float64")


def numbers(signal: Signal, tokens: list[str], vocabulary: tuple[str, ...] = LETTERS.tokens) -> list[list[Fraction]]:
    """The signal at every position by its definition, by exact weights and by float64, which must agree."""
    expected = [list(row) for row in evaluate(signal, tokens)]
    exact, floating = (engine.unembedding(engine.residual_stream([tokens])) for engine in engines(signal, vocabulary))
    assert [[Fraction(str(number)) for number in row] for row in exact.value[0]] == expected
    assert floating.error is not None
    near = np.abs(floating.value[0] - np.array(expected, dtype=float)) <= floating.error[0] + 1e-12
    assert near.all()
    return expected


def scalars(signal: Signal, tokens: list[str], vocabulary: tuple[str, ...] = LETTERS.tokens) -> list[Fraction]:
    return [row[0] for row in numbers(signal, tokens, vocabulary)]


def truths(signal: Signal, tokens: list[str], vocabulary: tuple[str, ...] = LETTERS.tokens) -> list[bool]:
    signal.require_bits("a truth")
    return [number == 1 for number in scalars(signal, tokens, vocabulary)]


def all_words(longest: int) -> Iterator[list[str]]:
    for length in range(longest + 1):
        for word in strings("ab", length, length):
            yield [START, *word]


# Logic


@pytest.mark.parametrize(
    ("gadget", "meaning"),
    [
        (lambda p, q: all_of("and", p, q), lambda p, q: p and q),
        (lambda p, q: any_of("or", p, q), lambda p, q: p or q),
        (lambda p, q: exclusive_or("xor", p, q), lambda p, q: p != q),
        (lambda p, q: all_of("p and not q", p, ~q), lambda p, q: p and not q),
        (lambda p, q: any_of("stacked", stack(p, q)), lambda p, q: p or q),
        (lambda p, _: all_of("one", p), lambda p, _: p),
        (lambda *_: all_of("none"), lambda *_: True),
        (lambda *_: any_of("none"), lambda *_: False),
        (lambda p, q: select("if", p, q, ~q), lambda p, q: q if p else not q),
    ],
)
def test_boolean_gadgets_have_their_truth_tables(
    gadget: Callable[[Signal, Signal], Signal], meaning: Callable[[bool, bool], bool]
) -> None:
    tokens = list(PAIRS.tokens)
    expected = [bool(meaning(token[0] == "1", token[1] == "1")) for token in tokens]
    assert truths(gadget(FIRST, SECOND), tokens, PAIRS.tokens) == expected


def test_conjunctions_and_disjunctions_of_many_bits_take_one_layer() -> None:
    bits = [stack(FIRST, SECOND), ~FIRST, SECOND]
    for gadget in (all_of, any_of):
        program = Program("many", PAIRS.tokens, ("out",), gadget("many", *bits))
        assert len(compile_program(program).layers) == 1
        assert len(compile_program(program).layers[0].feed_forward.units) == 1


def test_select_chooses_between_numbers_with_constant_bounds_component_by_component() -> None:
    tokens = list(NUMBERS.tokens)
    positive = NUMBERS.bit("positive", lambda number: number > 0)
    then, otherwise = stack(NUMBER, Fraction(1, 3) * NUMBER), stack(constant(7), -2 * NUMBER)
    found = numbers(select("choice", positive, then, otherwise), tokens, NUMBERS.tokens)
    assert found == [
        [Fraction(x), Fraction(x, 3)] if x > 0 else [Fraction(7), Fraction(-2 * x)] for x in map(int, tokens)
    ]


def test_select_takes_a_number_that_the_length_does_not_move_any_more() -> None:
    assert scalars(select("choice", letter("a"), 0 * position(I), constant(1)), [START, "a"]) == [1, 0]


def test_select_keeps_the_labels_of_what_it_selects() -> None:
    labelled = stack(FIRST, SECOND).with_labels(("x", "y"))
    assert select("choice", FIRST, labelled, constant(0, 2)).labels == ("x", "y")


@pytest.mark.parametrize("off", [stack(FIRST, SECOND), FIRST + SECOND, FIRST])
def test_a_gate_lets_a_number_between_0_and_1_through_where_nothing_shuts_it(off: Signal) -> None:
    tokens = ["00", "01", "10", "11"]
    shut = [any(token[k] == "1" for k in range(1 if off is FIRST else 2)) for token in tokens]
    passed = gate("gate", stack(position(RECIPROCAL), constant(1)), blockers=off)
    expected = [[Fraction(0)] * 2 if closed else [Fraction(1, i + 1), 1] for i, closed in enumerate(shut)]
    assert numbers(passed, tokens, PAIRS.tokens) == expected


def test_what_a_gate_lets_through_may_be_zero() -> None:
    passed = gate("gate", constant(1), blockers=FIRST)
    assert passed.ranges == (BIT,)
    chosen = select("switch", SECOND, passed, constant(1))
    assert scalars(chosen, ["01", "11", "00", "10"], PAIRS.tokens) == [1, 0, 1, 1]


@pytest.mark.parametrize("error", [Fraction(k, 8) for k in (-2, -1, 0, 1, 2)])
@pytest.mark.parametrize("bit", [0, 1])
def test_rounded_gives_the_bit_of_a_number_within_a_quarter_of_it(bit: int, error: Fraction) -> None:
    near = (bit * letter("a") + error * letter("b") + bit * letter("b")).with_range(real(-1, 2))
    assert scalars(round_unit_bit("bit", near), [START, "a", "b"]) == [0, bit, bit]


def test_rounded_promises_a_bit_and_the_promise_is_checked() -> None:
    with pytest.raises(ConstructionError, match="bit is 1/2 at position 0, outside its declared range: bit"):
        evaluate(round_unit_bit("bit", constant(Fraction(1, 2))), [START])


# Integers


@pytest.mark.parametrize(
    ("gadget", "meaning"),
    [
        (lambda x: at_least("two", x, 2), lambda x: x >= 2),
        (lambda x: at_least("minus two", x, -2), lambda x: x >= -2),
    ],
)
def test_tests_of_integers_are_what_they_say(
    gadget: Callable[[Signal], Signal], meaning: Callable[[int], Fraction]
) -> None:
    tokens = list(NUMBERS.tokens)
    assert scalars(gadget(NUMBER), tokens, NUMBERS.tokens) == [meaning(int(token)) for token in tokens]


def test_integers_without_bound_may_be_tested() -> None:
    word = [START, *"ab" * 6]
    assert truths(at_least("from 4", position(I), 4), word) == [i >= 4 for i in range(13)]


def test_where_zero_keeps_bits_exactly_where_the_integer_is_zero() -> None:
    tokens = Vocabulary({f"{b}{x}": (b, x) for b in range(4) for x in range(-3, 4)})
    number = tokens.number("x", lambda meaning: meaning[1])
    bits = stack(
        tokens.bit("low", lambda meaning: meaning[0] & 1 == 1), tokens.bit("high", lambda meaning: meaning[0] >> 1 == 1)
    )
    kept = gate_by_zero("kept", bits.with_labels(("low", "high")), number)
    assert kept.labels == ("low", "high")
    expected = [[b & 1, b >> 1] if x == 0 else [0, 0] for b, x in tokens.meanings.values()]
    assert numbers(kept, list(tokens.tokens), tokens.tokens) == expected
    assert len(compile_program(Program("test", tokens.tokens, ("low", "high"), kept)).layers) == 1


# Retrieval


def test_a_mean_is_an_integer_over_the_number_of_positions() -> None:
    share = mean("share", letter("a"))
    assert str(share.ranges[0]) == "integer/(i+1) in 0..1"
    for word in all_words(4):
        expected = [Fraction(word[: i + 1].count("a"), i + 1) for i in range(len(word))]
        assert scalars(share, word) == expected


@pytest.mark.parametrize("mask", list(Mask))
def test_a_mean_is_over_the_visible_positions_and_zero_if_there_are_none(mask: Mask) -> None:
    share = mean("share", letter("a"), mask)
    for word in all_words(3):
        seen = [[word[j] for j in range(len(word)) if mask.is_visible(j, i)] for i in range(len(word))]
        expected = [Fraction(visible.count("a"), len(visible)) if visible else Fraction(0) for visible in seen]
        assert scalars(share, word) == expected


@pytest.mark.parametrize("mask", [Mask.CAUSAL, Mask.ALL])
def test_a_lookup_reads_at_the_number_and_out_of_range_at_the_nearest_position(mask: Mask) -> None:
    read = lookup("read", NUMBER, NUMBER, mask=mask)
    for word in itertools.product(["-4", "-1", "0", "1", "2", "4"], repeat=3):
        found = scalars(read, list(word), NUMBERS.tokens)
        for i, token in enumerate(word):
            last = i if mask is Mask.CAUSAL else len(word) - 1
            assert found[i] == int(word[min(max(int(token), 0), last)])


def test_a_lookup_by_a_share_of_the_positions_reads_at_the_count() -> None:
    found = lookup("at count", mean("share", letter("a")), stack(letter("a"), position(I)), index_scale=RECIPROCAL)
    for word in all_words(5):
        counts = [word[: i + 1].count("a") for i in range(len(word))]
        assert numbers(found, word) == [[word[c] == "a", c] for c in counts]


def test_locate_finds_an_integer_of_either_sign_and_what_stands_there() -> None:
    difference = mean("difference", letter("a") - letter("b"))
    located = recover_integer("h", difference, stack(letter("a"), letter("b")).with_labels(("a", "b")), negative=True)
    result = stack(located.integer.value, located.integer.square, located.is_negative, located.read)
    for word in all_words(5):
        found = numbers(result, word)
        for i in range(len(word)):
            h = word[: i + 1].count("a") - word[: i + 1].count("b")
            there = word[max(h, 0)]
            assert found[i] == [h, h * h, max(0, -h), there == "a", there == "b"]


def test_locate_needs_one_head_less_if_the_integer_is_not_negative() -> None:
    heads = []
    for negative in (False, True):
        located = recover_integer("h", mean("share", letter("a")), letter("b"), negative=negative)
        program = Program("test", LETTERS.tokens, ("h", "read"), stack(located.integer.value, located.read))
        heads.append(len(compile_program(program).heads))
    assert heads == [2, 3]


def test_latest_reads_at_the_latest_position_where_a_bit_holds_and_else_at_the_latest() -> None:
    last = fetch_latest("last a", position(I), where=letter("a"))
    for word in all_words(5):
        found = scalars(last, word)
        for i in range(len(word)):
            matches = [j for j in range(i + 1) if word[j] == "a"]
            assert found[i] == (matches[-1] if matches else i)


def test_latest_in_the_past_does_not_see_its_own_position_and_is_zero_at_the_start() -> None:
    last = fetch_latest("last a", position(I) + 1, where=letter("a"), mask=Mask.PAST)
    for word in all_words(4):
        found = scalars(last, word)
        for i in range(len(word)):
            matches = [j for j in range(i) if word[j] == "a"]
            assert found[i] == (matches[-1] + 1 if matches else i)


def test_latest_reads_at_the_latest_position_with_an_equal_number_and_else_at_the_nearest() -> None:
    squared = WithSquare(NUMBER, NUMBERS.number("x²", lambda number: number * number))
    found = fetch_latest("last equal", position(I), matches=(squared, WithSquare(-NUMBER, squared.square)))
    for word in itertools.product(["-2", "-1", "0", "1", "2"], repeat=3):
        values = [int(token) for token in word]
        expected = [max((-((values[j] + values[i]) ** 2), j) for j in range(i + 1))[1] for i in range(3)]
        assert scalars(found, list(word), NUMBERS.tokens) == expected


def test_latest_prefers_a_position_where_the_bit_holds_among_equal_numbers() -> None:
    tokens = Vocabulary({f"{b}{x}": (b, x) for b in range(2) for x in range(2)})
    bit, number = tokens.bit("b", lambda m: m[0] == 1), tokens.number("x", lambda m: m[1])
    found = fetch_latest(
        "last", position(I), where=bit, matches=(WithSquare(number, number), WithSquare(number, number))
    )
    for word in itertools.product(tokens.tokens, repeat=3):
        pairs = [tokens.meanings[token] for token in word]
        score = [[p[0] - (p[1] - q[1]) ** 2 for p in pairs] for q in pairs]
        expected = [max((score[i][j], j) for j in range(i + 1))[1] for i in range(3)]
        assert scalars(found, list(word), tokens.tokens) == expected


@pytest.mark.parametrize("mask", list(Mask))
def test_exists_is_whether_a_bit_holds_at_a_visible_position(mask: Mask) -> None:
    some = exists("some a", letter("a"), mask=mask)
    for word in all_words(4):
        expected = [any(word[j] == "a" for j in range(len(word)) if mask.is_visible(j, i)) for i in range(len(word))]
        assert truths(some, word) == expected


def test_exists_with_an_address_asks_only_the_positions_of_that_address() -> None:
    tokens = Vocabulary({f"{b}{s}": (b, s) for b in range(2) for s in (-1, 1)})
    bit, sign = tokens.bit("b", lambda m: m[0] == 1), tokens.number("sign", lambda m: m[1])
    some = exists("same sign", bit, match=(sign, sign))
    for word in itertools.product(tokens.tokens, repeat=3):
        pairs = [tokens.meanings[token] for token in word]
        expected = [any(b == 1 for b, s in pairs[: i + 1] if s == pairs[i][1]) for i in range(3)]
        assert truths(some, list(word), tokens.tokens) == expected


def test_fetch_reads_where_the_address_is_equal_bit_by_bit() -> None:
    keys = stack(*(position(Bit(k, signed=True)) for k in range(2)))
    wanted = stack(
        NUMBERS.number("bit 0", lambda number: 2 * (number & 1) - 1),
        NUMBERS.number("bit 1", lambda number: 2 * (number >> 1 & 1) - 1),
    )
    there = fetch("there", wanted, keys, NUMBER, mask=Mask.ALL)
    for word in itertools.product(["0", "1", "2", "3"], repeat=4):
        found = scalars(there, list(word), NUMBERS.tokens)
        assert found == [int(word[int(token)]) for token in word]


def test_previous_is_one_position_earlier_and_at_the_start_the_start() -> None:
    before = fetch_previous("before", letter("a"))
    for word in all_words(4):
        assert truths(before, word) == [word[max(i - 1, 0)] == "a" for i in range(len(word))]


def test_previous_may_be_taken_of_a_mean() -> None:
    """A share of i+1 at one position is none at another, so nothing more than its bounds is promised there."""
    before = fetch_previous("before", mean("share", letter("a")))
    assert before.ranges[0].denominator is None
    assert scalars(before, [START, *"aab"])[-1] == Fraction(2, 3)


def test_first_position_is_a_bit_that_holds_only_there() -> None:
    assert truths(first_position(), [START, *"abab"]) == [True, False, False, False, False]


def test_here_is_the_position_and_its_square() -> None:
    place = position_with_square()
    assert numbers(stack(place.value, place.square), [START, *"ab"]) == [[0, 0], [1, 1], [2, 4]]


# Tables


def test_a_table_sets_the_outputs_of_the_row_that_applies() -> None:
    rows = [
        TableRow("both", (FIRST, SECOND), ("x", "y")),
        TableRow("only p", (FIRST, ~SECOND), ("x",)),
        TableRow("none", (stack(~FIRST, ~SECOND),), ("z",)),
    ]
    result = lookup_table("next", ("x", "y", "z"), rows)
    assert result.labels == ("x", "y", "z")
    expected = {"11": [1, 1, 0], "10": [1, 0, 0], "00": [0, 0, 1], "01": [0, 0, 0]}
    tokens = list(expected)
    assert numbers(result, tokens, PAIRS.tokens) == list(expected.values())


def test_a_table_in_which_two_rows_apply_breaks_its_promise() -> None:
    rows = [TableRow("one", (FIRST,), ("x",)), TableRow("two", (SECOND,), ("x",))]
    with pytest.raises(ConstructionError, match=r"next\[x\] is 2 at position 0, outside its declared range: bit"):
        evaluate(lookup_table("next", ("x",), rows), ["11"])


def test_first_of_takes_the_choice_that_is_made_or_else_the_default() -> None:
    first = stack(all_of("only p", FIRST, ~SECOND)).with_labels(("x",))
    second = stack(all_of("both", FIRST, SECOND), all_of("only q", ~FIRST, SECOND)).with_labels(("y", "d"))
    result = one_hot_with_default("symbol", first, second, labels=("x", "d", "y"), default="d")
    expected = {"10": [1, 0, 0], "11": [0, 0, 1], "01": [0, 1, 0], "00": [0, 1, 0]}
    assert numbers(result, list(expected), PAIRS.tokens) == list(expected.values())
    assert result.total.ranges == (BIT,)


# What gadgets refuse

THIRD = Fraction(1, 3) * letter("a")
UNBOUNDED = position(I)
LABELLED = stack(letter("a"), letter("b")).with_labels(("a", "b"))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: all_of("x", UNBOUNDED), "all_of 'x' takes bits, but i is integer in 0..n"),
        (lambda: any_of("x", letter("a"), 2 * letter("b")), "any_of 'x' takes bits, but 2·b is integer in 0..2"),
        (lambda: exclusive_or("x", letter("a"), THIRD), "exclusive_or 'x' takes bits, but 1/3·a is real in 0..1/3"),
        (lambda: ~UNBOUNDED, "not takes bits"),
        (lambda: select("x", UNBOUNDED, THIRD, THIRD), "select 'x' takes bits"),
        (lambda: select("x", letter("a"), UNBOUNDED, THIRD), "select 'x' takes numbers with constant bounds, but one"),
        (
            lambda: select("x", letter("a"), LABELLED, THIRD),
            "two signals of equal width, but the widths are 1, 2 and 1",
        ),
        (lambda: select("x", LABELLED, LABELLED, LABELLED), "one bit"),
        (
            lambda: gate("x", UNBOUNDED, blockers=letter("a")),
            "gate 'x' takes numbers between 0 and 1, but one is integer",
        ),
        (lambda: gate("x", letter("a"), blockers=THIRD), "gate 'x' takes integers, but 1/3·a is real"),
        (lambda: gate("x", letter("a"), blockers=-letter("b")), "gate 'x' takes a nonnegative off signal"),
        (lambda: at_least("x", THIRD, 1), "at_least 'x' takes integers"),
        (lambda: gate_by_zero("x", THIRD, UNBOUNDED), "where_zero 'x' takes bits"),
        (lambda: gate_by_zero("x", letter("a"), THIRD), "where_zero 'x' takes integers"),
        (lambda: lookup("x", THIRD, UNBOUNDED), "lookup 'x' takes integers, but the index is real in 0..1/3"),
        (lambda: lookup("x", THIRD, UNBOUNDED, index_scale=RECIPROCAL), r"lookup 'x' takes integers over i\+1"),
        (lambda: lookup("x", mean("m", letter("a")), UNBOUNDED), "lookup 'x' takes integers"),
        (lambda: recover_integer("x", THIRD, UNBOUNDED, negative=True), r"takes integers over i\+1"),
        (lambda: fetch_latest("x", THIRD, where=UNBOUNDED), "latest 'x' takes bits"),
        (lambda: fetch_latest("x", THIRD), "latest 'x' has no match condition"),
        (lambda: fetch_latest("x", THIRD, where=letter("a"), mask=Mask.ALL), "needs a causal mask, not 'all j'"),
        (
            lambda: fetch_latest("x", THIRD, matches=(WithSquare(THIRD, THIRD), position_with_square())),
            "latest 'x' takes integers",
        ),
        (lambda: exists("x", UNBOUNDED), "exists 'x' takes bits"),
        (lambda: fetch("x", LABELLED, letter("a"), THIRD), "head 'x': the query has width 2, the key 1"),
        (lambda: lookup_table("x", ("u",), [TableRow("r", (UNBOUNDED,), ("u",))]), "all_of 'x: r' takes bits"),
        (lambda: lookup_table("x", ("u",), [TableRow("r", (), ("v",))]), "table 'x' has no output 'v'; it has 'u'"),
        (lambda: one_hot_with_default("x", LABELLED, labels=("a",), default="a"), "first_of 'x' has no output 'b'"),
        (lambda: one_hot_with_default("x", LABELLED, labels=("a", "b"), default="c"), "first_of 'x' has no output 'c'"),
        (
            lambda: one_hot_with_default("x", THIRD.with_labels(("a",)), labels=("a",), default="a"),
            "first_of 'x' takes bits",
        ),
        (lambda: one_hot_with_default("x", letter("a"), labels=("a",), default="a"), "no output 'unlabelled'"),
    ],
)
def test_a_gadget_refuses_what_it_does_not_assume(build: Callable[[], Signal], message: str) -> None:
    with pytest.raises(ConstructionError, match=message):
        build()


def test_a_step_is_one_from_zero_on() -> None:
    tokens = list(NUMBERS.tokens)
    assert truths(step("sign", NUMBER), tokens, NUMBERS.tokens) == [int(token) >= 0 for token in tokens]


def test_gadgets_on_long_words_stay_exact_in_float64() -> None:
    word = [START, *("aab" * 40)]
    place = position_with_square()
    counted = lookup(
        "number of a", mean("share of a", letter("a")), stack(place.value, place.square), index_scale=RECIPROCAL
    )
    more = at_least("more than half", 2 * counted[0] - position(I), 0)
    since = fetch_latest("last b", position(I), where=letter("b"))
    found = numbers(stack(counted, more, since), word)
    for i in range(len(word)):
        c = word[: i + 1].count("a")
        b = max((j for j in range(i + 1) if word[j] == "b"), default=i)
        assert found[i] == [c, c * c, 2 * c >= i, b]


def test_bounds_of_gadgets_do_not_depend_on_the_length_where_they_say_so() -> None:
    assert relu("r", position(I) - 2).ranges == (integer(0, Polynomial(0, 1)),)
