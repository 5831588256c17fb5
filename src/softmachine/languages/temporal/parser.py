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
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, cast

from softmachine.languages.builtin_formats import TEMPORAL_HEADER
from softmachine.languages.linear import LinearExpression, Relation, VariableT
from softmachine.languages.source import check_source_length, default_name
from softmachine.languages.temporal import formula as tl
from softmachine.languages.temporal.formula import (
    Count,
    CountComparison,
    Formula,
    LeftCount,
    NumericalPredicate,
    Position,
    RightCount,
    format_formula,
)
from softmachine.languages.temporal.predicates import RESERVED, predicate_names
from softmachine.languages.temporal.printer import quote_symbol
from softmachine.languages.temporal.structure import Specification, find_symbols
from softmachine.languages.text.diagnostics import (
    DiagnosticRule,
    DiagnosticRules,
    ParserState,
    SyntaxDiagnostic,
    excerpt_lines,
    line_and_column,
)
from softmachine.languages.text.grammar import LinearAstBuilder, load_parser
from softmachine.languages.text.statements import ESCAPES
from softmachine.support.errors import InvalidError, SourceError, SourceLocation
from softmachine.support.text import truncate

if TYPE_CHECKING:
    from lark import Token


UNTERMINATED_QUOTE = "unterminated quote"
SYMBOL_HINT = "write Q_a for the symbol a; quote symbols with characters other than letters and digits, as in '('"
COMPARISON_HINT = "compare counts and numbers, as in #<[Q_a] <= 3; join two comparisons with and"
COUNT_HINT = (
    "write a count as #<[Q_a] or #>[Q_a]; a comment begins at the start of a line or after two spaces, and not with #["
)


def to_source_error(diagnostic: SyntaxDiagnostic, text: str, source: str) -> SourceError:
    """The exception for a syntax error in a text, with an excerpt."""
    place = SourceLocation(source, diagnostic.line, diagnostic.column)
    line, caret = excerpt_lines(place, text.split("\n"))
    message = f"{diagnostic.message}\n    {line.rstrip()}\n    {caret}" if line.strip() else diagnostic.message
    return SourceError(message, place=place, hint=diagnostic.hint)


def unknown_name_diagnostic(token: Token) -> SyntaxDiagnostic:
    """The diagnostic of an unknown name."""
    name = truncate(token)
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
    return SyntaxDiagnostic(f"unknown name {name!r}", *line_and_column(token), hint)


def missing_symbol_diagnostic(token: Token) -> SyntaxDiagnostic:
    """The diagnostic of ``Q_`` without a symbol."""
    return SyntaxDiagnostic("expected a symbol after Q_", *line_and_column(token), SYMBOL_HINT)


def _first_check(stuck: ParserState) -> SyntaxDiagnostic | None:
    """The diagnostic of an empty text, or of an unknown name at the error or before it."""
    previous = stuck.stack[-1] if stuck.stack else None
    if stuck.is_at_end and not stuck.stack:
        return SyntaxDiagnostic("expected a formula", 1, 1, "write, for example, Q_a since Q_b, or #<[Q_a] = 2*#<[Q_b]")
    if previous is not None and previous.type == "BARE_Q":
        return missing_symbol_diagnostic(previous)
    if previous is not None and previous.type == "NAME" and "RPAR" not in stuck.accepted:
        return unknown_name_diagnostic(previous)
    if stuck.token.type == "NAME" and not stuck.accepted & {"NOT", "INTEGER"}:
        return unknown_name_diagnostic(stuck.token)
    return None


def _format_expected(words: list[str]) -> str:
    return "expected " + " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


explain_syntax_error = DiagnosticRules(
    construct="the formula",
    first_check=_first_check,
    unterminated_quote=(UNTERMINATED_QUOTE, SYMBOL_HINT),
    unknown_character="unexpected character {}",
    character_hints={"#": COUNT_HINT, "←": COUNT_HINT, "": SYMBOL_HINT},
    categories={
        "NOT": "a formula",
        "LEFT NAME": "i or a count",
        "LEFT": "a count or a number",
        "INTEGER": "a number",
    },
    terminal_names={
        "AND": "an operator such as 'and'", "RELATION": "a comparison such as '<='", "LPAR": "'('", "LSQB": "'['",
        "COMMA": "','", "RPAR": "')'", "RSQB": "']'", "$END": "the end",
    },
    format_expected=_format_expected,
    rules=(
        DiagnosticRule("RELATION", "", COMPARISON_HINT),
        DiagnosticRule("IMPLIES", "RELATION", "write >= for 'at least'"),
        DiagnosticRule("LEFT RIGHT", "TIMES", "write a product with *, as in 2*#<[Q_a]"),
        DiagnosticRule("$END", "RELATION", COMPARISON_HINT),
    ),
    rules_are_hints=True,
    ending_tokens="$END",
    closing_tokens="RPAR RSQB",
)  # fmt: skip


