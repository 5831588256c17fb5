"""Intermediate representation of RASP: sequence operators and selectors, one operation per definition.

A program is a list of definitions in evaluation order. Each is one operation on earlier definitions, given by name: a
directed acyclic graph as flat data. All dialects are elaborated to this form, and it prints as ``.rasp``.

A *sequence operator* has a value at every position: a symbol, a Boolean, an integer, a fraction, a tuple of these, or
None in dialects that have it. A *selector* determines, for every query position, the set of selected key positions.

**Undefined values.** The mean of different categories, a division by 0, an order comparison of unordered values and a
comparison with None yield `UNDEFINED`, which no dialect can write. Undefinedness propagates: an elementwise operation
with an undefined operand is undefined; so is a selector at a query whose own value, or any visible key, is undefined;
so is an aggregate that selects an undefined value. A choice evaluates both branches but depends only on the one taken.

Also defines the identifiers of the text form: valid and reserved names, and spelling suggestions for unknown ones; and
a hash-consing builder of definitions, which shares equal operations.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from difflib import get_close_matches
from enum import Enum, StrEnum
from fractions import Fraction
from itertools import count
from operator import attrgetter
from typing import Any, Final, TypeAlias, Union

from softmachine.support.errors import SourceLocation


class Undefined(Enum):
    """The type of `UNDEFINED`, the result of an operation without a value."""

    UNDEFINED = "undefined"


UNDEFINED: Final = Undefined.UNDEFINED

Value: TypeAlias = Union[bool, int, Fraction, str, tuple["Value", ...], None]  # noqa: UP007 - it refers to itself
"""The value of a sequence operator at a position. Integral fractions are stored as ``int``."""


class Operator(StrEnum):
    """Elementwise operations; the enum value is the ``.rasp`` notation. True counts as 1 in numeric operations."""

    ADD = "+"
    """Concatenates two symbols."""
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"
    FLOOR_DIVIDE = "//"
    MODULO = "%"
    POWER = "^"
    NEGATE = "neg"
    ABSOLUTE = "abs"
    ROUND = "round"
    """To the nearest integer, ties to even."""
    TRUNCATE = "int"
    """Integer part, rounded towards 0."""
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
    """Operands: then, condition, otherwise, in the order of ``then if condition else otherwise``."""
    INDICATOR = "indicator"
    """1 where the operand is true, else 0."""


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
"""Operators by which a selector may compare key and query."""


class Reduction(StrEnum):
    """How an aggregate reduces the selected values; equal values always reduce to that value."""

    MEAN = "mean"
    MAXIMUM = "max"
    MINIMUM = "min"


@dataclass(frozen=True)
class Tokens:
    """The input: the value of the letter at each position (see `Program.letters`)."""


@dataclass(frozen=True)
class Indices:
    """The position, counted from 0."""


@dataclass(frozen=True)
class Length:
    """The number of positions; in a causal program, of positions up to the current one."""


@dataclass(frozen=True)
class Constant:
    """The same value at every position."""

    value: Value


@dataclass(frozen=True)
class Apply:
    """An elementwise operation."""

    operator: Operator
    operands: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """A function on finite domains, as rows of operand values and result.

    The value is undefined where no row matches.
    """

    operands: tuple[str, ...]
    rows: tuple[tuple[tuple[Value, ...], Value], ...]


@dataclass(frozen=True)
class Select:
    """Selects the keys for which the comparison with the query holds: ``key < query`` for `LESS`."""

    key: str
    query: str
    comparison: Operator


@dataclass(frozen=True)
class SelectPairs:
    """Selects by a predicate over finite domains, given as the list of its (key, query) pairs."""

    key: str
    query: str
    pairs: tuple[tuple[Value, Value], ...]


@dataclass(frozen=True)
class SelectAll:
    """Selects every key, or none."""

    selected: bool = True


@dataclass(frozen=True)
class Combine:
    """Conjunction or disjunction of two or more selectors, or negation of one."""

    operator: Operator
    selectors: tuple[str, ...]


@dataclass(frozen=True)
class Aggregate:
    """Reduces the selected values to one; ``default`` (an earlier sequence operator) where nothing is selected."""

    selector: str
    values: str
    default: str
    reduction: Reduction = Reduction.MEAN


@dataclass(frozen=True)
class Width:
    """The number of selected keys."""

    selector: str


@dataclass(frozen=True)
class Repeat:
    """The final value of one variable of a loop that ends at a fixpoint: when no variable changes at any position.

    Args:
        variables: The variables, each with the name of the earlier sequence operator that is its initial value.
        body: The definitions computed in each iteration, from earlier definitions and the variables.
        next_values: The next value of each variable: the name of a variable, of a body definition, or of an earlier
            one.
        result: The variable that the node denotes.
    """

    variables: tuple[tuple[str, str], ...]
    body: tuple[Definition, ...]
    next_values: tuple[str, ...]
    result: str


SequenceOperator: TypeAlias = Tokens | Indices | Length | Constant | Apply | Table | Aggregate | Width | Repeat
Selector: TypeAlias = Select | SelectPairs | SelectAll | Combine
Node: TypeAlias = SequenceOperator | Selector


@dataclass(frozen=True)
class Definition:
    """``name = node``."""

    name: str
    node: Node
    place: SourceLocation | None = field(default=None, compare=False, repr=False)


OPERAND_FIELDS: Final[Mapping[type[Node], tuple[str, ...]]] = {
    Apply: ("operands",), Table: ("operands",), Combine: ("selectors",), Select: ("key", "query"),
    SelectPairs: ("key", "query"), Aggregate: ("selector", "values", "default"), Width: ("selector",),
}  # fmt: skip
"""The fields that contain operands; those of a loop are nested."""
_OPERANDS: Final = {kind: attrgetter(*fields) for kind, fields in OPERAND_FIELDS.items()}


def operands(node: Node) -> tuple[str, ...]:
    """The names that an operation references, in the order of its fields."""
    if isinstance(node, Repeat):
        own = {name for name, _ in node.variables} | {step.name for step in node.body}
        inside = [name for step in node.body for name in operands(step.node)] + list(node.next_values)
        return tuple(dict.fromkeys([*(start for _, start in node.variables), *(x for x in inside if x not in own)]))
    found = _OPERANDS[type(node)](node) if type(node) in _OPERANDS else ()
    return found if isinstance(found, tuple) else (found,)


def rename_operands(node: Node, names: Mapping[str, str]) -> Node:
    """The same operation with its operands renamed."""

    def new(name: Any) -> Any:
        return tuple(map(new, name)) if isinstance(name, tuple) else names.get(name, name)

    if isinstance(node, Repeat):
        return replace(
            node,
            variables=tuple((name, new(start)) for name, start in node.variables),
            body=tuple(replace(step, node=rename_operands(step.node, names)) for step in node.body),
            next_values=new(node.next_values),
        )
    fields = OPERAND_FIELDS.get(type(node), ())
    return replace(node, **{entry: new(getattr(node, entry)) for entry in fields}) if fields else node


KEYWORDS: Final = frozenset(
    {"def", "return", "for", "in", "if", "else", "and", "or", "not", "True", "False", "None", "undefined"}
    | {"repeat", "until", "load", "lambda", "set", "example", "draw"}
)
"""Keywords of the text form, which cannot be identifiers."""
BUILTIN_OPERATIONS: Final = frozenset(
    {"tokens", "indices", "length", "select", "aggregate", "selector_width", "full_s", "no_s", "table", "constant"}
    | {"max", "min", "round", "int", "abs", "indicator"}
)
"""Names of the built-in operations. A program text may rebind them, but the binding's name is not kept."""
RESERVED: Final = KEYWORDS | BUILTIN_OPERATIONS
NAME: Final = re.compile(r"[^\W\d]\w*")
ANONYMOUS: Final = re.compile(r"_\d+(_\d+)?")
"""Generated names of anonymous definitions; inside a loop they include the number of the loop."""
MAX_COMPARED_NAMES: Final = 200


