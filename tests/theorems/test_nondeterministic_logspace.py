"""NL: machines that guess in logarithmic space, by their configuration graphs."""

from __future__ import annotations

from itertools import product

import pytest

import softmachine as sm
from softmachine import api
from softmachine.compiler import compile_program
from softmachine.engines.dense.engine import DenseEngine
from softmachine.languages.logspace import LogspaceMachine, accepts, parse
from softmachine.support.errors import ConstructionError, InputError
from softmachine.testing import load_as
from softmachine.theorems.graphs.configuration_graph import signals
from softmachine.theorems.graphs.connectivity import count_positions
from softmachine.theorems.graphs.nondeterministic_logspace import ConfigurationGraph, LogspaceCodec, VertexSelection
from softmachine.transformer.features import ceil_log2
from tests.models import model_of


@pytest.mark.parametrize("name", ["anbn-logspace", "equal-blocks"])
@pytest.mark.parametrize(("attention", "arithmetic"), [("hard", "float64"), ("soft", "fixed:2"), ("hard", "fixed:2")])
@pytest.mark.parametrize("length", [0, 1, 3])
def test_every_short_word(name: str, length: int, attention: str, arithmetic: str) -> None:
    model = model_of(name, "nl-configuration-graph", attention, length)
    assert api.check(model, up_to=length, arithmetic=arithmetic).holds


def test_words_that_the_machine_counts() -> None:
    model = model_of("anbn-logspace", None, "hard", 4)
    assert [word for word in ("aabb", "abab", "aaab") if api.run(model, word).accepted] == ["aabb"]


@pytest.mark.parametrize("name", ["anbn-logspace", "equal-blocks"])
@pytest.mark.parametrize("length", range(6))
def test_layers_and_positions_are_those_of_the_lemma(name: str, length: int) -> None:
    codec = LogspaceCodec(load_as(name, LogspaceMachine), length)
    vertices = codec.configurations.vertices
    weights = compile_program(signals(codec.configurations, soft=False))
    layers = sum(len(block.layers) * block.iterations(None) for block in weights.blocks)
    assert layers - 2 * ceil_log2(vertices) in (1, 2, 3)
    assert len(codec.prompt("a" * length if name[0] == "a" else "1" * length).tokens) == length + count_positions(
        vertices
    )


@pytest.mark.parametrize("name", ["anbn-logspace", "equal-blocks"])
def test_the_number_of_configurations_is_polynomial(name: str) -> None:
    """All of them, as the lemma takes them: at most c·n^k, since the work tape has logarithmic size."""
    found = load_as(name, LogspaceMachine)
    assert all(found.count_configurations(2**k - 1) <= 200 * 8 ** (2 * k) for k in range(1, 12))
    for length in range(6):
        some, whole = ConfigurationGraph(found, length), ConfigurationGraph(found, length, VertexSelection.REACHABLE)
        assert some.vertices <= whole.vertices <= found.count_configurations(length)


@pytest.mark.parametrize("name", ["anbn-logspace", "equal-blocks"])
@pytest.mark.parametrize("length", range(7))
def test_the_reduction_is_right(name: str, length: int) -> None:
    """A word is accepted iff acceptance can be reached in its configuration graph; nothing that is left out matters."""
    found = load_as(name, LogspaceMachine)
    for kept in (VertexSelection.USEFUL, VertexSelection.REACHABLE):
        graph = ConfigurationGraph(found, length, kept)
        for word in product(found.alphabet, repeat=length):
            reached = graph.graph_of_word(word).distances_from(graph.graph_of_word(word).vertices[0])
            assert ("accepted" in reached) is accepts(found, word)


def test_all_that_can_be_reached_gives_the_same_answers() -> None:
    graph = ConfigurationGraph(load_as("anbn-logspace", LogspaceMachine), 1, VertexSelection.REACHABLE)
    engine = DenseEngine(compile_program(signals(graph, soft=False)), "float64")
    padding = ["□"] * count_positions(graph.vertices)
    for word, row in zip("ab", engine.predict([("a", *padding), ("b", *padding)], 1), strict=True):
        assert (row[graph.answer_position] == "true") is accepts(graph.machine, word)


