"""Environment of the RASP text form: compile-time values, the scopes that bind them, and built-in functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeGuard, cast

from softmachine.languages.rasp import ir
from softmachine.languages.rasp.ir import ARITY, Operator, Reduction, Value
from softmachine.languages.rasp.syntax_tree import Node
from softmachine.languages.rasp.values import is_number

if TYPE_CHECKING:
    from softmachine.languages.rasp.elaborator import Elaborator
    from softmachine.languages.rasp.emitter import Operand


@dataclass(frozen=True)
class SequenceValue:
    """A sequence operator of the program under construction."""

    reference: str


@dataclass(frozen=True)
class SelectorValue:
    """A selector of the program under construction."""

    reference: str


@dataclass(frozen=True)
class LoopValue:
    """A variable after its loop; becomes a sequence operator on first use."""

    node: ir.Repeat


@dataclass(frozen=True)
class OperatorValue:
    """A comparison operator such as ``==``, as an argument of select."""

    operator: Operator


@dataclass(frozen=True)
class Closure:
    """A user-defined function with its defining scope."""

    definition: Node
    scope: Scope = field(repr=False)
    is_library: bool = False
    """Whether it comes from the library or from a loaded file; errors inside are reported at the call."""

    @property
    def name(self) -> str:
        """The name of the function."""
        return str(self.definition.parts[0].parts[0])


@dataclass(frozen=True)
class BuiltinFunction:
    """A built-in function.

    Args:
        name: The name.
        usage: A sample call, for messages.
        arities: The allowed numbers of arguments.
        implementation: The implementation: a function of the elaborator, the call, and the arguments.
    """

    name: str
    usage: str
    arities: tuple[int, ...]
    implementation: Callable[..., CompileTimeValue]


CompileTimeValue: TypeAlias = (
    Value
    | SequenceValue
    | SelectorValue
    | LoopValue
    | OperatorValue
    | Closure
    | BuiltinFunction
    | list[Any]
    | dict[Any, Any]
    | tuple[Any, ...]
)


class Scope:
    """A nested scope: bindings of names to compile-time values."""

    def __init__(self, outer: Scope | None = None, names: Mapping[str, CompileTimeValue] | None = None) -> None:
        self.outer = outer
        self.names: dict[str, CompileTimeValue] = dict(names or {})

    def find(self, name: str) -> Scope | None:
        """The innermost scope that binds a name."""
        scope: Scope | None = self
        while scope is not None and name not in scope.names:
            scope = scope.outer
        return scope

    def bound_names(self) -> set[str]:
        """All names that are bound here or in an enclosing scope."""
        return set(self.names) | (self.outer.bound_names() if self.outer else set())


def is_value(value: CompileTimeValue) -> TypeGuard[Value]:
    """Whether a compile-time value is a value that a sequence operator may have at a position."""
    if isinstance(value, tuple):
        return all(map(is_value, value))
    return value is None or isinstance(value, str) or is_number(value)  # type: ignore[arg-type]


def describe_value(value: CompileTimeValue) -> str:
    """The kind of a compile-time value, for messages."""
    match value:
        case SequenceValue() | LoopValue():
            return "a sequence operator"
        case SelectorValue():
            return "a selector"
        case OperatorValue():
            return "a comparison"
        case Closure() | BuiltinFunction():
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


MAX_LIST_LENGTH: Final = 20_000


def _select(elaborator: Elaborator, _call: Node, key: Operand, query: Operand, how: Operand) -> CompileTimeValue:
    names = elaborator.to_sequence(*key), elaborator.to_sequence(*query)
    comparison, expression = how
    if isinstance(comparison, OperatorValue):
        return elaborator.emit_selector(ir.Select(*names, comparison.operator))
    if isinstance(comparison, list) and all(
        isinstance(pair, tuple) and len(pair) == 2 and is_value(pair) for pair in comparison
    ):
        return elaborator.emit_selector(ir.SelectPairs(*names, tuple(comparison)))
    message = f"expected a comparison or a list of (key, query) pairs, not {describe_value(comparison)}"
    raise elaborator.diagnostic(message, expression, "write for example select(x, y, ==)")


def _selector(elaborator: Elaborator, item: Operand, hint: str) -> str:
    value, expression = item
    if not isinstance(value, SelectorValue):
        raise elaborator.diagnostic(f"expected a selector, not {describe_value(value)}", expression, hint)
    return value.reference


def _aggregate(
    elaborator: Elaborator, call: Node, selector: Operand, values: Operand, *rest: Operand
) -> CompileTimeValue:
    selected = _selector(elaborator, selector, "the first argument of aggregate is a selector, as select returns")
    how, expression = rest[1] if len(rest) == 2 else (Reduction.MEAN, call)
    if how not in list(Reduction):
        raise elaborator.diagnostic("unknown reduction; expected mean, max or min", expression, 'write "max"')
    sequence = elaborator.to_sequence(*values)
    default = elaborator.to_sequence(*rest[0]) if rest else elaborator.emit(ir.Constant(0))
    return elaborator.emit_sequence(ir.Aggregate(selected, sequence, default, Reduction(cast(str, how))))


def _width(elaborator: Elaborator, _call: Node, selector: Operand) -> CompileTimeValue:
    hint = "selector_width counts the keys that a selector selects"
    return elaborator.emit_sequence(ir.Width(_selector(elaborator, selector, hint)))


def _table(elaborator: Elaborator, call: Node, *operands: Operand) -> CompileTimeValue:
    *columns, (rows, expression) = operands
    if not isinstance(rows, dict):
        message = f"expected the rows of the table as a dictionary, not {describe_value(rows)}"
        raise elaborator.diagnostic(message, expression, 'write for example table(x, {"a": 1})')
    return emit_table(elaborator, tuple(elaborator.to_sequence(*column) for column in columns), rows, call)


def emit_table(
    elaborator: Elaborator, names: tuple[str, ...], rows: dict[Any, Any], expression: Node
) -> CompileTimeValue:
    """Emit a table over sequence operators, from a dictionary of its rows."""
    found: list[tuple[tuple[Value, ...], Value]] = []
    for key, result in rows.values():
        values = (key,) if len(names) == 1 else key if isinstance(key, tuple) else ()
        if len(values) != len(names):
            message = f"the key of a row for {len(names)} operands must be a tuple of {len(names)} values"
            raise elaborator.diagnostic(message, expression, "")
        if not is_value(result):
            message = f"the result of a table row must be a value, not {describe_value(result)}"
            raise elaborator.diagnostic(message, expression, "")
        found.append((values, result))
    return elaborator.emit_sequence(ir.Table(names, tuple(found)))


def _constant(elaborator: Elaborator, _call: Node, item: Operand) -> CompileTimeValue:
    value, expression = item
    if not is_value(value):
        raise elaborator.diagnostic(f"expected a value, not {describe_value(value)}", expression, "write a value")
    return elaborator.emit_sequence(ir.Constant(value))


def _range(elaborator: Elaborator, call: Node, *arguments: Operand) -> CompileTimeValue:
    for number, expression in arguments:
        if not isinstance(number, int):
            message = f"range takes integers, not {describe_value(number)}"
            raise elaborator.diagnostic(message, expression, "write for example range(3)")
    try:
        numbers = range(*(cast(int, number) for number, _ in arguments))
    except ValueError:
        raise elaborator.diagnostic("the step of a range cannot be 0", call, "write range(first, end, 1)") from None
    if len(numbers) > MAX_LIST_LENGTH:
        raise elaborator.diagnostic(f"a list has at most {MAX_LIST_LENGTH:,} entries", call, "")
    return list(numbers)


def _elementwise(operator: Operator, usage: str) -> BuiltinFunction:
    return BuiltinFunction(
        usage.partition("(")[0],
        usage,
        (ARITY[operator],),
        lambda elaborator, call, *operands: elaborator.apply(operator, operands, call),
    )


def _of_lists(usage: str, arities: tuple[int, ...], function: Callable[..., CompileTimeValue]) -> BuiltinFunction:
    """A built-in function of lists that is computed at compile time."""
    return BuiltinFunction(
        usage.partition("(")[0],
        usage,
        arities,
        lambda elaborator, _call, *lists: function(*(elaborator.list_items(*item) for item in lists)),
    )


BUILTIN_FUNCTIONS: Final = {
    function.name: function
    for function in (
        BuiltinFunction("select", "select(key, query, ==)", (3,), _select),
        BuiltinFunction("aggregate", "aggregate(selector, values, default)", (2, 3, 4), _aggregate),
        BuiltinFunction("selector_width", "selector_width(selector)", (1,), _width),
        _elementwise(Operator.ROUND, "round(x)"),
        _elementwise(Operator.TRUNCATE, "int(x)"),
        _elementwise(Operator.ABSOLUTE, "abs(x)"),
        _elementwise(Operator.INDICATOR, "indicator(x)"),
        _elementwise(Operator.MAXIMUM, "max(x, y)"),
        _elementwise(Operator.MINIMUM, "min(x, y)"),
        BuiltinFunction("table", 'table(x, {"a": 1})', tuple(range(2, 10)), _table),
        BuiltinFunction("constant", "constant(1)", (1,), _constant),
        _of_lists("zip(list, list)", tuple(range(1, 10)), lambda *lists: list(zip(*lists, strict=False))),
        _of_lists("enumerate(list)", (1,), lambda entries: list(enumerate(entries))),
        _of_lists("len(list)", (1,), len),
        BuiltinFunction("range", "range(3)", (1, 2, 3), _range),
    )
}


def builtin_value(elaborator: Elaborator, name: str) -> CompileTimeValue | None:
    """The value of a built-in name; None if the name is not built in."""
    match name:
        case "tokens":
            return elaborator.emit_sequence(ir.Tokens())
        case "tokens_str" | "tokens_int" | "tokens_float" | "tokens_bool":
            return elaborator.emit_converted_tokens(name.removeprefix("tokens_"))
        case "indices":
            return elaborator.emit_sequence(ir.Indices())
        case "length":
            return elaborator.emit_sequence(ir.Length())
        case "full_s" | "no_s":
            return elaborator.emit_selector(ir.SelectAll(name == "full_s"))
        case _:
            return BUILTIN_FUNCTIONS.get(name)


BUILTIN_NAMES: Final = (
    "tokens", "tokens_str", "tokens_int", "tokens_float", "tokens_bool", "indices", "length", "full_s", "no_s",
    "True", "False", "None", *BUILTIN_FUNCTIONS,
)  # fmt: skip
CONSTANTS: Final = {"True": True, "False": False, "None": None}
