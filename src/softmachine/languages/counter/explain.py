"""What is wrong where the parser of transitions could not go on, in the words of the language."""

from __future__ import annotations

from typing import TYPE_CHECKING

from softmachine.languages.counter.grammar import Mistake

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
    brackets = [part for part in stack if getattr(part, "type", None) == "LPAR"]
    if brackets and error.token.type in ("$END", "ARROW") and "RPAR" in error.accepts:
        return Mistake("this bracket is never closed; write ) where it ends", brackets[-1].line, brackets[-1].column)
    if error.token.type == "$END":
        end = text.rstrip()
        message = f"the transition ends too early: {expected} should come; {FORM}"
        return Mistake(message, end.count("\n") + 1, len(end) - end.rfind("\n"))
    token = error.token
    if token.type == "RELATION" and "AND" in error.accepts:
        reason = "a comparison has two sides; join comparisons with 'and'"
    elif token.type == "RELATION" and "INCREASE" in error.accepts:
        reason = "a counter is changed with += or -=, by a number"
    elif token.type in ("NAME", "NAME_IN_QUOTES") and error.accepts >= {"TIMES", "PLUS"}:
        reason = "a product is written with *, as in 2*x"
    else:
        reason = f"{expected} should come; {FORM}"
    return Mistake(f"{_clipped(token)!r} cannot stand here: {reason}", error.line, error.column)


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


def _clipped(text: str, longest: int = 40) -> str:
    return str(text) if len(text) <= longest else text[: longest - 1] + "…"
