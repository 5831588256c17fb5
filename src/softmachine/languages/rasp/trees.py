"""Abstract syntax tree of the RASP text form: statements and expressions before elaboration."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from softmachine.languages.rasp.core import Operator, Value


@dataclass(frozen=True)
class At:
    """A source position: line and column, counted from 1."""

    line: int
    column: int

    @property
    def place(self) -> tuple[int, int]:
        """The pair (line, column)."""
        return self.line, self.column


@dataclass(frozen=True)
class Node:
    """Base class of syntax nodes: source position, and nesting depth of the subexpressions or blocks inside."""

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
    """An operator with its operands; ``and`` and ``or`` take two or more."""

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
    """``x[0]``, or ``d[x, y]`` for a dictionary with tuples as keys."""

    operand: Expression
    indices: tuple[Expression, ...]


@dataclass(frozen=True)
class Collection(Node):
    """``[a, b]``, or the tuple ``(a, b)``."""

    parts: tuple[Expression, ...]
    is_list: bool


@dataclass(frozen=True)
class Dictionary(Node):
    """``{a: b}``."""

    entries: tuple[tuple[Expression, Expression], ...]


@dataclass(frozen=True)
class Comprehension(Node):
    """``[x + 1 for x in l]``, or, with a key, a dictionary comprehension."""

    key: Expression | None
    value: Expression
    names: tuple[str, ...]
    iterable: Expression


Expression: TypeAlias = (
    Name | Literal | Relation | Operation | Member | Call | Index | Collection | Dictionary | Comprehension
)


@dataclass(frozen=True)
class Shown(Node):
    """Expression statement ``x;``, which an interactive shell prints."""

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
