"""Relations between positions, for counts such as ``#R[φ]``; and the relative encoding of words as lengths.

β(x) is the suffix of the binary representation of x after its first 0, from the most significant end; it is undefined
for x = 2^k - 1. A position x is related by R to the earlier positions i where the i-th bit of β(x) is 1. For every word
v over {0, 1}, the lengths x with β(x) = v are (2^k - 1)·2^(|v| + 1) + val(v) for k = 1, 2, 3, … So a word over
a_1 … a_m can be encoded as m lengths, one for the set of positions of each letter: the relative encoding ("Softmax
Transformers are Turing-Complete", Section 4; the rules are in `softmachine.languages.crasp.from_turing_relative`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum

from softmachine.support.errors import InputError, UsageError


def beta(x: int) -> str | None:
    """The suffix of x in binary after its first 0; None if x has no 0.

    Raises:
        UsageError: If x is not positive.
    """
    if x < 1:
        raise UsageError(f"β is defined for positive numbers, not for {x}")
    _, zero, rest = f"{x:b}".partition("0")
    return rest if zero else None


def related_positions(x: int) -> tuple[int, ...]:
    """The positions related to x by R: those i where the i-th bit of β(x) is 1, in increasing order."""
    return tuple(i for i, bit in enumerate(beta(x) or "", start=1) if bit == "1")


MAX_RELATED_POSITION = 62
"""The rows of the first 2^62 positions contain no position greater than this."""
RELATIONS: Mapping[str, Callable[[int], tuple[int, ...]]] = {"R": related_positions}
"""The relations by name, as functions from a position to the positions related to it."""


class RelativeEncoding(StrEnum):
    """The condition under which a length encodes a letter, in phase I of the relative encoding."""

    EXACT = "exact"
    """β(length) is the indicator word of the letter, as in the text of the paper; not expressible in C-RASP."""
    LITERAL = "literal"
    """#R[Q_a] = #[Q_a] and #R[true] = #[Q_a], as in the paper's formula: determines β(length) up to trailing zeros."""
    MARKED = "marked"
    """The same with an end marker after the word that counts as every letter: β(length) is w_a 1 0*."""


def encode_word(
    word: Iterable[str], alphabet: Sequence[str], encoding: RelativeEncoding = RelativeEncoding.MARKED
) -> tuple[tuple[int, ...], int]:
    """Encode a word: the lengths X, one for each letter of the alphabet, and the total length after phase I.

    Each X is the first length, after that of the previous letter, that encodes the letter; a marker follows it.

    Raises:
        InputError: If a symbol is not in the alphabet.
    """
    symbols = tuple(word)
    for symbol in symbols:
        if symbol not in alphabet:
            raise InputError(f"symbol {symbol!r} is not in the alphabet {' '.join(alphabet)}")
    marked = encoding is RelativeEncoding.MARKED
    length = len(symbols) + marked
    found: list[int] = []
    for letter in alphabet:
        bits = "".join("1" if symbol == letter else "0" for symbol in symbols) + "1" * marked
        while not _encodes(length, bits, encoding):
            length += 1
        found.append(length)
        length += 1
    return tuple(found), length


def _encodes(length: int, bits: str, encoding: RelativeEncoding) -> bool:
    here = (beta(length) if length else None) or ""
    if encoding is RelativeEncoding.EXACT:
        return length > 0 and beta(length) == bits
    return here.rstrip("0") == bits.rstrip("0")


def decode_word(
    lengths: Sequence[int], alphabet: Sequence[str], encoding: RelativeEncoding = RelativeEncoding.MARKED
) -> tuple[str, ...]:
    """Decode lengths to the word that they encode.

    Raises:
        InputError: If the lengths encode no word.
    """
    if len(lengths) != len(alphabet):
        raise InputError(f"{len(lengths)} lengths are given for {len(alphabet)} letters")
    rows: list[str] = []
    for letter, length in zip(alphabet, lengths, strict=True):
        bits = (beta(length) if length > 0 else None) or ""
        if encoding is not RelativeEncoding.EXACT:
            bits = bits.rstrip("0")
        if encoding is RelativeEncoding.MARKED:
            if not bits:
                raise InputError(f"β({length}) has no end marker, so {length} encodes no positions of {letter!r}")
            bits = bits[:-1]
        rows.append(bits)
    longest = max(map(len, rows), default=0)
    if encoding is not RelativeEncoding.LITERAL and len(set(map(len, rows))) > 1:
        raise InputError(f"the lengths {tuple(lengths)} encode words of different lengths")
    symbols = []
    for place, column in enumerate(zip(*(bits.ljust(longest, "0") for bits in rows), strict=True), start=1):
        if column.count("1") != 1:
            raise InputError(f"the lengths {tuple(lengths)} give position {place} {column.count('1')} letters, not one")
        symbols.append(alphabet[column.index("1")])
    return tuple(symbols)
