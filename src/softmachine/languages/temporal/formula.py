"""Formulas of temporal logic, with counting, as immutable data.

A formula is true or false at every position 1 … n of a word. One language covers TL[⊖, ⊕], TL[since, until],
TL[#←, #→, +, Mon] and their union LTL[#←, #→, +, Mon] (Yang, Chiang, Strobl and Angluin, "Simulating Hard Attention
Using Soft Attention", Definitions 10, 14 and 19), with the usual derived operators.

Equality is structural. Formulas may share subformulas and be nested to any depth: no traversal is recursive.

Numerical formulas are linear comparisons of counts, and predicates of the position or of a count.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import ClassVar, Generic, TypeAlias

from softmachine.languages.linear import MAX_NUMBER, LinearExpression, Relation, VariableT, format_linear
from softmachine.languages.temporal.predicates import depends_on_length, find_definition
from softmachine.languages.temporal.printer import ASCII, UNICODE, FormulaWriter, Level, format_symbol
from softmachine.support.errors import InvalidError, UsageError


class WitnessSemantics(StrEnum):
    """Whether the first argument of ``since`` and ``until`` must hold at the witness j, where the second one holds."""

    STANDARD = "standard"
    """It need not: φ since ψ holds at i if ψ does at some j ≤ i, and φ at every k with j < k ≤ i. As in LTL tools."""
    PAPER = "paper"
    """It must: j ≤ k ≤ i (Definition 14 of Yang et al.). Written ``since!`` and ``until!``."""


class Formula:
    """A formula. ``~p``, ``p & q`` and ``p | q`` build larger formulas; ``str`` returns the text."""

    depth: int
    """Nesting depth of operators; 0 for an atom."""
    _hash: int
    _label: tuple[object, ...]
    __match_args__: ClassVar[tuple[str, ...]] = ()

    @property
    def parts(self) -> tuple[Formula, ...]:
        """The immediate subformulas, including counted formulas."""
        return ()

    @property
    def label(self) -> tuple[object, ...]:
        """The constructor arguments that are not formulas."""
        return tuple(value for value in self._constructor_arguments() if not isinstance(value, Formula | tuple))

    def _constructor_arguments(self) -> tuple[object, ...]:
        return tuple(getattr(self, name) for name in self.__match_args__)

    def __post_init__(self) -> None:
        for part in self.parts:
            if not isinstance(part, Formula):
                raise UsageError(f"{type(self).__name__} takes formulas, not {part!r}", hint="see parse_formula")
        # Stored, so that no later computation traverses the parts again.
        object.__setattr__(self, "depth", max((1 + part.depth for part in self.parts), default=0))
        object.__setattr__(self, "_label", self.label)
        object.__setattr__(self, "_hash", hash((type(self), self._label, self.parts)))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Formula):
            return NotImplemented
        pairs: list[tuple[Formula, Formula]] = [(self, other)]
        met = set()
        while pairs:
            one, two = pairs.pop()
            if one is two or (id(one), id(two)) in met:
                continue
            if one._hash != two._hash or type(one) is not type(two) or one._label != two._label:
                return False
            if len(one.parts) != len(two.parts):
                return False
            met.add((id(one), id(two)))
            pairs += zip(one.parts, two.parts, strict=True)
        return True

    def __reduce__(self) -> tuple[type[Formula], tuple[object, ...]]:
        # Hashes of strings differ between processes.
        return type(self), self._constructor_arguments()

    def __invert__(self) -> Not:
        return Not(self)

    def __and__(self, other: Formula) -> And:
        return And((*(self.operands if isinstance(self, And) else (self,)), other))

    def __or__(self, other: Formula) -> Or:
        return Or((*(self.operands if isinstance(self, Or) else (self,)), other))

    def write(self, _writer: FormulaWriter) -> tuple[str, Level]:
        """The text of the formula, given the texts of its parts, and its precedence level."""
        raise UsageError(f"{type(self).__name__} has no text form")

    def __str__(self) -> str:
        return format_formula(self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self}>"


@dataclass(frozen=True, eq=False, repr=False)
class Symbol(Formula):
    """``Q_a``: the symbol at this position is a."""

    symbol: str

    def __post_init__(self) -> None:
        if not isinstance(self.symbol, str) or not self.symbol:
            raise InvalidError("the formula", [f"{self.symbol!r} is not a symbol; a symbol is a non-empty string"])
        super().__post_init__()

    def write(self, _writer: FormulaWriter) -> tuple[str, Level]:
        return format_symbol(self.symbol), Level.ATOM


@dataclass(frozen=True, eq=False, repr=False)
class BooleanConstant(Formula):
    """``true`` or ``false``, at every position."""

    value: bool

    def write(self, _writer: FormulaWriter) -> tuple[str, Level]:
        return "true" if self.value else "false", Level.ATOM


TRUE, FALSE = BooleanConstant(True), BooleanConstant(False)


@dataclass(frozen=True, eq=False, repr=False)
class First(Formula):
    """``first``: this is position 1."""

    def write(self, _writer: FormulaWriter) -> tuple[str, Level]:
        return "first", Level.ATOM


@dataclass(frozen=True, eq=False, repr=False)
class Last(Formula):
    """``last``: this is position n."""

    def write(self, _writer: FormulaWriter) -> tuple[str, Level]:
        return "last", Level.ATOM


@dataclass(frozen=True, eq=False, repr=False)
class Unary(Formula):
    """An operator on one formula."""

    operand: Formula

    @property
    def parts(self) -> tuple[Formula, ...]:
        return (self.operand,)

    def write(self, writer: FormulaWriter) -> tuple[str, Level]:
        return writer.keyword_of(self) + writer.parenthesise(self.operand, Level.UNARY), Level.UNARY


class Not(Unary):
    """``not φ``."""


class Previous(Unary):
    """``prev φ``: this is not the first position, and φ holds at the previous one."""


class Next(Unary):
    """``next φ``: this is not the last position, and φ holds at the next one."""


class Once(Unary):
    """``once φ``: φ holds at this or some earlier position."""


class Historically(Unary):
    """``historically φ``: φ holds at this and all earlier positions."""


class Eventually(Unary):
    """``eventually φ``: φ holds at this or some later position."""


class Always(Unary):
    """``always φ``: φ holds at this and all later positions."""


@dataclass(frozen=True, eq=False, repr=False)
class _Nary(Formula):
    operands: tuple[Formula, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.operands, tuple) or len(self.operands) < 2:
            raise UsageError(
                f"{type(self).__name__} takes a tuple of two or more formulas, not {self.operands!r}",
                hint="conjunction(...) and disjunction(...) take any number of formulas",
            )
        super().__post_init__()

    @property
    def parts(self) -> tuple[Formula, ...]:
        return self.operands


class And(_Nary):
    """``φ and ψ and …``: conjunction of two or more operands."""

    def write(self, writer: FormulaWriter) -> tuple[str, Level]:
        return writer.keyword_of(self).join(writer.parenthesise(part, Level.SINCE) for part in self.operands), Level.AND


class Or(_Nary):
    """``φ or ψ or …``: disjunction of two or more operands."""

    def write(self, writer: FormulaWriter) -> tuple[str, Level]:
        return writer.keyword_of(self).join(writer.parenthesise(part, Level.AND) for part in self.operands), Level.OR


@dataclass(frozen=True, eq=False, repr=False)
class _Binary(Formula):
    left: Formula
    right: Formula

    @property
    def parts(self) -> tuple[Formula, ...]:
        return (self.left, self.right)


class Implies(_Binary):
    """``φ -> ψ``."""

    def write(self, writer: FormulaWriter) -> tuple[str, Level]:
        left, right = writer.parenthesise(self.left, Level.OR), writer.parenthesise(self.right, Level.IMPLIES)
        return left + writer.keyword_of(self) + right, Level.IMPLIES


class Iff(_Binary):
    """``φ <-> ψ``."""

    def write(self, writer: FormulaWriter) -> tuple[str, Level]:
        left, right = writer.parenthesise(self.left, Level.IMPLIES), writer.parenthesise(self.right, Level.IFF)
        return left + writer.keyword_of(self) + right, Level.IFF


@dataclass(frozen=True, eq=False, repr=False)
class _Temporal(_Binary):
    semantics: WitnessSemantics = WitnessSemantics.STANDARD

    def write(self, writer: FormulaWriter) -> tuple[str, Level]:
        name = type(self).__name__.lower() + ("!" if self.semantics is WitnessSemantics.PAPER else "")
        return (
            f"{writer.parenthesise(self.left, Level.UNARY)} {name} {writer.parenthesise(self.right, Level.SINCE)}",
            Level.SINCE,
        )


class Since(_Temporal):
    """``φ since ψ``: ψ holds at some j ≤ i, and φ at all positions after j up to i. See `WitnessSemantics`."""


class Until(_Temporal):
    """``φ until ψ``: ψ holds at some j ≥ i, and φ at all positions from i to before j. See `WitnessSemantics`."""


def subformulas(*formulas: Formula) -> tuple[Formula, ...]:
    """All subformulas in topological order, parts first, without repetition; a single formula is the last itself."""
    found: dict[Formula, None] = {}
    waiting = [(formula, False) for formula in reversed(formulas)]
    while waiting:
        current, ready = waiting.pop()
        if current in found:
            continue
        if ready:
            found[current] = None
        else:
            waiting.append((current, True))
            waiting += [(part, False) for part in reversed(current.parts)]
    return tuple(found)


def format_formula(formula: Formula, *, unicode: bool = False) -> str:
    """Format a formula with a minimum of parentheses. `parse_formula` is the inverse.

    Args:
        formula: The formula.
        unicode: Whether to use ¬ ∧ ∨ → ↔ ⊖ ⊕ and ←# →# instead of words and #< #>.

    Raises:
        UsageError: If the text would be longer than 16 MiB.
    """
    writer = FormulaWriter(UNICODE if unicode else ASCII)
    for part in subformulas(formula):
        writer.write(part)
    return writer.written[formula][0]


@dataclass(frozen=True)
class Position:
    """The current position i, from 1. It occurs only as the argument of a predicate, as in ``odd(i)``."""


POSITION = Position()


@dataclass(frozen=True)
class LeftCount:
    """``#<[φ]``: the number of positions j ≤ i where φ holds, the current position included."""

    formula: Formula


