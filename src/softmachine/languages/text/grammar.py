"""LALR parsers of the text languages, and the AST builder of linear expressions.

The grammar of a language is ``terminals.lark`` followed by the file ``grammar.lark`` in the folder of the language. An
AST builder has one method per grammar rule; its arguments are the children: tokens and results of inner rules.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, ClassVar, Generic, cast

from softmachine.languages.linear import MAX_NUMBER, LinearExpression, VariableT
from softmachine.languages.text.diagnostics import SyntaxDiagnostic, line_and_column

if TYPE_CHECKING:
    from lark import Lark, Token


@cache
def load_parser(language: str, builder: type | None = None) -> Lark:
    """Return the LALR parser of a language.

    Args:
        language: Name of the folder of the language.
        builder: Class of the AST builder, which is called during parsing. Unlike a traversal of the parse tree, this
            needs no recursion, however deep the nesting.
    """
    # Imported here because not every source format needs lark.
    from lark import Lark

    paths = (("terminals.lark",), (language, "grammar.lark"))
    texts = [files("softmachine.languages").joinpath(*path).read_text("utf-8") for path in paths]
    calls = cast("Any", builder and _TransformerAdapter(builder()))
    return Lark("".join(texts), parser="lalr", lexer="basic", maybe_placeholders=False, transformer=calls)


class _TransformerAdapter:
    """Adapter from lark, which passes a list of children, to the methods of a builder."""

    def __init__(self, builder: object) -> None:
        self._builder = builder

    def __getattr__(self, name: str) -> Callable[[list[object]], object]:
        method = getattr(self._builder, name)
        return lambda parts: method(*parts)


class LinearAstBuilder(Generic[VariableT]):
    """AST builder of linear expressions with integer coefficients."""

    too_large_message: ClassVar[tuple[str, str | None]] = ("number too large", "numbers are at most 10^18")
    """Message and hint for a number that exceeds the maximum."""
    nonlinear_message: ClassVar[tuple[str, str]]
    """Message and hint for a product of two non-constant expressions."""

    def term(self, *parts: Token | LinearExpression[VariableT]) -> LinearExpression[VariableT]:
        """A sum of products, each with a sign (optional for the first)."""
        factor, numbers, constant = 1, [], 0
        for part in parts:
            if not isinstance(part, LinearExpression):
                factor = -1 if part.type == "MINUS" else 1
                continue
            numbers += [(factor * coefficient, number) for coefficient, number in part.terms]
            constant += factor * part.constant
        return LinearExpression(tuple(numbers), constant)

    def product(
        self, result: LinearExpression[VariableT], *others: Token | LinearExpression[VariableT]
    ) -> LinearExpression[VariableT]:
        """``2*x``, where at most one factor is not constant."""
        for other in others:
            if not isinstance(other, LinearExpression):
                sign = other
                continue
            if result.terms and other.terms:
                message, hint = self.nonlinear_message
                raise SyntaxDiagnostic(message, *line_and_column(sign), hint)
            result = other.constant * result if result.terms else result.constant * other
            if result.max_abs > MAX_NUMBER:
                raise self._too_large_diagnostic(sign)
        return result

    def number(self, digits: Token) -> LinearExpression[VariableT]:
        """An integer constant in a sum."""
        return LinearExpression((), self.natural(digits))

    def natural(self, digits: Token) -> int:
        """The value of a sequence of digits."""
        # The digits are counted first because the conversion of very long numbers is slow.
        significant = digits.lstrip("0") or "0"
        if len(significant) > len(str(MAX_NUMBER)) or int(significant) > MAX_NUMBER:
            raise self._too_large_diagnostic(digits)
        return int(significant)

    def _too_large_diagnostic(self, token: Token) -> SyntaxDiagnostic:
        message, hint = self.too_large_message
        return SyntaxDiagnostic(message, *line_and_column(token), hint)
