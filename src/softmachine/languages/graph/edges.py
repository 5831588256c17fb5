"""Edge lists, ``.edges``: one directed edge ``u v`` or undirected edge ``u -- v`` per line.

A line with one name declares a vertex, which may be isolated. ``#`` begins a comment. All edges of a file are directed,
or all are undirected.
"""

from __future__ import annotations

from softmachine.languages.graph.graph import Graph
from softmachine.languages.source import name_of
from softmachine.support.errors import Place, SourceError

LINK = "--"
LARGEST_SOURCE = 1 << 22
"""Maximum characters of a source."""
EXAMPLE = "an edge is written u v if it is directed, and u -- v if not"


def parse(text: str, *, source: str = "<string>", name: str | None = None) -> Graph:
    """Parse an edge list."""
    if len(text) > LARGEST_SOURCE:
        raise SourceError(f"this is longer than {LARGEST_SOURCE:,} characters", place=Place(source))
    vertices: dict[str, None] = {}
    edges: list[tuple[str, str]] = []
    directed: bool | None = None
    for number, line in enumerate(text.split("\n"), start=1):
        names = line.partition("#")[0].split()
        place = Place(source, number, len(line) - len(line.lstrip()) + 1)
        undirected = len(names) == 3 and names[1] == LINK
        if undirected:
            names = [names[0], names[2]]
        if len(names) > 2 or LINK in names:
            raise SourceError(f"this is not an edge\n    {line.strip()[:100]}", place=place, hint=EXAMPLE)
        if len(names) == 2:
            if directed is undirected:
                kinds = "directed" if directed else "undirected"
                raise SourceError(f"the edges before this one are {kinds}", place=place, hint=EXAMPLE)
            directed = not undirected
            edges.append((names[0], names[1]))
        vertices |= dict.fromkeys(names)
    return Graph(
        name=name or name_of(source) or "graph",
        vertices=tuple(vertices),
        edges=tuple(edges),
        directed=directed is not False,
        place=Place(source),
    )


def to_text(graph: Graph) -> str:
    """Format a graph as a list of its vertices, which preserves their order, and its edges."""
    link = " " if graph.directed else f" {LINK} "
    return "\n".join([*graph.vertices, *(link.join(edge) for edge in graph.edges)]) + "\n"
