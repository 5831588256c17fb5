"""What programs for machines are written in: functions of Python in which every variable is a natural number.

A program is an ordinary function, so that it can be read, typed and run as it is (:class:`Paper`), and it becomes a
machine (:mod:`softmachine.studies.uniformity.translating`), with a work tape for each variable that is alive at a time.
It may have: ``=``, ``+=``, ``-=``, ``if``, ``while``, ``for … in range(…)``, ``+``, ``-``, ``*``, ``//``, ``%``,
comparisons, ``and``, ``or``, ``not``, calls of other such functions, and one ``return`` at the end. There is no
recursion, no list and nothing else that could hold more than a number, so that all the memory there is can be seen and
counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

Part = int | str
"""What can be printed: a number, in binary, or a text."""
Program = Callable[..., None]


class Tapes(Protocol):
    """The input and the output, as programs see them."""

    def unary(self) -> int:
        """How many ones follow on the input tape."""
        ...

    def binary(self) -> int:
        """The number in binary that follows on the input tape."""
        ...

    def put(self, *parts: Part) -> None:
        """Print numbers and texts, with nothing between them."""
        ...

    def line(self, *parts: Part) -> None:
        """Print a line: numbers and texts, with blanks between them."""
        ...


class Paper:
    """Tapes for running a program as Python: an oracle for the machine that is made of it.

    Args:
        number: The number in unary.
        more: The numbers in binary.
    """

    def __init__(self, number: int, *more: int) -> None:
        self._unary = number
        self._binary = list(more)
        self.text = ""

    def unary(self) -> int:
        """How many ones follow on the input tape."""
        return self._unary

    def binary(self) -> int:
        """The number in binary that follows on the input tape."""
        return self._binary.pop(0)

    def put(self, *parts: Part) -> None:
        """Print numbers and texts, with nothing between them."""
        self.text += "".join(part if isinstance(part, str) else f"{part:b}" for part in parts)

    def line(self, *parts: Part) -> None:
        """Print a line: numbers and texts, with blanks between them."""
        for number, part in enumerate(parts):
            self.put(*([" "] if number else []), part)
        self.put("\n")


def run(program: Program, given: Iterable[object], number: int, *more: int) -> str:
    """What a program prints, run as Python. ``given`` is what it is about, such as a family of circuits."""
    paper = Paper(number, *more)
    program(paper, *given)
    return paper.text
