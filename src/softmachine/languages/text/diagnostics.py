"""Diagnostics: problems of a source, reported together, each with its place and an excerpt of the line with a caret.

Errors of an LALR parser become diagnostics with a hint.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from unicodedata import combining, east_asian_width

from softmachine.support.errors import InvalidError, SourceError, SourceLocation
from softmachine.support.text import truncate

if TYPE_CHECKING:
    from lark import Token, UnexpectedInput
    from lark.parsers.lalr_interactive_parser import InteractiveParser


CLOSING_BRACKETS = {"LPAR": ")", "LSQB": "]"}
"""Closing bracket for each opening bracket, by the terminal name of lark."""
MAX_TOKEN_LENGTH = 40
"""Maximum number of characters of a token in a message."""


@dataclass
class SyntaxDiagnostic(Exception):  # noqa: N818 - every parser catches it
    """A syntax error with its line and column, from 1."""

    message: str
    line: int
    column: int
    hint: str | None = None

    @property
    def full_message(self) -> str:
        """The message, followed by the hint if there is one."""
        return f"{self.message}; {self.hint}" if self.hint else self.message


def line_and_column(token: Token) -> tuple[int, int]:
    """Line and column of a token."""
    return token.line or 1, token.column or 1


@dataclass(frozen=True)
class ParserState:
    """State of the parser at a syntax error.

    Args:
        token: The unexpected token; of type ``$END`` at the end of the text.
        text_before: The text before the token.
        accepted: The terminals that the parser would accept.
        stack: The value stack of the parser: tokens, and None for reduced rules.
    """

    token: Token
    text_before: str
    accepted: frozenset[str]
    stack: Sequence[Token | None]

    @property
    def is_at_end(self) -> bool:
        """Whether the error is at the end of the text."""
        return self.token.type == "$END"

    @property
    def starts_continuation_line(self) -> bool:
        """Whether the token is the first of a continuation line."""
        return "\n" in self.text_before and not self.text_before.rpartition("\n")[2].strip()


@dataclass(frozen=True)
class DiagnosticRule:
    """A rule with a specific message for a common syntax error.

    Args:
        unexpected: Types of the unexpected token, separated by spaces.
        accepted: Terminals that the parser must accept for the rule to apply.
        message: The message; {token} is replaced by the token.
        preceded_by: Pattern that the text before the token must match.
    """

    unexpected: str
    accepted: str
    message: str
    preceded_by: re.Pattern[str] = re.compile("")

    def matches(self, stuck: ParserState) -> bool:
        """Whether the rule applies to a syntax error."""
        known = stuck.token.type in self.unexpected.split() and stuck.accepted.issuperset(self.accepted.split())
        return known and self.preceded_by.search(stuck.text_before) is not None


@dataclass(frozen=True, kw_only=True)
class DiagnosticRules:
    """Turns parser errors into messages, using a table of texts for a language.

    Args:
        construct: The parsed construct, as in "the formula".
        unterminated_quote: Message and hint for an unterminated quote.
        unknown_character: Message for a character that begins no token; {} is replaced by the character.
        character_hints: Hints by character; the key "" is the default.
        categories: Syntactic categories by the terminals that must be acceptable; the first match is mentioned first.
        subsumed: Terminals that are not mentioned in addition to a category, by the name of the category.
        terminal_names: Names of terminals, in the order in which messages mention them.
        format_expected: Formats the list of expected constructs.
        default_hint: Hint if no rule applies.
        exact_messages: Messages for the case that exactly these terminals are acceptable.
        rules: Rules for common errors.
        rules_are_hints: Whether the text of a rule is the hint, or replaces the list of expected constructs.
        ending_tokens: Types of tokens before which all brackets must be closed.
        closing_tokens: Types of closing brackets that are reported if no bracket is open.
        first_check: Check that precedes all others.
        max_token_length: Maximum number of characters of a token in a message.
        continuation_note: Addition to the message if the token is the first of a continuation line.
    """

    construct: str
    unterminated_quote: tuple[str, str]
    unknown_character: str
    character_hints: Mapping[str, str] = field(default_factory=dict)
    categories: Mapping[str, str]
    subsumed: Mapping[str, str] = field(default_factory=dict)
    terminal_names: Mapping[str, str]
    format_expected: Callable[[list[str]], str] = lambda words: f"expected {' or '.join(words)}"
    default_hint: str | None = None
    exact_messages: Mapping[str, str] = field(default_factory=dict)
    rules: Sequence[DiagnosticRule]
    rules_are_hints: bool = False
    ending_tokens: str = ""
    closing_tokens: str = ""
    first_check: Callable[[ParserState], SyntaxDiagnostic | None] = lambda _: None
    max_token_length: int = MAX_TOKEN_LENGTH
    continuation_note: str = ""

    def __call__(self, error: UnexpectedInput, text: str, parser: InteractiveParser | None = None) -> SyntaxDiagnostic:
        """The diagnostic of a parser error; ``parser`` is the state of the parser if the error does not contain it."""
        from lark import Token, UnexpectedToken

        if not isinstance(error, UnexpectedToken):
            return self._diagnose_character(text[error.pos_in_stream or 0], error)
        state = error.interactive_parser or parser
        assert state is not None
        accepts = frozenset(state.accepts())  # type: ignore[no-untyped-call]
        stack = [entry if isinstance(entry, Token) else None for entry in state.parser_state.value_stack]
        stuck = ParserState(error.token, text[: error.pos_in_stream], accepts, stack)
        return self.first_check(stuck) or self._diagnose_bracket(stuck) or self._diagnose_token(stuck)

    def _diagnose_character(self, character: str, error: UnexpectedInput) -> SyntaxDiagnostic:
        if character in "'\"":
            message, hint = self.unterminated_quote
            return SyntaxDiagnostic(message, error.line, error.column, hint)
        hints = self.character_hints
        return SyntaxDiagnostic(
            self.unknown_character.format(repr(character)),
            error.line,
            error.column,
            hints.get(character, hints.get("")),
        )

    def _diagnose_bracket(self, stuck: ParserState) -> SyntaxDiagnostic | None:
        """The diagnostic of an unclosed or unmatched bracket, if the error is one."""
        token = stuck.token
        opened = [entry for entry in stuck.stack if entry is not None and entry.type in CLOSING_BRACKETS]
        if opened and token.type in self.ending_tokens.split() and stuck.accepted & {"RPAR", "RSQB"}:
            hint = f"close it with {CLOSING_BRACKETS[opened[-1].type]}"
            return SyntaxDiagnostic("this bracket is never closed", *line_and_column(opened[-1]), hint)
        if not opened and token.type in self.closing_tokens.split():
            return SyntaxDiagnostic("this bracket closes no open bracket", *line_and_column(token))
        return None

    def _diagnose_token(self, stuck: ParserState) -> SyntaxDiagnostic:
        token = stuck.token
        shown = truncate(token, self.max_token_length)
        found = f"unexpected end of {self.construct}" if stuck.is_at_end else f"unexpected {shown!r}"
        case = next((case.message.format(token=shown) for case in self.rules if case.matches(stuck)), None)
        reason = case if case and not self.rules_are_hints else self._describe_expected(stuck.accepted)
        hint = case if self.rules_are_hints else None if case else self.default_hint
        if stuck.starts_continuation_line and not stuck.is_at_end:
            reason += self.continuation_note
        place = (token.end_line or 1, token.end_column or 1) if stuck.is_at_end else line_and_column(token)
        return SyntaxDiagnostic(f"{found}; {reason}", *place, hint)

    def _describe_expected(self, accepts: frozenset[str]) -> str:
        """The list of expected constructs."""
        for terminals, sentence in self.exact_messages.items():
            if accepts == set(terminals.split()):
                return sentence
        words = [word for terminals, word in self.categories.items() if accepts.issuperset(terminals.split())][:1]
        covered = {name for word in words for name in self.subsumed.get(word, "").split()}
        for terminal, word in self.terminal_names.items():
            # An opening bracket is mentioned only if nothing else is expected.
            if terminal in accepts - covered and not (terminal == "LPAR" and words):
                words.append(word)
        return self.format_expected(words)


MAX_REPORTED = 20
MAX_EXCERPT_WIDTH = 100


@dataclass(frozen=True)
class Problem:
    """A problem of a source.

    Args:
        message: The problem, with a hint.
        place: Its place, if the source was parsed from a text.
    """

    message: str
    place: SourceLocation | None = None

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.place else self.message


def syntax_error(problems: Sequence[Problem], lines: Sequence[str]) -> SourceError:
    """Return one error for all syntax errors, each with an excerpt of its line."""
    first, *others = _truncated(problems)
    message = first.message + _indented(excerpt_lines(first.place, lines), 4)
    message += "".join(f"\n{other}{_indented(excerpt_lines(other.place, lines), 4)}" for other in others)
    return SourceError(message, place=first.place)


def validation_error(
    subject: str, problems: Sequence[Problem], place: SourceLocation | None, lines: Sequence[str] = ()
) -> InvalidError:
    """Return one error for all semantic problems, each with an excerpt of its line if the text is given."""
    listing = [f"{problem}{_indented(excerpt_lines(problem.place, lines), 8)}" for problem in _truncated(problems)]
    return InvalidError(subject, listing, place=place)


def excerpt_lines(place: SourceLocation | None, lines: Sequence[str]) -> list[str]:
    """The line at a place, clipped to a window if it is long, and a line with a caret under the column."""
    if place is None or place.line is None or place.column is None or place.line > len(lines):
        return []
    line = "".join(character if character.isprintable() else " " for character in lines[place.line - 1])
    start = max(0, place.column - 1 - MAX_EXCERPT_WIDTH // 2) if len(line) > MAX_EXCERPT_WIDTH else 0
    window = line[start : start + MAX_EXCERPT_WIDTH]
    padding = "".join(" " * display_width(character) for character in line[start : place.column - 1])
    lead = "… " if start else ""
    return [lead + window + (" …" if start + MAX_EXCERPT_WIDTH < len(line) else ""), f"{' ' * len(lead)}{padding}^"]


def display_width(character: str) -> int:
    """The width of a character in a terminal."""
    return 0 if combining(character) else 2 if east_asian_width(character) in "WF" else 1


def _indented(lines: list[str], by: int) -> str:
    return "".join(f"\n{' ' * by}{line}" for line in lines)


def _truncated(problems: Sequence[Problem]) -> list[Problem]:
    shown = list(problems[:MAX_REPORTED])
    if len(problems) > len(shown):
        shown.append(Problem(f"… and {len(problems) - len(shown):,} more"))
    return shown
