"""AIGER format for and-inverter graphs: ASCII (``.aag``) and binary (``.aig``), distinguished by the first word.

The header ``aag M I L O A`` gives the largest variable and the numbers of inputs, latches, outputs and ANDs; the lines
after it are literals: 2v is variable v, 2v+1 its negation, 0 and 1 are constants. Names follow as ``i0 name`` and
``o0 name``, then comments after a line ``c``. Latches are memory elements, so files with latches are rejected. The
writer emits ASCII.

An ASCII file has one line per input, output and AND. In a binary file, the outputs follow the header, one literal per
line. Inputs are the variables 1, 2, …, and ANDs the variables after them, so neither is written. An AND with literal c
and arguments a ≥ b is stored as c - a and a - b, each as a little-endian base-128 varint: seven bits per byte, with the
highest bit set in all bytes but the last.

The binary parser is linear in the file size. Outputs and ANDs take at least two bytes each, so a header that declares
more than the file can hold is rejected before parsing.

Both parsers build an `AndInverterGraph` and guarantee that every variable that is read is an input or an AND.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from softmachine.languages.circuit.circuit import Circuit, CircuitBuilder, GateKind
from softmachine.languages.circuit.lines import SourceLine, check_length, source_lines
from softmachine.languages.circuit.structural_hashing import Basis, HashedNetwork, reachable_nodes, to_network
from softmachine.languages.source import default_name
from softmachine.support.errors import SourceError, SourceLocation


class AigerAnd(NamedTuple):
    """An AND of two literals, with the variable that it drives."""

    variable: int
    left: int
    right: int
    place: SourceLocation


class AigerOutput(NamedTuple):
    """An output literal."""

    literal: int
    place: SourceLocation


@dataclass(frozen=True)
class AndInverterGraph:
    """Contents of an AIGER file.

    Args:
        inputs: The input variables.
        ands: The gates.
        outputs: The outputs.
        symbols: Symbol table: ``i0``, ``o0`` and so on, mapped to the names of these inputs and outputs.
        place: Start of the file.
    """

    inputs: Sequence[int]
    ands: Sequence[AigerAnd]
    outputs: Sequence[AigerOutput]
    symbols: Mapping[str, str]
    place: SourceLocation

    def to_circuit(self, name: str) -> Circuit:
        """Convert the graph to a circuit. Wires without a name get a fresh one."""
        return _CircuitConverter(self, name).convert()


class _CircuitConverter:
    """Conversion of one graph to a circuit."""

    def __init__(self, graph: AndInverterGraph, name: str) -> None:
        self.graph = graph
        self.taken = set(graph.symbols.values())
        """Names that are in use or reserved."""
        inputs = [self._input_name(k) for k in range(len(graph.inputs))]
        self.builder = CircuitBuilder(name, inputs, reserved=self.taken)
        self.wires = {2 * variable: wire for variable, wire in zip(graph.inputs, inputs, strict=True)}
        """Wire of each literal that has one."""
        self.named = self._output_names(set(inputs))
        """Literals that carry the name of their output, so that no BUF gate is needed."""

    def convert(self) -> Circuit:
        """Convert: name all gates first, then connect them, because files may list gates in any order."""
        for gate in self.graph.ands:
            literal = 2 * gate.variable
            self.wires[literal] = self.named.get(literal) or self._reserve_name(f"v{gate.variable}")
        for gate in self.graph.ands:
            arguments = [self._wire(literal, gate.place) for literal in (gate.left, gate.right)]
            self.builder.gate(GateKind.AND, *arguments, name=self.wires[2 * gate.variable], place=gate.place)
        return self.builder.build(self._outputs(), self.graph.place)

    def _input_name(self, k: int) -> str:
        return self.graph.symbols.get(f"i{k}") or self._reserve_name(f"i{k}")

    def _reserve_name(self, name: str) -> str:
        """Reserve a name; primes are appended while it is in use."""
        while name in self.taken:
            name += "'"
        self.taken.add(name)
        return name

    def _output_names(self, inputs: set[str]) -> dict[int, str]:
        named: dict[int, str] = {}
        for k, (literal, _) in enumerate(self.graph.outputs):
            name = self.graph.symbols.get(f"o{k}")
            if name and name not in inputs and literal not in named and literal not in self.wires:
                named[literal] = name
                inputs.add(name)
        return named

    def _outputs(self) -> list[str]:
        """The wires of the outputs; an output whose name differs from its wire's gets a BUF gate."""
        wires = [self._wire(literal, place) for literal, place in self.graph.outputs]
        used = {*self.builder.inputs, *(gate.name for gate in self.builder.gates)}
        for k, wire in enumerate(wires):
            name = self.graph.symbols.get(f"o{k}", wire)
            if name not in used:
                used.add(name)
                wires[k] = self.builder.gate(GateKind.BUF, wire, name=name, place=self.graph.outputs[k].place)
        return wires

    def _wire(self, literal: int, place: SourceLocation) -> str:
        """The wire of a literal; gates for constants and negations are created on first use."""
        if literal not in self.wires:
            name = self.named.get(literal)
            if literal < 2:
                self.wires[literal] = self.builder.constant(literal == 1, name)
            else:
                of = self.wires[literal - 1]
                self.wires[literal] = self.builder.gate(GateKind.NOT, of, name=name, place=place)
        return self.wires[literal]


