"""AIGER in both formats: files of a small independent writer are parsed correctly; hostile files are rejected."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

import softmachine as sm
from softmachine.languages.circuit import Circuit, evaluate
from softmachine.languages.formats import decode_source, formats
from softmachine.support.errors import SoftmachineError, SourceError

And = tuple[int, int, int]


def ascii_file(inputs: int, ands: list[And], outputs: list[int], names: str = "") -> bytes:
    lines = [
        f"aag {inputs + len(ands)} {inputs} 0 {len(outputs)} {len(ands)}",
        *(str(2 * k + 2) for k in range(inputs)),
    ]
    lines += [*map(str, outputs), *(f"{c} {a} {b}" for c, a, b in ands)]
    return ("\n".join(lines) + "\n" + names).encode()


def binary_file(inputs: int, ands: list[And], outputs: list[int], names: str = "") -> bytes:
    head = f"aig {inputs + len(ands)} {inputs} 0 {len(outputs)} {len(ands)}\n" + "".join(f"{y}\n" for y in outputs)
    gates = b"".join(seven_bits(c - a) + seven_bits(a - b) for c, a, b in ands)
    return head.encode() + gates + names.encode()


def seven_bits(number: int) -> bytes:
    return bytes([number % 128 + 128]) + seven_bits(number // 128) if number >= 128 else bytes([number])


def computed(inputs: int, ands: list[And], outputs: list[int], word: str) -> str:
    """The values of the graph's outputs, computed gate by gate."""
    value = {0: False, 1: True}
    for k in range(inputs):
        value[2 * k + 2] = word[k] == "1"
        value[2 * k + 3] = word[k] == "0"
    for c, a, b in ands:
        value[c], value[c + 1] = value[a] and value[b], not (value[a] and value[b])
    return "".join("01"[value[y]] for y in outputs)


def random_graph(seed: int, inputs: int, gates: int) -> tuple[int, list[And], list[int]]:
    rng = random.Random(seed)
    ands = []
    for k in range(gates):
        c = 2 * (inputs + k + 1)
        a, b = sorted((rng.randrange(c), rng.randrange(c)), reverse=True)
        ands.append((c, a, b))
    return inputs, ands, [rng.randrange(2 * (inputs + gates) + 2) for _ in range(rng.randint(1, 4))]


def read(data: bytes, name: str = "here.aig") -> Circuit:
    made = formats()["aiger"].parse(decode_source(data, format="aiger", source=name), source=name)
    assert isinstance(made, Circuit)
    return made


@pytest.mark.parametrize("seed", range(60))
def test_both_formats_are_read_as_the_graph_that_was_written(seed: int) -> None:
    graph = random_graph(seed, inputs=seed % 6, gates=3 * seed)
    one, other = read(ascii_file(*graph)), read(binary_file(*graph))
    assert one == other
    for bits in product("01", repeat=graph[0]):
        assert evaluate(other, bits) == computed(*graph, "".join(bits))


@pytest.mark.parametrize("seed", range(20))
def test_printed_circuits_survive_the_binary_format(seed: int) -> None:
    """A file printed by softmachine, its ANDs packed by the writer above."""
    text = formats()["aiger"].to_text(read(ascii_file(*random_graph(seed, inputs=4, gates=25))))
    lines = text.splitlines()
    _, _, inputs, _, outputs, ands = map(int, re.findall(r"\d+", f"0 {lines[0]}"))
    body = lines[1 + inputs : 1 + inputs + outputs + ands]
    gates = [(int(c), int(a), int(b)) for c, a, b in (line.split() for line in body[outputs:])]
    names = "\n".join(lines[1 + inputs + outputs + ands :]) + "\n"
    assert read(binary_file(inputs, gates, [int(line) for line in body[:outputs]], names)) == read(text.encode())


def test_numbers_of_several_bytes() -> None:
    graph = (9000, [(18002, 18001, 2)], [18002])
    assert evaluate(read(binary_file(*graph)), "1" + "0" * 8999) == "1"


@pytest.mark.parametrize("write", [ascii_file, binary_file])
@pytest.mark.parametrize(
    "names",
    ["i0 v3\n", "i1 i0\n", "i0 n0\n", "o0 v4\n", "o1 v3\n", "i0 v4\ni1 v3\no0 v3'\n", "o0 i0\n", "i0 o\no0 o\no1 o\n"],
)
def test_names_that_wires_without_one_would_get_are_not_refused(write: Callable[..., bytes], names: str) -> None:
    graph = (2, [(6, 4, 2), (8, 7, 5)], [8, 7])
    made = read(write(*graph, names))
    for bits in product("01", repeat=2):
        assert evaluate(made, bits) == computed(*graph, "".join(bits))
    for kind, number, name in re.findall(r"([io])(\d) (\S+)", names):
        assert name in made.wires
        assert kind == "o" or made.inputs[int(number)] == name


