"""One step as text and as JSON: sentences, lines, and the names that guides show."""

from __future__ import annotations

import json
import random
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import softmachine as sm
from softmachine.inspection.explanations import LINE_WIDTH, activations_to_json, explain_head, format_activations
from softmachine.languages.turing import Action
from softmachine.theorems import all_theorems, get_theorem
from softmachine.theorems.shared.turing_codec import InputSymbol
from softmachine.transformer.head_view import (
    Enclosure,
    format_ends,
    format_fraction,
    format_number,
    format_rounded_down,
)
from tests.cases import CASES, Case
from tests.theorems.test_nondeterministic_logspace import TWO_ONES

LONG = (
    "turing-configuration-graph",
    "circuit-evaluator",
    "turing-counter",
    "turing-counter-relative-bias",
    "uniform-circuits",
    "uniform-circuits-threshold",
    "circuit-evaluator-threshold",
    "odd-walks",
    "nl-configuration-graph",
)
"""Theorems with large models or long chains of thought."""
GUIDED = (
    "turing-average-hard",
    "temporal-encoder",
    "crasp",
    "counter",
    "srasp",
    "turing-ternary",
    "circuit-and-or-not",
    "connectivity",
)


def said_of(run: sm.Run, position: int, head: str) -> str:
    """The sentence of a head."""
    return explain_head(sm.inspect(run).at(position).head(head), run.model)


def test_chapter_8_tells_of_cells_and_steps() -> None:
    run = sm.run("palindrome", "abba")
    position = sm.inspect(run).position_of_step(8)
    assert said_of(run, position, "last write") == (
        "last write: cell 1 was last written at step 2 (position 7), with b; the next best is 21/26 below, "
        "at position 12"
    )
    assert said_of(run, position, "mean of moves") == "mean of moves: the moves of all 13 positions have the mean 1/13"
    assert said_of(run, position, "recover cell position") == (
        "recover cell position: 2/13 is 2/(i+1): this token wrote to cell 2; 2 other positions are 1/13 below"
    )


@pytest.mark.parametrize(("source", "word"), [("palindrome", "abaaba"), ("two-tape-palindrome", "abba")])
def test_what_chapter_8_tells_is_what_the_machine_did(source: str, word: str) -> None:
    run = sm.run(source, word)
    inside, codec = sm.inspect(run), run.model.codec
    machine = run.model.source
    assert isinstance(machine, sm.TuringMachine)
    head, written = [0] * machine.tapes, [dict[int, tuple[int, str]]() for _ in range(machine.tapes)]
    for step, token in enumerate(run.tokens[:-1]):
        action = codec.meanings[token]  # type: ignore[attr-defined]
        for tape in range(machine.tapes):
            written[tape][head[tape]] = step, action.write[tape]
            head[tape] += {"L": -1, "S": 0, "R": 1}[action.move[tape]]
        moment = inside.at(inside.position_of_step(step) + 1) if step < run.steps else inside.at(-1)
        for tape in range(machine.tapes):
            name = "last write" if machine.tapes == 1 else f"last write {tape + 1}"
            of = "" if machine.tapes == 1 else f" of tape {tape + 1}"
            told_of = explain_head(moment.head(name), run.model)
            if head[tape] in written[tape]:
                when, what = written[tape][head[tape]]
                place = len(run.prompt.tokens) + when
                wanted = f"cell {head[tape]}{of} was last written at step {when} (position {place}), with {what}"
                assert wanted in told_of
                assert moment.head(name).chosen == (place,)
            else:
                (place,) = moment.head(name).chosen
                wanted = f"cell {head[tape]}{of} was never written: chose position {place} ({moment.tokens[place]})"
                assert wanted in told_of


def test_what_the_ternary_construction_tells_is_what_the_machine_did() -> None:
    run = sm.run("increment", "1011", theorem="turing-ternary", context=64)
    inside, written, head = sm.inspect(run), dict[int, int](), 0
    for position, token in enumerate((*run.prompt.tokens, *run.tokens[:-1])):
        meaning = run.model.codec.meanings[token]  # type: ignore[attr-defined]
        if isinstance(meaning, InputSymbol):
            written[position - 1] = position
        if not isinstance(meaning, Action):
            continue
        written[head] = position
        head += {"L": -1, "S": 0, "R": 1}[meaning.move[0]]
        place = written.get(head, 0)
        wanted = f"chose position {place} ({inside.contexts.token_at(place)}) as the latest that wrote to this cell"
        assert wanted in explain_head(inside.at(position).head("read"), run.model)
        before = f"chose position {position - 1} ({inside.contexts.token_at(position - 1)}) as the token 1 back"
        assert before in explain_head(inside.at(position).head("1 back"), run.model)


