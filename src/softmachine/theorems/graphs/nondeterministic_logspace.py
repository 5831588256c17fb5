"""Nondeterministic logspace machines (NL), by reduction to graph connectivity.

Lemma 5.4 of "Revisiting Padded Transformer Expressivity" (Svete et al. 2026). On a word of length n such a machine has
polynomially many configurations: a state, the positions of two heads, and the contents of O(log n) cells. Whether one
may lead to another depends on one symbol of the word, so that a transformer of constant depth computes it for all pairs
in parallel: that is the reduction, which is even first-order. The word is accepted iff an accepting configuration is
reachable from the initial one. ``connectivity``, composed with the reduction (Lemma 5.3 of the same paper), decides
this in ⌈log₂ N⌉ iterations. The precision is F_2, with hard attention and with softmax.

``nl-configuration-graph`` omits configurations that are on no path from the initial one to acceptance, on any word
of length n; ``ConfigurationGraph`` documents why this is sound. ``nl-configuration-graph-unpruned`` omits none, as in
the lemma, which is feasible for tiny machines only. N is the number of kept configurations, plus one for acceptance:
the accepting configurations, which have no successors, are one vertex.

Needs: position features for the configurations; weights for one n.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import product

from softmachine.languages.graph import Graph, to_text
from softmachine.languages.logspace import Configuration, LogspaceMachine, accepts, successors
from softmachine.languages.logspace.machine import BLANK, LEFT_END, RIGHT_END
from softmachine.support.errors import ConstructionError
from softmachine.support.text import pluralize
from softmachine.theorems.codec import Prompt, Word
from softmachine.theorems.cost import parameter
from softmachine.theorems.graphs.configuration_graph import WORD_LENGTH, AcceptanceCodec, cost, signals
from softmachine.theorems.graphs.connectivity import MAX_VERTICES, count_positions
from softmachine.theorems.shared.recogniser_codec import PAD_TOKEN, require_length
from softmachine.theorems.theorem import Requirements, Theorem, TourStep

ACCEPTED = "accepted"
MAX_CONFIGURATIONS = 100_000
"""Maximal number of configurations."""


class VertexSelection(StrEnum):
    """Which configurations are vertices."""

    ALL = "all"
    """Every state, both heads anywhere, any content of the work tape: as in the lemma."""
    REACHABLE = "reached"
    """Those that are reachable on some word."""
    USEFUL = "useful"
    """Of these, those from which acceptance is reachable."""


ConfigurationStep = tuple[Configuration, Configuration, str]
"""A configuration, a successor, and the input symbol that the step requires."""


@dataclass(frozen=True)
class ConfigurationGraph:
    """The configuration graph of a machine on words of length n, with the symbol that each step requires.

    The lemma uses all configurations, polynomially many; but N vertices take N² + N³ positions. So configurations may
    be omitted that are on no path from the initial one to acceptance, for any word (even if symbols could change
    between steps). This is sound: every path from the initial configuration to acceptance only passes configurations
    that are on such a path, so that there is one in the smaller graph iff there is one in the larger. The set of kept
    configurations depends on n alone, not on the word.
    """

    machine: LogspaceMachine
    length: int
    vertex_selection: VertexSelection = VertexSelection.USEFUL

    @property
    def name(self) -> str:
        """The name of the machine."""
        return self.machine.name

    @property
    def symbols(self) -> tuple[str, ...]:
        """The symbols of cells: the alphabet."""
        return self.machine.alphabet

    def readable_symbols(self, head: int) -> tuple[str, ...]:
        """Return the symbols that the input head may read in a cell."""
        return (LEFT_END,) if head == 0 else (RIGHT_END,) if head == self.length + 1 else self.symbols

    @cached_property
    def _steps(self) -> tuple[ConfigurationStep, ...]:
        """All steps from the reachable configurations, or from all configurations."""
        first = (self.machine.initial_configuration(self.length),)
        found = dict.fromkeys(self._all_configurations() if self.vertex_selection is VertexSelection.ALL else first)
        steps: list[ConfigurationStep] = []
        for origin in (queue := list(found)):
            for symbol in self.readable_symbols(origin.head):
                for after in successors(self.machine, origin, symbol):
                    steps.append((origin, after, symbol))
                    if after not in found:
                        found[after] = None
                        queue.append(after)
            self._require_size(len(found))
        return tuple(dict.fromkeys(steps))

    def _require_size(self, count: int) -> None:
        if count > MAX_CONFIGURATIONS:
            raise ConstructionError(
                f"{self.machine.name!r} has more than {MAX_CONFIGURATIONS:,} configurations on words of "
                f"{pluralize(self.length, 'symbol')}"
            )

    def _all_configurations(self) -> Iterator[Configuration]:
        """Yield all configurations, the initial one first."""
        machine, space = self.machine, self.machine.work_cells(self.length)
        self._require_size(machine.count_configurations(self.length))
        works = product((BLANK, *machine.work_symbols), repeat=space)
        heads = product(machine.states, range(self.length + 2), range(space + 2))
        return (Configuration(*where, work) for where, work in product(heads, works))

    @cached_property
    def selected(self) -> tuple[Configuration, ...]:
        """The configurations that are vertices, the initial one first; accepting ones share the last vertex."""
        first = self.machine.initial_configuration(self.length)
        every = (
            self._all_configurations()
            if self.vertex_selection is VertexSelection.ALL
            else (after for _, after, _ in self._steps)
        )
        reached = dict.fromkeys((first, *every))
        going = [found for found in reached if found.state not in self.machine.accept]
        if self.vertex_selection is not VertexSelection.USEFUL:
            return tuple(going)
        useful = {found for found in reached if found.state in self.machine.accept}
        before: dict[Configuration, list[Configuration]] = {}
        for origin, after, _ in self._steps:
            before.setdefault(after, []).append(origin)
        for found in (queue := list(useful)):
            fresh = [origin for origin in before.get(found, ()) if origin not in useful]
            useful.update(fresh)
            queue += fresh
        return tuple(found for found in going if found in useful or found == first)

    @property
    def vertices(self) -> int:
        """The number of configurations, and one for acceptance."""
        return len(self.selected) + 1

    @property
    def answer_position(self) -> int:
        """The position of the answer: that of the pair of the initial configuration and acceptance."""
        start = self.vertices - 1 if self.machine.start in self.machine.accept else 0
        return self.length + start * self.vertices + self.vertices - 1

    def edges(self) -> Iterator[tuple[int, int, int, str]]:
        """Yield (from, to, cell, symbol): the step requires the symbol in the cell; cells are numbered from 0."""
        number = {found: index for index, found in enumerate(self.selected)}
        for origin, after, symbol in self._steps:
            target = self.vertices - 1 if after.state in self.machine.accept else number.get(after)
            if origin in number and target is not None:
                yield number[origin], target, origin.head - 1, symbol

    def graph_of_word(self, word: Sequence[str]) -> Graph:
        """Return the graph of a word, the result of the reduction."""
        names = [*map(str, self.selected), ACCEPTED]
        tape = (LEFT_END, *word, RIGHT_END)
        edges = [(names[one], names[other]) for one, other, cell, symbol in self.edges() if tape[cell + 1] == symbol]
        return Graph(name=f"{self.name} on a word", vertices=tuple(names), edges=tuple(dict.fromkeys(edges)))


@dataclass(frozen=True)
class LogspaceCodec(AcceptanceCodec[LogspaceMachine]):
    """A word of length n, then padding; the answer at one position is whether the machine accepts."""

    length: int = 0
    vertex_selection: VertexSelection = VertexSelection.USEFUL

    def __post_init__(self) -> None:
        if self.configurations.vertices > MAX_VERTICES:
            count = self.configurations.vertices
            raise ConstructionError(
                f"{self.source.name!r} has {count:,} configurations on words of {pluralize(self.length, 'symbol')}, "
                f"which "
                f"take {count_positions(count):,} positions (N² + N³)",
                hint=f"at most {MAX_VERTICES} are allowed: give a shorter word",
            )

    @cached_property
    def configurations(self) -> ConfigurationGraph:
        """The configurations on words of this length."""
        return ConfigurationGraph(self.source, self.length, self.vertex_selection)

    @property
    def input_length(self) -> int:
        return self.length

    def apply_reduction(self, word: Word) -> str:
        """Return the configuration graph of a word, as a list of edges."""
        return to_text(self.configurations.graph_of_word(self.source.word(word)))

    def prompt(self, word: Word) -> Prompt:
        """The word and padding.

        Raises:
            ContextTooShortError: If the word does not have the length that the weights are for.
        """
        symbols = require_length(self.source.word(word), self.length)
        return Prompt((*symbols, *[PAD_TOKEN] * count_positions(self.configurations.vertices)), self.length)

    def accepts(self, word: Word) -> bool:
        return accepts(self.source, word)


TOUR = (
    TourStep(
        "Which input symbol does this step need?",
        "Lemma 5.4 of Svete et al. 2026. There is a position for each pair of configurations; the first may lead to "
        "the second if the input head reads a certain symbol, which the position fetches. Position features encode the "
        "cell and the symbol.",
        ("cell", "own cell", "read", "leads…", "needs…"),
    ),
    TourStep(
        "An edge of the configuration graph",
        "Lemma 5.3 of Svete et al. 2026. The output of the reduction replaces the adjacency matrix that connectivity "
        "reads.",
        ("letter", "is letter", "is padding"),
    ),
    TourStep(
        "Is there a path?",
        "Theorem C.1 of Svete et al. 2026. After iteration l a pair has a bit: whether at most 2^l steps lead from one "
        "to the other.",
        ("i to k", "k to j", "path over k", "i to j over some k", "reached", "doubling"),
    ),
)


_WORK_CELLS = parameter("s", "work cells", lambda codec: codec.source.work_cells(codec.length))
_WORK_SYMBOLS = parameter("|Γ|", "work symbols", lambda codec: len(codec.source.work_symbols))
_OTHER_STATES = parameter(
    "|Q|", "states that do not accept", lambda codec: len({*codec.source.states} - {*codec.source.accept})
)
_COST = cost(
    parameter("N", "kept configurations + 1", lambda codec: codec.configurations.vertices),
    _OTHER_STATES * (WORD_LENGTH + 2) * (_WORK_CELLS + 2) * (_WORK_SYMBOLS + 1) ** _WORK_CELLS + 1,
)


def _theorem(name: str, statement: str, vertices: VertexSelection, rank: int) -> Theorem:
    return Theorem(
        name,
        statement,
        "Revisiting Padded Transformer Expressivity, Lemmas 5.3 and 5.4, Theorem C.1",
        Requirements(
            "configurations as position features",
            scale="O(log positions)",
            remark="padding; any F_b with b ≥ 2",
        ),
        _COST,
        LogspaceMachine,
        ("hard", "soft"),
        codec=lambda source, length: LogspaceCodec(source, length, vertices),
        signals=lambda codec, attention: signals(codec.configurations, soft=attention == "soft"),
        steps=(
            "On words of length n there are polynomially many configurations; each step depends on one symbol.",
            "The reduction computes the steps for all pairs of configurations in parallel: each fetches its symbol.",
            "Connectivity, composed with it, decides whether an accepting configuration is reachable.",
        ),
        tour=TOUR,
        length="the length of words",
        rank=rank,
    )


THEOREMS = (
    _theorem(
        "nl-configuration-graph",
        "NL: nondeterministic logspace machines, by reduction to connectivity, constant precision",
        VertexSelection.USEFUL,
        rank=1,
    ),
    _theorem(
        "nl-configuration-graph-unpruned",
        "NL with all configurations as vertices, including unreachable ones, as in the paper",
        VertexSelection.ALL,
        rank=2,
    ),
)