def is_name(text: str) -> bool:
    """Whether a text is a valid name of a definition."""
    return NAME.fullmatch(text) is not None and text not in RESERVED


def suggest_name(name: str, known: Iterable[str]) -> str | None:
    """A hint if a name is similar to a known one. Skipped if there are too many names to compare."""
    names = sorted(known)
    similar = get_close_matches(name, names, n=1) if len(names) < MAX_COMPARED_NAMES else []
    return f"did you mean {similar[0]!r}?" if similar else None


class DefinitionBuilder:
    """Builds a list of definitions with common subexpressions shared.

    Anonymous definitions are named ``_1``, ``_2``, …

    Args:
        prefix: Prefix of the generated names.
        exact: Whether equal operations stay separate, and every operation keeps the first name that it is given.
            Generated names are then invalid, so that an operation without a name is an error of the program.
    """

    def __init__(self, *, prefix: str = "_", exact: bool = False) -> None:
        self.exact = exact
        self._references: dict[Hashable, str] = {}
        self._definitions: dict[str, Definition] = {}
        self._assigned_names: dict[str, str] = {}
        self._prefix = f"?{prefix[1:]}" if exact else prefix
        self._taken: set[str] = set()
        self._reserved: set[str] = set()
        self._numbers = count(1)

    def add(self, node: Node, place: SourceLocation | None = None) -> str:
        """Add an operation and return its reference; an equal earlier operation is reused."""
        key = object() if self.exact else structural_key(node)
        if key not in self._references:
            reference = next(
                name for name in (f"{self._prefix}{k}" for k in self._numbers) if name not in self._reserved
            )
            self._references[key] = reference
            self._definitions[reference] = Definition(reference, node, place)
        return self._references[key]

    def __len__(self) -> int:
        return len(self._definitions)

    def node(self, reference: str) -> Node:
        """The operation of a reference."""
        return self._definitions[reference].node

    def set_name(self, reference: str, name: str) -> None:
        """Give an operation a user-visible name. Ignored if it has one already, or if the name is taken or invalid."""
        free = name not in self._taken and name not in self._reserved
        if (
            self.exact or (free and is_name(name) and not ANONYMOUS.fullmatch(name))
        ) and reference not in self._assigned_names:
            self._assigned_names[reference] = name
            self._taken.add(name)

    def reserve_name(self, name: str) -> bool:
        """Reserve a name so that later calls cannot assign it; False if an operation has it already."""
        self._reserved.add(name)
        return self.exact or name not in self._taken

    def name(self, reference: str) -> str:
        """The final name of an operation."""
        return self._assigned_names.get(reference, reference)

    def definitions(self) -> tuple[Definition, ...]:
        """All definitions in order of creation, under their final names."""
        return tuple(
            Definition(self.name(item.name), rename_operands(item.node, self._assigned_names), item.place)
            for item in self._definitions.values()
        )


def structural_key(part: object) -> Hashable:
    """A hashable key, equal for equal operations, that distinguishes True from 1 (unlike Python's equality)."""
    if isinstance(part, tuple):
        return tuple(map(structural_key, part))
    if is_dataclass(part):
        return (type(part), *(structural_key(getattr(part, entry.name)) for entry in fields(part) if entry.compare))
    return (isinstance(part, bool), part)
