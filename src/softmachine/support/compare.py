"""Incremental comparison of a token stream with the expected one, up to the first difference."""

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
"""Tokens per chunk where the source yields them one by one."""


@dataclass(frozen=True)
class Difference:
    """The first token that differs from the expected one.

    Args:
        position: Its index, counted from 0: among the emitted tokens for a decoder, the position for an encoder.
        said: The emitted token; None if the output has ended.
        expected: The expected token; None if the output should have ended, or is unconstrained here.
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
    """Compares a token stream as it arrives; keeps no tokens and ignores those after the first difference.

    Args:
        expected: The expected tokens, in chunks; None at unconstrained positions. The chunks are consumed lazily.
    """

    def __init__(self, expected: Iterable[Sequence[str | None]]) -> None:
        self.agreed = 0
        """Number of tokens before the first difference."""
        self.compared = 0
        """Number of these at constrained positions."""
        self.difference: Difference | None = None
        self._coming = iter(expected)
        self._wanted: Sequence[str | None] = ()

    def see(self, said: Sequence[str]) -> None:
        """Compare further emitted tokens."""
        for piece in _pieces(said):
            rest: Sequence[str] = piece
            while len(rest) and self.difference is None:
                rest = self._compare(rest)

    def close(self) -> None:
        """End the stream; it is a difference if more tokens are expected."""
        if self.difference is None and len(expected := self._next()):
            self.difference = Difference(self.agreed, None, expected[0])

    def _compare(self, emitted: Sequence[str]) -> Sequence[str]:
        """Compare with the current chunk of expected tokens; returns the emitted tokens that remain."""
        expected = self._next()
        both = min(len(expected), len(emitted))
        same = _agreeing(expected[:both], emitted[:both])
        self.agreed += same
        self.compared += same - _free(expected[:same])
        self._wanted = expected[same:]
        if same < both or not both:
            self.difference = Difference(self.agreed, emitted[same], expected[same] if both else None)
        return emitted[same:]

    def _next(self) -> Sequence[str | None]:
        """The next expected tokens; empty at the end."""
        while not len(self._wanted):
            piece = next(self._coming, None)
            if piece is None:
                return ()
            self._wanted = piece
        return self._wanted


def first_difference(expected: Iterable[str | None], said: Sequence[str]) -> Difference | None:
    """The first difference, if any; expected tokens that are None match any token."""
    expected = tuple(expected)
    if len(expected) == len(said) and _agreeing(expected, said) == len(said):
        return None
    comparison = Comparison(in_pieces(expected))
    comparison.see(said)
    comparison.close()
    return comparison.difference


def in_pieces(tokens: Iterable[str | None]) -> Iterator[Sequence[str | None]]:
    """Split tokens into chunks; if the source raises, the tokens before are yielded first."""
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


def _pieces(emitted: Sequence[str]) -> Iterator[Sequence[str]]:
    if not isinstance(emitted, Codes):
        return iter((emitted,))
    return (Coded(part, emitted.names) for part in emitted.parts())


def _agreeing(expected: Sequence[str | None], emitted: Sequence[str]) -> int:
    """The length of the common prefix of two sequences of the same length."""
    if isinstance(expected, Coded) and isinstance(emitted, Coded):
        same = _translation(tuple(expected.names), tuple(emitted.names)).take(expected.codes) == emitted.codes
        return len(same) if same.all() else int(same.argmin())
    for at, (right, token) in enumerate(zip(expected, emitted, strict=True)):
        if right != token and right is not None:
            return at
    return len(expected)


def _free(expected: Sequence[str | None]) -> int:
    """The number of unconstrained positions."""
    return 0 if isinstance(expected, Coded) else sum(token is None for token in expected)


@lru_cache(maxsize=8)
def _translation(origin: tuple[str, ...], target: tuple[str, ...]) -> NDArray[np.int32]:
    """Map the codes of one vocabulary to those of another; -1 for tokens that the other lacks."""
    import numpy as np

    number = {name: code for code, name in enumerate(target)}
    return np.array([number.get(name, -1) for name in origin], dtype=np.int32)
