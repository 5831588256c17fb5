"""Types of S-RASP: what a vector may hold."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from softmachine.languages.srasp.expressions import Value
from softmachine.languages.text.layout import quote

MOST_SHOWN = 8


class Kind(StrEnum):
    """What sort of values: the first two are finitely many."""

    BOOLEAN = "Boolean"
    SYMBOL = "symbol"
    INTEGER = "integer"


@dataclass(frozen=True)
class Type:
    """What an expression may be.

    Args:
        kind: Boolean, symbol or integer.
        symbols: If it is a symbol, all that it may be.
    """

    kind: Kind
    symbols: tuple[str, ...] = ()

    @property
    def finite(self) -> bool:
        """Whether there are finitely many values, whatever the length of the input."""
        return self.kind is not Kind.INTEGER

    @property
    def values(self) -> tuple[Value, ...]:
        """All values, if they are finitely many; no integers are listed."""
        return (False, True) if self.kind is Kind.BOOLEAN else self.symbols

    def union(self, other: Type) -> Type:
        """What may be either; both must be of the same kind."""
        return Type(self.kind, tuple(dict.fromkeys(self.symbols + other.symbols)))

    def __str__(self) -> str:
        if self.kind is not Kind.SYMBOL:
            return self.kind.value
        more = ", …" if len(self.symbols) > MOST_SHOWN else ""
        return f"symbol ({', '.join(quote(symbol) for symbol in self.symbols[:MOST_SHOWN])}{more})"


BOOLEAN = Type(Kind.BOOLEAN)
INTEGER = Type(Kind.INTEGER)
