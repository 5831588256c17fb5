"""Elementwise expressions of S-RASP as signals: bits for Booleans, one-hot vectors for symbols, integers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from softmachine.ir import Signal, constant, named
from softmachine.ir.gadgets import all_of, any_of, exclusive_or, select
from softmachine.ir.gadgets.integers import compare_with_zero
from softmachine.ir.ranges import BIT
from softmachine.ir.signal import Affine
from softmachine.languages.linear import Relation
from softmachine.languages.srasp import SraspProgram, ValueKind
from softmachine.languages.srasp.ast import (
    Add,
    And,
    BooleanLiteral,
    Compare,
    Conditional,
    Expression,
    IntegerLiteral,
    Member,
    Not,
    Or,
    Subtract,
    SymbolLiteral,
    VectorRead,
)
from softmachine.support.errors import ConstructionError
from softmachine.theorems.rasp.srasp.integers import IntegerLookups, ScaledInteger, choose_constants, constant_signal

Value: TypeAlias = Signal | ScaledInteger


@dataclass(frozen=True)
class ElementwiseLowering:
    """Builds the signals of elementwise expressions.

    Args:
        program: The program, for the types.
        integers: Lookups of integers.
        read_vector: From a vector, ``in`` or ``pos`` to its signal.
        input_bit: The constant 1. If it is 0 at the start token, as are all vectors, every expression is 0 there.
    """

    program: SraspProgram
    integers: IntegerLookups
    read_vector: Callable[[VectorRead], Value]
    input_bit: Signal

    def lower(self, expression: Expression) -> Value:
        """The signal of an expression of any type."""
        match expression:
            case VectorRead():
                return self.read_vector(expression)
            case IntegerLiteral(number):
                return constant_signal(number, self.input_bit)
            case Add(left, right):
                return self.lower_integer(left) + self.lower_integer(right)
            case Subtract(left, right):
                return self.lower_integer(left) - self.lower_integer(right)
            case SymbolLiteral(symbol):
                return self.input_bit.with_labels((symbol,), exclusive=True)
            case BooleanLiteral(value):
                return self.input_bit if value else constant(0)
            case Not(operand):
                return (self.input_bit - self.lower_finite(operand)).with_range(BIT)
            case And(parts):
                return all_of(str(expression), *map(self.lower_finite, parts))
            case Or(parts):
                return any_of(str(expression), *map(self.lower_finite, parts))
            case Member(operand, symbols):
                return self.lower_finite(operand).sum_of_labels(dict.fromkeys(symbols))
            case Compare():
                return self.compare(expression)
            case Conditional(condition, then, otherwise):
                chosen = self.lower(then), self.lower(otherwise)
                return self.choose(str(expression), self.lower_finite(condition), *chosen)
        raise ConstructionError(f"{expression} is not an elementwise expression")

    def lower_finite(self, expression: Expression) -> Signal:
        """The signal of an expression that is Boolean or a symbol."""
        return require_finite(self.lower(expression))

    def lower_integer(self, expression: Expression) -> ScaledInteger:
        """The signal of an expression that is an integer."""
        return require_integer(self.lower(expression))

    def choose(self, name: str, condition: Signal, then: Value, otherwise: Value) -> Value:
        """``then`` where a bit is 1, else ``otherwise``."""
        if isinstance(then, ScaledInteger) or isinstance(otherwise, ScaledInteger):
            return self.integers.choose(
                name, condition, require_integer(then), require_integer(otherwise), self.input_bit
            )
        symbols = tuple(dict.fromkeys([*(then.labels or ()), *(otherwise.labels or ())]))
        if symbols:
            then, otherwise = extend_one_hot(symbols, then), extend_one_hot(symbols, otherwise)
        chosen = choose_constants(condition, then, otherwise, self.input_bit)
        if chosen is None:
            chosen = select(name, condition, then, otherwise)
        return chosen.with_labels(symbols).with_range(BIT, exclusive=True) if symbols else chosen.with_range(BIT)

    def compare(self, expression: Compare) -> Signal:
        """A bit: whether a comparison holds."""
        kind = self.program.type_of(expression.left).kind
        if kind is ValueKind.INTEGER:
            name, difference = (
                str(expression),
                self.lower_integer(expression.left) - self.lower_integer(expression.right),
            )
            return compare_with_zero(
                name, self.integers.with_value(name, difference), expression.relation, self.input_bit
            )
        left, right = self.lower_finite(expression.left), self.lower_finite(expression.right)
        if kind is ValueKind.BOOLEAN:
            different = exclusive_or(f"not {expression}", left, right)
            equal = (self.input_bit - different).with_range(BIT)
        else:
            equal = self.symbols_equal(expression, left, right)
        return equal if expression.relation is Relation.EQUAL else (self.input_bit - equal).with_range(BIT)

    def symbols_equal(self, expression: Compare, left: Signal, right: Signal) -> Signal:
        """A bit: whether two symbols are equal, as a sum over the symbols that both can be."""
        common = [symbol for symbol in left.labels or () if symbol in (right.labels or ())]
        for constant_side, other in ((expression.right, left), (expression.left, right)):
            if isinstance(constant_side, SymbolLiteral):
                return other.sum_of_labels(common)
        both = [all_of(f"{expression}: {symbol}", left[symbol], right[symbol]).forms[0] for symbol in common]
        return named(str(expression), Signal((Affine.sum(both),), (BIT,)))


def require_finite(value: Value) -> Signal:
    """The value, which the type checker guarantees to be Boolean or a symbol."""
    assert isinstance(value, Signal)
    return value


def require_integer(value: Value) -> ScaledInteger:
    """The value, which the type checker guarantees to be an integer."""
    assert isinstance(value, ScaledInteger)
    return value


def extend_one_hot(symbols: tuple[str, ...], signal: Signal) -> Signal:
    """A one-hot vector extended to more symbols, or reordered."""
    place = {label: k for k, label in enumerate(signal.labels or ())}
    forms = tuple(signal.forms[place[symbol]] if symbol in place else Affine({}) for symbol in symbols)
    return Signal(forms, (BIT,) * len(symbols), symbols, is_one_hot=True)
