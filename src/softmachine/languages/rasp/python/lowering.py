"""Lowering of Python expressions to RASP programs, and their evaluation on an input."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from softmachine.languages.rasp.interpreter import evaluate
from softmachine.languages.rasp.ir import (
    UNDEFINED,
    Aggregate,
    Apply,
    Combine,
    Definition,
    Indices,
    Operator,
    Select,
    Table,
    Undefined,
    Value,
    Width,
)
from softmachine.languages.rasp.program import RaspProgram, canonicalise
from softmachine.languages.rasp.python.expression import Expression
from softmachine.languages.rasp.python.typed_builder import NullableSequence, TypedBuilder
from softmachine.languages.rasp.values import format_value, identity_key, to_python, to_value
from softmachine.support.errors import ConstructionError, InputError, InvalidError, UsageError

MAX_EXPRESSIONS: Final = 10_000
PartT = TypeVar("PartT")


def topological_order(
    output: PartT, operands: Callable[[PartT], Sequence[PartT]], describe: Callable[[PartT], str]
) -> list[PartT]:
    """Topological order of an expression graph, operands first.

    Args:
        output: The root.
        operands: Function from an expression to its operands.
        describe: Function from an expression to its name, for messages.

    Raises:
        ConstructionError: If the graph has a cycle or too many expressions.
    """
    done: dict[int, PartT] = {}
    begun: set[int] = set()
    stack: list[tuple[PartT, bool]] = [(output, False)]
    while stack:
        item, finished = stack.pop()
        if finished:
            begun.discard(id(item))
            done[id(item)] = item
        elif id(item) in begun:
            hint = "RASP has no recursion: every expression uses only earlier ones"
            raise ConstructionError(f"{describe(item)} is computed from itself", hint=hint)
        elif id(item) not in done:
            if len(done) + len(begun) >= MAX_EXPRESSIONS:
                raise ConstructionError(f"the program has more than {MAX_EXPRESSIONS:,} expressions")
            begun.add(id(item))
            stack.append((item, True))
            stack.extend((part, False) for part in reversed(operands(item)) if id(part) not in done)
    return list(done.values())


def lower_expression(builder: TypedBuilder, output: Expression) -> Any:
    """Lower an expression into a builder; returns a column, or the reference of a selector."""
    results: dict[int, NullableSequence | str] = {}
    for expression in topological_order(output, lambda item: item.children, lambda item: repr(item.name)):
        builder.place = expression.place
        result = expression.define(builder, *(results[id(child)] for child in expression.children))
        results[id(expression)] = result
        if expression.is_named:
            reference = result if isinstance(result, str) else result.reference
            builder.builder.set_name(reference, _identifier(expression.name))
    builder.place = output.place
    return results[id(output)]


def _identifier(name: str) -> str:
    """A name as an identifier of the text form."""
    return re.sub(r"\W", "_", name)


def program(
    output: Expression,
    vocabulary: Iterable[object],
    *,
    name: str | None = None,
    causal: bool = False,
    stop: str | None = None,
    example: Iterable[object] = (),
) -> RaspProgram:
    """Build the program whose output is a sequence operator.

    Where its value is None and its domain is infinite, the output of the program is undefined.

    Args:
        output: The sequence operator.
        vocabulary: The input letters: symbols, numbers, Booleans.
        name: The name of the program; by default the name of the sequence operator.
        causal: Whether selectors see only keys up to the query, so that a decoder can run the program.
        stop: The output that ends an autoregressive run; None if the program is not autoregressive.
        example: The suggested input.

    Raises:
        InvalidError: If an expression is invalid; the message gives its source line.
        ConstructionError: If a function cannot be lowered to operations.
    """
    letters = letters_of_vocabulary(vocabulary)
    builder = TypedBuilder(list(letters.values()), causal=causal)
    column = lower_expression(builder, output)
    if not isinstance(column, NullableSequence):
        raise UsageError(
            f"the output of a program must be a sequence operator, but {output.name!r} is a selector",
            hint="aggregate with it, or take its SelectorWidth",
        )
    name = name or output.name
    reference = builder.none_as_undefined(column)
    builder.builder.set_name(reference, _identifier(name))
    definitions, result = canonicalise(builder.builder.definitions(), builder.builder.name(reference))
    return RaspProgram(
        name=name,
        alphabet=tuple(letters),
        letters=tuple(letters.values()),
        definitions=definitions,
        output=result,
        causal=causal,
        stop=stop,
        example=tuple(_letter(to_value(item)) for item in example),
        place=output.place,
    )


def letters_of_vocabulary(vocabulary: Iterable[object]) -> dict[str, Value]:
    """The letters of a vocabulary with their values: the letter of 3 is "3". Sets are sorted.

    Raises:
        InvalidError: If two values have the same letter, or an item is not a value.
    """
    items = sorted(vocabulary, key=_sort_key) if isinstance(vocabulary, set | frozenset) else list(vocabulary)
    letters: dict[str, Value] = {}
    problems = []
    for item in items:
        try:
            value = to_value(item)
        except ValueError as error:
            problems.append(str(error))
            continue
        text = _letter(value)
        if text in letters and identity_key(letters[text]) != identity_key(value):
            problems.append(f"{item!r} and {letters[text]!r} are both written as the letter {text}; remove one")
        letters[text] = value
    if problems or not letters:
        raise InvalidError("the vocabulary", problems or ["it is empty; list the letters of the inputs"])
    return letters


def _letter(value: Value) -> str:
    """The letter of a value: its text without spaces, unless the value is a space."""
    return format_value(value).replace(" ", "") or format_value(value)


def _sort_key(item: object) -> tuple[str, Any]:
    number = isinstance(item, int | float)
    return "" if number else type(item).__name__, item if number or isinstance(item, str) else repr(item)


def evaluate_expression(output: Expression, word: Sequence[object], *, causal: bool = False) -> list[Any]:
    """Evaluate an expression on an input: a value per position, or a row of Booleans per query.

    Raises:
        InputError: If it is undefined at some position; the message gives the position and the cause.
    """
    meanings = [to_value(item) for item in word]
    if not meanings:
        return []
    numbers = {key: f"{k}" for k, key in enumerate(dict.fromkeys(map(identity_key, meanings)))}
    letters = {numbers[identity_key(meaning)]: meaning for meaning in meanings}
    builder = TypedBuilder(list(letters.values()), causal=causal)
    result = lower_expression(builder, output)
    columns = [result] if isinstance(result, NullableSequence) else _counts(builder, result, len(meanings))
    made = RaspProgram(
        name=output.name,
        alphabet=tuple(letters),
        letters=tuple(letters.values()),
        definitions=builder.builder.definitions(),
        output=builder.builder.name(columns[0].reference),
        causal=causal,
    )
    found = evaluate(made, [numbers[identity_key(meaning)] for meaning in meanings])
    rows = [_read_values(_ProgramRun(builder, made, found), column, output.name) for column in columns]
    if isinstance(result, NullableSequence):
        return rows[0]
    return [[count == 1 for count in row] for row in zip(*rows, strict=True)]


def _counts(builder: TypedBuilder, selector: str, length: int) -> list[NullableSequence]:
    """For each key, a column that is 1 at the queries that select it and 0 elsewhere."""
    keys = [builder.add(Select(builder.add(Indices()), builder.constant(k), Operator.EQUAL)) for k in range(length)]
    return [NullableSequence(builder.add(Width(builder.add(Combine(Operator.AND, (selector, key)))))) for key in keys]


@dataclass(frozen=True)
class _ProgramRun:
    builder: TypedBuilder
    program: RaspProgram
    found: dict[str, tuple[Value | Undefined, ...]]

    def values_of(self, reference: str) -> tuple[Value | Undefined, ...]:
        return self.found[self.builder.builder.name(reference)]


def _read_values(reading: _ProgramRun, column: NullableSequence, name: str) -> list[Any]:
    present = reading.values_of(column.presence) if column.presence else None
    result: list[Any] = []
    for position, value in enumerate(reading.values_of(column.reference)):
        if present is not None and present[position] is False:
            result.append(None)
        elif isinstance(value, Undefined) or (present is not None and present[position] is UNDEFINED):
            raise _undefined(reading, position, name)
        else:
            result.append(to_python(value))
    return result


def _undefined(reading: _ProgramRun, position: int, name: str) -> InputError:
    """The error for an undefined value, at the first definition that is undefined."""
    undefined = (step for step in reading.program.definitions if UNDEFINED in reading.found.get(step.name, ()))
    first = next(undefined)
    return InputError(
        f"{name!r} is undefined at position {position} of this input", place=first.place, hint=_explain_undefined(first)
    )


def _explain_undefined(definition: Definition) -> str:
    match definition.node:
        case Aggregate():
            return "the selected values differ and are not numbers, or one of them is None"
        case Apply(operator=Operator.DIVIDE | Operator.FLOOR_DIVIDE | Operator.MODULO):
            return "division by 0"
        case Table():
            return "a function is undefined there: it divides by 0, or the input does not have the length of a constant"
        case _:
            return "a value is compared with None, or with a value that it has no order with"
