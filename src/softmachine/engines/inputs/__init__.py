"""Which inputs to try: every word up to a length, or random ones of a length. Some sources read one length only."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

from softmachine.languages.source import Source
from softmachine.languages.words import Word, words_of_lengths
from softmachine.support.errors import Remedy, UsageError
from softmachine.theorems.codec import Codec

__all__ = ["Word", "count_words", "lengths_up_to", "one_length", "random_words", "require_choice", "words_of"]

FEW = 5_000
"""So many inputs are all tried unasked, if there are no others."""
COUNTABLE = 10**12
"""A larger number of inputs is not spelled out."""
BLOCK = 1_000
"""So many random words come from one seed."""
UNCOUNTED = 10**30
"""Nobody wants to know a larger number of words exactly."""


def require_choice(*, up_to: int | None, sample: int | None, length: object) -> None:
    """See that inputs are asked for in one way.

    Raises:
        UsageError: If they are asked for in two, or a length without a number, or no inputs at all.
    """
    if up_to is not None and sample is not None:
        hint = Remedy("leave out --sample, or --up-to (in Python: sample, or up_to)", sample=None, length=None)
        raise UsageError("every input up to a length, or random ones: say which, not both", hint=hint)
    if up_to is not None and length is not None:
        hint = Remedy("leave out --length, or ask for random ones (--sample)", length=None)
        raise UsageError(
            f"every input up to length {up_to} is asked for, and --length is that of random ones", hint=hint
        )
    if sample is None and length is not None:
        raise _unsaid()


def _unsaid() -> UsageError:
    return UsageError(
        "say which inputs", hint=Remedy("for example {}, or --sample 100 --length 20 (in Python: up_to=4)", up_to=4)
    )


def one_length(codec: Codec[Source], wanted: int | None) -> int:
    """The length of inputs that is wanted, or the one that all have.

    Raises:
        UsageError: If there is none, or no input has it.
    """
    only = codec.input_length
    length = only if wanted is None else wanted
    if length is None:
        raise _unsaid()
    if only not in (None, length):
        raise UsageError(f"all inputs have length {only}, so that there are none of length {length}")
    return length


def _whole_length(codec: Codec[Source]) -> int:
    """The length of all inputs, where they have one and are few enough to try all of them unasked."""
    length = one_length(codec, None)
    count = codec.word_count(length)
    if count > FEW:
        shown = f"{count:,}" if count <= COUNTABLE else f"{len(codec.alphabet)}^{length}"
        hint = Remedy(f"for example {{}} for so many at random, --up-to {length} for all", sample=100)
        raise UsageError(f"there are {shown} inputs, all of length {length}: say which", hint=hint)
    return length


def lengths_up_to(codec: Codec[Source], up_to: int | None) -> range:
    """The lengths of inputs up to one; without one, that of all inputs.

    Raises:
        UsageError: If there are none, or nobody said up to which length.
    """
    longest = _whole_length(codec) if up_to is None else up_to
    only = codec.input_length
    if only is None:
        return range(longest + 1)
    if only > longest:
        raise UsageError(f"all inputs have length {only}, so that there are none up to length {longest}")
    return range(only, only + 1)


def words_of(codec: Codec[Source], lengths: range, start: int = 0) -> Iterator[Word]:
    """Every word of these lengths that the theorem of a codec is about, from the start-th on, counted from 0."""
    return words_of_lengths(lengths, codec.words, codec.word_count, start)


def count_words(codec: Codec[Source], lengths: range) -> int | float:
    """How many words these are; infinite, if that is too large to be of interest."""
    total = 0
    for length in lengths:
        total += codec.word_count(length)
        if total > UNCOUNTED:
            return math.inf
    return total


def random_words(codec: Codec[Source], count: int, length: int, seed: int = 0, start: int = 0) -> Iterator[Word]:
    """Random words of one length that the theorem of a codec is about, from the start-th on.

    They are drawn in blocks, each from a seed of its own, so that whoever begins later draws less than a block in vain.
    """
    for block in range(start // BLOCK, -(-count // BLOCK)):
        chooser = random.Random(f"{seed}, block {block}" if block else seed)
        first = block * BLOCK
        for number in range(first, min(first + BLOCK, count)):
            word = codec.random_word(chooser, length)
            if number >= start:
                yield word
