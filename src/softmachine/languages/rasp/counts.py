"""Pattern matching of integer counts that programs express as means.

A mean times the number of its keys is their sum, as in ``length * aggregate(full_s, x)``. The mean of the indicator of
one selected key is the reciprocal of the number of keys, as in ``1 / aggregate(s, indicator(indices == 0))``.
"""

from __future__ import annotations

from collections.abc import Mapping

from softmachine.languages.rasp import ir
from softmachine.languages.rasp.ir import Node, Operator, Reduction


def match_sum(node: ir.Apply, nodes: Mapping[str, Node], causal: bool) -> ir.Aggregate | None:
    """The mean in a product of a mean and the number of its keys; None if the product has another form."""
    if node.operator is not Operator.MULTIPLY:
        return None
    for average, factor in (node.operands, node.operands[::-1]):
        mean = nodes.get(average)
        if not isinstance(mean, ir.Aggregate) or mean.reduction is not Reduction.MEAN:
            continue
        if is_count_of_selector(factor, mean.selector, nodes, causal):
            return mean
    return None


def is_count_of_selector(name: str, selector: str, nodes: Mapping[str, Node], causal: bool) -> bool:
    """Whether a sequence operator is provably the number of keys that a selector selects."""
    selected = nodes[selector]
    everything = selected == ir.SelectAll()
    match nodes.get(name):
        case ir.Width(selector=counted):
            return counted == selector
        case ir.Length():
            return everything or (causal and _is_prefix(selected, Operator.AT_MOST, nodes))
        case ir.Indices():
            return _is_prefix(selected, Operator.LESS, nodes)
        case ir.Apply(operator=Operator.ADD, operands=operands):
            ends = {nodes.get(operand) for operand in operands}
            before = _is_prefix(selected, Operator.AT_MOST, nodes) or (causal and everything)
            return before and ends == {ir.Indices(), ir.Constant(1)}
        case _:
            return False


def match_counted_selector(node: ir.Apply, nodes: Mapping[str, Node]) -> str | None:
    """The selector counted by the reciprocal of the mean of an indicator of position 0; None for other forms."""
    if node.operator is not Operator.DIVIDE or nodes.get(node.operands[0]) != ir.Constant(1):
        return None
    mean = nodes.get(node.operands[1])
    if not isinstance(mean, ir.Aggregate) or mean.reduction is not Reduction.MEAN:
        return None
    return mean.selector if _is_first_indicator(mean.values, nodes) and _selects_first(mean.selector, nodes) else None


def _is_prefix(selected: Node, comparison: Operator, nodes: Mapping[str, Node]) -> bool:
    if not isinstance(selected, ir.Select) or selected.comparison is not comparison:
        return False
    return nodes.get(selected.key) == nodes.get(selected.query) == ir.Indices()


def _is_first_indicator(name: str, nodes: Mapping[str, Node]) -> bool:
    match nodes.get(name):
        case ir.Apply(operator=Operator.INDICATOR, operands=(inner,)):
            return _is_first_indicator(inner, nodes)
        case ir.Apply(operator=Operator.EQUAL, operands=operands):
            return {nodes.get(operand) for operand in operands} == {ir.Indices(), ir.Constant(0)}
        case _:
            return False


def _selects_first(name: str, nodes: Mapping[str, Node]) -> bool:
    """Whether a selector selects position 0 for every query."""
    match nodes.get(name):
        case ir.SelectAll(selected=selected):
            return selected
        case ir.Select() as selected:
            first = nodes.get(selected.key) == ir.Indices() and nodes.get(selected.query) == ir.Constant(0)
            at_first = first and selected.comparison in (Operator.EQUAL, Operator.AT_MOST)
            return at_first or _is_prefix(selected, Operator.AT_MOST, nodes)
        case ir.Combine(operator=Operator.OR, selectors=names):
            return any(_selects_first(inner, nodes) for inner in names)
        case ir.Combine(operator=Operator.AND, selectors=names):
            return all(_selects_first(inner, nodes) for inner in names)
        case _:
            return False
