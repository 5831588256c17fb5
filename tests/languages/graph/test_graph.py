from __future__ import annotations

import random

import networkx as nx
import pytest

from softmachine.languages.graph import Graph, parse, to_text
from softmachine.languages.source import Source
from softmachine.support.errors import InputError, InvalidError, SourceError
from tests.sources.circuits import from_networkx


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("seed", range(20))
def test_reachability_and_distances_agree_with_networkx(seed: int, directed: bool) -> None:
    theirs = nx.gnp_random_graph(1 + seed % 8, 0.25, seed=seed, directed=directed)
    ours = from_networkx(theirs)
    for start in theirs:
        expected = {
            str(vertex): steps for vertex, steps in nx.single_source_shortest_path_length(theirs, start).items()
        }
        assert ours.distances_from(str(start)) == expected
    assert parse(to_text(ours), name=ours.name) == ours or not ours.edges


def test_a_list_of_edges_is_read() -> None:
    made = parse("# roads\na -- b\nb -- c  # x\nlonely\n", source="roads.edges")
    assert made == Graph(
        name="roads", vertices=("a", "b", "c", "lonely"), edges=(("a", "b"), ("b", "c")), directed=False
    )
    assert made.is_adjacent("b", "a")
    assert not parse("a b\nb c\n").is_adjacent("b", "a")
    assert isinstance(made, Source)


@pytest.mark.parametrize(
    ("text", "place"), [("a b\nc -- d", "x.edges:2"), ("a b\n c d e", "x.edges:2:2"), ("a --", "x.edges:1")]
)
def test_a_line_that_is_no_edge_is_refused(text: str, place: str) -> None:
    with pytest.raises(SourceError) as caught:
        parse(text, source="x.edges")
    assert str(caught.value).startswith(place)


def test_a_graph_without_vertices_or_with_unknown_ones_is_refused() -> None:
    with pytest.raises(InvalidError, match="no vertices"):
        parse("# nothing\n")
    with pytest.raises(InvalidError, match="'z', which is not a vertex"):
        Graph(name="g", vertices=("a",), edges=(("a", "z"),))
    with pytest.raises(InvalidError, match="listed 2 times"):
        Graph(name="g", vertices=("a", "a"), edges=())


def test_an_input_is_two_vertices() -> None:
    made = parse("a b\nb c\n")
    assert made.word(" a  c ") == made.word(("a", "c")) == ("a", "c")
    with pytest.raises(InputError, match="'x'"):
        made.word("a x")
    for word in ("", "a", "a b c"):
        with pytest.raises(InputError, match="two vertices"):
            made.word(word)


def test_names_of_vertices_survive_a_round_trip() -> None:
    choose = random.Random(0)
    names = tuple(f"v{choose.randrange(1000)}-{k}" for k in range(10))
    made = Graph(name="g", vertices=names, edges=((names[3], names[0]), (names[0], names[0])), directed=False)
    assert parse(to_text(made), name="g") == made
