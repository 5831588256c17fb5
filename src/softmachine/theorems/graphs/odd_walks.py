"""Walks of odd length, by two composed reductions to connectivity (Lemma 5.3 of Svete et al. 2026).

Is there a walk of odd length from s to t? From a vertex of an undirected graph to itself there is one iff its component
is not bipartite. The graph is given as two incidence matrices: for every vertex and edge, whether the edge begins
there, and whether it ends there. Three transformers are composed into one:

1. **Incidence to adjacency.** Entry (i, j) is 1 if some edge begins at i and ends at j. Computing it takes padding:
   every entry has a block of m + 1 positions, one per edge, which fetches two bits, and a last one that attends to an
   edge that has both. Block and index in it are position features, as in Step 2 of the lemma's proof.
2. **Adjacency to double cover.** Each vertex v becomes two, v even and v odd; each edge leads from even to odd and from
   odd to even. This reduction reads the ends of the blocks.
3. **Connectivity** (Theorem C.1 of the same paper) of the 2N vertices; a walk of odd length is a path from s even to t
   odd.

The precision is F_2, with hard attention and with softmax; layers, loops and widths add up.

Needs: position features for all blocks; weights for N vertices and m edges.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from softmachine.ir import Program, Signal, constant, recogniser
from softmachine.ir.composition import compose
from softmachine.ir.gadgets.binary_addresses import (
    BIT_SCALE,
    address_scores,
    address_weighting,
    address_width,
    binary_address_features,
    conjunction,
    fetch_by_scores,
    position_flag,
    round_to_bit,
)
from softmachine.ir.primitives import token
from softmachine.languages.graph import Graph, to_text
from softmachine.support.errors import ConstructionError
from softmachine.theorems.codec import AnsweringCodec, Interface, Outcome, Prompt, Word
from softmachine.theorems.cost import Cost, ceil_log2, parameter
from softmachine.theorems.graphs.connectivity import MAX_VERTICES, count_positions
from softmachine.theorems.graphs.connectivity import signals as connectivity_signals
from softmachine.theorems.shared.recogniser_codec import PAD_TOKEN
from softmachine.theorems.theorem import Requirements, Theorem, TourStep
from softmachine.transformer.table_features import NO_ADDRESS


@dataclass(frozen=True)
class SequenceSizes:
    """The numbers of vertices and edges, and the sizes of the parts of the sequence.

    Args:
        vertices: N.
        edges: m, at least 1; an undirected edge counts twice.
    """

    vertices: int
    edges: int

    @property
    def incidence_bits(self) -> int:
        """The number of bits of the incidence matrices: for every vertex and edge, whether it begins or ends there."""
        return 2 * self.vertices * self.edges

    @property
    def block_size(self) -> int:
        """The number of positions per entry of the adjacency matrix: one for each edge, and one for the result."""
        return self.edges + 1

    @property
    def adjacency_size(self) -> int:
        """The number of positions of the first reduction."""
        return self.vertices**2 * self.block_size

    @property
    def cover_size(self) -> int:
        """The number of positions of connectivity, for the double cover of 2N vertices."""
        return count_positions(2 * self.vertices)

    @property
    def total_size(self) -> int:
        """The total number of positions."""
        return self.incidence_bits + self.adjacency_size + self.cover_size


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
    def sizes(self) -> SequenceSizes:
        """The sizes of the parts of the sequence."""
        return SequenceSizes(len(self.source.vertices), max(1, len(self.arcs)))

    @property
    def input_length(self) -> int:
        return 2

    def prompt(self, word: Word) -> Prompt:
        """Return the prompt, which is the same for every question: the incidence matrices and padding."""
        self.source.word(word)
        arcs = self.arcs or (("", ""),)  # A column of zeros if there is no edge.
        rows = [str(int(arc[end] == vertex)) for end in (0, 1) for vertex in self.source.vertices for arc in arcs]
        return Prompt((*rows, *[PAD_TOKEN] * (self.sizes.total_size - len(rows))), len(rows))

    def answer_position(self, start: int, end: int) -> int:
        """Return the position of the answer for a pair of vertices: that of (start, even) and (end, odd)."""
        return self.sizes.incidence_bits + self.sizes.adjacency_size + 2 * start * 2 * self.sizes.vertices + 2 * end + 1

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
            outputs=tuple((f"odd walk {u} → {v}", self.answer_position(one, other)) for (one, u), (other, v) in pairs),
        )

    def apply_reduction(self, word: Word) -> str:
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
            reached = self.source.odd_walk_ends(one)
            answers |= {
                self.answer_position(start, end): str(other in reached).lower() for end, other in enumerate(vertices)
            }
        for position in range(self.sizes.total_size):
            yield answers.get(position)

    def parse_output(self, word: Word, emitted: Sequence[str]) -> Outcome:
        """Accepted if there is a walk of odd length from the first vertex to the second."""
        start, end = (self.source.vertex_indices[vertex] for vertex in self.source.word(word))
        accepted = emitted[self.answer_position(start, end)] == "true"
        return Outcome(verdict="accept" if accepted else "reject", word=self.source.word(word))


TOKENS = ("0", "1", PAD_TOKEN)


def signals(sizes: SequenceSizes, *, soft: bool) -> Program:
    """Build a transformer that outputs for every pair of vertices whether there is a walk of odd length.

    Raises:
        ConstructionError: If there are more than the maximal number of vertices.
    """
    vertices = sizes.vertices
    if 2 * vertices > MAX_VERTICES:
        raise ConstructionError(
            f"the double cover of {vertices} vertices has {2 * vertices} vertices, and takes {sizes.cover_size:,} "
            f"positions",
            hint=f"at most {MAX_VERTICES // 2} vertices are allowed",
        )
    connects = connectivity_signals(2 * vertices, soft=soft, mask=sizes.total_size)
    covers = double_cover(sizes, soft=soft)
    rest = compose("odd walks", covers, connects, offset=vertices**2, bits=4 * vertices**2, length=sizes.cover_size)
    edges = adjacency(sizes, soft=soft)
    length = vertices**2 + sizes.cover_size
    name = f"odd-walks-{vertices}-{sizes.edges}"
    return compose(
        name, edges, rest, offset=sizes.incidence_bits, bits=vertices**2, length=length, block=sizes.block_size
    )


def adjacency(sizes: SequenceSizes, *, soft: bool) -> Program:
    """The first reduction: from incidence matrices, at the end of block iN + j, whether an edge leads from i to j."""
    count, edges, weighting = sizes.vertices, sizes.edges, address_weighting(soft, sizes.total_size)
    # Step 1. Blocks: the entry and the edge of each position.
    entries = [(i, j, e) for i in range(count) for j in range(count) for e in range(sizes.block_size)]
    before, after = [0] * sizes.incidence_bits, [0] * sizes.cover_size

    def addresses(name: str, addressed: int, table: Iterable[int]) -> Signal:
        """Addresses at the positions of blocks; elsewhere 0, which is not used."""
        return binary_address_features(name, address_width(addressed), [*before, *table, *after])

    own = binary_address_features("incidence", address_width(sizes.incidence_bits), range(sizes.incidence_bits))
    begins = addresses("edge at i", sizes.incidence_bits, (i * edges + e % edges for i, _, e in entries))
    ends = addresses("edge at j", sizes.incidence_bits, ((count + j) * edges + e % edges for _, j, e in entries))
    block = addresses("block", count**2, (i * count + j for i, j, _ in entries))
    held = [NO_ADDRESS if e == edges else i * count + j for i, j, e in entries]
    of_edge = binary_address_features(
        "block of edge", address_width(count**2), [*[NO_ADDRESS] * sizes.incidence_bits, *held]
    )
    is_edge = position_flag("is edge", [*before, *(int(e < edges) for _, _, e in entries)])
    is_end = position_flag("ends block", [*before, *(int(e == edges) for _, _, e in entries)])
    # Step 2. Each edge of a block fetches whether it begins at i, and whether it ends at j.
    bit = token("bit", {"1": (1,), "0": (0,), PAD_TOKEN: (0,)})
    leaves = fetch_by_scores("begins at i", [address_scores(begins, own)], bit, weighting)
    arrives = fetch_by_scores("ends at j", [address_scores(ends, own)], bit, weighting)
    leads = conjunction("leads from i to j", leaves, arrives, is_edge)
    # Step 3. The end of the block attends to an edge that does both.
    preferred = (constant(BIT_SCALE), leads - 1)
    some = fetch_by_scores("some edge", [address_scores(block, of_edge), preferred], leads, weighting)
    return recogniser("adjacency", TOKENS, round_to_bit("adjacent", some, is_end))


def double_cover(sizes: SequenceSizes, *, soft: bool) -> Program:
    """The second reduction: the adjacency matrix of the double cover; (i, a) leads to (j, b) iff i → j and a ≠ b."""
    count, weighting = sizes.vertices, address_weighting(soft, sizes.total_size)
    sides = [(vertex, side) for vertex in range(count) for side in (0, 1)]
    pairs = [(one, other) for one in sides for other in sides]
    # Step 4. Each entry fetches one of the adjacency matrix.
    width, before, after = address_width(count**2), [0] * count**2, [0] * (2 * count) ** 3
    sought = binary_address_features(
        "entry", width, [*before, *(one[0] * count + other[0] for one, other in pairs), *after]
    )
    own = binary_address_features("own entry", width, range(count**2))
    crosses = position_flag("crosses", [*before, *(int(one[1] != other[1]) for one, other in pairs)])
    bit = token("entry bit", {"1": (1,), "0": (0,), PAD_TOKEN: (0,)})
    found = fetch_by_scores("entry", [address_scores(sought, own)], bit, weighting)
    return recogniser("double cover", TOKENS, round_to_bit("crosses an edge", found, crosses))


TOUR = (
    TourStep(
        "Which block is this?",
        "Lemma 5.3 of Svete et al. 2026, Steps 1 and 2. Each entry (i, j) of the adjacency matrix has its own block of "
        "padding, with a position for each edge; position features encode the block and the edge.",
        ("block", "block of edge", "edge at i", "edge at j", "is edge", "ends block"),
    ),
    TourStep(
        "Does this edge lead from i to j?",
        "Step 3. An edge's position fetches two bits of the incidence matrices; the end of the block attends to an "
        "edge that has both.",
        ("begins at i", "ends at j", "leads from i to j", "some edge", "adjacent"),
    ),
    TourStep(
        "The double cover",
        "The second reduction reads the ends of the blocks, and avoids all other positions (Step 4): an edge leads "
        "from a vertex that is even to one that is odd, and back.",
        ("entry", "crosses an edge", "letter"),
    ),
    TourStep(
        "Is there a path?",
        "Theorem C.1 of Svete et al. 2026. A path from s even to t odd is a walk of odd length.",
        ("i to k", "k to j", "path over k", "i to j over some k", "reached", "doubling"),
    ),
)

_VERTICES = parameter("N", "vertices", lambda codec: codec.sizes.vertices)
_EDGES = parameter("m", "max(1, directed edges)", lambda codec: codec.sizes.edges)

THEOREMS = (
    Theorem(
        "odd-walks",
        "Walks of odd length, by two composed reductions to connectivity, one with padding in blocks",
        "Revisiting Padded Transformer Expressivity, Lemma 5.3 and Theorem C.1",
        Requirements(
            "blocks and indices in them as position features",
            scale="O(log positions)",
            remark="padding; any F_b with b ≥ 2",
        ),
        Cost(
            {
                "layers": 6 + 2 * ceil_log2(2 * _VERTICES),
                "positions": 2 * _VERTICES * _EDGES + _VERTICES**2 * (_EDGES + 1) + 4 * _VERTICES**2 + 8 * _VERTICES**3,
            },
            {"heads": 7, "precision": 2},
        ),
        Graph,
        ("hard", "soft"),
        codec=lambda graph, _: WalkCodec(graph),
        signals=lambda codec, attention: signals(codec.sizes, soft=attention == "soft"),
        steps=(
            "The first reduction has a block for each entry (i, j) of the adjacency matrix, a position for each edge.",
            "Each of them fetches whether the edge begins at i and ends at j.",
            "The end of a block attends to an edge that does both.",
            "The second reduction makes two vertices of each: edges lead from even to odd and from odd to even.",
            "Connectivity finds a path from s even to t odd.",
        ),
        tour=TOUR,
        rank=2,
    ),
)
