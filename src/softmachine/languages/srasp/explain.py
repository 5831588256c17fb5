"""What is wrong where the parser of definitions could not go on, in the words of the language."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from softmachine.languages.text.mistakes import Mistake, end_of

if TYPE_CHECKING:
    from lark.exceptions import UnexpectedInput, UnexpectedToken

READ = re.compile(r"\w\s*\(\s*[ij]\s*$")
EXPRESSION = {"NAME", "NUMBER", "SYMBOL", "LPAR"}
COMPARISONS = {
    "EQUAL": "=",
    "SAME": "==",
    "UNEQUAL": "!=",
    "LESS": "<",
    "AT_MOST": "<=",
    "GREATER": ">",
    "AT_LEAST": ">=",
}
OPERATORS = {"PLUS", "MINUS", "AND", "OR", "NOT", "IN", *COMPARISONS}
SPELLED = {"LPAR": "(", "RPAR": ")", "LBRACE": "{", "RBRACE": "}", "COMMA": ",", "COLON": ":", **COMPARISONS}


def explain(error: UnexpectedInput, text: str) -> Mistake:
    """What to say of the text of a definition."""
    from lark.exceptions import UnexpectedToken

    if not isinstance(error, UnexpectedToken):
        character = text[error.pos_in_stream or 0]
        if character in "'\"":
            return Mistake("this quote is never closed; a symbol is written like 'a'", error.line, error.column)
        return Mistake(f"the character {character!r} means nothing here", error.line, error.column)
    accepted = set(error.accepts)
    if error.token.type == "$END":
        return Mistake(f"the definition ends too early: {_expected(accepted)}", *end_of(text))
    return Mistake(_reason(error, text, accepted), error.line, error.column)


def _reason(error: UnexpectedToken, text: str, accepted: set[str]) -> str:
    token, before = error.token, text[: error.pos_in_stream]
    if token.type in ("PLUS", "MINUS") and accepted == {"RPAR"} and READ.search(before):
        reason = "vectors are read at i or j and nowhere else; the position before i is found by 'rightmost j < i'"
    elif accepted == {"NAME"} and token.isalpha():
        return f"{str(token)!r} is a word of the language; call the vector something else"
    elif token.type in COMPARISONS and "AND" in accepted:
        reason = "a comparison has two sides; join comparisons with 'and'"
    else:
        reason = _expected(accepted)
    if error.line > 1 and not before[before.rfind("\n") + 1 :].strip():
        reason += " (a line that is indented deeper goes on with the one before)"
    return f"{str(token)!r} cannot stand here: {reason}"


def _expected(accepted: set[str]) -> str:
    """What could have come."""
    if accepted == {"LPAR"}:
        return "a vector is written with its position, like depth(i)"
    if accepted == {"I", "J"}:
        return "a vector is read at i or at j"
    if accepted == {"NAME"}:
        return "a definition is written like depth(i) = …"
    if accepted == {"SYMBOL"}:
        return "a symbol like 'a' should come"
    if accepted >= EXPRESSION:
        return "an expression should come"
    wanted = ["an operator"] if accepted >= {"PLUS", "MINUS"} else []
    rest = accepted - {"$END"} - (OPERATORS if wanted else set())
    wanted += sorted(f"'{SPELLED.get(terminal, terminal.lower())}'" for terminal in rest)
    wanted += ["the end of the definition"] if "$END" in accepted else []
    return f"{' or '.join(wanted)} should come"
