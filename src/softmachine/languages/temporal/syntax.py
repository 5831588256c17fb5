"""Parser of temporal logic with counting: ``.ltl`` files and one-line strings.

    Q_a   'long symbol'   true   false   first   last             atoms
    prev p   next p   once p   historically p                     also Y X O H, and ⊖ ⊕
    eventually p   always p   not p                               also F G, and ! ¬ ~
    p since q   p until q   p since! q   p until! q               also S U; with ! as in Yang et al.
    p and q   p or q   p -> q   p <-> q                           also & | && || => <=>, and ∧ ∨ → ↔
    2*#<[p] - #>[q] + 3 <= 5                                      also ←#[p] →#[q], and ≤ ≥ ≠
    odd(i)   prime(#<[p])   power2(i)   mod(#>[p],3,1)            predicates of the position and of counts
    half(i)   middle(i)   divides(#<[p])   upto(i,1,3)            predicates that depend on the length n

Precedence from tightest to loosest: comparisons; the prefix operators; since and until; and; or; ->; <->. Binary
operators are right-associative, but a chain of ``and`` or of ``or`` is one conjunction or disjunction. So
``not p since q and r`` is ``((not p) since q) and r``, and ``p since q since r`` is ``p since (q since r)``. Up to ->
this is Spot's precedence. For <-> there is no convention: here it is the loosest, as in pylogics; in Spot it has the
precedence of ->, in NuSMV it is tighter. As in Spot ``p U!q`` is ``p until (not q)``; but ``p until!q`` is the until of
Yang et al.

A first line ``alphabet a b 'c d'`` declares the alphabet; without it the alphabet consists of the symbols of the
formula. A ``#`` at the start of a line or after two spaces begins a comment where it cannot be a count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import cast

from softmachine.languages.builtin_formats import TEMPORAL_HEADER
from softmachine.languages.source import check_size, name_of
from softmachine.languages.temporal.building import Builder, unquoted
from softmachine.languages.temporal.formula import Formula, formula_text
from softmachine.languages.temporal.mistakes import error_of, explain
from softmachine.languages.temporal.printing import quoted
from softmachine.languages.temporal.specification import Specification
from softmachine.languages.temporal.structure import symbols
from softmachine.languages.text.grammar import parser
from softmachine.languages.text.mistakes import Mistake
from softmachine.support.errors import Place
from softmachine.support.text import clipped

LONGEST_NAME = 60
LETTER = re.compile(r"(?P<comment>(?:(?<=[ \t]{2})|(?<=\t))#.*)|'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[^\s'\"]\S*|\S")


def parse(
    text: str, *, source: str = "<string>", name: str | None = None, alphabet: Iterable[str] = ()
) -> Specification:
    """Parse a formula with its alphabet.

    Args:
        text: The text.
        source: Origin of the text, for messages.
        name: Name of the specification; by default the file name, or the formula itself.
        alphabet: Symbols of the alphabet in addition to those in the text.

    Raises:
        SourceError: If the text has a syntax error.
        InvalidError: If the formula has a symbol that is not in the alphabet.
    """
    check_size(text, source, "a formula may have")
    letters, rest = _header(text, source)
    formula = parse_formula(rest, source=source)
    named = symbols(formula) if letters is None else letters
    own_name = clipped(formula_text(formula), LONGEST_NAME)
    return Specification(
        name=name or name_of(source) or own_name,
        formula=formula,
        alphabet=tuple(dict.fromkeys((*named, *alphabet))),
        place=Place(source),
    )


def parse_formula(text: str, *, source: str = "<string>") -> Formula:
    """Parse a formula.

    Raises:
        SourceError: If the text has a syntax error.
    """
    from lark import UnexpectedInput

    check_size(text, source, "a formula may have")
    try:
        return cast("Formula", parser("temporal", Builder).parse(text))
    except UnexpectedInput as error:
        raise error_of(explain(error, text), text, source) from None
    except Mistake as error:
        raise error_of(error, text, source) from None


def to_text(what: Specification | Formula, *, unicode: bool = False) -> str:
    """Format a specification or formula. `parse` is the inverse.

    A line declares the alphabet if it differs from the symbols of the formula.

    Args:
        what: A specification or a formula.
        unicode: Whether to use ¬ ∧ ∨ → ↔ ⊖ ⊕ and ←# →# instead of words and #< #>.
    """
    if isinstance(what, Formula):
        return formula_text(what, unicode=unicode)
    text = formula_text(what.formula, unicode=unicode)
    if what.alphabet == symbols(what.formula):
        return text
    letters = (letter if re.fullmatch(r"\w+", letter) else quoted(letter) for letter in what.alphabet)
    return f"alphabet {' '.join(letters)}\n{text}"


def _header(text: str, source: str) -> tuple[tuple[str, ...] | None, str]:
    """The symbols of the alphabet line, if there is one; and the text with that line replaced by spaces."""
    header = TEMPORAL_HEADER.match(text)
    if not header:
        return None, text
    line = text.count("\n", 0, header.end()) + 1
    start = text.rfind("\n", 0, header.start("letters")) + 1
    letters: dict[str, None] = {}
    for match in LETTER.finditer(text, header.start("letters"), header.end("letters")):
        if match["comment"] is not None:
            break
        column = match.start() - start + 1
        try:
            letter = unquoted(match[0], line, column) if match[0][0] in "'\"" else match[0]
            if letter in letters:
                raise Mistake(f"symbol {letter!r} is already in the alphabet", line, column, "list every symbol once")
        except Mistake as error:
            raise error_of(error, text, source) from None
        letters[letter] = None
    blanked = re.sub(r"[^\n]", " ", text[: header.end()])
    return tuple(letters), blanked + text[header.end() :]
