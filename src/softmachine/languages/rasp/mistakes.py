"""Syntax error messages of the RASP text form."""

from __future__ import annotations

from softmachine.languages.text.mistakes import Case, Explainer, Mistake, Stuck, place_of

RELATIONS = "EQUAL UNEQUAL LESS AT_MOST GREATER AT_LEAST"
BRACKETS = "ambiguous precedence: RASP tools differ from Python here; add parentheses"


def _unfinished(stuck: Stuck) -> Mistake | None:
    """A missing semicolon, detected at the start of the next statement."""
    if "SEMICOLON" not in stuck.accepts or not (stuck.ended or stuck.begins_line):
        return None
    before = stuck.before.rstrip()
    place = before.count("\n") + 1, len(before) - before.rfind("\n")
    if stuck.ended:
        place = stuck.token.end_line or 1, stuck.token.end_column or 1
    return Mistake("expected ';' at the end of the statement", *place, "write ; here")


def _keyword(stuck: Stuck) -> Mistake | None:
    word = str(stuck.token)
    if stuck.ended or not word.isalpha() or "NAME" not in stuck.accepts or len(stuck.accepts) > 1:
        return None
    return Mistake(f"{word!r} is a keyword", *place_of(stuck.token), "choose another name")


explain = Explainer(
    whole="the text",
    first=lambda stuck: _keyword(stuck) or _unfinished(stuck),
    quote=("unterminated quote", 'write a symbol as "a"'),
    character="unexpected character {}",
    character_hints={"=": "write == for equality", "&": "write and", "|": "write or", "!": "write not"},
    kinds={
        "NAME INTEGER QUOTED LPAR": "an expression",
        "PLUS MINUS": "an operator",
    },
    covered={
        "an expression": f"{RELATIONS} MINUS PLUS NOT LSQB LBRACE FLOAT NAME QUOTED FOR",
        "an operator": f"{RELATIONS} AND OR IN IF LPAR LSQB TIMES DIVIDE FLOOR PERCENT CARET NOT",
    },
    spelled={
        "SEMICOLON": "';'", "RPAR": "')'", "RSQB": "']'", "RBRACE": "'}'", "COMMA": "','", "COLON": "':'",
        "__ANON_0": "'='", "LBRACE": "'{'", "LPAR": "'('", "NAME": "a name", "QUOTED": "a symbol", "AND": "'and'",
        "OR": "'or'", "ELSE": "'else'", "IF": "'if'", "IN": "'in'", "UNTIL": "'until'", "FOR": "'for'",
        "$END": "the end of the text",
    },
    cases=(
        Case("IF", "NAME", "if is an expression: x if p else y"),
        Case("AND OR IN IF PERCENT TIMES DIVIDE FLOOR CARET " + RELATIONS, "", BRACKETS),
        Case("INTEGER NAME QUOTED", "SEMICOLON", "expected an operator or ';' before {token}"),
    ),
    ending="$END SEMICOLON RBRACE",
    closing="RPAR RSQB",
)  # fmt: skip
