"""Parser of binary AIGER, ``.aig``: and-inverter graphs whose gates are delta-encoded literals.

The outputs follow the header, one literal per line. Inputs are the variables 1, 2, …, and ANDs the variables after
them, so neither is written. An AND with literal c and arguments a ≥ b is stored as c - a and a - b, each as a
little-endian base-128 varint: seven bits per byte, with the highest bit set in all bytes but the last. Names and
comments follow as text.

Cost: linear in the file size. Outputs and ANDs take at least two bytes each, so a header that declares more than the
file can hold is rejected before parsing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from softmachine.languages.circuit.aiger_header import Header, header_of, symbols_of
from softmachine.languages.circuit.and_inverter import And, AndInverterGraph, Output
from softmachine.languages.circuit.lines import Line, check_length
from softmachine.support.errors import Place, SourceError

LONGEST_LINE = 200
"""Maximum bytes in a line of numbers."""
LEAST_BYTES = 2
"""Minimum bytes of an output or an AND."""
LONGEST_NUMBER = 5
"""Maximum bytes of a varint (a difference of literals)."""


def read(text: str, source: str) -> AndInverterGraph:
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
    return _Reader(data, source).graph()


@dataclass(frozen=True)
class _TextLine(Line):
    """A line of text in a binary file; errors in it give the byte offset instead of line and column."""

    begins: int

    def error(self, message: str, hint: str | None = None, *, field: int | None = None) -> SourceError:
        before = len(self.text[: self.start(field)].encode("utf-8"))
        return SourceError(f"byte {self.begins + before}: {message}", place=self.place, hint=hint)


class _Reader:
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
