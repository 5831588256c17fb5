"""The protocol of sources, and the conversion between words and text."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePath
from typing import ClassVar, Protocol, runtime_checkable

from softmachine.support.argument_validation import show_value
from softmachine.support.errors import InputError, Place, SourceError
from softmachine.support.text import SURROGATE, printable

LARGEST_SOURCE = 1 << 20
"""Maximum length of a source text, in characters."""


@runtime_checkable
class Source(Protocol):
    """An object of a source language: a machine, a formula, a program."""

    language: ClassVar[str]
    """Name of the language and of its lossless format."""

    @property
    def name(self) -> str:
        """Name of the source."""

    @property
    def alphabet(self) -> tuple[str, ...]:
        """The input alphabet."""

    @property
    def default_input(self) -> tuple[str, ...]:
        """The input used if none is given; the empty word by default."""

    def word(self, text: str | Iterable[str]) -> tuple[str, ...]:
        """Split an input into symbols.

        Raises:
            InputError: If it is not a valid input.
        """


@runtime_checkable
class Extensible(Source, Protocol):
    """A source whose alphabet can be extended, such as a formula."""

    def extended(self, symbols: Iterable[str]) -> Source:
        """The same source over an alphabet with additional symbols."""


def check_size(text: str, source: str, limit: str, *, largest: int = LARGEST_SOURCE) -> None:
    """Reject a text that is too long to parse in reasonable time.

    Args:
        text: The text.
        source: Origin of the text, for the message.
        limit: Start of the sentence that states the limit, as in "a program may have".
        largest: Maximum number of characters.

    Raises:
        SourceError: If the text is longer.
    """
    if len(text) > largest:
        message = f"this is {len(text):,} characters long; {limit} at most {largest:,}"
        raise SourceError(message, place=Place(source))


def name_of(source: str) -> str | None:
    """The default name of a source: its file name without folder and extension, or None if it has no file."""
    return None if source.startswith("<") else printable(PurePath(source).stem) or None


def name_problems(names: Iterable[object]) -> list[str]:
    """Problems of names and symbols: each must be a string that UTF-8 can encode.

    Args:
        names: The name of a source, and all names that occur in it.
    """
    unencodable = "contains a lone surrogate, which UTF-8 cannot encode; choose another name"
    wrong = (name for name in names if not isinstance(name, str) or SURROGATE.search(name))
    return [f"{name!r} {unencodable if isinstance(name, str) else 'is not a string'}" for name in wrong]


def is_symbol(text: str) -> bool:
    """Whether a text is a valid symbol: non-empty, and without whitespace unless it is a single character."""
    return bool(text) and (len(text) == 1 or not any(map(str.isspace, text)))


NO_SYMBOLS = "empty: the only input is the empty word"


class OfWords:
    """Base class of sources whose inputs are words over their alphabet."""

    name: str
    alphabet: tuple[str, ...]
    no_symbols: ClassVar[str] = NO_SYMBOLS
    """Description of an empty alphabet, for messages."""

    def word(self, text: str | Iterable[str]) -> tuple[str, ...]:
        """Split an input into symbols: by character, or at whitespace if some symbol has several characters."""
        return read_word(text, self.alphabet, self.name, if_empty=self.no_symbols)


def spelled(word: Iterable[str], alphabet: Iterable[str]) -> str:
    """Format a word: symbols are separated by spaces if any symbol of the alphabet has several characters."""
    return ("" if all(len(symbol) == 1 for symbol in alphabet) else " ").join(word)


def read_word(
    text: str | Iterable[str], alphabet: tuple[str, ...], name: str, *, if_empty: str = NO_SYMBOLS
) -> tuple[str, ...]:
    """Split an input into symbols: by character, or at whitespace if some symbol has several characters.

    Args:
        text: The input as text (characters may be separated by spaces, too) or as symbols. Symbols that contain
            whitespace must be given individually.
        alphabet: The alphabet.
        name: Name of the source, for the message.
        if_empty: Description of an empty alphabet, for the message.

    Raises:
        InputError: If a symbol is not in the alphabet.
    """
    symbols = spelled_out(text, alphabet)
    known = frozenset(alphabet)
    if known.issuperset(symbols):
        return symbols
    for index, symbol in enumerate(symbols):
        if symbol not in known:
            raise InputError(
                f"symbol {symbol!r} at position {index + 1} of the input is not in the alphabet of {name!r}",
                hint=f"the alphabet is {' '.join(alphabet) or if_empty}",
            )
    return symbols


def spelled_out(text: str | Iterable[str], alphabet: Iterable[str]) -> tuple[str, ...]:
    """Split a text into symbols: its characters, or its parts between whitespace. The alphabet is not checked."""
    if not isinstance(text, str):
        return tuple(text)
    separated, has_space = text.split(), " " in alphabet
    one_by_one = not has_space and all(len(symbol) == 1 for symbol in separated)
    joined = text if has_space else text.strip()
    return tuple(separated if one_by_one or any(len(symbol) > 1 for symbol in alphabet) else joined)


def input_of(source: Source, given: str | Iterable[object]) -> str | tuple[str, ...]:
    """Normalise an input to text or symbols. A source with ``letter_of`` also accepts the values of its symbols.

    Raises:
        InputError: If a symbol is neither a string nor the value of a symbol.
    """
    if isinstance(given, str):
        return given
    symbols = tuple(map(getattr(source, "letter_of", lambda item: item), given))
    for index, symbol in enumerate(symbols, 1):
        if not isinstance(symbol, str):
            raise InputError(f"symbol {show_value(symbol)} at position {index} of the input is not in the alphabet")
    return symbols


LETTERS = "abcdefghijklmnopqrstuvwxyz"


def with_letters_of(source: Source, text: str | Iterable[str]) -> Source:
    """Extend the alphabet of a formula by the symbols of an input; other sources have a fixed alphabet."""
    if not isinstance(source, Extensible):
        return source
    more = tuple(symbol for symbol in spelled_out(text, source.alphabet) if symbol not in source.alphabet)
    return source.extended(dict.fromkeys(more)) if more else source


def with_two_letters(source: Source) -> Source:
    """Extend the alphabet of a formula to at least two symbols: words over one symbol differ only in length."""
    if not isinstance(source, Extensible) or len(source.alphabet) > 1:
        return source
    more = [letter for letter in LETTERS if letter not in source.alphabet]
    return source.extended(more[: 2 - len(source.alphabet)])
