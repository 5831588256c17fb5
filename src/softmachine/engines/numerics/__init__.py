"""What a number is: rationals, floats that know how wrong they can be or do not, balls around reals, fixed point.

An arithmetic is a module of this folder that defines ``ARITHMETIC``, a :class:`Family`; other packages name theirs in
the entry-point group ``softmachine.arithmetics``, under what stands before the first colon of its names. Only the
module that makes the chosen one is imported.
"""

from __future__ import annotations

from collections.abc import Iterator

from softmachine.engines.numerics.base import Arithmetic, Family, Tensor, UndecidedError, UnrepresentableError
from softmachine.support.errors import UsageError
from softmachine.support.plugins import Shelf

__all__ = ["SHELF", "Arithmetic", "Family", "Tensor", "UndecidedError", "UnrepresentableError", "arithmetic"]

SHELF = Shelf(
    Family,
    attribute="ARITHMETIC",
    package="softmachine.engines.numerics",
    pattern="*.py",
    group="softmachine.arithmetics",
)


def arithmetic(name: str | Arithmetic) -> Arithmetic:
    """The arithmetic of this name.

    "ball:256" are balls of 256 bits, "float32:plain" is float32 without bounds; "fixed:8" are fixed-point numbers with
    8 integer and 8 fractional bits, and "fixed:8:20" has 20 of each inside attention.
    """
    if isinstance(name, Arithmetic):
        return name
    for part in dict.fromkeys(_candidates(name)):
        family = SHELF.get(part)
        found = family.make(name) if family else None
        if found is not None:
            return found
    families = sorted(SHELF.all().values(), key=lambda family: family.order)
    names = [item for family in families for item in family.names]
    notes = [family.note for family in families if family.note]
    raise UsageError(f"there is no arithmetic {name!r}", hint=f"choose {', '.join(names)}; {', '.join(notes)}")


def _candidates(name: str) -> Iterator[str]:
    """The modules that may know a name: those that quote it, or what it begins with; and the other package's."""
    kind = name.partition(":")[0]
    yield from SHELF.mentioning(f'"{name}"')
    yield from SHELF.mentioning(f'"{kind}"')
    yield kind
