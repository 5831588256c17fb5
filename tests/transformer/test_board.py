"""The architecture diagram: every head, its width and its outputs, layer by layer; names are escaped in HTML."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser

import pytest

import softmachine as sm
from softmachine.compiler import compile_program
from softmachine.ir import Program, attend, constant, loop, position, relu, stack
from softmachine.languages import zoo
from softmachine.languages.turing import Rule, TuringMachine
from softmachine.support.text import join_names
from softmachine.transformer.attention import softmax_weighting
from softmachine.transformer.features import Feature, Logarithm, N
from softmachine.transformer.weights import Transformer
from tests.sources.oracle import LETTERS, letter
from tests.sources.signal_programs import random_program
from tests.sources.transformers import RandomTransformer

BAD = "<script>alert('&')</script>"


class Text(HTMLParser):
    """Collects the tags and the text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def shows_all(transformer: Transformer) -> None:
    board = str(transformer)
    lines = board.split("\n")
    for head in transformer.heads:
        (line,) = (line for line in lines if f"attention  {head.name} ({head.mask}, " in line)
        assert ("uniform" if not head.query.bias else f"d_k {len(head.query.bias)}") in line
    title = lines[0]
    assert transformer.name in title
    for number, what in (
        (len(transformer.layers), "layer"),
        (len(transformer.heads), "head"),
        (len(transformer.vocabulary), "token"),
    ):
        assert re.search(rf"\b{number:,} {what}{'' if number == 1 else 's'}\b", title), title
    assert f"width {transformer.width}" in title
    for feature in transformer.features:
        assert feature.name in board


@pytest.mark.parametrize("name", [entry.name for entry in zoo.list_entries()][:8])
def test_the_board_of_a_zoo_machine_shows_every_head_with_its_width(name: str) -> None:
    shows_all(sm.compile(name).weights)


def test_the_board_of_random_models_shows_every_head_with_its_width() -> None:
    for seed in range(60):
        shows_all(compile_program(random_program(seed)))
        shows_all(RandomTransformer(seed).transformer())


def test_the_board_says_what_is_written_where() -> None:
    bits = stack(letter("a"), letter("b")).with_labels(("x", "y"))
    head = attend("mean of letters", value=bits)
    unit = relu("more a", head["x"] - head["y"])
    lines = str(compile_program(Program("demo", LETTERS.tokens, ("out",), unit))).split("\n")
    assert re.fullmatch(r"Transformer  demo  decoder, average-hard, 1 layer, 1 head, width 5, 3 tokens", lines[0])
    assert re.fullmatch(r"  embedding token \.+ → a, b", lines[1])
    assert re.fullmatch(r"  layer 1   attention  mean of letters \(j ≤ i, uniform\) \.+ → mean of letters", lines[2])
    assert re.fullmatch(r"            feed-forward  more a \(1 unit\) \.+ → more a", lines[3])
    assert re.fullmatch(r"  logits    1 output \.+ → largest", lines[4])


def test_the_board_says_how_often_a_loop_runs() -> None:
    def board(times: int | Feature) -> str:
        carried = loop("turn", iterations=times, initial=letter("a"), body=lambda bit: 1 - bit)
        return str(compile_program(Program("demo", LETTERS.tokens, ("out",), carried)))

    assert "loop turn, 1 time\n" in board(1)
    assert "loop turn, 3 times\n" in board(3)
    assert "loop turn, ⌈log₂ n⌉ times\n" in board(Logarithm(of_length=True))


def test_the_board_tells_encoders_from_decoders_and_names_the_attention() -> None:
    plain = compile_program(Program("demo", LETTERS.tokens, ("out",), attend("h", value=position(N))))
    assert "encoder, average-hard" in str(plain)
    head = plain.heads[0]
    layer = plain.layers[0]
    soft = replace(layer, heads=(replace(head, weighting=softmax_weighting(Fraction(5, 2))),))
    block = replace(plain.blocks[0], layers=(soft,))
    assert "softmax, scale 5/2" in str(replace(plain, blocks=(block,)))


def test_a_model_with_nothing_in_it_has_a_board() -> None:
    board = str(compile_program(Program("nothing", LETTERS.tokens, ("out",), constant(1))))
    assert "decoder, no attention, 0 layers, 0 heads, width 0" in board
    assert "nothing" in board.split("\n")[1]


def test_names_are_not_taken_for_html() -> None:
    machine = TuringMachine(
        name=BAD,
        states=(BAD, "halt"),
        alphabet=("0",),
        symbols=("_", "0", BAD),
        blank="_",
        rules=(Rule(BAD, ("0",), (BAD,), ("R",), "halt"),),
        start=BAD,
        accept=("halt",),
    )
    transformer = sm.compile(machine)
    page = transformer._repr_html_()
    found = Text(page)
    assert found.tags == ["div", "div", "pre"]
    assert BAD in found.text
    assert "<script" not in page
    assert found.text.replace("\n", "") == str(transformer).replace("\n", "")
    run = sm.run(transformer, "0")
    assert "<script" not in run._repr_html_()


def test_components_of_one_vector_are_listed_together() -> None:
    assert join_names(["i", "x[0]", "x[1]", "x[2]", "y[1]", "x[4]"]) == "i, x[0…2], y[1], x[4]"
    assert join_names([]) == ""
