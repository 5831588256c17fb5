"""What all source languages have in common."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePath
from typing import ClassVar, Protocol, runtime_checkable

from softmachine.support.arguments import show_value
from softmachine.support.errors import InputError, Place, SourceError
from softmachine.support.text import SURROGATE, printable

LARGEST_SOURCE = 1 << 20
"""Characters. Nobody writes a machine, a formula or a program of a megabyte."""


@runtime_checkable
class Source(Protocol):
    """An object of a source language: a machine, a formula, a program."""

    language: ClassVar[str]
    """The name of the language, which is also that of the format that keeps everything of it."""

    @property
    def name(self) -> str:
        """What people call it."""

    @property
    def alphabet(self) -> tuple[str, ...]:
        """The symbols an input may have."""

    @property
    def default_input(self) -> tuple[str, ...]:
        """The input that it suggests; the empty word if none."""

    def word(self, text: str | Iterable[str]) -> tuple[str, ...]:
        """An input as symbols.

        Raises:
            InputError: If it is none.
        """


@runtime_checkable
class Extensible(Source, Protocol):
    """A source whose inputs may be given more symbols: a formula."""

    def extended(self, symbols: Iterable[str]) -> Source:
        """The same over more symbols."""


def check_size(text: str, source: str, limit: str, *, largest: int = LARGEST_SOURCE) -> None:
    """Refuse a text that is far too long before a parser spends minutes on it.

    Args:
        text: The text.
        source: Where it comes from, for the message.
        limit: What is limited, as in "a program may have".
        largest: The number of characters that are allowed.

    Raises:
        SourceError: If it has more.
    """
    if len(text) > largest:
        message = f"this is {len(text):,} characters long; {limit} at most {largest:,}"
        raise SourceError(message, place=Place(source))


def name_of(source: str) -> str | None:
    """What to call something that does not say its name: its file without folder and extension, if it has a file."""
    return None if source.startswith("<") else printable(PurePath(source).stem) or None


def name_problems(names: Iterable[object]) -> list[str]:
    """What is wrong with names and symbols as such: each must be a string that UTF-8 can encode, so that files can.

    Args:
        names: The name of a source, and all names that occur in it.
    """
    unencodable = "contains a lone surrogate, which UTF-8 cannot encode; choose another name"
    wrong = (name for name in names if not isinstance(name, str) or SURROGATE.search(name))
    return [f"{name!r} {unencodable if isinstance(name, str) else 'is not a string'}" for name in wrong]


def is_symbol(text: str) -> bool:
    """Whether words can be made of it: it is not empty, and has no blanks unless it is one."""
    return bool(text) and (len(text) == 1 or not any(map(str.isspace, text)))


NO_SYMBOLS = "empty: the only input is the empty word"


class OfWords:
    """What sources have in common whose inputs are words over their alphabet."""

    name: str
    alphabet: tuple[str, ...]
    no_symbols: ClassVar[str] = NO_SYMBOLS
    """What to say of an alphabet without symbols."""

    def word(self, text: str | Iterable[str]) -> tuple[str, ...]:
        """An input as symbols: text is read character by character, or split at blanks if symbols are longer."""
        return read_word(text, self.alphabet, self.name, if_empty=self.no_symbols)


def spelled(word: Iterable[str], alphabet: Iterable[str]) -> str:
    """An input as it is written at the command line: with blanks if any symbol is longer than a character."""
    return ("" if all(len(symbol) == 1 for symbol in alphabet) else " ").join(word)


def read_word(
    text: str | Iterable[str], alphabet: tuple[str, ...], name: str, *, if_empty: str = NO_SYMBOLS
) -> tuple[str, ...]:
    """An input as symbols: text is read character by character, or split at blanks if symbols are longer.

    Args:
        text: The input: text (where blanks may stand between characters, too), or its symbols. Symbols with blanks in
            them can only be given one by one.
        alphabet: The symbols it may have.
        name: Whose input it is, for the message.
        if_empty: What to say of an alphabet without symbols.

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
    """The symbols that a text writes: characters, or what stands between blanks."""
    if not isinstance(text, str):
        return tuple(text)
    apart, blanks = text.split(), " " in alphabet
    one_by_one = not blanks and all(len(symbol) == 1 for symbol in apart)
    together = text if blanks else text.strip()
    return tuple(apart if one_by_one or any(len(symbol) > 1 for symbol in alphabet) else together)


def input_of(source: Source, given: str | Iterable[object]) -> str | tuple[str, ...]:
    """An input as text, or as symbols; a source with ``letter_of`` also takes the values that its symbols stand for.

    Raises:
        InputError: If a symbol is not a string, and no symbol stands for it.
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
    """A formula over the letters of an input, too; other sources say themselves what an input may have."""
    if not isinstance(source, Extensible):
        return source
    more = tuple(symbol for symbol in spelled_out(text, source.alphabet) if symbol not in source.alphabet)
    return source.extended(dict.fromkeys(more)) if more else source


def with_two_letters(source: Source) -> Source:
    """A formula over at least two letters: with one, there is little to tell apart."""
    if not isinstance(source, Extensible) or len(source.alphabet) > 1:
        return source
    more = [letter for letter in LETTERS if letter not in source.alphabet]
    return source.extended(more[: 2 - len(source.alphabet)])
