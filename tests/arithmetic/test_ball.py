"""Balls: they always contain the exact number, and comparisons that they do not determine raise."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx

import softmachine as sm
from softmachine.cli import main
from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.numerics import Tensor, UndecidedError, find_arithmetic
from softmachine.engines.numerics.exact import Exact
from softmachine.engines.numerics.interval import Ball
from softmachine.support.errors import AmbiguousTokenError, PrecisionError, UsageError
from softmachine.theorems.logic.temporal.heads import Masking, Variant
from softmachine.theorems.shared.recogniser_codec import START_TOKEN
from softmachine.transformer.attention import AttentionKind
from tests.arithmetic import numbers as hard
from tests.arithmetic.numbers import exact_array, hard_number
from tests.theorems.test_temporal import FORMULAS, compiled, right_everywhere

SOFT = [Variant(vision, soft=True) for vision in Masking]
HARD = [Variant(vision, soft=False) for vision in Masking]
RELU, STEP = np.array([False]), np.array([True])


def ends(ball: arb) -> tuple[Fraction, Fraction]:
    """The least and the largest number of a ball, exactly."""
    (mid, mid_exponent), (rad, rad_exponent) = ball.mid().man_exp(), ball.rad().man_exp()
    middle = int(mid) * Fraction(2) ** int(mid_exponent)
    radius = int(rad) * Fraction(2) ** int(rad_exponent)
    return middle - radius, middle + radius


def width(ball: arb) -> Fraction:
    low, high = ends(ball)
    return high - low


def outside(found: Tensor, exact: hard.Exact) -> list[str]:
    """Where the exact number is not in the ball."""
    assert found.shape == exact.shape
    balls = [(index, *ends(found.value[index])) for index in np.ndindex(*exact.shape)]
    return [f"{index}: {exact[index]}" for index, low, high in balls if not low <= exact[index] <= high]


def tensor(balls: Ball | Exact, exact: hard.Exact) -> Tensor:
    """An exact array as an arithmetic stores it."""
    return Tensor(balls.convert([exact.reshape(-1).tolist()]).value[0].reshape(exact.shape))


def boxed(balls: Ball, exact: hard.Exact, chooser: random.Random) -> tuple[Tensor, hard.Exact]:
    """Balls, half of them made larger, and exact numbers anywhere in them, often at an end."""
    found, inside = tensor(balls, exact).value, np.empty(exact.shape, dtype=object)
    for index in np.ndindex(*exact.shape):
        if chooser.random() < 0.5:
            number: arb = found[index]
            found[index] = arb(number.mid(), number.abs_upper() * arb(2.0 ** -chooser.randrange(-1, 50)))
        low, high = ends(found[index])
        inside[index] = low + (high - low) * Fraction(chooser.choice((0, 0, 1, 3, 4, 4)), 4)
    return Tensor(found), inside


def vectors(balls: Ball, *rows: Sequence[Fraction | int]) -> Tensor:
    """One sequence of vectors."""
    return balls.convert([[Fraction(x) for x in row] for row in rows])[None]


def ball(middle: float, radius: float) -> Tensor:
    """A single number of a single position."""
    value = np.empty((1, 1, 1), dtype=object)
    value[0, 0, 0] = arb(middle, radius)
    return Tensor(value)


# Enclosures


@pytest.mark.parametrize("precision", [10, 53, 128])
def test_a_stored_number_is_in_its_ball(precision: int) -> None:
    exact = exact_array((20, 100), random.Random(1))
    assert outside(Ball(precision).convert(exact.tolist()), exact) == []


def test_numbers_of_few_binary_digits_are_stored_exactly() -> None:
    found = Ball(20).convert([[Fraction(5, 8), Fraction(-(2**20) + 1), Fraction(1, 3), Fraction(2**21 + 1)]]).value[0]
    assert [number.is_exact() for number in found] == [True, True, False, False]


@pytest.mark.parametrize("precision", [10, 53, 128])
def test_maps_sums_relus_and_means_contain_the_exact_numbers(precision: int) -> None:
    chooser, balls = random.Random(2), Ball(precision)
    for _ in range(60):
        rows = [[(c, hard_number(chooser)) for c in range(3) if chooser.random() < 0.8] for _ in range(4)]
        bias = [hard_number(chooser) for _ in range(4)]
        x, exact_x = boxed(balls, exact_array((2, 3, 3), chooser), chooser)
        y, exact_y = boxed(balls, exact_array((2, 3, 4), chooser), chooser)
        exact_mapped = np.empty((2, 3, 4), dtype=object)
        for r, row in enumerate(rows):
            exact_mapped[..., r] = sum((w * exact_x[..., c] for c, w in row), bias[r])
        mapped = balls.compile_affine(rows, 3, bias)(x)
        assert outside(mapped, exact_mapped) == []
        assert outside(balls.add(mapped, y), exact_mapped + exact_y) == []
        positive = np.maximum(exact_mapped, 0)
        assert outside(balls.activate(mapped, np.zeros(4, dtype=bool)), positive) == []
        chosen = np.array([[[chooser.random() < 0.6 for _ in range(3)] for _ in range(2)] for _ in range(2)])
        counts = np.maximum(chosen.sum(axis=-1), 1)[..., None]
        means = chosen.astype(int).astype(object) @ exact_y * (np.full(counts.shape, Fraction(1)) / counts)
        assert outside(balls.average(chosen, y), means) == []


@pytest.mark.parametrize(("middle", "radius"), [(0, 1), (0.5, 2), (-0.5, 2), (1, 1), (-1, 1)])
def test_the_relu_of_a_ball_around_0_holds_both_branches_and_little_more(middle: float, radius: float) -> None:
    low, high = ends(Ball().activate(ball(middle, radius), RELU).value[0, 0, 0])
    upper = Fraction(middle) + Fraction(radius)
    assert low <= 0 <= upper <= high
    assert max(-low, high - upper) < Fraction(1, 10**8)


def test_the_relu_of_a_positive_ball_is_itself_and_of_a_negative_one_0() -> None:
    positive, negative = ball(2, 0.5), ball(-2, 0.5)
    found = Ball().activate(positive, RELU).value[0, 0, 0]
    assert ends(found) == ends(positive.value[0, 0, 0])
    assert Ball().activate(negative, RELU).value[0, 0, 0].is_zero()


@pytest.mark.parametrize(("middle", "rounded"), [(0.1, 0), (0.9, 1), (1.2, 1), (-0.2, 0)])
def test_rounding_keeps_a_ball_small_away_from_its_kinks(middle: float, rounded: int) -> None:
    """2 ReLU(x - 1/4) - 2 ReLU(x - 3/4): the ball is at most four times as wide, and of width 0 at 0."""
    balls, radius = Ball(), 2.0**-90
    kinks = balls.compile_affine([[(0, Fraction(1))]] * 2, 1, [Fraction(-1, 4), Fraction(-3, 4)])
    together = balls.compile_affine([[(0, Fraction(2)), (1, Fraction(-2))]], 2, [Fraction(0)])
    hidden = balls.activate(kinks(ball(middle, radius)), np.zeros(2, dtype=bool))
    found = together(hidden).value[0, 0, 0]
    assert outside(Tensor(np.array([found], dtype=object)), np.array([Fraction(rounded)], dtype=object)) == []
    assert width(found) <= (Fraction(4.01) * Fraction(2 * radius) if rounded else 0)


# Softmax


def softmax_mean(scores: list[Fraction], values: list[Fraction]) -> Fraction:
    """Σ exp(s_j) v_j / Σ exp(s_j), right to some 100 digits, by the standard library."""
    with localcontext(Context(prec=120, Emin=-(10**9), Emax=10**9)):
        weights = [(Decimal(s.numerator) / Decimal(s.denominator)).exp() for s in scores]
        terms = [w * Decimal(v.numerator) / Decimal(v.denominator) for w, v in zip(weights, values, strict=True)]
        return Fraction(sum(terms, Decimal(0)) / sum(weights, Decimal(0)))


def soft_number(chooser: random.Random) -> Fraction:
    number = Fraction(chooser.randrange(-40, 41), chooser.choice((1, 2, 3, 7, 1000)))
    return number * chooser.choice((1, 1, 1, Fraction(1, 10**6), 20))


@pytest.mark.parametrize("doubt", [0, 1e-30, 1e-9, 0.02, 1.0, 300.0])
def test_a_softmax_mean_is_in_its_ball(doubt: float) -> None:
    chooser, balls = random.Random(3), Ball(64)
    for _ in range(40):
        keys, d = chooser.randrange(1, 8), chooser.randrange(1, 4)
        parts = [exact_array((1, n, w), chooser, soft_number) for n, w in ((3, d), (keys, d), (keys, 2))]
        tensors = [tensor(balls, part) for part in parts]
        for index in np.ndindex(*parts[0].shape):
            tensors[0].value[index] += arb(0, doubt)
            parts[0][index] += Fraction(doubt) * chooser.choice((-1, 0, 1))
        bias = exact_array((3, keys), chooser, soft_number)
        scale = Fraction(chooser.choice((1, 1, 5)), chooser.choice((1, 3)))
        visible = np.array([[chooser.random() < 0.7 for _ in range(keys)] for _ in range(3)])
        scales = balls.convert([[scale]] * 3)[:, 0]
        found = balls.softmax_attention(tensors[0], tensors[1], tensor(balls, bias), visible, scales)(tensors[2])
        for i in range(3):
            seen = np.flatnonzero(visible[i]).tolist()
            scores = [scale * ((parts[0][0, i] * parts[1][0, j]).sum() + bias[i, j]) for j in seen]
            for c in range(2):
                low, high = ends(found.value[0, i, c])
                if not seen:
                    assert low == high == 0
                    continue
                values = [parts[2][0, j, c] for j in seen]
                mean, tolerance = softmax_mean(scores, values), Fraction(1, 10**90)
                assert low - tolerance <= mean <= high + tolerance
                beyond = (max(values) - min(values)) / 1000 + Fraction(1, 2**40)
                assert min(values) - beyond <= low <= high <= max(values) + beyond
                if not doubt:
                    assert high - low < Fraction(1, 2**40)


def test_softmax_needs_no_small_exponents() -> None:
    balls = Ball()
    keys, values = vectors(balls, [10**9], [10**9 - 1], [-(10**9)]), vectors(balls, [1], [0], [0])
    one = vectors(balls, [1])
    found = balls.softmax_attention(one, keys, None, np.ones((1, 3), dtype=bool), one[0, :, 0])(values).value[0, 0, 0]
    low, high = ends(found)
    expected = softmax_mean([Fraction(0), Fraction(-1)], [Fraction(1), Fraction(0)])
    assert low - Fraction(1, 10**90) < expected < high + Fraction(1, 10**90)
    assert high - low < Fraction(1, 2**120)


def test_equal_values_have_an_exact_mean_however_vague_the_weights_are() -> None:
    balls = Ball()
    keys, values = vectors(balls, [1], [2], [3]), vectors(balls, [7], [7], [7])
    one = vectors(balls, [1])
    found = balls.softmax_attention(ball(0, 100), keys, None, np.ones((1, 3), dtype=bool), one[0, :, 0])(values)
    assert found.value[0, 0, 0] == 7


def test_what_all_keys_have_in_common_does_not_matter() -> None:
    """The query's first coordinate has a large error, but all keys agree there."""
    balls = Ball()
    query = Tensor(np.concatenate([ball(0, 10**6).value, ball(1, 0).value], axis=-1))
    keys, values = vectors(balls, [5, 0], [5, 1]), vectors(balls, [0], [1])
    scale = vectors(balls, [1])[0, :, 0]
    found = balls.softmax_attention(query, keys, None, np.ones((1, 2), dtype=bool), scale)(values).value[0, 0, 0]
    assert width(found) < Fraction(1, 2**120)
    three = vectors(balls, [5, 0], [5, 1], [5, 2])
    chosen = balls.select_keys(query, three, None, np.ones((1, 3), dtype=bool), AttentionKind.AVERAGE)
    assert chosen.tolist() == [[[False, False, True]]]


