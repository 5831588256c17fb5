"""Check that a word has the length that weights of a nonuniform family are built for."""

from __future__ import annotations

from softmachine.support.errors import OutgrownError
from softmachine.support.text import many


def of_length(word: tuple[str, ...], length: int) -> tuple[str, ...]:
    """Return the word if it has the length that the weights are built for.

    Raises:
        OutgrownError: If it has a different length; the message names the required context.
    """
    if len(word) != length:
        raise OutgrownError(
            f"the word has {many(len(word), 'symbol')}, but these weights are for words of length {length}",
            context=len(word),
            how="every length has its own weights: {}",
        )
    return word
