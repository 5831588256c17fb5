"""L-uniform families of transformers: their theorems, sources, and the programs of their machines.

The direct connection language of a family of circuits (section A.2 of "Revisiting Padded Transformer Expressivity")
consists of the tuples (1ⁿ, i, j, t) such that wire i of C_n has type t and is an argument of gate j. A family whose
connection language is decided in logarithmic space is L-uniform; a program here decides it. The output is connected to
itself, with a separate type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from random import Random

from softmachine.compiler import compile_program
from softmachine.ir import Program as Signals
from softmachine.languages.circuit import Circuit, GateKind, generators
from softmachine.languages.family import CircuitFamily
from softmachine.languages.graph import Graph
from softmachine.languages.source import Source
from softmachine.studies.uniformity import (
    circuit_binary_printer,
    circuit_families,
    circuit_unit_printer,
    connectivity_printer,
    evaluator_printer,
    reduction_printer,
    threshold_printer,
)
from softmachine.studies.uniformity.circuit_families import (
    AdjacentOnes,
    AndOrTree,
    CircuitDescription,
    Majority,
    MajorityTree,
)
from softmachine.studies.uniformity.python_to_machine import compile_machine
from softmachine.studies.uniformity.stdlib import Program, TapeIO
from softmachine.studies.uniformity.transducer import Transducer, encode_input
from softmachine.studies.uniformity.weight_printer import describe_features, describe_weights
from softmachine.support.errors import UsageError
from softmachine.support.text import did_you_mean
from softmachine.theorems import get_theorem
from softmachine.theorems.circuits import evaluator as of_circuits
from softmachine.theorems.circuits import evaluator_threshold as of_thresholds
from softmachine.theorems.circuits.evaluator import pointer_width
from softmachine.transformer.weights import Transformer

INPUT_TYPE, OUTPUT_TYPE = 4, 5
"""Types of inputs and of the output. Those of gates are 0 to 3."""
_TYPES = {GateKind.AND: 0, GateKind.OR: 1, GateKind.NOT: 2, GateKind.THR: 3}


def decide_connection(tape: TapeIO, family: CircuitDescription) -> None:
    """Print 1 if (1ⁿ, i, j, t) is in the connection language, otherwise 0."""
    n = tape.unary()
    i = tape.binary()
    j = tape.binary()
    kind = tape.binary()
    wires = family.wires(n)
    found = 0
    if i < wires and j < wires:
        if kind == OUTPUT_TYPE:
            found = 1 if i + 1 == wires and j == i else 0
        elif kind == (family.kind(n, i) if i >= n else INPUT_TYPE) and j >= n:
            for k in range(family.fan_in(n, j)):
                if family.argument(n, j, k) == i:
                    found = 1
    tape.put(f"{found:b}\n")


def connection_language(circuit: Circuit) -> set[tuple[int, int, int]]:
    """Return all (i, j, t) of a circuit: the tuples that the machine accepts."""
    number = {wire: index for index, wire in enumerate(circuit.wires)}
    types = [INPUT_TYPE] * circuit.width + [_TYPES[gate.kind] for gate in circuit.sorted_gates]
    last = number[circuit.outputs[0]]
    found = {(last, last, OUTPUT_TYPE)}
    for gate in circuit.sorted_gates:
        found |= {(number[wire], number[gate.name], types[number[wire]]) for wire in gate.inputs}
    return found


NUM_QUERIES = 24
"""Number of positive and of random queries to the connection language."""


@dataclass(frozen=True)
class UniformFamily:
    """A family n ↦ T_n, and the programs that print it.

    Args:
        name: The name on the command line.
        statement: A one-line description.
        theorem: The theorem of the construction.
        signals: Returns the signal program for n, which is compiled.
        weights: The program of M₁: from 1ⁿ to the weights of T_n.
        features: The program of M₂: from 1ⁿ and i to the position features of position i.
        arguments: Further arguments of both programs.
        circuit: The circuit for n, if it is a family of circuits; ``given`` then describes these gate by gate.
        min_n: The smallest n.
        default_n: The largest n that is measured by default.
        max_n: The largest n.
        is_odd_only: Whether n must be odd.
        num_positions: Number of random positions that are compared; few if the machine is slow.
    """

    name: str
    statement: str
    theorem: str
    signals: Callable[[int], Signals]
    weights: Program
    features: Program
    arguments: tuple[object, ...] = ()
    circuit: Callable[[int], Circuit] | None = None
    min_n: int = 2
    default_n: int = 64
    max_n: int = 1024
    is_odd_only: bool = False
    num_positions: int = 24

    def sizes(self, up_to: int) -> list[int]:
        """Return the n to measure at."""
        found = choose_sizes(self.name, self.min_n, self.max_n, up_to)
        return sorted({n | 1 for n in found if n | 1 <= up_to}) if self.is_odd_only else found

    def transformer(self, n: int) -> tuple[Transformer, int]:
        """Compile the transformer for n, with hard attention; return it and its number of positions."""
        return compile_signals(self.signals(n))

    @cached_property
    def machines(self) -> dict[str, Transducer]:
        """M₁ and M₂ of Definition A.5 of Svete et al. 2026, and for circuits a decider of the connection language."""
        programs = {"weights": self.weights, "features": self.features}
        programs |= {"connections": decide_connection} if self.circuit else {}
        return {
            name: compile_machine(f"the {name} of {self.name}", each, *self.arguments)
            for name, each in programs.items()
        }

    def test_cases(self, n: int, draw: Random) -> Iterator[tuple[str, str, str]]:
        """Yield test cases of the machines: the name of the machine, the input, the expected output.

        All weights; the position features of the first and last position and of random others; for the connection
        language, members and random tuples.
        """
        transformer, positions = self.transformer(n)
        yield from _expected_outputs(
            n, transformer, {0, positions - 1, *(draw.randrange(positions) for _ in range(self.num_positions))}
        )
        if self.circuit:
            language, wires = connection_language(self.circuit(n)), len(self.circuit(n).wires)
            yes = draw.sample(sorted(language), min(NUM_QUERIES, len(language)))
            others = [tuple(map(draw.randrange, (wires, wires, OUTPUT_TYPE + 1))) for _ in range(NUM_QUERIES)]
            for query in (*yes, *others):
                yield "connections", encode_input(n, *query), f"{int(query in language)}\n"


@dataclass(frozen=True)
class RuleFamily:
    """A family of circuits given by rules, with the machines that print its circuits and transformers.

    The machine that prints circuits is that of Lemma C.1 of Svete et al. 2026. A family that bounds the depth of its
    circuits also has the two machines of Definition A.5, for the transformers that reduce its language to circuit
    evaluation (Corollary 5.1).
    """

    source: CircuitFamily
    default_n: int = 32
    num_positions: int = 12

    @property
    def theorem(self) -> str:
        """The theorem that the family is compiled with."""
        return "uniform-circuits-threshold" if self.source.has_threshold_gates else "uniform-circuits"

    @property
    def name(self) -> str:
        """The name of the family."""
        return self.source.name

    @property
    def statement(self) -> str:
        """A one-line description."""
        return str(self.source).partition(": ")[2]

    def sizes(self, up_to: int) -> list[int]:
        """Return the n to measure at."""
        return choose_sizes(self.name, 1, 1024, up_to)

    @cached_property
    def machines(self) -> dict[str, Transducer]:
        """The machine that prints C_n, and M₁ and M₂."""
        reduced = reduction_printer.reduce_family(self.source)
        return {"circuit": circuit_families.compile_printer(self.source)} | {
            name: compile_machine(f"the {name} of {self.name}", program, reduced)
            for name, program in self.programs.items()
        }

    @property
    def programs(self) -> dict[str, Program]:
        """The programs of M₁ and M₂; empty if the family does not bound the depth of its circuits."""
        weights, features = (
            (reduction_printer.print_threshold_weights, reduction_printer.print_threshold_features)
            if self.source.has_threshold_gates
            else (reduction_printer.print_weights, reduction_printer.print_features)
        )
        return {} if self.source.max_depth is None else {"weights": weights, "features": features}

    def test_cases(self, n: int, draw: Random) -> Iterator[tuple[str, str, str]]:
        """Yield test cases of the machines, as :meth:`UniformFamily.test_cases`."""
        yield "circuit", encode_input(n), join_lines(circuit_families.describe_circuit(self.source.circuit(n)))
        if self.programs:
            transformer, positions = self.transformer(n)
            yield from _expected_outputs(
                n, transformer, {0, n, positions - 1, *(draw.randrange(positions) for _ in range(self.num_positions))}
            )

    def transformer(self, n: int) -> tuple[Transformer, int]:
        """Compile the transformer for n, with hard attention; return it and its number of positions."""
        return compile_signals(_signals(self.theorem, self.source, n))


def compile_signals(signals: Signals) -> tuple[Transformer, int]:
    """Compile a signal program; return the transformer and its number of positions."""
    assert signals.position_count is not None
    return compile_program(signals), signals.position_count


def _signals(name: str, source: Source, length: int | None = None) -> Signals:
    """Return the signal program of a theorem for a source."""
    theorem = get_theorem(name)
    assert theorem is not None
    return theorem.signals(theorem.build_codec(source, length), "hard")


def _expected_outputs(n: int, transformer: Transformer, places: Iterable[int]) -> Iterator[tuple[str, str, str]]:
    """Yield the expected outputs of M₁, and of M₂ at some positions."""
    yield "weights", encode_input(n), join_lines(describe_weights(transformer))
    for i in sorted(places):
        yield "features", encode_input(n, i), join_lines(describe_features(transformer, i))


def choose_sizes(name: str, min_n: int, max_n: int, up_to: int) -> list[int]:
    """Return sizes n: powers of two, three times such, and ``up_to``.

    Raises:
        UsageError: If ``up_to`` is not between ``min_n`` and ``max_n``.
    """
    if not min_n <= up_to <= max_n:
        raise UsageError(f"the family {name} is measured from n = {min_n} up to {max_n}, not {up_to}")
    found = {up_to} | {factor << k for factor in (1, 3) for k in range(up_to.bit_length())}
    return sorted(n for n in found if min_n <= n <= up_to)


def join_lines(lines: Iterable[str]) -> str:
    """Join lines as a machine prints them."""
    return "".join(f"{line}\n" for line in lines)


def _make_graph(n: int) -> Graph:
    """Return a graph with n vertices; the weights do not depend on its edges."""
    vertices = tuple(f"v{k}" for k in range(n))
    return Graph(name=f"path-{n}", vertices=vertices, edges=tuple(pairwise(vertices)))


def _make_circuit_family(
    name: str,
    statement: str,
    theorem: str,
    circuit: Callable[[int], Circuit],
    circuits: CircuitDescription,
    *,
    least: int = 2,
    usual: int = 64,
    most: int = 1024,
    odd: bool = False,
    tried: int = 24,
) -> UniformFamily:
    """Return a family of circuits with the programs of a theorem."""
    by_binary = theorem == "circuit-and-or-not"
    return UniformFamily(
        name,
        statement,
        theorem,
        lambda n: _signals(theorem, circuit(n)),
        circuit_binary_printer.print_weights if by_binary else circuit_unit_printer.print_weights,
        circuit_binary_printer.print_features if by_binary else circuit_unit_printer.print_features,
        (circuits,),
        circuit,
        min_n=least,
        default_n=usual,
        max_n=most,
        is_odd_only=odd,
        num_positions=tried,
    )


FAMILIES = (
    _make_circuit_family(
        "adjacent-ones",
        "are two neighbours both 1? An OR of ANDs, in AC⁰",
        "circuit-and-or-not",
        generators.adjacent_ones,
        AdjacentOnes(),
        least=3,
    ),
    _make_circuit_family(
        "and-or-tree",
        "a tree of AND and OR, of depth ⌈log₂ n⌉, in AC¹",
        "circuit-and-or-not",
        generators.and_or_tree,
        AndOrTree(),
    ),
    _make_circuit_family(
        "majority",
        "are more than half of the inputs 1? One threshold gate, in TC⁰",
        "circuit-threshold",
        generators.majority,
        Majority(),
        least=3,
        usual=16,
        most=64,
        tried=2,
    ),
    _make_circuit_family(
        "tree-of-majorities",
        "a tree of majorities of three, of depth O(log n), in TC¹",
        "circuit-threshold",
        generators.majority_tree,
        MajorityTree(),
        least=3,
        usual=17,
        most=65,
        tried=2,
        odd=True,
    ),
    UniformFamily(
        "connectivity",
        "can t be reached from s in a graph of n vertices? Complete for NL, in AC¹",
        "connectivity",
        lambda n: _signals("connectivity", _make_graph(n)),
        connectivity_printer.print_weights,
        connectivity_printer.print_features,
        default_n=20,
        max_n=20,
    ),
    UniformFamily(
        "circuit-evaluator",
        "what is the value of a circuit of n tokens and depth up to ⌈log₂ n⌉? Complete for AC¹",
        "circuit-evaluator",
        lambda n: of_circuits.signals(n, pointer_width(n), soft=False),
        evaluator_printer.print_weights,
        evaluator_printer.print_features,
        (1,),
        max_n=1 << 14,
    ),
    UniformFamily(
        "circuit-evaluator-threshold",
        "the same with threshold gates, in constant width. Complete for TC¹",
        "circuit-evaluator-threshold",
        lambda n: of_thresholds.signals(n, pointer_width(n), soft=False),
        threshold_printer.print_weights,
        threshold_printer.print_features,
        (1,),
        max_n=1 << 14,
    ),
)
"""The built-in families, in the order of listings."""


def find_family(name: str) -> UniformFamily:
    """Return the family with a name.

    Raises:
        UsageError: If there is none.
    """
    known = {family.name: family for family in FAMILIES}
    if name not in known:
        listing = f"choose one of {', '.join(known)}, or a source that is a family"
        raise UsageError(f"unknown family {name!r}", hint=did_you_mean(name, known, listing))
    return known[name]
