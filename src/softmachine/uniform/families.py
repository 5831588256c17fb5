"""The families of transformers that are shown to be L-uniform: theorem, sources, and the programs of their machines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from softmachine.compiler import compile_program
from softmachine.errors import UsageError
from softmachine.languages.circuit import Circuit, generators
from softmachine.languages.graph import Graph
from softmachine.languages.source import Source
from softmachine.theorems import theorem_named
from softmachine.transformer.weights import Transformer
from softmachine.uniform import binary, connectivity, unit
from softmachine.uniform.circuits import AdjacentOnes, AndOrTree, Majority, MajorityTree
from softmachine.uniform.connections import connections
from softmachine.uniform.programs import Program
from softmachine.uniform.transducer import Transducer
from softmachine.uniform.translating import machine


@dataclass(frozen=True)
class UniformFamily:
    """A family n ↦ T_n, and the programs that print it.

    Args:
        name: What the command line calls it.
        statement: What it is, in a line.
        theorem: The theorem that compiles it.
        source: What is compiled for n.
        weights: The program of M₁: from 1ⁿ to the weights of T_n.
        features: The program of M₂: from 1ⁿ and i to the position features of position i.
        circuits: The circuits, if the family is one of circuits.
        least: The smallest n.
        usual: Up to which n it is measured, unless somebody says otherwise.
        most: The largest n.
        odd: Whether n is odd.
    """

    name: str
    statement: str
    theorem: str
    source: Callable[[int], Source]
    weights: Program
    features: Program
    circuits: Any = None
    least: int = 2
    usual: int = 64
    most: int = 1024
    odd: bool = False

    @property
    def given(self) -> tuple[object, ...]:
        """What its programs are told besides the tapes: the circuits, if there are some."""
        return () if self.circuits is None else (self.circuits,)

    def sizes(self, up_to: int) -> list[int]:
        """The n to measure at: powers of two and three times such, one more where n is odd, and the largest.

        Raises:
            UsageError: If there is none, or the largest would be too large.
        """
        if not self.least <= up_to <= self.most:
            raise UsageError(f"the family {self.name} is measured from n = {self.least} up to {self.most}, not {up_to}")
        found = {up_to} | {factor << k for factor in (2, 3) for k in range(up_to.bit_length())}
        if self.odd:
            found = {n | 1 for n in found}
        return sorted(n for n in found if self.least <= n <= up_to)

    def transformer(self, n: int) -> tuple[Transformer, int]:
        """What ``compile`` makes for n, with hard attention, and how many positions it has."""
        theorem = theorem_named(self.theorem)
        assert theorem is not None
        signals = theorem.signals(theorem.codec_for(self.source(n), None), "hard")
        assert signals.positions is not None
        return compile_program(signals), signals.positions

    @cached_property
    def machines(self) -> tuple[Transducer, Transducer]:
        """M₁ and M₂ of Definition A.5."""
        return (
            machine(f"the weights of {self.name}", self.weights, *self.given),
            machine(f"the position features of {self.name}", self.features, *self.given),
        )

    @cached_property
    def connections(self) -> Transducer | None:
        """The machine that decides the connection language, if it is a family of circuits."""
        if self.circuits is None:
            return None
        return machine(f"the connections of {self.name}", connections, self.circuits)

    def circuit(self, n: int) -> Circuit:
        """The circuit for n."""
        circuit = self.source(n)
        assert isinstance(circuit, Circuit)
        return circuit


def _graph(n: int) -> Graph:
    """A graph with n vertices; the weights do not depend on its edges."""
    vertices = tuple(f"v{k}" for k in range(n))
    return Graph(name=f"path-{n}", vertices=vertices, edges=tuple(pairwise(vertices)))


FAMILIES = (
    UniformFamily(
        "adjacent-ones",
        "are two neighbours both 1? An OR of ANDs, in AC⁰",
        "circuit-binary",
        generators.adjacent_ones,
        binary.weights,
        binary.features,
        AdjacentOnes(),
        least=3,
    ),
    UniformFamily(
        "and-or-tree",
        "a tree of AND and OR, of depth ⌈log₂ n⌉, in AC¹",
        "circuit-binary",
        generators.and_or_tree,
        binary.weights,
        binary.features,
        AndOrTree(),
    ),
    UniformFamily(
        "majority",
        "are more than half of the inputs 1? One threshold gate, in TC⁰",
        "circuit-unit",
        generators.majority,
        unit.weights,
        unit.features,
        Majority(),
        least=3,
        usual=16,
        most=64,
    ),
    UniformFamily(
        "majority-tree",
        "a tree of majorities of three, of depth O(log n), in TC¹",
        "circuit-unit",
        generators.majority_tree,
        unit.weights,
        unit.features,
        MajorityTree(),
        least=3,
        usual=17,
        most=65,
        odd=True,
    ),
    UniformFamily(
        "connectivity",
        "can t be reached from s in a graph of n vertices? Complete for NL, in AC¹",
        "connectivity",
        _graph,
        connectivity.weights,
        connectivity.features,
        usual=20,
        most=20,
    ),
)
"""The families, in the order in which they are told."""


def family_named(name: str) -> UniformFamily:
    """The family of a name.

    Raises:
        UsageError: If there is none.
    """
    for family in FAMILIES:
        if family.name == name:
            return family
    raise UsageError(f"there is no family {name!r}", hint=f"choose one of {', '.join(each.name for each in FAMILIES)}")
