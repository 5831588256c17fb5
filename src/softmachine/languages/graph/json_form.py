"""Lossless JSON form of graphs, stored in saved models."""

from __future__ import annotations

from typing import Any

from softmachine.languages.formats import json_codec
from softmachine.languages.graph.graph import Graph
from softmachine.support.errors import SourceError


def graph_from_json(data: Any) -> Graph:
    """The inverse of :meth:`Graph.to_json`.

    Raises:
        SourceError: If the data does not have that form.
        InvalidError: If the graph is not valid.
    """
    try:
        edges = tuple((str(one), str(other)) for one, other in data["edges"])
        vertices, directed = tuple(map(str, data["vertices"])), bool(data["directed"])
        name = str(data["name"])
    except (KeyError, TypeError, ValueError) as error:
        raise SourceError(f"this is not a graph in JSON: {error!r}") from None
    return Graph(name=name, vertices=vertices, edges=edges, directed=directed)


parse_json, format_json = json_codec(Graph.to_json, graph_from_json)
