from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softmachine.languages import temporal, zoo
from softmachine.languages.circuit import Circuit, Gate, GateKind
from softmachine.languages.formats import deserialise_source, serialise_source
from softmachine.languages.graph import Graph
from softmachine.languages.turing import Rule, TapeConvention, TuringMachine
from softmachine.support.errors import SourceError, UsageError
from softmachine.testing import assert_kept_as_text, crasp, srasp
from softmachine.testing.circuit import random_circuit
from softmachine.testing.counter import random_counter_machine
from softmachine.testing.temporal import random_formula
from softmachine.testing.turing import random_turing_machine

seeds = st.integers(0, 2**32).map(random.Random)
names = st.text(min_size=1, max_size=6) | st.sampled_from([*"#,=-\n'\"", "--", "a b", "vdd"])


@pytest.mark.parametrize("entry", zoo.list_entries(), ids=lambda entry: entry.name)
def test_every_zoo_entry_is_kept(entry: zoo.ZooEntry) -> None:
    assert_kept_as_text(entry.load())


@given(
    seeds,
    st.integers(1, 4),
    st.sampled_from(list(TapeConvention)),
    st.lists(names, min_size=6, max_size=6, unique=True),
)
@settings(max_examples=100, deadline=None)
def test_machines_are_kept(rng: random.Random, tapes: int, tape: TapeConvention, called: list[str]) -> None:
    machine = random_turing_machine(rng, tapes=tapes, tape=tape, symbols=3, states=4)
    state = dict(zip(machine.states, called, strict=False))
    rules = [Rule(state[rule.state], rule.read, rule.write, rule.move, state[rule.next]) for rule in machine.rules]
    rng.shuffle(rules)
    assert_kept_as_text(
        TuringMachine(
            name=called[-1],
            states=tuple(state.values()),
            alphabet=tuple(rng.sample(machine.alphabet, len(machine.alphabet))),
            symbols=tuple(rng.sample(machine.symbols, len(machine.symbols))),
            blank=machine.blank,
            rules=tuple(rules),
            start=state[machine.start],
            accept=tuple(state[one] for one in machine.accept),
            reject=tuple(state[one] for one in machine.reject),
            tape=tape,
            tapes=tapes,
            default_input=tuple(rng.choices(machine.alphabet, k=rng.randrange(4))) if machine.alphabet else (),
        )
    )


@given(st.integers(0, 2**32), st.lists(names, min_size=9, max_size=9, unique=True), st.integers(-2, 5))
@settings(max_examples=100, deadline=None)
def test_circuits_are_kept(seed: int, called: list[str], threshold: int) -> None:
    made = random_circuit(seed, inputs=3, gates=5, outputs=3, kinds=tuple(GateKind))
    wire = dict(zip(made.wires, called, strict=False))
    gates = [replace(g, name=wire[g.name], inputs=tuple(wire[w] for w in g.inputs)) for g in made.gates]
    gates.append(Gate(called[-1], GateKind.THR, (called[0],) * 2, threshold))
    random.Random(seed).shuffle(gates)
    outputs = tuple(wire[one] for one in made.outputs)
    assert_kept_as_text(Circuit(name=called[0], inputs=tuple(called[:3]), gates=tuple(gates), outputs=outputs))


vertices = st.text(st.characters(exclude_categories=["Z", "C"]), min_size=1, max_size=4) | st.sampled_from(["--", "#"])


@given(seeds, st.lists(vertices, min_size=1, max_size=6, unique=True), st.booleans(), st.integers(0, 8))
@settings(max_examples=100, deadline=None)
def test_graphs_are_kept(rng: random.Random, called: list[str], directed: bool, edges: int) -> None:
    pairs = tuple((rng.choice(called), rng.choice(called)) for _ in range(edges))
    assert_kept_as_text(Graph(name="g", vertices=tuple(called), edges=pairs, directed=directed))


symbols = st.lists(st.text(min_size=1, max_size=3), min_size=2, max_size=4, unique=True)


@given(seeds, symbols, st.text(min_size=1))
@settings(max_examples=100, deadline=None)
def test_formulas_are_kept(rng: random.Random, letters: list[str], name: str) -> None:
    formula = random_formula(rng, 3, letters)
    assert_kept_as_text(temporal.Specification(name=name, formula=formula, alphabet=tuple(letters)))


@given(st.integers(0, 2**32), st.text(min_size=1))
@settings(max_examples=60, deadline=None)
def test_programs_and_counter_machines_are_kept(seed: int, name: str) -> None:
    assert_kept_as_text(replace(srasp.random_program(random.Random(seed)), name=name))
    assert_kept_as_text(replace(crasp.random_program(seed, with_rules=seed % 2 == 0), name=name))
    # A conjunction of one test cannot be written; it is printed as that test.
    machine = serialise_source(random_counter_machine(random.Random(seed)))
    assert_kept_as_text(deserialise_source("counter", name, machine))


@pytest.mark.parametrize(
    ("language", "text"),
    [("turing", ""), ("turing", "[]"), ("turing", "{}"), ("circuit", '{"gates": 3}'), ("graph", "[" * 100_000)],
)
def test_a_text_that_was_not_printed_is_refused(language: str, text: str) -> None:
    with pytest.raises(SourceError, match="JSON"):
        deserialise_source(language, "x", text)


def test_an_unknown_language_is_refused() -> None:
    class Strange(Graph):
        language = "strange"

    with pytest.raises(UsageError, match="no format 'strange'"):
        serialise_source(Strange(name="g", vertices=("a",), edges=()))
    with pytest.raises(SourceError, match="unknown format 'strange'"):
        deserialise_source("strange", "x", "")