def parse_quoted(text: str, line: int, column: int) -> str:
    """The symbol inside quotes.

    Raises:
        SyntaxDiagnostic: If a quote is missing, the symbol is empty, or an escape is unknown.
    """
    if text[0] != text[-1] or len(text) < 2:
        raise SyntaxDiagnostic(UNTERMINATED_QUOTE, line, column, SYMBOL_HINT)
    if len(text) == 2:
        raise SyntaxDiagnostic("empty symbol in quotes", line, column, SYMBOL_HINT)
    for match in re.finditer(r"\\(.)", text):
        if match[1] not in ESCAPES:
            hint = "a backslash may be followed by a quote, a backslash, n, r or t"
            raise SyntaxDiagnostic(f"unknown escape {match[0]!r}", line, column + match.start(), hint)
    return re.sub(r"\\(.)", lambda match: ESCAPES[match[1]], text[1:-1])


class FormulaAstBuilder(LinearAstBuilder[VariableT]):
    """AST builder of Boolean combinations of linear comparisons, shared with C-RASP and counter machines."""

    comparison_class: ClassVar[type[tl.LinearComparison[Any]]]
    max_depth: ClassVar[int] = 200
    """Maximum nesting depth of operators. Every level becomes a transformer layer."""
    too_deep_message: ClassVar[tuple[str, str | None]] = (
        f"operators are nested more than {max_depth} deep",
        "chains of and or of or do not count as nesting; split other formulas",
    )
    """Message and hint for a formula that exceeds the maximum."""
    constants: ClassVar[Mapping[str, Formula]] = {"TRUE": tl.TRUE, "FALSE": tl.FALSE}
    operators: ClassVar[Mapping[str, Callable[..., Formula]]] = {
        "NOT": tl.Not, "AND": tl.And, "OR": tl.Or, "IMPLIES": tl.Implies, "IFF": tl.Iff,
    }  # fmt: skip
    """The operators by the names of their terminals."""

    def binary(self, left: Formula, sign: Token, right: Formula) -> Formula:
        """``p -> q``, ``p <-> q`` and the other operators of two formulas."""
        return self.check_depth(sign, self.operators[sign.type](left, right))

    def chain(self, first: Formula, sign: Token, *others: Formula) -> Formula:
        """``p and q and …`` or ``p or q or …``."""
        return self.check_depth(sign, self.operators[sign.type]((first, *others[::2])))

    def unary(self, sign: Token, of: Formula) -> Formula:
        """``not p`` and the other prefix operators."""
        return self.check_depth(sign, self.operators[sign.type](of))

    def constant(self, word: Token) -> Formula:
        """``true``, ``false`` and other words."""
        return self.constants[word.type]

    def comparison(
        self, left: LinearExpression[VariableT], relation: Token, right: LinearExpression[VariableT]
    ) -> Formula:
        """``term <= term``."""
        try:
            compared = self.comparison_class(left, Relation.parse(relation), right)
        except InvalidError as error:
            raise SyntaxDiagnostic(error.problems[0], *line_and_column(relation)) from None
        return self.check_depth(relation, compared)

    def check_depth(self, token: Token, formula: Formula) -> Formula:
        """Check the nesting depth of a formula whose operator is at the token."""
        if formula.depth > self.max_depth:
            message, hint = self.too_deep_message
            raise SyntaxDiagnostic(message, *line_and_column(token), hint)
        return formula


class SymbolAstBuilder(FormulaAstBuilder[VariableT]):
    """AST builder of formulas with symbols, shared with C-RASP."""

    def symbol(self, name: Token) -> Formula:
        """``Q_a``."""
        return tl.Symbol(name.removeprefix("Q_"))

    def quoted(self, text: Token) -> Formula:
        """``'long symbol'``."""
        return tl.Symbol(parse_quoted(str(text), *line_and_column(text)))

    def bare_q(self, token: Token) -> Formula:
        """``Q_`` without a symbol."""
        raise missing_symbol_diagnostic(token)


