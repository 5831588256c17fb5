"""Search for the words of a data set: random words are labelled, and accepted if the constraints need them.

Without constraints every word is accepted. With constraints words are drawn until these are satisfied. If a series of
random words yields nothing, words similar to those with the needed verdict are tried as well. The effort is bounded;
constraints that are not satisfied by then are an error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import islice
from random import Random

from softmachine.engines.inputs import Word, count_words, words_of
from softmachine.engines.inputs.constraints import Group, Quota, Wishes
from softmachine.engines.inputs.row import LONG, Judge, Judged
from softmachine.engines.inputs.sampling import Known, Pools, neighbours, relative, shape
from softmachine.support.errors import UsageError
from softmachine.support.text import many

OTHER = {"accept": "reject", "reject": "accept"}
EFFORT, EFFORT_EACH = 20_000, 100
"""Limit of labelled words: a constant, plus a number per requested word."""
PATIENCE = 200
"""Consecutive rejected random words before similar words are tried as well."""
SHORT_WORDS = 2_000
"""Short words that are labelled to find some of each verdict."""
ENOUGH = 3_000
"""Consecutive rejected words after which a search that accepts fewer words ends."""
EDITS = 12
"""Edits of a word that are tried for a near miss, if there are too many words to try all."""


class Search:
    """Finds words of given lengths without repetition, one by one or in pairs.

    Args:
        judge: Labels the words.
        lengths: The allowed lengths.
        wishes: The constraints.
        part: The part of the data set that a word belongs to; both words of a pair belong to one part.
        chooser: The random generator.
        whole: Whether all words are tried if necessary; otherwise only if they are few.
    """

    def __init__(
        self,
        judge: Judge,
        lengths: range,
        wishes: Wishes,
        part: Callable[[Word], str],
        chooser: Random,
        *,
        whole: bool,
    ) -> None:
        self.judge, self.lengths, self.wishes, self.part, self.chooser = judge, lengths, wishes, part, chooser
        self.codec = judge.codec
        self.whole = whole or not wishes or count_words(self.codec, lengths) <= EFFORT
        self.pools = Pools(self.codec, lengths, chooser)
        self.known = Known()
        self.taken: set[Word] = set()
        self.tried = 0
        self._in_vain = 0
        """Consecutive random words that were not needed."""
        self._looked_at_short_words = False

    def found(self, count: int, *, fewer: bool = False) -> Iterator[Group]:
        """Find ``count`` words; with ``fewer``, stop early if no more are found.

        Raises:
            UsageError: If fewer are found and ``fewer`` is not set.
        """
        quota = Quota(count, self.wishes)
        most, in_vain = EFFORT + EFFORT_EACH * count, 0
        while quota.lacking:
            tired = not self.whole and (in_vain >= ENOUGH if fewer else self.tried >= most)
            word = None if tired or self.judge.budget <= 0 else self._proposed(quota)
            if word is None and fewer:
                return
            if word is None:
                raise self._unfulfilled(quota)
            group = self._group(word)
            in_vain += 1
            if group and quota.takes(group):
                in_vain = 0
                yield self._take(group)

    def pairs(self) -> Iterator[Group]:
        """Find pairs of near misses until all words have been tried; each word is in at most one pair.

        Raises:
            UsageError: If there are none.
        """
        while (word := self._drawn()) is not None:
            group = self._group(word)
            if group:
                yield self._take(group)
        if not self.taken:
            where = f"of length {spelled(self.lengths)} for {self.codec.source.name!r}"
            why = "words one edit apart, in one part of the split, have one verdict"
            raise UsageError(f"there are no near misses {where}: {why}")

    def _take(self, group: Group) -> Group:
        self._in_vain = 0 if self._in_vain < PATIENCE else self._in_vain
        self.taken.update(each.word for each in group)
        return group

    def _proposed(self, quota: Quota) -> Word | None:
        """Return a word that was not accepted before; None if there are no more."""
        if self._in_vain >= PATIENCE and self.wishes.by_verdict and not self.whole and self.chooser.random() < 0.5:
            word = self._relative(quota)
            if word is not None and word not in self.known.verdicts:
                return word
        self._in_vain += 1
        return self._drawn()

    def _drawn(self) -> Word | None:
        """Return a random word that was not accepted before; None if there are no more."""
        while (word := self.pools.draw()) in self.taken:
            pass
        return word

    def _relative(self, quota: Quota) -> Word | None:
        """Return a word similar to one with a verdict that is still needed."""
        if not self._looked_at_short_words:
            self._looked_at_short_words = True
            for word in self._short_words():
                self._judged(word)
        verdict = min(quota.lacking, key=self.known.count.__getitem__)
        like = self.known.one(verdict, self.chooser, long=quota.only_long(verdict))
        if like is None:
            return None
        same = len(like) in self.lengths and self.chooser.random() < 0.5
        length = len(like) if same else self.chooser.choice(self.lengths)
        found = relative(like, self.codec.alphabet, length, self.chooser)
        return found if found is not None and self.codec.has_word(found) else None

    def _short_words(self) -> Iterator[Word]:
        if self.codec.input_length is None:
            yield from islice(words_of(self.codec, range(self.lengths[-1] + 1)), SHORT_WORDS)

    def _judged(self, word: Word) -> Judged | None:
        """Label and store a word; None if it is skipped."""
        self.tried += 1
        judged = self.judge(word)
        if judged is not None:
            self.known.add(judged)
        return judged

    def _group(self, word: Word) -> Group | None:
        """Return the labelled word, or the word and a near miss; None if there is none."""
        judged = self._judged(word)
        if judged is None:
            return None
        if self.wishes.by_verdict and judged.verdict not in OTHER and self.judge.budget == math.inf:
            name = self.codec.source.name
            raise UsageError(f"{name!r} neither accepts nor rejects, so verdicts cannot be balanced")
        if not self.wishes.near_misses:
            return (judged,)
        near = self._near_miss(judged)
        return None if near is None else (judged, near)

    def _near_miss(self, judged: Judged) -> Judged | None:
        """Find a word one edit away, with the other verdict, in the same part, that was not accepted before.

        If there are too many words to try all, only words of the rarer verdict are starting points.
        """
        if not self.whole and self.known.count[judged.verdict] > self.known.count[OTHER[judged.verdict]]:
            return None
        near = filter(self.codec.has_word, neighbours(judged.word, self.codec.alphabet, self.lengths))
        free = [word for word in near if self.known.verdicts.get(word) != judged.verdict and word not in self.taken]
        self.chooser.shuffle(free)
        if self.chooser.random() < 0.5:  # prefer changed run lengths to a changed symbol
            free.sort(key=lambda word: shape(word) != shape(judged.word))
        part = self.part(judged.word)
        inside = (word for word in free if self.part(word) == part)
        tried = map(self._judged, inside if self.whole else islice(inside, EDITS))
        return next((each for each in tried if each and each.verdict != judged.verdict), None)

    def _unfulfilled(self, quota: Quota) -> UsageError:
        """Return the error for too few words."""
        kind = quota.lacking[0]
        what = "pairs of near misses" if self.wishes.near_misses else f"{kind and f'{kind}ed '}words"
        where = f"{what} of length {spelled(self.lengths)}"
        if self.wishes.long_traces:
            share = f"{self.wishes.long_traces:.0%}"
            where += f" (at least {share} of them with more than {LONG} tokens in their trace)"
        wanted = quota.wanted[kind]
        found = wanted - quota.room[kind]
        name = repr(self.codec.source.name)
        if self.whole and not self.wishes.near_misses:
            message = f"there are only {found:,} {where} for {name}"
        else:
            message = f"only {found:,} {where} were found for {name} among {many(self.tried, 'word')} that were tried"
        return UsageError(f"{message}; requested: {wanted:,}", hint="request fewer, or words of other lengths")


def spelled(lengths: range) -> str:
    """Format a range of lengths."""
    return str(lengths[0]) if len(lengths) == 1 else f"{lengths[0]} to {lengths[-1]}"
