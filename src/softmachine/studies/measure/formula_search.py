"""Search for formulas of temporal logic with counting that separate a language from other words.

A probe for conjectures such as the one of "Simulating Hard Attention Using Soft Attention" (Section 6) that Dyck-2 is
not defined by any formula of LTL with counts and monadic predicates. If a conjunction of formulas defines a language,
each of them holds at the end of all its words, and for every other word one of them does not. If a word outside the
language satisfies all formulas up to a size that hold on all its words (or only on a sample of them), no conjunction of
such formulas, of any length, defines the language: for these sizes that is a proof. For larger formulas it is only
evidence for a conjecture. If all sampled words are separated from the language, that does not prove that it is
definable.

Every formula is represented by its truth values at all positions of the words; formulas with equal values are
identified. Its size counts letters, predicates (true, first, last, odd(i)) and operators: not, and, previous, next,
since, until, a count (of the past or the future) compared with 0 or 1, and two counts compared with each other (≤, =).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from softmachine.languages.words import words_from
from softmachine.support.errors import UsageError

TruthValues = NDArray[np.bool_]
"""Truth values of formulas: (formulas, words, positions)."""
MAX_EXHAUSTIVE_WORDS, MAX_EXHAUSTIVE_LENGTH = 1 << 12, 8
"""Limits of the exhaustive search for members: number of words, and length."""
MAX_SAMPLE_WORDS = 400
"""Maximum number of words: half of them members, half members with two letters exchanged."""
MAX_FORMULAS = 200_000
"""Maximum number of distinct formulas."""
CHUNK_SIZE = 512
CAVEAT = "this proves nothing about larger formulas"
"""Caveat printed with every result."""


@dataclass(frozen=True)
class Separation:
    """Separation of a language from other words by formulas up to a size.

    Args:
        size: The size.
        formulas: Number of formulas up to this size that differ on the words.
        num_holding: Number of these, and of their negations, that hold on all sampled words of the language.
        unseparated: Number of words outside that satisfy all of these: the words that are not separated.
        example: One of them.
    """

    size: int
    formulas: int
    num_holding: int
    unseparated: int
    example: tuple[str, ...] | None


def sample_pairs(
    accepts: Callable[[tuple[str, ...]], bool], alphabet: Sequence[str], length: int
) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """Sample words of a length in a language, and such words with two letters exchanged that are not in it.

    Short words are found exhaustively. Longer candidates are short members inserted into other members. The sample is
    random.

    Raises:
        UsageError: If no such words are found.
    """
    chooser = random.Random(0)
    inside = _sample_members(accepts, alphabet, length, chooser)
    outside = dict[tuple[str, ...], None]()
    for _ in range(20 * MAX_SAMPLE_WORDS):
        if not inside or len(outside) == MAX_SAMPLE_WORDS // 2:
            break
        word = _exchange_letters(chooser.choice(inside), chooser)
        if not accepts(word):
            outside[word] = None
    if not outside:
        raise UsageError(
            f"found no words of length {length} in the language that leave it when two letters are exchanged"
        )
    return inside, list(outside)


def _sample_members(
    accepts: Callable[[tuple[str, ...]], bool], alphabet: Sequence[str], length: int, rng: random.Random
) -> list[tuple[str, ...]]:
    """Sample words of a length that are in the language."""
    short, known = MAX_EXHAUSTIVE_LENGTH, dict[int, list[tuple[str, ...]]]()
    while len(alphabet) ** short > MAX_EXHAUSTIVE_WORDS:
        short -= 1
    for size in range(1, min(short, length) + 1):
        known[size] = [word for word in words_from(alphabet, size) if accepts(word)]
    for size in range(short + 1, length + 1):
        found = dict[tuple[str, ...], None]()
        pairs = [(size - part, part) for part in range(1, short + 1) if known[part] and known.get(size - part)]
        for _ in range(4 * MAX_SAMPLE_WORDS if pairs else 0):
            outer, inner = (rng.choice(known[part]) for part in rng.choice(pairs))
            at = rng.randrange(len(outer) + 1)
            word = (*outer[:at], *inner, *outer[at:])
            if len(found) < MAX_SAMPLE_WORDS // 2 and accepts(word):
                found[word] = None
        known[size] = list(found)
    return rng.sample(known[length], min(len(known[length]), MAX_SAMPLE_WORDS // 2))


def _exchange_letters(word: tuple[str, ...], rng: random.Random) -> tuple[str, ...]:
    """Exchange two random letters of a word."""
    if len(word) < 2:
        return word
    i, j = sorted(rng.sample(range(len(word)), 2))
    return (*word[:i], word[j], *word[i + 1 : j], word[i], *word[j + 1 :])


def separate(
    inside: Sequence[tuple[str, ...]], outside: Sequence[tuple[str, ...]], alphabet: Sequence[str], max_size: int
) -> Iterator[Separation]:
    """Yield the separation by formulas of each size, until all words outside are separated.

    Raises:
        UsageError: If there are too many formulas.
    """
    search = _Search(np.array([*inside, *outside]), alphabet)
    left, holding, split = np.ones(len(outside), dtype=bool), 0, len(inside)
    for size in range(1, max_size + 1):
        for ends in search.enumerate_size(size):
            if (ends[:split] == ends[0]).all():
                holding += 1
                left &= ends[split:] == ends[0]
        one = outside[int(np.argmax(left))] if left.any() else None
        yield Separation(size, len(search.known), holding, int(left.sum()), one)
        if one is None:
            return


@dataclass
class _Search:
    """Enumeration of all distinct formulas by size.

    Args:
        words: The words, one per row.
        alphabet: The letters.
    """

    words: NDArray[np.str_]
    alphabet: Sequence[str]
    known: set[bytes] = field(default_factory=set)
    sizes: dict[int, list[bytes]] = field(default_factory=dict)

    def enumerate_size(self, size: int) -> Iterator[TruthValues]:
        """Yield the new formulas of a size, each as its truth values at the ends of the words."""
        fresh = self.sizes[size] = []
        for found in self._atoms() if size == 1 else self._compounds(size):
            packed = np.packbits(found.reshape(len(found), -1), axis=1)
            for row, values in zip(packed, found, strict=True):
                key = row.tobytes()
                if key not in self.known:
                    self.known.add(key)
                    fresh.append(key)
                    yield values[:, -1]
            if len(self.known) > MAX_FORMULAS:
                raise UsageError(
                    f"there are more than {MAX_FORMULAS:,} formulas of size {size}", hint="search for smaller ones"
                )

    def _atoms(self) -> Iterator[TruthValues]:
        """Yield letters and predicates."""
        places = np.broadcast_to(np.arange(1, self.words.shape[1] + 1), self.words.shape)
        last = places == self.words.shape[1]
        yield np.stack([self.words == letter for letter in self.alphabet])
        yield np.stack([places > 0, places == 1, last, places % 2 == 1])

    def _compounds(self, size: int) -> Iterator[TruthValues]:
        for part in self._iterate_chunks(size - 1):
            yield from _apply_unary(part)
        for left in range(1, size - 1):
            for part in self._iterate_chunks(left):
                for other in self._iterate_chunks(size - 1 - left):
                    for one in part:
                        yield from _apply_binary(one[None], other)

    def _iterate_chunks(self, size: int) -> Iterator[TruthValues]:
        """Yield the formulas of a size in chunks."""
        keys, bits = self.sizes[size], self.words.size
        for start in range(0, len(keys), CHUNK_SIZE):
            packed = np.frombuffer(b"".join(keys[start : start + CHUNK_SIZE]), dtype=np.uint8)
            rows = packed.reshape(-1, -(-bits // 8))
            yield np.unpackbits(rows, axis=1, count=bits).astype(bool).reshape(-1, *self.words.shape)


def _apply_unary(part: TruthValues) -> Iterator[TruthValues]:
    nothing = np.zeros_like(part[..., :1])
    yield ~part
    yield np.concatenate([nothing, part[..., :-1]], axis=-1)
    yield np.concatenate([part[..., 1:], nothing], axis=-1)
    for count in (_prefix_counts(part), _prefix_counts(part[..., ::-1])[..., ::-1]):
        yield count == 0
        yield count <= 1


def _apply_binary(one: TruthValues, other: TruthValues) -> Iterator[TruthValues]:
    yield one & other
    yield _since(one, other)
    yield _since(one[..., ::-1], other[..., ::-1])[..., ::-1]
    ours, theirs = ([_prefix_counts(x), _prefix_counts(x[..., ::-1])[..., ::-1]] for x in (one, other))
    for mine in ours:
        for its in theirs:
            yield mine <= its
            yield mine == its


def _prefix_counts(part: TruthValues) -> NDArray[np.int8]:
    """Count the positions up to each position where a formula holds."""
    return np.cumsum(part, axis=-1, dtype=np.int8)


def _since(holding: TruthValues, reached: TruthValues) -> TruthValues:
    holding, reached = np.broadcast_arrays(holding, reached)
    found = np.zeros(reached.shape, dtype=bool)
    before = np.zeros(reached.shape[:-1], dtype=bool)
    for i in range(reached.shape[-1]):
        found[..., i] = before = reached[..., i] | (holding[..., i] & before)
    return found
