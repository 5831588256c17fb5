"""Graphs: the data type, what can be reached from where, and lists of edges."""

from softmachine.languages.graph.edges import looks_like, parse, to_text
from softmachine.languages.graph.graph import Graph

__all__ = ["Graph", "looks_like", "parse", "to_text"]
