"""How graphs are put to a transformer for connectivity, and how its answers are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from softmachine.codec import Interface, Outcome, Prompt
from softmachine.languages.graph import Graph
from softmachine.languages.graph.json_form import graph_from_json, graph_to_json
from softmachine.theorems.connectivity.theorem import PAD


@dataclass(frozen=True)
class GraphCodec:
    """The adjacency matrix row by row, then padding; the answer at a pair's position is whether one is reached.

    The weights depend on the number of vertices only; the graph itself is what the transformer reads.
    """

    graph: Graph
    kind: str = "graph"

    @property
    def source(self) -> Graph:
        """The graph."""
        return self.graph

    @property
    def alphabet(self) -> tuple[str, ...]:
        """The vertices."""
        return self.graph.vertices

    @property
    def width(self) -> int:
        """An input is two vertices."""
        return 2

    def prompt(self, word: str | Iterable[str]) -> Prompt:
        """The same for every question: the graph, and the padding."""
        self.graph.word(word)
        vertices = self.graph.vertices
        matrix = [str(int(self.graph.adjacent(one, other))) for one in vertices for other in vertices]
        return Prompt((*matrix, *[PAD] * len(vertices) ** 3), len(matrix))

    def interface(self) -> Interface:
        """The adjacency matrix goes in, and at the same positions whether there is a path comes out."""
        vertices = self.graph.vertices
        pairs = [f"{one} → {other}" for one in vertices for other in vertices]
        return Interface(
            symbols=("0", "1"),
            meaning="At a pair of vertices it is whether a path leads from the first to the second; elsewhere it means "
            "nothing.",
            inputs=tuple(f"edge {pair}" for pair in pairs),
            outputs=tuple((f"path {pair}", position) for position, pair in enumerate(pairs)),
        )

    def expected(self, word: str | Iterable[str], max_steps: int) -> Iterator[str | None]:
        """For every pair whether one is reached from the other."""
        del word, max_steps
        vertices = self.graph.vertices
        for start in vertices:
            reached = self.graph.reachable(start)
            yield from ("true" if other in reached else "false" for other in vertices)
        yield from [None] * len(vertices) ** 3

    def read(self, word: str | Iterable[str], said: Sequence[str]) -> Outcome:
        """Accepted if the second vertex can be reached from the first."""
        start, end = (self.graph.index_of[vertex] for vertex in self.graph.word(word))
        reached = said[start * len(self.graph.vertices) + end] == "true"
        return Outcome(verdict="accept" if reached else "reject", steps=0, output="")

    def to_json(self) -> dict[str, object]:
        """The graph."""
        return {"kind": self.kind, **graph_to_json(self.graph)}

    @staticmethod
    def from_json(data: dict[str, Any]) -> GraphCodec:
        """The codec that :meth:`to_json` described."""
        return GraphCodec(graph_from_json(data))
