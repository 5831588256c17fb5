"""Random sources, words and independent interpreters for each theorem."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from softmachine.languages.circuit import Circuit, GateKind
from softmachine.languages.counter import CounterMachine
from softmachine.languages.crasp import CraspProgram
from softmachine.languages.formats import deserialise_source, formats, parse, serialise_source
from softmachine.languages.graph import Graph
from softmachine.languages.rasp import RaspProgram
from softmachine.languages.source import Source
from softmachine.languages.srasp import SraspProgram, ValueKind
from softmachine.languages.temporal import Specification
from softmachine.languages.turing import TapeConvention, TuringMachine
from softmachine.support.errors import ConstructionError, InvalidError, UsageError
from softmachine.testing import crasp, rasp, srasp
from softmachine.testing.circuit import random_circuit, random_family
from softmachine.testing.counter import random_counter_machine
from softmachine.testing.graph import random_graph
from softmachine.testing.logspace import random_logspace_machine
from softmachine.testing.temporal import ALL, COMPARISON, COUNT_PREDICATE, COUNTS, OF_LENGTH, PAST, random_specification
from softmachine.testing.turing import random_automaton, random_reader, random_turing_machine
from softmachine.theorems import all_theorems
from softmachine.theorems.rasp.rasp.codec import CausalRaspCodec, RaspCodec
from tests.fuzz import interpreters, rasp_interpreter
from tests.fuzz.interpreters import Answer

SMALLEST, ENOUGH = "fixed:2", "fixed:24"
"""Theorems that hold in any F_b are tested in the smallest one, the others with enough bits for these words."""


@dataclass(frozen=True)
class Subject:
    """How a theorem is tested.

    Args:
        make: Draws a source.
        truth: The right answer, for a word and a step limit.
        length: The length that weights are built for, if they depend on one.
        shortest: The minimal length of words.
        longest: The maximal length of words.
        steps: The step limit.
        word_count: The number of words.
        fixed: The fixed-point format that it is also tested in.
        verdict_only: Whether only the verdict of a run is compared, since its steps are those of another machine.
        sorted_words: Whether words have their letters in the order of the alphabet.
        exact_length: Whether all words have the length that weights are built for.
    """

    make: Callable[[Random], Source]
    truth: Callable[[Any, tuple[str, ...], int], Answer]
    length: int | None = None
    shortest: int = 0
    longest: int = 5
    steps: int = 60
    word_count: int = 4
    fixed: str = ENOUGH
    verdict_only: bool = False
    sorted_words: bool = False
    exact_length: bool = False

    def words(self, rng: Random, source: Source) -> list[tuple[str, ...]]:
        """Random words of all lengths, each once."""
        count = self.word_count
        if isinstance(source, Circuit | Graph) or self.exact_length:
            width = (
                source.width if isinstance(source, Circuit) else 2 if isinstance(source, Graph) else self.length or 0
            )
            drawn = [tuple(rng.choices(source.alphabet, k=width)) for _ in range(count)]
        else:
            drawn = [
                tuple(rng.choices(source.alphabet, k=rng.randint(self.shortest, self.longest))) for _ in range(count)
            ]
        if self.sorted_words:
            drawn = [tuple(sorted(word, key=source.alphabet.index)) for word in drawn]
        return list(dict.fromkeys(drawn))


def turing(rng: Random, tapes: Sequence[int] = (1, 1, 1, 1, 1, 2, 2, 3)) -> TuringMachine:
    count = rng.choice(tapes)
    letters = rng.randint(2, 4 if count == 1 else 3 if count == 2 else 2)
    states = rng.randint(1, 5 if count == 1 else 3)
    return random_turing_machine(
        rng, tapes=count, symbols=letters, states=states, tape=rng.choice(list(TapeConvention))
    )


def mostly_one_tape(rng: Random) -> TuringMachine:
    return turing(rng, (1,) * 17 + (2, 2, 3))


def counted(rng: Random) -> TuringMachine:
    """A machine on one tape that halts soon: a counter machine takes exponentially long for long runs."""
    return random_turing_machine(
        rng, symbols=rng.randint(2, 4), states=rng.randint(1, 4), tape=rng.choice(list(TapeConvention))
    )


def counted_very_briefly(rng: Random) -> TuringMachine:
    return random_turing_machine(
        rng, symbols=rng.choice([2, 2, 3]), states=rng.randint(1, 3), tape=rng.choice(list(TapeConvention))
    )


def formula_of(operators: Sequence[str]) -> Callable[[Random], Specification]:
    return lambda rng: random_specification(rng, operators=operators)


def without_counts(operators: Sequence[str]) -> list[str]:
    return [name for name in operators if name not in (*COUNTS, COUNT_PREDICATE, COMPARISON)]


def srasp_program(rng: Random) -> SraspProgram:
    program = srasp.random_program(
        rng, vectors=rng.randint(1, 5), integers=rng.random() < 0.7, linear=True, conjunctive=rng.random() < 0.7
    )
    if program.types[program.output].kind is ValueKind.INTEGER:
        raise ConstructionError("an output that is an integer has no tokens")
    return program


def crasp_program(rng: Random) -> CraspProgram:
    return crasp.random_program(rng.randrange(1 << 30), with_rules=rng.random() < 0.5, depth=rng.randint(1, 4))


def counter_machine(rng: Random) -> CounterMachine:
    return random_counter_machine(
        rng, letters=rng.randint(1, 3), work_counters=rng.randint(0, 2), states=rng.randint(1, 4)
    )


def small_circuit(rng: Random) -> Circuit:
    return random_circuit(
        rng.randrange(1 << 30), inputs=rng.randint(1, 5), gates=rng.randint(1, 12), outputs=rng.randint(1, 3),
        fan_in=rng.randint(1, 5), kinds=tuple(GateKind),
    )  # fmt: skip


def tiny_circuit(rng: Random) -> Circuit:
    return random_circuit(
        rng.randrange(1 << 30), inputs=rng.randint(1, 3), gates=rng.randint(1, 4), outputs=1, fan_in=rng.randint(1, 3)
    )


def rasp_program(rng: Random) -> RaspProgram:
    return rasp.random_program(rng, operations=rng.randint(2, 8), depth=4, loop=rng.random() < 0.05)


def rasp_writer(rng: Random) -> RaspProgram:
    return rasp.random_autoregressive_program(rng, operations=rng.randint(2, 6), depth=4)


def rasp_answers(program: RaspProgram, word: tuple[str, ...], _: int) -> Answer:
    tokens = RaspCodec(program).output_vocabulary.tokens
    return rasp_interpreter.answers(program, word, tokens, causal=program.causal)


def causal_answers(program: RaspProgram, word: tuple[str, ...], _: int) -> Answer:
    tokens = CausalRaspCodec(program).output_vocabulary.tokens
    return rasp_interpreter.answers(program, word, tokens, causal=True)


def small_graph(rng: Random) -> Graph:
    return random_graph(rng, vertices=3, max_edges=3)


def accepts(machine: TuringMachine, word: tuple[str, ...], most: int) -> Answer:
    """Whether a machine accepts; one that never halts does not."""
    return Answer("accept" if interpreters.turing(machine, word, 500).verdict == "accept" else "reject")


_TURING = Subject(turing, interpreters.turing, longest=4, steps=14)
_LARGE = replace(_TURING, make=mostly_one_tape, steps=8, word_count=2)
"""Models with many layers are tested on fewer words and steps."""
_TEMPORAL = Subject(formula_of(ALL), interpreters.temporal, longest=6)
_CRASP = Subject(crasp_program, interpreters.crasp, longest=5, steps=30)
_COUNTER = Subject(counter_machine, interpreters.counter, longest=6, steps=30)
_RASP = Subject(rasp_program, rasp_answers, shortest=1, longest=6)
_CIRCUIT = Subject(small_circuit, interpreters.circuit, fixed=SMALLEST)

SUBJECTS: dict[str, Subject] = {
    "turing-average-hard": replace(_TURING, steps=25),
    "turing-average-hard-summary": replace(_TURING, steps=20),
    "turing-ternary": replace(_LARGE, length=64),
    "turing-ternary-summary": replace(_LARGE, length=128),
    "turing-binary-address": replace(_TURING, length=24),
    "turing-residue-address": replace(_TURING, make=mostly_one_tape, length=24),
    "turing-residue-address-no-positions": replace(_TURING, make=mostly_one_tape, length=24),
    "turing-counter": Subject(counted, interpreters.turing, longest=4, steps=600, verdict_only=True, sorted_words=True),
    "turing-counter-relative-bias": Subject(
        counted_very_briefly, interpreters.turing, longest=1, steps=300, verdict_only=True
    ),
    "turing-configuration-graph": Subject(random_reader, accepts, length=1, longest=1, fixed=SMALLEST),
    "automaton-layer-norm": Subject(random_automaton, accepts, longest=6),
    "temporal-encoder": _TEMPORAL,
    "temporal-masked": replace(_TEMPORAL, make=formula_of(PAST)),
    "temporal-encoder-unbounded-positions": _TEMPORAL,
    "temporal-masked-unbounded-positions": replace(_TEMPORAL, make=formula_of(without_counts(PAST))),
    "temporal-encoder-paper-positions": replace(_TEMPORAL, make=formula_of((*ALL, OF_LENGTH))),
    "temporal-masked-paper-positions": replace(_TEMPORAL, make=formula_of(PAST)),
    "temporal-encoder-unbounded-paper-positions": replace(_TEMPORAL, make=formula_of((*ALL, OF_LENGTH))),
    "temporal-masked-unbounded-paper-positions": replace(_TEMPORAL, make=formula_of(without_counts(PAST))),
    "temporal-unique-hard": replace(_TEMPORAL, make=formula_of(without_counts((*ALL, OF_LENGTH)))),
    "temporal-layer-norm": replace(_TEMPORAL, make=formula_of([name for name in ALL if name != COUNT_PREDICATE])),
    "srasp": Subject(srasp_program, interpreters.srasp, longest=5),
    "crasp": _CRASP,
    "crasp-layer-norm": _CRASP,
    "crasp-relu": _CRASP,
    "crasp-relu-max-length": replace(_CRASP, length=40),
    "counter": _COUNTER,
    "counter-relu": _COUNTER,
    "counter-relu-max-length": replace(_COUNTER, length=40),
    "circuit-and-or-not": _CIRCUIT,
    "circuit-threshold": replace(_CIRCUIT, fixed=ENOUGH),
    "circuit-evaluator": Subject(tiny_circuit, interpreters.circuit, length=128, fixed=SMALLEST),
    "rasp": _RASP,
    "rasp-causal": replace(_RASP, truth=causal_answers),
    "rasp-generate": replace(_RASP, make=rasp_writer, truth=rasp_interpreter.written, longest=4, steps=8),
    "circuit-evaluator-threshold": Subject(tiny_circuit, interpreters.circuit, length=160, fixed=ENOUGH),
    "uniform-circuits": Subject(random_family, interpreters.family, length=2, fixed=SMALLEST, exact_length=True),
    "uniform-circuits-threshold": Subject(
        random_family, interpreters.family, length=3, fixed=ENOUGH, exact_length=True
    ),
    "nl-configuration-graph": Subject(
        random_logspace_machine, interpreters.logspace, length=1, fixed=SMALLEST, exact_length=True
    ),
    "nl-configuration-graph-unpruned": Subject(
        random_logspace_machine, interpreters.logspace, length=0, fixed=SMALLEST, exact_length=True
    ),
    "odd-walks": Subject(small_graph, interpreters.odd_walks, fixed=SMALLEST),
    "connectivity": Subject(random_graph, interpreters.graph, fixed=SMALLEST),
}

PAIRS = [(theorem.name, attention) for theorem in all_theorems() for attention in theorem.attentions]
"""All theorems with each of their kinds of attention."""


def reread(rng: Random, source: Source) -> Source:
    """The source as it comes back from a file: in the format of its language, or a circuit in any format."""
    if rng.random() < 0.4:
        return source
    if isinstance(source, Circuit) and rng.random() < 0.7:
        name = rng.choice(["bench", "blif", "aiger", "bristol"])
        return parse(formats()[name].to_text(source), format=name, name=source.name)
    return deserialise_source(source.language, source.name, serialise_source(source))


REFUSALS = (ConstructionError, InvalidError, UsageError)
"""The errors of a theorem or a language for a random source that it does not support."""
