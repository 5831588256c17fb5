"""What is wrong where a transition could not be read, in the words of the language."""

from __future__ import annotations

from softmachine.languages.text.mistakes import Case, Explainer

COVERED = "INTEGER LPAR PLUS MINUS"

explain = Explainer(
    whole="the transition",
    quote=("this quote is never closed", "a name is written like 'a b'"),
    character="the character {} means nothing here",
    kinds={"NOT": "a test", "NAME INTEGER LPAR": "a counter or a number", "NAME INTEGER": "a name"},
    covered={"a test": COVERED, "a counter or a number": COVERED, "a name": COVERED},
    spelled={
        "COLON": "':'", "ARROW": "'->'", "COMMA": "','", "LPAR": "'('", "RPAR": "')'", "INTEGER": "a number",
        "RELATION": "a comparison such as '>='", "AND": "'and'", "OR": "'or'", "INCREASE": "'+='", "DECREASE": "'-='",
        "PLUS": "'+'", "MINUS": "'-'", "TIMES": "'*'", "$END": "the end of the line",
    },
    otherwise="a transition is written like q0: x >= 2 -> q1: x -= 2, y += 1",
    cases=(
        Case("RELATION", "AND", "a comparison has two sides; join comparisons with 'and'"),
        Case("RELATION", "INCREASE", "a counter is changed with += or -=, by a number"),
        Case("NAME QUOTED", "TIMES PLUS", "a product is written with *, as in 2*x"),
    ),
    ending="$END ARROW",
)  # fmt: skip
