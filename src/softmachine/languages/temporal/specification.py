"""Specifications: a formula of temporal logic with the alphabet of its words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import ClassVar

from softmachine.languages.source import WordSource, find_name_problems
from softmachine.languages.temporal.formula import Formula, format_formula
from softmachine.languages.temporal.structure import find_fragment, find_symbols
from softmachine.support.errors import InvalidError, SourceLocation
from softmachine.support.notebook_html import html_table


@dataclass(frozen=True, kw_only=True)
class Specification(WordSource):
    """A formula over an alphabet: the language of the words that satisfy it.

    Args:
        name: Name of the specification.
        formula: The formula.
        alphabet: The alphabet of the words; a superset of the symbols of the formula.
        place: Where it was defined.
    """

    language: ClassVar[str] = "temporal"
    default_input: ClassVar[tuple[str, ...]] = ()
    empty_alphabet_note: ClassVar[str] = "empty; list its symbols in a first line, as in: alphabet a b"
    name: str
    formula: Formula
    alphabet: tuple[str, ...]
    place: SourceLocation | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        problems = find_name_problems((self.name, *self.alphabet)) or list(_find_problems(self))
        if problems:
            raise InvalidError(f"temporal formula {self.name!r}", problems, place=self.place)

    def with_symbols(self, symbols: Iterable[str]) -> Specification:
        """The same formula over an alphabet with additional symbols."""
        return replace(self, alphabet=tuple(dict.fromkeys((*self.alphabet, *symbols))))

    def __str__(self) -> str:
        text = format_formula(self.formula, unicode=True)
        what = "temporal formula" if self.name in (text, str(self.formula)) else f"temporal formula {self.name}"
        return f"{what}: {text}, over {' '.join(self.alphabet) or 'the empty alphabet'}"

    def _repr_html_(self) -> str:
        rows = (
            ("formula", format_formula(self.formula, unicode=True)),
            ("alphabet", " ".join(self.alphabet) or "empty"),
            ("fragment", str(find_fragment(self.formula))),
        )
        return html_table(rows, f"temporal formula {self.name}")


def _find_problems(specification: Specification) -> Iterator[str]:
    """All problems of a specification, one sentence each."""
    for symbol, times in Counter(specification.alphabet).items():
        if not symbol:
            yield "the alphabet has an empty symbol; a symbol has at least one character"
        if times > 1:
            yield f"symbol {symbol!r} is listed {times} times in the alphabet"
    for symbol in find_symbols(specification.formula):
        if symbol not in specification.alphabet:
            yield f"symbol {symbol!r} of the formula is not in the alphabet; add it"
