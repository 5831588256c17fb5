"""Splits of a data set into parts, by word length or by fractions of all words.

Fractions partition the unit interval; a word belongs to the part that contains its SHA-256, read as a number in [0, 1).
Its part therefore depends only on the word and the rule: a word in ``train`` of one data set is in ``test`` of no other
with the same rule, for any seed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256

from softmachine.engines.inputs import Word
from softmachine.support.errors import UsageError

SPLIT_HINT = "write it like train=0.9,test=0.1, or by length, like train=0-50,longer=51-100, or both"
MAX_WORD_LENGTH = 1_000_000
"""Maximum length of words."""
_BITS = 64


@dataclass(frozen=True)
class Split:
    """Rule that assigns words to parts.

    Args:
        ranges: Names of parts and the range of lengths of their words.
        fractions: Names of parts and their fraction of all other words; the fractions sum to 1, or there are none.
    """

    ranges: tuple[tuple[str, range], ...] = ()
    fractions: tuple[tuple[str, Fraction], ...] = ()

    @classmethod
    def parse(cls, text: str) -> Split:
        """Parse a rule like ``train=0.9,test=0.1,longer=51-100``.

        Raises:
            UsageError: If the text is not a rule.
        """
        ranges, fractions = [], []
        for part in text.split(","):
            name, _, share = (piece.strip() for piece in part.partition("="))
            if not name or not share:
                raise UsageError(f"{part.strip()!r} is not a part of a split", hint=SPLIT_HINT)
            if re.fullmatch(r"\d+-\d+", share, re.ASCII):
                ranges.append((name, parse_lengths(share)))
            else:
                fractions.append((name, _fraction(share)))
        return cls(tuple(ranges), tuple(fractions))

    def __post_init__(self) -> None:
        names = self.names
        problem = ""
        if len(set(names)) < len(names):
            problem = "a part is named twice"
        elif self.fractions and sum(share for _, share in self.fractions) != 1:
            problem = f"the fractions add up to {float(sum(share for _, share in self.fractions)):g}, not to 1"
        elif sum(len(lengths) for _, lengths in self.ranges) > len(self._named):
            problem = "a length belongs to two parts"
        if problem:
            raise UsageError(f"this is not a split: {problem}", hint=SPLIT_HINT)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the parts."""
        return tuple(name for name, _ in (*self.fractions, *self.ranges))

    @property
    def _named(self) -> set[int]:
        """The lengths that belong to a range."""
        return {length for _, lengths in self.ranges for length in lengths}

    def require_covered(self, lengths: Iterable[int]) -> None:
        """Require that words of these lengths belong to a part.

        Raises:
            UsageError: If a length belongs to no part.
        """
        missing = [] if self.fractions else [length for length in lengths if length not in self._named]
        if missing:
            raise UsageError(f"words of length {missing[0]} belong to no part of the split", hint=SPLIT_HINT)

    def part_of(self, word: Word) -> str:
        """Return the part that a word belongs to."""
        for name, lengths in self.ranges:
            if len(word) in lengths:
                return name
        digest = sha256("\0".join(word).encode("utf-8", "surrogatepass")).digest()
        number = Fraction(int.from_bytes(digest[: _BITS // 8], "big"), 1 << _BITS)
        for name, share in self.fractions:
            if number < share:
                return name
            number -= share
        raise AssertionError("fractions add up to 1, or every length has a part")


def parse_lengths(text: str) -> range:
    """Parse a length or a range of lengths, like ``12`` or ``1-50``.

    Raises:
        UsageError: If the text is not one.
    """
    first, _, last = text.strip().partition("-")
    if not re.fullmatch(r"\d+(-\d+)?", text.strip(), re.ASCII):
        raise UsageError(f"{text!r} is not a length", hint="write N, or A-B, or several with commas")
    if max(len(first), len(last)) > len(str(MAX_WORD_LENGTH)) or int(last or first) > MAX_WORD_LENGTH:
        raise UsageError(f"words have at most {MAX_WORD_LENGTH:,} symbols, not {last or first}")
    found = range(int(first), int(last or first) + 1)
    if not found:
        raise UsageError(f"there are no lengths from {first} to {last}")
    return found


def _fraction(text: str) -> Fraction:
    if not re.fullmatch(r"\d{0,9}\.?\d{1,9}|\d{1,9}/[1-9]\d{0,8}", text, re.ASCII):
        raise UsageError(f"{text!r} is neither a fraction nor a range of lengths", hint=SPLIT_HINT)
    return Fraction(text)