def test_names_and_comments_of_a_binary_file() -> None:
    made = read(binary_file(2, [(6, 4, 2)], [6], "i0 é\no0 both of them\nc\nanything \ni9 here\n") + b"\xff\xfe\x00")
    assert made.inputs == ("é", "i1")
    assert made.outputs == ("both of them",)


def test_a_binary_file_is_a_source_by_its_name_by_its_content_and_by_an_option(tmp_path: Path) -> None:
    graph = (200, [(402, 399, 300), (404, 403, 4)], [404])
    for name, option in (("made.aig", None), ("made", None), ("made.txt", "aiger"), ("made.aag", None)):
        (tmp_path / name).write_bytes(binary_file(*graph))
        made = sm.load(str(tmp_path / name), option)
        assert isinstance(made, Circuit)
        assert made.name == "made"
        assert evaluate(made, "1" * 200) == computed(*graph, "1" * 200)


@pytest.mark.parametrize(
    ("data", "byte", "message"),
    [
        (b"aig 1 1 0 1 0", 0, "does not end"),
        (b"aig 1 1 0 1\n2\n", 0, "not the header"),
        (b"aig 2 1 1 1 0\n4\n", 8, "latches, which are memory"),
        (b"aig 1 1 0 1 0 0 1\n2\n", 16, "properties"),
        (b"aig 5 1 0 1 1\n2\n\x02\x02", 0, "largest variable is 5"),
        (b"aig 400000 1 0 1 399999\n2\n", 24, "only 2 bytes follow"),
        (b"aig 99999999999 1 0 1 5\n2\n", 4, "at most"),
        (b"aig 2 1 0 1 1\n2 2\n\x02\x02", 14, "one literal per line"),
        (b"aig 2 1 0 1 1\n9\n\x02\x02", 14, "at most 5"),
        (b"aig 2 1 0 1 1\nx\n\x02\x02", 14, "should be a number"),
        (b"aig 2 1 0 1 1\n\n4\n\x02\x02", 14, "the line is empty"),
        (b"aig 2 1 0 1 1\n4\n\x00\x02", 16, "literal 4 less 0"),
        (b"aig 2 1 0 1 1\n4\n\x05\x02", 16, "literal 4 less 5"),
        (b"aig 2 1 0 1 1\n4\n\x02\x03", 17, "literal 2 less 3"),
        (b"aig 2 1 0 1 1\n4\n\x02\x82", 18, "in the middle of an AND"),
        (b"aig 2 1 0 1 1\n4\n\xff\xff\xff\xff\xff\x01\x01", 16, "more than 5 bytes"),
        (b"aig 2 1 0 1 1\n4\n\x02\x02i7 x\n", 18, "no input 7"),
        (b"aig 2 1 0 1 1\n4\n\x02\x02i0 x\nhello\n", 23, "neither a name"),
        (b"aig 2 1 0 1 1\n4\n\x02\x02i0 \xff\n", 21, "not UTF-8"),
    ],
)
def test_an_error_is_reported_with_its_byte(data: bytes, byte: int, message: str) -> None:
    with pytest.raises(SourceError) as caught:
        read(data)
    assert str(caught.value).startswith(f"here.aig: byte {byte}: ")
    assert message in str(caught.value)


@pytest.mark.parametrize("seed", range(40))
def test_damaged_files_are_parsed_or_refused(seed: int) -> None:
    rng = random.Random(seed)
    data = bytearray(binary_file(*random_graph(seed, inputs=3, gates=40), "i0 v4\no0 x\nc\nhello\n"))
    for _ in range(rng.randint(1, 4)):
        match rng.randrange(3):
            case 0:
                data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
            case 1:
                del data[rng.randrange(len(data)) :]
                data += b" "
            case _:
                data[rng.randrange(len(data)) :] = rng.randbytes(rng.randint(0, 60)) + b"\n"
    began = time.perf_counter()
    try:
        read(bytes(data))
    except SoftmachineError as error:
        assert str(error).startswith("here.aig")  # noqa: PT017
    assert time.perf_counter() - began < 2