TWO_ONES = """machine two-ones
input 0 1
work !
space 1
start go
accept yes
go < < -> go  < R R
go * _ -> go  _ R S
go 1 _ -> go  ! R S
go * ! -> go  ! R S
go 1 ! -> yes ! S S
"""
"""Are there two ones? It guesses the first, and marks its only cell."""


@pytest.mark.parametrize("length", range(8))
def test_all_configurations_are_as_many_as_the_lemma_counts(length: int) -> None:
    tiny = parse(TWO_ONES)
    graph = ConfigurationGraph(tiny, length, VertexSelection.ALL)
    accepting = tiny.count_configurations(length) // len(tiny.states)
    assert graph.vertices == tiny.count_configurations(length) - accepting + 1 == 6 * (length + 2) + 1
    for word in product("01", repeat=min(length, 4)):
        padded = (*word, *"0" * (length - len(word)))
        every, useful = (
            ConfigurationGraph(tiny, length, kept).graph_of_word(padded)
            for kept in (VertexSelection.ALL, VertexSelection.USEFUL)
        )
        assert ("accepted" in every.distances_from(every.vertices[0])) is (padded.count("1") >= 2)
        assert ("accepted" in useful.distances_from(useful.vertices[0])) is (padded.count("1") >= 2)


LITERAL = [(0, "hard", "fixed:2"), (1, "hard", "fixed:2"), (0, "soft", "fixed:2")]
LARGER = [(1, "soft", "float64"), (2, "hard", "fixed:2"), (3, "hard", "float64"), (4, "hard", "float64")]


@pytest.mark.parametrize(
    ("length", "attention", "arithmetic"), [*LITERAL, *(pytest.param(*case, marks=pytest.mark.slow) for case in LARGER)]
)
def test_unpruned_and_pruned_configuration_graphs_give_the_same_answers(
    length: int, attention: str, arithmetic: str
) -> None:
    tiny = parse(TWO_ONES)
    literal, small = (
        sm.compile(tiny, name, attention=attention, length=length)
        for name in ("nl-configuration-graph-unpruned", "nl-configuration-graph")
    )
    assert len(literal.codec.prompt("1" * length).tokens) > len(small.codec.prompt("1" * length).tokens)
    words = list(map("".join, product("01", repeat=length)))
    for word in words if length < 3 else words[3::5]:
        said = {api.run(model, word, arithmetic=arithmetic).accepted for model in (literal, small)}
        assert said == {word.count("1") >= 2} == {accepts(tiny, word)}


def test_all_configurations_of_the_zoo_are_too_many() -> None:
    with pytest.raises(ConstructionError, match="configurations on words of 1 symbol, which take"):
        sm.compile("anbn-logspace", "nl-configuration-graph-unpruned", length=1)


def test_a_machine_that_accepts_at_once_and_one_that_never_does() -> None:
    text = "machine m\ninput a\nspace 1\nstart {}\naccept yes\n\nno < < -> no < S S\n"
    for start, expected in (("yes", True), ("no", False)):
        model = sm.compile(parse(text.format(start)), length=1)
        assert api.run(model, "a").accepted is expected


def test_words_of_other_lengths_and_large_machines_are_refused() -> None:
    model = model_of("anbn-logspace", None, "hard", 1)
    with pytest.raises(InputError, match="weights are for words of length 1"):
        api.run(model, "ab")
    with pytest.raises(ConstructionError, match="configurations on words of 40 symbols"):
        sm.compile("anbn-logspace", length=40)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "length"), [("anbn-logspace", 6), ("equal-blocks", 4), ("equal-blocks", 5)])
def test_longer_words(name: str, length: int) -> None:
    model = sm.compile(name, length=length)
    words = ["aaabbb", "aabbbb"] if length == 6 else ["1#1#", "11#1"] if length == 4 else ["11#11", "11#1#"]
    for word in words:
        assert api.run(model, word, arithmetic="float64").accepted is accepts(model.source, word)  # type: ignore[arg-type]
