"""Choice of inputs: all words up to a length, or random words of a length; some sources accept one length only."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

from softmachine.languages.source import Source
from softmachine.languages.words import Word, words_of_lengths
from softmachine.support.errors import FixHint, UsageError
from softmachine.theorems.codec import Codec

__all__ = [
    "Word",
    "count_words",
    "lengths_up_to",
    "resolve_length",
    "sample_words",
    "require_one_choice",
    "iterate_words",
]

MAX_DEFAULT_INPUTS = 5_000
"""Without a choice, all inputs of a source with one input length are tried, if there are no more than this."""
MAX_PRINTED_COUNT = 10**12
"""Larger numbers of inputs are printed as a power."""
SEED_BLOCK = 1_000
"""Random words per seed."""
MAX_COUNT = 10**30
"""Larger numbers of words are reported as infinite."""


def require_one_choice(*, up_to: int | None, sample: int | None, length: object) -> None:
    """Require that the options choose the inputs in one way.

    Raises:
        UsageError: If they choose them in two ways, or give a length without a sample size.
    """
    if up_to is not None and sample is not None:
        hint = FixHint("leave out --sample, or --up-to (in Python: sample, or up_to)", sample=None, length=None)
        raise UsageError("choose every input up to a length or random inputs, not both", hint=hint)
    if up_to is not None and length is not None:
        hint = FixHint("leave out --length, or choose random inputs (--sample)", length=None)
        raise UsageError(f"--length is for random inputs, but every input up to length {up_to} is chosen", hint=hint)
    if sample is None and length is not None:
        raise _missing_choice_error()


def _missing_choice_error() -> UsageError:
    return UsageError(
        "choose the inputs", hint=FixHint("for example {}, or --sample 100 --length 20 (in Python: up_to=4)", up_to=4)
    )


def resolve_length(codec: Codec[Source], requested: int | None) -> int:
    """Return the requested input length, or the one that all inputs have.

    Raises:
        UsageError: If there is none, or no input has the requested length.
    """
    only = codec.input_length
    length = only if requested is None else requested
    if length is None:
        raise _missing_choice_error()
    if only not in (None, length):
        raise UsageError(f"all inputs have length {only}; there are none of length {length}")
    return length


def _default_length(codec: Codec[Source]) -> int:
    """Return the length of all inputs, if they have one length and are few enough to try all by default."""
    length = resolve_length(codec, None)
    count = codec.word_count(length)
    if count > MAX_DEFAULT_INPUTS:
        shown = f"{count:,}" if count <= MAX_PRINTED_COUNT else f"{len(codec.alphabet)}^{length}"
        hint = FixHint(f"for example {{}} for random inputs, --up-to {length} for all", sample=100)
        raise UsageError(f"there are {shown} inputs, all of length {length}: choose some", hint=hint)
    return length


def lengths_up_to(codec: Codec[Source], up_to: int | None) -> range:
    """Return the input lengths up to ``up_to``; by default, the one length of all inputs.

    Raises:
        UsageError: If there are none, or there is no default.
    """
    longest = _default_length(codec) if up_to is None else up_to
    only = codec.input_length
    if only is None:
        return range(longest + 1)
    if only > longest:
        raise UsageError(f"all inputs have length {only}; there are none up to length {longest}")
    return range(only, only + 1)


def iterate_words(codec: Codec[Source], lengths: range, start: int = 0) -> Iterator[Word]:
    """Iterate over all words of these lengths that a codec accepts, beginning with index ``start``."""
    return words_of_lengths(lengths, codec.words, codec.word_count, start)


def count_words(codec: Codec[Source], lengths: range) -> int | float:
    """Return the number of these words; infinite if it exceeds ``MAX_COUNT``."""
    total = 0
    for length in lengths:
        total += codec.word_count(length)
        if total > MAX_COUNT:
            return math.inf
    return total


def sample_words(codec: Codec[Source], count: int, length: int, seed: int = 0, start: int = 0) -> Iterator[Word]:
    """Iterate over random words of one length that a codec accepts, beginning with index ``start``.

    They are drawn in blocks with a seed each, so that a later start discards less than a block.
    """
    for block in range(start // SEED_BLOCK, -(-count // SEED_BLOCK)):
        chooser = random.Random(f"{seed}, block {block}" if block else seed)
        first = block * SEED_BLOCK
        for number in range(first, min(first + SEED_BLOCK, count)):
            word = codec.random_word(chooser, length)
            if number >= start:
                yield word
