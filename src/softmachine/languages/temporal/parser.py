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

AST builders of formulas. Their methods are named after the rules in grammar.lark.

Syntax diagnostics of formulas.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING, cast

from softmachine.languages.builtin_formats import TEMPORAL_HEADER
from softmachine.languages.linear import Linear, Number, Relation
from softmachine.languages.source import check_size, name_of
from softmachine.languages.temporal import formula as tl
from softmachine.languages.temporal.formula import (
    Comparison,
    Count,
    Formula,
    LeftCount,
    Position,
    Predicate,
    RightCount,
    formula_text,
)
from softmachine.languages.temporal.predicates import RESERVED, predicate_names
from softmachine.languages.temporal.printer import quoted
from softmachine.languages.temporal.specification import Specification
from softmachine.languages.temporal.structure import symbols
from softmachine.languages.text.diagnostics import Case, Explainer, Mistake, Stuck, columns, place_of
from softmachine.languages.text.grammar import SumBuilder, parser
from softmachine.languages.text.statements import ESCAPED
from softmachine.support.errors import InvalidError, Place, SourceError
from softmachine.support.text import clipped

if TYPE_CHECKING:
    from lark import Token


WIDTH = 60
"""Maximum number of characters of the line in an excerpt, on either side of the error."""
QUOTE = "unterminated quote"
SYMBOLS = "write Q_a for the symbol a; quote symbols with characters other than letters and digits, as in '('"
COMPARISONS = "compare counts and numbers, as in #<[Q_a] <= 3; join two comparisons with and"
COUNTS = (
    "write a count as #<[Q_a] or #>[Q_a]; a comment begins at the start of a line or after two spaces, and not with #["
)


def error_of(mistake: Mistake, text: str, source: str) -> SourceError:
    """The exception for a syntax error in a text, with an excerpt."""
    shown = excerpt(text, mistake.line, mistake.column)
    message = f"{mistake.message}\n{shown}" if shown.strip(" \n^") else mistake.message
    return SourceError(message, place=Place(source, mistake.line, mistake.column), hint=mistake.hint)


def excerpt(text: str, line: int, column: int) -> str:
    """The part of a line around a column, and below it a caret at the column."""
    content = text.split("\n")[line - 1].rstrip("\r")
    start, end = max(0, column - 1 - WIDTH), column - 1 + WIDTH
    before = ("…" if start else "") + content[start : column - 1]
    after = content[column - 1 : end] + ("…" if end < len(content) else "")
    # The caret is indented by the width of the text before it in a terminal.
    return f"    {_visible(before + after)}\n    {' ' * sum(map(columns, before))}^"


def _visible(text: str) -> str:
    return "".join(character if character.isprintable() else " " if character == "\t" else "�" for character in text)


def unknown_name(token: Token) -> Mistake:
    """The diagnostic of an unknown name."""
    name = clipped(token)
    close = get_close_matches(name.lower(), [*sorted(RESERVED), *predicate_names()], n=1, cutoff=0.75)
    if name == "i":
        hint = "the position i occurs only in predicates, as in odd(i)"
    elif name in predicate_names():
        hint = f"a predicate takes the position or a count, as in {name}(i) or {name}(#<[Q_a])"
    elif len(name) > 1 and set(name) <= set("YXOHFG"):
        hint = f"put spaces between operators: {' '.join(name)}"
    elif name == "xor":
        hint = "write not (p <-> q) for exclusive or"
    elif close:
        hint = f"did you mean {close[0]}? Write Q_{name} for the symbol {name}"
    else:
        hint = f"write Q_{name} for the symbol {name}"
    return Mistake(f"unknown name {name!r}", *place_of(token), hint)


def bare_q(token: Token) -> Mistake:
    """The diagnostic of ``Q_`` without a symbol."""
    return Mistake("expected a symbol after Q_", *place_of(token), SYMBOLS)


def _no_formula_or_name(stuck: Stuck) -> Mistake | None:
    """The diagnostic of an empty text, or of an unknown name at the error or before it."""
    previous = stuck.stack[-1] if stuck.stack else None
    if stuck.ended and not stuck.stack:
        return Mistake("expected a formula", 1, 1, "write, for example, Q_a since Q_b, or #<[Q_a] = 2*#<[Q_b]")
    if previous is not None and previous.type == "BARE_Q":
        return bare_q(previous)
    if previous is not None and previous.type == "NAME" and "RPAR" not in stuck.accepts:
        return unknown_name(previous)
    if stuck.token.type == "NAME" and not stuck.accepts & {"NOT", "INTEGER"}:
        return unknown_name(stuck.token)
    return None


def _expected(words: list[str]) -> str:
    return "expected " + " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


explain = Explainer(
    whole="the formula",
    first=_no_formula_or_name,
    quote=(QUOTE, SYMBOLS),
    character="unexpected character {}",
    character_hints={"#": COUNTS, "←": COUNTS, "": SYMBOLS},
    kinds={
        "NOT": "a formula",
        "LEFT NAME": "i or a count",
        "LEFT": "a count or a number",
        "INTEGER": "a number",
    },
    spelled={
        "AND": "an operator such as 'and'", "RELATION": "a comparison such as '<='", "LPAR": "'('", "LSQB": "'['",
        "COMMA": "','", "RPAR": "')'", "RSQB": "']'", "$END": "the end",
    },
    expected=_expected,
    cases=(
        Case("RELATION", "", COMPARISONS),
        Case("IMPLIES", "RELATION", "write >= for 'at least'"),
        Case("LEFT RIGHT", "TIMES", "write a product with *, as in 2*#<[Q_a]"),
        Case("$END", "RELATION", COMPARISONS),
    ),
    as_hints=True,
    ending="$END",
    closing="RPAR RSQB",
)  # fmt: skip