@pytest.mark.parametrize(
    ("source", "word", "position", "head", "wanted"),
    [
        (
            "Q_a since Q_b",
            "ba",
            2,
            "Q_a since Q_b",
            "chose position 1 (b) as the nearest where (Q_a) fails or (Q_b) holds, if anywhere; retrieved Q_a since",
        ),
        (
            "Q_a since Q_b",
            "aa",
            2,
            "Q_a since Q_b",
            "chose position 2 (a) as the nearest where (Q_a) fails or (Q_b) holds, if anywhere; retrieved 0",
        ),
        ("Y Q_a", "ab", 2, "prev Q_a: nearest odd", "chose position 1 (a) as the nearest odd one"),
        ("#<[Q_a] = 2", "aba", 3, "mean of #<[Q_a]", "#<[Q_a] adds up to 2 over 4 positions"),
        ("#<[Q_a] = 2", "aba", 3, "#<[Q_a]", "chose position 2 (b) as the position whose number is the count"),
        ("dyck-1-crasp", "(()", 3, "mean", "over 4 positions, depth adds up to 1"),
        ("parity-counter", "aaa", 3, "mean", "over 4 positions, a adds up to 3"),
        ("reverse-program", "abc", 1, "reverse", "chose position 3 (c) as the leftmost that fits best"),
        ("balanced-program", "aab", 3, "mean of surplus", "surplus adds up to 1 over 4 positions"),
        ("and-or", "110", 3, "decides", "2 arguments of gate both (AND) decide alike"),
        ("and-or", "100", 3, "decides", "gate both (AND) is decided by its argument wire x2, at position 5"),
        ("and-or", "100", 5, "wire", "an argument of gate both (AND) is wire x2, at position 1"),
        ("koenigsberg", "altstadt lomse", 1, "i to j over some k", "altstadt to kneiphof over some vertex: there is "),
        ("koenigsberg", "altstadt lomse", 30, "i to k", "altstadt to vorstadt, asked at position 3: there is a path"),
    ],
)
def test_other_theorems_have_words_of_their_own(source: str, word: str, position: int, head: str, wanted: str) -> None:
    assert said_of(sm.run(source, word), position, head).startswith(f"{head}: {wanted}")


def test_a_head_without_words_of_its_own_is_told_in_those_of_attention() -> None:
    run = sm.run("increment", "101", theorem="turing-ternary", context=32)
    assert said_of(run, -1, "state before").startswith("state before: chose position ")
    soft = sm.run("dyck-1-program", "()", attention="soft")
    assert "recover -depth: chose position 0 (<s>) as the position looked up, with weight 0.99999998477…" in " ".join(
        explain_head(head, soft.model) for head in sm.inspect(soft).at(-1).heads
    )


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=str(case), marks=[pytest.mark.slow] * (case.theorem in LONG)) for case in CASES],
)
def test_no_line_is_longer_than_80_columns_and_json_is_json(case: Case) -> None:
    run = sm.run(case.model, case.examples[-1][0])
    inside = sm.inspect(run)
    position = random.Random(2).randrange(len(inside))
    moment = inside.at(position)
    lines = format_activations(moment, run.model).split("\n")
    assert max(map(len, lines)) <= LINE_WIDTH
    assert f"position {position}" in lines[0]
    data = json.loads(json.dumps(activations_to_json(moment, run.model)))
    assert {"position", "token", "heads", "stream", "logits"} <= set(data)
    assert len(data["stream"]) == len(moment.residual_streams)
    assert data["logits"]["winner"] == moment.logits.winner


def test_json_has_every_number_as_it_is() -> None:
    run = sm.run("palindrome", "ab")
    data = activations_to_json(sm.inspect(run).at(3), run.model)
    moment = sm.inspect(run).at(3)
    heads = {head["head"]: head for head in data["heads"]}  # type: ignore[attr-defined]
    for sight in moment.heads:
        told_of = heads[sight.name]
        assert {int(j): Fraction(score) for j, score in told_of["scores"].items()} == sight.scores
        assert {name: Fraction(value) for name, value in told_of["retrieved"].items()} == sight.added


def test_numbers_are_told_as_short_as_they_are_true() -> None:
    assert [format_number(Fraction(*pair)) for pair in ((3, 4), (-2, 1), (0, 1))] == ["3/4", "-2", "0"]
    assert format_number(Fraction(10**20 + 1, 3 * 10**20)) == "≈ 0.333333"
    assert format_number(Fraction(1, 10**30)) == "≈ 1e-30"
    assert format_number(Fraction(10**400, 3)) == "≈ 3.33333e399"
    tiny = Fraction(1, 10**30)
    assert format_number(Enclosure(Fraction(1, 2) - tiny, Fraction(1, 2) + 3 * tiny)) == "0.5 ± 3e-30"
    assert format_number(Enclosure(Fraction(1, 3) - tiny, Fraction(1, 3) + tiny)) == "0.333333333333…"
    assert format_number(Enclosure(1 - Fraction(7, 10**10) - tiny, 1 - Fraction(7, 10**10))) == "0.9999999993 ± 1e-30"
    assert format_number(Enclosure(Fraction(1, 3), Fraction(2, 3))) == "0.5 ± 0.2"
    assert format_number(Enclosure(Fraction(-1, 10**40), Fraction(1, 10**40))) == "0 ± 1e-40"
    assert format_rounded_down(Fraction(999999999, 10**9)) == "0.999999"


