"""Floats with error bounds: bounds hold, exact numbers have bound 0, and undecided comparisons raise."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from flint import arb, ctx, fmpq

from softmachine.engines.numerics import Arithmetic, Tensor, UndecidedError
from softmachine.engines.numerics.exact import Exact
from softmachine.engines.numerics.float import Float
from softmachine.engines.numerics.float_affine import largest_dividing_power
from softmachine.support.errors import ConstructionError, PrecisionError
from softmachine.transformer.attention import AttentionKind
from tests.arithmetic import numbers as hard
from tests.arithmetic.numbers import boxed, exact_array, hard_number, integer_number, stored, violations

FORMATS = ["float64", "float32"]
SparseRows = list[list[tuple[int, Fraction]]]


@pytest.fixture(autouse=True)
def _overflow_is_checked_by_the_arithmetic_itself() -> Iterator[None]:
    with np.errstate(over="ignore", invalid="ignore"):
        yield


def random_rows(chooser: random.Random, height: int, width: int, number: object = hard_number) -> SparseRows:
    assert callable(number)
    return [
        [(c, value) for c in range(width) if chooser.random() < 0.8 and (value := number(chooser))]
        for _ in range(height)
    ]


def applied(rows: SparseRows, bias: list[Fraction], x: hard.Exact) -> hard.Exact:
    result = np.empty((*x.shape[:-1], len(rows)), dtype=object)
    for index in np.ndindex(*x.shape[:-1]):
        for r, row in enumerate(rows):
            result[(*index, r)] = bias[r] + sum((w * x[(*index, c)] for c, w in row), Fraction(0))
    return result


def outward(x: hard.Exact) -> hard.Exact:
    result = np.empty(x.shape, dtype=object)
    for index in np.ndindex(*x.shape):
        result[index] = max(x[index], Fraction(0))
    return result


# Bounds


@pytest.mark.parametrize("name", FORMATS)
def test_a_stored_number_is_within_its_error_of_the_exact_one(name: str) -> None:
    chooser = random.Random(1)
    exact = exact_array((1, 4000), chooser)
    assert violations(Float(name).convert(exact.tolist()), exact) == []


@pytest.mark.parametrize("name", FORMATS)
def test_an_affine_map_is_within_its_error_of_the_exact_one(name: str) -> None:
    chooser, floats = random.Random(2), Float(name)
    for _ in range(400):
        height, width = chooser.randrange(1, 5), chooser.randrange(1, 7)
        rows = random_rows(chooser, height, width)
        bias = [hard_number(chooser) if chooser.random() < 0.5 else Fraction(0) for _ in range(height)]
        x, inside = boxed(floats, exact_array((1, 4, width), chooser), chooser)
        found = floats.compile_affine(rows, width, bias)(x)
        assert violations(found, applied(rows, bias, inside)) == []


@pytest.mark.parametrize("name", FORMATS)
def test_maps_sums_and_relus_in_a_row_are_within_their_error_of_the_exact_ones(name: str) -> None:
    chooser, floats, width = random.Random(3), Float(name), 4
    none = np.zeros(width, dtype=bool)
    for _ in range(60):
        exact = exact_array((1, 3, width), chooser)
        x = stored(floats, exact)
        for _ in range(5):
            rows = random_rows(chooser, width, width, lambda r: hard_number(r, 60))
            bias = [hard_number(chooser, 60) for _ in range(width)]
            try:
                hidden = floats.activate(floats.compile_affine(rows, width, bias)(x), none)
            except PrecisionError:
                break
            exact_hidden = outward(applied(rows, bias, exact))
            assert violations(hidden, exact_hidden) == []
            x, exact = floats.add(x, hidden), exact + exact_hidden
            assert violations(x, exact) == []


def random_network(
    chooser: random.Random, width: int
) -> tuple[SparseRows, list[Fraction], list[bool], SparseRows, list[Fraction]]:
    """Maps there and back; many units come with their opposite, or shifted as in the rounding of a bit."""
    there: SparseRows = []
    bias, steps = [], []
    back: list[dict[int, Fraction]] = [{} for _ in range(width)]

    def unit(row: list[tuple[int, Fraction]], constant: Fraction, step: bool, targets: dict[int, Fraction]) -> None:
        for target, weight in targets.items():
            back[target][len(there)] = weight
        there.append(row)
        bias.append(constant)
        steps.append(step)

    for _ in range(chooser.randrange(1, 4)):
        row = [(c, hard_number(chooser, 20)) for c in chooser.sample(range(width), chooser.randrange(1, width + 1))]
        row = [(c, weight) for c, weight in sorted(row) if weight]
        constant = chooser.choice((Fraction(0), Fraction(0), hard_number(chooser, 20)))
        targets = {chooser.randrange(width): hard_number(chooser, 20) for _ in range(2)}
        unit(row, constant, chooser.random() < 0.1, targets)
        match chooser.randrange(3):
            case 0:
                opposite = {target: -weight for target, weight in targets.items()}
                unit([(c, -weight) for c, weight in row], -constant, False, opposite)
            case 1:
                unit(row, constant - Fraction(1, 2), False, {target: -weight for target, weight in targets.items()})
    rows = [[(u, weight) for u, weight in sorted(row.items()) if weight] for row in back]
    constants = [chooser.choice((Fraction(0), hard_number(chooser, 20))) for _ in range(width)]
    return there, bias, steps, rows, constants


@pytest.mark.parametrize("name", FORMATS)
def test_a_feed_forward_network_is_within_its_error_of_the_exact_one(name: str) -> None:
    chooser, floats, tighter = random.Random(13), Float(name), 0
    for _ in range(400):
        width = chooser.randrange(1, 5)
        there, bias, step_list, back, constants = random_network(chooser, width)
        steps = np.array(step_list)
        x, inside = boxed(floats, exact_array((1, 3, width), chooser, lambda r: hard_number(r, 20)), chooser)
        first, second = (there, width, bias), (back, len(there), constants)
        try:
            found = floats.compile_network(first, steps, second)(x)
        except (UndecidedError, PrecisionError):
            continue
        before = applied(there, bias, inside)
        hidden = outward(before)
        for index in np.argwhere(np.broadcast_to(steps, before.shape)):
            hidden[tuple(index)] = Fraction(before[tuple(index)] >= 0)
        assert violations(found, inside + applied(back, constants, hidden)) == []
        alone = Arithmetic.compile_network(floats, first, steps, second)(x)
        assert found.error is not None
        assert alone.error is not None
        tighter += int((found.error < alone.error / 2).any())
    assert tighter > 10


@pytest.mark.parametrize("name", FORMATS)
def test_rounding_a_bit_takes_its_error_away(name: str) -> None:
    floats = Float(name)
    there: SparseRows = [[(0, Fraction(1))], [(0, Fraction(1))]]
    first = there, 1, [Fraction(-1, 4), Fraction(-3, 4)]
    second = [[(0, Fraction(2)), (1, Fraction(-2))]], 2, [Fraction(0)]
    clear = floats.compile_affine([[(0, Fraction(-1))]], 1, [Fraction(0)])
    x = Tensor(np.array([[[1.0625], [0.0625]]], dtype=floats.dtype), np.full((1, 2, 1), 0.125))
    rounded = floats.compile_network(first, np.zeros(2, dtype=bool), second)(x)
    only = floats.add(rounded, clear(x))
    assert only.value.tolist() == [[[1], [0]]]
    assert rounded.error is not None
    assert rounded.error.max() < 0.1251


@pytest.mark.parametrize("name", FORMATS)
def test_taking_a_number_away_from_itself_takes_its_error_away(name: str) -> None:
    floats = Float(name)
    there: SparseRows = [[(0, Fraction(1))], [(0, Fraction(-1))]]
    network = floats.compile_network(
        (there, 1, [Fraction(0)] * 2),
        np.zeros(2, dtype=bool),
        ([[(0, Fraction(-1)), (1, Fraction(1))]], 2, [Fraction(0)]),
    )
    x = Tensor(np.tile(np.array([[[0.3], [0.0], [-0.3]]], dtype=floats.dtype), (2, 100, 1)), np.full((2, 300, 1), 0.01))
    for _ in range(100):  # at many places: errors were once followed at few
        x = network(x)
    assert x.error is not None
    assert (np.abs(x.value) <= x.error).all()
    assert x.error.max() < 1e-6


@pytest.mark.parametrize("name", FORMATS)
def test_a_sum_is_within_its_error_of_the_exact_one(name: str) -> None:
    chooser, floats = random.Random(4), Float(name)
    x, exact_x = boxed(floats, exact_array((1, 1, 3000), chooser), chooser)
    y, exact_y = boxed(floats, exact_array((1, 1, 3000), chooser), chooser)
    assert violations(floats.add(x, y), exact_x + exact_y) == []


@pytest.mark.parametrize("name", FORMATS)
def test_a_mean_is_within_its_error_of_the_exact_one(name: str) -> None:
    chooser, floats = random.Random(5), Float(name)
    for _ in range(300):
        keys, width = chooser.randrange(1, 9), chooser.randrange(1, 4)
        value, inside = boxed(floats, exact_array((1, keys, width), chooser), chooser)
        chosen = np.array([[[chooser.random() < 0.6 for _ in range(keys)] for _ in range(3)]])
        expected = np.full((1, 3, width), Fraction(0), dtype=object)
        for i in range(3):
            kept = np.flatnonzero(chosen[0, i])
            if len(kept):
                expected[0, i] = [sum(inside[0, kept, c], Fraction(0)) / len(kept) for c in range(width)]
        assert violations(floats.average(chosen, value), expected) == []


def softmax_mean(scores: list[Fraction], values: list[Fraction]) -> arb:
    """Σ exp(s_j) v_j / Σ exp(s_j), as a ball of 400 bits."""
    old, ctx.prec = ctx.prec, 400
    try:
        top = max(scores)
        weights = [arb(fmpq((s - top).numerator, (s - top).denominator)).exp() for s in scores]
        terms = [w * arb(fmpq(v.numerator, v.denominator)) for w, v in zip(weights, values, strict=True)]
        return sum(terms, arb(0)) / sum(weights, arb(0))
    finally:
        ctx.prec = old


def soft_number(chooser: random.Random) -> Fraction:
    number = Fraction(chooser.randrange(-40, 41), chooser.choice((1, 2, 3, 7, 1000)))
    return number * chooser.choice((1, 1, 1, Fraction(1, 10**6), 20))


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("doubt", [0, 1e-9, 0.02, 0.5, 3.0])
def test_a_softmax_mean_is_within_its_error_of_the_exact_one(name: str, doubt: float) -> None:
    chooser, floats = random.Random(6), Float(name)
    for _ in range(60):
        queries, keys = chooser.choice(((3, chooser.randrange(1, 8)), (12, chooser.randrange(1, 16))))
        width, d = 2, chooser.randrange(1, 4)
        parts = [exact_array((1, n, w), chooser, soft_number) for n, w in ((queries, d), (keys, d), (keys, width))]
        tensors, inside = [], []
        for part, spread in zip(parts, (doubt, doubt, 0), strict=True):
            tensor = stored(floats, part)
            assert tensor.error is not None
            errors = tensor.error + spread
            shift = [Fraction(float(e)) * chooser.choice((-1, 0, 1)) for e in errors.reshape(-1)]
            tensors.append(Tensor(tensor.value, errors))
            exact = [Fraction(float(v)) + s for v, s in zip(tensor.value.reshape(-1), shift, strict=True)]
            inside.append(np.array(exact, dtype=object).reshape(part.shape))
        scale = Fraction(chooser.choice((1, 1, 5, 64, 3000)), chooser.choice((1, 3)))
        visible = np.array([[chooser.random() < 0.7 for _ in range(keys)] for _ in range(queries)])
        try:
            scales = floats.convert([[scale]] * queries)[:, 0]
            found = floats.softmax_attention(tensors[0], tensors[1], None, visible, scales)(tensors[2])
        except PrecisionError:
            continue
        assert found.error is not None
        for i in range(queries):
            seen = np.flatnonzero(visible[i]).tolist()
            scores = [scale * (inside[0][0, i] * inside[1][0, j]).sum() for j in seen]
            for c in range(width):
                value, error = float(found.value[0, i, c]), float(found.error[0, i, c])
                if not seen:
                    assert (value, error) == (0, 0)
                    continue
                exact = softmax_mean(scores, [inside[2][0, j, c] for j in seen])
                assert abs(arb(value) - exact) < arb(error) * arb(1 + 2.0**-30) + arb(2.0**-1070), (value, error, exact)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("values", [[5, 7, 9, 11], [5, 7, 7, 7]])
def test_a_softmax_that_has_decided_is_known_well_however_large_its_exponents_are(name: str, values: list[int]) -> None:
    """The exponents have errors up to 1/10, but no other exponent is near the largest ones."""
    floats = Float(name)
    large = Fraction(10**4 * 2**floats.digits, 10**6)
    keys = floats.convert([[large * score] for score in (1, 2, 3, 4 if values[2] != values[3] else 3)])[None]
    one = floats.convert([[Fraction(1)]])
    read = floats.convert([[Fraction(value)] for value in values])[None]
    found = floats.softmax_attention(one[None], keys, None, np.ones((1, 4), dtype=bool), one[:, 0])(read)
    assert found.error is not None
    assert found.value[0, 0, 0] == values[3]
    assert found.error[0, 0, 0] < 1000 * floats.roundoff


def test_a_lookup_of_a_count_from_its_share_is_known_well_in_float32() -> None:
    """The score (2 c j - j²)/(c+1) of position j, from 1/(c+1) with its rounding error, sharp as certificates want it.

    The error of the query is c² roundings at every key, but only c beside the best; and far keys do not matter.
    """
    floats, most = Float("float32"), 200
    units = [[Fraction(1, c + 1)] for c in range(most + 1)]
    unit = floats.convert(units)
    shares = floats.compile_affine([[(0, Fraction(-2))], [(0, Fraction(-1))]], 1, [Fraction(2), Fraction(0)])(
        unit[None]
    )
    places = floats.convert([[Fraction(j), Fraction(j * j)] for j in range(most + 1)])[None]
    scale = floats.convert_scales([Fraction(128 * (most + 1))] * (most + 1), feature=False)
    found = floats.softmax_attention(shares, places, None, np.ones((most + 1, most + 1), dtype=bool), scale)(places)
    assert found.error is not None
    assert (found.value == places.value).all()
    assert found.error.max() < 1e-6


@pytest.mark.parametrize("name", FORMATS)
def test_means_of_tied_keys_are_those_of_the_format(name: str) -> None:
    """Scores that are equal in the format have equal exponentials, however large they are."""
    floats = Float(name)
    query = floats.convert([[Fraction(400), Fraction(-1), Fraction(40_000)]])[None]
    rows = [(200, 40_000, 0), (0, 0, 1), (200, 40_000, 0), (199, 199**2, 0)]
    key = floats.convert([[Fraction(part) for part in row] for row in rows])[None]
    read = floats.convert([[Fraction(part)] for part in (0, 1, 0, 0)])[None]
    scale = floats.convert_scales([Fraction(100)], feature=False)
    found = floats.softmax_attention(query, key, None, np.ones((1, 4), dtype=bool), scale)(read)
    assert found.error is not None
    assert abs(found.value.item() - 1 / 3) <= found.error.item() < 40 * floats.roundoff


# Exact numbers


@pytest.mark.parametrize("name", FORMATS)
def test_integers_stay_exact(name: str) -> None:
    chooser, floats = random.Random(8), Float(name)
    for _ in range(200):
        rows = random_rows(chooser, 4, 5, integer_number)
        bias = [integer_number(chooser) for _ in range(4)]
        exact = exact_array((2, 3, 5), chooser, integer_number)
        found = floats.compile_affine(rows, 5, bias)(stored(floats, exact))
        found = floats.activate(floats.add(found, found), np.zeros(4, dtype=bool))
        assert found.error is not None
        assert not found.error.any()
        assert [Fraction(float(v)) for v in found.value.flat] == list(outward(2 * applied(rows, bias, exact)).flat)


def largest_sums(floats: Float) -> Iterator[tuple[list[int], bool]]:
    top = 2**floats.digits
    yield [top - 2, 1], True
    yield [top - 1, 2, 3], False
    yield [top, 1], False
    yield [top, 1, 1], False
    yield [1] * 50 + [top - 100], True


@pytest.mark.parametrize("name", FORMATS)
def test_sums_at_the_end_of_the_digits_are_exact_or_say_how_wrong_they_are(name: str) -> None:
    floats = Float(name)
    for terms, exactly in largest_sums(floats):
        rows: SparseRows = [[(c, Fraction(1)) for c in range(len(terms))]]
        exact = np.array([[[Fraction(term) for term in terms]]], dtype=object)
        found = floats.compile_affine(rows, len(terms), [Fraction(0)])(stored(floats, exact))
        assert found.error is not None
        assert violations(found, applied(rows, [Fraction(0)], exact)) == []
        assert not (exactly and found.error.any())
        value = np.swapaxes(exact, 1, 2)
        mean = floats.average(np.ones((1, 1, len(terms)), dtype=bool), stored(floats, value))
        assert violations(mean, np.array([[[Fraction(sum(terms), len(terms))]]], dtype=object)) == []


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    ("values", "exactly"), [([0, 1], True), ([0, 0, 1, 0], True), ([1, 1, 1], True), ([5, 0, 0], False), ([3], True)]
)
def test_a_mean_is_exact_if_the_format_can_hold_it(name: str, values: list[int], exactly: bool) -> None:
    floats = Float(name)
    tensor = floats.convert([[Fraction(value)] for value in values])[None]
    chosen = np.stack([np.ones((1, len(values)), dtype=bool), np.zeros((1, len(values)), dtype=bool)], axis=1)
    found = floats.average(chosen[0][None], tensor)
    assert found.error is not None
    assert float(found.value[0, 0, 0]) == pytest.approx(sum(values) / len(values), rel=1e-6)
    assert bool(found.error[0, 0, 0]) is not exactly
    assert (found.value[0, 1, 0], found.error[0, 1, 0]) == (0, 0)


@pytest.mark.parametrize("name", FORMATS)
def test_powers_of_two_times_a_third_do_not_round_again(name: str) -> None:
    floats = Float(name)
    third = floats.convert([[Fraction(1, 3), Fraction(0)]])[None]
    found = floats.compile_affine([[(0, Fraction(-4)), (1, Fraction(2))]], 2, [Fraction(0)])(third)
    assert found.error is not None
    assert third.error is not None
    assert found.error[0, 0, 0] == 4 * third.error[0, 0, 0]


# Range


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("number", [Fraction(10) ** 400, -(Fraction(10) ** 309), Fraction(2) ** 1024])
def test_a_number_that_is_too_large_for_the_format_is_refused(name: str, number: Fraction) -> None:
    with pytest.raises(PrecisionError, match="range of"):
        Float(name).convert([[number]])
    with pytest.raises(PrecisionError, match="range of"):
        Float(name).compile_affine([[(0, number)]], 1, [Fraction(0)])


@pytest.mark.parametrize("name", FORMATS)
def test_relu_does_not_hide_that_a_sum_left_the_range(name: str) -> None:
    """The exact sum is positive; taken from the left it is -∞ on the way, which ReLU would make 0."""
    floats = Float(name)
    most = Fraction(floats.max_value)
    terms = [-most, -most, most, most, most / 10]
    exact = np.array([[terms]], dtype=object)
    rows: SparseRows = [[(c, Fraction(1)) for c in range(5)]]
    found = floats.compile_affine(rows, 5, [Fraction(0)])(stored(floats, exact))
    if np.isfinite(found.value).all():
        assert violations(found, applied(rows, [Fraction(0)], exact)) == []
    else:
        with pytest.raises(PrecisionError, match="range of"):
            floats.argmax(found)
        if not found.value.max() > 0:
            with pytest.raises(PrecisionError, match="range of"):
                floats.activate(found, np.zeros(1, dtype=bool))


@pytest.mark.parametrize("error", [np.inf, np.nan])
def test_nothing_is_decided_on_numbers_without_a_bound(error: float) -> None:
    floats = Float()
    number = Tensor(np.array([[[1.0, 2.0]]]), np.array([[[error, 0.0]]]))
    with pytest.raises(UndecidedError):
        floats.activate(number, np.array([True, False]))
    with pytest.raises(UndecidedError):
        floats.argmax(number)
    keys = Tensor(np.array([[[1.0], [2.0]]]), np.array([[[error], [0.0]]]))
    with pytest.raises(PrecisionError):
        floats.select_keys(
            floats.convert([[Fraction(1)]])[None], keys, None, np.ones((1, 2), dtype=bool), AttentionKind.AVERAGE
        )


# Decisions


def scores_of(query: list[Fraction], keys: list[list[Fraction]]) -> list[Fraction]:
    return [sum((q * k for q, k in zip(query, key, strict=True)), Fraction(0)) for key in keys]


def choose(
    floats: Float, query: list[Fraction], keys: list[list[Fraction]], choice: AttentionKind = AttentionKind.AVERAGE
) -> list[int]:
    visible = np.ones((1, len(keys)), dtype=bool)
    chosen = floats.select_keys(floats.convert([query])[None], floats.convert(keys)[None], None, visible, choice)
    return [int(j) for j in np.flatnonzero(chosen[0, 0])]


def test_scores_that_tie_exactly_are_a_tie_although_their_rounded_sums_differ() -> None:
    """Added up in a float one by one, 1 + 2⁻⁵³ + 2⁻⁵³ is 1 and 2⁻⁵³ + 2⁻⁵³ + 1 is more."""
    small = Fraction(1, 2**53)
    ones, parts = [Fraction(1)] * 3, [[Fraction(1), small, small], [small, small, Fraction(1)]]
    assert len({float(a) + float(b) + float(c) for a, b, c in parts}) == 2
    assert choose(Float(), ones, parts) == [0, 1]
    assert choose(Float(), ones, parts, AttentionKind.LEFTMOST) == [0]
    assert choose(Float(), ones, parts, AttentionKind.RIGHTMOST) == [1]


@pytest.mark.parametrize("name", FORMATS)
def test_scores_that_differ_but_round_alike_are_refused(name: str) -> None:
    small = Fraction(1, 2 ** (Float(name).digits + 1))
    with pytest.raises(UndecidedError, match="rounds scores that differ"):
        choose(Float(name), [Fraction(1), Fraction(1)], [[Fraction(1), small], [Fraction(1), Fraction(0)]])


@pytest.mark.parametrize("name", FORMATS)
def test_inexact_scores_that_may_be_equal_are_refused(name: str) -> None:
    third = Fraction(1, 3)
    with pytest.raises(UndecidedError, match="cannot decide whether"):
        choose(Float(name), [Fraction(1), Fraction(1)], [[third, 2 * third], [Fraction(1), Fraction(0)]])


@pytest.mark.parametrize("name", FORMATS)
def test_the_error_of_a_query_does_not_matter_for_equal_keys(name: str) -> None:
    query = [Fraction(1, 3), Fraction(1)]
    assert choose(Float(name), query, [[Fraction(2), Fraction(1)]] * 3 + [[Fraction(1), Fraction(1)]]) == [0, 1, 2]


def random_score_part(chooser: random.Random) -> Fraction:
    match chooser.randrange(4):
        case 0:
            return Fraction(chooser.randrange(-3, 4))
        case 1:
            return Fraction(chooser.randrange(-3, 4), 3)
        case 2:
            return Fraction(chooser.randrange(-3, 4)) * Fraction(2) ** chooser.choice((-60, -30, -25, -24, 24, 53))
    return hard_number(chooser, 200)


@pytest.mark.parametrize("name", FORMATS)
def test_hard_attention_chooses_as_exact_numbers_do_or_not_at_all(name: str) -> None:
    chooser, floats, decided = random.Random(9), Float(name), 0
    for _ in range(3000):
        d, count = chooser.randrange(1, 5), chooser.randrange(2, 6)
        query = [random_score_part(chooser) for _ in range(d)]
        pool = [[random_score_part(chooser) for _ in range(d)] for _ in range(2)]
        keys = [list(chooser.choice(pool)) for _ in range(count)]
        if chooser.random() < 0.5:
            keys[0] = keys[0][::-1]
        exact = scores_of(query, keys)
        winners = [j for j, score in enumerate(exact) if score == max(exact)]
        try:
            found = choose(floats, query, keys)
        except (UndecidedError, PrecisionError):
            continue
        decided += 1
        assert found == winners, (query, keys)
    assert decided > 1000


@pytest.mark.parametrize("name", FORMATS)
def test_the_largest_number_is_the_exact_one_or_not_decided(name: str) -> None:
    chooser, floats, decided = random.Random(10), Float(name), 0
    ties: list[tuple[bool, bool]] = []
    for _ in range(2000):
        exact = exact_array((1, 1, 4), chooser, lambda r: chooser.choice((hard_number(r), Fraction(1, 3), Fraction(1))))
        x, inside = boxed(floats, exact, chooser)
        row = list(inside[0, 0])
        try:
            index = int(floats.argmax(x)[0, 0])
        except UndecidedError as doubt:
            ties.append((doubt.tie, sorted(row)[-1] == sorted(row)[-2]))
            continue
        decided += 1
        assert all(row[index] > other for k, other in enumerate(row) if k != index)
    assert decided > 500
    assert all(equal for claimed, equal in ties if claimed)
    assert any(claimed for claimed, _ in ties)


@pytest.mark.parametrize("name", FORMATS)
def test_a_step_takes_the_exact_side_of_zero_or_none(name: str) -> None:
    chooser, floats, decided = random.Random(11), Float(name), 0
    step = np.array([True])
    for _ in range(2000):
        x, inside = boxed(floats, exact_array((1, 1, 1), chooser), chooser)
        try:
            found = floats.activate(x, step)
        except UndecidedError:
            continue
        decided += 1
        assert found.error is not None
        assert (found.value[0, 0, 0], found.error[0, 0, 0]) == (inside[0, 0, 0] >= 0, 0)
    assert decided > 1000


def test_a_step_at_zero_is_one_if_the_zero_is_exact() -> None:
    floats = Float()
    found = floats.activate(floats.convert([[Fraction(0), Fraction(-1, 3)]])[None], np.array([True, True]))
    assert found.value.tolist() == [[[1, 0]]]


# Against exact arithmetic


@pytest.mark.parametrize("choice", [AttentionKind.AVERAGE, AttentionKind.LEFTMOST, AttentionKind.RIGHTMOST])
def test_floats_and_exact_numbers_choose_alike_among_small_integers(choice: AttentionKind) -> None:
    chooser, exact, floats = random.Random(12), Exact(), Float("float32")
    for _ in range(200):
        d, n = chooser.randrange(0, 4), chooser.randrange(1, 8)
        rows = [[[Fraction(chooser.randrange(-2, 3)) for _ in range(d)] for _ in range(n)] for _ in range(2)]
        bias = [[Fraction(chooser.randrange(-1, 2)) for _ in range(n)] for _ in range(n)]
        visible = np.tri(n, k=chooser.choice((0, -1)), dtype=bool)
        results = []
        for numbers in (exact, floats):
            query, key = (numbers.convert(part)[None] for part in rows)
            results.append(numbers.select_keys(query, key, numbers.convert(bias), visible, choice))
        assert (results[0] == results[1]).all()


def test_exact_numbers_take_a_softmax_only_of_equal_scores() -> None:
    exact = Exact()
    key = exact.convert([[Fraction(1)], [Fraction(1)], [Fraction(2)]])[None]
    query, scale = exact.convert([[Fraction(3)]] * 3)[None], exact.convert([[Fraction(1)]] * 3)[:, 0]
    found = exact.softmax_attention(query[:, :2], key[:, :2], None, np.ones((2, 2), dtype=bool), scale[:2])(key[:, :2])
    assert found.value.tolist() == [[[1], [1]]]
    with pytest.raises(ConstructionError, match="not a rational number"):
        exact.softmax_attention(query, key, None, np.ones((3, 3), dtype=bool), scale)(key)


def test_units_of_numbers_are_the_largest_powers_of_two_that_divide_them() -> None:
    sizes = [1.0, 6.0, 0.75, 2.0**53 - 1, 5e-324, 2.0**-1022 * 3, 0.0]
    assert largest_dividing_power(np.array(sizes)).tolist() == [1, 2, 0.25, 1, 5e-324, 2.0**-1022, np.inf]
    assert all(a <= b for a, b in pairwise(sorted(largest_dividing_power(np.array(sizes)))))
