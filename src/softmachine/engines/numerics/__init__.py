"""Arithmetics: rationals, floats with or without error bounds, balls (interval arithmetic), fixed point, int8.

An arithmetic is a module of this folder that defines ``ARITHMETIC``, an :class:`ArithmeticFamily`. Other packages
register theirs in the entry-point group ``softmachine.arithmetics``, under the part of the name before the first colon.
Only the module of the chosen arithmetic is imported.
"""

from __future__ import annotations

from collections.abc import Iterator

from softmachine.engines.numerics.base import Arithmetic, ArithmeticFamily, Tensor, UndecidedError, UnrepresentableError
from softmachine.support.errors import UsageError
from softmachine.support.plugins import Registry
from softmachine.support.text import did_you_mean

__all__ = [
    "ARITHMETICS",
    "Arithmetic",
    "ArithmeticFamily",
    "Tensor",
    "UndecidedError",
    "UnrepresentableError",
    "find_arithmetic",
]

ARITHMETICS = Registry(
    ArithmeticFamily,
    attribute="ARITHMETIC",
    package="softmachine.engines.numerics",
    pattern="*.py",
    group="softmachine.arithmetics",
)


ALIASES = {
    "fp64": "float64",
    "double": "float64",
    "fp32": "float32",
    "single": "float32",
    "fp16": "float16",
    "half": "float16",
    "bf16": "bfloat16",
    "fp8": "float8_e4m3fn",
    "rational": "exact",
    "interval": "ball",
}
"""Names that other software has for arithmetics, for hints."""


def find_arithmetic(name: str | Arithmetic) -> Arithmetic:
    """Return the arithmetic with this name.

    "ball:256" has midpoints of 256 bits, "float32:plain" is float32 without error bounds, "fixed:8" is fixed point with
    8 integer and 8 fractional bits, and "fixed:8:20" has 20 of each inside attention.

    Raises:
        UsageError: If no arithmetic has this name.
    """
    if isinstance(name, Arithmetic):
        return name
    for part in dict.fromkeys(_candidates(name)):
        family = ARITHMETICS.get(part)
        found = family.make(name) if family else None
        if found is not None:
            return found
    families = sorted(ARITHMETICS.load_by_name().values(), key=lambda family: family.order)
    names = [item for family in families for item in family.names]
    notes = [family.note for family in families if family.note]
    listing = f"choose {', '.join(names)}; {', '.join(notes)}"
    raise UsageError(f"unknown arithmetic {name!r}", hint=did_you_mean(name, names, listing, ALIASES))


def _candidates(name: str) -> Iterator[str]:
    """Return the parts that may define a name: modules that quote it or its prefix, then plug-ins with that prefix."""
    kind = name.partition(":")[0]
    yield from ARITHMETICS.modules_containing(f'"{name}"')
    yield from ARITHMETICS.modules_containing(f'"{kind}"')
    yield kind
