"""Weights for words of one length, of families that have others for each."""

from __future__ import annotations

from softmachine.support.errors import OutgrownError
from softmachine.support.text import many


def of_length(word: tuple[str, ...], length: int) -> tuple[str, ...]:
    """The word, which has the length that weights are made for.

    Raises:
        OutgrownError: If it has another; it says which context would do.
    """
    if len(word) != length:
        raise OutgrownError(
            f"the word has {many(len(word), 'letter')}, but these weights are for words of {length}",
            context=len(word),
            how="every length has weights of its own: {}",
        )
    return word
