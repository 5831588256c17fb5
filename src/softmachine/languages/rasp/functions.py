"""The functions of the language itself: what makes sequence operators and selectors, and what works on lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from softmachine.languages.rasp import core, trees
from softmachine.languages.rasp.core import Operator, Reduction, Value
from softmachine.languages.rasp.things import (
    Primitive,
    RelationThing,
    SelectorThing,
    Thing,
    described,
    is_value,
)

if TYPE_CHECKING:
    from softmachine.languages.rasp.terms import Terms

LONGEST_LIST: Final = 20_000


def _select(making: Terms, arguments: list[Any], call: trees.Call) -> Thing:
    key, query, how = arguments
    names = making.sequence(key, call.arguments[0]), making.sequence(query, call.arguments[1])
    if isinstance(how, RelationThing):
        return making.selector(core.Select(*names, how.operator))
    if isinstance(how, list) and all(isinstance(pair, tuple) and len(pair) == 2 and is_value(pair) for pair in how):
        return making.selector(core.SelectPairs(*names, tuple(how)))
    raise making.mistake(
        f"{described(how)} cannot say which keys are selected",
        call.arguments[2],
        "write a comparison, as in select(x, y, ==)",
    )


def _aggregate(making: Terms, arguments: list[Any], call: trees.Call) -> Thing:
    selector, values, *rest = arguments
    if not isinstance(selector, SelectorThing):
        hint = "what comes first in aggregate is made by select"
        raise making.mistake(f"this is {described(selector)}, not a selector", call.arguments[0], hint)
    reduction = Reduction.MEAN
    if len(rest) == 2:
        if rest[1] not in list(Reduction):
            raise making.mistake("the selected values become one by mean, max or min", call.arguments[3], 'write "max"')
        reduction = Reduction(rest[1])
    sequence = making.sequence(values, call.arguments[1])
    default = making.sequence(rest[0], call.arguments[2]) if rest else making.add(core.Constant(0))
    return making.made(core.Aggregate(selector.reference, sequence, default, reduction))


def _width(making: Terms, arguments: list[Any], call: trees.Call) -> Thing:
    if not isinstance(arguments[0], SelectorThing):
        hint = "selector_width counts the keys that a selector selects"
        raise making.mistake(f"this is {described(arguments[0])}, not a selector", call.arguments[0], hint)
    return making.made(core.Width(arguments[0].reference))


def _elementwise(operator: Operator) -> Callable[[Terms, list[Any], trees.Call], Thing]:
    def call(making: Terms, arguments: list[Any], call: trees.Call) -> Thing:
        return making.applied(operator, list(zip(arguments, call.arguments, strict=True)), call)

    return call


def _table(making: Terms, arguments: list[Any], call: trees.Call) -> Thing:
    *operands, rows = arguments
    if not isinstance(rows, dict):
        hint = 'write the rows as a dictionary, as in table(x, {"a": 1})'
        raise making.mistake(f"this is {described(rows)}", call.arguments[-1], hint)
    names = [making.sequence(operand, written) for operand, written in zip(operands, call.arguments, strict=False)]
    return table(making, tuple(names), rows, call)


def table(making: Terms, names: tuple[str, ...], rows: dict[Any, Thing], at: trees.Expression) -> Thing:
    """A table over sequence operators, from a dictionary."""
    found: list[tuple[tuple[Value, ...], Value]] = []
    for key, result in making.entries(rows):
        values = (key,) if len(names) == 1 else key if isinstance(key, tuple) else ()
        if len(values) != len(names):
            raise making.mistake(f"a row for {len(names)} operands begins with a tuple of so many values", at, "")
        if not is_value(result):
            raise making.mistake(f"a table has values in its rows, not {described(result)}", at, "")
        found.append((values, result))
    return making.made(core.Table(names, tuple(found)))


def _constant(making: Terms, arguments: list[Any], call: trees.Call) -> Thing:
    if not is_value(arguments[0]):
        raise making.mistake(f"this is {described(arguments[0])}, not a value", call.arguments[0], "write a value")
    return making.made(core.Constant(arguments[0]))


def _zip(making: Terms, arguments: list[Any], call: trees.Call) -> Thing:
    lists = [making.items(thing, written) for thing, written in zip(arguments, call.arguments, strict=True)]
    return [tuple(entries) for entries in zip(*lists, strict=False)]


def _enumerate(making: Terms, arguments: list[Any], call: trees.Call) -> Thing:
    return list(enumerate(making.items(arguments[0], call.arguments[0])))


def _len(making: Terms, arguments: list[Any], call: trees.Call) -> Thing:
    return len(making.items(arguments[0], call.arguments[0]))


def _range(making: Terms, arguments: list[Any], call: trees.Call) -> Thing:
    for argument, written in zip(arguments, call.arguments, strict=True):
        if not isinstance(argument, int):
            raise making.mistake(f"this is {described(argument)}, but range takes integers", written, "as in range(3)")
    try:
        numbers = range(*arguments)
    except ValueError:
        raise making.mistake("the step of a range cannot be 0", call, "write range(first, end, 1)") from None
    if len(numbers) > LONGEST_LIST:
        raise making.mistake(f"a list has at most {LONGEST_LIST:,} entries", call, "")
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


def given(making: Terms, name: str) -> Thing | None:
    """What a name stands for that every text may use; None if it is none of those."""
    match name:
        case "tokens":
            return making.made(core.Tokens())
        case "tokens_str" | "tokens_int" | "tokens_float" | "tokens_bool":
            return making.letters(name.removeprefix("tokens_"))
        case "indices":
            return making.made(core.Indices())
        case "length":
            return making.made(core.Length())
        case "full_s" | "no_s":
            return making.selector(core.SelectAll(name == "full_s"))
        case _:
            return PRIMITIVES.get(name)


GIVEN: Final = (
    "tokens", "tokens_str", "tokens_int", "tokens_float", "tokens_bool", "indices", "length", "full_s", "no_s",
    "True", "False", "None", *PRIMITIVES,
)  # fmt: skip
CONSTANTS: Final = {"True": True, "False": False, "None": None}
