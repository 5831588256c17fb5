"""Reductions stacked below recognisers: any program, and machines that only read."""

from __future__ import annotations

from itertools import product

import pytest

from softmachine import api
from softmachine.compiler import compile_program
from softmachine.engines.dense.engine import DenseEngine
from softmachine.ir import Program, attend, recogniser
from softmachine.ir import evaluate as evaluate_signal
from softmachine.ir.composition import compose
from softmachine.ir.gadgets.binary_addresses import (
    BIT_SCALE,
    address_scores,
    address_weighting,
    binary_address_features,
    position_flag,
    round_to_bit,
)
from softmachine.ir.primitives import token
from softmachine.ir.ranges import BIT
from softmachine.languages.formats import parse
from softmachine.languages.graph import Graph
from softmachine.languages.turing import Rule, TapeConvention, TuringMachine
from softmachine.support.errors import ConstructionError, InputError
from softmachine.theorems.graphs import connectivity
from softmachine.theorems.graphs.configuration_graph import Configurations
from softmachine.transformer.attention import Mask
from softmachine.transformer.table_features import NO_ADDRESS


def complement(vertices: int, *, soft: bool) -> Program:
    """At position N² + i, the opposite of the bit at position i."""
    pairs = vertices**2
    query, key = address_scores(
        binary_address_features("sought", 4, [*[0] * pairs, *range(pairs), *[0] * vertices**3]),
        binary_address_features("own", 4, [*range(pairs), *[NO_ADDRESS] * pairs]),
    )
    bit = token("bit", {"0": (0,), "1": (1,), "□": (0,)})
    weighting = address_weighting(soft, 2 * pairs + vertices**3)
    found = attend(
        "read", query=query, key=key, value=bit, mask=Mask.ALL, weighting=weighting, gap=BIT_SCALE, single_key=True
    )
    where = position_flag("is copy", [*[0] * pairs, *[1] * pairs])
    return recogniser("complement", ("0", "1", "□"), (where - round_to_bit("was 1", found, where)).with_range(BIT))


def reached(vertices: int, bits: tuple[str, ...]) -> list[bool]:
    """What can be reached from where in the complement of a graph."""
    names = tuple("abc"[:vertices])
    pairs = [(one, other) for one in names for other in names]
    edges = tuple(pair for pair, bit in zip(pairs, bits, strict=True) if bit == "0")
    graph = Graph(name="g", vertices=names, edges=edges)
    return [other in graph.distances_from(one) for one, other in pairs]


@pytest.mark.parametrize(("soft", "arithmetic"), [(False, "fixed:2"), (True, "fixed:2"), (True, "float64")])
@pytest.mark.parametrize("vertices", [2, 3])
def test_the_complement_of_a_graph_is_searched(vertices: int, soft: bool, arithmetic: str) -> None:
    pairs, positions = vertices**2, connectivity.count_positions(vertices)
    program = compose(
        "stacked",
        complement(vertices, soft=soft),
        connectivity.signals(vertices, soft=soft),
        offset=pairs,
        bits=pairs,
        length=positions,
    )
    engine = DenseEngine(compile_program(program), arithmetic)
    words = list(product("01", repeat=pairs))[:: 1 if vertices == 2 else 37]
    said = engine.predict([(*word, *["□"] * positions) for word in words], pairs)
    for word, row in zip(words, said, strict=True):
        assert [answer == "true" for answer in row[pairs : 2 * pairs]] == reached(vertices, word)


def test_signals_of_a_stack_keep_their_promises() -> None:
    first, second = complement(2, soft=False), connectivity.signals(2, soft=False)
    program = compose("stacked", first, second, offset=4, bits=4, length=12)
    logits = evaluate_signal(program.logits, (*"1011", *"□□□□□□□□□□□□"), 4)
    assert [row[1] > 0 for row in logits[4:8]] == [True, True, False, True]


def test_programs_that_do_not_fit_are_refused() -> None:
    wrong = Program("three", ("a",), ("x", "y"), complement(2, soft=False).logits)
    with pytest.raises(ConstructionError, match="'three' cannot feed"):
        compose("s", wrong, connectivity.signals(2, soft=False), offset=1, bits=1, length=1)


def machine(text: str) -> TuringMachine:
    found = parse(text, name="machine")
    assert isinstance(found, TuringMachine)
    return found


@pytest.mark.parametrize(("attention", "arithmetic"), [("hard", "float64"), ("soft", "fixed:2")])
def test_parity_by_the_configurations_of_a_machine(attention: str, arithmetic: str) -> None:
    """PARITY is not in AC⁰: the doubling needs its iterations."""
    model = api.compile("parity", "turing-configuration-graph", attention=attention, length=1)
    assert api.check(model, up_to=1, arithmetic=arithmetic)
    with pytest.raises(InputError, match="at most 1"):
        api.run(model, "11")


def test_machines_that_write_or_leave_are_refused() -> None:
    with pytest.raises(ConstructionError, match="not a read-only machine: the rule"):
        api.compile("increment", "turing-configuration-graph", length=1)
    runaway = machine("blank: ' '\nstart state: q\ntable:\n  q: {' ': R, a: R, b: {R: accept}}\n  accept:")
    with pytest.raises(ConstructionError, match="more than one cell beyond its input: cell 2"):
        Configurations(runaway, 1)


LAST_IS_A = "blank: ' '\nstart state: r\ntable:\n  r: {[a, b]: R, ' ': {L: l}}\n  l: {a: {R: accept}}\n  accept:"
STAYS = "blank: ' '\nstart state: q\ntable:\n  q: {a: N, b: {R: accept}}\n  accept:"


@pytest.mark.parametrize("text", [LAST_IS_A, STAYS], ids=["turns back", "never stops"])
def test_machines_that_turn_back_or_never_stop(text: str) -> None:
    model = api.compile(machine(text), "turing-configuration-graph", length=1)
    assert api.check(model, up_to=1)
    assert api.run(model, "a").accepted is (text is LAST_IS_A)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["parity", "divisible-by-three"])
def test_words_of_two_letters(name: str) -> None:
    assert api.check(api.compile(name, "turing-configuration-graph", length=2), up_to=2, arithmetic="float64")


@pytest.mark.parametrize("tape", list(TapeConvention))
@pytest.mark.parametrize("move", ["L", "S", "R"])
def test_who_accepts_in_a_step_over_the_left_end_accepts_only_where_that_is_a_step(
    tape: TapeConvention, move: str
) -> None:
    rule = Rule("p", ("a",), ("a",), (move,), "yes")
    machine = TuringMachine(
        name="edge", states=("p", "yes"), alphabet=("a",), symbols=("a", "_"), blank="_", rules=(rule,), start="p",
        accept=("yes",), tape=tape,
    )  # fmt: skip
    run = api.run(machine, "a", theorem="turing-configuration-graph")
    assert run.accepted == (tape is not TapeConvention.ERROR or move != "L")
