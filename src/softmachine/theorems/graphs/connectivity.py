"""Graph connectivity by path doubling, in a padded and looped transformer of constant precision.

Theorem C.1 of "Revisiting Padded Transformer Expressivity" (Svete et al. 2026). For graphs with N vertices: N²
positions for the pairs (i, j), whose tokens are the adjacency matrix, and N³ positions of padding for the triples (i,
k, j). After iteration l, the pair (i, j) has a bit: whether there is a path of at most 2^l edges from i to j. First
each triple fetches from the pairs (i, k) and (k, j) whether there are paths of half the length, then each pair attends
to a triple that has both. ⌈log₂ N⌉ iterations suffice. The answer for every pair is at its position.

The addresses are p = ⌈log₂ N⌉ signed bits for each vertex (the paper's ⌈log₂ N⌉ bits for iN + k cannot distinguish N²
pairs), vertices are numbered from 0, and flags mark the positions of pairs and triples. The precision is F_2.

Needs: position features for i, k and j; weights and padding depend on the number of vertices, not on the graph.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from softmachine.ir import Program, Signal, constant, loop, recogniser, stack
from softmachine.ir.gadgets import any_of
from softmachine.ir.gadgets.binary_addresses import (
    BIT_SCALE,
    address_scores,
    address_weighting,
    binary_address_features,
    conjunction,
    fetch_by_scores,
    penalty_scores,
    position_flag,
    round_to_bit,
)
from softmachine.ir.primitives import token
from softmachine.languages.graph import Graph
from softmachine.languages.run_view import GraphPicture, RunView, TokenWindow
from softmachine.support.errors import ConstructionError
from softmachine.theorems import cost
from softmachine.theorems.codec import AnsweringCodec, Interface, Outcome, Prompt, Word
from softmachine.theorems.cost import Cost, parameter
from softmachine.theorems.shared.recogniser_codec import PAD_TOKEN
from softmachine.theorems.theorem import Requirements, Theorem, TourStep
from softmachine.transformer.features import ceil_log2
from softmachine.transformer.head_view import HeadView, retrieved_bit


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
        matrix = [str(int(self.source.is_adjacent(one, other))) for one in vertices for other in vertices]
        return Prompt((*matrix, *[PAD_TOKEN] * len(vertices) ** 3), len(matrix))

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
            reached = self.source.distances_from(start)
            yield from ("true" if other in reached else "false" for other in vertices)
        yield from [None] * len(vertices) ** 3

    @property
    def source_lines(self) -> Sequence[str]:
        """The edges."""
        arrow = "→" if self.source.directed else "–"
        return tuple(f"{one} {arrow} {other}" for one, other in self.source.edges)

    def describe_output(self, output: str, position: int) -> str:
        """Describe whether there is a path between the pair of vertices at a position."""
        vertices = self.source.vertices
        if position >= len(vertices) ** 2:
            return output
        first, last = divmod(position, len(vertices))
        return f"a path from {vertices[first]} to {vertices[last]} is {output}"

    def run_view(self, word: Word, window: TokenWindow) -> RunView:
        """Return the graph; a position represents a pair of vertices, or a pair with an intermediate vertex."""
        graph, count = self.source, len(self.source.vertices)
        numbers, pairs = graph.vertex_indices, count**2
        # Padding represents (i, k, j), in the order of the theorem.
        triples = ((index // pairs, index // count % count, index % count) for index in range(count**3))
        tuples = [*((index // count, index % count) for index in range(pairs)), *triples]
        network = GraphPicture(
            vertices=graph.vertices,
            edges=[(numbers[one], numbers[other]) for one, other in graph.edges],
            directed=graph.directed,
            asked=[numbers[vertex] for vertex in graph.word(word)],
            reached=[[numbers[other] for other in graph.distances_from(vertex)] for vertex in graph.vertices],
            positions=tuples[window.first : window.first + len(window.tokens)],
        )
        edge = {pair: index for index, pair in enumerate(network.edges)}
        if not graph.directed:
            edge |= {(other, one): index for (one, other), index in edge.items()}
        active = [edge.get((ends[0], ends[-1])) for ends in network.positions]
        return RunView(
            self.source_lines, active, picture=network, focus_position=network.asked[0] * count + network.asked[1]
        )

    def parse_output(self, word: Word, emitted: Sequence[str]) -> Outcome:
        """Accepted if the second vertex is reachable from the first."""
        start, end = (self.source.vertex_indices[vertex] for vertex in self.source.word(word))
        reached = emitted[start * len(self.source.vertices) + end] == "true"
        return Outcome(verdict="accept" if reached else "reject", word=self.source.word(word))


TOUR = (
    TourStep(
        "Which vertices does this position represent?",
        "Theorem C.1 of Svete et al. 2026. There is a position for each pair (i, j), whose token is an entry of the "
        "adjacency matrix, and one of padding for each triple (i, k, j). Position features are i, k, j in signed bits.",
        ("i", "k", "j", "is pair", "is triple", "edge"),
    ),
    TourStep(
        "Paths of half the length",
        "A triple fetches from the pairs (i, k) and (k, j) whether there are paths of half the length (Lemma B.3 of "
        "Svete et al. 2026: each bit that differs lowers the score by 4). Two units compute whether there are both.",
        ("i to k", "k to j", "path over k"),
    ),
    TourStep(
        "Is there a path through some k?",
        "A pair attends to the triples with its ends; one that has both paths has the best score, so that the head "
        "retrieves whether there is one.",
        ("i to j over some k", "reached"),
    ),
    TourStep(
        "Double",
        "After iteration l, a pair has the paths of at most 2^l edges; ⌈log₂ N⌉ iterations suffice.",
        ("doubling",),
    ),
)


def _explain_path(view: HeadView, name: str, vertices: Sequence[str]) -> str | None:
    """Explain a head of a triple, "i to k" or "k to j", or of a pair; None at positions whose result is not used."""
    count, position = len(vertices), view.position
    answer = "there is a path" if retrieved_bit(view) else "no path yet"
    if name == OVER_SOME_VERTEX:
        if position >= count**2:
            return None
        first, last = divmod(position, count)
        return f"{vertices[first]} to {vertices[last]} over some vertex: {answer}"
    if not count**2 <= position < count_positions(count):
        return None
    first, rest = divmod(position - count**2, count**2)
    middle, last = divmod(rest, count)
    ends = (first, middle) if name == FIRST_HALF else (middle, last)
    if tuple(view.chosen) != (ends[0] * count + ends[1],):
        return None
    return f"{vertices[ends[0]]} to {vertices[ends[1]]}, asked at position {view.chosen[0]:,}: {answer}"


FIRST_HALF, SECOND_HALF, OVER_SOME_VERTEX = "i to k", "k to j", "i to j over some k"


TOKENS = ("0", "1", PAD_TOKEN)
MAX_VERTICES = 40
"""Maximal number of vertices; 40 vertices take 65,600 positions."""


def count_positions(vertices: int) -> int:
    """Return the number of positions for a number of vertices."""
    return vertices**2 + vertices**3


def signals(vertices: int, *, soft: bool, mask: int = 0, names: Sequence[str] = ()) -> Program:
    """Build a transformer that outputs at the position of every pair (i, j) whether j is reachable from i.

    Args:
        vertices: N.
        soft: Whether attention is softmax.
        mask: The total number of positions, if it is composed with a reduction.
        names: The names of the vertices, for explanations.

    Raises:
        ConstructionError: If there are more than the maximal number of vertices.
    """
    if vertices > MAX_VERTICES:
        raise ConstructionError(
            f"connectivity of {vertices} vertices takes {count_positions(vertices):,} positions (N² + N³)",
            hint=f"at most {MAX_VERTICES} vertices are allowed",
        )
    edge = token("edge", {"1": (1,), "0": (0,), PAD_TOKEN: (0,)})
    reached = transitive_closure(vertices, edge, soft=soft, mask=mask, names=names)
    return recogniser(f"connectivity-{vertices}", TOKENS, reached, positions=count_positions(vertices))


def transitive_closure(vertices: int, edge: Signal, *, soft: bool, mask: int = 0, names: Sequence[str] = ()) -> Signal:
    """Whether j is reachable from i, at the position of (i, j).

    Args:
        vertices: N.
        edge: At the position of (i, j), whether there is an edge from i to j; elsewhere 0.
        soft: Whether attention is softmax.
        mask: The total number of positions, if there are more than those of pairs and triples.
        names: The names of the vertices, for explanations; by default their numbers.
    """
    # Step 1. A position for each pair and each triple.
    first, middle, last, is_pair, is_triple = _index_features(vertices)
    weighting = address_weighting(soft, max(mask, count_positions(vertices)))
    names = names or [f"vertex {number}" for number in range(vertices)]

    def fetch(name: str, ends: Signal, others: Signal, value: Signal, *more: tuple[Signal, Signal]) -> Signal:
        """The value at the pair or triple with the given ends, except at ``others``."""
        scores = [address_scores(ends, stack(first, last)), penalty_scores(others), *more]
        return fetch_by_scores(
            name, scores, value, weighting, explains=partial(_explain_path, name=name, vertices=names)
        )

    def turn(reached: Signal) -> Signal:
        # Step 2. A triple fetches whether there are paths of half the length.
        before = fetch(FIRST_HALF, stack(first, middle), is_triple, reached)
        after = fetch(SECOND_HALF, stack(middle, last), is_triple, reached)
        over = conjunction("path over k", before, after, is_triple)
        # Step 3. A pair attends to a triple that has both.
        preferred = (constant(BIT_SCALE), over - 1)
        some = fetch(OVER_SOME_VERTEX, stack(first, last), is_pair, over, preferred)
        return round_to_bit("reached", some, is_pair)

    same = [int(i == j) for i in range(vertices) for j in range(vertices)]
    start = any_of("edge or same", edge, position_flag("i = j", same))
    times = ceil_log2(vertices)
    return loop("doubling", iterations=times, initial=start, body=turn) if times else start


def _index_features(vertices: int) -> tuple[Signal, Signal, Signal, Signal, Signal]:
    """i, k and j as signed bits (k = j at pairs, so that they attend to themselves), and flags of pairs and triples."""
    every = range(vertices)
    pairs = [(i, j, j) for i in every for j in every]
    triples = [(i, k, j) for i in every for k in every for j in every]
    width = max(1, ceil_log2(vertices))
    fields = (
        binary_address_features(name, width, [entry[k] for entry in (*pairs, *triples)])
        for k, name in enumerate(("i", "k", "j"))
    )
    first, middle, last = fields
    is_pair = position_flag("is pair", [1] * len(pairs))
    is_triple = position_flag("is triple", [0] * len(pairs) + [1] * len(triples))
    return first, middle, last, is_pair, is_triple


_VERTICES = parameter("N", "vertices", lambda codec: len(codec.source.vertices))

THEOREMS = (
    Theorem(
        "connectivity",
        "Graph connectivity by path doubling: ⌈log₂ N⌉ iterations, N³ positions of padding, constant precision",
        "Revisiting Padded Transformer Expressivity, Theorem C.1",
        Requirements(
            "i, k and j as position features, ⌈log₂ N⌉ bits each",
            scale="O(log N)",
            remark="padding; any F_b with b ≥ 2",
        ),
        Cost(
            {"layers": 1 + 2 * cost.ceil_log2(_VERTICES), "positions": _VERTICES**2 + _VERTICES**3},
            {"heads": 3, "width": 3 * cost.ceil_log2(_VERTICES) + 9, "precision": 2},
        ),
        Graph,
        ("hard", "soft"),
        codec=lambda graph, _: GraphCodec(graph),
        signals=lambda codec, attention: signals(
            len(codec.source.vertices), soft=attention == "soft", names=codec.source.vertices
        ),
        steps=(
            "There is a position for each pair (i, j), which reads the adjacency matrix, and one for each triple.",
            "A triple (i, k, j) fetches from (i, k) and (k, j) whether there are paths of half the length.",
            "A pair attends to a triple that has both; ⌈log₂ N⌉ iterations suffice.",
        ),
        tour=TOUR,
        rank=1,
    ),
)
