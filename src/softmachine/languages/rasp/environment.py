"""Environment of the RASP text form: compile-time values, the scopes that bind them, and built-in functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeGuard

from softmachine.languages.rasp import ir, syntax_tree
from softmachine.languages.rasp.ir import Operator, Reduction, Value
from softmachine.languages.rasp.values import is_number

if TYPE_CHECKING:
    from softmachine.languages.rasp.elaborator import ExpressionElaborator


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

    definition: syntax_tree.Function
    scope: Scope = field(repr=False)
    is_library: bool = False
    """Whether it comes from the library or from a loaded file; errors inside are reported at the call."""

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.definition.name


@dataclass(frozen=True)
class BuiltinFunction:
    """A built-in function.

    Args:
        name: The name.
        usage: A sample call, for messages.
        arities: The allowed numbers of arguments.
        implementation: The implementation.
    """

    name: str
    usage: str
    arities: tuple[int, ...]
    implementation: Callable[[ExpressionElaborator, list[Any], syntax_tree.Call], CompileTimeValue]


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


def _select(elaborator: ExpressionElaborator, arguments: list[Any], call: syntax_tree.Call) -> CompileTimeValue:
    key, query, how = arguments
    names = elaborator.to_sequence(key, call.arguments[0]), elaborator.to_sequence(query, call.arguments[1])
    if isinstance(how, OperatorValue):
        return elaborator.emit_selector(ir.Select(*names, how.operator))
    if isinstance(how, list) and all(isinstance(pair, tuple) and len(pair) == 2 and is_value(pair) for pair in how):
        return elaborator.emit_selector(ir.SelectPairs(*names, tuple(how)))
    raise elaborator.diagnostic(
        f"expected a comparison or a list of (key, query) pairs, not {describe_value(how)}",
        call.arguments[2],
        "write for example select(x, y, ==)",
    )


def _aggregate(elaborator: ExpressionElaborator, arguments: list[Any], call: syntax_tree.Call) -> CompileTimeValue:
    selector, values, *rest = arguments
    if not isinstance(selector, SelectorValue):
        hint = "the first argument of aggregate is a selector, as select returns"
        raise elaborator.diagnostic(f"expected a selector, not {describe_value(selector)}", call.arguments[0], hint)
    reduction = Reduction.MEAN
    if len(rest) == 2:
        if rest[1] not in list(Reduction):
            raise elaborator.diagnostic(
                "unknown reduction; expected mean, max or min", call.arguments[3], 'write "max"'
            )
        reduction = Reduction(rest[1])
    sequence = elaborator.to_sequence(values, call.arguments[1])
    default = elaborator.to_sequence(rest[0], call.arguments[2]) if rest else elaborator.emit(ir.Constant(0))
    return elaborator.emit_sequence(ir.Aggregate(selector.reference, sequence, default, reduction))


def _width(elaborator: ExpressionElaborator, arguments: list[Any], call: syntax_tree.Call) -> CompileTimeValue:
    if not isinstance(arguments[0], SelectorValue):
        hint = "selector_width counts the keys that a selector selects"
        raise elaborator.diagnostic(f"expected a selector, not {describe_value(arguments[0])}", call.arguments[0], hint)
    return elaborator.emit_sequence(ir.Width(arguments[0].reference))


def _elementwise(operator: Operator) -> Callable[[ExpressionElaborator, list[Any], syntax_tree.Call], CompileTimeValue]:
    def call(elaborator: ExpressionElaborator, arguments: list[Any], call: syntax_tree.Call) -> CompileTimeValue:
        return elaborator.apply(operator, list(zip(arguments, call.arguments, strict=True)), call)

    return call


def _table(elaborator: ExpressionElaborator, arguments: list[Any], call: syntax_tree.Call) -> CompileTimeValue:
    *operands, rows = arguments
    if not isinstance(rows, dict):
        hint = 'write for example table(x, {"a": 1})'
        raise elaborator.diagnostic(
            f"expected the rows of the table as a dictionary, not {describe_value(rows)}", call.arguments[-1], hint
        )
    names = [
        elaborator.to_sequence(operand, written) for operand, written in zip(operands, call.arguments, strict=False)
    ]
    return emit_table(elaborator, tuple(names), rows, call)


def emit_table(
    elaborator: ExpressionElaborator,
    names: tuple[str, ...],
    rows: dict[Any, CompileTimeValue],
    expression: syntax_tree.Expression,
) -> CompileTimeValue:
    """Emit a table over sequence operators, from a dictionary of its rows."""
    found: list[tuple[tuple[Value, ...], Value]] = []
    for key, result in elaborator.dictionary_entries(rows):
        values = (key,) if len(names) == 1 else key if isinstance(key, tuple) else ()
        if len(values) != len(names):
            raise elaborator.diagnostic(
                f"the key of a row for {len(names)} operands must be a tuple of {len(names)} values", expression, ""
            )
        if not is_value(result):
            raise elaborator.diagnostic(
                f"the result of a table row must be a value, not {describe_value(result)}", expression, ""
            )
        found.append((values, result))
    return elaborator.emit_sequence(ir.Table(names, tuple(found)))


def _constant(elaborator: ExpressionElaborator, arguments: list[Any], call: syntax_tree.Call) -> CompileTimeValue:
    if not is_value(arguments[0]):
        raise elaborator.diagnostic(
            f"expected a value, not {describe_value(arguments[0])}", call.arguments[0], "write a value"
        )
    return elaborator.emit_sequence(ir.Constant(arguments[0]))


def _zip(elaborator: ExpressionElaborator, arguments: list[Any], call: syntax_tree.Call) -> CompileTimeValue:
    lists = [
        elaborator.list_items(argument, written) for argument, written in zip(arguments, call.arguments, strict=True)
    ]
    return [tuple(entries) for entries in zip(*lists, strict=False)]


def _enumerate(elaborator: ExpressionElaborator, arguments: list[Any], call: syntax_tree.Call) -> CompileTimeValue:
    return list(enumerate(elaborator.list_items(arguments[0], call.arguments[0])))


def _len(elaborator: ExpressionElaborator, arguments: list[Any], call: syntax_tree.Call) -> CompileTimeValue:
    return len(elaborator.list_items(arguments[0], call.arguments[0]))


def _range(elaborator: ExpressionElaborator, arguments: list[Any], call: syntax_tree.Call) -> CompileTimeValue:
    for argument, written in zip(arguments, call.arguments, strict=True):
        if not isinstance(argument, int):
            raise elaborator.diagnostic(
                f"range takes integers, not {describe_value(argument)}", written, "write for example range(3)"
            )
    try:
        numbers = range(*arguments)
    except ValueError:
        raise elaborator.diagnostic("the step of a range cannot be 0", call, "write range(first, end, 1)") from None
    if len(numbers) > MAX_LIST_LENGTH:
        raise elaborator.diagnostic(f"a list has at most {MAX_LIST_LENGTH:,} entries", call, "")
    return list(numbers)


BUILTIN_FUNCTIONS: Final = {
    primitive.name: primitive
    for primitive in (
        BuiltinFunction("select", "select(key, query, ==)", (3,), _select),
        BuiltinFunction("aggregate", "aggregate(selector, values, default)", (2, 3, 4), _aggregate),
        BuiltinFunction("selector_width", "selector_width(selector)", (1,), _width),
        BuiltinFunction("round", "round(x)", (1,), _elementwise(Operator.ROUND)),
        BuiltinFunction("int", "int(x)", (1,), _elementwise(Operator.TRUNCATE)),
        BuiltinFunction("abs", "abs(x)", (1,), _elementwise(Operator.ABSOLUTE)),
        BuiltinFunction("indicator", "indicator(x)", (1,), _elementwise(Operator.INDICATOR)),
        BuiltinFunction("max", "max(x, y)", (2,), _elementwise(Operator.MAXIMUM)),
        BuiltinFunction("min", "min(x, y)", (2,), _elementwise(Operator.MINIMUM)),
        BuiltinFunction("table", 'table(x, {"a": 1})', tuple(range(2, 10)), _table),
        BuiltinFunction("constant", "constant(1)", (1,), _constant),
        BuiltinFunction("zip", "zip(list, list)", tuple(range(1, 10)), _zip),
        BuiltinFunction("enumerate", "enumerate(list)", (1,), _enumerate),
        BuiltinFunction("len", "len(list)", (1,), _len),
        BuiltinFunction("range", "range(3)", (1, 2, 3), _range),
    )
}


def builtin_value(elaborator: ExpressionElaborator, name: str) -> CompileTimeValue | None:
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
