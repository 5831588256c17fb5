"""Syntax diagnostics: errors of an LALR parser turned into messages with a place and a hint.

Problems of a source, reported together, each with its place and an excerpt of the line with a caret.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from unicodedata import combining, east_asian_width

from softmachine.support.errors import InvalidError, Place, SourceError
from softmachine.support.text import clipped

if TYPE_CHECKING:
    from lark import Token, UnexpectedInput
    from lark.parsers.lalr_interactive_parser import InteractiveParser


CLOSING = {"LPAR": ")", "LSQB": "]"}
"""Closing bracket for each opening bracket, by the terminal name of lark."""
LONGEST = 40
"""Maximum number of characters of a token in a message."""


@dataclass
class Mistake(Exception):  # noqa: N818 - every parser catches it
    """A syntax error with its line and column, from 1."""

    message: str
    line: int
    column: int
    hint: str | None = None

    @property
    def sentence(self) -> str:
        """The message, followed by the hint if there is one."""
        return f"{self.message}; {self.hint}" if self.hint else self.message


def place_of(token: Token) -> tuple[int, int]:
    """Line and column of a token."""
    return token.line or 1, token.column or 1


@dataclass(frozen=True)
class Stuck:
    """State of the parser at a syntax error.

    Args:
        token: The unexpected token; of type ``$END`` at the end of the text.
        before: The text before the token.
        accepts: The terminals that the parser would accept.
        stack: The value stack of the parser: tokens, and None for reduced rules.
    """

    token: Token
    before: str
    accepts: frozenset[str]
    stack: Sequence[Token | None]

    @property
    def ended(self) -> bool:
        """Whether the error is at the end of the text."""
        return self.token.type == "$END"

    @property
    def begins_line(self) -> bool:
        """Whether the token is the first of a continuation line."""
        return "\n" in self.before and not self.before.rpartition("\n")[2].strip()


@dataclass(frozen=True)
class Case:
    """A rule with a specific message for a common syntax error.

    Args:
        tokens: Types of the unexpected token, separated by spaces.
        accepts: Terminals that the parser must accept for the rule to apply.
        text: The message; {token} is replaced by the token.
        after: Pattern that the text before the token must match.
    """

    tokens: str
    accepts: str
    text: str
    after: re.Pattern[str] = re.compile("")

    def fits(self, stuck: Stuck) -> bool:
        """Whether the rule applies to a syntax error."""
        known = stuck.token.type in self.tokens.split() and stuck.accepts.issuperset(self.accepts.split())
        return known and self.after.search(stuck.before) is not None


@dataclass(frozen=True, kw_only=True)
class Explainer:
    """Turns parser errors into messages, using a table of texts for a language.

    Args:
        whole: The parsed construct, as in "the formula".
        quote: Message and hint for an unterminated quote.
        character: Message for a character that begins no token; {} is replaced by the character.
        character_hints: Hints by character; the key "" is the default.
        kinds: Syntactic categories by the terminals that must be acceptable; the first match is mentioned first.
        covered: Terminals that are not mentioned in addition to a category, by the name of the category.
        spelled: Names of terminals, in the order in which messages mention them.
        expected: Formats the list of expected constructs.
        otherwise: Hint if no rule applies.
        only: Messages for the case that exactly these terminals are acceptable.
        cases: Rules for common errors.
        as_hints: Whether the text of a rule is the hint, or replaces the list of expected constructs.
        ending: Types of tokens before which all brackets must be closed.
        closing: Types of closing brackets that are reported if no bracket is open.
        first: Check that precedes all others.
        longest: Maximum number of characters of a token in a message.
        continued: Addition to the message if the token is the first of a continuation line.
    """

    whole: str
    quote: tuple[str, str]
    character: str
    character_hints: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, str]
    covered: Mapping[str, str] = field(default_factory=dict)
    spelled: Mapping[str, str]
    expected: Callable[[list[str]], str] = lambda words: f"expected {' or '.join(words)}"
    otherwise: str | None = None
    only: Mapping[str, str] = field(default_factory=dict)
    cases: Sequence[Case]
    as_hints: bool = False
    ending: str = ""
    closing: str = ""
    first: Callable[[Stuck], Mistake | None] = lambda _: None
    longest: int = LONGEST
    continued: str = ""

    def __call__(self, error: UnexpectedInput, text: str, reading: InteractiveParser | None = None) -> Mistake:
        """The diagnostic of a parser error; ``reading`` is the state of the parser if the error does not contain it."""
        from lark import Token, UnexpectedToken

        if not isinstance(error, UnexpectedToken):
            return self._unknown_character(text[error.pos_in_stream or 0], error)
        state = error.interactive_parser or reading
        assert state is not None
        accepts = frozenset(state.accepts())  # type: ignore[no-untyped-call]
        stack = [entry if isinstance(entry, Token) else None for entry in state.parser_state.value_stack]
        stuck = Stuck(error.token, text[: error.pos_in_stream], accepts, stack)
        return self.first(stuck) or self._bracket(stuck) or self._other(stuck)

    def _unknown_character(self, character: str, error: UnexpectedInput) -> Mistake:
        if character in "'\"":
            message, hint = self.quote
            return Mistake(message, error.line, error.column, hint)
        hints = self.character_hints
        return Mistake(
            self.character.format(repr(character)), error.line, error.column, hints.get(character, hints.get(""))
        )

    def _bracket(self, stuck: Stuck) -> Mistake | None:
        """The diagnostic of an unclosed or unmatched bracket, if the error is one."""
        token = stuck.token
        opened = [entry for entry in stuck.stack if entry is not None and entry.type in CLOSING]
        if opened and token.type in self.ending.split() and stuck.accepts & {"RPAR", "RSQB"}:
            hint = f"close it with {CLOSING[opened[-1].type]}"
            return Mistake("this bracket is never closed", *place_of(opened[-1]), hint)
        if not opened and token.type in self.closing.split():
            return Mistake("this bracket closes no open bracket", *place_of(token))
        return None

    def _other(self, stuck: Stuck) -> Mistake:
        token = stuck.token
        shown = clipped(token, self.longest)
        found = f"unexpected end of {self.whole}" if stuck.ended else f"unexpected {shown!r}"
        case = next((case.text.format(token=shown) for case in self.cases if case.fits(stuck)), None)
        reason = case if case and not self.as_hints else self._expected(stuck.accepts)
        hint = case if self.as_hints else None if case else self.otherwise
        if stuck.begins_line and not stuck.ended:
            reason += self.continued
        place = (token.end_line or 1, token.end_column or 1) if stuck.ended else place_of(token)
        return Mistake(f"{found}; {reason}", *place, hint)

    def _expected(self, accepts: frozenset[str]) -> str:
        """The list of expected constructs."""
        for terminals, sentence in self.only.items():
            if accepts == set(terminals.split()):
                return sentence
        words = [word for terminals, word in self.kinds.items() if accepts.issuperset(terminals.split())][:1]
        covered = {name for word in words for name in self.covered.get(word, "").split()}
        for terminal, word in self.spelled.items():
            # An opening bracket is mentioned only if nothing else is expected.
            if terminal in accepts - covered and not (terminal == "LPAR" and words):
                words.append(word)
        return self.expected(words)


MOST_REPORTED = 20
WIDTH = 100


@dataclass(frozen=True)
class Problem:
    """A problem of a source.

    Args:
        message: The problem, with a hint.
        place: Its place, if the source was parsed from a text.
    """

    message: str
    place: Place | None = None

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.place else self.message


def refuse(problems: Sequence[Problem], lines: Sequence[str]) -> None:
    """Raise one error for all syntax errors, each with an excerpt of its line.

    Raises:
        SourceError: If there is at least one.
    """
    if not problems:
        return
    first, *others = _most(problems)
    message = first.message + _indented(excerpt(first.place, lines), 4)
    message += "".join(f"\n{other}{_indented(excerpt(other.place, lines), 4)}" for other in others)
    raise SourceError(message, place=first.place)


def invalid(what: str, problems: Sequence[Problem], place: Place | None, lines: Sequence[str] = ()) -> InvalidError:
    """Return one error for all semantic problems, each with an excerpt of its line if the text is given."""
    listing = [f"{problem}{_indented(excerpt(problem.place, lines), 8)}" for problem in _most(problems)]
    return InvalidError(what, listing, place=place)


def excerpt(place: Place | None, lines: Sequence[str]) -> list[str]:
    """The line at a place, clipped to a window if it is long, and a line with a caret under the column."""
    if place is None or place.line is None or place.column is None or place.line > len(lines):
        return []
    line = "".join(character if character.isprintable() else " " for character in lines[place.line - 1])
    start = max(0, place.column - 1 - WIDTH // 2) if len(line) > WIDTH else 0
    window = line[start : start + WIDTH]
    padding = "".join(" " * columns(character) for character in line[start : place.column - 1])
    lead = "… " if start else ""
    return [lead + window + (" …" if start + WIDTH < len(line) else ""), f"{' ' * len(lead)}{padding}^"]


def columns(character: str) -> int:
    """The width of a character in a terminal."""
    return 0 if combining(character) else 2 if east_asian_width(character) in "WF" else 1


def _indented(lines: list[str], by: int) -> str:
    return "".join(f"\n{' ' * by}{line}" for line in lines)


def _most(problems: Sequence[Problem]) -> list[Problem]:
    shown = list(problems[:MOST_REPORTED])
    if len(problems) > len(shown):
        shown.append(Problem(f"… and {len(problems) - len(shown):,} more"))
    return shown
