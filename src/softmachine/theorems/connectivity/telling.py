"""Explanations of the heads of connectivity: paths between vertices."""

from __future__ import annotations

from softmachine.theorems.connectivity.tokens import GraphCodec
from softmachine.theorems.theorem import Guide
from softmachine.transformer.sight import Number, Sight

GUIDE = (
    Guide(
        "Which vertices does this position represent?",
        "Theorem C.1 of Svete et al. 2026. There is a position for each pair (i, j), whose token is an entry of the "
        "adjacency matrix, and one of padding for each triple (i, k, j). Position features are i, k, j in signed bits.",
        ("i", "k", "j", "is pair", "is triple", "edge"),
    ),
    Guide(
        "Paths of half the length",
        "A triple fetches from the pairs (i, k) and (k, j) whether there are paths of half the length (Lemma B.3 of "
        "Svete et al. 2026: each bit that differs lowers the score by 4). Two units compute whether there are both.",
        ("i to k", "k to j", "path over k"),
    ),
    Guide(
        "Is there a path through some k?",
        "A pair attends to the triples with its ends; one that has both paths has the best score, so that the head "
        "retrieves whether there is one.",
        ("i to j over some k", "reached"),
    ),
    Guide(
        "Double",
        "After iteration l, a pair has the paths of at most 2^l edges; ⌈log₂ N⌉ iterations suffice.",
        ("doubling",),
    ),
)


def tell(codec: GraphCodec, sight: Sight) -> str | None:
    """Explain an observation of a head; None at positions whose result is not used."""
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
