"""Is a language in temporal logic with counting? All small formulas are tried on some words.

A probe for conjectures such as the one of "Simulating Hard Attention Using Soft Attention" (Section 6) that Dyck-2 is
not defined by any formula of LTL with counts and monadic predicates. If a conjunction of formulas defines a language,
each of them holds at the end of all its words, and for every other word one of them does not. So if a word outside the
language satisfies all formulas up to a size that hold on all its words (even: on some of them), no conjunction of such
formulas, however long it is, defines the language: of these sizes that is a proof. Of larger formulas it says nothing:
it is evidence for a conjecture, and no more. And if all words that were tried are told from the language, that is no
proof that it can be defined.

Every formula is computed as its truth values at all positions of the words, and those that are the same there are one.
Its size counts letters, predicates (true, first, last, odd(i)) and operators: not, and, previous, next, since, until,
a count (of the past or the future) compared with 0 or 1, and two counts compared with each other (≤ and =).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from softmachine.languages.words import words_from
from softmachine.support.errors import UsageError

Truth = NDArray[np.bool_]
"""Truth values of formulas: (formulas, words, positions)."""
MOST_WORDS, SHORT = 1 << 12, 8
"""Words that are so short, and no more than so many, are all decided, to find some that are in the language."""
SOME = 400
"""So many words are told apart at most: half of them members, half such with two letters exchanged."""
MOST_FORMULAS = 200_000
"""So many different formulas are kept at most."""
CHUNK = 512
EVIDENCE = "of larger ones this proves nothing"
"""What is to be said with every answer."""


@dataclass(frozen=True)
class Told:
    """What formulas up to a size tell from a language.

    Args:
        size: The size.
        formulas: How many formulas there are up to it that differ on the words.
        holding: How many of them, and of their negations, hold on all words of the language that were tried.
        left: How many words outside satisfy all of these.
        example: One of them.
    """

    size: int
    formulas: int
    holding: int
    left: int
    example: tuple[str, ...] | None


def pairs_of(
    accepts: Callable[[tuple[str, ...]], bool], alphabet: Sequence[str], length: int
) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """Words of a length that are in a language, and such with two letters exchanged that are not.

    Short words are found by trying all. Longer ones are short ones with others put into them, as far as they are in the
    language again. Some are chosen at random.

    Raises:
        UsageError: If no such words are found.
    """
    chooser = random.Random(0)
    inside = _members(accepts, alphabet, length, chooser)
    outside = dict[tuple[str, ...], None]()
    for _ in range(20 * SOME):
        if not inside or len(outside) == SOME // 2:
            break
        word = _exchanged(chooser.choice(inside), chooser)
        if not accepts(word):
            outside[word] = None
    if not outside:
        raise UsageError(
            f"no words of length {length} were found that are in the language until two letters change places"
        )
    return inside, list(outside)


def _members(
    accepts: Callable[[tuple[str, ...]], bool], alphabet: Sequence[str], length: int, chooser: random.Random
) -> list[tuple[str, ...]]:
    """Some words of a length that are in the language."""
    short, known = SHORT, dict[int, list[tuple[str, ...]]]()
    while len(alphabet) ** short > MOST_WORDS:
        short -= 1
    for size in range(1, min(short, length) + 1):
        known[size] = [word for word in words_from(alphabet, size) if accepts(word)]
    for size in range(short + 1, length + 1):
        found = dict[tuple[str, ...], None]()
        pairs = [(size - part, part) for part in range(1, short + 1) if known[part] and known.get(size - part)]
        for _ in range(4 * SOME if pairs else 0):
            outer, inner = (chooser.choice(known[part]) for part in chooser.choice(pairs))
            at = chooser.randrange(len(outer) + 1)
            word = (*outer[:at], *inner, *outer[at:])
            if len(found) < SOME // 2 and accepts(word):
                found[word] = None
        known[size] = list(found)
    return chooser.sample(known[length], min(len(known[length]), SOME // 2))


def _exchanged(word: tuple[str, ...], chooser: random.Random) -> tuple[str, ...]:
    """The word with two of its letters in each other's place."""
    if len(word) < 2:
        return word
    i, j = sorted(chooser.sample(range(len(word)), 2))
    return (*word[:i], word[j], *word[i + 1 : j], word[i], *word[j + 1 :])


