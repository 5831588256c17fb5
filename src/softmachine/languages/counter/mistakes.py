"""Syntax diagnostics of transitions."""

from __future__ import annotations

from softmachine.languages.text.mistakes import Case, Explainer

COVERED = "INTEGER LPAR PLUS MINUS"

explain = Explainer(
    whole="the transition",
    quote=("unterminated quote", "write a quoted name as 'a b'"),
    character="unexpected character {}",
    kinds={"NOT": "a test", "NAME INTEGER LPAR": "a counter or a number", "NAME INTEGER": "a name"},
    covered={"a test": COVERED, "a counter or a number": COVERED, "a name": COVERED},
    spelled={
        "COLON": "':'", "ARROW": "'->'", "COMMA": "','", "LPAR": "'('", "RPAR": "')'", "INTEGER": "a number",
        "RELATION": "a comparison such as '>='", "AND": "'and'", "OR": "'or'", "INCREASE": "'+='", "DECREASE": "'-='",
        "PLUS": "'+'", "MINUS": "'-'", "TIMES": "'*'", "$END": "the end of the line",
    },
    otherwise="write a transition as in q0: x >= 2 -> q1: x -= 2, y += 1",
    cases=(
        Case("RELATION", "AND", "a comparison has two sides; join comparisons with 'and'"),
        Case("RELATION", "INCREASE", "change a counter with += or -=, by a number"),
        Case("NAME QUOTED", "TIMES PLUS", "write a product with *, as in 2*x"),
    ),
    ending="$END ARROW",
)  # fmt: skip
