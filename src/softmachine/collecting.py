"""The public function that collects what sources say of many words: a dataset."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from softmachine.compiler.model import Model
from softmachine.compiling import compile  # noqa: A004
from softmachine.languages.source import Source
from softmachine.loading import load_for_many_words
from softmachine.support.arguments import validated
from softmachine.theorems import Theorem, theorem_for

if TYPE_CHECKING:
    from softmachine.studies.datasets import Dataset


@validated
def dataset(
    source: Model | Source | str | Path,
    *,
    up_to: int | None = None,
    sample: int | None = None,
    length: int | str | None = None,
    seed: int = 0,
    balance: bool = False,
    near_misses: bool = False,
    long_traces: float = 0.0,
    split: str = "train=0.8,validation=0.1,test=0.1",
    max_steps: int = 100_000,
    skip_unfinished: bool = False,
    theorem: str | Theorem | None = None,
    context: int | None = None,
    alphabet: str | Iterable[str] | None = None,
    format: str | None = None,  # noqa: A002
) -> Dataset:
    """Words of a source with their traces, outputs and verdicts: iterate over it for rows, or ``save`` it to a file.

    Nothing is compiled: what a model should say is what the reference interpreter says, in the tokens of the theorem.

    Args:
        source: A source, or a model, whose tokens are taken.
        up_to: Every word up to this length; by default all of a circuit or graph, if they are few.
        sample: So many different random words …
        length: … of this length, or of each of these ranges, like "1-50" or "1-50,51-100".
        seed: Which random words; the same seed gives the same rows.
        balance: Whether half of the words are accepted and half rejected.
        near_misses: Whether words come in pairs, one edit apart, of which one is accepted and one rejected.
        long_traces: The share of words whose traces have more than ten tokens, at least.
        split: Which words belong to which part, like "train=0.9,test=0.1" or "train=0-50,longer=51-100"; see
            ``docs/datasets.md``.
        max_steps: How many steps a run may take.
        skip_unfinished: Whether words are left out whose runs take more; else they are refused.
        theorem: The theorem whose tokens are used; by default the first that applies.
        context: The length that its weights would be made for, if they depend on one.
        alphabet: For a formula: more symbols that words may have; by default it has two letters at least.
        format: The format of the source; by default it is recognised.
    """
    from softmachine.studies.datasets import Dataset, Split, Wishes, bins_of

    item = load_for_many_words(source, format, alphabet)
    if isinstance(item, Model):
        model = compile(item, theorem, context=context)
        codec, positions, notes = model.codec, model.length, model.notes
    else:
        notes = ()
        chosen = theorem_for(item, theorem)
        positions = context if chosen.takes_length(item) else None
        codec = chosen.codec_for(item, positions)
    return Dataset(
        codec=codec,
        bins=bins_of(codec, up_to=up_to, sample=sample, length=length),
        sample=sample,
        seed=seed,
        wishes=Wishes(balance, near_misses, long_traces),
        split=Split.parse(split),
        max_steps=max_steps,
        positions=positions,
        skip_unfinished=skip_unfinished,
        notes=notes,
    )