@pytest.mark.parametrize("formula", ["Q_a since Q_b", "prev prev Q_a", "2*#<[Q_a] >= #<[Q_b]", "odd(#<[Q_a])"])
@pytest.mark.parametrize("variant", SOFT, ids=str)
def test_more_precision_gives_smaller_balls_inside_the_larger_ones(formula: str, variant: Variant) -> None:
    model = compiled(formula, variant)
    assert model is not None
    word = [START_TOKEN, *"abbabaab"]
    streams = [DenseEngine(model, f"ball:{bits}").residual_stream([word], 8).value for bits in (64, 512)]
    widest = max(width(number) for number in streams[1].flat)
    assert widest < Fraction(1, 2**400)
    for coarse, fine in zip(*(stream.flat for stream in streams), strict=True):
        (low, high), (inner_low, inner_high) = ends(coarse), ends(fine)
        assert coarse.overlaps(fine)
        assert low <= inner_low <= inner_high <= high


# Decisions


def quarters(chooser: random.Random) -> Fraction:
    return Fraction(chooser.randrange(-2, 3), chooser.choice((1, 2, 4)))


@pytest.mark.parametrize("choice", [AttentionKind.AVERAGE, AttentionKind.LEFTMOST, AttentionKind.RIGHTMOST])
def test_hard_attention_to_exact_balls_is_that_of_exact_numbers_ties_and_all(choice: AttentionKind) -> None:
    chooser, balls, exactly = random.Random(4), Ball(), Exact()
    for _ in range(60):
        keys, d = chooser.randrange(1, 7), chooser.randrange(3)
        query, key = exact_array((2, 3, d), chooser, quarters), exact_array((2, keys, d), chooser, quarters)
        bias = exact_array((3, keys), chooser, quarters) if chooser.random() < 0.5 else None
        visible = np.array([[chooser.random() < 0.7 for _ in range(keys)] for _ in range(3)])
        expected, found = (
            numbers.select_keys(
                tensor(numbers, query),
                tensor(numbers, key),
                None if bias is None else tensor(numbers, bias),
                visible,
                choice,
            )
            for numbers in (exactly, balls)
        )
        assert (expected == found).all()


