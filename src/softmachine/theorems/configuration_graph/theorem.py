"""Turing machines that only read, by reduction to graph connectivity: the proof that NL is recognised (Lemma 5.4).

A machine that writes nothing (a two-way finite automaton) has |Q|·(n + 2) configurations on a word of n letters: a
state and a cell, of the word or next to it. Whether one leads to another depends on one letter, so that a transformer
of constant depth says it for all pairs at once: that is the reduction. The word is accepted iff an accepting
configuration can be reached from the first one, which ``connectivity`` recognises. Both are stacked into one
transformer (``reduction``), in F_2.

Needs: position features for the configurations; weights for one n. Costs: n + N² + N³ positions for N ≤ |Q|·(n + 2) + 1
vertices, of which the last is reached from every accepting configuration; 1 + 1 + 2⌈log₂ N⌉ layers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from softmachine.errors import ConstructionError
from softmachine.languages.turing import MOVES, Tape, TuringMachine
from softmachine.signals import Program, attend, recogniser, stack
from softmachine.signals.gadgets.bit_addresses import UNIT, by_bits, matching, settled
from softmachine.signals.gadgets.wiring import address_width, binary_address, flag
from softmachine.signals.kinds import BIT
from softmachine.signals.primitives import token
from softmachine.signals.reduction import stacked
from softmachine.theorems.connectivity import theorem as connectivity
from softmachine.transformer.attention import Mask
from softmachine.transformer.features import NO_ADDRESS

PAD = "□"

Configuration = tuple[str, int]
"""A state and a cell."""


@dataclass(frozen=True)
class Configurations:
    """The configurations of a machine that only reads, on words of at most n letters, and what leads to what."""

    machine: TuringMachine
    length: int

    def __post_init__(self) -> None:
        machine = self.machine
        writing = next((rule for rule in machine.rules if rule.read != rule.write), None)
        if machine.tapes != 1 or writing is not None or not machine.accept:
            why = f"the rule {writing} writes" if writing else "it has several tapes or no accepting state"
            raise ConstructionError(
                f"{machine.name!r} is not a machine that only reads: {why}",
                hint="the configuration graph is for machines on one tape that write what they read, and accept or not",
            )
        leaving = next((place for place in self._reached() if not -1 <= place[1] <= self.length), None)
        if leaving is not None:
            raise ConstructionError(
                f"{machine.name!r} may go further from its input than one cell: to cell {leaving[1]} in {leaving[0]!r}",
                hint="the configuration graph is for machines that turn back at the blank next to the input",
            )

    @cached_property
    def all(self) -> tuple[Configuration, ...]:
        """The configurations in which the machine may go on."""
        states = [state for state in self.machine.states if state not in self.machine.final]
        return tuple((state, cell) for state in states for cell in range(-1, self.length + 1))

    @property
    def vertices(self) -> int:
        """The number of configurations, and one for acceptance."""
        return len(self.all) + 1

    @property
    def start(self) -> int:
        """The number of the first configuration."""
        return self.vertices - 1 if self.machine.start in self.machine.accept else self.number((self.machine.start, 0))

    def number(self, configuration: Configuration) -> int:
        """The number of a configuration."""
        return self.all.index(configuration)

    def symbols(self, cell: int) -> tuple[str, ...]:
        """What may be in a cell: words may be shorter than n."""
        inside = 0 <= cell < self.length
        return (*self.machine.alphabet, self.machine.blank) if inside else (self.machine.blank,)

    def next(self, configuration: Configuration, symbol: str) -> Configuration | None:
        """The configuration after this one, if the head reads a symbol; a final state is in no particular cell."""
        state, cell = configuration
        rule = self.machine.rule(state, (symbol,))
        if rule is None:
            return None
        if rule.next in self.machine.final:
            return rule.next, 0
        after = cell + MOVES[rule.move[0]]
        if after < 0 and self.machine.tape is not Tape.TWO_WAY:
            return (rule.next, 0) if self.machine.tape is Tape.STAY else None
        return rule.next, after

    def edges(self) -> Iterator[tuple[int, int, int, str]]:
        """From which to which configuration, and the cell and the symbol on which it depends."""
        for origin, configuration in enumerate(self.all):
            for symbol in self.symbols(configuration[1]):
                after = self.next(configuration, symbol)
                if after is not None and after[0] in self.machine.accept:
                    yield origin, self.vertices - 1, configuration[1], symbol
                elif after in self.all:  # Others cannot be reached.
                    yield origin, self.number(after), configuration[1], symbol

    def _reached(self) -> list[Configuration]:
        """What can be reached if letters may change under way: more than what can be."""
        found = [(self.machine.start, 0)]
        for place in found:
            if place[0] in self.machine.final or not -1 <= place[1] <= self.length:
                continue
            for symbol in self.symbols(place[1]):
                after = self.next(place, symbol)
                if after is not None and after not in found:
                    found.append(after)
        return found


def transformer(machine: TuringMachine, length: int, *, soft: bool) -> Program:
    """A transformer that recognises words of at most so many letters, by its answer for (start, accept)."""
    configurations = Configurations(machine, length)
    vertices = configurations.vertices
    second = connectivity.transformer(vertices, soft=soft)
    first = reduction(configurations, length + connectivity.positions(vertices), soft=soft)
    pairs, positions = vertices**2, connectivity.positions(vertices)
    return stacked(machine.name, first, second, offset=length, bits=pairs, length=positions)


def reduction(configurations: Configurations, positions: int, *, soft: bool) -> Program:
    """A transformer that says at position n + iN + j whether configuration i leads to configuration j."""
    machine, length, vertices = configurations.machine, configurations.length, configurations.vertices
    symbols = (*machine.alphabet, machine.blank)
    cells = [0] * vertices**2
    needs = {symbol: [0] * vertices**2 for symbol in symbols}
    always = [0] * vertices**2
    for origin, target, cell, symbol in configurations.edges():
        place = origin * vertices + target
        if 0 <= cell < length:
            cells[place], needs[symbol][place] = cell, 1
        else:
            always[place] = 1
    before = [0] * length
    edge = flag("leads anyway", [*before, *always])
    if length:
        width = address_width(length)
        query, key = matching(
            binary_address("cell", width, [*before, *cells]),
            binary_address("own cell", width, [*range(length), *[NO_ADDRESS] * vertices**2]),
        )
        rows = {item: tuple(int(item == symbol) for symbol in symbols) for item in (*symbols, PAD)}
        letters = token("symbol", rows, labels=symbols)
        weighting = by_bits(soft, positions)
        read = attend("read", query=query, key=key, value=letters, mask=Mask.ALL, weighting=weighting, gap=UNIT)
        parts = [edge, *(settled(f"leads on {s}", read[s], flag(f"needs {s}", [*before, *needs[s]])) for s in symbols)]
        edge = stack(*parts).total.known(BIT)
    return recogniser(f"steps of {machine.name}", (*symbols, PAD), edge, positions=positions)


def answer_position(configurations: Configurations) -> int:
    """Where the answer stands: at the pair of the first configuration and acceptance."""
    return configurations.length + configurations.start * configurations.vertices + configurations.vertices - 1