def told_apart(
    inside: Sequence[tuple[str, ...]], outside: Sequence[tuple[str, ...]], alphabet: Sequence[str], largest: int
) -> Iterator[Told]:
    """For each size which words outside a language formulas up to it do not tell from those in it, while there are any.

    Raises:
        UsageError: If there are too many formulas.
    """
    search = _Search(np.array([*inside, *outside]), alphabet)
    left, holding, split = np.ones(len(outside), dtype=bool), 0, len(inside)
    for size in range(1, largest + 1):
        for ends in search.grown(size):
            if (ends[:split] == ends[0]).all():
                holding += 1
                left &= ends[split:] == ends[0]
        one = outside[int(np.argmax(left))] if left.any() else None
        yield Told(size, len(search.known), holding, int(left.sum()), one)
        if one is None:
            return


@dataclass
class _Search:
    """All formulas, size by size, each once.

    Args:
        words: The words, a row each.
        alphabet: The letters.
    """

    words: NDArray[np.str_]
    alphabet: Sequence[str]
    known: set[bytes] = field(default_factory=set)
    sizes: dict[int, list[bytes]] = field(default_factory=dict)

    def grown(self, size: int) -> Iterator[Truth]:
        """The formulas of a size that are new; of each, its truth at the ends of words."""
        fresh = self.sizes[size] = []
        for found in self._atoms() if size == 1 else self._compounds(size):
            packed = np.packbits(found.reshape(len(found), -1), axis=1)
            for row, values in zip(packed, found, strict=True):
                key = row.tobytes()
                if key not in self.known:
                    self.known.add(key)
                    fresh.append(key)
                    yield values[:, -1]
            if len(self.known) > MOST_FORMULAS:
                raise UsageError(
                    f"there are more than {MOST_FORMULAS:,} formulas of size {size}", hint="search for smaller ones"
                )

    def _atoms(self) -> Iterator[Truth]:
        """Letters and predicates."""
        places = np.broadcast_to(np.arange(1, self.words.shape[1] + 1), self.words.shape)
        last = places == self.words.shape[1]
        yield np.stack([self.words == letter for letter in self.alphabet])
        yield np.stack([places > 0, places == 1, last, places % 2 == 1])

    def _compounds(self, size: int) -> Iterator[Truth]:
        for part in self._chunks(size - 1):
            yield from _unary(part)
        for left in range(1, size - 1):
            for part in self._chunks(left):
                for other in self._chunks(size - 1 - left):
                    for one in part:
                        yield from _binary(one[None], other)

    def _chunks(self, size: int) -> Iterator[Truth]:
        """The formulas of a size, some at a time."""
        keys, bits = self.sizes[size], self.words.size
        for start in range(0, len(keys), CHUNK):
            packed = np.frombuffer(b"".join(keys[start : start + CHUNK]), dtype=np.uint8)
            rows = packed.reshape(-1, -(-bits // 8))
            yield np.unpackbits(rows, axis=1, count=bits).astype(bool).reshape(-1, *self.words.shape)


def _unary(part: Truth) -> Iterator[Truth]:
    nothing = np.zeros_like(part[..., :1])
    yield ~part
    yield np.concatenate([nothing, part[..., :-1]], axis=-1)
    yield np.concatenate([part[..., 1:], nothing], axis=-1)
    for count in (_counted(part), _counted(part[..., ::-1])[..., ::-1]):
        yield count == 0
        yield count <= 1


def _binary(one: Truth, other: Truth) -> Iterator[Truth]:
    yield one & other
    yield _since(one, other)
    yield _since(one[..., ::-1], other[..., ::-1])[..., ::-1]
    ours, theirs = ([_counted(x), _counted(x[..., ::-1])[..., ::-1]] for x in (one, other))
    for mine in ours:
        for its in theirs:
            yield mine <= its
            yield mine == its


def _counted(part: Truth) -> NDArray[np.int8]:
    """How often a formula holds up to each position."""
    return np.cumsum(part, axis=-1, dtype=np.int8)


def _since(holding: Truth, reached: Truth) -> Truth:
    holding, reached = np.broadcast_arrays(holding, reached)
    found = np.zeros(reached.shape, dtype=bool)
    before = np.zeros(reached.shape[:-1], dtype=bool)
    for i in range(reached.shape[-1]):
        found[..., i] = before = reached[..., i] | (holding[..., i] & before)
    return found
