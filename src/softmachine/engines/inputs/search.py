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

from softmachine.engines.inputs import Word, count_words, iterate_words
from softmachine.engines.inputs.constraints import Constraints, Quota, WordGroup
from softmachine.engines.inputs.row import MAX_SHORT_TRACE, LabelledWord, Labeller
from softmachine.engines.inputs.sampling import (
    LabelledWords,
    WordSampler,
    collapse_runs,
    draw_similar,
    iterate_neighbours,
)
from softmachine.support.errors import UsageError
from softmachine.support.text import pluralize

OPPOSITE_VERDICT = {"accept": "reject", "reject": "accept"}
BASE_BUDGET, BUDGET_PER_WORD = 20_000, 100
"""Limit of labelled words: a constant, plus a number per requested word."""
MAX_REJECTED_DRAWS = 200
"""Consecutive rejected random words before similar words are tried as well."""
MAX_SHORT_WORDS = 2_000
"""Short words that are labelled to find some of each verdict."""
MAX_REJECTED_WORDS = 3_000
"""Consecutive rejected words after which a search that accepts fewer words ends."""
MAX_EDITS = 12
"""Edits of a word that are tried for a near miss, if there are too many words to try all."""


class WordSearch:
    """Finds words of given lengths without repetition, one by one or in pairs.

    Args:
        labeller: Labels the words.
        lengths: The allowed lengths.
        constraints: The constraints.
        part_of: The part of the data set that a word belongs to; both words of a pair belong to one part.
        chooser: The random generator.
        exhaustive: Whether all words are tried if necessary; otherwise only if they are few.
    """

    def __init__(
        self,
        labeller: Labeller,
        lengths: range,
        constraints: Constraints,
        part_of: Callable[[Word], str],
        chooser: Random,
        *,
        exhaustive: bool,
    ) -> None:
        self.labeller, self.lengths, self.constraints, self.part_of, self.chooser = (
            labeller,
            lengths,
            constraints,
            part_of,
            chooser,
        )
        self.codec = labeller.codec
        self.exhaustive = exhaustive or not constraints or count_words(self.codec, lengths) <= BASE_BUDGET
        self.sampler = WordSampler(self.codec, lengths, chooser)
        self.labelled = LabelledWords()
        self.accepted: set[Word] = set()
        self.label_count = 0
        self._rejected_draws = 0
        """Consecutive random words that were not needed."""
        self._has_tried_short_words = False

    def find(self, count: int, *, fewer: bool = False) -> Iterator[WordGroup]:
        """Find ``count`` words; with ``fewer``, stop early if no more are found.

        Raises:
            UsageError: If fewer are found and ``fewer`` is not set.
        """
        quota = Quota(count, self.constraints)
        most, in_vain = BASE_BUDGET + BUDGET_PER_WORD * count, 0
        while quota.unfilled:
            tired = not self.exhaustive and (in_vain >= MAX_REJECTED_WORDS if fewer else self.label_count >= most)
            word = None if tired or self.labeller.budget <= 0 else self._propose(quota)
            if word is None and fewer:
                return
            if word is None:
                raise self._unfulfilled_error(quota)
            group = self._group(word)
            in_vain += 1
            if group and quota.accept(group):
                in_vain = 0
                yield self._accept(group)

    def pairs(self) -> Iterator[WordGroup]:
        """Find pairs of near misses until all words have been tried; each word is in at most one pair.

        Raises:
            UsageError: If there are none.
        """
        while (word := self._draw()) is not None:
            group = self._group(word)
            if group:
                yield self._accept(group)
        if not self.accepted:
            where = f"of length {format_lengths(self.lengths)} for {self.codec.source.name!r}"
            why = "words one edit apart, in one part of the split, have one verdict"
            raise UsageError(f"there are no near misses {where}: {why}")

    def _accept(self, group: WordGroup) -> WordGroup:
        self._rejected_draws = 0 if self._rejected_draws < MAX_REJECTED_DRAWS else self._rejected_draws
        self.accepted.update(each.word for each in group)
        return group

    def _propose(self, quota: Quota) -> Word | None:
        """Return a word that was not accepted before; None if there are no more."""
        if (
            self._rejected_draws >= MAX_REJECTED_DRAWS
            and self.constraints.by_verdict
            and not self.exhaustive
            and self.chooser.random() < 0.5
        ):
            word = self._draw_similar(quota)
            if word is not None and word not in self.labelled.verdicts:
                return word
        self._rejected_draws += 1
        return self._draw()

    def _draw(self) -> Word | None:
        """Return a random word that was not accepted before; None if there are no more."""
        while (word := self.sampler.draw()) in self.accepted:
            pass
        return word

    def _draw_similar(self, quota: Quota) -> Word | None:
        """Return a word similar to one with a verdict that is still needed."""
        if not self._has_tried_short_words:
            self._has_tried_short_words = True
            for word in self._short_words():
                self._label(word)
        verdict = min(quota.unfilled, key=self.labelled.counts.__getitem__)
        like = self.labelled.draw(verdict, self.chooser, long=quota.needs_long_only(verdict))
        if like is None:
            return None
        same = len(like) in self.lengths and self.chooser.random() < 0.5
        length = len(like) if same else self.chooser.choice(self.lengths)
        found = draw_similar(like, self.codec.alphabet, length, self.chooser)
        return found if found is not None and self.codec.has_word(found) else None

    def _short_words(self) -> Iterator[Word]:
        if self.codec.input_length is None:
            yield from islice(iterate_words(self.codec, range(self.lengths[-1] + 1)), MAX_SHORT_WORDS)

    def _label(self, word: Word) -> LabelledWord | None:
        """Label and store a word; None if it is skipped."""
        self.label_count += 1
        judged = self.labeller(word)
        if judged is not None:
            self.labelled.add(judged)
        return judged

    def _group(self, word: Word) -> WordGroup | None:
        """Return the labelled word, or the word and a near miss; None if there is none."""
        judged = self._label(word)
        if judged is None:
            return None
        if self.constraints.by_verdict and judged.verdict not in OPPOSITE_VERDICT and self.labeller.budget == math.inf:
            name = self.codec.source.name
            raise UsageError(f"{name!r} neither accepts nor rejects, so verdicts cannot be balanced")
        if not self.constraints.near_misses:
            return (judged,)
        near = self._near_miss(judged)
        return None if near is None else (judged, near)

    def _near_miss(self, judged: LabelledWord) -> LabelledWord | None:
        """Find a word one edit away, with the other verdict, in the same part, that was not accepted before.

        If there are too many words to try all, only words of the rarer verdict are starting points.
        """
        if (
            not self.exhaustive
            and self.labelled.counts[judged.verdict] > self.labelled.counts[OPPOSITE_VERDICT[judged.verdict]]
        ):
            return None
        near = filter(self.codec.has_word, iterate_neighbours(judged.word, self.codec.alphabet, self.lengths))
        free = [
            word for word in near if self.labelled.verdicts.get(word) != judged.verdict and word not in self.accepted
        ]
        self.chooser.shuffle(free)
        if self.chooser.random() < 0.5:  # prefer changed run lengths to a changed symbol
            free.sort(key=lambda word: collapse_runs(word) != collapse_runs(judged.word))
        part = self.part_of(judged.word)
        inside = (word for word in free if self.part_of(word) == part)
        tried = map(self._label, inside if self.exhaustive else islice(inside, MAX_EDITS))
        return next((each for each in tried if each and each.verdict != judged.verdict), None)

    def _unfulfilled_error(self, quota: Quota) -> UsageError:
        """Return the error for too few words."""
        kind = quota.unfilled[0]
        what = "pairs of near misses" if self.constraints.near_misses else f"{kind and f'{kind}ed '}words"
        where = f"{what} of length {format_lengths(self.lengths)}"
        if self.constraints.long_traces:
            share = f"{self.constraints.long_traces:.0%}"
            where += f" (at least {share} of them with more than {MAX_SHORT_TRACE} tokens in their trace)"
        wanted = quota.required[kind]
        found = wanted - quota.remaining[kind]
        name = repr(self.codec.source.name)
        if self.exhaustive and not self.constraints.near_misses:
            message = f"there are only {found:,} {where} for {name}"
        else:
            tried = f"{pluralize(self.label_count, 'word')} that were tried"
            message = f"only {found:,} {where} were found for {name} among {tried}"
        return UsageError(f"{message}; requested: {wanted:,}", hint="request fewer, or words of other lengths")


def format_lengths(lengths: range) -> str:
    """Format a range of lengths."""
    return str(lengths[0]) if len(lengths) == 1 else f"{lengths[0]} to {lengths[-1]}"
