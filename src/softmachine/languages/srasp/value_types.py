"""Value types of S-RASP vectors."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from softmachine.languages.srasp.ast import Value
from softmachine.languages.text.statements import quote

MAX_SHOWN_SYMBOLS = 8


class ValueKind(StrEnum):
    """Kinds of values; Booleans and symbols have finitely many."""

    BOOLEAN = "Boolean"
    SYMBOL = "symbol"
    INTEGER = "integer"


@dataclass(frozen=True)
class Type:
    """The type of an expression.

    Args:
        kind: Boolean, symbol or integer.
        symbols: All possible symbols, if the kind is symbol.
    """

    kind: ValueKind
    symbols: tuple[str, ...] = ()

    @property
    def is_finite(self) -> bool:
        """Whether the number of values is bounded independently of the input length."""
        return self.kind is not ValueKind.INTEGER

    @property
    def values(self) -> tuple[Value, ...]:
        """All values of a finite type; empty for integers."""
        return (False, True) if self.kind is ValueKind.BOOLEAN else self.symbols

    def union(self, other: Type) -> Type:
        """The union of two types of the same kind."""
        return Type(self.kind, tuple(dict.fromkeys(self.symbols + other.symbols)))

    def __str__(self) -> str:
        if self.kind is not ValueKind.SYMBOL:
            return self.kind.value
        more = ", …" if len(self.symbols) > MAX_SHOWN_SYMBOLS else ""
        return f"symbol ({', '.join(quote(symbol) for symbol in self.symbols[:MAX_SHOWN_SYMBOLS])}{more})"


BOOLEAN = Type(ValueKind.BOOLEAN)
INTEGER = Type(ValueKind.INTEGER)
