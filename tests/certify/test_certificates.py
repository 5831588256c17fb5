"""No certificate is ever false, and none is vacuous."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import softmachine as sm
from softmachine.certify import Certificate, certify
from softmachine.certify.certificate import replace_by_softmax
from softmachine.certify.empirical import measure_precision
from softmachine.compiler import compile_program
from softmachine.compiler.model import Model
from softmachine.engines.check import check_inputs
from softmachine.engines.dense.engine import DenseEngine
from softmachine.ir import Program, Signal, attend, constant, loop, named, recogniser
from softmachine.ir.primitives import token
from softmachine.ir.ranges import BIT
from softmachine.languages import zoo
from softmachine.languages.source import Source
from softmachine.languages.temporal import Formula, Specification, find_fragment, parse_formula, to_core, truth_values
from softmachine.support.errors import ConstructionError, ContextTooShortError, UsageError
from softmachine.testing import load_as
from softmachine.testing.temporal import random_formula
from softmachine.theorems import Theorem, applicable_theorems, find_theorem
from softmachine.theorems.logic.temporal.heads import Masking, Variant
from softmachine.theorems.logic.temporal.theorem import signals
from softmachine.theorems.shared.recogniser_codec import START_TOKEN
from softmachine.transformer.attention import AttentionKind, Weighting, softmax_weighting
from softmachine.transformer.features import RECIPROCAL, Distance
from softmachine.transformer.weights import Block, Layer
from tests.cases import CASES, Case
from tests.models import signals_of

ROUNDING = 1e-12
"""What float64 itself may add to a difference."""
OPERATORS = ["Q_a since Q_b", "Q_a until Q_b", "prev Q_a", "next Q_a", "#<[Q_a] >= 2*#>[Q_b]", "odd(#<[Q_a])"]


def specification(formula: Formula | str) -> Specification:
    parsed = parse_formula(formula) if isinstance(formula, str) else formula
    return Specification(name="formula", formula=parsed, alphabet=("a", "b"))


def hard(formula: Formula | str, vision: Masking = Masking.ENCODER) -> Program:
    return signals(specification(formula), Variant(vision, soft=False))


@pytest.mark.parametrize("block", range(10))
def test_certified_softmax_agrees_with_the_evaluator(block: int) -> None:
    for seed in range(4 * block, 4 * (block + 1)):
        certified_formula_is_right(seed, depth=3, exhaustive=4, longest=12)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(50))
def test_five_hundred_certificates_are_true(block: int) -> None:
    for seed in range(100 + 10 * block, 100 + 10 * (block + 1)):
        certified_formula_is_right(seed, depth=4, exhaustive=7, longest=40)


def certified_formula_is_right(seed: int, depth: int, exhaustive: int, longest: int) -> None:
    chooser = random.Random(seed)
    formula = random_formula(chooser, depth, "ab")
    past = find_fragment(to_core(formula)).is_past_only
    vision = chooser.choice(list(Masking)) if past else Masking.ENCODER
    length = chooser.randint(exhaustive, longest)
    program = hard(formula, vision)
    certificate = certify(program, length)
    assert certificate.holds
    engine, errors = DenseEngine(certificate.soft_transformer), HeadErrors(program, certificate)
    known = vision is Masking.ENCODER
    for n in (*range(1, exhaustive + 1), length):
        words = [*product("ab", repeat=n)] if n <= exhaustive else [tuple(chooser.choices("ab", k=n))]
        sequences = [[START_TOKEN, *word] for word in words]
        found = engine.predict(sequences, n if known else None)
        for word, answers in zip(words, found, strict=True):
            expected = list(truth_values(specification(formula), word))
            assert [answer == "true" for answer in answers[1:]] == expected, f"{formula}, seed {seed}"
        errors.stay_under_the_budget(sequences, n if known else None)


def is_certified(program: Program, length: int, sharpness: int) -> bool:
    return sharpness > 0 and certify(program, length, sharpness).holds


class HeadErrors:
    """How far each coordinate that a head writes is from what hard attention writes, against what the budget allows."""

    def __init__(self, program: Program, certificate: Certificate) -> None:
        hard, soft = compile_program(program), certificate.soft_transformer
        assert hard.coordinates == soft.coordinates
        rows = {row.head: row.error_out for row in certificate.rows}
        self.places = [place for place, name in enumerate(hard.coordinates) if name in rows]
        self.allowed = np.array([rows[hard.coordinates[place]] for place in self.places])
        self.engines = DenseEngine(hard), DenseEngine(soft)

    def stay_under_the_budget(self, sequences: list[list[str]], length: int | None) -> None:
        hard, soft = (engine.residual_stream(sequences, length).value[..., self.places] for engine in self.engines)
        assert (np.abs(hard - soft).max(axis=(0, 1), initial=0) <= self.allowed + ROUNDING).all()


@pytest.mark.parametrize("formula", OPERATORS)
@pytest.mark.parametrize("length", [5, 12])
def test_measured_errors_stay_under_the_budget(formula: str, length: int) -> None:
    """Compare every coordinate that a head writes in the soft and the hard run of the same program."""
    program = hard(formula)
    errors = HeadErrors(program, certify(program, length))
    assert errors.places
    chooser = random.Random(1)
    errors.stay_under_the_budget([[START_TOKEN, *chooser.choices("ab", k=length)] for _ in range(20)], length)


@pytest.mark.parametrize("formula", OPERATORS)
def test_a_temperature_that_is_too_high_goes_wrong(formula: str) -> None:
    """The budget is not vacuous: below the certified scale, errors do exceed what rounding takes away."""
    length = 12
    program = hard(formula)
    assert not is_certified(program, length, certify(program, length).sharpness - 1)
    smooth = compile_program(replace_by_softmax(program, 1))

    def warm(layer: Layer) -> Layer:
        heads = tuple(
            replace(head, weighting=Weighting(AttentionKind.SOFTMAX)) if head.query.bias else head
            for head in layer.heads
        )
        return replace(layer, heads=heads)

    blocks = tuple(Block(tuple(map(warm, block.layers)), block.repeats, block.name) for block in smooth.blocks)
    engine = DenseEngine(replace(smooth, blocks=blocks))
    wrong = 0
    chooser = random.Random(3)
    for word in (tuple(chooser.choices("ab", k=length)) for _ in range(60)):
        answers = engine.predict([[START_TOKEN, *word]], length)[0]
        wrong += [answer == "true" for answer in answers[1:]] != list(truth_values(specification(formula), word))
    assert wrong > 0


@pytest.mark.parametrize("name", ["palindrome", "increment", "two-tape-copy", "power-of-two"])
def test_machines_run_by_softmax_with_a_certificate(name: str) -> None:
    length = 60
    soft, certificate = sm.soften(name, length=length)
    assert certificate.holds
    assert soft.attention == "soft"
    codec = soft.codec
    assert codec is not None
    words = [word for n in range(4) for word in product(codec.alphabet, repeat=n)]
    assert check_inputs(soft, words, max_steps=length - 10).disagreements == ()


def test_theorem_26_asks_for_more_than_the_budget() -> None:
    for source in (*OPERATORS, "palindrome"):
        certificate = sm.certificate(source, length=40)
        assert certificate.theorem.sharpness > certificate.sharpness


def test_longer_inputs_need_lower_temperatures() -> None:
    machine = load_as("palindrome", sm.TuringMachine)
    program, _ = signals_of(machine, "turing-average-hard", "hard")
    scales = [certify(program, length).sharpness for length in (10, 100, 1000)]
    assert scales == sorted(scales)
    assert scales[0] < scales[-1]


def test_a_certificate_reads_as_a_table() -> None:
    text = str(sm.certificate("Q_a since Q_b", length=100))
    assert "Q_a since Q_b  grid and ramp  Lemma 6  1/(2n+2)  4(n+1)" in text
    assert "margin of the logits ≥ 1.0000" in text
    assert "Theorem 26" in text
    assert re.search(r"wire +positions +Lemma 33  2    5/2", str(sm.certificate("full-adder", length=3)))


def test_a_certificate_is_data() -> None:
    mean, lookup, *_, last = sm.certificate("palindrome", length=200).rows
    assert (mean.layer, mean.lemma, mean.gap, mean.scale) == (1, "exact", None, None)
    assert (lookup.lemma, lookup.gap, str(lookup.scale)) == ("Lemma 7", RECIPROCAL, "20(i+1)")
    assert (last.layer, last.head, last.lemma) == (3, "last write", "Lemma 6")
    assert last.to_json()["gap"] == "1/(2i+2)"


def test_a_certificate_that_fails_says_at_which_head() -> None:
    certificate = sm.certificate("prev Q_a", length=50, sharpness=1)
    assert not certificate.holds
    assert "nearest even" in certificate.explain_failure
    with pytest.raises(ConstructionError, match="nearest even"):
        sm.soften("prev Q_a", length=50, sharpness=1)


def test_a_negative_length_is_refused() -> None:
    with pytest.raises(UsageError, match="'length': -1 is less than 0"):
        sm.certificate("prev Q_a", length=-1)


def test_float_formats_are_measured_up_to_the_length_where_they_fail() -> None:
    soft, _ = sm.soften("Q_a since Q_b", length=40)
    measured = measure_precision(soft, "float64", 40)
    assert (measured.holds_to, measured.fails_at, measured.proven_to) == (40, None, 40)


def test_answers_go_wrong_later_than_bounds_give_out() -> None:
    soft, _ = sm.soften("#<[Q_a] >= 2*#>[Q_b]", length=100)
    measured = measure_precision(soft, "float16", 100)
    assert measured.fails_at is None
    assert 20 < measured.proven_to < measured.holds_to == 100
    assert "no doubt up to length" in str(measured)


def test_a_plot_is_drawn_and_nothing_is_overwritten(tmp_path: Path) -> None:
    from softmachine.certify.empirical import draw_margins

    @cache
    def prove(length: int, sharpness: int | None) -> Certificate:
        return certify(hard("prev Q_a"), length, sharpness)

    for name in ("margin.png", "margin.svg"):
        draw_margins("previous", prove, 10, tmp_path / name)
        assert (tmp_path / name).stat().st_size > 1000
        with pytest.raises(UsageError, match="exists already"):
            draw_margins("previous", prove, 10, tmp_path / name)
    with pytest.raises(UsageError, match=r"\.png or \.svg"):
        draw_margins("previous", prove, 10, tmp_path / "margin.pdf")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["margin.png", "margin.svg"]


CHOICE = "head 'pick' is {}, and certificates are only for hard attention"


@pytest.mark.parametrize("looped", [False, True])
def test_a_head_that_has_a_temperature_is_refused_by_name(looped: bool) -> None:
    """It kept its weighting, and the certificate said "holds"."""
    weighting = softmax_weighting(3)
    bit = token("bit", {START_TOKEN: (0,), "a": (1,), "b": (0,)})

    def pick(of: Signal) -> Signal:
        return attend("pick", query=constant(1), key=bit, value=of, weighting=weighting, gap=1, single_key=True)

    picked = loop("turn", iterations=2, initial=bit, body=pick) if looped else pick(bit)
    program = recogniser("picky", (START_TOKEN, "a", "b"), picked.with_range(BIT))
    for made in (lambda: certify(program, 5), lambda: replace_by_softmax(program, 8)):
        with pytest.raises(ConstructionError, match=CHOICE.format(weighting)):
            made()


class Nearness(Distance):
    """How near the key is: minus its distance."""

    def value(self, key: int, query: int) -> int:
        return key - query


def test_a_head_that_only_a_relation_scores_gets_the_scale_of_the_certificate() -> None:
    """It got scale 1 whatever its gap, and the certificate counted on more."""
    bit = token("bit", {START_TOKEN: (0,), "a": (1,), "b": (0,)})
    last = attend("last", value=bit, bias=Nearness(), gap=1, single_key=True)
    program = recogniser("last", (START_TOKEN, "a", "b"), named("seen", last))
    certificate = certify(program, 5)
    (head,) = certificate.soft_transformer.heads
    assert certificate.holds
    assert head.weighting == softmax_weighting(certificate.sharpness)


@pytest.mark.parametrize("case", [case for case in CASES if case.attention == "hard"], ids=str)
def test_a_certificate_that_holds_means_that_all_heads_are_softmax(case: Case) -> None:
    all_heads_are_soft(case.source, find_theorem(source_of(case.source), case.theorem), case.length)


@pytest.mark.slow
@pytest.mark.parametrize("entry", [entry.name for entry in zoo.list_entries()])
def test_a_certificate_that_holds_means_that_all_heads_of_the_zoo_are_softmax(entry: str) -> None:
    for theorem in applicable_theorems(source_of(entry)):
        if "hard" in theorem.attentions:
            all_heads_are_soft(entry, theorem, None)


def source_of(name: str) -> Source:
    found = sm.load(name)
    assert not isinstance(found, Model)
    return found


def all_heads_are_soft(source: str, theorem: Theorem, made_for: int | None) -> None:
    length = made_for or 12
    try:
        soft, certificate = sm.soften(sm.compile(source, theorem, attention="hard", length=length), length=length)
    except ContextTooShortError as error:
        if made_for or error.context is None:
            raise
        all_heads_are_soft(source, theorem, error.context)  # it says what would do
        return
    except ConstructionError:  # it says why there is none
        return
    assert certificate.holds
    assert all(head.weighting.kind is AttentionKind.SOFTMAX for head in soft.weights.heads)
