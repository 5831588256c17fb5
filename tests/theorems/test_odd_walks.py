"""A chain of two reductions: incidence to adjacency, in blocks with padding of their own, to double cover."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from softmachine import api
from softmachine.compiler import compile_program
from softmachine.engines.dense.engine import DenseEngine
from softmachine.ir import evaluate as evaluate_signal
from softmachine.languages.graph import Graph, parse
from softmachine.support.errors import ConstructionError
from softmachine.theorems.graphs.odd_walks import SequenceSizes, WalkCodec, adjacency, signals
from softmachine.transformer.features import ceil_log2


def graph(vertices: int, edges: tuple[tuple[int, int], ...], *, directed: bool = True) -> Graph:
    names = tuple(f"v{k}" for k in range(vertices))
    return Graph(
        name="g", vertices=names, edges=tuple((names[one], names[other]) for one, other in edges), directed=directed
    )


def by_counting(source: Graph, start: str) -> set[str]:
    """Where walks of odd length lead, walk by walk: no more than 2N edges are needed."""
    at, found = {start}, set[str]()
    for length in range(1, 2 * len(source.vertices) + 2):
        at = {other for vertex in at for other in source.successors[vertex]}
        found |= at if length % 2 else set()
    return found


def wrong(sources: list[Graph], soft: bool, arithmetic: str) -> list[str]:
    """Graphs of one size that one model gets wrong."""
    codecs = [WalkCodec(source) for source in sources]
    (sizes,) = {codec.sizes for codec in codecs}
    engine = DenseEngine(compile_program(signals(sizes, soft=soft)), arithmetic)
    question = (sources[0].vertices[0],) * 2
    said = engine.predict([codec.prompt(question).tokens for codec in codecs], sizes.incidence_bits)
    bad = []
    for codec, row in zip(codecs, said, strict=True):
        expected = tuple(codec.expected(question, 0))
        if any(want not in (None, got) for want, got in zip(expected, row, strict=True)):
            bad.append(str(codec.source.edges))
    return bad


PAIRS = list(product(range(2), range(2)))
EVERY = [graph(2, edges) for count in (1, 2) for edges in product(PAIRS, repeat=count) if len(set(edges)) == count]


@pytest.mark.parametrize(("soft", "arithmetic"), [(False, "fixed:2"), (True, "fixed:2"), (True, "float64")])
@pytest.mark.parametrize("edges", [1, 2])
def test_every_graph_of_two_vertices(edges: int, soft: bool, arithmetic: str) -> None:
    assert wrong([source for source in EVERY if len(source.edges) == edges], soft, arithmetic) == []


def test_random_graphs_of_three_vertices() -> None:
    rng = Random(3)
    pairs = list(product(range(3), range(3)))
    assert wrong([graph(3, tuple(rng.sample(pairs, 4))) for _ in range(3)], False, "float64") == []


@pytest.mark.parametrize("seed", range(30))
def test_the_reference_and_the_reduction_agree_with_walks_that_are_counted(seed: int) -> None:
    rng = Random(seed)
    pairs = list(product(range(5), range(5)))
    source = graph(5, tuple(rng.sample(pairs, rng.randint(0, 7))), directed=rng.random() < 0.5)
    cover = parse(WalkCodec(source).apply_reduction("v0 v0"))
    for start in source.vertices:
        assert source.odd_walk_ends(start) == by_counting(source, start)
        reached = cover.distances_from(f"{start}.even")
        assert {other for other in source.vertices if f"{other}.odd" in reached} == source.odd_walk_ends(start)


def test_two_colours_are_enough_where_no_odd_walk_returns() -> None:
    square = graph(4, ((0, 1), (1, 2), (2, 3), (3, 0)), directed=False)
    triangle = graph(3, ((0, 1), (1, 2), (2, 0)), directed=False)
    assert "v0" not in square.odd_walk_ends("v0")
    assert "v0" in triangle.odd_walk_ends("v0")
    model = api.compile(triangle, "odd-walks")
    assert api.run(model, "v0 v0").accepted


@pytest.mark.parametrize("vertices", [1, 2, 3, 4, 5, 6])
def test_layers_and_positions_are_those_of_the_formula(vertices: int) -> None:
    """Lemma 5.3: depths add up, and blocks have padding of their own."""
    edges = 2 * vertices
    sizes = SequenceSizes(vertices, edges)
    total = 2 * vertices * edges + vertices**2 * (edges + 1) + 4 * vertices**2 + 8 * vertices**3
    assert sizes.total_size == total
    program = signals(sizes, soft=False)
    assert program.position_count == total
    weights = compile_program(program)
    assert sum(len(block.layers) * block.iterations(None) for block in weights.blocks) == 6 + 2 * ceil_log2(
        2 * vertices
    )


def test_the_first_reduction_says_the_adjacency_matrix_at_the_ends_of_its_blocks() -> None:
    source = graph(2, ((0, 1), (1, 1)))
    codec = WalkCodec(source)
    logits = evaluate_signal(adjacency(codec.sizes, soft=False).logits, codec.prompt("v0 v0").tokens, 8)
    ends = range(
        codec.sizes.incidence_bits + codec.sizes.block_size - 1,
        codec.sizes.incidence_bits + codec.sizes.adjacency_size,
        codec.sizes.block_size,
    )
    assert [int(logits[place][1] > 0) for place in ends] == [0, 1, 0, 1]


def test_what_goes_in_and_comes_out_has_names() -> None:
    codec = WalkCodec(graph(2, ((0, 1),)))
    interface = codec.interface()
    assert interface.inputs[:2] == ("v0 → v1 begins at v0", "v0 → v1 begins at v1")
    assert interface.outputs[1] == ("odd walk v0 → v1", codec.answer_position(0, 1))
    assert len(interface.inputs) == codec.sizes.incidence_bits


def test_signals_of_the_chain_keep_their_promises() -> None:
    source = graph(1, ((0, 0),))
    codec = WalkCodec(source)
    logits = evaluate_signal(signals(codec.sizes, soft=False).logits, codec.prompt("v0 v0").tokens, 2)
    assert logits[codec.answer_position(0, 0)][1] > 0


def test_graphs_without_edges_and_graphs_that_are_too_large() -> None:
    assert not api.run(api.compile(graph(2, ()), "odd-walks"), "v0 v1").accepted
    with pytest.raises(ConstructionError, match="at most 20 vertices"):
        api.compile(graph(21, ()), "odd-walks")


@pytest.mark.slow
@pytest.mark.parametrize(("soft", "arithmetic"), [(False, "fixed:2"), (True, "float64")])
def test_random_graphs_of_four_vertices(soft: bool, arithmetic: str) -> None:
    rng = Random(4)
    pairs = list(product(range(4), range(4)))
    assert wrong([graph(4, tuple(rng.sample(pairs, 5))) for _ in range(20)], soft, arithmetic) == []
