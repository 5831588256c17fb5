"""Model cards: their code runs without softmachine, and prints what they promise."""

from __future__ import annotations

import ast
import importlib.util
import random
import re
from collections.abc import Iterable, Sequence
from itertools import product
from pathlib import Path

import pytest

import softmachine as sm
from softmachine.compiler.model import Model
from softmachine.exports.lowering import lower
from softmachine.exports.model_card import CardTexts, format_usage
from softmachine.exports.prompt_format import build_prompt_format
from softmachine.languages.circuit import Circuit
from softmachine.languages.source import Source
from softmachine.languages.srasp import parse
from softmachine.testing import words as all_words
from softmachine.theorems.codec import AnsweringCodec
from tests.exports.helpers import any_codec_of, ask, checkpoint_model, spelled

TORCH = importlib.util.find_spec("torch") is not None and importlib.util.find_spec("transformers") is not None
ONNX = importlib.util.find_spec("onnx") is not None and importlib.util.find_spec("onnxruntime") is not None
needs_torch = pytest.mark.skipif(not TORCH, reason="torch or transformers is missing: pip install 'softmachine[hf]'")
needs_onnx = pytest.mark.skipif(not ONNX, reason="onnx or onnxruntime is missing: pip install 'softmachine[onnx]'")
FORMATS = [pytest.param("bert", marks=needs_torch), pytest.param("onnx", marks=needs_onnx)]
SLOW_WITH_TORCH = [pytest.param("bert", marks=[needs_torch, pytest.mark.slow]), FORMATS[1]]
ENCODERS = [
    ("full-adder", "circuit-and-or-not", None),
    ("and-or", "circuit-threshold", None),
    ("comparator-4", "circuit-threshold", None),
    ("and-or", "circuit-evaluator", 256),
    ("response-formula", "temporal-encoder", 12),
    ("dyck-1-program", "srasp", 12),
    ("reverse-program", "srasp", 12),
    ("in-order-crasp", "crasp", 12),
    ("one-way-streets", "connectivity", None),
    ("parity", "turing-configuration-graph", 3),
]


def compiled(name: str, construction: str, length: int | None) -> Model:
    return checkpoint_model(name, construction, length or 600, "onnx")


def printed_by_the_card(folder: Path, words: Sequence[Sequence[str] | None]) -> list[str]:
    """The output of the card's code for each word, in a process without softmachine."""
    texts = [None if word is None else spelled(word) for word in words]
    (output,) = ask(folder, {"texts": texts, "as the card says": True})
    return output


def promised(folder: Path) -> str:
    """The output that the card gives for its code."""
    card = (folder / "README.md").read_text(encoding="utf-8")
    block = re.findall(r"^```python\n(.*?)^```", card, re.MULTILINE | re.DOTALL)[0]
    return "".join(f"{line}\n" for line in re.findall("^# (.*)$", block, re.MULTILINE))


def words_of(codec: AnsweringCodec[Source]) -> Iterable[tuple[str, ...]]:
    """Some inputs: all short ones, or all of the fixed length."""
    width = codec.input_length
    return all_words(codec.alphabet, 3) if width is None else product(codec.alphabet, repeat=width)


@pytest.mark.parametrize(("name", "construction", "length"), ENCODERS)
def test_an_interface_tells_what_the_codec_reads(name: str, construction: str, length: int | None) -> None:
    """The verdict and the outputs of a circuit are at the positions of the interface, for arbitrary answers."""
    source = sm.load(name)
    assert isinstance(source, Source)
    codec = sm.compile(source, construction, length=length).codec
    assert isinstance(codec, AnsweringCodec)
    interface, chooser = codec.interface(), random.Random(0)
    accepted = set()
    for word in words_of(codec):
        prompt = codec.prompt(word).tokens
        assert set(interface.symbols) >= set(prompt[: len(interface.inputs)])
        output = [chooser.choice(("true", "false")) for _ in prompt]
        outcome = codec.parse_output(word, output)
        if interface.verdict is not None and word:
            assert outcome.is_accepted == (output[interface.verdict] == "true")
            accepted.add(outcome.is_accepted)
        if construction.startswith("circuit"):
            bits = ["1" if output[position] == "true" else "0" for _, position in interface.outputs]
            assert outcome.output == "".join(bits)
        if construction == "connectivity":
            position = dict(interface.outputs)[f"path {word[0]} → {word[1]}"]
            assert outcome.is_accepted == (output[position] == "true")
    assert accepted == (set() if interface.verdict is None else {True, False})


def test_an_input_of_a_graph_is_its_matrix() -> None:
    """The model depends only on the number of vertices, so it also answers for other graphs."""
    prompt_format = build_prompt_format(compiled("koenigsberg", "connectivity", None), [("altstadt", "lomse")], 600)
    assert (prompt_format.prefix, prompt_format.suffix, prompt_format.fixed_length) == ((), ("□",) * 64, 16)
    assert "".join(prompt_format.strip_affixes(prompt_format.samples[0].prompt)) == "0110101111010110"


