"""Inspection of runs: every number against a reference forward pass, and refusals."""

from __future__ import annotations

import random
import time
from dataclasses import replace
from fractions import Fraction

import pytest

import softmachine as sm
from softmachine.engines.result import Run
from softmachine.inspection import Inspection, inspection
from softmachine.inspection.activations import Activations
from softmachine.inspection.attention_patterns import positions_in
from softmachine.inspection.explanations import activations_to_json
from softmachine.ir.interpreter import evaluate
from softmachine.support.errors import DivergedError, PrecisionError, TooExpensiveError, UsageError
from softmachine.theorems.codec import SegmentedCodec
from softmachine.transformer.head_view import EnclosedNumber, Enclosure, lower_end, upper_end
from tests.cases import CASES, Case
from tests.inspection.reference import Expected, expected

CLOSE = Fraction(1, 10**24)
"""Maximum error of a result computed with 50 digits."""
NARROW = Fraction(1, 10**9)
"""Maximum width of enclosures."""
LONG = (
    "turing-configuration-graph",
    "circuit-evaluator",
    "turing-ternary-summary",
    "turing-counter",
    "turing-counter-relative-bias",
    "uniform-circuits",
    "uniform-circuits-threshold",
    "circuit-evaluator-threshold",
    "odd-walks",
    "nl-configuration-graph",
)
"""Theorems whose models are slow in Python fractions."""
SHORT = [case for case in CASES if case.theorem not in LONG]


def run_of(case: Case) -> Run:
    """The last short example of an entry."""
    return sm.run(case.model, min((word for word, _ in case.examples), key=lambda word: (len(word) == 0, len(word))))


def agrees(found: EnclosedNumber, wanted: Fraction) -> bool:
    """Whether two numbers are equal, or an enclosure contains the expected one, up to its known digits."""
    if isinstance(found, Enclosure):
        return (
            lower_end(found) - CLOSE <= wanted <= upper_end(found) + CLOSE
            and upper_end(found) - lower_end(found) < NARROW
        )
    return found == wanted or (abs(found - wanted) < CLOSE and wanted.denominator > 10**20)


def compare(moment: Activations, wanted: Expected, place: int) -> None:
    assert len(moment.residual_streams) == len(wanted.streams)
    for stream, rows in zip(moment.residual_streams, wanted.streams, strict=True):
        assert all(map(agrees, stream.values, rows[place])), stream.hook_point
    assert len(moment.heads) == len(wanted.heads)
    for sight, seen in zip(moment.heads, (rows[place] for rows in wanted.heads), strict=True):
        assert list(sight.scores) == list(seen.scores)
        assert all(map(agrees, sight.scores.values(), seen.scores.values())), sight.name
        assert all(map(agrees, sight.weights.values(), seen.weights.values())), sight.name
        assert all(map(agrees, sight.retrieved, seen.retrieved)), sight.name
        if sight.head.weighting.is_hard:
            assert sight.chosen == tuple(j for j, weight in seen.weights.items() if weight)
            ranked = sorted(set(seen.scores.values()), reverse=True)
            assert sight.gap == (ranked[0] - ranked[1] if len(ranked) > 1 else None)
            assert sight.tied == tuple(j for j, score in seen.scores.items() if ranked[:1] == [score])
            assert sight.next_best == tuple(j for j, score in seen.scores.items() if ranked[1:2] == [score])
    assert all(map(agrees, moment.logits.values, wanted.logits[place]))


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=str(case), marks=[pytest.mark.slow] * (case.theorem in LONG)) for case in CASES],
)
def test_every_number_is_the_one_of_the_definition(case: Case) -> None:
    run = run_of(case)
    inside = sm.inspect(run)
    context = inside.contexts.context_at(len(inside) - 1)
    tokens = inside.contexts.tokens_of(context)
    wanted = expected(run.model.weights, tokens, run.prompt.length)
    offset = len(inside) - len(tokens)
    places = sorted(random.Random(1).sample(range(len(tokens)), min(4, len(tokens))))
    for moment in inside.at_positions([place + offset for place in places]):
        assert moment.token == tokens[moment.local_position]
        compare(moment, wanted, moment.local_position)


HARD = [
    case
    for case in SHORT
    if case.attention == "hard" and case.theorem not in ("turing-ternary", "turing-residue-address")
]


@pytest.mark.parametrize("case", HARD, ids=str)
def test_logits_are_those_of_the_signals(case: Case) -> None:
    run = run_of(case)
    inside = sm.inspect(run)
    tokens = inside.contexts.tokens_of(inside.contexts.context_at(len(inside) - 1))
    program = run.model.theorem.signals(run.model.codec, "hard")
    column = evaluate(program.logits, tokens, run.prompt.length)
    moment = inside.at(-1)
    assert tuple(moment.logits.values) == column[moment.local_position]
    assert moment.logits.winner == run.tokens[-1]
    assert moment.logits.margin == sorted(column[moment.local_position])[-1] - sorted(column[moment.local_position])[-2]


