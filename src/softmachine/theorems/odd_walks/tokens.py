"""Codec of odd walks: incidence matrices and padding; an answer for each pair of vertices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from softmachine.languages.graph import Graph, to_text
from softmachine.theorems.codec import AnsweringCodec, Interface, Outcome, Prompt, Word
from softmachine.theorems.connectivity.theorem import positions
from softmachine.theorems.shared.special_tokens import PAD


@dataclass(frozen=True)
class Sizes:
    """The numbers of vertices and edges, and the sizes of the parts of the sequence.

    Args:
        vertices: N.
        edges: m, at least 1; an undirected edge counts twice.
    """

    vertices: int
    edges: int

    @property
    def bits(self) -> int:
        """The number of bits of the incidence matrices: for every vertex and edge, whether it begins or ends there."""
        return 2 * self.vertices * self.edges

    @property
    def block(self) -> int:
        """The number of positions per entry of the adjacency matrix: one for each edge, and one for the result."""
        return self.edges + 1

    @property
    def matrix(self) -> int:
        """The number of positions of the first reduction."""
        return self.vertices**2 * self.block

    @property
    def cover(self) -> int:
        """The number of positions of connectivity, for the double cover of 2N vertices."""
        return positions(2 * self.vertices)

    @property
    def total(self) -> int:
        """The total number of positions."""
        return self.bits + self.matrix + self.cover


@dataclass(frozen=True)
class WalkCodec(AnsweringCodec[Graph]):
    """The incidence matrices, then padding; an answer for each pair of vertices.

    The weights only depend on the numbers of vertices and edges; the graph is in the prompt.
    """

    @cached_property
    def arcs(self) -> tuple[tuple[str, str], ...]:
        """The directed edges; an undirected edge in both directions."""
        return tuple((one, other) for one in self.source.vertices for other in self.source.successors[one])

    @cached_property
    def sizes(self) -> Sizes:
        """The sizes of the parts of the sequence."""
        return Sizes(len(self.source.vertices), max(1, len(self.arcs)))

    @property
    def input_length(self) -> int:
        return 2

    def prompt(self, word: Word) -> Prompt:
        """Return the prompt, which is the same for every question: the incidence matrices and padding."""
        self.source.word(word)
        arcs = self.arcs or (("", ""),)  # A column of zeros if there is no edge.
        rows = [str(int(arc[end] == vertex)) for end in (0, 1) for vertex in self.source.vertices for arc in arcs]
        return Prompt((*rows, *[PAD] * (self.sizes.total - len(rows))), len(rows))

    def at(self, start: int, end: int) -> int:
        """Return the position of the answer for a pair of vertices: that of (start, even) and (end, odd)."""
        return self.sizes.bits + self.sizes.matrix + 2 * start * 2 * self.sizes.vertices + 2 * end + 1

    def interface(self) -> Interface:
        """Describe the inputs, the incidence matrices, and the outputs: an answer for every pair."""
        vertices = self.source.vertices
        arcs = [f"{one} → {other}" for one, other in self.arcs] or ["no edge"]
        inputs = [f"{arc} {verb} {vertex}" for verb in ("begins at", "ends at") for vertex in vertices for arc in arcs]
        pairs = [(one, other) for one in enumerate(vertices) for other in enumerate(vertices)]
        return Interface(
            symbols=("0", "1"),
            meaning="For a pair of vertices it is whether there is a walk of odd length from the first to the second; "
            "elsewhere it is undefined.",
            inputs=tuple(inputs),
            outputs=tuple((f"odd walk {u} → {v}", self.at(one, other)) for (one, u), (other, v) in pairs),
        )

    def reduced(self, word: Word) -> str:
        """Return the double cover, the input of connectivity, as a list of edges."""
        names = tuple(f"{vertex}.{side}" for vertex in self.source.vertices for side in ("even", "odd"))
        edges = [
            (f"{one}.{side}", f"{other}.{opposite}")
            for one, other in self.arcs
            for side, opposite in (("even", "odd"), ("odd", "even"))
        ]
        self.source.word(word)
        return to_text(Graph(name=f"double cover of {self.source.name}", vertices=names, edges=tuple(edges)))

    def expected(self, word: Word, max_steps: int) -> Iterator[str | None]:
        """Yield for every pair whether there is a walk of odd length."""
        self.source.word(word)
        vertices = self.source.vertices
        answers: dict[int, str] = {}
        for start, one in enumerate(vertices):
            reached = self.source.odd_walks(one)
            answers |= {self.at(start, end): str(other in reached).lower() for end, other in enumerate(vertices)}
        for position in range(self.sizes.total):
            yield answers.get(position)

    def outcome(self, word: Word, said: Sequence[str]) -> Outcome:
        """Accepted if there is a walk of odd length from the first vertex to the second."""
        start, end = (self.source.index_of[vertex] for vertex in self.source.word(word))
        accepted = said[self.at(start, end)] == "true"
        return Outcome(verdict="accept" if accepted else "reject", word=self.source.word(word))
