"""What a text of RASP says, as it is written: statements and expressions, before anything is elaborated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from softmachine.languages.rasp.core import Operator, Value


@dataclass(frozen=True)
class At:
    """Where something stands: line and column, counted from 1."""

    line: int
    column: int

    @property
    def place(self) -> tuple[int, int]:
        """Both."""
        return self.line, self.column


@dataclass(frozen=True)
class Name:
    """``x``."""

    name: str
    at: At
    depth: int = 0


@dataclass(frozen=True)
class Literal:
    """``"a"``, ``1`` or ``0.5``."""

    value: Value
    at: At
    depth: int = 0


@dataclass(frozen=True)
class Relation:
    """``==`` as an argument."""

    operator: Operator
    at: At
    depth: int = 0


@dataclass(frozen=True)
class Operation:
    """An operator with its operands; of ``and`` and ``or`` two or more."""

    operator: Operator
    operands: tuple[Expression, ...]
    at: At
    depth: int = 0


@dataclass(frozen=True)
class Member:
    """``x in [a, b]``, or ``x not in …``."""

    operand: Expression
    container: Expression
    negated: bool
    at: At
    depth: int = 0


@dataclass(frozen=True)
class Call:
    """``f(x, y)``."""

    function: Expression
    arguments: tuple[Expression, ...]
    at: At
    depth: int = 0


@dataclass(frozen=True)
class Index:
    """``x[0]``, or of a table by several operands ``d[x, y]``."""

    operand: Expression
    indices: tuple[Expression, ...]
    at: At
    depth: int = 0


@dataclass(frozen=True)
class Collection:
    """``[a, b]``, or with brackets ``(a, b)``."""

    parts: tuple[Expression, ...]
    is_list: bool
    at: At
    depth: int = 0


@dataclass(frozen=True)
class Dictionary:
    """``{a: b}``."""

    entries: tuple[tuple[Expression, Expression], ...]
    at: At
    depth: int = 0


@dataclass(frozen=True)
class Comprehension:
    """``[x + 1 for x in l]``; of a dictionary, with a key."""

    key: Expression | None
    value: Expression
    names: tuple[str, ...]
    iterable: Expression
    at: At
    depth: int = 0


Expression: TypeAlias = (
    Name | Literal | Relation | Operation | Member | Call | Index | Collection | Dictionary | Comprehension
)


@dataclass(frozen=True)
class Shown:
    """``x;``: what an interactive shell would print."""

    expression: Expression
    at: At


@dataclass(frozen=True)
class Assignment:
    """``x, y = a, b;``."""

    names: tuple[str, ...]
    values: tuple[Expression, ...]
    at: At


@dataclass(frozen=True)
class Function:
    """``def f(x) { … }``."""

    name: str
    parameters: tuple[str, ...]
    body: tuple[Statement, ...]
    at: At
    depth: int = 1


@dataclass(frozen=True)
class Returned:
    """``return x;``."""

    values: tuple[Expression, ...]
    at: At


@dataclass(frozen=True)
class For:
    """``for x in l { … }``."""

    names: tuple[str, ...]
    iterable: Expression
    body: tuple[Statement, ...]
    at: At
    depth: int = 1


@dataclass(frozen=True)
class Loop:
    """``repeat x = tokens { … } until unchanged;``."""

    starts: tuple[tuple[str, Expression], ...]
    body: tuple[Statement, ...]
    at: At
    depth: int = 1


@dataclass(frozen=True)
class Load:
    """``load "file";``."""

    file: str
    at: At


Statement: TypeAlias = Shown | Assignment | Function | Returned | For | Loop | Load
