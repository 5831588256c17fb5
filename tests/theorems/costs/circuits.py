"""What circuits, graphs, machines with little space and families of circuits cost."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise

from softmachine.languages import logspace
from softmachine.languages.circuit import Basis, Circuit, Gate, GateKind, majority, parity
from softmachine.languages.graph import Graph
from softmachine.theorems.circuits.evaluator import fitting_length
from tests.theorems.costs.family import SIX, Family, Made

BOTH = ("hard", "soft")
BITS = (4, 8, 12, 16, 32, 64)


CONSTANT = Circuit(
    name="constant",
    inputs=("x", "y"),
    gates=(Gate("both", GateKind.AND, ("x", "y")), Gate("one", GateKind.ONE, ())),
    outputs=("both", "one"),
)
NEGATION = Circuit(name="negation", inputs=("x",), gates=(Gate("no", GateKind.NOT, ("x",)),), outputs=("no",))
SMALL = (NEGATION, CONSTANT)


def circuits() -> Iterator[Family]:
    """Circuits as they are."""
    for name, tight in (
        ("circuit-and-or-not", ("heads", "width", "precision")),
        ("circuit-threshold", ("heads", "width")),
    ):
        yield Family(name, "parity", BITS, lambda n: (parity(n), None), tight, BOTH)
        yield Family(name, "small circuits", (0, 1), lambda n: (SMALL[n], None), tight, BOTH)


def tree(levels: int) -> Circuit:
    """2^levels inputs, an AND or an OR of every two of a level."""
    wires = inputs = tuple(f"x{k}" for k in range(1 << levels))
    gates: list[Gate] = []
    for level in range(levels):
        kind = (GateKind.AND, GateKind.OR)[level % 2]
        new = [Gate(f"g{level}_{k}", kind, wires[2 * k : 2 * k + 2]) for k in range(len(wires) // 2)]
        gates, wires = gates + new, tuple(gate.name for gate in new)
    return Circuit(name="tree", inputs=inputs, gates=tuple(gates), outputs=wires)


def evaluators() -> Iterator[Family]:
    """One model for all circuits of a length (Lemma C.3), and for a family of circuits (Theorem 5.1)."""
    tight = ("layers", "width", "precision")
    yield Family(
        "circuit-evaluator",
        "trees",
        SIX,
        lambda levels: (tree(levels), fitting_length(tree(levels), 1 << levels, Basis.AC)),
        tight,
        BOTH,
    )
    yield Family(
        "circuit-evaluator-threshold",
        "majority",
        (3, 7, 15, 31, 63, 127),
        lambda n: (majority(n), fitting_length(majority(n), n, Basis.TC)),
        tight,
        BOTH,
    )
    for name, source in (
        ("uniform-circuits", "parity-family"),
        ("uniform-circuits", "majority-sorted"),
        ("uniform-circuits-threshold", "vote-tree"),
    ):
        yield Family(name, source, (1, 2, 3, 4, 6, 8), partial(of_length, source), tight)


def of_length(source: str, length: int) -> Made:
    return source, length


def path(vertices: int) -> Graph:
    names = tuple(f"v{k}" for k in range(vertices))
    return Graph(name="path", vertices=names, edges=tuple(pairwise(names)))


def graphs() -> Iterator[Family]:
    """Connectivity, and what is reduced to it."""
    tight = ("heads", "precision")
    yield Family("connectivity", "one vertex", (1,), lambda n: (path(n), None), attentions=BOTH)
    yield Family("connectivity", "paths", (2, 3, 4, 5, 6, 8, 16), lambda n: (path(n), None), (*tight, "width"), BOTH)
    yield Family("odd-walks", "paths", SIX, lambda n: (path(n), None), tight, BOTH)
    yield Family("turing-configuration-graph", "parity", SIX, lambda n: ("parity", n), ("precision",))
    yield Family("nl-configuration-graph", "equal-blocks", SIX, lambda n: ("equal-blocks", n), ("precision",))
    yield Family("nl-configuration-graph-unpruned", "tiny", SIX, lambda n: (TINY, n), ("N", "precision"))


TINY = logspace.parse("machine tiny\ninput a\nspace 1\nstart no\naccept yes\nno < < -> no < S S\n")
"""A state that does not accept, a cell that stays blank: 3(n + 2) configurations."""
