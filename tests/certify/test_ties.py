"""The tie bound: means over keys whose scores have errors are never further off than it says, and not by far less."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import pytest

from softmachine.certify import Certificate, certify
from softmachine.certify.certificate import replace_by_softmax
from softmachine.certify.softmax_error import TIE_BOUND, bound_tie_error, choose_tie_sharpness
from softmachine.compiler import compile_program
from softmachine.engines.dense.engine import DenseEngine
from softmachine.ir import Program, Signal, attend, constant, loop, stack, token
from softmachine.ir.domain import Domain
from softmachine.ir.ranges import real
from softmachine.support.errors import ConstructionError
from softmachine.transformer.attention import Mask
from softmachine.transformer.features import Feature
from softmachine.transformer.weights import Transformer
from tests.sources.selectors import SINK, Number, Selectors, random_number

ENDS = (Mask.ALL, Mask.CAUSAL)


@dataclass(frozen=True)
class Scored:
    """Keys of which the first ones tie, and others are a gap of 1 below, with errors of scores and values."""

    tied: int
    scores: list[float]
    values: list[float]

    def mean(self, scale: float) -> float:
        weights = [math.exp(scale * score) for score in self.scores]
        return sum(w * v for w, v in zip(weights, self.values, strict=True)) / sum(weights)

    @property
    def mean_of_ties(self) -> float:
        return sum(self.values[: self.tied]) / self.tied


def drawn(chooser: random.Random, doubt: float) -> Scored:
    """Keys with errors of any size, or only the largest ones: all up where values are large."""
    tied, others = chooser.randint(1, 12), chooser.randint(0, 12)
    values = [chooser.choice([0.0, 1.0, chooser.random()]) for _ in range(tied + others)]
    if chooser.random() < 0.5:
        errors = [doubt if value > 0.5 else -doubt for value in values]
    else:
        errors = [chooser.uniform(-doubt, doubt) for _ in values]
    below = [0.0] * tied + [1 + chooser.choice([0, chooser.random()]) for _ in range(others)]
    return Scored(tied, [error - gap for error, gap in zip(errors, below, strict=True)], values)


def test_no_mean_is_further_off_than_the_bound() -> None:
    chooser = random.Random(5)
    for _ in range(3000):
        doubt, scale = chooser.choice([0.0, 1e-3, 0.05, 0.3]), chooser.choice([1, 4, 15, 40])
        keys = drawn(chooser, doubt)
        others = len(keys.scores) - keys.tied
        weight = others / keys.tied * math.exp(-scale * (1 - 2 * doubt))
        assert abs(keys.mean(scale) - keys.mean_of_ties) <= bound_tie_error(scale * doubt) + weight + 1e-12


@pytest.mark.parametrize("doubt", [0.01, 0.3, 2.0])
def test_the_bound_is_reached(doubt: float) -> None:
    """Where p of the keys are too good and the others too bad, with p = 1/(1 + e^doubt): no smaller bound is true."""
    tied = 10_000
    good = round(tied / (1 + math.exp(doubt)))
    keys = Scored(tied, [doubt] * good + [-doubt] * (tied - good), [1.0] * good + [0.0] * (tied - good))
    assert keys.mean(1) - keys.mean_of_ties == pytest.approx(bound_tie_error(doubt), rel=1e-3)


def test_every_tied_key_has_its_share_but_for_a_factor() -> None:
    chooser = random.Random(6)
    for _ in range(500):
        doubt = chooser.random()
        weights = [math.exp(chooser.uniform(-doubt, doubt)) for _ in range(chooser.randint(1, 9))]
        for weight in weights:
            assert math.exp(-2 * doubt) <= weight / sum(weights) * len(weights) <= math.exp(2 * doubt)


def of_selectors(number: Number, selectors: Selectors, length: int) -> tuple[Program, Certificate]:
    program = selectors.output_program(number, length)
    domain = Domain(frozenset({SINK}), frozenset(program.vocabulary) - {SINK})
    return program, certify(program, length, domain=domain)


def words(seed: int, length: int) -> Iterator[list[str]]:
    """One letter, two letters, and random ones."""
    chooser = random.Random(seed)
    yield ["a"] * length
    yield [*"a" * (length // 2), *"b" * (length - length // 2)]
    for _ in range(3):
        yield chooser.choices("abc", k=length)


def measured(program: Program, certificate: Certificate, sequences: list[list[str]]) -> dict[str, float]:
    """For each head, how far what it writes is from what hard attention writes, as balls enclose it."""
    hard, soft = compile_program(program), certificate.soft_transformer
    length = len(sequences[0]) - 1
    exact = DenseEngine(hard, "exact").residual_stream(sequences, length).value
    balls = DenseEngine(soft, "ball").residual_stream(sequences, length).value
    worst: dict[str, float] = {}
    heads = {row.head for row in certificate.rows}
    for place, label in enumerate(hard.coordinates):
        name = label.partition("[")[0]
        if name in heads:
            off = max(float(abs(ball).upper()) for ball in (balls - exact)[..., place].flat)
            worst[name] = max(off, worst.get(name, 0.0))
    return worst


@pytest.mark.parametrize("mask", ENDS)
@pytest.mark.parametrize("length", [1, 5, 12, 20])
def test_measured_errors_of_double_histograms_stay_under_the_budget(mask: Mask, length: int) -> None:
    selectors = Selectors(mask)
    program, certificate = of_selectors(selectors.double_histogram(), selectors, length)
    found = measured(program, certificate, [[SINK, *word] for word in words(length, length)])
    allowed = {row.head: row.error_out for row in certificate.rows}
    assert TIE_BOUND in {row.lemma for row in certificate.rows}
    assert set(found) == {"1/(1+count)", "1/(1+as often)"}
    for head, error in found.items():
        assert error <= allowed[head], head


@pytest.mark.parametrize("mask", ENDS)
@pytest.mark.parametrize("seed", range(6))
def test_random_selectors_are_certified_and_stay_under_the_budget(mask: Mask, seed: int) -> None:
    budgeted_selectors_are_right(seed, mask, depth=2, length=4 + seed)


@pytest.mark.slow
@pytest.mark.parametrize("mask", ENDS)
@pytest.mark.parametrize("block", range(10))
def test_two_hundred_random_selectors_stay_under_the_budget(mask: Mask, block: int) -> None:
    for seed in range(100 + 10 * block, 110 + 10 * block):
        budgeted_selectors_are_right(seed, mask, depth=1 + seed % 4, length=3 + seed % 17)


def budgeted_selectors_are_right(seed: int, mask: Mask, depth: int, length: int) -> None:
    selectors, number = random_number(seed, mask, depth)
    program, certificate = of_selectors(number, selectors, length)
    inputs = list(words(seed, length))
    sequences = [[SINK, *word] for word in inputs]
    allowed = {row.head: row.error_out for row in certificate.rows}
    for head, error in measured(program, certificate, sequences).items():
        assert error <= allowed[head], (seed, head)
    soft = DenseEngine(certificate.soft_transformer)
    for word, said in zip(inputs, soft.predict(sequences, length), strict=True):
        assert said[1:] == [str(x) for x in number.of(word)], (seed, word)


@pytest.mark.parametrize("mask", ENDS)
def test_the_double_histogram_is_certified_for_words_of_hundreds_of_letters(mask: Mask) -> None:
    selectors = Selectors(mask)
    number = selectors.double_histogram()
    scales = [of_selectors(number, selectors, length)[1].sharpness for length in (20, 200, 1000)]
    assert scales == sorted(scales)
    assert scales[0] <= 18
    assert scales[-1] <= 40


def test_the_tie_bound_is_not_vacuous() -> None:
    """Of what the budget allows a double histogram of five letters, it uses more than a thousandth."""
    selectors = Selectors(Mask.CAUSAL)
    program, certificate = of_selectors(selectors.double_histogram(), selectors, 5)
    found = measured(program, certificate, [[SINK, *word] for word in words(1, 5)])
    (ties,) = (row for row in certificate.rows if row.lemma == TIE_BOUND)
    assert found[ties.head] > ties.error_out / 1000


def test_scores_in_doubt_do_make_ties_uneven() -> None:
    """Too warm a softmax goes wrong, and the budget says so."""
    selectors, length = Selectors(Mask.ALL), 12
    number = selectors.double_histogram()
    program, certificate = of_selectors(number, selectors, length)
    assert not certify(program, length, certificate.sharpness - 1).holds
    warm = DenseEngine(compile_program(replace_by_softmax(program, 2)))
    inputs = list(words(2, length))
    said = warm.predict([[SINK, *word] for word in inputs], length)
    assert [answers[1:] for answers in said] != [[str(x) for x in number.of(word)] for word in inputs]


def in_doubt(doubt: int, *, turns: int = 0) -> Program:
    """Whether more than half of the letters are a, by a mean over letters whose scores soft attention moves.

    A first head retrieves 0, but for the weight on wrong keys; that times ``doubt`` is added to all scores. With turns,
    a loop takes means of means.
    """
    is_a = token("is a", {SINK: (0,), "a": (1,), "b": (0,)})
    letter = token("letter", {SINK: (0,), "a": (1,), "b": (1,)})
    nothing = attend("nothing", query=constant(1), key=1 - letter, value=is_a, gap=1, single_key=True)
    query, key = stack(constant(1), constant(doubt)), stack(letter, nothing)

    def share(of: Signal) -> Signal:
        return attend("share", query=query, key=key, value=of, gap=1)

    found = loop("turn", iterations=turns, initial=is_a.with_range(real(0, 1)), body=share) if turns else share(is_a)
    logits = stack(Fraction(1, 2) - found, found - Fraction(1, 2))
    return Program("most", (SINK, "a", "b"), ("false", "true"), logits, Fraction(1, 3))


def scales(weights: Transformer) -> dict[str, Fraction | Feature]:
    return {head.name: head.weighting.scale for head in weights.heads}


def test_a_head_that_takes_means_may_have_a_scale_of_its_own() -> None:
    program = in_doubt(1000)
    certificate = certify(program, 3, 16)
    assert certificate.holds
    share = certificate.rows[-1]
    assert (share.head, share.lemma, share.scale) == ("share", TIE_BOUND, Fraction(8))
    assert "scale up to 16 / gap" in certificate.claim
    assert scales(certificate.soft_transformer) == {"nothing": 16, "share": 8}


def test_a_scale_of_its_own_does_better() -> None:
    """With the scale of the others, the bound of that head would be larger; and it does hold."""
    program = in_doubt(1000)
    certificate = certify(program, 3, 16)
    share = certificate.rows[-1].error_out
    assert share < bound_tie_error(16 * 1000 * certificate.rows[0].error_out)
    sequences = [[SINK, *word] for word in product("ab", repeat=3)]
    assert 0 < measured(program, certificate, sequences)["share"] <= share


@pytest.mark.parametrize("turns", [1, 3])
def test_in_a_loop_a_head_has_one_scale(turns: int) -> None:
    program = in_doubt(100, turns=turns)
    certificate = certify(program, 3, 12)
    assert certificate.holds
    hard, soft = compile_program(program), certificate.soft_transformer
    sequences = [[SINK, *word] for word in product("ab", repeat=3)]
    place = hard.coordinates.index("turn")
    exact = DenseEngine(hard, "exact").residual_stream(sequences).value[..., place]
    balls = DenseEngine(soft, "ball").residual_stream(sequences).value[..., place]
    worst = max(float(abs(ball).upper()) for ball in (balls - exact).flat)
    assert 0 < worst <= (Fraction(1, 3) - Fraction(certificate.margin)) / 2


def test_where_no_scale_does_it_says_so() -> None:
    with pytest.raises(ConstructionError, match=r"'share' takes a mean of keys whose .* at no scale up to 16 / gap"):
        certify(in_doubt(10**6), 3, 16).soft_transformer  # noqa: B018
    with pytest.raises(ConstructionError, match=r"'share': errors of the scores up to 1e\+03 use up the gap 1"):
        certify(in_doubt(10**6), 3, 8).soft_transformer  # noqa: B018


def test_there_are_errors_for_which_no_scale_does() -> None:
    def tail(scaled: float) -> float:
        return 20 * math.exp(-scaled)

    assert choose_tie_sharpness(4096, 0.3, tail) is None
    assert choose_tie_sharpness(4096, 0.0, tail) == 4096
    chosen = choose_tie_sharpness(4096, 0.001, tail)
    assert chosen == 16
    best = min(bound_tie_error(t * 0.001) + tail(t * 0.998) for t in range(1, 4097))
    assert bound_tie_error(16 * 0.001) + tail(16 * 0.998) < 2 * best


def test_errors_of_values_add_to_those_of_weights() -> None:
    """A mean of numbers that soft attention retrieved: with no error of scores, it has theirs and no more."""
    selectors = Selectors(Mask.ALL)
    count = selectors.histogram()
    mean = selectors.select("mean count", count.signal.value, (selectors.letter, selectors.letter))
    program = Program("mean", (SINK, "a", "b", "c"), ("few", "many"), stack(-mean, mean - 5), Fraction(1, 8))
    certificate = certify(program, 6)
    rows = {row.head: row for row in certificate.rows}
    assert rows["mean count"].lemma == "Lemma 33"
    assert rows["mean count"].error_out > rows["undo count"].error_out / 40
    found = measured(program, certificate, [[SINK, *word] for word in words(3, 6)])
    assert 0 < found["mean count"] <= rows["mean count"].error_out
