"""Formulas of temporal logic, as immutable data; those about numbers are in `counting`.

A formula is true or false at every position 1 … n of a word. One language covers TL[⊖, ⊕], TL[since, until],
TL[#←, #→, +, Mon] and their union LTL[#←, #→, +, Mon] (Yang, Chiang, Strobl and Angluin, "Simulating Hard Attention
Using Soft Attention", Definitions 10, 14 and 19), with the usual derived operators.

Formulas compare by structure. They may share parts and be nested however deep: nothing that goes through them is
recursive.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from softmachine.languages.temporal.printing import ASCII, UNICODE, Level, Writer, symbol_text
from softmachine.support.errors import InvalidError, UsageError


class Reading(StrEnum):
    """What ``since`` and ``until`` ask of the first argument at the witness j, where the second one holds."""

    STANDARD = "standard"
    """Nothing: φ since ψ holds at i if ψ does at some j ≤ i, and φ at every k with j < k ≤ i. As in every LTL tool."""
    PAPER = "paper"
    """It too must hold there: j ≤ k ≤ i (Definition 14 of the paper). Written ``since!`` and ``until!``."""


class Formula:
    """A formula. ``~p``, ``p & q`` and ``p | q`` make larger ones; ``str`` gives its text."""

    depth: int
    """How many operators are nested in it; 0 for an atom."""
    _hash: int
    _label: tuple[object, ...]
    __match_args__: ClassVar[tuple[str, ...]] = ()

    @property
    def parts(self) -> tuple[Formula, ...]:
        """The formulas it is made of directly, those under a count too."""
        return ()

    @property
    def label(self) -> tuple[object, ...]:
        """What it says apart from its parts: what it was made of that is no formula."""
        return tuple(value for value in self._made_of() if not isinstance(value, Formula | tuple))

    def _made_of(self) -> tuple[object, ...]:
        return tuple(getattr(self, name) for name in self.__match_args__)

    def __post_init__(self) -> None:
        for part in self.parts:
            if not isinstance(part, Formula):
                raise UsageError(
                    f"{type(self).__name__} is made of formulas, not of {part!r}", hint="see parse_formula"
                )
        # Kept, so that nothing goes down into the parts again.
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
        # Hashes of texts differ between processes.
        return type(self), self._made_of()

    def __invert__(self) -> Not:
        return Not(self)

    def __and__(self, other: Formula) -> And:
        return And((*(self.operands if isinstance(self, And) else (self,)), other))

    def __or__(self, other: Formula) -> Or:
        return Or((*(self.operands if isinstance(self, Or) else (self,)), other))

    def write(self, _writer: Writer) -> tuple[str, Level]:
        """Its text, given those of its parts, and how tightly that holds together."""
        raise UsageError(f"{type(self).__name__} has no text form")

    def __str__(self) -> str:
        return formula_text(self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self}>"


@dataclass(frozen=True, eq=False, repr=False)
class Symbol(Formula):
    """``Q_a``: the symbol here is a."""

    symbol: str

    def __post_init__(self) -> None:
        if not isinstance(self.symbol, str) or not self.symbol:
            raise InvalidError(
                "the formula", [f"{self.symbol!r} is not a symbol; a symbol is a text, not an empty one"]
            )
        super().__post_init__()

    def write(self, _writer: Writer) -> tuple[str, Level]:
        return symbol_text(self.symbol), Level.ATOM


@dataclass(frozen=True, eq=False, repr=False)
class Constant(Formula):
    """``true`` or ``false``, everywhere."""

    value: bool

    def write(self, _writer: Writer) -> tuple[str, Level]:
        return "true" if self.value else "false", Level.ATOM


TRUE, FALSE = Constant(True), Constant(False)


@dataclass(frozen=True, eq=False, repr=False)
class First(Formula):
    """``first``: this is position 1."""

    def write(self, _writer: Writer) -> tuple[str, Level]:
        return "first", Level.ATOM


@dataclass(frozen=True, eq=False, repr=False)
class Last(Formula):
    """``last``: this is position n."""

    def write(self, _writer: Writer) -> tuple[str, Level]:
        return "last", Level.ATOM


@dataclass(frozen=True, eq=False, repr=False)
class Unary(Formula):
    """An operator on one formula."""

    of: Formula

    @property
    def parts(self) -> tuple[Formula, ...]:
        return (self.of,)

    def write(self, writer: Writer) -> tuple[str, Level]:
        return writer.word(self) + writer.inside(self.of, Level.UNARY), Level.UNARY


class Not(Unary):
    """``not φ``."""


class Previous(Unary):
    """``prev φ``: there is a position before this one, and φ holds there."""


class Next(Unary):
    """``next φ``: there is a position after this one, and φ holds there."""


class Once(Unary):
    """``once φ``: φ holds here or somewhere before."""


class Historically(Unary):
    """``historically φ``: φ holds here and everywhere before."""


class Eventually(Unary):
    """``eventually φ``: φ holds here or somewhere after."""


class Always(Unary):
    """``always φ``: φ holds here and everywhere after."""


@dataclass(frozen=True, eq=False, repr=False)
class _Several(Formula):
    operands: tuple[Formula, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.operands, tuple) or len(self.operands) < 2:
            raise UsageError(
                f"{type(self).__name__} is made of a tuple of two or more formulas, not of {self.operands!r}",
                hint="conjunction(...) and disjunction(...) take any number of formulas",
            )
        super().__post_init__()

    @property
    def parts(self) -> tuple[Formula, ...]:
        return self.operands


class And(_Several):
    """``φ and ψ and …``: all of two or more operands."""

    def write(self, writer: Writer) -> tuple[str, Level]:
        return writer.word(self).join(writer.inside(part, Level.SINCE) for part in self.operands), Level.AND


class Or(_Several):
    """``φ or ψ or …``: some of two or more operands."""

    def write(self, writer: Writer) -> tuple[str, Level]:
        return writer.word(self).join(writer.inside(part, Level.AND) for part in self.operands), Level.OR


@dataclass(frozen=True, eq=False, repr=False)
class _Binary(Formula):
    left: Formula
    right: Formula

    @property
    def parts(self) -> tuple[Formula, ...]:
        return (self.left, self.right)


class Implies(_Binary):
    """``φ -> ψ``."""

    def write(self, writer: Writer) -> tuple[str, Level]:
        left, right = writer.inside(self.left, Level.OR), writer.inside(self.right, Level.IMPLIES)
        return left + writer.word(self) + right, Level.IMPLIES


class Iff(_Binary):
    """``φ <-> ψ``."""

    def write(self, writer: Writer) -> tuple[str, Level]:
        left, right = writer.inside(self.left, Level.IMPLIES), writer.inside(self.right, Level.IFF)
        return left + writer.word(self) + right, Level.IFF


@dataclass(frozen=True, eq=False, repr=False)
class _Temporal(_Binary):
    reading: Reading = Reading.STANDARD

    def write(self, writer: Writer) -> tuple[str, Level]:
        name = type(self).__name__.lower() + ("!" if self.reading is Reading.PAPER else "")
        return f"{writer.inside(self.left, Level.UNARY)} {name} {writer.inside(self.right, Level.SINCE)}", Level.SINCE


class Since(_Temporal):
    """``φ since ψ``: ψ holds here or somewhere before, and φ ever after, up to here. See `Reading`."""


class Until(_Temporal):
    """``φ until ψ``: ψ holds here or somewhere after, and φ from here on before that. See `Reading`."""


def subformulas(*formulas: Formula) -> tuple[Formula, ...]:
    """Every formula that these are made of, each once and after its own parts; for one formula the last is itself."""
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


def formula_text(formula: Formula, *, unicode: bool = False) -> str:
    """The text of a formula, which `parse_formula` reads back as the same, with no more parentheses than needed.

    Args:
        formula: The formula.
        unicode: With ¬ ∧ ∨ → ↔ ⊖ ⊕ and ←# →# instead of words and #< #>.

    Raises:
        UsageError: If the text would be longer than 16 MiB.
    """
    writer = Writer(UNICODE if unicode else ASCII)
    for part in subformulas(formula):
        writer.write(part)
    return writer.written[formula][0]