HEADER_HINT = "the first line is like: aag 7 2 0 1 5 (largest variable, inputs, latches, outputs, ANDs)"
_NUMBERS = ("the largest variable", *(f"the number of {kind}" for kind in ("inputs", "latches", "outputs", "ANDs")))


@dataclass(frozen=True)
class AigerHeader:
    """The largest variable and the numbers of inputs, outputs and ANDs. Files with latches are rejected."""

    max_variable: int
    inputs: int
    outputs: int
    ands: int

    @property
    def max_literal(self) -> int:
        """The largest literal: the negation of the largest variable."""
        return 2 * self.max_variable + 1


def parse_header(line: SourceLine, word: str) -> AigerHeader:
    """Parse the first line, which begins with the keyword of its format.

    Raises:
        SourceError: If it is not a header, or declares latches or properties.
    """
    if line.fields[0] != word or not 6 <= len(line.fields) <= 10:
        raise line.error("this is not the header of an AIGER file", HEADER_HINT)
    largest, inputs, latches, outputs, ands = (line.parse_number(k, text) for k, text in enumerate(_NUMBERS, start=1))
    if latches:
        raise line.error(
            f"there are {latches} latches, which are memory; only combinational circuits are supported",
            "cut the circuit at its latches: make their outputs inputs, and their inputs outputs",
            field=3,
        )
    for extra in range(6, len(line.fields)):
        if line.parse_number(extra, "a number of properties"):
            raise line.error("properties and constraints are not supported; declare them as outputs", field=extra)
    return AigerHeader(largest, inputs, outputs, ands)


def parse_symbols(lines: Iterable[SourceLine], header: AigerHeader) -> dict[str, str]:
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


def parse_ascii(text: str, source: str) -> AndInverterGraph:
    """Parse an ASCII AIGER file.

    Raises:
        SourceError: If the text is not an ASCII AIGER file.
    """
    lines = list(source_lines(text, source))
    if not lines:
        raise SourceError("the file is empty", place=SourceLocation(source), hint=HEADER_HINT)
    return _AsciiParser(parse_header(lines[0], "aag"), lines).parse()


