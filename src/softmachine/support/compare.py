"""What someone says against what should be said, piece by piece, up to the first difference."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from softmachine.support.token_array import Coded, Codes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PIECE = 256
"""So many tokens are taken at a time from those who have them one by one."""


@dataclass(frozen=True)
class Difference:
    """The first token that is not the right one.

    Args:
        position: Its number, counted from 0: of a decoder, among the tokens that it says; of an encoder, the position.
        said: The token; None if nothing more is said.
        expected: What it should be; None if nothing more should be said, or anything would do.
    """

    position: int
    said: str | None
    expected: str | None

    def __str__(self) -> str:
        if self.said is None:
            return f"there is no token {self.position:,}" + (f"; it should be {self.expected}" if self.expected else "")
        right = "there should be none" if self.expected is None else f"should be {self.expected}"
        return f"token {self.position:,} is {self.said}, but {right}"


class Comparison:
    """What is said is compared as it comes; nothing is kept, and nothing is looked at after the first difference.

    Args:
        expected: What should be said, in pieces; None where anything will do. They are asked for when they are needed.
    """

    def __init__(self, expected: Iterable[Sequence[str | None]]) -> None:
        self.agreed = 0
        """How many tokens were seen before the first difference."""
        self.compared = 0
        """How many of these had to be something."""
        self.difference: Difference | None = None
        self._coming = iter(expected)
        self._wanted: Sequence[str | None] = ()

    def see(self, said: Sequence[str]) -> None:
        """More was said."""
        for piece in _pieces(said):
            rest: Sequence[str] = piece
            while len(rest) and self.difference is None:
                rest = self._compare(rest)

    def close(self) -> None:
        """Nothing more is said: nothing more should be."""
        if self.difference is None and len(wanted := self._next()):
            self.difference = Difference(self.agreed, None, wanted[0])

    def _compare(self, said: Sequence[str]) -> Sequence[str]:
        """Compare as much as is known of what should be said; what is left."""
        wanted = self._next()
        both = min(len(wanted), len(said))
        same = _agreeing(wanted[:both], said[:both])
        self.agreed += same
        self.compared += same - _free(wanted[:same])
        self._wanted = wanted[same:]
        if same < both or not both:
            self.difference = Difference(self.agreed, said[same], wanted[same] if both else None)
        return said[same:]

    def _next(self) -> Sequence[str | None]:
        """What should be said next; nothing if there is no more."""
        while not len(self._wanted):
            piece = next(self._coming, None)
            if piece is None:
                return ()
            self._wanted = piece
        return self._wanted


def first_difference(expected: Iterable[str | None], said: Sequence[str]) -> Difference | None:
    """The first token that differs, if any; None where anything will do."""
    expected = tuple(expected)
    if len(expected) == len(said) and _agreeing(expected, said) == len(said):
        return None
    comparison = Comparison(in_pieces(expected))
    comparison.see(said)
    comparison.close()
    return comparison.difference


def in_pieces(tokens: Iterable[str | None]) -> Iterator[Sequence[str | None]]:
    """Tokens in pieces; if no more can be had, those before are handed out first."""
    piece: list[str | None] = []
    try:
        for token in tokens:
            piece.append(token)
            if len(piece) == PIECE:
                yield piece
                piece = []
    except Exception:
        yield piece
        raise
    yield piece


def _pieces(said: Sequence[str]) -> Iterator[Sequence[str]]:
    if not isinstance(said, Codes):
        return iter((said,))
    return (Coded(part, said.names) for part in said.parts())


def _agreeing(wanted: Sequence[str | None], said: Sequence[str]) -> int:
    """How many tokens of two sequences of one length agree before the first that does not."""
    if isinstance(wanted, Coded) and isinstance(said, Coded):
        same = _translation(tuple(wanted.names), tuple(said.names)).take(wanted.codes) == said.codes
        return len(same) if same.all() else int(same.argmin())
    for at, (right, token) in enumerate(zip(wanted, said, strict=True)):
        if right != token and right is not None:
            return at
    return len(wanted)


def _free(wanted: Sequence[str | None]) -> int:
    """How many tokens may be anything."""
    return 0 if isinstance(wanted, Coded) else sum(token is None for token in wanted)


@lru_cache(maxsize=8)
def _translation(origin: tuple[str, ...], target: tuple[str, ...]) -> NDArray[np.int32]:
    """For every number of one sequence the number that another has for the same token; -1 if it has none."""
    import numpy as np

    number = {name: code for code, name in enumerate(target)}
    return np.array([number.get(name, -1) for name in origin], dtype=np.int32)
