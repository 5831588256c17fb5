"""Incremental comparison of a token stream with the expected one, up to the first difference."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from softmachine.support.token_array import CodeArray, CodedSequence

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CHUNK_SIZE = 256
"""Tokens per chunk where the source yields them one by one."""


@dataclass(frozen=True)
class Difference:
    """The first token that differs from the expected one.

    Args:
        position: Its index, counted from 0: among the emitted tokens for a decoder, the position for an encoder.
        emitted: The emitted token; None if the output has ended.
        expected: The expected token; None if the output should have ended, or is unconstrained here.
    """

    position: int
    emitted: str | None
    expected: str | None

    def __str__(self) -> str:
        if self.emitted is None:
            return f"there is no token {self.position:,}" + (f"; it should be {self.expected}" if self.expected else "")
        right = "there should be none" if self.expected is None else f"should be {self.expected}"
        return f"token {self.position:,} is {self.emitted}, but {right}"


class Comparison:
    """Compares a token stream as it arrives; keeps no tokens and ignores those after the first difference.

    Args:
        expected: The expected tokens, in chunks; None at unconstrained positions. The chunks are consumed lazily.
    """

    def __init__(self, expected: Iterable[Sequence[str | None]]) -> None:
        self.prefix_length = 0
        """Number of tokens before the first difference."""
        self.compared_count = 0
        """Number of these at constrained positions."""
        self.difference: Difference | None = None
        self._chunks = iter(expected)
        self._pending: Sequence[str | None] = ()

    def feed(self, emitted: Sequence[str]) -> None:
        """Compare further emitted tokens."""
        for piece in _code_chunks(emitted):
            rest: Sequence[str] = piece
            while len(rest) and self.difference is None:
                rest = self._compare(rest)

    def close(self) -> None:
        """End the stream; it is a difference if more tokens are expected."""
        if self.difference is None and len(expected := self._next()):
            self.difference = Difference(self.prefix_length, None, expected[0])

    def _compare(self, emitted: Sequence[str]) -> Sequence[str]:
        """Compare with the current chunk of expected tokens; returns the emitted tokens that remain."""
        expected = self._next()
        both = min(len(expected), len(emitted))
        same = _common_prefix_length(expected[:both], emitted[:both])
        self.prefix_length += same
        self.compared_count += same - _count_unconstrained(expected[:same])
        self._pending = expected[same:]
        if same < both or not both:
            self.difference = Difference(self.prefix_length, emitted[same], expected[same] if both else None)
        return emitted[same:]

    def _next(self) -> Sequence[str | None]:
        """The next expected tokens; empty at the end."""
        while not len(self._pending):
            piece = next(self._chunks, None)
            if piece is None:
                return ()
            self._pending = piece
        return self._pending


def first_difference(expected: Iterable[str | None], emitted: Sequence[str]) -> Difference | None:
    """The first difference, if any; expected tokens that are None match any token."""
    expected = tuple(expected)
    if len(expected) == len(emitted) and _common_prefix_length(expected, emitted) == len(emitted):
        return None
    comparison = Comparison(split_into_chunks(expected))
    comparison.feed(emitted)
    comparison.close()
    return comparison.difference


def split_into_chunks(tokens: Iterable[str | None]) -> Iterator[Sequence[str | None]]:
    """Split tokens into chunks; if the source raises, the tokens before are yielded first."""
    piece: list[str | None] = []
    try:
        for token in tokens:
            piece.append(token)
            if len(piece) == CHUNK_SIZE:
                yield piece
                piece = []
    except Exception:
        yield piece
        raise
    yield piece


def _code_chunks(emitted: Sequence[str]) -> Iterator[Sequence[str]]:
    if not isinstance(emitted, CodedSequence):
        return iter((emitted,))
    return (CodeArray(part, emitted.names) for part in emitted.code_arrays())


def _common_prefix_length(expected: Sequence[str | None], emitted: Sequence[str]) -> int:
    """The length of the common prefix of two sequences of the same length."""
    if isinstance(expected, CodeArray) and isinstance(emitted, CodeArray):
        same = _code_translation(tuple(expected.names), tuple(emitted.names)).take(expected.codes) == emitted.codes
        return len(same) if same.all() else int(same.argmin())
    for at, (right, token) in enumerate(zip(expected, emitted, strict=True)):
        if right != token and right is not None:
            return at
    return len(expected)


def _count_unconstrained(expected: Sequence[str | None]) -> int:
    """The number of unconstrained positions."""
    return 0 if isinstance(expected, CodeArray) else sum(token is None for token in expected)


@lru_cache(maxsize=8)
def _code_translation(origin: tuple[str, ...], target: tuple[str, ...]) -> NDArray[np.int32]:
    """Map the codes of one vocabulary to those of another; -1 for tokens that the other lacks."""
    import numpy as np

    number = {name: code for code, name in enumerate(target)}
    return np.array([number.get(name, -1) for name in origin], dtype=np.int32)
