"""Graphs: data type, reachability, and edge lists."""

from softmachine.languages.graph.edges import parse, to_text
from softmachine.languages.graph.graph import Graph

__all__ = ["Graph", "parse", "to_text"]
