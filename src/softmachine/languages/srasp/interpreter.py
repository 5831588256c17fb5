"""Reference interpreter of S-RASP, directly after the semantics. Positions are 0-based, the value of pos(i) 1-based."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from softmachine.languages.srasp import ast as ex
from softmachine.languages.srasp.ast import Expression, Value
from softmachine.languages.srasp.program import SraspProgram
from softmachine.support.errors import InputError, UsageError

Denotation: TypeAlias = Callable[[int, int], Any]
"""Denotation of an expression: its value for positions i and j. Types are checked when a program is constructed."""


def evaluate(program: SraspProgram, word: str | Iterable[str]) -> dict[str, tuple[Value, ...]]:
    """Compute all vectors of a program on an input, in the order of the definitions.

    Raises:
        InputError: If a symbol of the word is not in the alphabet.
    """
    letters = program.word(word)
    vectors: dict[str, tuple[Value, ...]] = {}
    known = ChainMap[str, tuple[Value, ...]](vectors, {"in": letters, "pos": tuple(range(1, len(letters) + 1))})
    for definition in program.definitions:
        meaning = denotation_of(definition.body, lambda expression: _input_denotation(expression, len(letters), known))
        vectors[definition.name] = tuple(meaning(i, i) for i in range(len(letters)))
    return vectors


def run(program: SraspProgram, word: str | Iterable[str]) -> tuple[Value, ...]:
    """Compute the output of a program at every position.

    Raises:
        InputError: If a symbol of the word is not in the alphabet.
    """
    return evaluate(program, word)[program.output]


def accepts(program: SraspProgram, word: str | Iterable[str]) -> bool:
    """Whether a program accepts a word: its output at the last position.

    Raises:
        UsageError: If the output is not Boolean.
        InputError: If the word is empty, or a symbol of it is not in the alphabet.
    """
    if not program.has_verdict:
        raise UsageError(
            f"{program.name!r} has no verdict: its output {program.output!r} is {program.types[program.output]}",
            hint="a program with Boolean output accepts a word if the output is true at the last position",
        )
    values = run(program, word)
    if not values:
        raise InputError(
            f"the verdict of {program.name!r} is its output at the last position, and the empty word has none"
        )
    return bool(values[-1])


def _input_denotation(
    expression: Expression, length: int, vectors: Mapping[str, tuple[Value, ...]]
) -> Denotation | None:
    """The denotation of a read or an operation, which depends on the input; None for other expressions."""

    def inner(part: Expression) -> Denotation:
        return denotation_of(part, lambda atom: _input_denotation(atom, length, vectors))

    match expression:
        case ex.VectorRead(name=name, at=at):
            values = vectors[name]
            return (lambda i, _: values[i]) if at == "i" else (lambda _, j: values[j])
        case ex.PrefixSum(term=term):
            return _prefix_sum_denotation(inner(term))
        case ex.Attention():
            parts = inner(expression.predicate), inner(expression.value), inner(expression.default)
            return _attention_denotation(expression, length, *parts)
        case _:
            return None


def _prefix_sum_denotation(term: Denotation) -> Denotation:
    sums: list[int] = []  # at positions 0, 1, …, extended on demand

    def meaning(i: int, _: int) -> int:
        while len(sums) <= i:
            sums.append((sums[-1] if sums else 0) + term(len(sums), len(sums)))
        return sums[i]

    return meaning


def _attention_denotation(
    attention: ex.Attention, length: int, predicate: Denotation, value: Denotation, default: Denotation
) -> Denotation:
    def meaning(i: int, _: int) -> Value:
        seen = attention.mask.visible_positions(i, length)
        for j in seen if attention.choice is ex.AttentionChoice.LEFTMOST else reversed(seen):
            if predicate(i, j):
                chosen: Value = value(i, j)
                return chosen
        otherwise: Value = default(i, i)
        return otherwise

    return meaning


def denotation_of(expression: Expression, atom: Callable[[Expression], Denotation | None]) -> Denotation:
    """The denotation of an expression, given those of its atoms.

    Args:
        expression: The expression.
        atom: Returns the denotation of an atom, and None for an expression that is not an atom.
    """
    given = atom(expression)
    if given is not None:
        return given

    def inner(part: Expression) -> Denotation:
        return denotation_of(part, atom)

    match expression:
        case ex.SymbolLiteral(value=constant) | ex.IntegerLiteral(value=constant) | ex.BooleanLiteral(value=constant):
            return lambda _i, _j: constant
        case ex.Not(operand=operand):
            negated = inner(operand)
            return lambda i, j: not negated(i, j)
        case ex.And(parts=parts):
            joined = [inner(part) for part in parts]
            return lambda i, j: all(part(i, j) for part in joined)
        case ex.Or(parts=parts):
            joined = [inner(part) for part in parts]
            return lambda i, j: any(part(i, j) for part in joined)
        case ex.Compare(relation=relation, left=left, right=right):
            compare, one, other = relation.comparison, inner(left), inner(right)
            return lambda i, j: compare(one(i, j), other(i, j))
        case ex.Member(operand=operand, symbols=symbols):
            member = inner(operand)
            return lambda i, j: member(i, j) in symbols
        case ex.Conditional(condition=condition, then=then, otherwise=otherwise):
            test, one, other = inner(condition), inner(then), inner(otherwise)
            return lambda i, j: one(i, j) if test(i, j) else other(i, j)
        case ex.Add(left=left, right=right):
            one, other = inner(left), inner(right)
            return lambda i, j: one(i, j) + other(i, j)
        case ex.Subtract(left=left, right=right):
            one, other = inner(left), inner(right)
            return lambda i, j: one(i, j) - other(i, j)
        case _:
            raise AssertionError(f"{type(expression).__name__} is not position-wise")
