"""Hypothesis strategies for every source language, and for the inputs of a source.

Hypothesis is not a dependency of softmachine: ``pip install 'softmachine[testing]'``. A strategy draws the sizes and
the choices of a generator of this package, so that Hypothesis shrinks a failing source to a smaller one. The generators
of RASP and S-RASP propose operations and reject those that do not fit, which leaves Hypothesis little to shrink: their
strategies draw a seed in place of the choices, and only the sizes shrink.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from random import Random
from typing import TypeVar

from softmachine.languages.circuit import Circuit, GateKind
from softmachine.languages.counter import CounterMachine
from softmachine.languages.crasp import CraspProgram
from softmachine.languages.family import CircuitFamily
from softmachine.languages.graph import Graph
from softmachine.languages.logspace import LogspaceMachine
from softmachine.languages.rasp import RaspProgram
from softmachine.languages.source import Source
from softmachine.languages.srasp import SraspProgram
from softmachine.languages.temporal import Specification
from softmachine.languages.turing import TapeConvention, TuringMachine
from softmachine.languages.words import Word
from softmachine.support.errors import ConstructionError, InvalidError, UsageError
from softmachine.testing import circuit, counter, crasp, graph, logspace, rasp, srasp, temporal, turing
from softmachine.theorems import Theorem, get_theorem

try:
    from hypothesis import strategies as st
    from hypothesis.strategies import SearchStrategy
except ModuleNotFoundError:
    raise UsageError(
        "strategies need Hypothesis, which is not installed", hint="pip install 'softmachine[testing]'"
    ) from None

Drawn = TypeVar("Drawn")


def turing_machines(
    *,
    max_tapes: int = 1,
    max_symbols: int = 4,
    max_states: int = 5,
    tapes: Sequence[TapeConvention] = tuple(TapeConvention),
) -> SearchStrategy[TuringMachine]:
    """Turing machines with missing rules and rules that do not move.

    Args:
        max_tapes: The maximum number of tapes.
        max_symbols: The maximum number of symbols, including the blank.
        max_states: The maximum number of states.
        tapes: The conventions for a head that moves left of cell 0.
    """
    return _drawn(
        turing.random_turing_machine,
        tapes=st.integers(1, max_tapes),
        symbols=st.integers(2, max_symbols),
        states=st.integers(1, max_states),
        tape=st.sampled_from(tapes),
    )


def automata() -> SearchStrategy[TuringMachine]:
    """Turing machines that are finite automata: they move right and decide at the first blank or earlier."""
    return _drawn(turing.random_automaton)


def counter_machines(
    *, max_letters: int = 3, max_work_counters: int = 2, max_states: int = 4
) -> SearchStrategy[CounterMachine]:
    """Deterministic counter machines that never get stuck; they may run forever.

    Args:
        max_letters: The maximum number of input letters.
        max_work_counters: The maximum number of counters beside those of the letters.
        max_states: The maximum number of states that neither accept nor reject.
    """
    return _drawn(
        counter.random_counter_machine,
        letters=st.integers(1, max_letters),
        work_counters=st.integers(0, max_work_counters),
        states=st.integers(1, max_states),
    )


def logspace_machines() -> SearchStrategy[LogspaceMachine]:
    """Nondeterministic logspace machines over a and b with one work cell."""
    return _drawn(logspace.random_logspace_machine)


def formulas(*, max_depth: int = 4, operators: Collection[str] = temporal.ALL) -> SearchStrategy[Specification]:
    """Formulas of temporal logic with counting, over one to three letters.

    Args:
        max_depth: The maximal nesting of operators.
        operators: The operators: names of :data:`softmachine.testing.temporal.ALL`.
    """
    return _drawn(temporal.random_specification, depth=st.just(max_depth), operators=st.just(operators))


def crasp_programs(*, with_rules: bool | None = None, max_depth: int = 4) -> SearchStrategy[CraspProgram]:
    """C-RASP programs.

    Args:
        with_rules: Whether programs have a chain of thought. Default: either.
        max_depth: The maximal nesting of formulas and terms.
    """
    thinking = st.booleans() if with_rules is None else st.just(with_rules)
    return _drawn(crasp.random_program, with_rules=thinking, depth=st.integers(1, max_depth))


def srasp_programs(*, max_vectors: int = 5, integers: bool | None = None) -> SearchStrategy[SraspProgram]:
    """S-RASP programs whose integers grow linearly with the length.

    Args:
        max_vectors: The maximum number of vectors.
        integers: Whether programs may use integers; without integers they are in B-RASP. Default: either.
    """
    return _seeded(
        srasp.random_program,
        vectors=st.integers(1, max_vectors),
        integers=st.booleans() if integers is None else st.just(integers),
        linear=st.just(True),
        conjunctive=st.booleans(),
    )


def rasp_programs(
    *, max_operations: int = 8, causal: bool | None = None, loop: bool = False
) -> SearchStrategy[RaspProgram]:
    """RASP programs.

    Args:
        max_operations: The approximate maximum of the number of operations.
        causal: Whether programs are causal. Default: either.
        loop: Whether programs have a loop.
    """
    return _seeded(
        rasp.random_program,
        operations=st.integers(2, max_operations),
        depth=st.just(4),
        causal=st.just(causal),
        loop=st.just(loop),
    )


def rasp_generators(*, max_operations: int = 6) -> SearchStrategy[RaspProgram]:
    """Causal RASP programs that read their own output.

    Args:
        max_operations: The approximate maximum of the number of operations.
    """
    return _seeded(rasp.random_autoregressive_program, operations=st.integers(2, max_operations), depth=st.just(4))


def circuits(
    *, max_inputs: int = 5, max_gates: int = 12, max_outputs: int = 3, max_fan_in: int = 5
) -> SearchStrategy[Circuit]:
    """Circuits with gates of every kind.

    Args:
        max_inputs: The maximum number of inputs; there is at least one.
        max_gates: The maximum number of gates; there is at least one.
        max_outputs: The maximum number of outputs.
        max_fan_in: The maximum number of inputs of a gate.
    """
    return _drawn(
        circuit.random_circuit,
        inputs=st.integers(1, max_inputs),
        gates=st.integers(1, max_gates),
        outputs=st.integers(1, max_outputs),
        fan_in=st.integers(1, max_fan_in),
        kinds=st.just(tuple(GateKind)),
    )


def families() -> SearchStrategy[CircuitFamily]:
    """Uniform families of circuits with one or two layers of gates."""
    return _drawn(circuit.random_family)


def graphs(*, max_vertices: int = 6, max_edges: int | None = None) -> SearchStrategy[Graph]:
    """Directed and undirected graphs.

    Args:
        max_vertices: The maximum number of vertices.
        max_edges: The maximum number of edges. Default: there is no maximum.
    """
    return _drawn(graph.random_graph, vertices=st.just(max_vertices), max_edges=st.just(max_edges))


LANGUAGES: dict[str, Callable[[], SearchStrategy[Source]]] = {
    "turing": turing_machines,
    "counter": counter_machines,
    "logspace": logspace_machines,
    "temporal": formulas,
    "crasp": crasp_programs,
    "srasp": srasp_programs,
    "rasp": rasp_programs,
    "circuit": circuits,
    "family": families,
    "graph": graphs,
}
"""The strategy of every source language, by the name of the language."""


def sources(language: str) -> SearchStrategy[Source]:
    """Sources of a language.

    Args:
        language: The name of the language, such as ``"turing"``: a key of :data:`LANGUAGES`.

    Raises:
        UsageError: If there is no such language.
    """
    if language not in LANGUAGES:
        raise UsageError(f"unknown source language {language!r}", hint=f"choose one of {', '.join(LANGUAGES)}")
    return LANGUAGES[language]()


def sources_of(theorem: str | Theorem, *, context: int | None = None) -> SearchStrategy[Source]:
    """Sources that a theorem of one of softmachine's languages compiles; others are filtered out.

    Args:
        theorem: The theorem or its name.
        context: Number of positions that the weights are built for, if they depend on it.

    Raises:
        UsageError: If there is no such theorem, or its language has no strategy.
    """
    chosen = theorem if isinstance(theorem, Theorem) else get_theorem(theorem)
    if chosen is None:
        raise UsageError(f"unknown theorem {theorem!r}")

    def is_compiled(source: Source) -> bool:
        try:
            chosen.signals(chosen.build_codec(source, context), chosen.attentions[0])
        except (ConstructionError, InvalidError):
            return False
        return True

    return sources(chosen.language).filter(is_compiled)


def words(source: Source, *, max_length: int = 6, min_length: int = 0) -> SearchStrategy[Word]:
    """Inputs of a source.

    Args:
        source: The source; all inputs of a circuit have its number of inputs, and those of a graph are two vertices.
        max_length: The maximal length of other inputs.
        min_length: The minimal length of other inputs.
    """
    width = source.width if isinstance(source, Circuit) else 2 if isinstance(source, Graph) else None
    letters = st.sampled_from(source.alphabet)
    shortest, longest = (min_length, max_length) if width is None else (width, width)
    return st.lists(letters, min_size=shortest, max_size=longest).map(tuple)


def _drawn(generator: Callable[..., Drawn], **arguments: SearchStrategy[object]) -> SearchStrategy[Drawn]:
    """The strategy of a generator of this package whose random choices Hypothesis makes."""
    return _with(st.randoms(use_true_random=False), generator, arguments)


def _seeded(generator: Callable[..., Drawn], **arguments: SearchStrategy[object]) -> SearchStrategy[Drawn]:
    """The strategy of a generator of this package for which Hypothesis draws a seed."""
    return _with(st.integers(0, 2**32 - 1).map(Random), generator, arguments)


def _with(
    randoms: SearchStrategy[Random], generator: Callable[..., Drawn], arguments: dict[str, SearchStrategy[object]]
) -> SearchStrategy[Drawn]:
    return st.fixed_dictionaries(arguments).flatmap(lambda chosen: randoms.map(lambda rng: generator(rng, **chosen)))
