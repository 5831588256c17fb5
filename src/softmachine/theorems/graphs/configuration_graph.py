"""Read-only Turing machines, by reduction to graph connectivity: the method of Lemma 5.4, for small machines.

All numbers refer to "Revisiting Padded Transformer Expressivity" (Svete et al. 2026). Lemma 5.4 is about NL:
nondeterministic machines with a read-only input and a work tape of logarithmic size; see ``nl-configuration-graph``.
The machines here are deterministic and have no work tape. They recognise the regular languages, and serve as a small
example of a reduction composed with connectivity (Lemma 5.3).

A machine that writes nothing (a two-way finite automaton) has |Q|·(n + 2) configurations on a word of length n: a state
and a cell, of the word or next to it. Whether a step leads from one to another depends on one symbol, so that a
transformer of constant depth computes it for all pairs in parallel: that is the reduction. The word is accepted iff an
accepting configuration is reachable from the initial one, which ``connectivity`` decides. Both are composed into one
transformer (``reduction``), in F_2.

Needs: position features for the configurations; weights for one n. The last of the N vertices is the successor of every
accepting configuration.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from softmachine.ir import Program, attend, recogniser, stack
from softmachine.ir.composition import compose
from softmachine.ir.domain import Domain
from softmachine.ir.gadgets.binary_addresses import (
    BIT_SCALE,
    address_scores,
    address_weighting,
    address_width,
    binary_address_features,
    position_flag,
    round_to_bit,
)
from softmachine.ir.primitives import one_hot
from softmachine.ir.ranges import BIT
from softmachine.languages.turing import MOVES, TapeConvention, TuringMachine, execute
from softmachine.support.errors import ConstructionError, ContextTooShortError
from softmachine.theorems.codec import AnsweringCodec, Interface, Outcome, Prompt, S_co, Word
from softmachine.theorems.cost import Cost, Expression, Term, ceil_log2, parameter
from softmachine.theorems.graphs.connectivity import count_positions
from softmachine.theorems.graphs.connectivity import signals as connectivity_signals
from softmachine.theorems.shared.recogniser_codec import PAD_TOKEN
from softmachine.theorems.shared.turing_codec import STATES, MachineCodecMixin
from softmachine.theorems.theorem import Requirements, Theorem
from softmachine.transformer.attention import Mask
from softmachine.transformer.table_features import NO_ADDRESS

Configuration = tuple[str, int]
"""A state and a cell."""


@dataclass(frozen=True)
class Configurations:
    """The configuration graph of a read-only machine on words of length at most n."""

    machine: TuringMachine
    length: int

    def __post_init__(self) -> None:
        machine = self.machine
        writing = next((rule for rule in machine.rules if rule.read != rule.write), None)
        if machine.tapes != 1 or writing is not None or not machine.accept:
            why = f"the rule {writing} writes" if writing else "it has several tapes or no accepting state"
            raise ConstructionError(
                f"{machine.name!r} is not a read-only machine: {why}",
                hint="turing-configuration-graph takes one-tape machines with an accepting state that write what they "
                "read",
            )
        leaving = next((place for place in self._reachable() if not -1 <= place[1] <= self.length), None)
        if leaving is not None:
            raise ConstructionError(
                f"{machine.name!r} may move more than one cell beyond its input: cell {leaving[1]} in {leaving[0]!r}",
                hint="turing-configuration-graph takes machines that turn back at the blank next to the input",
            )

    @property
    def name(self) -> str:
        """The name of the machine."""
        return self.machine.name

    @property
    def symbols(self) -> tuple[str, ...]:
        """The symbols of cells, including the blank because words may be shorter than n."""
        return (*self.machine.alphabet, self.machine.blank)

    @cached_property
    def nonfinal(self) -> tuple[Configuration, ...]:
        """The configurations with nonfinal states."""
        states = [state for state in self.machine.states if state not in self.machine.halting_states]
        return tuple((state, cell) for state in states for cell in range(-1, self.length + 1))

    @property
    def vertices(self) -> int:
        """The number of configurations, and one for acceptance."""
        return len(self.nonfinal) + 1

    @property
    def answer_position(self) -> int:
        """The position of the answer: that of the pair of the initial configuration and acceptance."""
        accepts = self.machine.start in self.machine.accept
        start = self.vertices - 1 if accepts else self.index_of((self.machine.start, 0))
        return self.length + start * self.vertices + self.vertices - 1

    def index_of(self, configuration: Configuration) -> int:
        """Return the index of a configuration."""
        return self.nonfinal.index(configuration)

    def possible_symbols(self, cell: int) -> tuple[str, ...]:
        """Return the possible symbols of a cell."""
        return self.symbols if 0 <= cell < self.length else (self.machine.blank,)

    def successor(self, configuration: Configuration, symbol: str) -> Configuration | None:
        """Return the successor of a configuration on a symbol, or None; final states are normalised to cell 0."""
        state, cell = configuration
        rule = self.machine.find_rule(state, (symbol,))
        if rule is None:
            return None
        after = cell + MOVES[rule.move[0]]
        if after < 0 and self.machine.tape is TapeConvention.ERROR:
            return None
        if rule.next in self.machine.halting_states or (after < 0 and self.machine.tape is TapeConvention.STAY):
            return rule.next, 0
        return rule.next, after

    def edges(self) -> Iterator[tuple[int, int, int, str]]:
        """Yield (from, to, cell, symbol): the step requires the symbol in the cell."""
        for origin, configuration in enumerate(self.nonfinal):
            for symbol in self.possible_symbols(configuration[1]):
                after = self.successor(configuration, symbol)
                if after is not None and after[0] in self.machine.accept:
                    yield origin, self.vertices - 1, configuration[1], symbol
                elif after in self.nonfinal:  # Others are unreachable.
                    yield origin, self.index_of(after), configuration[1], symbol

    def _reachable(self) -> list[Configuration]:
        """Return the configurations that are reachable if symbols may change between steps: an overapproximation."""
        found = [(self.machine.start, 0)]
        for place in found:
            if place[0] in self.machine.halting_states or not -1 <= place[1] <= self.length:
                continue
            for symbol in self.possible_symbols(place[1]):
                after = self.successor(place, symbol)
                if after is not None and after not in found:
                    found.append(after)
        return found


class AcceptanceCodec(AnsweringCodec[S_co]):
    """Codec of an encoder that outputs at one position whether a machine accepts."""

    @property
    @abstractmethod
    def configurations(self) -> ConfigurationGraphProtocol:
        """The configurations on the words that the weights are for."""

    @property
    def answer_position(self) -> int:
        """The position of the answer."""
        return self.configurations.answer_position

    @abstractmethod
    def accepts(self, word: Word) -> bool:
        """Whether the reference interpreter accepts the word."""

    def domain(self, vocabulary: Iterable[str]) -> Domain:
        """Return the sequences of n symbols and padding."""
        graph = self.configurations
        padding = [(PAD_TOKEN,)] * count_positions(graph.vertices)
        return Domain.of_positions([*[graph.symbols] * graph.length, *padding])

    def interface(self) -> Interface:
        at = self.answer_position
        return Interface(
            symbols=self.alphabet,
            meaning="At one position it is whether the machine accepts; elsewhere it is undefined.",
            outputs=(("accepts", at),),
            verdict=at,
        )

    def expected(self, word: Word, max_steps: int) -> Iterator[str | None]:
        """Yield the verdict at the position of the answer; None elsewhere."""
        answer = "true" if self.accepts(word) else "false"
        for position in range(len(self.prompt(word).tokens)):
            yield answer if position == self.answer_position else None

    def parse_output(self, word: Word, emitted: Sequence[str]) -> Outcome:
        """Accepted if an accepting configuration is reachable."""
        accepted = emitted[self.answer_position] == "true"
        return Outcome(verdict="accept" if accepted else "reject", word=self.source.word(word))


@dataclass(frozen=True)
class ConfigurationCodec(MachineCodecMixin, AcceptanceCodec[TuringMachine]):
    """The word, blanks up to length n, then padding; the answer at one position is whether the machine accepts."""

    length: int = 0

    @cached_property
    def configurations(self) -> Configurations:
        """The configurations on words of this length."""
        return Configurations(self.machine, self.length)

    def prompt(self, word: Word) -> Prompt:
        """The word, blanks and padding.

        Raises:
            ContextTooShortError: If the word is longer than the length that the weights are for.
        """
        symbols = self.machine.word(word)
        if len(symbols) > self.length:
            raise ContextTooShortError(
                f"the word has {len(symbols)} symbols, but these weights are for at most {self.length}",
                context=len(symbols),
            )
        blanks = [self.machine.blank] * (self.length - len(symbols))
        padding = [PAD_TOKEN] * count_positions(self.configurations.vertices)
        return Prompt((*symbols, *blanks, *padding), self.length)

    def accepts(self, word: Word) -> bool:
        # A read-only machine that makes more steps than it has configurations never halts.
        return execute(self.machine, self.machine.word(word), max_steps=self.configurations.vertices).accepted


class ConfigurationGraphProtocol(Protocol):
    """Configurations on words of a length, numbered from 0, and the symbols on which one leads to another."""

    @property
    def name(self) -> str:
        """The name of the machine."""

    @property
    def length(self) -> int:
        """The length of words."""

    @property
    def symbols(self) -> tuple[str, ...]:
        """The symbols of the cells of a word."""

    @property
    def vertices(self) -> int:
        """The number of vertices; the last one is acceptance."""

    @property
    def answer_position(self) -> int:
        """The position of the answer: that of the pair of the initial configuration and acceptance."""

    def edges(self) -> Iterator[tuple[int, int, int, str]]:
        """Yield (from, to, cell, symbol): the step requires the symbol in the cell, if it is a cell of the word."""


def signals(configurations: ConfigurationGraphProtocol, *, soft: bool) -> Program:
    """Build a transformer that recognises words up to a length, by its answer for (start, accept)."""
    length, vertices = configurations.length, configurations.vertices
    connected = count_positions(vertices)
    connects = connectivity_signals(vertices, soft=soft)
    # Steps 1 and 2. The edges of the configuration graph.
    leads = reduction(configurations, length + connected, soft=soft)
    # Step 3. The composition with connectivity.
    return compose(configurations.name, leads, connects, offset=length, bits=vertices**2, length=connected)


def reduction(configurations: ConfigurationGraphProtocol, count: int, *, soft: bool) -> Program:
    """Build a transformer of ``count`` positions: at n + iN + j, whether configuration i leads to configuration j."""
    length, vertices, symbols = configurations.length, configurations.vertices, configurations.symbols
    # Step 1. The cell and symbol that lead from one configuration to another, or whether the step is unconditional.
    pairs = vertices**2
    cells, always = [0] * pairs, [0] * pairs
    needs = {symbol: [0] * pairs for symbol in symbols}
    for origin, target, cell, symbol in configurations.edges():
        place = origin * vertices + target
        if 0 <= cell < length:
            cells[place], needs[symbol][place] = cell, 1
        else:
            always[place] = 1
    # Step 2. Each pair of configurations fetches its symbol.
    before = [0] * length
    edge = position_flag("leads anyway", [*before, *always])
    if length:
        width = address_width(length)
        query, key = address_scores(
            binary_address_features("cell", width, [*before, *cells]),
            binary_address_features("own cell", width, [*range(length), *[NO_ADDRESS] * pairs]),
        )
        letters = one_hot("symbol", symbols, default=(PAD_TOKEN,))
        weighting = address_weighting(soft, count)
        read = attend("read", query=query, key=key, value=letters, mask=Mask.ALL, weighting=weighting, gap=BIT_SCALE)
        parts = [
            edge,
            *(
                round_to_bit(f"leads on {s}", read[s], position_flag(f"needs {s}", [*before, *needs[s]]))
                for s in symbols
            ),
        ]
        edge = stack(*parts).total.with_range(BIT)
    return recogniser(f"steps of {configurations.name}", (*symbols, PAD_TOKEN), edge, positions=count)


WORD_LENGTH = parameter("n", "length of a word", lambda codec: codec.configurations.length)


def cost(vertices: Expression, upper_bound: Term) -> Cost:
    """Return the cost for N vertices, with an upper bound of N."""
    exact = {"layers": 3 + 2 * ceil_log2(vertices), "positions": WORD_LENGTH + vertices**2 + vertices**3}
    return Cost(exact, {vertices.text: upper_bound, "precision": 2})


THEOREMS = (
    Theorem(
        "turing-configuration-graph",
        "Read-only Turing machines, by reduction to connectivity of configurations, constant precision",
        "Revisiting Padded Transformer Expressivity, Lemmas 5.3 and 5.4",
        Requirements(
            "configurations as position features",
            scale="O(log positions)",
            remark="padding; any F_b with b ≥ 2; only machines that write nothing",
        ),
        cost(
            parameter("N", "reached configurations + 1", lambda codec: codec.configurations.vertices),
            STATES * (WORD_LENGTH + 2) + 1,
        ),
        TuringMachine,
        ("hard", "soft"),
        codec=ConfigurationCodec,
        signals=lambda codec, attention: signals(codec.configurations, soft=attention == "soft"),
        steps=(
            "A read-only machine has |Q|(n + 2) configurations; whether one leads to another depends on one symbol.",
            "The reduction computes this for all pairs of configurations in parallel: each fetches its symbol.",
            "Connectivity, composed with it, decides whether an accepting configuration is reachable.",
        ),
        length="the maximal length of words",
        rank=10,
    ),
)
