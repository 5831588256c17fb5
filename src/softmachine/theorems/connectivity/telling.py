"""A walk through one position of connectivity, and what its heads saw: paths between vertices."""

from __future__ import annotations

from softmachine.theorems.connectivity.tokens import GraphCodec
from softmachine.theorems.theorem import Guide
from softmachine.transformer.sight import Number, Sight

GUIDE = (
    Guide(
        "Which vertices stand here?",
        "Theorem C.1. There is a position for each pair (i, j), whose token is an entry of the adjacency matrix, and "
        "one of padding for each triple (i, k, j). Position features say which, in signed bits.",
        ("i", "k", "j", "is pair", "is triple", "edge"),
    ),
    Guide(
        "Paths of half the length",
        "A triple fetches from the pairs (i, k) and (k, j) whether there are paths of half the length (Lemma B.3: "
        "addresses agree, or cost 4 a bit). One unit says whether there are both.",
        ("i to k", "k to j", "path over k"),
    ),
    Guide(
        "Is there a way over some k?",
        "A pair looks at the triples with its ends; one that has both paths has the best score, so that the head "
        "retrieves whether there is one.",
        ("i to j over some k", "reached"),
    ),
    Guide(
        "Double",
        "After turn l, a pair knows the paths of at most 2^l edges; ⌈log₂ N⌉ turns suffice (Theorem C.1).",
        ("doubling",),
    ),
)


def tell(codec: GraphCodec, sight: Sight) -> str | None:
    """What a head found out about paths; None where nobody needs it."""
    vertices, position = codec.source.vertices, sight.position
    count = len(vertices)
    found = sight.added.get(sight.name)
    if found is None:
        return None
    if position < count**2 and sight.name == "i to j over some k":
        first, last = divmod(position, count)
        return f"{vertices[first]} to {vertices[last]} over some vertex: {_answer(found)}"
    if position < count**2 or sight.name == "i to j over some k":
        return None
    first, rest = divmod(position - count**2, count**2)
    middle, last = divmod(rest, count)
    ends = (first, middle) if sight.name == "i to k" else (middle, last)
    return f"{vertices[ends[0]]} to {vertices[ends[1]]}, asked at position {sight.chosen[0]:,}: {_answer(found)}"


def _answer(found: Number) -> str:
    return "there is a path" if float(found) > 0.5 else "no path yet"
