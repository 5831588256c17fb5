"""AIGER format for and-inverter graphs: ASCII (``.aag``) and binary (``.aig``), distinguished by the first word.

The header ``aag M I L O A`` gives the largest variable and the numbers of inputs, latches, outputs and ANDs; the lines
after it are literals: 2v is variable v, 2v+1 its negation, 0 and 1 are constants. Names follow as ``i0 name`` and
``o0 name``, then comments after a line ``c``. Latches are memory elements, so files with latches are rejected. The
writer emits ASCII.

Parser of ASCII AIGER, ``.aag``: one line per input, output and AND, then names and comments.

Parser of binary AIGER, ``.aig``: and-inverter graphs whose gates are delta-encoded literals.

The outputs follow the header, one literal per line. Inputs are the variables 1, 2, …, and ANDs the variables after
them, so neither is written. An AND with literal c and arguments a ≥ b is stored as c - a and a - b, each as a
little-endian base-128 varint: seven bits per byte, with the highest bit set in all bytes but the last. Names and
comments follow as text.

Cost: linear in the file size. Outputs and ANDs take at least two bytes each, so a header that declares more than the
file can hold is rejected before parsing.

Header and symbol table, which ASCII and binary AIGER share.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from softmachine.languages.circuit.and_inverter import And, AndInverterGraph, Output
from softmachine.languages.circuit.circuit import Circuit
from softmachine.languages.circuit.lines import Line, check_length, lines_of
from softmachine.languages.circuit.structural_hashing import Basis, Network, as_network, used
from softmachine.languages.source import name_of
from softmachine.support.errors import Place, SourceError

EXAMPLE = "the first line is like: aag 7 2 0 1 5 (largest variable, inputs, latches, outputs, ANDs)"
_NUMBERS = ("the largest variable", *(f"the number of {kind}" for kind in ("inputs", "latches", "outputs", "ANDs")))


@dataclass(frozen=True)
class Header:
    """The largest variable and the numbers of inputs, outputs and ANDs. Files with latches are rejected."""

    largest: int
    inputs: int
    outputs: int
    ands: int

    @property
    def largest_literal(self) -> int:
        """The largest literal: the negation of the largest variable."""
        return 2 * self.largest + 1


def header_of(line: Line, word: str) -> Header:
    """Parse the first line, which begins with the keyword of its format.

    Raises:
        SourceError: If it is not a header, or declares latches or properties.
    """
    if line.fields[0] != word or not 6 <= len(line.fields) <= 10:
        raise line.error("this is not the header of an AIGER file", EXAMPLE)
    largest, inputs, latches, outputs, ands = (line.number(k, text) for k, text in enumerate(_NUMBERS, start=1))
    if latches:
        raise line.error(
            f"there are {latches} latches, which are memory; only combinational circuits are supported",
            "cut the circuit at its latches: make their outputs inputs, and their inputs outputs",
            field=3,
        )
    for extra in range(6, len(line.fields)):
        if line.number(extra, "a number of properties"):
            raise line.error("properties and constraints are not supported; declare them as outputs", field=extra)
    return Header(largest, inputs, outputs, ands)


def symbols_of(lines: Iterable[Line], header: Header) -> dict[str, str]:
    """Parse the names of inputs and outputs, up to the comments."""
    found = {}
    for line in lines:
        if line.text.strip() == "c":
            break
        match = re.fullmatch(r"\s*([io])([0-9]{1,9})\s+(\S.*?)\s*", line.text)
        if match is None:
            raise line.error("this is neither a name nor a comment", "a name is like: i0 x; comments follow a line c")
        if int(match[2]) >= (header.inputs if match[1] == "i" else header.outputs):
            raise line.error(f"there is no {'input' if match[1] == 'i' else 'output'} {match[2]}", field=0)
        found[match[1] + str(int(match[2]))] = match[3]
    return found


def read(text: str, source: str) -> AndInverterGraph:
    """Parse an ASCII AIGER file.

    Raises:
        SourceError: If the text is not an ASCII AIGER file.
    """
    lines = list(lines_of(text, source))
    if not lines:
        raise SourceError("the file is empty", place=Place(source), hint=EXAMPLE)
    return _Reader(header_of(lines[0], "aag"), lines).graph()


class _Reader:
    """Parser state: the lines of each section, and the variables driven so far."""

    def __init__(self, header: Header, lines: list[Line]) -> None:
        inputs, outputs, ands = header.inputs, header.outputs, header.ands
        self.header, self.first, body = header, lines[0], lines[1:]
        if len(body) < inputs + outputs + ands:
            raise lines[-1].error(
                f"the file ends here, but its header declares {inputs} inputs, {outputs} outputs and {ands} ANDs"
            )
        self.inputs, body = body[:inputs], body[inputs:]
        self.outputs, body = body[:outputs], body[outputs:]
        self.ands = body[:ands]
        self.symbols = symbols_of(body[ands:], header)
        self.driven: set[int] = set()

    def graph(self) -> AndInverterGraph:
        """Parse the file; every variable is driven exactly once, and gates may come in any order."""
        inputs = [
            self._variable(line, "an input", fields=1, example="an input is one even literal per line")
            for line in self.inputs
        ]
        variables = [self._variable(line, "an AND", fields=3, example="an AND is like: 6 2 4") for line in self.ands]
        ands = [
            And(variable, self._literal(line, 1), self._literal(line, 2), line.place)
            for variable, line in zip(variables, self.ands, strict=True)
        ]
        outputs = [Output(self._literal(line, 0), line.place) for line in self.outputs]
        return AndInverterGraph(inputs, ands, outputs, self.symbols, self.first.place)

    def _variable(self, line: Line, what: str, *, fields: int, example: str) -> int:
        """Parse the variable that a line defines."""
        if len(line.fields) != fields:
            raise line.error(f"this is not {what}", example)
        literal = line.number(0, what, most=self.header.largest_literal)
        if literal % 2 or not literal:
            raise line.error(f"{what} is a literal that is even and not 0, not {literal}", field=0)
        if literal // 2 in self.driven:
            raise line.error(f"literal {literal} is defined twice; a wire has one driver", field=0)
        self.driven.add(literal // 2)
        return literal // 2

    def _literal(self, line: Line, field: int) -> int:
        """Parse a literal that is used as an argument or an output."""
        literal = line.number(field, "a literal", most=self.header.largest_literal)
        if literal > 1 and literal // 2 not in self.driven:
            raise line.error(f"nothing drives variable {literal // 2} (literal {literal})", field=field)
        return literal


LONGEST_LINE = 200
"""Maximum bytes in a line of numbers."""
LEAST_BYTES = 2
"""Minimum bytes of an output or an AND."""
LONGEST_NUMBER = 5
"""Maximum bytes of a varint (a difference of literals)."""


def aiger_binary_read(text: str, source: str) -> AndInverterGraph:
    """Parse a binary AIGER file.

    Args:
        text: The bytes of the file, one character per byte.
        source: Name of the file in messages.

    Raises:
        SourceError: If it is not a binary AIGER file; the message gives the byte offset, counted from 0.
    """
    check_length(text, source)
    try:
        data = text.encode("latin-1")
    except UnicodeEncodeError as error:
        raise SourceError(f"character {error.start} is not a byte", place=Place(source)) from None
    return _aiger_binary_Reader(data, source).graph()


@dataclass(frozen=True)
class _TextLine(Line):
    """A line of text in a binary file; errors in it give the byte offset instead of line and column."""

    begins: int

    def error(self, message: str, hint: str | None = None, *, field: int | None = None) -> SourceError:
        before = len(self.text[: self.start(field)].encode("utf-8"))
        return SourceError(f"byte {self.begins + before}: {message}", place=self.place, hint=hint)


class _aiger_binary_Reader:
    """Parser state: the bytes of a file and the read position."""

    def __init__(self, data: bytes, source: str) -> None:
        self.data = data
        self.place = Place(source)
        self.at = 0

    def graph(self) -> AndInverterGraph:
        """Parse the sections in the order of the file."""
        header = header_of(self._numbers(), "aig")
        self._check_sizes(header)
        outputs = [Output(self._output(header), self.place) for _ in range(header.outputs)]
        ands = [self._and(variable) for variable in range(header.inputs + 1, header.largest + 1)]
        symbols = symbols_of(self._names(), header)
        return AndInverterGraph(range(1, header.inputs + 1), ands, outputs, symbols, self.place)

    def _error(self, message: str, at: int) -> SourceError:
        return SourceError(f"byte {at}: {message}", place=self.place)

    def _check_sizes(self, header: Header) -> None:
        sizes = f"{header.inputs:,} inputs, {header.outputs:,} outputs and {header.ands:,} ANDs"
        if header.largest != header.inputs + header.ands:
            raise self._error(f"the largest variable is {header.largest:,}, but the header declares {sizes}", 0)
        left = len(self.data) - self.at
        if left < LEAST_BYTES * (header.outputs + header.ands):
            raise self._error(f"the header declares {sizes}, but only {left:,} bytes follow", self.at)

    def _line(self, longest: int | None = None) -> _TextLine:
        """Read a line at the current position, without its line break."""
        begins, stop = self.at, len(self.data) if longest is None else self.at + longest
        end = self.data.find(b"\n", begins, stop)
        if end < 0 and longest is not None:
            raise self._error("expected a line of numbers, but the line does not end", begins)
        end = len(self.data) if end < 0 else end
        self.at = end + 1
        try:
            return _TextLine(self.data[begins:end].decode("utf-8"), self.place, begins)
        except UnicodeDecodeError as error:
            raise self._error("this is not UTF-8 text", begins + error.start) from None

    def _numbers(self) -> _TextLine:
        line = self._line(LONGEST_LINE)
        if not line.fields:
            raise line.error("expected a number, but the line is empty")
        return line

    def _output(self, header: Header) -> int:
        line = self._numbers()
        if len(line.fields) != 1:
            raise line.error("an output is one literal per line")
        return line.number(0, "an output", most=header.largest_literal)

    def _and(self, variable: int) -> And:
        one = self._below(2 * variable, least=1)
        return And(variable, one, self._below(one, least=0), self.place)

    def _below(self, literal: int, least: int) -> int:
        """Read a literal that is stored as its difference from a larger one."""
        begins, difference = self.at, self._difference()
        if not least <= difference <= literal:
            raise self._error(f"an AND cannot read literal {literal} less {difference:,}", begins)
        return literal - difference

    def _difference(self) -> int:
        number = 0
        for k, byte in enumerate(self.data[self.at : self.at + LONGEST_NUMBER]):
            number |= (byte & 0x7F) << 7 * k
            if byte < 0x80:
                self.at += k + 1
                return number
        if self.at + LONGEST_NUMBER > len(self.data):
            raise self._error("the file ends in the middle of an AND", len(self.data))
        raise self._error(f"a number of more than {LONGEST_NUMBER} bytes; literals are smaller", self.at)

    def _names(self) -> Iterator[Line]:
        """Yield the non-empty lines after the ANDs, lazily: the comments are only decoded if the caller reads on."""
        while self.at < len(self.data):
            line = self._line()
            if line.fields:
                yield line


BINARY = "aig "
"""First bytes of a binary file."""


def parse(text: str, *, source: str = "<string>", name: str | None = None) -> Circuit:
    """Parse an AIGER file; the text of a binary file is its bytes decoded as Latin-1, one character per byte."""
    graph = (aiger_binary_read if text.startswith(BINARY) else read)(text, source)
    return graph.circuit(name or name_of(source) or "circuit")


def to_text(circuit: Circuit) -> str:
    """Format a circuit as ASCII AIGER: gates become two-input ANDs and negations, and lose their names."""
    network, wires = as_network(circuit, Basis.AIG)
    literal = _literals(network, [wires[wire] for wire in circuit.outputs])
    ands = [number for number in literal if network.nodes[number][0] == "and"]
    outputs = [literal[wires[wire]] for wire in circuit.outputs]
    lines = [f"aag {circuit.width + len(ands)} {circuit.width} 0 {len(outputs)} {len(ands)}"]
    lines += [str(literal[number]) for number in network.inputs]
    lines += map(str, outputs)
    for number in ands:
        one, other = sorted((literal[argument] for argument in network.nodes[number][1]), reverse=True)
        lines.append(f"{literal[number]} {one} {other}")
    lines += [f"i{k} {wire}" for k, wire in enumerate(circuit.inputs) if _nameable(wire)]
    lines += [f"o{k} {wire}" for k, wire in enumerate(circuit.outputs) if _nameable(wire)]
    return "\n".join([*lines, "c", circuit.name if _nameable(circuit.name) else "circuit"]) + "\n"


def _literals(network: Network, outputs: list[int]) -> dict[int, int]:
    """Assign a literal to each gate that the outputs depend on, and to all inputs."""
    literal = {0: 0, 1: 1, **{number: 2 * k for k, number in enumerate(network.inputs, start=1)}}
    variable = len(network.inputs)
    for number in used(network, outputs):
        kind, arguments, _ = network.nodes[number]
        if kind == "and":
            variable += 1
            literal[number] = 2 * variable
        elif kind == "not":
            literal[number] = literal[arguments[0]] + 1
    return literal


def _nameable(name: str) -> bool:
    return name.isprintable() and name == name.strip() != ""
