"""A data set: which words, what they should be like, and how they are split; rows come when it is iterated over."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from random import Random

from softmachine.engines.inputs import count_words, lengths_up_to, one_length, require_choice, words_of
from softmachine.engines.inputs.constraints import Group, Wishes
from softmachine.engines.inputs.row import Judge, Row
from softmachine.engines.inputs.search import Search, spelled
from softmachine.languages.source import Source
from softmachine.studies.datasets.split import Split, lengths_in
from softmachine.studies.datasets.writing import Written, writer_for
from softmachine.support.errors import Remedy, UsageError
from softmachine.support.estimates import consent, foreseen
from softmachine.support.files import new_file
from softmachine.support.text import many
from softmachine.theorems.codec import Codec

MOST_WORDS = 1 << 20
"""All words are asked for only if there are not more."""


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """Rows of a source: iterate over it for them, as often as you like, or :meth:`save` them to a file.

    Args:
        codec: How words become prompts and traces.
        bins: Ranges of lengths that words have.
        split: Which word belongs to which part.
        sample: So many different random words of each range; None for every word.
        seed: Which random words.
        wishes: What the words should be like.
        max_steps: How many steps a run may take.
        positions: How many positions a context of a decoder may have; None if they are not limited.
        skip_unfinished: Whether words are left out whose runs do not end; else they are refused.
        fewer: Whether a smaller sample will do where no more words are found; else that is refused.
        notes: What every answer from the model has to say whose tokens these are.

    Raises:
        UsageError: If there are no such words, too many to write all, or some that belong to no part.
    """

    codec: Codec[Source]
    bins: tuple[range, ...]
    split: Split
    sample: int | None = None
    seed: int = 0
    wishes: Wishes = field(default_factory=Wishes)
    max_steps: int = 100_000
    positions: int | None = None
    skip_unfinished: bool = False
    fewer: bool = False
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if any(one[-1] >= other[0] for one, other in pairwise(sorted(self.bins, key=lambda each: each[0]))):
            raise UsageError("some lengths are asked for twice")
        for lengths in self.bins:
            self.split.require(lengths)
            if self.sample is None and self._count(lengths) > MOST_WORDS:
                raise UsageError(
                    f"there are more than {MOST_WORDS:,} words of length {spelled(lengths)}",
                    hint="ask for a sample, so many random words of a length",
                )
        if self.sample is None and self.wishes.long_traces:
            raise UsageError("a share of long traces is for samples", hint="ask for so many random words of a length")
        if self.sample is not None and self.wishes.near_misses and self.sample % 2:
            raise UsageError(f"near misses come in pairs: {self.sample} is odd", hint=Remedy(sample=self.sample + 1))

    @property
    def total(self) -> int | float:
        """How many rows there are; infinite, if that is not known beforehand."""
        if self.sample is not None:
            return self.sample * len(self.bins)
        return math.inf if self.wishes else self._count(self.bins[0])

    def __iter__(self) -> Iterator[Row]:
        """The rows.

        Raises:
            UsageError: If a run does not end, or not all that is wished for is found; rows that were handed out till
                then do not make up the data set.
        """
        return self._rows(self._judge())

    def save(
        self,
        file: str | Path,
        *,
        force: bool = False,
        advance: Callable[[], None] = lambda: None,
        yes: bool = False,
    ) -> Written:
        """Write the rows to a file; how is told by its ending.

        Args:
            file: Where to: .jsonl, .csv or .parquet.
            force: Whether a file that is there is replaced.
            advance: Is called after every row.
            yes: Whether to go on, even if it takes more than ten minutes.

        Raises:
            UsageError: As above, or if the file cannot be written. Then nothing is.
            EffortError: Soon, if it takes too long and nobody said yes.
        """
        file = Path(file)
        write, judge, written = writer_for(file, force=force), self._judge(), Written(file, self.split.names)
        total = self.total if math.isfinite(self.total) else 0  # where nobody knows how many there are, there are few
        with consent(yes), new_file(file, force=force) as scratch:
            rows = foreseen(self._rows(judge), total, f"writing {many(int(total), 'row')}", hint="ask for fewer words")
            write(written.counted(rows, advance), scratch)
        written.left_out = len(judge.left_out)
        return written

    def _judge(self) -> Judge:
        return Judge(self.codec, self.max_steps, self.positions, skip=self.skip_unfinished)

    def _count(self, lengths: range) -> int | float:
        return count_words(self.codec, lengths)

    def _rows(self, judge: Judge) -> Iterator[Row]:
        for lengths in self.bins:
            for group in self._groups(judge, lengths):
                for judged, near in zip(group, reversed(group), strict=True):
                    yield judge.row(judged, self.split.of(judged.word), None if near is judged else near)

    def _groups(self, judge: Judge, lengths: range) -> Iterator[Group]:
        """Words, one by one or in pairs."""
        chooser = Random(f"{self.seed} {lengths[0]} {lengths[-1]}")
        search = Search(judge, lengths, self.wishes, self.split.of, chooser, whole=self.sample is None)
        if self.sample is not None:
            return search.found(self.sample, fewer=self.fewer)
        if self.wishes.near_misses:
            return search.pairs()
        if self.wishes.balance:
            return search.found(self._largest_balance(judge, lengths))
        return ((judged,) for judged in map(judge, words_of(self.codec, lengths)) if judged)

    def _largest_balance(self, judge: Judge, lengths: range) -> int:
        """How many words are accepted and rejected, as many of each.

        Raises:
            UsageError: If there are none of one kind.
        """
        found = Counter(judged.verdict for judged in map(judge, words_of(self.codec, lengths)) if judged)
        for verdict in ("accept", "reject"):
            if not found[verdict]:
                name, words = self.codec.source.name, many(found.total(), "word")
                raise UsageError(
                    f"verdicts cannot be balanced: of {words} of length {spelled(lengths)}, {name!r} {verdict}s none"
                )
        return 2 * min(found["accept"], found["reject"])


def bins_of(
    codec: Codec[Source], *, up_to: int | None, sample: int | None, length: int | str | None
) -> tuple[range, ...]:
    """The lengths that are wanted: all up to one, or those that a text like ``20``, ``1-50`` or ``1-50,51-100`` names.

    Raises:
        UsageError: If it names none, or no input has them.
    """
    require_choice(up_to=up_to, sample=sample, length=length)
    if sample is None:
        return (lengths_up_to(codec, up_to),)
    if length is None:
        only = one_length(codec, None)
        return (range(only, only + 1),)
    bins = tuple(lengths_in(part) for part in str(length).split(","))
    for each in (each for lengths in bins for each in (lengths[0], lengths[-1])):
        one_length(codec, each)
    return bins