class _AsciiParser:
    """Parser state: the lines of each section, and the variables driven so far."""

    def __init__(self, header: AigerHeader, lines: list[SourceLine]) -> None:
        inputs, outputs, ands = header.inputs, header.outputs, header.ands
        self.header, self.first, body = header, lines[0], lines[1:]
        if len(body) < inputs + outputs + ands:
            raise lines[-1].error(
                f"the file ends here, but its header declares {inputs} inputs, {outputs} outputs and {ands} ANDs"
            )
        self.inputs, body = body[:inputs], body[inputs:]
        self.outputs, body = body[:outputs], body[outputs:]
        self.ands = body[:ands]
        self.symbols = parse_symbols(body[ands:], header)
        self.driven: set[int] = set()

    def parse(self) -> AndInverterGraph:
        """Parse the file; every variable is driven exactly once, and gates may come in any order."""
        inputs = [
            self._variable(line, "an input", fields=1, example="an input is one even literal per line")
            for line in self.inputs
        ]
        variables = [self._variable(line, "an AND", fields=3, example="an AND is like: 6 2 4") for line in self.ands]
        ands = [
            AigerAnd(variable, self._literal(line, 1), self._literal(line, 2), line.place)
            for variable, line in zip(variables, self.ands, strict=True)
        ]
        outputs = [AigerOutput(self._literal(line, 0), line.place) for line in self.outputs]
        return AndInverterGraph(inputs, ands, outputs, self.symbols, self.first.place)

    def _variable(self, line: SourceLine, what: str, *, fields: int, example: str) -> int:
        """Parse the variable that a line defines."""
        if len(line.fields) != fields:
            raise line.error(f"this is not {what}", example)
        literal = line.parse_number(0, what, maximum=self.header.max_literal)
        if literal % 2 or not literal:
            raise line.error(f"{what} is a literal that is even and not 0, not {literal}", field=0)
        if literal // 2 in self.driven:
            raise line.error(f"literal {literal} is defined twice; a wire has one driver", field=0)
        self.driven.add(literal // 2)
        return literal // 2

    def _literal(self, line: SourceLine, field: int) -> int:
        """Parse a literal that is used as an argument or an output."""
        literal = line.parse_number(field, "a literal", maximum=self.header.max_literal)
        if literal > 1 and literal // 2 not in self.driven:
            raise line.error(f"nothing drives variable {literal // 2} (literal {literal})", field=field)
        return literal


MAX_LINE_BYTES = 200
"""Maximum bytes in a line of numbers."""
MIN_GATE_BYTES = 2
"""Minimum bytes of an output or an AND."""
MAX_VARINT_BYTES = 5
"""Maximum bytes of a varint (a difference of literals)."""


def parse_binary(text: str, source: str) -> AndInverterGraph:
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
        raise SourceError(f"character {error.start} is not a byte", place=SourceLocation(source)) from None
    return _BinaryParser(data, source).parse()


@dataclass(frozen=True)
class _TextLine(SourceLine):
    """A line of text in a binary file; errors in it give the byte offset instead of line and column."""

    byte_offset: int

    def error(self, message: str, hint: str | None = None, *, field: int | None = None) -> SourceError:
        before = len(self.text[: self.field_offset(field)].encode("utf-8"))
        return SourceError(f"byte {self.byte_offset + before}: {message}", place=self.place, hint=hint)


class _BinaryParser:
    """Parser state: the bytes of a file and the read position."""

    def __init__(self, data: bytes, source: str) -> None:
        self.data = data
        self.place = SourceLocation(source)
        self.at = 0

    def parse(self) -> AndInverterGraph:
        """Parse the sections in the order of the file."""
        header = parse_header(self._read_numbers(), "aig")
        self._check_sizes(header)
        outputs = [AigerOutput(self._read_output(header), self.place) for _ in range(header.outputs)]
        ands = [self._read_and(variable) for variable in range(header.inputs + 1, header.max_variable + 1)]
        symbols = parse_symbols(self._read_names(), header)
        return AndInverterGraph(range(1, header.inputs + 1), ands, outputs, symbols, self.place)

    def _error(self, message: str, at: int) -> SourceError:
        return SourceError(f"byte {at}: {message}", place=self.place)

    def _check_sizes(self, header: AigerHeader) -> None:
        sizes = f"{header.inputs:,} inputs, {header.outputs:,} outputs and {header.ands:,} ANDs"
        if header.max_variable != header.inputs + header.ands:
            raise self._error(f"the largest variable is {header.max_variable:,}, but the header declares {sizes}", 0)
        left = len(self.data) - self.at
        if left < MIN_GATE_BYTES * (header.outputs + header.ands):
            raise self._error(f"the header declares {sizes}, but only {left:,} bytes follow", self.at)

    def _read_line(self, longest: int | None = None) -> _TextLine:
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

    def _read_numbers(self) -> _TextLine:
        line = self._read_line(MAX_LINE_BYTES)
        if not line.fields:
            raise line.error("expected a number, but the line is empty")
        return line

    def _read_output(self, header: AigerHeader) -> int:
        line = self._read_numbers()
        if len(line.fields) != 1:
            raise line.error("an output is one literal per line")
        return line.parse_number(0, "an output", maximum=header.max_literal)

    def _read_and(self, variable: int) -> AigerAnd:
        one = self._read_literal_below(2 * variable, least=1)
        return AigerAnd(variable, one, self._read_literal_below(one, least=0), self.place)

    def _read_literal_below(self, literal: int, least: int) -> int:
        """Read a literal that is stored as its difference from a larger one."""
        begins, difference = self.at, self._read_varint()
        if not least <= difference <= literal:
            raise self._error(f"an AND cannot read literal {literal} less {difference:,}", begins)
        return literal - difference

    def _read_varint(self) -> int:
        number = 0
        for k, byte in enumerate(self.data[self.at : self.at + MAX_VARINT_BYTES]):
            number |= (byte & 0x7F) << 7 * k
            if byte < 0x80:
                self.at += k + 1
                return number
        if self.at + MAX_VARINT_BYTES > len(self.data):
            raise self._error("the file ends in the middle of an AND", len(self.data))
        raise self._error(f"a number of more than {MAX_VARINT_BYTES} bytes; literals are smaller", self.at)

    def _read_names(self) -> Iterator[SourceLine]:
        """Yield the non-empty lines after the ANDs, lazily: the comments are only decoded if the caller reads on."""
        while self.at < len(self.data):
            line = self._read_line()
            if line.fields:
                yield line


BINARY_MAGIC = "aig "
"""First bytes of a binary file."""


def parse(text: str, *, source: str = "<string>", name: str | None = None) -> Circuit:
    """Parse an AIGER file; the text of a binary file is its bytes decoded as Latin-1, one character per byte."""
    graph = (parse_binary if text.startswith(BINARY_MAGIC) else parse_ascii)(text, source)
    return graph.to_circuit(name or default_name(source) or "circuit")


def to_text(circuit: Circuit) -> str:
    """Format a circuit as ASCII AIGER: gates become two-input ANDs and negations, and lose their names."""
    network, wires = to_network(circuit, Basis.AIG)
    literal = _literals(network, [wires[wire] for wire in circuit.outputs])
    ands = [number for number in literal if network.nodes[number][0] == "and"]
    outputs = [literal[wires[wire]] for wire in circuit.outputs]
    lines = [f"aag {circuit.width + len(ands)} {circuit.width} 0 {len(outputs)} {len(ands)}"]
    lines += [str(literal[number]) for number in network.inputs]
    lines += map(str, outputs)
    for number in ands:
        one, other = sorted((literal[argument] for argument in network.nodes[number][1]), reverse=True)
        lines.append(f"{literal[number]} {one} {other}")
    lines += [f"i{k} {wire}" for k, wire in enumerate(circuit.inputs) if _can_be_named(wire)]
    lines += [f"o{k} {wire}" for k, wire in enumerate(circuit.outputs) if _can_be_named(wire)]
    return "\n".join([*lines, "c", circuit.name if _can_be_named(circuit.name) else "circuit"]) + "\n"


def _literals(network: HashedNetwork, outputs: list[int]) -> dict[int, int]:
    """Assign a literal to each gate that the outputs depend on, and to all inputs."""
    literal = {0: 0, 1: 1, **{number: 2 * k for k, number in enumerate(network.inputs, start=1)}}
    variable = len(network.inputs)
    for number in reachable_nodes(network, outputs):
        kind, arguments, _ = network.nodes[number]
        if kind == "and":
            variable += 1
            literal[number] = 2 * variable
        elif kind == "not":
            literal[number] = literal[arguments[0]] + 1
    return literal


def _can_be_named(name: str) -> bool:
    return name.isprintable() and name == name.strip() != ""