def test_hard_attention_to_any_numbers_is_that_of_exact_numbers_or_undecided() -> None:
    chooser, balls, exactly, decided = random.Random(5), Ball(24), Exact(), 0
    for _ in range(300):
        query, key = exact_array((1, 1, 2), chooser), exact_array((1, 4, 2), chooser)
        key[0, 3] = key[0, 0]
        visible = np.ones((1, 4), dtype=bool)
        expected = exactly.select_keys(
            tensor(exactly, query), tensor(exactly, key), None, visible, AttentionKind.AVERAGE
        )
        try:
            found = balls.select_keys(tensor(balls, query), tensor(balls, key), None, visible, AttentionKind.AVERAGE)
        except UndecidedError:
            continue
        decided += 1
        assert (found == expected).all()
    assert decided > 100


def test_the_same_exact_keys_are_tied_under_an_inexact_query() -> None:
    assert chosen(Ball(), [Fraction(1, 3), 1], [2, 1], [2, 1], [1, 1]) == [[[True, True, False]]]


def test_scores_that_balls_cannot_tell_apart_are_not_called_a_tie() -> None:
    with pytest.raises(
        UndecidedError, match=r"128 bits do not determine .* raise the precision \(ball:256\)"
    ) as caught:
        chosen(Ball(), [1], [0], [Fraction(1, 3)], [Fraction(1, 3)])
    assert (caught.value.candidates, caught.value.tie) == ((1, 2), False)


