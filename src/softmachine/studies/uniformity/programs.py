"""Programming interface of machines: a subset of Python in which every variable is a natural number.

A program is an ordinary function. It can be typed and run as Python (:class:`Paper`), and is compiled to a machine
(:mod:`softmachine.studies.uniformity.translating`) with one work tape per live variable. Supported are ``=``, ``+=``,
``-=``, ``if``, ``while``, ``for … in range(…)``, ``+``, ``-``, ``*``, ``//``, ``%``, comparisons, ``and``, ``or``,
``not``, calls of other such functions, and one ``return`` at the end. There is no recursion, no list and no other value
larger than a number, so all memory is explicit and can be counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

Part = int | str
"""A printable value: a number, in binary, or a text."""
Program = Callable[..., None]


class Tapes(Protocol):
    """Input and output tapes of a program."""

    def unary(self) -> int:
        """Read a number in unary from the input tape."""
        ...

    def binary(self) -> int:
        """Read a number in binary from the input tape."""
        ...

    def put(self, *parts: Part) -> None:
        """Print numbers and texts without separators."""
        ...

    def line(self, *parts: Part) -> None:
        """Print a line: numbers and texts separated by spaces."""
        ...


class Paper:
    """Tapes for running a program as Python: the reference for the compiled machine.

    Args:
        number: The number in unary.
        more: The numbers in binary.
    """

    def __init__(self, number: int, *more: int) -> None:
        self._unary = number
        self._binary = list(more)
        self.text = ""

    def unary(self) -> int:
        """Read a number in unary from the input tape."""
        return self._unary

    def binary(self) -> int:
        """Read a number in binary from the input tape."""
        return self._binary.pop(0)

    def put(self, *parts: Part) -> None:
        """Print numbers and texts without separators."""
        self.text += "".join(part if isinstance(part, str) else f"{part:b}" for part in parts)

    def line(self, *parts: Part) -> None:
        """Print a line: numbers and texts separated by spaces."""
        for number, part in enumerate(parts):
            self.put(*([" "] if number else []), part)
        self.put("\n")


def run(program: Program, given: Iterable[object], number: int, *more: int) -> str:
    """Run a program as Python and return its output; ``given`` are its other arguments, such as a circuit family."""
    paper = Paper(number, *more)
    program(paper, *given)
    return paper.text