def test_symbols_that_python_and_markdown_read_otherwise_are_quoted() -> None:
    program = parse("alphabet '\"' '`' '|' '\\\\'\nsame(i) = in(i)\noutput same\n", name="odd")
    model = checkpoint_model(program, "srasp", 6, "onnx")
    prompt_format = build_prompt_format(model, [('"', "`", "|", "\\")], 6)
    manual = CardTexts(
        "test", "a test", "{word}\n{prints}\n", is_autoregressive=False, special_tokens_intro="The test adds"
    )
    code, *_, about, _, answers, _ = format_usage(manual, lower(model, 6, bidirectional=True), prompt_format, 6).split(
        "\n"
    )
    assert ast.literal_eval(code) == '" ` | \\'
    assert (
        'The input consists of the symbols `"`, `` ` ``, `|` and `\\`. The test adds `<s>` before the input.' in about
    )
    assert "the program's output there" in answers


def test_an_output_may_be_an_input_and_be_listed_twice() -> None:
    both = Circuit(name="both", inputs=("a|b",), gates=(), outputs=("a|b", "a|b"))
    model = checkpoint_model(both, "circuit-threshold", 8, "onnx")
    manual = CardTexts("test", "a test", "{prints}\n", is_autoregressive=False, special_tokens_intro="")
    text = format_usage(manual, lower(model, 8, bidirectional=True), build_prompt_format(model, [("1",)], 8), 1)
    assert "# a|b true\n# a|b true\n" in text
    assert text.endswith("| output | position |\n|---|---|\n| `a\\|b` | 0 |\n| `a\\|b` | 0 |\n")


@pytest.mark.parametrize("to", FORMATS)
def test_the_code_of_a_circuits_card_adds(to: str, tmp_path: Path) -> None:
    sm.export("full-adder", tmp_path / "model", to=to)
    words = list(product("01", repeat=3))
    wanted = []
    for word in words:
        carry, total = divmod(sum(map(int, word)), 2)
        wanted.append(f"carry_out {str(bool(carry)).lower()}\nsum {str(bool(total)).lower()}\n")
    first, *output = printed_by_the_card(tmp_path / "model", [None, *words])
    assert output == wanted
    assert first == promised(tmp_path / "model")


@pytest.mark.parametrize("to", SLOW_WITH_TORCH)
def test_the_code_of_a_graphs_card_finds_paths_in_other_graphs(to: str, tmp_path: Path) -> None:
    sm.export("koenigsberg", tmp_path / "model", to=to)
    chooser, names = random.Random(0), ("altstadt", "kneiphof", "lomse", "vorstadt")
    matrices = [[int(chooser.random() < share / 10) for _ in range(16)] for share in range(1, 5) for _ in range(5)]
    wanted = []
    for matrix in matrices:
        reached = [[one == other or bool(matrix[4 * one + other]) for other in range(4)] for one in range(4)]
        for via, one, other in product(range(4), repeat=3):  # Warshall
            reached[one][other] |= reached[one][via] and reached[via][other]
        pairs = product(range(4), repeat=2)
        wanted.append(
            "".join(f"path {names[one]} → {names[other]} {str(reached[one][other]).lower()}\n" for one, other in pairs)
        )
    assert len(set(wanted)) > 9
    first, *output = printed_by_the_card(tmp_path / "model", [None, *([*map(str, matrix)] for matrix in matrices)])
    assert output == wanted
    assert first == promised(tmp_path / "model")


@pytest.mark.parametrize("to", SLOW_WITH_TORCH)
@pytest.mark.parametrize("name", ["response-formula", "dyck-1-program", "in-order-crasp"])
def test_the_code_of_a_card_prints_answers_and_verdict(name: str, to: str, tmp_path: Path) -> None:
    sm.export(name, tmp_path / "model", to=to, context=8)
    codec = any_codec_of(tmp_path / "model")
    words = [word for word in all_words(codec.alphabet, 3 if to == "bert" else 2) if word]
    first, *output = printed_by_the_card(tmp_path / "model", [None, *words])
    for word, printed in zip(words, output, strict=True):
        answers, verdict = printed.splitlines()
        expected = list(codec.expected(word, 0))
        assert len(answers.split()) == len(expected)
        assert all(right in (None, answer) for answer, right in zip(answers.split(), expected, strict=True))
        assert verdict == codec.parse_run(word, [answer or "" for answer in expected]).verdict
    assert {printed.split()[-1] for printed in output} == {"accept", "reject"}
    shown = re.escape(promised(tmp_path / "model")).replace("·", r"\S+")
    assert re.fullmatch(shown, first)


@needs_onnx
def test_a_model_with_one_answer_only_is_written(tmp_path: Path) -> None:
    program = parse("alphabet a\nlast(i) = rightmost j : in(j) else 'a'\noutput last\n", name="one-letter")
    written = sm.export(program, tmp_path / "model", to="onnx", context=4)
    assert [(result.holds, result.margin) for result in written.verifications] == [(True, None)]
    assert printed_by_the_card(tmp_path / "model", [("a", "a")]) == ["a a a\n"]


@needs_onnx
@pytest.mark.parametrize(("name", "length"), [("increment", 24), ("parity-counter", 24), ("power-of-two-crasp", 40)])
def test_the_code_of_a_decoders_card_prints_a_run(name: str, length: int, tmp_path: Path) -> None:
    sm.export(name, tmp_path / "model", to="onnx", context=length)
    assert printed_by_the_card(tmp_path / "model", [None]) == [promised(tmp_path / "model")]
