"""Finite graphs, directed or undirected, with reachability.

Saved models store a graph as JSON, without loss. Users write edge lists, ``.edges``: one directed edge ``u v`` or
undirected edge ``u -- v`` per line.

A line with one name declares a vertex, which may be isolated. ``#`` begins a comment. All edges of a file are directed,
or all are undirected.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from softmachine.languages.formats import make_json_codec
from softmachine.languages.source import default_name, find_name_problems, find_repetitions
from softmachine.support.errors import InputError, InvalidError, SourceError, SourceLocation
from softmachine.support.notebook_html import html_table
from softmachine.support.text import pluralize

MAX_VERTICES = 1 << 12
"""Maximum number of vertices."""
MAX_SHOWN_EDGES = 100
"""Maximum edges shown in a notebook."""


@dataclass(frozen=True, kw_only=True)
class Graph:
    """A graph. An input is a pair of vertices, s and t: is there a path from s to t? Every vertex reaches itself.

    Args:
        name: Name of the graph.
        vertices: The vertices, in the order of the source.
        edges: Pairs of vertices.
        directed: Whether edges are directed.
        place: Location in the source.
    """

    language: ClassVar[str] = "graph"
    default_input: ClassVar[tuple[str, ...]] = ()
    name: str
    vertices: tuple[str, ...]
    edges: tuple[tuple[str, str], ...]
    directed: bool = True
    place: SourceLocation | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        problems = find_name_problems((self.name, *self.vertices)) or list(_find_problems(self))
        if problems:
            raise InvalidError(f"graph {self.name!r}", problems, place=self.place)

    @property
    def alphabet(self) -> tuple[str, ...]:
        """The symbols of an input: the vertices."""
        return self.vertices

    @cached_property
    def vertex_indices(self) -> dict[str, int]:
        """The index of each vertex, counted from 0."""
        return {vertex: index for index, vertex in enumerate(self.vertices)}

    @cached_property
    def successors(self) -> dict[str, tuple[str, ...]]:
        """The successors of each vertex."""
        found: dict[str, dict[str, None]] = {vertex: {} for vertex in self.vertices}
        for one, other in self.edges:
            found[one][other] = None
            if not self.directed:
                found[other][one] = None
        return {vertex: tuple(others) for vertex, others in found.items()}

    def is_adjacent(self, one: str, other: str) -> bool:
        """Whether there is an edge from one vertex to another."""
        return other in self.successors[one]

    def distances_from(self, start: str) -> dict[str, int]:
        """The vertices reachable from a vertex, with their distances (breadth-first search)."""
        distance = {start: 0}
        for vertex in (queue := [start]):
            for other in self.successors[vertex]:
                if other not in distance:
                    distance[other] = distance[vertex] + 1
                    queue.append(other)
        return distance

    def odd_walk_ends(self, start: str) -> set[str]:
        """The vertices at the end of a walk of odd length from a vertex; vertices and edges may repeat."""
        found = {(start, False)}
        for vertex, odd in (queue := list(found)):
            for other in self.successors[vertex]:
                if (other, not odd) not in found:
                    found.add((other, not odd))
                    queue.append((other, not odd))
        return {vertex for vertex, odd in found if odd}

    def word(self, text: str | Iterable[str]) -> tuple[str, ...]:
        """Parse an input: two vertices, separated by a space."""
        symbols = tuple(text.split() if isinstance(text, str) else text)
        for index, symbol in enumerate(symbols):
            if symbol not in self.vertex_indices:
                raise InputError(
                    f"{symbol!r} at position {index + 1} of the input is not a vertex of {self.name!r}",
                    hint=f"the vertices are {' '.join(self.vertices[:20])}{' …' if len(self.vertices) > 20 else ''}",
                )
        if len(symbols) != 2:
            raise InputError(
                f"an input of a graph is two vertices, s and t, but this is {pluralize(len(symbols), 'name')}",
                hint="separate them by a space, as in: softmachine run FILE 's t'",
            )
        return symbols

    def __str__(self) -> str:
        kind = "directed" if self.directed else "undirected"
        return f"{kind} graph {self.name}: {len(self.vertices)} vertices, {pluralize(len(self.edges), 'edge')}"

    def to_json(self) -> dict[str, object]:
        """Convert to dictionaries, lists and strings, losslessly."""
        return {
            "name": self.name,
            "vertices": list(self.vertices),
            "edges": [list(edge) for edge in self.edges],
            "directed": self.directed,
        }

    def _repr_html_(self) -> str:
        arrow = "→" if self.directed else "–"
        rows = [[f"{one} {arrow} {other}"] for one, other in self.edges[:MAX_SHOWN_EDGES]]
        rows += (
            [[f"… {pluralize(len(self.edges) - MAX_SHOWN_EDGES, 'more edge')}"]]
            if len(self.edges) > MAX_SHOWN_EDGES
            else []
        )
        return html_table(rows, str(self))


def _find_problems(graph: Graph) -> Iterator[str]:
    """All problems of a definition, one sentence each."""
    if not graph.vertices:
        yield "it has no vertices"
    if len(graph.vertices) > MAX_VERTICES:
        yield f"it has {len(graph.vertices):,} vertices; at most {MAX_VERTICES:,} are allowed"
    yield from find_repetitions(graph.vertices, "vertex {!r} is listed {} times")
    for vertex in dict.fromkeys(graph.vertices):
        if not vertex or any(character.isspace() for character in vertex):
            yield f"{vertex!r} is not the name of a vertex; a name has at least one character and no spaces"
    known = set(graph.vertices)
    for edge in graph.edges:
        for vertex in set(edge) - known:
            yield f"the edge {' '.join(edge)} leads to {vertex!r}, which is not a vertex"


def graph_from_json(data: Any) -> Graph:
    """The inverse of :meth:`Graph.to_json`.

    Raises:
        KeyError, TypeError, ValueError: If the data does not have that form.
        InvalidError: If the graph is not valid.
    """
    edges = tuple((str(one), str(other)) for one, other in data["edges"])
    vertices = tuple(map(str, data["vertices"]))
    return Graph(name=str(data["name"]), vertices=vertices, edges=edges, directed=bool(data["directed"]))


parse_json, format_json = make_json_codec("a graph", Graph.to_json, graph_from_json)


UNDIRECTED_LINK = "--"
MAX_SOURCE_LENGTH = 1 << 22
"""Maximum characters of a source."""
SYNTAX_HINT = "an edge is written u v if it is directed, and u -- v if not"


def parse(text: str, *, source: str = "<string>", name: str | None = None) -> Graph:
    """Parse an edge list."""
    if len(text) > MAX_SOURCE_LENGTH:
        raise SourceError(f"this is longer than {MAX_SOURCE_LENGTH:,} characters", place=SourceLocation(source))
    vertices: dict[str, None] = {}
    edges: list[tuple[str, str]] = []
    directed: bool | None = None
    for number, line in enumerate(text.split("\n"), start=1):
        names = line.partition("#")[0].split()
        place = SourceLocation(source, number, len(line) - len(line.lstrip()) + 1)
        undirected = len(names) == 3 and names[1] == UNDIRECTED_LINK
        if undirected:
            names = [names[0], names[2]]
        if len(names) > 2 or UNDIRECTED_LINK in names:
            raise SourceError(f"this is not an edge\n    {line.strip()[:100]}", place=place, hint=SYNTAX_HINT)
        if len(names) == 2:
            if directed is undirected:
                kinds = "directed" if directed else "undirected"
                raise SourceError(f"the edges before this one are {kinds}", place=place, hint=SYNTAX_HINT)
            directed = not undirected
            edges.append((names[0], names[1]))
        vertices |= dict.fromkeys(names)
    return Graph(
        name=name or default_name(source) or "graph",
        vertices=tuple(vertices),
        edges=tuple(edges),
        directed=directed is not False,
        place=SourceLocation(source),
    )


def to_text(graph: Graph) -> str:
    """Format a graph as a list of its vertices, which preserves their order, and its edges."""
    link = " " if graph.directed else f" {UNDIRECTED_LINK} "
    return "\n".join([*graph.vertices, *(link.join(edge) for edge in graph.edges)]) + "\n"
