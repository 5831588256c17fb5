"""Graphs: data type, reachability, and edge lists."""

from softmachine.languages.graph.graph import Graph, parse, to_text

__all__ = ["Graph", "parse", "to_text"]