def test_what_a_hand_computes_for_the_first_step_of_a_palindrome() -> None:
    # a b BOS: three positions, no move yet; the head is on cell 0, which holds the input's a.
    moment = sm.inspect(sm.run("palindrome", "ab")).at(2)
    assert (moment.token, moment.step) == ("BOS", 0)
    mean = moment.head("mean of moves")
    assert (mean.chosen, mean.gap, set(mean.weights.values())) == ((0, 1, 2), None, {Fraction(1, 3)})
    undo = moment.head("recover head position")
    assert [undo.scores[j] for j in range(3)] == [0, Fraction(-1, 3), Fraction(-4, 3)]
    assert (undo.chosen, undo.gap, undo.next_best) == ((0,), Fraction(1, 3), (1,))
    assert moment.residual_streams[-1]["symbol[a]"] == 1
    assert moment.residual_streams[-1]["symbol[b]"] == 0
    assert moment.logits.winner == "(first,a,S)"


def test_softmax_weights_are_enclosed_and_add_up_to_one() -> None:
    moment = sm.inspect(sm.run("Q_a since Q_b", "abab", attention="soft")).at(-1)
    (sight,) = moment.heads
    assert all(isinstance(weight, Enclosure) for weight in sight.weights.values())
    assert sum(map(lower_end, sight.weights.values())) <= 1 <= sum(map(upper_end, sight.weights.values()))
    assert upper_end(moment.logits["false"]) < lower_end(moment.logits["true"])


@pytest.mark.parametrize("theorem", ["turing-average-hard-summary", "turing-ternary-summary"])
def test_positions_of_segments_are_read_in_their_contexts(theorem: str) -> None:
    run = sm.run("binary-counter", "1", theorem=theorem, max_steps=60, context=64)
    codec = run.model.codec
    assert isinstance(codec, SegmentedCodec)
    assert len(run.segments) > 1
    inside, start = sm.inspect(run), len(run.prompt.tokens)
    for segment, (prompt, output) in enumerate(codec.expected_segments(run.outcome.word, run.steps)):
        last = start + len(output) - 2 if output else start - 1
        context = inside.contexts.context_at(min(last, len(inside) - 1))
        assert context.segment == segment
        assert tuple(context.prompt) == prompt.tokens
        start += len(output)
    for position in (
        len(run.prompt.tokens) - 1,
        inside.contexts.context_at(len(inside) - 1).start - 1,
        len(inside) - 1,
    ):
        moment = inside.at(position)
        assert moment.logits.winner == moment.logits.emitted == inside.contexts.output_at(position)
        assert moment.token == moment.tokens[moment.local_position]


