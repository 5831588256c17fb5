"""Circuits and graphs that several tests use."""

from __future__ import annotations

from typing import Any

from softmachine.languages.graph import Graph

BENCH = """# half adder, and more
INPUT(a)
INPUT(b)
OUTPUT(sum)
OUTPUT(carry)
OUTPUT(most)
sum = XOR(a, b)  # x
carry = AND(a, b)
most = THR2(a, b, b)
"""
BLIF = """# half adder, and more
.model half \\
adder
.inputs a b
.outputs sum carry odd
.names a b sum
10 1
01 1
.names a b carry
11 1
.names a b sum odd
1-0 1
011 1
.end
"""
AIGER = """aag 5 2 0 2 3
2
4
10
6
6 2 4
8 3 5
10 7 9
i0 a
i1 b
o0 sum
o1 carry
c
half adder
"""
BRISTOL = """3 5
2 1 1
1 2

2 1 0 1 2 XOR
2 1 0 1 3 AND
1 1 2 4 EQW
"""
EDGES = "# x\na b\nb c\nd e  # y\n"


def from_networkx(graph: Any, name: str | None = None) -> Graph:
    """A networkx graph (of any class) as a graph; the names of vertices are their ``str``."""
    return Graph(
        name=name or str(getattr(graph, "name", "")) or "graph",
        vertices=tuple(map(str, graph.nodes)),
        edges=tuple((str(one), str(other)) for one, other in graph.edges()),
        directed=graph.is_directed(),
    )
