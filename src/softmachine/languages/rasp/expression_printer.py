"""Printer of operations as expressions of the text form, for programs and for messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Final, TypeAlias

from softmachine.languages.rasp import ir
from softmachine.languages.rasp.ir import ANONYMOUS, Node, Operator, Reduction, Value
from softmachine.languages.text.statements import quote

MAX_SHOWN_LENGTH: Final = 60
MAX_SHOWN_DEPTH: Final = 8

Level: TypeAlias = int
CHOICE, OR, AND, NOT, COMPARISON, SUM, REMAINDER, PRODUCT, UNARY, POWER, UNIT, IN_OR = range(12)
"""Precedence levels, from loose to tight; the last is a context that allows `or`, but not `and`."""
PRECEDENCE: Final[Mapping[Operator, Level]] = {
    Operator.CHOOSE: CHOICE, Operator.OR: OR, Operator.AND: AND, Operator.NOT: NOT,
    **dict.fromkeys(ir.COMPARISONS, COMPARISON), Operator.ADD: SUM, Operator.SUBTRACT: SUM,
    Operator.MULTIPLY: PRODUCT, Operator.DIVIDE: PRODUCT, Operator.FLOOR_DIVIDE: PRODUCT, Operator.MODULO: REMAINDER,
    Operator.NEGATE: UNARY, Operator.POWER: POWER,
}  # fmt: skip
"""Precedence of the operators that are not written as calls."""

OperandFormatter: TypeAlias = Callable[[str, Level], str]
"""Formats an operand for a context of a given precedence level."""


def format_literal(value: Value) -> str:
    """A value as a literal of the text form."""
    return _format_value(value)[0]


def format_node(node: Node, operand: OperandFormatter, level: Level = CHOICE) -> str:
    """Format an operation as an expression.

    Args:
        node: The operation.
        operand: Formatter of operands.
        level: Precedence level of the context; looser expressions are parenthesized.
    """
    text, own = _format_with_level(node, operand)
    fits = own >= level if level is not IN_OR else own == OR or own >= NOT
    return text if fits else f"({text})"


def describe_definition(name: str, nodes: Mapping[str, Node]) -> str:
    """A definition in a message: its name, or its abbreviated expression if it is anonymous."""

    def operand(other: str, level: Level, depth: int = 0) -> str:
        node = nodes.get(other)
        if node is None or not ANONYMOUS.fullmatch(other):
            return other
        if depth == MAX_SHOWN_DEPTH:
            return "…"
        return format_node(node, lambda inner, tight: operand(inner, tight, depth + 1), level)

    text = operand(name, CHOICE)
    return text if len(text) <= MAX_SHOWN_LENGTH else text[: MAX_SHOWN_LENGTH - 2].rstrip() + " …"


def _format_with_level(node: Node, operand: OperandFormatter) -> tuple[str, Level]:
    match node:
        case ir.Tokens() | ir.Indices() | ir.Length():
            return type(node).__name__.lower(), UNIT
        case ir.Constant(value=value):
            return _format_value(value)
        case ir.Apply():
            return _format_apply(node, operand)
        case ir.Table():
            rows = ", ".join(f"{_format_row(values)}: {format_literal(result)}" for values, result in node.rows)
            return _format_call("table", *(operand(name, CHOICE) for name in node.operands), f"{{{rows}}}"), UNIT
        case ir.Select():
            sides = (operand(name, CHOICE) for name in (node.key, node.query))
            return _format_call("select", *sides, node.comparison.value), UNIT
        case ir.SelectPairs():
            pairs = ", ".join(format_literal(pair) for pair in node.pairs)
            return _format_call("select", operand(node.key, CHOICE), operand(node.query, CHOICE), f"[{pairs}]"), UNIT
        case ir.SelectAll():
            return "full_s" if node.selected else "no_s", UNIT
        case ir.Combine(operator=Operator.NOT):
            return f"not {operand(node.selectors[0], UNIT)}", NOT
        case ir.Combine():
            return f" {node.operator.value} ".join(operand(name, NOT) for name in node.selectors), PRECEDENCE[
                node.operator
            ]
        case ir.Aggregate():
            parts = [operand(name, CHOICE) for name in (node.selector, node.values, node.default)]
            how = [] if node.reduction is Reduction.MEAN else [quote(node.reduction.value, '"')]
            return _format_call("aggregate", *parts, *how), UNIT
        case ir.Width():
            return _format_call("selector_width", operand(node.selector, CHOICE)), UNIT
        case ir.Repeat():
            return f"repeat … until {node.result} is unchanged", CHOICE


def _format_apply(node: ir.Apply, operand: OperandFormatter) -> tuple[str, Level]:
    level = PRECEDENCE.get(node.operator)
    if level is None:
        return _format_call(node.operator.value, *(operand(name, CHOICE) for name in node.operands)), UNIT
    if node.operator is Operator.CHOOSE:
        then, condition, otherwise = (operand(name, OR) for name in node.operands)
        return f"{then} if {condition} else {otherwise}", level
    if node.operator in (Operator.NOT, Operator.NEGATE):
        sign = "not " if node.operator is Operator.NOT else "-"
        return sign + operand(node.operands[0], UNIT), level
    left, right = node.operands
    tight, tighter = _OPERAND_LEVELS[level]
    return f"{operand(left, tight)} {node.operator.value} {operand(right, tighter)}", level


_OPERAND_LEVELS: Final[Mapping[Level, tuple[Level, Level]]] = {
    OR: (IN_OR, NOT), AND: (AND, NOT), COMPARISON: (SUM, SUM), SUM: (SUM, REMAINDER), REMAINDER: (UNARY, UNARY),
    PRODUCT: (PRODUCT, UNARY), POWER: (UNIT, UNIT),
}  # fmt: skip
"""Precedence levels of the left and right operand contexts."""


def _format_value(value: Value) -> tuple[str, Level]:
    match value:
        case str():
            return quote(value, '"'), UNIT
        case tuple():
            parts = ", ".join(map(format_literal, value))
            return f"({parts},)" if len(value) == 1 else f"({parts})", UNIT
        case Fraction():
            return str(value), PRODUCT
        case bool() | None:
            return str(value), UNIT
        case _:
            return str(value), UNARY if value < 0 else UNIT


def _format_row(values: tuple[Value, ...]) -> str:
    return format_literal(values[0]) if len(values) == 1 else format_literal(values)


def _format_call(function: str, *arguments: str) -> str:
    return f"{function}({', '.join(arguments)})"
