"""Compile-time values of the RASP text form and the scopes that bind them.

Built-in functions and names of the RASP text form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeGuard

from softmachine.languages.rasp import ir, syntax_tree
from softmachine.languages.rasp.ir import Operator, Reduction, Value
from softmachine.languages.rasp.values import is_number

if TYPE_CHECKING:
    from softmachine.languages.rasp.elaborator import Terms


@dataclass(frozen=True)
class SequenceThing:
    """A sequence operator of the program under construction."""

    reference: str


@dataclass(frozen=True)
class SelectorThing:
    """A selector of the program under construction."""

    reference: str


@dataclass(frozen=True)
class LoopThing:
    """A variable after its loop; becomes a sequence operator on first use."""

    node: ir.Repeat


@dataclass(frozen=True)
class RelationThing:
    """A comparison operator such as ``==``, as an argument of select."""

    operator: Operator


@dataclass(frozen=True)
class Closure:
    """A user-defined function with its defining scope."""

    definition: syntax_tree.Function
    scope: Scope = field(repr=False)
    known: bool = False
    """Whether it comes from the library or from a loaded file; errors inside are reported at the call."""

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.definition.name


@dataclass(frozen=True)
class Primitive:
    """A built-in function.

    Args:
        name: The name.
        usage: A sample call, for messages.
        counts: The allowed numbers of arguments.
        call: The implementation.
    """

    name: str
    usage: str
    counts: tuple[int, ...]
    call: Callable[[Terms, list[Any], syntax_tree.Call], Thing]


Thing: TypeAlias = (
    Value
    | SequenceThing
    | SelectorThing
    | LoopThing
    | RelationThing
    | Closure
    | Primitive
    | list[Any]
    | dict[Any, Any]
    | tuple[Any, ...]
)


class Scope:
    """A nested scope: bindings of names to compile-time values."""

    def __init__(self, outer: Scope | None = None, names: Mapping[str, Thing] | None = None) -> None:
        self.outer = outer
        self.names: dict[str, Thing] = dict(names or {})

    def find(self, name: str) -> Scope | None:
        """The innermost scope that binds a name."""
        scope: Scope | None = self
        while scope is not None and name not in scope.names:
            scope = scope.outer
        return scope

    def known(self) -> set[str]:
        """All names that are bound here or in an enclosing scope."""
        return set(self.names) | (self.outer.known() if self.outer else set())


def is_value(value: Thing) -> TypeGuard[Value]:
    """Whether a compile-time value is a value that a sequence operator may have at a position."""
    if isinstance(value, tuple):
        return all(map(is_value, value))
    return value is None or isinstance(value, str) or is_number(value)  # type: ignore[arg-type]


def described(value: Thing) -> str:
    """The kind of a compile-time value, for messages."""
    match value:
        case SequenceThing() | LoopThing():
            return "a sequence operator"
        case SelectorThing():
            return "a selector"
        case RelationThing():
            return "a comparison"
        case Closure() | Primitive():
            return f"the function {value.name!r}"
        case list():
            return "a list"
        case dict():
            return "a dictionary"
        case str():
            return "a symbol"
        case bool() | None:
            return str(value)
        case tuple():
            return "a tuple"
        case _:
            return "a number"


LONGEST_LIST: Final = 20_000


def _select(elaborator: Terms, arguments: list[Any], call: syntax_tree.Call) -> Thing:
    key, query, how = arguments
    names = elaborator.sequence(key, call.arguments[0]), elaborator.sequence(query, call.arguments[1])
    if isinstance(how, RelationThing):
        return elaborator.selector(ir.Select(*names, how.operator))
    if isinstance(how, list) and all(isinstance(pair, tuple) and len(pair) == 2 and is_value(pair) for pair in how):
        return elaborator.selector(ir.SelectPairs(*names, tuple(how)))
    raise elaborator.mistake(
        f"expected a comparison or a list of (key, query) pairs, not {described(how)}",
        call.arguments[2],
        "write for example select(x, y, ==)",
    )


def _aggregate(elaborator: Terms, arguments: list[Any], call: syntax_tree.Call) -> Thing:
    selector, values, *rest = arguments
    if not isinstance(selector, SelectorThing):
        hint = "the first argument of aggregate is a selector, as select returns"
        raise elaborator.mistake(f"expected a selector, not {described(selector)}", call.arguments[0], hint)
    reduction = Reduction.MEAN
    if len(rest) == 2:
        if rest[1] not in list(Reduction):
            raise elaborator.mistake("unknown reduction; expected mean, max or min", call.arguments[3], 'write "max"')
        reduction = Reduction(rest[1])
    sequence = elaborator.sequence(values, call.arguments[1])
    default = elaborator.sequence(rest[0], call.arguments[2]) if rest else elaborator.add(ir.Constant(0))
    return elaborator.made(ir.Aggregate(selector.reference, sequence, default, reduction))


def _width(elaborator: Terms, arguments: list[Any], call: syntax_tree.Call) -> Thing:
    if not isinstance(arguments[0], SelectorThing):
        hint = "selector_width counts the keys that a selector selects"
        raise elaborator.mistake(f"expected a selector, not {described(arguments[0])}", call.arguments[0], hint)
    return elaborator.made(ir.Width(arguments[0].reference))


def _elementwise(operator: Operator) -> Callable[[Terms, list[Any], syntax_tree.Call], Thing]:
    def call(elaborator: Terms, arguments: list[Any], call: syntax_tree.Call) -> Thing:
        return elaborator.applied(operator, list(zip(arguments, call.arguments, strict=True)), call)

    return call


def _table(elaborator: Terms, arguments: list[Any], call: syntax_tree.Call) -> Thing:
    *operands, rows = arguments
    if not isinstance(rows, dict):
        hint = 'write for example table(x, {"a": 1})'
        raise elaborator.mistake(
            f"expected the rows of the table as a dictionary, not {described(rows)}", call.arguments[-1], hint
        )
    names = [elaborator.sequence(operand, written) for operand, written in zip(operands, call.arguments, strict=False)]
    return table(elaborator, tuple(names), rows, call)


def table(elaborator: Terms, names: tuple[str, ...], rows: dict[Any, Thing], at: syntax_tree.Expression) -> Thing:
    """Emit a table over sequence operators, from a dictionary of its rows."""
    found: list[tuple[tuple[Value, ...], Value]] = []
    for key, result in elaborator.entries(rows):
        values = (key,) if len(names) == 1 else key if isinstance(key, tuple) else ()
        if len(values) != len(names):
            raise elaborator.mistake(
                f"the key of a row for {len(names)} operands must be a tuple of {len(names)} values", at, ""
            )
        if not is_value(result):
            raise elaborator.mistake(f"the result of a table row must be a value, not {described(result)}", at, "")
        found.append((values, result))
    return elaborator.made(ir.Table(names, tuple(found)))


def _constant(elaborator: Terms, arguments: list[Any], call: syntax_tree.Call) -> Thing:
    if not is_value(arguments[0]):
        raise elaborator.mistake(f"expected a value, not {described(arguments[0])}", call.arguments[0], "write a value")
    return elaborator.made(ir.Constant(arguments[0]))


def _zip(elaborator: Terms, arguments: list[Any], call: syntax_tree.Call) -> Thing:
    lists = [elaborator.items(argument, written) for argument, written in zip(arguments, call.arguments, strict=True)]
    return [tuple(entries) for entries in zip(*lists, strict=False)]


def _enumerate(elaborator: Terms, arguments: list[Any], call: syntax_tree.Call) -> Thing:
    return list(enumerate(elaborator.items(arguments[0], call.arguments[0])))


def _len(elaborator: Terms, arguments: list[Any], call: syntax_tree.Call) -> Thing:
    return len(elaborator.items(arguments[0], call.arguments[0]))


def _range(elaborator: Terms, arguments: list[Any], call: syntax_tree.Call) -> Thing:
    for argument, written in zip(arguments, call.arguments, strict=True):
        if not isinstance(argument, int):
            raise elaborator.mistake(
                f"range takes integers, not {described(argument)}", written, "write for example range(3)"
            )
    try:
        numbers = range(*arguments)
    except ValueError:
        raise elaborator.mistake("the step of a range cannot be 0", call, "write range(first, end, 1)") from None
    if len(numbers) > LONGEST_LIST:
        raise elaborator.mistake(f"a list has at most {LONGEST_LIST:,} entries", call, "")
    return list(numbers)


PRIMITIVES: Final = {
    primitive.name: primitive
    for primitive in (
        Primitive("select", "select(key, query, ==)", (3,), _select),
        Primitive("aggregate", "aggregate(selector, values, default)", (2, 3, 4), _aggregate),
        Primitive("selector_width", "selector_width(selector)", (1,), _width),
        Primitive("round", "round(x)", (1,), _elementwise(Operator.ROUND)),
        Primitive("int", "int(x)", (1,), _elementwise(Operator.TRUNCATE)),
        Primitive("abs", "abs(x)", (1,), _elementwise(Operator.ABSOLUTE)),
        Primitive("indicator", "indicator(x)", (1,), _elementwise(Operator.INDICATOR)),
        Primitive("max", "max(x, y)", (2,), _elementwise(Operator.MAXIMUM)),
        Primitive("min", "min(x, y)", (2,), _elementwise(Operator.MINIMUM)),
        Primitive("table", 'table(x, {"a": 1})', tuple(range(2, 10)), _table),
        Primitive("constant", "constant(1)", (1,), _constant),
        Primitive("zip", "zip(list, list)", tuple(range(1, 10)), _zip),
        Primitive("enumerate", "enumerate(list)", (1,), _enumerate),
        Primitive("len", "len(list)", (1,), _len),
        Primitive("range", "range(3)", (1, 2, 3), _range),
    )
}


def given(elaborator: Terms, name: str) -> Thing | None:
    """The value of a built-in name; None if the name is not built in."""
    match name:
        case "tokens":
            return elaborator.made(ir.Tokens())
        case "tokens_str" | "tokens_int" | "tokens_float" | "tokens_bool":
            return elaborator.letters(name.removeprefix("tokens_"))
        case "indices":
            return elaborator.made(ir.Indices())
        case "length":
            return elaborator.made(ir.Length())
        case "full_s" | "no_s":
            return elaborator.selector(ir.SelectAll(name == "full_s"))
        case _:
            return PRIMITIVES.get(name)


GIVEN: Final = (
    "tokens", "tokens_str", "tokens_int", "tokens_float", "tokens_bool", "indices", "length", "full_s", "no_s",
    "True", "False", "None", *PRIMITIVES,
)  # fmt: skip
CONSTANTS: Final = {"True": True, "False": False, "None": None}