@dataclass(frozen=True)
class RightCount:
    """``#>[φ]``: the number of positions j ≥ i where φ holds, the current position included."""

    formula: Formula


Count: TypeAlias = LeftCount | RightCount


@dataclass(frozen=True, eq=False, repr=False)
class LinearComparison(Formula, Generic[VariableT]):
    """Comparison of two linear expressions, whose variables depend on the language."""

    left: LinearExpression[VariableT]
    relation: Relation
    right: LinearExpression[VariableT]
    too_large_message: ClassVar[str] = "it has a number larger than 10^18, the maximum"

    def __post_init__(self) -> None:
        if max(map(self.max_abs, (self.left, self.right))) > MAX_NUMBER:
            raise InvalidError("the comparison", [self.too_large_message])
        super().__post_init__()

    def max_abs(self, side: LinearExpression[VariableT]) -> int:
        """The largest absolute value of a coefficient or constant in a side, nested terms included."""
        return side.max_abs

    def format_side(self, side: LinearExpression[VariableT], _writer: FormulaWriter) -> str:
        """The text of a side; the formulas in it have been written already."""
        return format_linear(side, str)

    def write(self, writer: FormulaWriter) -> tuple[str, Level]:
        sides = (self.format_side(side, writer) for side in (self.left, self.right))
        return f" {writer.keywords.get(self.relation, self.relation)} ".join(sides), Level.ATOM

    @property
    def difference(self) -> LinearExpression[VariableT]:
        """Left side minus right side, with like terms collected: the comparison is between this and 0."""
        return (self.left - self.right).collect_terms()


