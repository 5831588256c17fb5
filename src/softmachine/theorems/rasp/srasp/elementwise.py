"""Elementwise expressions of S-RASP as signals: bits for Booleans, one-hot vectors for symbols, integers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from softmachine.ir import Signal, constant, named
from softmachine.ir.gadgets import all_of, any_of, exclusive_or, select
from softmachine.ir.gadgets.integers import compared
from softmachine.ir.ranges import BIT
from softmachine.ir.signal import Affine
from softmachine.languages.linear import Relation
from softmachine.languages.srasp import Kind, Program
from softmachine.languages.srasp.ast import (
    Add,
    And,
    Compare,
    Conditional,
    Expression,
    Integer,
    Member,
    Not,
    Or,
    Subtract,
    Symbol,
    Truth,
    Vector,
)
from softmachine.support.errors import ConstructionError
from softmachine.theorems.rasp.srasp.integers import Finder, Number, choose_constants, whole

Value: TypeAlias = Signal | Number


@dataclass(frozen=True)
class Pointwise:
    """Builds the signals of elementwise expressions.

    Args:
        program: The program, for the types.
        finder: Lookups of integers.
        read: From a vector, ``in`` or ``pos`` to its signal.
        one: The constant 1. If it is 0 at the start token, as are all vectors, every expression is 0 there.
    """

    program: Program
    finder: Finder
    read: Callable[[Vector], Value]
    one: Signal

    def of(self, expression: Expression) -> Value:
        """The signal of an expression of any type."""
        match expression:
            case Vector():
                return self.read(expression)
            case Integer(number):
                return whole(number, self.one)
            case Add(left, right):
                return self.number(left) + self.number(right)
            case Subtract(left, right):
                return self.number(left) - self.number(right)
            case Symbol(symbol):
                return self.one.labelled((symbol,), exclusive=True)
            case Truth(value):
                return self.one if value else constant(0)
            case Not(operand):
                return (self.one - self.finite(operand)).known(BIT)
            case And(parts):
                return all_of(str(expression), *map(self.finite, parts))
            case Or(parts):
                return any_of(str(expression), *map(self.finite, parts))
            case Member(operand, symbols):
                return self.finite(operand).among(dict.fromkeys(symbols))
            case Compare():
                return self.compare(expression)
            case Conditional(condition, then, otherwise):
                chosen = self.of(then), self.of(otherwise)
                return self.choose(str(expression), self.finite(condition), *chosen)
        raise ConstructionError(f"{expression} is not an elementwise expression")

    def finite(self, expression: Expression) -> Signal:
        """The signal of an expression that is Boolean or a symbol."""
        return finite_value(self.of(expression))

    def number(self, expression: Expression) -> Number:
        """The signal of an expression that is an integer."""
        return number_value(self.of(expression))

    def choose(self, name: str, condition: Signal, then: Value, otherwise: Value) -> Value:
        """``then`` where a bit is 1, else ``otherwise``."""
        if isinstance(then, Number) or isinstance(otherwise, Number):
            return self.finder.choose(name, condition, number_value(then), number_value(otherwise), self.one)
        symbols = tuple(dict.fromkeys([*(then.labels or ()), *(otherwise.labels or ())]))
        if symbols:
            then, otherwise = over(symbols, then), over(symbols, otherwise)
        chosen = choose_constants(condition, then, otherwise, self.one)
        if chosen is None:
            chosen = select(name, condition, then, otherwise)
        return chosen.labelled(symbols).known(BIT, exclusive=True) if symbols else chosen.known(BIT)

    def compare(self, expression: Compare) -> Signal:
        """A bit: whether a comparison holds."""
        kind = self.program.type_of(expression.left).kind
        if kind is Kind.INTEGER:
            name, difference = str(expression), self.number(expression.left) - self.number(expression.right)
            return compared(name, self.finder.value(name, difference), expression.relation, self.one)
        left, right = self.finite(expression.left), self.finite(expression.right)
        if kind is Kind.BOOLEAN:
            different = exclusive_or(f"not {expression}", left, right)
            equal = (self.one - different).known(BIT)
        else:
            equal = self.same_symbol(expression, left, right)
        return equal if expression.relation is Relation.EQUAL else (self.one - equal).known(BIT)

    def same_symbol(self, expression: Compare, left: Signal, right: Signal) -> Signal:
        """A bit: whether two symbols are equal, as a sum over the symbols that both can be."""
        common = [symbol for symbol in left.labels or () if symbol in (right.labels or ())]
        for constant_side, other in ((expression.right, left), (expression.left, right)):
            if isinstance(constant_side, Symbol):
                return other.among(common)
        both = [all_of(f"{expression}: {symbol}", left[symbol], right[symbol]).forms[0] for symbol in common]
        return named(str(expression), Signal((Affine.sum(both),), (BIT,)))


def finite_value(value: Value) -> Signal:
    """The value, which the type checker guarantees to be Boolean or a symbol."""
    assert isinstance(value, Signal)
    return value


def number_value(value: Value) -> Number:
    """The value, which the type checker guarantees to be an integer."""
    assert isinstance(value, Number)
    return value


def over(symbols: tuple[str, ...], signal: Signal) -> Signal:
    """A one-hot vector extended to more symbols, or reordered."""
    place = {label: k for k, label in enumerate(signal.labels or ())}
    forms = tuple(signal.forms[place[symbol]] if symbol in place else Affine({}) for symbol in symbols)
    return Signal(forms, (BIT,) * len(symbols), symbols, exclusive=True)
