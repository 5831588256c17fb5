"""What is wrong where the parser of transitions could not go on, in the words of the language."""

from __future__ import annotations

from typing import TYPE_CHECKING

from softmachine.languages.text.mistakes import Mistake, clipped, end_of, never_closed, open_brackets

if TYPE_CHECKING:
    from lark.exceptions import UnexpectedInput

FORM = "a transition is written like q0: x >= 2 -> q1: x -= 2, y += 1"
SPELLED = {
    "COLON": "':'", "ARROW": "'->'", "COMMA": "','", "LPAR": "'('", "RPAR": "')'", "INTEGER": "a number",
    "RELATION": "a comparison such as '>='", "AND": "'and'", "OR": "'or'", "INCREASE": "'+='", "DECREASE": "'-='",
    "PLUS": "'+'", "MINUS": "'-'", "TIMES": "'*'", "$END": "the end of the line",
}  # fmt: skip


def explain(error: UnexpectedInput, text: str) -> Mistake:
    """What to say of the text of a transition."""
    from lark.exceptions import UnexpectedToken

    if not isinstance(error, UnexpectedToken):
        character = text[error.pos_in_stream or 0]
        if character in "'\"":
            return Mistake("this quote is never closed; a name is written like 'a b'", error.line, error.column)
        return Mistake(f"the character {character!r} means nothing here", error.line, error.column)
    expected = _expected(set(error.accepts))
    stack = error.interactive_parser.parser_state.value_stack if error.interactive_parser else []
    brackets = open_brackets(stack)
    if brackets and error.token.type in ("$END", "ARROW") and "RPAR" in error.accepts:
        return never_closed(brackets[-1])
    if error.token.type == "$END":
        return Mistake(f"the transition ends too early: {expected} should come; {FORM}", *end_of(text))
    token = error.token
    if token.type == "RELATION" and "AND" in error.accepts:
        reason = "a comparison has two sides; join comparisons with 'and'"
    elif token.type == "RELATION" and "INCREASE" in error.accepts:
        reason = "a counter is changed with += or -=, by a number"
    elif token.type in ("NAME", "NAME_IN_QUOTES") and error.accepts >= {"TIMES", "PLUS"}:
        reason = "a product is written with *, as in 2*x"
    else:
        reason = f"{expected} should come; {FORM}"
    return Mistake(f"{clipped(token)!r} cannot stand here: {reason}", error.line, error.column)


def _expected(accepted: set[str]) -> str:
    """What could have come."""
    words = []
    if "NOT" in accepted:
        words.append("a test")
        accepted -= {"NOT", "ELSE", "TRUE", "FALSE", "LPAR", "NAME", "NAME_IN_QUOTES", "INTEGER", "PLUS", "MINUS"}
    elif {"NAME", "INTEGER"} <= accepted:
        words.append("a name" if "LPAR" not in accepted else "a counter or a number")
        accepted -= {"NAME", "NAME_IN_QUOTES", "INTEGER", "LPAR", "PLUS", "MINUS"}
    words += [word for terminal, word in SPELLED.items() if terminal in accepted]
    return " or ".join(words)