def test_more_bits_tell_more_scores_apart() -> None:
    third, close = Fraction(1, 3), Fraction(1, 3) + Fraction(1, 2**200)
    with pytest.raises(UndecidedError, match="raise the precision"):
        chosen(Ball(), [1], [third], [close])
    assert chosen(Ball(256), [1], [third], [close]) == [[[False, True]]]


def chosen(balls: Ball, query: Sequence[Fraction | int], *keys: Sequence[Fraction | int]) -> object:
    everything = np.ones((1, len(keys)), dtype=bool)
    return balls.select_keys(
        vectors(balls, query), vectors(balls, *keys), None, everything, AttentionKind.AVERAGE
    ).tolist()


@pytest.mark.parametrize(
    ("middle", "radius", "found"), [(0, 0, 1), (1, 1 - 2**-20, 1), (-1, 1 - 2**-20, 0), (-1, 0, 0)]
)
def test_a_step_is_taken_where_the_sign_is_certain(middle: float, radius: float, found: int) -> None:
    assert Ball().activate(ball(middle, radius), STEP).value[0, 0, 0] == found


@pytest.mark.parametrize(("middle", "radius"), [(0, 1e-30), (1e-30, 1e-29), (-1, 1), (float("nan"), 0)])
def test_a_step_is_undecided_where_the_sign_is_not_certain(middle: float, radius: float) -> None:
    with pytest.raises(UndecidedError, match=r"sign of a step's argument.*raise the precision"):
        Ball().activate(ball(middle, radius), STEP)


