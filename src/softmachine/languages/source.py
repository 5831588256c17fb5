"""The protocol of sources, and the conversion between words and text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import PurePath
from typing import ClassVar, Protocol, runtime_checkable

from softmachine.support.argument_validation import format_value
from softmachine.support.errors import InputError, SourceError, SourceLocation
from softmachine.support.text import LONE_SURROGATE, escape_unprintable

MAX_SOURCE_LENGTH = 1 << 20
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
class ExtensibleSource(Source, Protocol):
    """A source whose alphabet can be extended, such as a formula."""

    def with_symbols(self, symbols: Iterable[str]) -> Source:
        """The same source over an alphabet with additional symbols."""


def check_source_length(text: str, source: str, sentence_start: str, *, max_length: int = MAX_SOURCE_LENGTH) -> None:
    """Reject a text that is too long to parse in reasonable time.

    Args:
        text: The text.
        source: Origin of the text, for the message.
        sentence_start: Start of the sentence that states the limit, as in "a program may have".
        max_length: Maximum number of characters.

    Raises:
        SourceError: If the text is longer.
    """
    if len(text) > max_length:
        message = f"this is {len(text):,} characters long; {sentence_start} at most {max_length:,}"
        raise SourceError(message, place=SourceLocation(source))


def default_name(source: str) -> str | None:
    """The default name of a source: its file name without folder and extension, or None if it has no file."""
    return None if source.startswith("<") else escape_unprintable(PurePath(source).stem) or None


def find_name_problems(names: Iterable[object]) -> list[str]:
    """Problems of names and symbols: each must be a string that UTF-8 can encode.

    Args:
        names: The name of a source, and all names that occur in it.
    """
    unencodable = "contains a lone surrogate, which UTF-8 cannot encode; choose another name"
    wrong = (name for name in names if not isinstance(name, str) or LONE_SURROGATE.search(name))
    return [f"{name!r} {unencodable if isinstance(name, str) else 'is not a string'}" for name in wrong]


def find_repetitions(
    names: Iterable[str], sentence: str = "letter {!r} is listed {} times in the alphabet"
) -> list[str]:
    """A sentence for each name that is listed several times, about the name and the number of times."""
    return [sentence.format(name, times) for name, times in Counter(names).items() if times > 1]


def is_symbol(text: str) -> bool:
    """Whether a text is a valid symbol: non-empty, and without whitespace unless it is a single character."""
    return bool(text) and (len(text) == 1 or not any(map(str.isspace, text)))


EMPTY_ALPHABET = "empty: the only input is the empty word"


class WordSource:
    """Base class of sources whose inputs are words over their alphabet."""

    name: str
    alphabet: tuple[str, ...]
    empty_alphabet_note: ClassVar[str] = EMPTY_ALPHABET
    """Description of an empty alphabet, for messages."""

    def word(self, text: str | Iterable[str]) -> tuple[str, ...]:
        """Split an input into symbols: by character, or at whitespace if some symbol has several characters."""
        return parse_word(text, self.alphabet, self.name, empty_alphabet_note=self.empty_alphabet_note)


def format_word(word: Iterable[str], alphabet: Iterable[str]) -> str:
    """Format a word: symbols are separated by spaces if any symbol of the alphabet has several characters."""
    return ("" if all(len(symbol) == 1 for symbol in alphabet) else " ").join(word)


def parse_word(
    text: str | Iterable[str], alphabet: tuple[str, ...], name: str, *, empty_alphabet_note: str = EMPTY_ALPHABET
) -> tuple[str, ...]:
    """Split an input into symbols: by character, or at whitespace if some symbol has several characters.

    Args:
        text: The input as text (characters may be separated by spaces, too) or as symbols. Symbols that contain
            whitespace must be given individually.
        alphabet: The alphabet.
        name: Name of the source, for the message.
        empty_alphabet_note: Description of an empty alphabet, for the message.

    Raises:
        InputError: If a symbol is not in the alphabet.
    """
    symbols = split_symbols(text, alphabet)
    known = frozenset(alphabet)
    if known.issuperset(symbols):
        return symbols
    for index, symbol in enumerate(symbols):
        if symbol not in known:
            raise InputError(
                f"symbol {symbol!r} at position {index + 1} of the input is not in the alphabet of {name!r}",
                hint=f"the alphabet is {' '.join(alphabet) or empty_alphabet_note}",
            )
    return symbols


def split_symbols(text: str | Iterable[str], alphabet: Iterable[str]) -> tuple[str, ...]:
    """Split a text into symbols: its characters, or its parts between whitespace. The alphabet is not checked."""
    if not isinstance(text, str):
        return tuple(text)
    separated, has_space = text.split(), " " in alphabet
    one_by_one = not has_space and all(len(symbol) == 1 for symbol in separated)
    joined = text if has_space else text.strip()
    return tuple(separated if one_by_one or any(len(symbol) > 1 for symbol in alphabet) else joined)


def normalise_input(source: Source, raw: str | Iterable[object]) -> str | tuple[str, ...]:
    """Normalise an input to text or symbols. A source with ``letter_of`` also accepts the values of its symbols.

    Raises:
        InputError: If a symbol is neither a string nor the value of a symbol.
    """
    if isinstance(raw, str):
        return raw
    symbols = tuple(map(getattr(source, "letter_of", lambda item: item), raw))
    for index, symbol in enumerate(symbols, 1):
        if not isinstance(symbol, str):
            raise InputError(f"symbol {format_value(symbol)} at position {index} of the input is not in the alphabet")
    return symbols


LETTERS = "abcdefghijklmnopqrstuvwxyz"


def add_symbols_of_input(source: Source, text: str | Iterable[str]) -> Source:
    """Extend the alphabet of a formula by the symbols of an input; other sources have a fixed alphabet."""
    if not isinstance(source, ExtensibleSource):
        return source
    more = tuple(symbol for symbol in split_symbols(text, source.alphabet) if symbol not in source.alphabet)
    return source.with_symbols(dict.fromkeys(more)) if more else source


def ensure_two_symbols(source: Source) -> Source:
    """Extend the alphabet of a formula to at least two symbols: words over one symbol differ only in length."""
    if not isinstance(source, ExtensibleSource) or len(source.alphabet) > 1:
        return source
    more = [letter for letter in LETTERS if letter not in source.alphabet]
    return source.with_symbols(more[: 2 - len(source.alphabet)])