DEEPEST = 200
"""Maximum nesting depth of operators. Every level becomes a transformer layer."""

CONSTANTS = {"TRUE": tl.TRUE, "FALSE": tl.FALSE, "FIRST": tl.First(), "LAST": tl.Last()}
UNARY = {
    "NOT": tl.Not, "PREVIOUS": tl.Previous, "NEXT": tl.Next, "ONCE": tl.Once, "HISTORICALLY": tl.Historically,
    "EVENTUALLY": tl.Eventually, "ALWAYS": tl.Always,
}  # fmt: skip
TEMPORAL = {
    "SINCE": (tl.Since, tl.Reading.STANDARD), "STRONG_SINCE": (tl.Since, tl.Reading.PAPER),
    "UNTIL": (tl.Until, tl.Reading.STANDARD), "STRONG_UNTIL": (tl.Until, tl.Reading.PAPER),
}  # fmt: skip


def unquoted(text: str, line: int, column: int) -> str:
    """The symbol inside quotes.

    Raises:
        Mistake: If a quote is missing, the symbol is empty, or an escape is unknown.
    """
    if text[0] != text[-1] or len(text) < 2:
        raise Mistake(QUOTE, line, column, SYMBOLS)
    if len(text) == 2:
        raise Mistake("empty symbol in quotes", line, column, SYMBOLS)
    for match in re.finditer(r"\\(.)", text):
        if match[1] not in ESCAPED:
            hint = "a backslash may be followed by a quote, a backslash, n, r or t"
            raise Mistake(f"unknown escape {match[0]!r}", line, column + match.start(), hint)
    return re.sub(r"\\(.)", lambda match: ESCAPED[match[1]], text[1:-1])


class FormulaBuilder(SumBuilder[Number]):
    """AST builder of symbols, Boolean connectives and linear expressions, shared with C-RASP."""

    def iff(self, left: Formula, sign: Token, right: Formula) -> Formula:
        """``p <-> q``."""
        return at(sign, tl.Iff(left, right))

    def implies(self, left: Formula, sign: Token, right: Formula) -> Formula:
        """``p -> q``."""
        return at(sign, tl.Implies(left, right))

    def or_(self, first: Formula, sign: Token, *others: Formula) -> Formula:
        """``p or q or …``."""
        return at(sign, tl.Or((first, *others[::2])))

    def and_(self, first: Formula, sign: Token, *others: Formula) -> Formula:
        """``p and q and …``."""
        return at(sign, tl.And((first, *others[::2])))

    def unary(self, sign: Token, of: Formula) -> Formula:
        """``not p`` and the other prefix operators."""
        return at(sign, UNARY[sign.type](of))

    def symbol(self, name: Token) -> Formula:
        """``Q_a``."""
        return tl.Symbol(name.removeprefix("Q_"))

    def quoted(self, text: Token) -> Formula:
        """``'long symbol'``."""
        return tl.Symbol(unquoted(str(text), *place_of(text)))

    def constant(self, word: Token) -> Formula:
        """``true``, ``false``, ``first`` or ``last``."""
        return CONSTANTS[word.type]

    def bare_q(self, token: Token) -> Formula:
        """``Q_`` without a symbol."""
        raise bare_q(token)


class Builder(FormulaBuilder[Count]):
    """AST builder of temporal logic with counting."""

    not_linear = ("a product of two counts is not linear", "multiply a count by a number only, as in 2*#<[Q_a]")

    def temporal(self, left: Formula, sign: Token, right: Formula) -> Formula:
        """``p since q`` and ``p until q``, also with ``!``."""
        kind, reading = TEMPORAL[sign.type]
        return at(sign, kind(left, right, reading))

    def stray_name(self, name: Token) -> Formula:
        """A name that is not a formula."""
        raise unknown_name(name)

    def comparison(self, left: Linear[Count], relation: Token, right: Linear[Count]) -> Formula:
        """``term <= term``."""
        return at(relation, Comparison(left, Relation.written(relation), right))

    def predicate(self, name: Token, of: Position | Count, *parameters: int) -> Formula:
        """``odd(i)`` and the other predicates."""
        try:
            return at(name, Predicate(str(name), of, parameters))
        except InvalidError as error:
            raise Mistake(f"predicate {clipped(name)!r}: {error.problems[0]}", *place_of(name)) from None

    def argument(self, number: Token | Count) -> Position | Count:
        """The argument of a predicate."""
        if isinstance(number, LeftCount | RightCount):
            return number
        if number != "i":
            hint = "the argument of a predicate is the position i or a count, as in odd(i) or odd(#<[Q_a])"
            raise Mistake(f"invalid argument {clipped(number)!r}", *place_of(number), hint)
        return Position()

    def count(self, sign: Token, of: Formula) -> Count:
        """``#<[p]`` or ``#>[p]``."""
        return (LeftCount if sign.type == "LEFT" else RightCount)(of)

    def counted(self, count: Count) -> Linear[Count]:
        """A count in a linear expression."""
        return Linear(((1, count),))

    def integer(self, *parts: Token) -> int:
        """A parameter of a predicate."""
        return self.natural(parts[-1]) * (-1 if len(parts) == 2 else 1)


def at(token: Token, formula: Formula) -> Formula:
    """Check the nesting depth of a formula whose operator is at the token."""
    if formula.depth > DEEPEST:
        hint = "chains of and or of or do not count as nesting; split other formulas"
        raise Mistake(f"operators are nested more than {DEEPEST} deep", *place_of(token), hint)
    return formula


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
