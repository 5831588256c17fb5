"""What is wrong where a text could not be read, in the words of the language."""

from __future__ import annotations

from softmachine.languages.text.mistakes import Case, Explainer, Mistake, Stuck, place_of

RELATIONS = "EQUAL UNEQUAL LESS AT_MOST GREATER AT_LEAST"
BRACKETS = "others read this otherwise than Python does: put brackets around what belongs together"


def _unfinished(stuck: Stuck) -> Mistake | None:
    """A statement without its semicolon, which is noticed where the next one begins."""
    if "SEMICOLON" not in stuck.accepts or not (stuck.ended or stuck.begins_line):
        return None
    before = stuck.before.rstrip()
    place = before.count("\n") + 1, len(before) - before.rfind("\n")
    if stuck.ended:
        place = stuck.token.end_line or 1, stuck.token.end_column or 1
    return Mistake("a statement ends with ';'", *place, "write ; here")


def _keyword(stuck: Stuck) -> Mistake | None:
    word = str(stuck.token)
    if stuck.ended or not word.isalpha() or "NAME" not in stuck.accepts or len(stuck.accepts) > 1:
        return None
    return Mistake(f"{word!r} is a word of the language", *place_of(stuck.token), "call it something else")


explain = Explainer(
    whole="the text",
    first=lambda stuck: _keyword(stuck) or _unfinished(stuck),
    quote=("this quote is never closed", 'a symbol is written like "a"'),
    character="the character {} means nothing here",
    character_hints={"=": "equal is written ==", "&": "write and", "|": "write or", "!": "write not"},
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
        Case("IF", "NAME", "a choice is an expression: x if p else y"),
        Case("AND OR IN IF PERCENT TIMES DIVIDE FLOOR CARET " + RELATIONS, "", BRACKETS),
        Case("INTEGER NAME QUOTED", "SEMICOLON", "an operator or ';' should come before {token}"),
    ),
    ending="$END SEMICOLON RBRACE",
    closing="RPAR RSQB",
)  # fmt: skip
