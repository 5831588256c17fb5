"""What the grammars of all languages have in common: the kind of parser, and what makes sums of their parts.

The grammar of a language is the file ``grammar.lark`` in its folder, after ``terminals.lark`` here. A builder has a
method for each name of the grammar, which takes the parts that were found: tokens, and what was made of inner parts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, ClassVar, Generic, cast

from softmachine.languages.linear import LARGEST_NUMBER, Linear, Number
from softmachine.languages.text.mistakes import Mistake, place_of

if TYPE_CHECKING:
    from lark import Lark, Token


@cache
def parser(language: str, builder: type | None = None) -> Lark:
    """The parser of a language.

    Args:
        language: The name of its folder.
        builder: Makes something of each part as soon as it is found. With it in place of trees nothing is recursive,
            however deep the brackets are.
    """
    # Imported late because not every source needs it.
    from lark import Lark

    paths = (("text", "terminals.lark"), (language, "grammar.lark"))
    texts = [files("softmachine.languages").joinpath(*path).read_text("utf-8") for path in paths]
    calls = cast("Any", builder and _Calls(builder()))
    return Lark("".join(texts), parser="lalr", lexer="basic", maybe_placeholders=False, transformer=calls)


class _Calls:
    """A builder as lark calls it: with a list of parts."""

    def __init__(self, builder: object) -> None:
        self._builder = builder

    def __getattr__(self, name: str) -> Callable[[list[object]], object]:
        method = getattr(self._builder, name)
        return lambda parts: method(*parts)


class SumBuilder(Generic[Number]):
    """Makes sums with integer coefficients from their parts."""

    too_large: ClassVar[tuple[str, str | None]] = ("this number is too large", "10^18 is the largest there is")
    """What to say of a number beyond the largest, and what would be right."""
    not_linear: ClassVar[tuple[str, str]]
    """What to say of a product of two sums that are no numbers, and what would be right."""

    def term(self, *parts: Token | Linear[Number]) -> Linear[Number]:
        """A sum, with a sign in front of every product but perhaps the first."""
        factor, numbers, constant = 1, [], 0
        for part in parts:
            if not isinstance(part, Linear):
                factor = -1 if part.type == "MINUS" else 1
                continue
            numbers += [(factor * coefficient, number) for coefficient, number in part.terms]
            constant += factor * part.constant
        return Linear(tuple(numbers), constant)

    def product(self, result: Linear[Number], *others: Token | Linear[Number]) -> Linear[Number]:
        """``2*x``, where all factors but one are numbers."""
        for other in others:
            if not isinstance(other, Linear):
                sign = other
                continue
            if result.terms and other.terms:
                message, hint = self.not_linear
                raise Mistake(message, *place_of(sign), hint)
            result = other.constant * result if result.terms else result.constant * other
            if result.largest > LARGEST_NUMBER:
                raise self._too_large(sign)
        return result

    def number(self, digits: Token) -> Linear[Number]:
        """A number in a sum."""
        return Linear((), self.natural(digits))

    def natural(self, digits: Token) -> int:
        """The number that digits stand for."""
        # Digits are counted before they are read, since reading very many takes long.
        significant = digits.lstrip("0") or "0"
        if len(significant) > len(str(LARGEST_NUMBER)) or int(significant) > LARGEST_NUMBER:
            raise self._too_large(digits)
        return int(significant)

    def _too_large(self, token: Token) -> Mistake:
        message, hint = self.too_large
        return Mistake(message, *place_of(token), hint)
