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

from softmachine.ir import Program, Signal, constant, loop, recogniser, stack
from softmachine.ir.gadgets import any_of
from softmachine.ir.gadgets.bit_addresses import UNIT, avoiding, both, by_bits, fetched, matching, settled
from softmachine.ir.gadgets.wiring import binary_address, flag
from softmachine.ir.primitives import token
from softmachine.languages.graph import Graph
from softmachine.support.errors import ConstructionError
from softmachine.theorems import cost
from softmachine.theorems.connectivity.telling import GUIDE, tell
from softmachine.theorems.connectivity.tokens import GraphCodec
from softmachine.theorems.cost import Cost, parameter
from softmachine.theorems.shared.special_tokens import PAD
from softmachine.theorems.theorem import Needs, Theorem
from softmachine.transformer.features import ceil_log2

TOKENS = ("0", "1", PAD)
MOST_VERTICES = 40
"""Maximal number of vertices; 40 vertices take 65,600 positions."""


def positions(vertices: int) -> int:
    """Return the number of positions for a number of vertices."""
    return vertices**2 + vertices**3


def signals(vertices: int, *, soft: bool, among: int = 0) -> Program:
    """Build a transformer that outputs at the position of every pair (i, j) whether j is reachable from i.

    Args:
        vertices: N.
        soft: Whether attention is softmax.
        among: The total number of positions, if it is composed with a reduction.

    Raises:
        ConstructionError: If there are more than the maximal number of vertices.
    """
    if vertices > MOST_VERTICES:
        raise ConstructionError(
            f"connectivity of {vertices} vertices takes {positions(vertices):,} positions (N² + N³)",
            hint=f"at most {MOST_VERTICES} vertices are allowed",
        )
    edge = token("edge", {"1": (1,), "0": (0,), PAD: (0,)})
    reached = closure(vertices, edge, soft=soft, among=among)
    return recogniser(f"connectivity-{vertices}", TOKENS, reached, positions=positions(vertices))


def closure(vertices: int, edge: Signal, *, soft: bool, among: int = 0) -> Signal:
    """Whether j is reachable from i, at the position of (i, j).

    Args:
        vertices: N.
        edge: At the position of (i, j), whether there is an edge from i to j; elsewhere 0.
        soft: Whether attention is softmax.
        among: The total number of positions, if there are more than those of pairs and triples.
    """
    # Step 1. A position for each pair and each triple.
    first, middle, last, is_pair, is_triple = _fields(vertices)
    weighting = by_bits(soft, max(among, positions(vertices)))

    def fetch(name: str, ends: Signal, others: Signal, value: Signal, *more: tuple[Signal, Signal]) -> Signal:
        """The value at the pair or triple with the given ends, except at ``others``."""
        return fetched(name, [matching(ends, stack(first, last)), avoiding(others), *more], value, weighting)

    def turn(reached: Signal) -> Signal:
        # Step 2. A triple fetches whether there are paths of half the length.
        before = fetch("i to k", stack(first, middle), is_triple, reached)
        after = fetch("k to j", stack(middle, last), is_triple, reached)
        over = both("path over k", before, after, is_triple)
        # Step 3. A pair attends to a triple that has both.
        preferred = (constant(UNIT), over - 1)
        some = fetch("i to j over some k", stack(first, last), is_pair, over, preferred)
        return settled("reached", some, is_pair)

    same = [int(i == j) for i in range(vertices) for j in range(vertices)]
    start = any_of("edge or same", edge, flag("i = j", same))
    times = ceil_log2(vertices)
    return loop("doubling", times=times, carry=start, body=turn) if times else start


def _fields(vertices: int) -> tuple[Signal, Signal, Signal, Signal, Signal]:
    """i, k and j as signed bits (k = j at pairs, so that they attend to themselves), and flags of pairs and triples."""
    every = range(vertices)
    pairs = [(i, j, j) for i in every for j in every]
    triples = [(i, k, j) for i in every for k in every for j in every]
    width = max(1, ceil_log2(vertices))
    fields = (
        binary_address(name, width, [entry[k] for entry in (*pairs, *triples)])
        for k, name in enumerate(("i", "k", "j"))
    )
    first, middle, last = fields
    is_pair = flag("is pair", [1] * len(pairs))
    is_triple = flag("is triple", [0] * len(pairs) + [1] * len(triples))
    return first, middle, last, is_pair, is_triple


_VERTICES = parameter("N", "vertices", lambda codec: len(codec.source.vertices))

THEOREMS = (
    Theorem(
        "connectivity",
        "Graph connectivity by path doubling: ⌈log₂ N⌉ iterations, N³ positions of padding, constant precision",
        "Revisiting Padded Transformer Expressivity, Theorem C.1",
        Needs(
            "i, k and j as position features, ⌈log₂ N⌉ bits each",
            scale="O(log N)",
            also="padding; any F_b with b ≥ 2",
        ),
        Cost(
            {"layers": 1 + 2 * cost.ceil_log2(_VERTICES), "positions": _VERTICES**2 + _VERTICES**3},
            {"heads": 3, "width": 3 * cost.ceil_log2(_VERTICES) + 9, "precision": 2},
        ),
        Graph,
        ("hard", "soft"),
        codec=lambda graph, _: GraphCodec(graph),
        signals=lambda codec, attention: signals(len(codec.source.vertices), soft=attention == "soft"),
        steps=(
            "There is a position for each pair (i, j), which reads the adjacency matrix, and one for each triple.",
            "A triple (i, k, j) fetches from (i, k) and (k, j) whether there are paths of half the length.",
            "A pair attends to a triple that has both; ⌈log₂ N⌉ iterations suffice.",
        ),
        guide=GUIDE,
        tells=tell,
        rank=1,
    ),
)
