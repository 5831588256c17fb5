"""Graph connectivity by doubling, against networkx."""

from __future__ import annotations

from itertools import product

import networkx as nx
import pytest

from softmachine import api
from softmachine.engines.dense.engine import DenseEngine
from softmachine.ir import evaluate as evaluate_signal
from softmachine.languages.graph import Graph, parse
from softmachine.support.errors import ConstructionError
from softmachine.theorems.graphs.connectivity import MAX_VERTICES, signals
from tests.sources.circuits import from_networkx


def answers(graphs: list[nx.Graph], attention: str, arithmetic: str) -> list[list[str]]:
    """The outputs of one model for graphs with the same number of vertices."""
    ours = [from_networkx(graph) for graph in graphs]
    engine = DenseEngine(api.compile(ours[0], attention=attention).weights, arithmetic)
    prompts = [api.compile(graph, attention=attention).codec.prompt(graph.vertices[:1] * 2) for graph in ours]
    said = engine.predict([prompt.tokens for prompt in prompts], prompts[0].length)
    return [row[: len(graph) ** 2] for row, graph in zip(said, graphs, strict=True)]


def reached(graph: nx.Graph) -> list[str]:
    return ["true" if nx.has_path(graph, s, t) else "false" for s in graph for t in graph]


def directed(vertices: int, bits: tuple[int, ...]) -> nx.DiGraph:
    graph = nx.empty_graph(vertices, create_using=nx.DiGraph)
    pairs = [(i, j) for i in range(vertices) for j in range(vertices) if i != j]
    graph.add_edges_from(pair for pair, bit in zip(pairs, bits, strict=True) if bit)
    return graph


@pytest.mark.parametrize(("attention", "arithmetic"), [("hard", "fixed:2"), ("soft", "fixed:2"), ("hard", "float64")])
def test_every_directed_graph_with_three_vertices(attention: str, arithmetic: str) -> None:
    graphs = [directed(3, bits) for bits in product((0, 1), repeat=6)]
    assert len(graphs) == 64
    assert answers(graphs, attention, arithmetic) == [reached(graph) for graph in graphs]


@pytest.mark.parametrize("arithmetic", ["float64", "fixed:2", "fixed:3", "fixed:7"])
@pytest.mark.parametrize("attention", ["hard", "soft"])
def test_small_graphs_of_both_sorts(attention: str, arithmetic: str) -> None:
    for way in (True, False):
        graphs = [nx.gnp_random_graph(4, 0.3, seed=seed, directed=way) for seed in range(5)]
        assert answers(graphs, attention, arithmetic) == [reached(graph) for graph in graphs]


def test_a_path_as_long_as_can_be() -> None:
    graph = nx.path_graph(5, create_using=nx.DiGraph)
    assert answers([graph], "hard", "fixed:2") == [reached(graph)]
    assert answers([nx.cycle_graph(1)], "hard", "fixed:2") == [["true"]]


def test_signals_keep_their_promises() -> None:
    program = signals(2, soft=False)
    for bits in product("01", repeat=4):
        logits = evaluate_signal(program.logits, (*bits, *"□□□□□□□□"), 4)
        assert [logits[k][1] > 0 for k in range(4)] == [True, bits[1] == "1", bits[2] == "1", True]


def test_the_weights_depend_on_the_number_of_vertices_only() -> None:
    one, other = (api.compile(parse(text)).weights for text in ("a b\nb c\n", "x -- y\nz -- y\n"))
    assert (one.blocks, one.embedding, one.features) == (other.blocks, other.embedding, other.features)
    assert one.blocks[-1].repeats == 2
    assert one.width == 3 * 2 + 9


def test_a_question_is_answered() -> None:
    graph = parse("a -- b\nc -- d\n", source="roads.edges")
    assert api.run(graph, "b a", arithmetic="fixed:2").accepted
    assert not api.run(graph, "b c", arithmetic="fixed:2").accepted
    assert api.check(graph, up_to=2, arithmetic="fixed:2")


def test_too_many_vertices_are_refused() -> None:
    vertices = tuple(f"v{k}" for k in range(MAX_VERTICES + 1))
    with pytest.raises(ConstructionError, match="70,602 positions"):
        api.compile(Graph(name="g", vertices=vertices, edges=()))


@pytest.mark.slow
@pytest.mark.parametrize("way", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize("vertices", [4, 5, 6])
def test_random_graphs_agree_for_every_pair(vertices: int, way: bool) -> None:
    graphs = [nx.gnp_random_graph(vertices, 1.2 / vertices, seed=seed, directed=way) for seed in range(50)]
    for start in range(0, 50, 10):
        some = graphs[start : start + 10]
        assert answers(some, "hard" if start % 20 else "soft", "fixed:2") == [reached(graph) for graph in some]
