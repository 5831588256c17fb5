"""Theorem 8.2: the decoder's tokens are the interpreter's, step by step."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

import numpy as np
import pytest

import softmachine as sm
from softmachine.compiler import compile_program
from softmachine.engines.check import check_inputs
from softmachine.engines.dense.decoding import decode
from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.inputs import sample_words
from softmachine.engines.numerics import Tensor
from softmachine.engines.numerics.float import Float
from softmachine.ir import evaluate
from softmachine.languages import zoo
from softmachine.languages.turing import Rule, TapeConvention, TuringMachine, execute
from softmachine.testing import load_as, random_word
from softmachine.testing import words as all_words
from softmachine.testing.turing import random_turing_machine
from softmachine.theorems.cost import Cost
from softmachine.theorems.turing.average_hard.codec import TuringCodec
from softmachine.theorems.turing.average_hard.theorem import THEOREMS, signals
from softmachine.transformer.attention import AttentionKind
from tests.models import model_of

NAMES = [entry.name for entry in zoo.list_entries() if entry.file.startswith("turing/")]


def rule(state: str, read: str, write: str, move: str, target: str) -> Rule:
    return Rule(state, (read,), (write,), (move,), target)


# The table of the notes

EXAMPLE = TuringMachine(
    name="example 4.10",
    states=("q0", "q1", "q2", "q4", "qacc"),
    alphabet=("1",),
    symbols=("_", "1", "x"),
    blank="_",
    rules=(
        rule("q0", "1", "_", "R", "q1"),
        rule("q1", "1", "x", "R", "q2"),
        rule("q2", "_", "_", "L", "q4"),
        rule("q4", "x", "x", "L", "q4"),
        rule("q4", "_", "_", "R", "q1"),
        rule("q1", "x", "x", "R", "qacc"),
    ),
    start="q0",
    accept=("qacc",),
)
"""The rules that the run of Example 4.10, as the notes print it, uses."""

TABLE = [
    # x, q, b, m, h, a, y
    ("1", None, None, 0, 0, "1", "1"),
    ("1", None, None, 0, 0, "1", "1"),
    ("BOS", None, None, 0, 0, "1", "(q0,1,S)"),
    ("(q0,1,S)", "q0", "1", 0, 0, "1", "(q1,_,R)"),
    ("(q1,_,R)", "q1", "_", 1, 1, "1", "(q2,x,R)"),
    ("(q2,x,R)", "q2", "x", 1, 2, "_", "(q4,_,L)"),
    ("(q4,_,L)", "q4", "_", -1, 1, "x", "(q4,x,L)"),
    ("(q4,x,L)", "q4", "x", -1, 0, "_", "(q1,_,R)"),
    ("(q1,_,R)", "q1", "_", 1, 1, "x", "ACC"),
]


@pytest.mark.parametrize("arithmetic", ["exact", "float64", "float32"])
def test_the_table_of_example_4_10_is_reproduced_row_by_row(arithmetic: str) -> None:
    codec = TuringCodec(EXAMPLE, keeps_last_action=False)
    engine = DenseEngine(compile_program(signals(codec)), arithmetic)
    sequence = [row[0] for row in TABLE]
    stream = engine.residual_stream([sequence]).value[0]
    names = list(engine.transformer.coordinates)

    def number(i: int, name: str) -> float:
        return float(str(stream[i, names.index(name)])) if name in names else 0.0

    def chosen(i: int, vector: str, labels: tuple[str, ...]) -> str | None:
        on = [label for label in labels if number(i, f"{vector}[{label}]") == 1]
        assert len(on) <= 1
        return on[0] if on else None

    for i, (_, q, b, m, h, a, _) in enumerate(TABLE):
        assert chosen(i, "state", EXAMPLE.states) == q
        assert chosen(i, "wrote", EXAMPLE.symbols) == b
        assert number(i, "not L") - number(i, "not R") == m
        assert number(i, "head") == h
        assert number(i, "head²") == h * h
        assert number(i, "cell") == h - m
        assert chosen(i, "symbol", EXAMPLE.symbols) == a
    assert engine.predict([sequence])[0] == [row[-1] for row in TABLE]


def test_decoding_produces_the_run_of_the_table() -> None:
    codec = TuringCodec(EXAMPLE, keeps_last_action=False)
    engine = DenseEngine(compile_program(signals(codec)), "exact")
    produced = list(decode(engine, codec.prompt("11"), codec.is_stop_token))
    assert produced == [row[-1] for row in TABLE[2:]] == list(codec.expected("11", 100))


# The zoo


@pytest.mark.parametrize("name", NAMES)
def test_zoo_machines_run_inside_their_transformer(name: str) -> None:
    """Every input up to a length that takes a second or so, in float64."""
    model = model_of(name)
    size = len(model.codec.alphabet)
    up_to = {0: 0, 1: 7, 2: 5, 3: 3, 4: 3}.get(size, 2)
    assert check_inputs(model, all_words(model.codec.alphabet, up_to), max_steps=250).disagreements == ()


@pytest.mark.parametrize("name", NAMES)
def test_zoo_machines_run_exactly(name: str) -> None:
    model = model_of(name)
    size = len(model.codec.alphabet)
    up_to = {0: 0, 1: 4, 2: 3}.get(size, 1)
    assert (
        check_inputs(model, all_words(model.codec.alphabet, up_to), arithmetic="exact", max_steps=100).disagreements
        == ()
    )


@pytest.mark.parametrize("name", NAMES)
def test_zoo_machines_run_on_longer_random_inputs(name: str) -> None:
    model = model_of(name)
    words = sample_words(model.codec, 3, 12, seed=1)
    assert check_inputs(model, words, max_steps=600).disagreements == ()


@pytest.mark.parametrize("name", NAMES)
def test_zoo_samples_come_out_of_the_transformer_as_the_index_says(name: str) -> None:
    entry = zoo.find_entry(name)
    assert entry is not None
    for sample in entry.samples:
        limit = sample.max_steps or 10**9
        if min(sample.steps, limit) > 400:
            continue
        run = sm.run(model_of(name), sample.input, max_steps=limit)
        assert (run.verdict, run.steps) == (sample.verdict, sample.steps)
        if sample.output is not None:
            assert run.output == sample.output


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_zoo_machines_hold_in_a_long_sweep(name: str) -> None:
    model = model_of(name)
    size = len(model.codec.alphabet)
    up_to = {0: 0, 1: 16, 2: 8, 3: 5, 4: 4, 5: 4}.get(size, 3)
    for arithmetic, steps in (("float64", 2000), ("exact", 300)):
        words = all_words(model.codec.alphabet, up_to if arithmetic == "float64" else up_to // 2)
        assert check_inputs(model, words, arithmetic=arithmetic, max_steps=steps).disagreements == ()
    longer = sample_words(model.codec, 5, 30, seed=2)
    assert check_inputs(model, longer, max_steps=3000).disagreements == ()


def test_busy_beaver_4_halts_after_107_steps_with_13_ones() -> None:
    for arithmetic in ("exact", "float64", "float32"):
        run = sm.run("1RB1LB_1LA0LC_1RZ1LD_1RD0RA", arithmetic=arithmetic)
        assert (run.verdict, run.steps, run.output.count("1")) == ("halt", 107, 13)


def test_busy_beaver_3_halts_after_21_steps() -> None:
    run = sm.run("1RB1RZ_1LB0RC_1LC1LA", arithmetic="exact")
    assert (run.verdict, run.steps) == ("halt", 21)


# Random machines


def random_case(seed: int, steps: int = 20) -> tuple[TuringMachine, tuple[str, ...]]:
    """A machine and an input: of 40 samples the first that runs for this number of steps, or the longest run."""
    chooser = random.Random(seed)
    tapes, tape = chooser.choice([1, 1, 2, 2, 3]), chooser.choice(list(TapeConvention))
    best: tuple[int, TuringMachine, tuple[str, ...]] | None = None
    for _ in range(40):
        symbols = chooser.randint(2, 5 if tapes < 3 else 3)
        machine = random_turing_machine(chooser, tapes=tapes, symbols=symbols, states=chooser.randint(2, 5), tape=tape)
        word = random_word(chooser, machine, chooser.randint(0, 6))
        made = execute(machine, word, max_steps=steps).steps
        if best is None or made > best[0]:
            best = made, machine, word
        if made >= steps:
            break
    assert best is not None
    return best[1:]


def machine_agrees(seed: int, max_steps: int) -> None:
    machine, word = random_case(seed)
    model = sm.compile(machine)
    for arithmetic in ("exact", "float64"):
        report = check_inputs(model, [word], arithmetic=arithmetic, max_steps=max_steps)
        assert report.disagreements == (), f"seed {seed}"


@pytest.mark.parametrize("block", range(8))
def test_random_machines_agree_token_for_token(block: int) -> None:
    for seed in range(10 * block, 10 * (block + 1)):
        machine_agrees(seed, max_steps=25)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(40))
def test_two_thousand_random_machines_agree_token_for_token(block: int) -> None:
    for seed in range(1000 + 50 * block, 1000 + 50 * (block + 1)):
        machine_agrees(seed, max_steps=60)


@pytest.mark.parametrize("seed", range(12))
def test_the_signals_already_agree_with_the_interpreter(seed: int) -> None:
    """Exact evaluation checks every kind, gap and tie that the construction promises."""
    machine, word = random_case(seed)
    codec = TuringCodec(machine)
    program = signals(codec)
    expected = list(codec.expected(word, 12))
    prompt = codec.prompt(word).tokens
    logits = evaluate(program.logits, (*prompt, *expected[:-1]))[len(prompt) - 1 :]
    assert [program.outputs[row.index(max(row))] for row in logits] == expected
    assert all(sorted(row)[-1] - sorted(row)[-2] >= 1 for row in logits)


# The ends of the tape


LEFT = (rule("A", "_", "x", "L", "B"), rule("B", "_", "y", "L", "C"), rule("B", "x", "z", "R", "C"))


def leftward(tape: TapeConvention) -> TuringMachine:
    return TuringMachine(
        name="leftward", states=("A", "B", "C"), alphabet=("a",), symbols=("_", "a", "x", "y", "z"), blank="_",
        rules=LEFT, start="A", tape=tape,
    )  # fmt: skip


def test_a_two_way_tape_goes_on_to_the_left() -> None:
    assert sm.run(leftward(TapeConvention.TWO_WAY)).output == "yx"


def test_at_a_left_end_that_holds_the_head_stays() -> None:
    run = sm.run(leftward(TapeConvention.STAY))
    assert (run.output, run.steps) == ("z", 2)
    assert run.tokens[1] == "(B,x,S)"


def test_at_a_left_end_that_is_an_error_the_machine_stops_before_the_step() -> None:
    run = sm.run(leftward(TapeConvention.ERROR))
    assert (run.output, run.steps, run.verdict) == ("", 0, "halt")


def test_an_input_that_was_passed_is_not_read_at_negative_cells() -> None:
    """The lookup of a negative position finds position 0; the input there must not be taken for the tape."""
    rules = (rule("A", "a", "a", "L", "B"), rule("B", "_", "b", "S", "C"))
    machine = TuringMachine(
        name="peek", states=("A", "B", "C"), alphabet=("a",), symbols=("_", "a", "b"), blank="_", rules=rules, start="A"
    )
    assert sm.run(machine, "aa", arithmetic="exact").output == "baa"


def test_a_machine_without_an_input_alphabet_compiles() -> None:
    machine = TuringMachine(
        name="blank", states=("A", "B"), alphabet=(), symbols=("_",), blank="_", rules=(rule("A", "_", "_", "R", "B"),),
        start="A", accept=("B",),
    )  # fmt: skip
    assert sm.run(machine).accepted


def test_a_machine_that_starts_in_a_final_state_stops_after_no_step() -> None:
    machine = TuringMachine(
        name="at once",
        states=("A",),
        alphabet=("a",),
        symbols=("_", "a"),
        blank="_",
        rules=(),
        start="A",
        accept=("A",),
    )
    run = sm.run(machine, "aa")
    assert (run.accepted, run.steps, run.output) == (True, 0, "aa")


def test_symbols_that_look_like_tokens_are_kept_apart() -> None:
    machine = TuringMachine(
        name="clash", states=("A", "B"), alphabet=("BOS", "ACC", "(B,ACC,R)"), symbols=("_", "BOS", "ACC", "(B,ACC,R)"),
        blank="_", rules=(rule("A", "BOS", "ACC", "R", "B"), rule("B", "(B,ACC,R)", "BOS", "R", "A")), start="A",
    )  # fmt: skip
    report = check_inputs(sm.compile(machine), all_words(machine.alphabet, 3), arithmetic="exact")
    assert report.disagreements == ()


# Cost


@pytest.mark.parametrize("name", NAMES)
def test_theorem_8_2_costs_what_its_formula_says(name: str) -> None:
    codec, model, cost = model_of(name).codec, model_of(name).weights, THEOREMS[0].cost
    assert isinstance(cost, Cost)
    assert len(model.layers) <= cost.evaluate("layers", codec)
    assert len(model.heads) == cost.evaluate("heads", codec)
    assert model.width <= cost.evaluate("width", codec)
    assert {feature.name for feature in model.features} == {"i", "i²", "1/(i+1)"}


@pytest.mark.parametrize("tape", list(TapeConvention))
@pytest.mark.parametrize("tapes", [1, 2, 3])
@pytest.mark.parametrize(("states", "symbols"), [(4, 3), (7, 4)])
def test_the_formula_is_exact_for_machines_that_use_everything(
    tape: TapeConvention, tapes: int, states: int, symbols: int
) -> None:
    names, gamma = [f"q{k}" for k in range(states)], [f"s{k}" for k in range(symbols)]
    everything = itertools.product(names, itertools.product(gamma, repeat=tapes))
    rules = tuple(
        Rule(
            state,
            read,
            tuple(gamma[(count + k) % symbols] for k in range(tapes)),
            tuple("LRS"[count // 3**k % 3] for k in range(tapes)),
            names[count % states],
        )
        for count, (state, read) in enumerate(everything)
    )
    machine = TuringMachine(
        name="full", states=tuple(names), alphabet=tuple(gamma[1:]), symbols=tuple(gamma), blank=gamma[0], rules=rules,
        start="q0", tape=tape, tapes=tapes,
    )  # fmt: skip
    model, cost = sm.compile(machine), THEOREMS[0].cost
    assert isinstance(cost, Cost)
    found = len(model.weights.layers), len(model.weights.heads), model.weights.width
    assert found == tuple(cost.evaluate(quantity, model.codec) for quantity in ("layers", "heads", "width"))


def test_the_vocabulary_holds_only_what_some_rule_writes() -> None:
    model = model_of("palindrome")
    machine = load_as("palindrome", TuringMachine)
    written = {(r.next, r.write, r.move) for r in machine.rules}
    begun = len(machine.alphabet) + 1
    others = len(machine.alphabet) + 1 + 2
    assert len(model.weights.vocabulary) <= len(written) + begun + others


# Far from the start


@pytest.mark.parametrize("head", [10**6, -(10**6), 3_000_000])
def test_heads_a_million_cells_away_are_found_exactly_in_float64(head: int) -> None:
    """The two lookups of layer 2 and the last write of layer 3, at the numbers that such a run would have."""
    numbers = Float("float64")
    i = 2 * abs(head) + 7
    positions = np.arange(0, i + 1, dtype=np.float64)
    shares = numbers.convert([[Fraction(abs(head), i + 1), Fraction(1, i + 1)]])
    assert shares.error is not None
    (share, per), (share_error, per_error) = shares.value[0], shares.error[0]
    keys = Tensor(np.stack([positions, positions**2], axis=-1)[None])
    visible = np.ones((1, i + 1), dtype=bool)
    query = Tensor(np.array([[[2 * share, -per]]]), np.array([[[2 * share_error, per_error]]]))
    chosen = numbers.select_keys(query, keys, None, visible, AttentionKind.AVERAGE)
    assert np.flatnonzero(chosen[0, 0]).tolist() == [abs(head)]

    there_and_back = [np.arange(0, abs(head) + 1), np.arange(abs(head) - 1, -8, -1)]
    cells = np.concatenate(there_and_back)[: i + 1].astype(np.float64)
    here = float(abs(head) - 5)
    keys = Tensor(np.stack([cells, cells**2, np.ones_like(cells), positions[: len(cells)]], axis=-1)[None])
    query = Tensor(np.array([[[2 * here, -1.0, -here * here, per / 2]]]), np.array([[[0.0, 0.0, 0.0, per_error]]]))
    chosen = numbers.select_keys(query, keys, None, visible[:, : len(cells)], AttentionKind.AVERAGE)
    assert np.flatnonzero(chosen[0, 0]).tolist() == [int(np.flatnonzero(cells == here)[-1])]


def test_float32_stops_with_a_reason_where_it_can_no_longer_tell() -> None:
    """A long run to the right: float32 must stop before its first wrong token."""
    machine = load_as("0RA0RA", TuringMachine)
    model = sm.compile(machine)
    report = check_inputs(model, [()], arithmetic="float32", max_steps=6000)
    assert len(report.disagreements) == 1
    problem = report.disagreements[0]
    assert problem.found is None
    assert problem.reason is not None
    assert "float32 cannot tell" in problem.reason or "float32 rounds" in problem.reason
    assert execute(machine, "", max_steps=10).steps == 10
