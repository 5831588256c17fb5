"""What circuits, graphs, machines with little space and families of circuits cost."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from softmachine.languages import logspace
from softmachine.languages.circuit import Basis, Circuit, Gate, GateKind, majority, parity
from softmachine.languages.graph import Graph
from softmachine.languages.source import Source
from softmachine.theorems.circuit_evaluator.tokens import fitting_length, pointer_width
from softmachine.transformer.features import ceil_log2
from tests.theorems.costs.family import SIX, Family, Promised

BOTH = ("hard", "soft")
BITS = (4, 8, 12, 16, 32, 64)


def bits_of(codec: Any) -> int:
    return ceil_log2(len(codec.layout.circuit.wires))


def places(circuit: Circuit) -> int:
    """Inputs, gates and arguments."""
    return len(circuit.wires) + sum(len(gate.inputs) for gate in circuit.gates)


def circuits() -> Iterator[Family]:
    """Circuits as they are: turns are the depth."""
    yield Family(
        "circuit-binary",
        "parity",
        (
            "2 layers, repeated depth times",
            "one position for each input, gate and argument",
            "width 3⌈log₂ wires⌉ + 11",
        ),
        BITS,
        lambda n: (parity(n), None),
        lambda _n, codec: {
            "turns": [codec.layout.circuit.depth],
            "layers": 2 * codec.layout.circuit.depth,
            "width": 3 * bits_of(codec) + 11,
            "heads": 2,
            "positions": places(codec.layout.circuit),
            "precision": 2,
        },
        BOTH,
    )
    yield Family(
        "circuit-unit",
        "parity",
        ("2 layers, repeated depth times", "one position for each input, gate and argument", "width 17"),
        BITS,
        lambda n: (parity(n), None),
        lambda _n, codec: {
            "turns": [codec.layout.circuit.depth],
            "layers": 2 * codec.layout.circuit.depth,
            "width": 17,
            "heads": 2,
            "positions": places(codec.layout.circuit),
        },
        BOTH,
    )


def tree(levels: int) -> Circuit:
    """2^levels inputs, an AND or an OR of every two of a level."""
    wires = inputs = tuple(f"x{k}" for k in range(1 << levels))
    gates: list[Gate] = []
    for level in range(levels):
        kind = (GateKind.AND, GateKind.OR)[level % 2]
        new = [Gate(f"g{level}_{k}", kind, wires[2 * k : 2 * k + 2]) for k in range(len(wires) // 2)]
        gates, wires = gates + new, tuple(gate.name for gate in new)
    return Circuit(name="tree", inputs=inputs, gates=tuple(gates), outputs=wires)


def evaluator(bits: int, turns: int, *, thresholds: bool) -> Promised:
    """An evaluator that tells addresses of so many bits."""
    return {
        "turns": [bits, turns],
        "layers": bits + (3 if thresholds else 2) + 2 * turns,
        "width": 33 if thresholds else 16 * bits + 16,
        "precision": 2 * bits + 1 if thresholds else 2,
    }


def evaluators() -> Iterator[Family]:
    """One model for all circuits of a length (Lemma C.3), and for a family of circuits (Theorem 5.1)."""
    yield Family(
        "circuit-evaluator",
        "trees",
        ("1 layer p times, 2 layers, 2 layers repeated depth times", "width 16p + 16"),
        SIX,
        lambda levels: (tree(levels), fitting_length(tree(levels), 1 << levels, Basis.AC)),
        lambda levels, codec: evaluator(pointer_width(codec.length), levels, thresholds=False),
        BOTH,
    )
    yield Family(
        "threshold-evaluator",
        "majority",
        ("1 layer p times, 3 layers, 2 layers repeated depth times", "width 33"),
        (3, 7, 15, 31, 63, 127),
        lambda n: (majority(n), fitting_length(majority(n), n, Basis.TC)),
        lambda _n, codec: evaluator(pointer_width(codec.length), 1, thresholds=True),
        BOTH,
    )
    yield _uniform("uniform-circuits", "parity-family", 1)
    yield _uniform("uniform-circuits", "majority-sorted", 2)
    yield _uniform("uniform-thresholds", "vote-tree", 1)


def _uniform(name: str, source: str, exponent: int) -> Family:
    """A family of circuits of depth O(log^d), by an evaluator with p^d turns."""
    thresholds = name == "uniform-thresholds"
    layers = f"1 layer p times, {3 if thresholds else 2} layers, 2 layers p^d times"

    def promised(_: int, codec: Any) -> Promised:
        bits = pointer_width(codec.positions_needed)
        return {**evaluator(bits, bits**exponent, thresholds=thresholds), "positions": codec.positions_needed}

    words = (layers, "width 33" if thresholds else "width 16p + 16")
    return Family(name, source, words, (1, 2, 3, 4, 6, 8), lambda n: (source, n), promised)


def path(vertices: int) -> Graph:
    names = tuple(f"v{k}" for k in range(vertices))
    return Graph(name="path", vertices=names, edges=tuple(pairwise(names)))


def reached(vertices: int, before: int) -> Promised:
    """Connectivity, below which there are some layers."""
    turns = ceil_log2(vertices)
    return {"turns": [turns] if turns else [], "layers": before + 1 + 2 * turns, "precision": 2}


def walks(n: int, edges: int) -> int:
    """How many positions the chain of two reductions has."""
    return 2 * n * edges + n**2 * (edges + 1) + 4 * n**2 + 8 * n**3


def graphs() -> Iterator[Family]:
    """Connectivity, and what is reduced to it."""
    yield Family(
        "connectivity",
        "paths",
        ("1 layer, and 2 layers repeated ⌈log₂ N⌉ times; 3 heads; width 3⌈log₂ N⌉ + 9; N² + N³ positions",),
        (2, 3, 4, 5, 6, 8, 16),
        lambda n: (path(n), None),
        lambda n, _: {**reached(n, 0), "heads": 3, "width": 3 * ceil_log2(n) + 9, "positions": n**2 + n**3},
        BOTH,
    )
    yield Family(
        "odd-walks",
        "paths",
        ("6 layers, and 2 layers repeated ⌈log₂ 2N⌉ times; 2Nm + N²(m + 1) + 4N² + 8N³ positions for m edges",),
        SIX,
        lambda n: (path(n), None),
        lambda n, codec: {**reached(2 * n, 5), "heads": 7, "positions": walks(n, codec.sizes.edges)},
        BOTH,
    )
    yield _configurations("configuration-graph", "parity")
    yield _configurations("nondeterministic-logspace", "equal-blocks")
    yield _configurations("nondeterministic-logspace-literal", TINY)


TINY = logspace.parse("machine tiny\ninput a\nspace 1\nstart no\naccept yes\nno < < -> no < S S\n")
"""A state that does not accept, a cell that stays blank: 3(n + 2) configurations."""


def _configurations(name: str, source: str | Source) -> Family:
    def promised(n: int, codec: Any) -> Promised:
        found = 3 * (n + 2) + 1 if source == TINY else codec.configurations.vertices
        return {**reached(found, 2), "positions": n + found**2 + found**3}

    words = ("3 + 2⌈log₂ N⌉ layers and n + N² + N³ positions",)
    return Family(name, str(source), words, SIX, lambda n: (source, n), promised)
