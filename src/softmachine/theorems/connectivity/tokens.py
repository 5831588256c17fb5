"""Codec of connectivity: the adjacency matrix and padding; the answer at a pair's position is reachability."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from softmachine.languages.graph import Graph
from softmachine.languages.scene import Network, Scene, Stretch
from softmachine.theorems.codec import AnsweringCodec, Interface, Outcome, Prompt, Word
from softmachine.theorems.shared.special_tokens import PAD


@dataclass(frozen=True)
class GraphCodec(AnsweringCodec[Graph]):
    """The adjacency matrix row by row, then padding; the answer at a pair's position is whether there is a path.

    The weights only depend on the number of vertices; the graph is in the prompt.
    """

    @property
    def input_length(self) -> int:
        return 2

    def prompt(self, word: Word) -> Prompt:
        """Return the prompt, which is the same for every question: the graph and padding."""
        self.source.word(word)
        vertices = self.source.vertices
        matrix = [str(int(self.source.adjacent(one, other))) for one in vertices for other in vertices]
        return Prompt((*matrix, *[PAD] * len(vertices) ** 3), len(matrix))

    def interface(self) -> Interface:
        """Describe the inputs (the adjacency matrix) and outputs (whether there is a path), at the same positions."""
        vertices = self.source.vertices
        pairs = [f"{one} → {other}" for one in vertices for other in vertices]
        return Interface(
            symbols=("0", "1"),
            meaning="At a pair of vertices it is whether there is a path from the first to the second; elsewhere it is "
            "undefined.",
            inputs=tuple(f"edge {pair}" for pair in pairs),
            outputs=tuple((f"path {pair}", position) for position, pair in enumerate(pairs)),
        )

    def expected(self, word: Word, max_steps: int) -> Iterator[str | None]:
        """Yield for every pair whether there is a path."""
        vertices = self.source.vertices
        for start in vertices:
            reached = self.source.reachable(start)
            yield from ("true" if other in reached else "false" for other in vertices)
        yield from [None] * len(vertices) ** 3

    @property
    def lines(self) -> Sequence[str]:
        """The edges."""
        arrow = "→" if self.source.directed else "–"
        return tuple(f"{one} {arrow} {other}" for one, other in self.source.edges)

    def scene(self, word: Word, shown: Stretch) -> Scene:
        """Return the graph; a position represents a pair of vertices, or a pair with an intermediate vertex."""
        graph, count = self.source, len(self.source.vertices)
        numbers, pairs = graph.index_of, count**2
        # Padding represents (i, k, j), in the order of the theorem.
        triples = ((index // pairs, index // count % count, index % count) for index in range(count**3))
        tuples = [*((index // count, index % count) for index in range(pairs)), *triples]
        network = Network(
            vertices=graph.vertices,
            edges=[(numbers[one], numbers[other]) for one, other in graph.edges],
            directed=graph.directed,
            asked=[numbers[vertex] for vertex in graph.word(word)],
            reached=[[numbers[other] for other in graph.reachable(vertex)] for vertex in graph.vertices],
            positions=tuples[shown.first : shown.first + len(shown.tokens)],
        )
        edge = {pair: index for index, pair in enumerate(network.edges)}
        if not graph.directed:
            edge |= {(other, one): index for (one, other), index in edge.items()}
        active = [edge.get((ends[0], ends[-1])) for ends in network.positions]
        return Scene(self.lines, active, picture=network, focus=network.asked[0] * count + network.asked[1])

    def outcome(self, word: Word, said: Sequence[str]) -> Outcome:
        """Accepted if the second vertex is reachable from the first."""
        start, end = (self.source.index_of[vertex] for vertex in self.source.word(word))
        reached = said[start * len(self.source.vertices) + end] == "true"
        return Outcome(verdict="accept" if reached else "reject", word=self.source.word(word))
