"""Data set of a source: which words, their constraints and split; iteration generates the rows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from random import Random

from softmachine.engines.inputs import count_words, iterate_words, lengths_up_to, require_one_choice, resolve_length
from softmachine.engines.inputs.constraints import Constraints, WordGroup
from softmachine.engines.inputs.row import DatasetRow, Labeller
from softmachine.engines.inputs.search import WordSearch, format_lengths
from softmachine.languages.source import Source
from softmachine.studies.datasets.split import Split, parse_lengths
from softmachine.studies.datasets.writers import DatasetSummary, find_writer
from softmachine.support.errors import FixHint, UsageError
from softmachine.support.files import atomic_file
from softmachine.support.resources import allow_expensive, with_cost_forecast
from softmachine.support.text import pluralize
from softmachine.theorems.codec import Codec

MAX_WORDS = 1 << 20
"""Maximum number of words that are enumerated; more require a sample."""


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """Rows of a source: iterate over it, any number of times, or :meth:`save` it to a file.

    Args:
        codec: Converts words to prompts and traces.
        bins: Ranges of word lengths.
        split: Assigns words to parts.
        sample: Number of distinct random words of each range; None for every word.
        seed: Seed of the random words.
        constraints: Constraints on the words.
        max_steps: Maximum number of steps of a run.
        positions: Maximum number of positions of a decoder's context; None if unlimited.
        skip_unfinished: Whether words whose runs do not halt are omitted; otherwise they raise an error.
        allow_fewer: Whether a smaller sample is accepted if no more words are found; otherwise that raises an error.
        notes: Notes of the model whose tokens these are, repeated with every result.

    Raises:
        UsageError: If there are no such words, too many to enumerate, or words that belong to no part.
    """

    codec: Codec[Source]
    bins: tuple[range, ...]
    split: Split
    sample: int | None = None
    seed: int = 0
    constraints: Constraints = field(default_factory=Constraints)
    max_steps: int = 100_000
    positions: int | None = None
    skip_unfinished: bool = False
    allow_fewer: bool = False
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if any(one[-1] >= other[0] for one, other in pairwise(sorted(self.bins, key=lambda each: each[0]))):
            raise UsageError("the ranges of lengths overlap")
        for lengths in self.bins:
            self.split.require_covered(lengths)
            if self.sample is None and self._count(lengths) > MAX_WORDS:
                raise UsageError(
                    f"there are more than {MAX_WORDS:,} words of length {format_lengths(lengths)}",
                    hint="use a sample: N random words of a length",
                )
        if self.sample is None and self.constraints.long_traces:
            raise UsageError(
                "a share of long traces requires a sample", hint="use a sample: N random words of a length"
            )
        if self.sample is not None and self.constraints.near_misses and self.sample % 2:
            raise UsageError(f"near misses come in pairs: {self.sample} is odd", hint=FixHint(sample=self.sample + 1))

    @property
    def total(self) -> int | float:
        """The number of rows; infinite if unknown in advance."""
        if self.sample is not None:
            return self.sample * len(self.bins)
        return math.inf if self.constraints else self._count(self.bins[0])

    def __iter__(self) -> Iterator[DatasetRow]:
        """The rows.

        Raises:
            UsageError: If a run does not halt, or the constraints cannot be met; the rows yielded before are not a
                complete data set.
        """
        return self._rows(self._make_labeller())

    def save(
        self,
        file: str | Path,
        *,
        force: bool = False,
        advance: Callable[[], None] = lambda: None,
        yes: bool = False,
    ) -> DatasetSummary:
        """Write the rows to a file, in the format of its extension.

        Args:
            file: The file: .jsonl, .csv or .parquet.
            force: Whether an existing file is replaced.
            advance: Called after every row.
            yes: Whether to proceed even if the estimate exceeds ten minutes.

        Raises:
            UsageError: As for iteration, or if the file cannot be written. No file is left behind.
            TooExpensiveError: After the first rows, if the estimate exceeds ten minutes and ``yes`` is False.
        """
        file = Path(file)
        write, judge, written = (
            find_writer(file, force=force),
            self._make_labeller(),
            DatasetSummary(file, self.split.names),
        )
        total = self.total if math.isfinite(self.total) else 0  # an unknown number is small
        with allow_expensive(yes), atomic_file(file, force=force) as scratch:
            rows = with_cost_forecast(
                self._rows(judge), total, f"writing {pluralize(int(total), 'row')}", hint="request fewer words"
            )
            write(written.count(rows, advance), scratch)
        written.left_out = len(judge.skipped)
        return written

    def _make_labeller(self) -> Labeller:
        return Labeller(self.codec, self.max_steps, self.positions, skip=self.skip_unfinished)

    def _count(self, lengths: range) -> int | float:
        return count_words(self.codec, lengths)

    def _rows(self, judge: Labeller) -> Iterator[DatasetRow]:
        for lengths in self.bins:
            for group in self._groups(judge, lengths):
                for judged, near in zip(group, reversed(group), strict=True):
                    yield judge.to_row(judged, self.split.part_of(judged.word), None if near is judged else near)

    def _groups(self, judge: Labeller, lengths: range) -> Iterator[WordGroup]:
        """Yield the words, singly or in pairs."""
        chooser = Random(f"{self.seed} {lengths[0]} {lengths[-1]}")
        search = WordSearch(
            judge, lengths, self.constraints, self.split.part_of, chooser, exhaustive=self.sample is None
        )
        if self.sample is not None:
            return search.find(self.sample, fewer=self.allow_fewer)
        if self.constraints.near_misses:
            return search.pairs()
        if self.constraints.balance:
            return search.find(self._largest_balance(judge, lengths))
        return ((judged,) for judged in map(judge, iterate_words(self.codec, lengths)) if judged)

    def _largest_balance(self, judge: Labeller, lengths: range) -> int:
        """Return the size of the largest balanced set: as many accepted as rejected words.

        Raises:
            UsageError: If there are no words with one of the verdicts.
        """
        found = Counter(judged.verdict for judged in map(judge, iterate_words(self.codec, lengths)) if judged)
        for verdict in ("accept", "reject"):
            if not found[verdict]:
                name, words = self.codec.source.name, pluralize(found.total(), "word")
                raise UsageError(
                    f"verdicts cannot be balanced: of {words} of length {format_lengths(lengths)}, {name!r} "
                    f"{verdict}s none"
                )
        return 2 * min(found["accept"], found["reject"])


def parse_bins(
    codec: Codec[Source], *, up_to: int | None, sample: int | None, length: int | str | None
) -> tuple[range, ...]:
    """Return the ranges of lengths: all up to ``up_to``, or those of a text like ``20``, ``1-50`` or ``1-50,51-100``.

    Raises:
        UsageError: If the text is not a list of lengths, or no input has such a length.
    """
    require_one_choice(up_to=up_to, sample=sample, length=length)
    if sample is None:
        return (lengths_up_to(codec, up_to),)
    if length is None:
        only = resolve_length(codec, None)
        return (range(only, only + 1),)
    bins = tuple(parse_lengths(part) for part in str(length).split(","))
    for each in (each for lengths in bins for each in (lengths[0], lengths[-1])):
        resolve_length(codec, each)
    return bins
