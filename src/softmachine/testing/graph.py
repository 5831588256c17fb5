"""Random graphs."""

from __future__ import annotations

from softmachine.languages.graph import Graph
from softmachine.testing.randomness import Seed, generator


def random_graph(rng: Seed, *, vertices: int = 6, max_edges: int | None = None) -> Graph:
    """Draw a directed or undirected graph, possibly with loops.

    Args:
        rng: The random generator, or a seed.
        vertices: The maximum number of vertices.
        max_edges: The maximum number of edges. Default: there is no maximum, and each vertex has 1.2 edges on average.
    """
    rng = generator(rng)
    names = tuple(f"v{k}" for k in range(rng.randint(1, vertices)))
    pairs = [(one, other) for one in names for other in names]
    if max_edges is None:
        edges = [pair for pair in pairs if rng.random() < 1.2 / len(names)]
    else:
        edges = rng.sample(pairs, rng.randint(0, min(max_edges, len(pairs))))
    return Graph(name="graph", vertices=names, edges=tuple(edges), directed=rng.random() < 0.5)
