"""What a text of RASP says, as it is written: statements and expressions, before anything is elaborated."""

from __future__ import annotations

from dataclasses import dataclass, field
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
class Node:
    """What every part of a text has: where it stands, and how deep parts, or blocks of statements, are nested in it."""

    at: At = field(kw_only=True)
    depth: int = field(default=0, kw_only=True)


@dataclass(frozen=True)
class Name(Node):
    """``x``."""

    name: str


@dataclass(frozen=True)
class Literal(Node):
    """``"a"``, ``1`` or ``0.5``."""

    value: Value


@dataclass(frozen=True)
class Relation(Node):
    """``==`` as an argument."""

    operator: Operator


@dataclass(frozen=True)
class Operation(Node):
    """An operator with its operands; of ``and`` and ``or`` two or more."""

    operator: Operator
    operands: tuple[Expression, ...]


@dataclass(frozen=True)
class Member(Node):
    """``x in [a, b]``, or ``x not in …``."""

    operand: Expression
    container: Expression
    negated: bool


@dataclass(frozen=True)
class Call(Node):
    """``f(x, y)``."""

    function: Expression
    arguments: tuple[Expression, ...]


@dataclass(frozen=True)
class Index(Node):
    """``x[0]``, or of a table by several operands ``d[x, y]``."""

    operand: Expression
    indices: tuple[Expression, ...]


@dataclass(frozen=True)
class Collection(Node):
    """``[a, b]``, or with brackets ``(a, b)``."""

    parts: tuple[Expression, ...]
    is_list: bool


@dataclass(frozen=True)
class Dictionary(Node):
    """``{a: b}``."""

    entries: tuple[tuple[Expression, Expression], ...]


@dataclass(frozen=True)
class Comprehension(Node):
    """``[x + 1 for x in l]``; of a dictionary, with a key."""

    key: Expression | None
    value: Expression
    names: tuple[str, ...]
    iterable: Expression


Expression: TypeAlias = (
    Name | Literal | Relation | Operation | Member | Call | Index | Collection | Dictionary | Comprehension
)


@dataclass(frozen=True)
class Shown(Node):
    """``x;``: what an interactive shell would print."""

    expression: Expression


@dataclass(frozen=True)
class Assignment(Node):
    """``x, y = a, b;``."""

    names: tuple[str, ...]
    values: tuple[Expression, ...]


@dataclass(frozen=True)
class Function(Node):
    """``def f(x) { … }``."""

    name: str
    parameters: tuple[str, ...]
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class Returned(Node):
    """``return x;``."""

    values: tuple[Expression, ...]


@dataclass(frozen=True)
class For(Node):
    """``for x in l { … }``."""

    names: tuple[str, ...]
    iterable: Expression
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class Loop(Node):
    """``repeat x = tokens { … } until unchanged;``."""

    starts: tuple[tuple[str, Expression], ...]
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class Load(Node):
    """``load "file";``."""

    file: str


Statement: TypeAlias = Shown | Assignment | Function | Returned | For | Loop | Load
