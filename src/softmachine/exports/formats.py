"""Formats that other people's software loads. A format is a file here that has ``STOCK``, or an entry point.

Other packages name theirs in the entry-point group ``softmachine.exports``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from softmachine.exports import checkpoint
from softmachine.exports.writing import Fill
from softmachine.support.errors import UsageError
from softmachine.support.plugins import Shelf

WIDE = tuple(dtype for dtype in checkpoint.DTYPES if dtype != "float16")
"""Where norms need constants that float16 has no room for."""


@dataclass(frozen=True)
class StockFormat:
    """A way to write a model so that other people's software loads it.

    Args:
        name: What the command line calls it.
        about: What it is, in a line.
        fill: Puts a model into a folder.
        dtypes: The formats of weights that it can have.
        positions: Whether the architecture has an embedding of positions.
        decodes: Whether it can go on from its input.
        encodes: Whether every position may see all others.
        libraries: Complains unless the software is there that verifies and writes it.
        rank: Where it stands among all formats.
    """

    name: str
    about: str
    fill: Fill
    dtypes: tuple[str, ...] = checkpoint.DTYPES
    positions: bool = True
    decodes: bool = True
    encodes: bool = False
    libraries: Callable[[], None] = checkpoint.require_libraries
    rank: int = 1000

    def require_libraries(self) -> None:
        """Complain, before anything is done, unless the software is there."""
        self.libraries()

    def require_dtype(self, dtype: str) -> None:
        """Complain about a format of weights that it cannot have."""
        if dtype not in self.dtypes:
            more = "" if self.dtypes == checkpoint.DTYPES else f"; gpt2 has {', '.join(checkpoint.DTYPES)}"
            hint = f"choose {' or '.join(self.dtypes)}{more}"
            raise UsageError(f"models are not written to {self.name} in {dtype}", hint=hint)


SHELF = Shelf(
    StockFormat, attribute="STOCK", package="softmachine.exports", pattern="*.py", group="softmachine.exports"
)


def stock_formats() -> tuple[StockFormat, ...]:
    """All formats, in the order in which they are told."""
    return tuple(sorted(SHELF.every(), key=lambda form: form.rank))


def stock_format(name: str) -> StockFormat:
    """The format of this name.

    Raises:
        UsageError: If there is none.
    """
    found = SHELF.named(name)
    if found is None:
        known = ", ".join(form.name for form in stock_formats())
        raise UsageError(f"there is no format {name!r} to export to", hint=f"choose native, {known}")
    return found
