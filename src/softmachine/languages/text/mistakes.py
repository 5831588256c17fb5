"""Mistakes in a text where a grammar's parser could not go on: what is wrong, where, and what would be right."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from softmachine.support.text import clipped

if TYPE_CHECKING:
    from lark import Token, UnexpectedInput
    from lark.parsers.lalr_interactive_parser import InteractiveParser

CLOSING = {"LPAR": ")", "LSQB": "]"}
"""Brackets that open, by the names that lark gives them, and what closes them."""
LONGEST = 40
"""So many characters of a token are shown."""


@dataclass
class Mistake(Exception):  # noqa: N818 - no reader lets it out
    """Something wrong at a place of a text: line and column, counted from 1."""

    message: str
    line: int
    column: int
    hint: str | None = None

    @property
    def sentence(self) -> str:
        """What is wrong and, if it is known, what would be right."""
        return f"{self.message}; {self.hint}" if self.hint else self.message


def place_of(token: Token) -> tuple[int, int]:
    """The line and column of a token."""
    return token.line or 1, token.column or 1


@dataclass(frozen=True)
class Stuck:
    """Where a parser could not go on.

    Args:
        token: What it could not take; of type ``$END`` where the text ends.
        before: The text up to there.
        accepts: The terminals that it would have taken.
        stack: What it has read: tokens, and None for what was made of some.
    """

    token: Token
    before: str
    accepts: frozenset[str]
    stack: Sequence[Token | None]

    @property
    def ended(self) -> bool:
        """Whether the text ends there."""
        return self.token.type == "$END"

    @property
    def begins_line(self) -> bool:
        """Whether the token is the first of a line that goes on with the one before."""
        return "\n" in self.before and not self.before.rpartition("\n")[2].strip()


@dataclass(frozen=True)
class Case:
    """A token that is often written where it cannot stand.

    Args:
        tokens: The types of the token.
        accepts: Terminals that could have come instead; all of them.
        text: What to say, where {token} is the token.
        after: What stands before it.
    """

    tokens: str
    accepts: str
    text: str
    after: re.Pattern[str] = re.compile("")

    def fits(self, stuck: Stuck) -> bool:
        """Whether it is this."""
        known = stuck.token.type in self.tokens.split() and stuck.accepts.issuperset(self.accepts.split())
        return known and self.after.search(stuck.before) is not None


@dataclass(frozen=True, kw_only=True)
class Explainer:
    """Says what is wrong where a parser could not go on, in the words of its language.

    Args:
        whole: What is read, as in "the formula".
        quote: What to say of a quote that is not closed, and what would be right.
        character: What to say of a character that nothing begins with.
        character_hints: What would be right, by the character; under "" for all others.
        kinds: What is named first of what may come, by the terminals that may come then: the first that fits.
        covered: Terminals that are not named beside one of those kinds, by its name.
        spelled: The words for terminals, in the order in which they are named.
        expected: Says what may come, from the words for it.
        otherwise: What would be right, if no case says more.
        only: What to say where nothing but these terminals may come.
        cases: What is often meant.
        as_hints: Whether a case says what would be right beside what may come, or stands in its place.
        ending: Types of tokens before which all brackets should be closed.
        closing: Types of brackets that close, of which one without an opening one is reported.
        first: What comes before all this.
        longest: So many characters of a token are shown.
        continued: What is added if the token is the first of a line that goes on with the one before.
    """

    whole: str
    quote: tuple[str, str]
    character: str
    character_hints: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, str]
    covered: Mapping[str, str] = field(default_factory=dict)
    spelled: Mapping[str, str]
    expected: Callable[[list[str]], str] = lambda words: f"{' or '.join(words)} should come"
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
        """What to say of an error that a parser found in a text; ``reading`` is its state, if the error lacks it."""
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
        """A bracket that is never closed, or that closes none, if that is what is wrong."""
        token = stuck.token
        opened = [entry for entry in stuck.stack if entry is not None and entry.type in CLOSING]
        if opened and token.type in self.ending.split() and stuck.accepts & {"RPAR", "RSQB"}:
            hint = f"write {CLOSING[opened[-1].type]} where it ends"
            return Mistake("this bracket is never closed", *place_of(opened[-1]), hint)
        if not opened and token.type in self.closing.split():
            return Mistake("there is no open bracket for this one to close", *place_of(token))
        return None

    def _other(self, stuck: Stuck) -> Mistake:
        token = stuck.token
        shown = clipped(token, self.longest)
        found = f"{self.whole} ends too early" if stuck.ended else f"{shown!r} cannot stand here"
        case = next((case.text.format(token=shown) for case in self.cases if case.fits(stuck)), None)
        reason = case if case and not self.as_hints else self._expected(stuck.accepts)
        hint = case if self.as_hints else None if case else self.otherwise
        if stuck.begins_line and not stuck.ended:
            reason += self.continued
        place = (token.end_line or 1, token.end_column or 1) if stuck.ended else place_of(token)
        return Mistake(f"{found}: {reason}", *place, hint)

    def _expected(self, accepts: frozenset[str]) -> str:
        """What may come, in words."""
        for terminals, sentence in self.only.items():
            if accepts == set(terminals.split()):
                return sentence
        words = [word for terminals, word in self.kinds.items() if accepts.issuperset(terminals.split())][:1]
        covered = {name for word in words for name in self.covered.get(word, "").split()}
        for terminal, word in self.spelled.items():
            # A bracket is named only if nothing else is.
            if terminal in accepts - covered and not (terminal == "LPAR" and words):
                words.append(word)
        return self.expected(words)