@pytest.mark.parametrize(
    ("source", "word", "theorem"),
    [
        ("palindrome", "abba", "turing-average-hard"),
        ("two-tape-palindrome", "aba", "turing-average-hard"),
        ("parity-counter", "aaab", "counter"),
        ("binary-counter", "1", "turing-average-hard-summary"),
        ("increment", "101", "turing-residue-address"),
    ],
)
def test_the_fast_engine_gives_the_same_keys_and_values(
    source: str, word: str, theorem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = sm.run(source, word, theorem=theorem, max_steps=60)
    slowly = [activations_to_json(moment, run.model) for moment in Inspection(run).at_positions(range(-6, 0, 2))]
    adopted = []
    monkeypatch.setattr(inspection, "MAX_DENSE_SECONDS", 0.0)
    inside = Inspection(run)
    for moment, wanted in zip(inside.at_positions(range(-6, 0, 2)), slowly, strict=True):
        assert activations_to_json(moment, run.model) == wanted
        adopted.append(inside.is_prefilled)
    assert all(adopted)


def test_what_is_far_is_read_again_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    run = sm.run("palindrome", "ab" * 8 + "ba" * 8)
    monkeypatch.setattr(inspection, "MAX_DENSE_SECONDS", 0.5)
    inside = Inspection(run)
    for position in (3, 200, 150, len(inside) - 1, 40):
        assert inside.at(position).logits == Inspection(run).at(position).logits
    assert inside.is_prefilled


def test_patterns_are_what_moments_choose() -> None:
    inside = sm.inspect(sm.run("palindrome", "abba"))
    moments = list(inside.at_positions(range(len(inside))))
    for pattern in inside.patterns():
        chosen = [moment.head(pattern.head.name).chosen for moment in moments]
        assert [tuple(positions_in(row)) for row in pattern.rows] == chosen


def test_soft_attention_has_no_patterns() -> None:
    with pytest.raises(UsageError, match="attention is soft"):
        sm.inspect(sm.run("Q_a since Q_b", "ab", attention="soft")).patterns()


def test_the_same_run_looks_the_same() -> None:
    run = sm.run("palindrome", "abba")
    first, second = (activations_to_json(sm.inspect(run).at(9), run.model) for _ in range(2))
    assert first == second
    inside = sm.inspect(run)
    assert [inside.at(position).logits for position in (20, 3, 20)][::2] == [inside.at(20).logits] * 2


def test_positions_count_from_both_ends_and_others_are_refused() -> None:
    inside = sm.inspect(sm.run("palindrome", "ab"))
    assert inside.at(-1).position == len(inside) - 1
    for wrong in (len(inside), -len(inside) - 1, 10**9):
        with pytest.raises(UsageError, match=f"the run has the positions 0 to {len(inside) - 1}"):
            inside.at(wrong)


def test_steps_are_those_of_the_trace() -> None:
    run = sm.run("palindrome", "abba")
    inside = sm.inspect(run)
    steps = [inside.step_at(position) for position in range(len(inside))]
    assert [step for step in steps if step is not None] == list(range(run.steps + 1))
    assert all(inside.step_at(inside.position_of_step(step)) == step for step in range(run.steps + 1))
    with pytest.raises(UsageError, match="the run has the steps 0 to 15, not 16"):
        inside.position_of_step(16)
    with pytest.raises(UsageError, match="a model that answers in one pass has no steps"):
        sm.inspect(sm.run("Q_a since Q_b", "ab")).position_of_step(1)


def test_a_counter_machine_begins_with_step_1() -> None:
    inside = sm.inspect(sm.run("parity-counter", "aa"))
    assert inside.at(inside.position_of_step(1)).step == 1
    with pytest.raises(UsageError, match="the run has the steps 1 to "):
        inside.position_of_step(0)


def test_a_run_that_is_not_the_models_is_not_looked_into() -> None:
    run = sm.run("palindrome", "ab")
    forged = replace(run, tokens=(*run.tokens[:-1], "ACC" if run.tokens[-1] == "REJ" else "REJ"))
    with pytest.raises(DivergedError, match="the model emits 'REJ', but the run has 'ACC' there"):
        sm.inspect(forged).at(-1)


def test_balls_that_do_not_decide_are_not_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    run = sm.run("Q_a since Q_b", "abab", attention="soft")
    monkeypatch.setattr(inspection, "choose_arithmetic", lambda _: "ball:2")
    with pytest.raises(PrecisionError):
        sm.inspect(run).at(-1)


def test_a_run_that_rounds_is_not_looked_into() -> None:
    run = sm.run("parity", "11", arithmetic="fixed:16")
    with pytest.raises(UsageError, match="a run in fixed:16 cannot be inspected"):
        sm.inspect(run)


def test_a_run_of_no_step_has_its_prompt() -> None:
    inside = sm.inspect(sm.run("palindrome", "ab", max_steps=0))
    assert inside.at(-1).position == len(inside) - 1


def test_what_would_take_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    run = sm.run("koenigsberg", "altstadt lomse")
    monkeypatch.setattr("softmachine.support.resources.MAX_SECONDS", 0.0)
    monkeypatch.setattr("softmachine.engines.dense.cost_estimate.MAX_UNTIMED_SECONDS", 0.0)
    with pytest.raises(TooExpensiveError, match="a pass over 80 tokens"):
        sm.inspect(run).at(0)
    assert sm.inspect(run, yes=True).at(0).position == 0
    several = sm.inspect(run, yes=True).at_positions([0, 1])
    assert next(several).position == 0
    with pytest.raises(TooExpensiveError):
        sm.inspect(run).at(0)  # consent to one call does not apply to others


@pytest.mark.slow
def test_position_100_000_is_looked_into_in_seconds() -> None:
    word = "ab" * 112 + "ba" * 112
    run = sm.run("palindrome", word)
    inside = sm.inspect(run)
    assert len(inside) > 100_000
    began = time.perf_counter()
    moment = inside.at(100_000)
    assert time.perf_counter() - began < 60
    assert inside.is_prefilled
    written, head = dict[int, int](), 0
    codec = run.model.codec
    for position, token in enumerate(run.tokens[: 100_000 - len(word)], len(word) + 1):
        written[head] = position
        head += {"L": -1, "S": 0, "R": 1}[codec.meanings[token].move[0]]  # type: ignore[attr-defined]
    assert moment.head("last write").chosen == (written[head],)
    assert moment.residual_streams[-1]["head"] == head


def test_a_layer_norm_of_several_numbers_is_enclosed() -> None:
    """The square root is irrational; pictures are drawn anyway."""
    run = sm.run("odd(#<[Q_a])", "aba", theorem="temporal-layer-norm")
    found = sm.inspect(run)
    assert found.arithmetic == "ball"
    assert found.at(-1).residual_streams
    assert "<svg" in sm.picture(run).svg
