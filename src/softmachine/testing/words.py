"""Words to run sources on: all of them up to a length, or random ones; and sources loaded as an instance of a type."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TypeVar

from softmachine.api import load
from softmachine.languages.source import Source
from softmachine.languages.words import Word
from softmachine.testing.randomness import Seed, generator

AnySource = TypeVar("AnySource", bound=Source)


def words(alphabet: Sequence[str] | Source, up_to: int, shortest: int = 0) -> list[Word]:
    """Return all words up to a length, shorter words first, words of one length in lexicographic order.

    Args:
        alphabet: The letters, or a source with an alphabet.
        up_to: The maximal length.
        shortest: The minimal length.
    """
    letters = alphabet if isinstance(alphabet, Sequence) else alphabet.alphabet
    return [word for length in range(shortest, up_to + 1) for word in product(letters, repeat=length)]


def strings(alphabet: Sequence[str] | Source, up_to: int, shortest: int = 0) -> list[str]:
    """Return the same words as :func:`words`, as strings."""
    return ["".join(word) for word in words(alphabet, up_to, shortest)]


def random_word(rng: Seed, alphabet: Sequence[str] | Source, length: int) -> Word:
    """Draw a word of a length, all words with the same probability.

    Args:
        rng: The random generator, or a seed.
        alphabet: The letters, or a source with an alphabet.
        length: The length.
    """
    letters = alphabet if isinstance(alphabet, Sequence) else alphabet.alphabet
    return tuple(generator(rng).choices(letters, k=length))


def load_as(name: str, kind: type[AnySource]) -> AnySource:
    """Load a source, and require its type.

    Args:
        name: The name of an entry of the zoo, a path, or a source in one line.
        kind: The type of the source, such as ``TuringMachine``.

    Raises:
        TypeError: If it is a source of another type.
    """
    source = load(name)
    if not isinstance(source, kind):
        raise TypeError(f"{name!r} is a {type(source).__name__}, not a {kind.__name__}")
    return source
