"""The decision at a position, and explanations of heads in every model: compared with activations and interpreters."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

import softmachine as sm
from softmachine.compiler import compile_program, compile_with_nodes
from softmachine.compiler.model import Model
from softmachine.engines.result import Run
from softmachine.inspection.activations import Activations
from softmachine.inspection.decision import IGNORED, explain_decision
from softmachine.inspection.explanations import explain_head
from softmachine.ir import Program, attend, constant, position, stack
from softmachine.ir.gadgets import fetch_previous, mean
from softmachine.languages.turing import MOVES, Configuration, next_action
from softmachine.transformer.features import I
from softmachine.transformer.weights import AffineMap, Block, Head
from tests.cases import CASES, Case
from tests.engines.test_unchecked import ablated
from tests.inspection.test_explaining import LONG

QUICK = [
    pytest.param(case, id=str(case), marks=[pytest.mark.slow] * (case.theorem in LONG or case.attention == "soft"))
    for case in CASES
]
KEY = re.compile(r"chose position ([\d,]+) \((.*?)\)(?: as |: |;|,|$)")
"""A key in an explanation, before what follows it."""


def check_sentence(moment: Activations, run: Run) -> None:
    """Require that the sentences of all heads name the keys that the heads chose."""
    for head in moment.heads:
        sentence = explain_head(head, run.model)
        assert sentence.startswith(f"{head.name[:20]}"), sentence
        for number, _ in KEY.findall(sentence.split("; the next best")[0]):
            key = int(number.replace(",", ""))
            assert key in head.chosen
            assert f"position {number} ({head.tokens[key]})" in sentence
        if len(head.chosen) == 1 and "chose position" not in sentence:
            node = run.model.compiled_program.heads.get(head.name)
            assert node is not None, sentence  # without a node, the sentence gives the position
            assert callable(node.explains), sentence


@pytest.mark.parametrize("case", QUICK)
def test_every_head_is_found_in_the_program_and_explained_by_its_keys(case: Case) -> None:
    model = case.model
    assert {head.name for head in model.weights.heads} == set(model.compiled_program.heads)
    run = sm.run(model, case.examples[-1][0])
    inside = sm.inspect(run)
    for place in {len(inside) // 2, len(inside) - 1}:
        moment = inside.at(place)
        check_sentence(moment, run)
        assert explain_decision(moment, model)


def test_gadgets_have_explanations_that_theorems_override() -> None:
    number = position(I)
    values = stack(fetch_previous("before", number), mean("mean", number, explains=lambda _: "a mean of positions"))
    late = attend("late", query=constant(1), key=number, value=number, explains="the last position", gap=1)
    program = Program("example", ("a",), ("x", "y", "z"), stack(values, late))
    weights, heads, _ = compile_with_nodes(program)
    explains = {name: node.explains for name, node in heads.items()}
    assert explains["before"] == "the previous position, or the first"
    assert explains["late"] == "the last position"
    assert callable(explains["mean"])
    plain = Program(
        "example", ("a",), ("x", "y", "z"), stack(fetch_previous("before", number), mean("mean", number), late)
    )
    assert compile_program(plain) == weights  # explanations are not part of the weights


def test_merged_heads_keep_an_explanation() -> None:
    number = position(I)
    one, other = (
        attend(name, query=constant(1), key=number, value=number, explains=f"the {name}", gap=1)
        for name in ("one", "other")
    )
    _, heads, _ = compile_with_nodes(Program("example", ("a",), ("x", "y"), stack(one, 2 * other)))
    assert [node.explains for node in heads.values()] == ["the one"]


@pytest.mark.parametrize(
    ("source", "word"), [("palindrome", "abba"), ("two-tape-palindrome", "aba"), ("increment", "1011")]
)
def test_the_decision_of_a_step_is_the_rule_and_where_its_conditions_come_from(source: str, word: str) -> None:
    run = sm.run(source, word)
    machine, inside = run.model.source, sm.inspect(run)
    assert isinstance(machine, sm.TuringMachine)
    begin = len(run.prompt.tokens)
    now = Configuration.initial(machine, word)
    heads, written = [0] * machine.tapes, [dict[int, int]() for _ in range(machine.tapes)]
    for tape in range(machine.tapes):
        written[tape][0] = begin  # the first token states the start, and writes the symbol that it reads
    for step in range(1, run.steps + 1):
        rule = machine.find_rule(now.state, now.read_symbols())
        assert rule is not None
        read, write, move = (" ".join(part) for part in (rule.read, rule.write, rule.move))
        text = explain_decision(inside.at(inside.position_of_step(step)), run.model)
        number = machine.rules.index(rule) + 1
        decision = f"rule {number}: ({rule.state}, {read}) → ({rule.next}, {write}, {move})"
        assert text.startswith(f"{decision}, because state = {rule.state} (token at step {step - 1})")
        for tape, symbol in enumerate(rule.read):
            suffix = "" if machine.tapes == 1 else f" {tape + 1}"
            cell = heads[tape]
            if cell in written[tape]:
                origin = f"head *last write{suffix}*, position {written[tape][cell]}"
            elif tape == 0 and 0 <= cell < len(word):
                origin = f"head *recover head position{suffix}*, position {cell}"
            else:
                origin = "head *"
            assert f"symbol{suffix} = {symbol} ({origin}" in text
        action = next_action(machine, now)
        assert not isinstance(action, str)
        for tape, moved in enumerate(action.move):
            written[tape][heads[tape]] = begin + step
            heads[tape] += MOVES[moved]
        now.apply(action)
    assert explain_decision(inside.at(-1), run.model).split(",")[0] == run.tokens[-1]


def test_the_decision_of_a_counter_machine_is_a_transition() -> None:
    run = sm.run("parity-counter", "aaa")
    inside = sm.inspect(run)
    texts = [explain_decision(moment, run.model) for moment in inside.at_positions(range(len(inside)))]
    assert texts[:3] == [IGNORED] * 3
    assert texts[3] == (
        "transition 1: halve: a >= 2 -> halve: a -= 2, because token = a (token at position 3) and (a ≥ 2) = 1 "
        "(head *mean*, 4 positions)"
    )
    assert [text.split(":")[0] for text in texts[4:]] == [
        "transition 2",
        "ACC, because token = halve_2 (token at step 2)",
    ]


@pytest.mark.parametrize(
    ("source", "word", "place", "wanted"),
    [
        (
            "Q_a since Q_b",
            "aba",
            3,
            "true, because Q_a since Q_b rounded = 1 (head *Q_a since Q_b*, position 2)",
        ),
        ("Q_b or prev Q_a", "ba", 1, "true, because Q_b or prev Q_a = 1 (token at position 1)"),
        ("Q_b or prev Q_a", "baa", 3, "true, because Q_b or prev Q_a = 1 (head *prev Q_a: nearest even*, position 2)"),
        ("reverse-program", "abc", 1, "c, because reverse = c (head *reverse*, position 3)"),
        ("histogram-rasp", "bb", 2, "2, because "),
        ("koenigsberg", "altstadt lomse", 1, "a path from altstadt to kneiphof is true, because "),
        ("dyck-1-crasp", "()", 2, "true, because (#[#['('] - #[')'] < 0] = 0 and depth = 0) = 1 (head *mean*, 3 "),
    ],
)
def test_without_rules_the_decision_is_the_output_and_what_it_depends_on(
    source: str, word: str, place: int, wanted: str
) -> None:
    run = sm.run(source, word)
    assert explain_decision(sm.inspect(run).at(place), run.model).startswith(wanted)


def test_the_decision_at_a_wire_is_its_value() -> None:
    run = sm.run("full-adder", "110")
    inside, codec = sm.inspect(run), run.model.codec
    expected = list(codec.expected(run.outcome.word, 0))
    for wire, place in codec.wire_positions.items():  # type: ignore[attr-defined]
        text = explain_decision(inside.at(place), run.model)
        bit = int(expected[place] == "true")
        assert text.startswith(f"wire {wire} is {expected[place]}, because layers of gates = {bit}")


@pytest.mark.parametrize("name", [head.name for head in sm.compile("palindrome").weights.heads])
def test_an_ablated_model_is_explained_by_what_its_weights_did(name: str) -> None:
    """The rule is the one whose unit is active, for the state and the symbol in the stream."""
    model = ablated(sm.compile("palindrome"), name)
    machine = model.source
    assert isinstance(machine, sm.TuringMachine)
    for word in ("abba", "ab"):
        run = sm.run(model, word, checked=False, max_steps=12)
        inside, explained = sm.inspect(run), 0
        for place in range(len(run.prompt.tokens), len(inside) - 1):
            moment = inside.at(place)
            check_sentence(moment, run)
            clause = explain_head(moment.head(name), model)
            assert re.match(rf"{re.escape(name)}: (chose|takes the mean).*retrieved 0", clause)
            values = dict(moment.residual_streams[-1])
            states = [state for state in machine.states if values.get(f"state[{state}]") == 1]
            symbols = [symbol for symbol in machine.symbols if values.get(f"symbol[{symbol}]") == 1]
            text = explain_decision(moment, model)
            if moment.step is None or not text.startswith("rule"):
                continue
            explained += 1
            (state,), (symbol,) = states, symbols
            assert f"state = {state} (" in text
            assert f"symbol = {symbol} (" in text or f"symbol = {symbol}" in text
            assert f"head *{name}*" not in text  # it adds nothing
            rule = machine.rules[int(re.match(r"rule (\d+)", text)[1]) - 1]  # type: ignore[index]
            assert (rule.state, rule.read) == (state, (symbol,))
            assert f"({rule.next},{rule.write[0]},{rule.move[0]})" == moment.logits.emitted
        assert explained


def test_a_head_turned_to_other_keys_is_not_explained_as_in_the_proof() -> None:
    """With its query negated, the head "last write" chooses another position: the sentence gives that one."""

    def edited(head: Head) -> Head:
        if head.name != "last write":
            return head
        rows = tuple(tuple((c, -weight) for c, weight in row) for row in head.query.weight.rows)
        query = AffineMap(replace(head.query.weight, rows=rows), tuple(-bias for bias in head.query.bias))
        return replace(head, query=query)

    def edited_layers(block: Block) -> Block:
        layers = tuple(replace(layer, heads=tuple(map(edited, layer.heads))) for layer in block.layers)
        return replace(block, layers=layers)

    whole = sm.compile("palindrome")
    model = replace(whole, weights=replace(whole.weights, blocks=tuple(map(edited_layers, whole.weights.blocks))))
    run = sm.run(model, "abba", checked=False, max_steps=8)
    inside = sm.inspect(run)
    places = [
        place
        for place in range(len(run.prompt.tokens), len(inside))
        if len(inside.at(place).head("last write").chosen) == 1
    ]
    assert places
    for place in places:
        moment = inside.at(place)
        (key,) = moment.head("last write").chosen
        sentence = explain_head(moment.head("last write"), model)
        assert f"position {key}" in sentence
        assert "was last written" not in sentence or f"(position {key})" in sentence


def test_loaded_and_certified_models_have_the_same_explanations(tmp_path: Path) -> None:
    model = sm.compile("increment")
    sm.save(model, tmp_path / "saved")
    loaded = sm.load(tmp_path / "saved")
    assert isinstance(loaded, Model)
    soft, _ = sm.soften(model, length=6)
    for each in (model, loaded, soft):
        run = sm.run(each, "11")
        inside = sm.inspect(run)
        moment = inside.at(inside.position_of_step(4))
        sentence = explain_head(moment.head("last write"), each)
        assert sentence.startswith("last write: cell 1 was last written at step 2 (position 5), with 1")
        assert explain_decision(moment, each).startswith("rule 4: (carry, 1) → (carry, 0, L), because state = carry")


def test_models_are_pickled_without_what_is_computed_from_them() -> None:
    """Explanations are functions, which cannot be pickled."""
    model = sm.compile("Q_a since Q_b")
    assert model.compiled_program.heads
    assert "compiled_program" not in model.__getstate__()


def test_the_decision_of_a_model_of_many_layers_is_traced(tmp_path: Path) -> None:
    names = [f"d{k} := not (d{k - 1} and Q_{'ab'[k % 2]})" for k in range(1, 400)]
    file = tmp_path / "deep.crasp"
    file.write_text("\n".join(["program 'deep'", "alphabet a b", "d0 := #[Q_a] > 0", *names, "accept d399"]) + "\n")
    run = sm.run(str(file), "ab")
    assert len(run.model.weights.layers) > 300
    assert explain_decision(sm.inspect(run).at(-1), run.model).startswith("false, because d398 and Q_b = 1 (")
