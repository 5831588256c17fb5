"""Header and symbol table, which ASCII and binary AIGER share."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from softmachine.languages.circuit.lines import Line

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
