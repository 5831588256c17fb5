"""The core of RASP: sequence operators and selectors, one operation a line.

A program is a list of definitions in the order in which they are computed. Each is one operation on earlier ones, which
it refers to by their names: a directed acyclic graph as flat data. All dialects are elaborated to it, and it prints as
``.rasp``.

A *sequence operator* has a value at every position: a symbol, a Boolean, an integer, a fraction, a tuple of such, None
where the dialect has it. A *selector* says for every query position which key positions it selects.

**What is not defined.** A mean of categories that differ, a division by 0, an order of things that have none, a
comparison with None: there the value is `UNDEFINED`, which no dialect can write. Whatever is computed from it is
undefined too: a map with an undefined operand; a selector at a query whose own value, or any key that it may see, is
undefined; an aggregate that selects an undefined value. Both branches of a choice are computed, but only the one that
is taken counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, StrEnum
from fractions import Fraction
from typing import Final, TypeAlias, Union

from softmachine.support.errors import Place


class Undefined(Enum):
    """The value of what has none."""

    UNDEFINED = "undefined"


UNDEFINED: Final = Undefined.UNDEFINED

Value: TypeAlias = Union[bool, int, Fraction, str, tuple["Value", ...], None]  # noqa: UP007 - it refers to itself
"""What a sequence operator may have at a position. A fraction that is an integer is an ``int``."""


class Operator(StrEnum):
    """Elementwise operations; the value is how ``.rasp`` writes them. True counts as 1 where a number is wanted."""

    ADD = "+"
    """Of two symbols: one after the other."""
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"
    FLOOR_DIVIDE = "//"
    MODULO = "%"
    POWER = "^"
    NEGATE = "neg"
    ABSOLUTE = "abs"
    ROUND = "round"
    """To the nearest integer, halves to the even one."""
    TRUNCATE = "int"
    """The integer part, towards 0."""
    MINIMUM = "min"
    MAXIMUM = "max"
    EQUAL = "=="
    UNEQUAL = "!="
    LESS = "<"
    AT_MOST = "<="
    GREATER = ">"
    AT_LEAST = ">="
    AND = "and"
    OR = "or"
    NOT = "not"
    CHOOSE = "if"
    """Operands: then, condition, otherwise: as in ``then if condition else otherwise``."""
    INDICATOR = "indicator"
    """1 where its operand is true, else 0."""


ARITY: Final[Mapping[Operator, int]] = {
    **dict.fromkeys(Operator, 2),
    **dict.fromkeys(
        (Operator.NEGATE, Operator.ABSOLUTE, Operator.ROUND, Operator.TRUNCATE, Operator.NOT, Operator.INDICATOR), 1
    ),
    Operator.CHOOSE: 3,
}
COMPARISONS: Final = (
    Operator.EQUAL, Operator.UNEQUAL, Operator.LESS, Operator.AT_MOST, Operator.GREATER, Operator.AT_LEAST,
)  # fmt: skip
"""Those that a selector may compare key and query by."""


class Reduction(StrEnum):
    """What an aggregate makes of the values that are selected; of a single one, or of equal ones, always that value."""

    MEAN = "mean"
    LARGEST = "max"
    SMALLEST = "min"


@dataclass(frozen=True)
class Tokens:
    """The input: the value of the letter at each position (see `Program.letters`)."""


@dataclass(frozen=True)
class Indices:
    """The position, counted from 0."""


@dataclass(frozen=True)
class Length:
    """How many positions there are; in a causal program, how many there are up to here."""


@dataclass(frozen=True)
class Constant:
    """The same value everywhere."""

    value: Value


@dataclass(frozen=True)
class Apply:
    """An operation on the values at each position."""

    operator: Operator
    operands: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """A function of finitely many values, row by row: what its operands are, and what it is then.

    Where no row fits, the value is undefined.
    """

    operands: tuple[str, ...]
    rows: tuple[tuple[tuple[Value, ...], Value], ...]


@dataclass(frozen=True)
class Select:
    """The keys that compare so with the query: ``key < query`` for `LESS`."""

    key: str
    query: str
    comparison: Operator


@dataclass(frozen=True)
class SelectPairs:
    """The keys whose value is paired with that of the query: a predicate over finite domains, as (key, query) pairs."""

    key: str
    query: str
    pairs: tuple[tuple[Value, Value], ...]


@dataclass(frozen=True)
class SelectAll:
    """Every key, or none."""

    selected: bool = True


@dataclass(frozen=True)
class Combine:
    """Selectors joined by `AND` or `OR` (two or more), or negated by `NOT` (one)."""

    operator: Operator
    selectors: tuple[str, ...]


@dataclass(frozen=True)
class Aggregate:
    """What is selected, as one value; ``default`` (an earlier sequence operator) where nothing is selected."""

    selector: str
    values: str
    default: str
    reduction: Reduction = Reduction.MEAN


@dataclass(frozen=True)
class Width:
    """How many keys are selected."""

    selector: str


@dataclass(frozen=True)
class Repeat:
    """One variable after a loop that ends when no variable has changed anywhere.

    Args:
        variables: The variables, each with the name of an earlier sequence operator that it starts as.
        body: What is computed in each turn, from earlier definitions and the variables.
        following: What each variable is in the next turn: names of variables, of the body, or from before.
        result: The variable that is wanted.
    """

    variables: tuple[tuple[str, str], ...]
    body: tuple[Definition, ...]
    following: tuple[str, ...]
    result: str


SequenceOperator: TypeAlias = Tokens | Indices | Length | Constant | Apply | Table | Aggregate | Width | Repeat
Selector: TypeAlias = Select | SelectPairs | SelectAll | Combine
Node: TypeAlias = SequenceOperator | Selector


@dataclass(frozen=True)
class Definition:
    """``name = node``."""

    name: str
    node: Node
    place: Place | None = field(default=None, compare=False, repr=False)


def operands(node: Node) -> tuple[str, ...]:
    """The names that an operation refers to, in the order of its fields."""
    match node:
        case Apply(operands=names) | Table(operands=names) | Combine(selectors=names):
            return names
        case Select() | SelectPairs():
            return (node.key, node.query)
        case Aggregate():
            return (node.selector, node.values, node.default)
        case Width():
            return (node.selector,)
        case Repeat():
            own = {name for name, _ in node.variables} | {step.name for step in node.body}
            inside = [name for step in node.body for name in operands(step.node)] + list(node.following)
            return tuple(dict.fromkeys([*(start for _, start in node.variables), *(x for x in inside if x not in own)]))
        case _:
            return ()


def renamed(node: Node, names: Mapping[str, str]) -> Node:
    """The same operation on what is called otherwise."""

    def new(name: str) -> str:
        return names.get(name, name)

    match node:
        case Apply() | Table():
            return replace(node, operands=tuple(map(new, node.operands)))
        case Combine():
            return replace(node, selectors=tuple(map(new, node.selectors)))
        case Select() | SelectPairs():
            return replace(node, key=new(node.key), query=new(node.query))
        case Aggregate():
            return replace(node, selector=new(node.selector), values=new(node.values), default=new(node.default))
        case Width():
            return replace(node, selector=new(node.selector))
        case Repeat():
            return replace(
                node,
                variables=tuple((name, new(start)) for name, start in node.variables),
                body=tuple(replace(step, node=renamed(step.node, names)) for step in node.body),
                following=tuple(map(new, node.following)),
            )
        case _:
            return node