def test_the_largest_logit_must_be_certain() -> None:
    balls = Ball()
    assert balls.argmax(vectors(balls, [1, Fraction(4, 3), Fraction(-1, 3)])).tolist() == [[1]]
    with pytest.raises(UndecidedError, match="the logits are equal") as tie:
        balls.argmax(vectors(balls, [0, 1], [1, 1]))
    assert (tie.value.tie, tie.value.position, tie.value.candidates) == (True, 1, (0, 1))
    with pytest.raises(UndecidedError, match=r"which logit is larger.*raise the precision") as doubt:
        balls.argmax(vectors(balls, [Fraction(1, 3), 0, Fraction(1, 3)]))
    assert (doubt.value.tie, doubt.value.candidates) == (False, (0, 2))


# Transformers


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("variant", SOFT, ids=str)
def test_softmax_is_proven_right_on_all_short_words(formula: str, variant: Variant) -> None:
    right_everywhere(formula, variant, "ball", 4)


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("variant", HARD, ids=str)
def test_hard_attention_decides_as_in_exact_arithmetic(formula: str, variant: Variant) -> None:
    model = compiled(formula, variant)
    if model is not None:
        words = [[START_TOKEN, *word] for word in ("aabab", "babba", "bbbbb")]
        found, expected = (DenseEngine(model, numbers).predict(words, 5) for numbers in ("ball", "exact"))
        assert found == expected


def test_a_turing_machine_runs_as_in_exact_arithmetic() -> None:
    model = sm.compile("palindrome")
    for word in ("abba", "abab"):
        assert sm.run(model, word, arithmetic="ball").tokens == sm.run(model, word, arithmetic="exact").tokens


def test_a_model_that_too_few_bits_cannot_run_says_so() -> None:
    model = sm.compile("Q_a since Q_b", attention="soft")
    with pytest.raises(PrecisionError, match=r"position 3 .* 4 bits .* raise the precision \(ball:8\)"):
        sm.run(model, "aabaa", arithmetic=Ball(4))
    assert sm.run(model, "aabaa", arithmetic=Ball(16)).accepted


def test_a_tie_of_exact_logits_is_the_models_fault() -> None:
    balls = Ball()
    run = DenseEngine(sm.compile("Q_a since Q_b").weights, balls)
    zeros = Tensor(np.full((1, 1, run.transformer.width), arb(0), dtype=object))
    run.unembedding = balls.compile_affine([[], []], run.transformer.width, [Fraction(1), Fraction(1)])
    with pytest.raises(AmbiguousTokenError, match="the logits are equal"):
        run.start().argmax_outputs(zeros)


# Precision and names


def test_flints_own_precision_is_left_as_it_was_and_does_not_matter() -> None:
    model = sm.compile("Q_a since Q_b", attention="soft")
    streams = []
    for bits in (20, 77, 900):
        with ctx.workprec(bits):
            streams.append(DenseEngine(model.weights, "ball").residual_stream([[START_TOKEN, *"abba"]], 4).value)
            assert ctx.prec == bits
            with pytest.raises(UndecidedError):
                Ball().activate(ball(0, 1), STEP)
            with pytest.raises(UndecidedError):
                chosen(Ball(), [1], [Fraction(1, 3)], [Fraction(1, 3)])
            assert ctx.prec == bits
    first, *others = ([ends(number) for number in stream.flat] for stream in streams)
    assert all(other == first for other in others)


def test_names_say_the_precision() -> None:
    for name, bits in (("ball", 128), ("ball:256", 256), ("ball:2", 2)):
        numbers = find_arithmetic(name)
        assert isinstance(numbers, Ball)
        assert (numbers.name, numbers.precision) == (name, bits)
    assert find_arithmetic("ball:128").name == "ball"


@pytest.mark.parametrize("name", ["ball:", "ball:many", "ball:-5", "ball:1", "ball:1.5", "ball:10000000", "balls"])
def test_a_precision_that_makes_no_sense_is_refused(name: str) -> None:
    with pytest.raises(UsageError):
        find_arithmetic(name)


@pytest.mark.parametrize("name", ["ball", "ball:256"])
def test_the_command_line_knows_balls(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "Q_a since Q_b", "aabaa", "--attention", "soft", "--arithmetic", name, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["verdict"], answer["arithmetic"]) == ("accept", name)