def test_numbers_of_more_digits_than_python_writes_are_told_and_written() -> None:
    """A softmax weight below 2^-15000 can be written as JSON."""
    tiny, third = Fraction(1, 2**20_000), Fraction(1, 3)
    assert format_number(tiny) == "≈ 2.51239e-6021"
    assert format_fraction(tiny) == f"1/{Decimal(2**20_000)}"
    assert format_ends(Enclosure(third, third + 1)) == ("1/3", "4/3")
    ends = ((tiny, 3 * tiny), (third - tiny, third + tiny), (-tiny, 10**5000 + tiny))
    for enclosure in (Enclosure(*pair) for pair in ends):
        lower, upper = map(Fraction, format_ends(enclosure))
        assert lower <= enclosure.lower
        assert enclosure.upper <= upper
        assert lower >= enclosure.lower - abs(enclosure.lower) / 10**11
        assert upper <= enclosure.upper + abs(enclosure.upper) / 10**11


@given(st.fractions())
def test_a_fraction_is_written_as_python_does(number: Fraction) -> None:
    assert format_fraction(number) == str(number)


@given(st.fractions(), st.fractions(min_value=0))
def test_what_is_told_of_an_enclosure_is_true(lower: Fraction, width: Fraction) -> None:
    text = format_number(Enclosure(lower, lower + width))
    if text.endswith("…"):
        unit = Fraction(Decimal(1).scaleb(Decimal(text[:-1]).as_tuple().exponent))  # type: ignore[arg-type]
        shown = Fraction(Decimal(text[:-1]))
        assert abs(shown) <= min(abs(lower), abs(lower + width))
        assert max(abs(lower), abs(lower + width)) < abs(shown) + unit
    else:
        shown, off = (Fraction(Decimal(part)) for part in text.split(" ± "))
        assert shown - off <= lower <= lower + width <= shown + off


MODELS: dict[str, list[tuple[str, dict[str, int]]]] = {
    "turing-average-hard": [("palindrome", {}), ("two-tape-palindrome", {})],
    "turing-ternary": [("increment", {"context": 32})],
    "turing-ternary-summary": [("increment", {"context": 32})],
    "crasp": [("dyck-1-crasp", {})],
    "crasp-relu": [("majority-crasp", {})],
    "crasp-relu-max-length": [("dyck-1-crasp", {"context": 8})],
    "counter-relu-max-length": [("parity-counter", {"context": 16})],
    "counter": [("parity-counter", {})],
    "automaton-layer-norm": [("parity", {})],
    "srasp": [("reverse-program", {}), ("balanced-program", {}), ("induction-head", {})],
    "circuit-and-or-not": [("full-adder", {})],
    "circuit-threshold": [("and-or", {})],
    "connectivity": [("koenigsberg", {})],
    "odd-walks": [("one-street", {})],
    "circuit-evaluator-threshold": [("and-or", {"context": 110})],
    "uniform-circuits": [("parity-family", {"context": 1})],
    "uniform-circuits-threshold": [("parity-family", {"context": 1})],
    "nl-configuration-graph": [("anbn-logspace", {"context": 2})],
    "nl-configuration-graph-unpruned": [(TWO_ONES, {"context": 0})],
    "rasp": [("histogram-rasp", {}), ("reverse-rasp", {}), ("sort-rasp", {})],
    "rasp-causal": [("histogram-rasp", {}), ("mode-rasp", {})],
    "rasp-generate": [("parity-scratchpad-rasp", {})],
}
TEMPORAL = ("Q_a since Q_b", "Y Q_a", "#<[Q_a] = 2")


@pytest.mark.parametrize("theorem", [theorem.name for theorem in all_theorems() if theorem.tour])
def test_guides_show_what_the_board_has(theorem: str) -> None:
    """Every name that a guide shows is a head, a unit or a coordinate of some model of the theorem."""
    found = get_theorem(theorem)
    assert found is not None
    language = next(iter(name for name in MODELS if theorem.startswith(name)), None)
    sources = MODELS.get(theorem) or MODELS.get(language or "") or [(source, {}) for source in TEMPORAL]
    names = set[str]()
    for source, options in sources:
        try:
            weights = sm.compile(source, theorem, context=options.get("context")).weights
        except sm.SoftmachineError:
            continue  # no future-masked transformer at temperature 1 counts
        units = [unit for layer in weights.layers for unit in layer.feed_forward.units]
        names |= {*(head.name for head in weights.heads), *units, *weights.coordinates}
    assert names
    for guide in found.tour:
        assert guide.title
        assert guide.text.endswith(".")
        assert any(map(guide.covers, names)), guide.title
        for shown in guide.highlights if theorem in GUIDED else ():
            alone = type(guide)(guide.title, guide.text, (shown,))
            assert any(map(alone.covers, names)), shown


def test_the_theorems_that_matter_have_guides() -> None:
    for name in GUIDED:
        theorem = get_theorem(name)
        assert theorem is not None
        assert len(theorem.tour) >= 4, name
        assert any(
            word in each.text for each in theorem.tour for word in ("Theorem", "Lemma", "Proposition", "Step")
        ), name