class TemporalAstBuilder(SymbolAstBuilder[Count]):
    """AST builder of temporal logic with counting."""

    comparison_class = CountComparison
    nonlinear_message = ("a product of two counts is not linear", "multiply a count by a number only, as in 2*#<[Q_a]")
    constants: ClassVar[Mapping[str, Formula]] = {**FormulaAstBuilder.constants, "FIRST": tl.First(), "LAST": tl.Last()}
    operators: ClassVar[Mapping[str, Callable[..., Formula]]] = {
        **FormulaAstBuilder.operators, "PREVIOUS": tl.Previous, "NEXT": tl.Next, "ONCE": tl.Once,
        "HISTORICALLY": tl.Historically, "EVENTUALLY": tl.Eventually, "ALWAYS": tl.Always,
        "SINCE": tl.Since, "STRONG_SINCE": partial(tl.Since, semantics=tl.WitnessSemantics.PAPER),
        "UNTIL": tl.Until, "STRONG_UNTIL": partial(tl.Until, semantics=tl.WitnessSemantics.PAPER),
    }  # fmt: skip

    def stray_name(self, name: Token) -> Formula:
        """A name that is not a formula."""
        raise unknown_name_diagnostic(name)

    def predicate(self, name: Token, of: Position | Count, *parameters: int) -> Formula:
        """``odd(i)`` and the other predicates."""
        try:
            return self.check_depth(name, NumericalPredicate(str(name), of, parameters))
        except InvalidError as error:
            raise SyntaxDiagnostic(
                f"predicate {truncate(name)!r}: {error.problems[0]}", *line_and_column(name)
            ) from None

    def argument(self, number: Token | Count) -> Position | Count:
        """The argument of a predicate."""
        if isinstance(number, LeftCount | RightCount):
            return number
        if number != "i":
            hint = "the argument of a predicate is the position i or a count, as in odd(i) or odd(#<[Q_a])"
            raise SyntaxDiagnostic(f"invalid argument {truncate(number)!r}", *line_and_column(number), hint)
        return Position()

    def count(self, sign: Token, of: Formula) -> Count:
        """``#<[p]`` or ``#>[p]``."""
        return (LeftCount if sign.type == "LEFT" else RightCount)(of)

    def counted(self, count: Count) -> LinearExpression[Count]:
        """A count in a linear expression."""
        return LinearExpression(((1, count),))

    def integer(self, *parts: Token) -> int:
        """A parameter of a predicate."""
        return self.natural(parts[-1]) * (-1 if len(parts) == 2 else 1)


MAX_NAME_LENGTH = 60
ALPHABET_SYMBOL = re.compile(
    r"(?P<comment>(?:(?<=[ \t]{2})|(?<=\t))#.*)|'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[^\s'\"]\S*|\S"
)


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
    check_source_length(text, source, "a formula may have")
    letters, rest = _parse_header(text, source)
    formula = parse_formula(rest, source=source)
    named = find_symbols(formula) if letters is None else letters
    own_name = truncate(format_formula(formula), MAX_NAME_LENGTH)
    return Specification(
        name=name or default_name(source) or own_name,
        formula=formula,
        alphabet=tuple(dict.fromkeys((*named, *alphabet))),
        place=SourceLocation(source),
    )


def parse_formula(text: str, *, source: str = "<string>") -> Formula:
    """Parse a formula.

    Raises:
        SourceError: If the text has a syntax error.
    """
    from lark import UnexpectedInput

    check_source_length(text, source, "a formula may have")
    try:
        return cast("Formula", load_parser("temporal", TemporalAstBuilder).parse(text))
    except UnexpectedInput as error:
        raise to_source_error(explain_syntax_error(error, text), text, source) from None
    except SyntaxDiagnostic as error:
        raise to_source_error(error, text, source) from None


def to_text(formula: Specification | Formula, *, unicode: bool = False) -> str:
    """Format a specification or formula. `parse` is the inverse.

    A line declares the alphabet if it differs from the symbols of the formula.

    Args:
        formula: A specification or a formula.
        unicode: Whether to use ¬ ∧ ∨ → ↔ ⊖ ⊕ and ←# →# instead of words and #< #>.
    """
    if isinstance(formula, Formula):
        return format_formula(formula, unicode=unicode)
    text = format_formula(formula.formula, unicode=unicode)
    if formula.alphabet == find_symbols(formula.formula):
        return text
    letters = (letter if re.fullmatch(r"\w+", letter) else quote_symbol(letter) for letter in formula.alphabet)
    return f"alphabet {' '.join(letters)}\n{text}"


def _parse_header(text: str, source: str) -> tuple[tuple[str, ...] | None, str]:
    """The symbols of the alphabet line, if there is one; and the text with that line replaced by spaces."""
    header = TEMPORAL_HEADER.match(text)
    if not header:
        return None, text
    line = text.count("\n", 0, header.end()) + 1
    start = text.rfind("\n", 0, header.start("letters")) + 1
    letters: dict[str, None] = {}
    for match in ALPHABET_SYMBOL.finditer(text, header.start("letters"), header.end("letters")):
        if match["comment"] is not None:
            break
        column = match.start() - start + 1
        try:
            letter = parse_quoted(match[0], line, column) if match[0][0] in "'\"" else match[0]
            if letter in letters:
                raise SyntaxDiagnostic(
                    f"symbol {letter!r} is already in the alphabet", line, column, "list every symbol once"
                )
        except SyntaxDiagnostic as error:
            raise to_source_error(error, text, source) from None
        letters[letter] = None
    blanked = re.sub(r"[^\n]", " ", text[: header.end()])
    return tuple(letters), blanked + text[header.end() :]