class CountComparison(LinearComparison[Count]):
    """``2*#<[φ] - #>[ψ] + 3 <= 5``: comparison of two linear combinations of counts."""

    @property
    def parts(self) -> tuple[Formula, ...]:
        return tuple(count.formula for side in (self.left, self.right) for _, count in side.terms)

    @property
    def label(self) -> tuple[object, ...]:
        """The relation and both sides, without the counted formulas."""
        sides = (self.left, self.right)
        kinds = (tuple((coefficient, type(count)) for coefficient, count in side.terms) for side in sides)
        return (self.relation, *kinds, *(side.constant for side in sides))

    def format_side(self, side: LinearExpression[Count], writer: FormulaWriter) -> str:
        return format_linear(side, partial(_format_argument, writer))


@dataclass(frozen=True, eq=False, repr=False)
class NumericalPredicate(Formula):
    """``odd(i)`` or ``mod(#<[φ],3,1)``: a numerical predicate of the position or of a count."""

    name: str
    argument: Position | LeftCount | RightCount = POSITION
    parameters: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        find_definition(self.name, self.parameters)
        super().__post_init__()

    @property
    def depends_on_length(self) -> bool:
        """Whether the predicate also depends on the length of the word."""
        return depends_on_length(self.name, self.parameters)

    @property
    def parts(self) -> tuple[Formula, ...]:
        return () if isinstance(self.argument, Position) else (self.argument.formula,)

    @property
    def label(self) -> tuple[object, ...]:
        """The name, the parameters, and the type of the argument: position, left count or right count."""
        return (self.name, self.parameters, type(self.argument))

    def write(self, writer: FormulaWriter) -> tuple[str, Level]:
        arguments = [_format_argument(writer, self.argument), *map(str, self.parameters)]
        return f"{self.name}({','.join(arguments)})", Level.ATOM


def _format_argument(writer: FormulaWriter, number: Position | LeftCount | RightCount) -> str:
    if isinstance(number, Position):
        return "i"
    return f"{writer.keyword_of(number)}[{writer.written[number.formula][0]}]"
