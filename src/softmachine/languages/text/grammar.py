"""What the grammars of all languages have in common: the kind of parser, and sums."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from softmachine.languages.linear import Linear

if TYPE_CHECKING:
    from lark import Lark


def lalr_parser(grammar: str, *, start: str = "start", builder: object = None) -> Lark:
    """The parser of a grammar.

    Args:
        grammar: In lark's notation.
        start: The name of what a whole text is.
        builder: Makes something of each part as soon as it is found, with a method for each name of the grammar. With
            it in place of trees nothing is recursive, however deep the brackets are.
    """
    # Imported late because not every source needs it.
    from lark import Lark

    options: dict[str, Any] = {"parser": "lalr", "lexer": "basic", "maybe_placeholders": False}
    return Lark(grammar, start=start, transformer=cast("Any", builder), **options)


def signed_sum(parts: Sequence[Any]) -> Linear[Any]:
    """The sum of some terms, with the token of a sign in front of every one but perhaps the first."""
    factor, numbers, constant = 1, [], 0
    for part in parts:
        if not isinstance(part, Linear):
            factor = -1 if part.type == "MINUS" else 1
            continue
        numbers += [(factor * coefficient, number) for coefficient, number in part.terms]
        constant += factor * part.constant
    return Linear(tuple(numbers), constant)
