"""Reference interpreter of RASP: exact rationals, every query against every key.

On long inputs it uses grouped aggregation where that gives the same result.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from softmachine.languages.rasp import ir
from softmachine.languages.rasp.grouped_aggregation import GroupedKeys, group_keys
from softmachine.languages.rasp.ir import (
    UNDEFINED,
    Definition,
    Node,
    Operator,
    Selector,
    SequenceOperator,
    Undefined,
    structural_key,
)
from softmachine.languages.rasp.program import RaspProgram
from softmachine.languages.rasp.values import PartialValue, apply, identity_key, reduce_values
from softmachine.support.errors import NoNextTokenError

SequenceValues: TypeAlias = tuple[PartialValue, ...]
"""The value of a sequence operator at every position."""
SelectedKeys: TypeAlias = list[int] | Undefined
"""The keys that a query selects, in increasing order."""
MIN_GROUPED_LENGTH: Final = 64
"""Default input length from which grouped aggregation is used."""
MAX_ITERATIONS: Final = 100_000
"""Maximal number of iterations of a loop."""


def evaluate(
    program: RaspProgram, word: str | Iterable[str], *, grouping_length: int = MIN_GROUPED_LENGTH
) -> dict[str, SequenceValues]:
    """The values of all sequence operators of a program on an input, in order of definition.

    Args:
        program: The program.
        word: The input.
        grouping_length: Input length from which keys are grouped instead of compared with every query.

    Raises:
        InputError: If a symbol of the word is not in the alphabet.
        NoNextTokenError: If a loop does not end.
    """
    letters = program.word(word)
    meanings = dict(zip(program.alphabet, program.letters, strict=True))
    evaluation = _Evaluation(tuple(meanings[letter] for letter in letters), program.causal, grouping_length)
    evaluation.compute(program.definitions)
    return evaluation.values


def run(program: RaspProgram, word: str | Iterable[str]) -> SequenceValues:
    """The output of a program: its value at every position.

    Raises:
        InputError: If a symbol of the word is not in the alphabet.
        NoNextTokenError: If a loop does not end.
    """
    return evaluate(program, word)[program.output]


class _Evaluation:
    """The evaluation of a program on one input.

    Args:
        tokens: The values of the input letters.
        causal: Whether selectors see only keys up to the query.
        long: Input length from which keys are grouped.
    """

    def __init__(self, tokens: SequenceValues, causal: bool, long: int) -> None:
        self.tokens = tokens
        self.causal = causal
        self.long = long
        self.positions = range(len(tokens))
        self.nodes: dict[str, Node] = {}
        self.values: dict[str, SequenceValues] = {}
        self._selected: dict[str, list[SelectedKeys]] = {}
        self._ends: dict[Hashable, dict[str, SequenceValues]] = {}

    def compute(self, definitions: Iterable[Definition]) -> None:
        """Compute definitions in order."""
        for definition in definitions:
            node = self.nodes[definition.name] = definition.node
            if not isinstance(node, ir.Selector):
                self.values[definition.name] = self._sequence(node)

    def _sequence(self, node: SequenceOperator) -> SequenceValues:
        match node:
            case ir.Tokens():
                return self.tokens
            case ir.Indices():
                return tuple(self.positions)
            case ir.Length():
                return tuple(len(self._visible_keys(i)) for i in self.positions)
            case ir.Constant(value=value):
                return (value,) * len(self.tokens)
            case ir.Apply():
                return tuple(apply(node.operator, here) for here in self._zip_values(node.operands))
            case ir.Table():
                results = {identity_key(values): result for values, result in node.rows}
                return tuple(lookup_table(results, here) for here in self._zip_values(node.operands))
            case ir.Aggregate():
                return self._aggregate(node)
            case ir.Width():
                groups = self._group_keys(node.selector, self.positions)
                if groups is not None:
                    return tuple(groups.width(i) for i in self.positions)
                rows = self._rows(node.selector)
                return tuple(UNDEFINED if isinstance(row, Undefined) else len(row) for row in rows)
            case ir.Repeat():
                return self._repeat(node)[node.result]

    def _visible_keys(self, i: int) -> range:
        """The keys visible to the query at position i."""
        return range(i + 1) if self.causal else self.positions

    def _zip_values(self, names: Sequence[str]) -> Iterable[SequenceValues]:
        """The values of several sequence operators, zipped by position."""
        return zip(*(self.values[name] for name in names), strict=True)

    def _aggregate(self, node: ir.Aggregate) -> SequenceValues:
        values, default = self.values[node.values], self.values[node.default]
        groups = self._group_keys(node.selector, values)
        if groups is not None:
            return tuple(groups.aggregate(i, node.reduction, default[i]) for i in self.positions)
        rows = self._rows(node.selector)
        return tuple(aggregate_selected(node, rows[i], values, default[i]) for i in self.positions)

    def _group_keys(self, selector: str, values: Sequence[PartialValue]) -> GroupedKeys | None:
        """The grouped keys of a selector; None for short inputs and selectors that cannot be grouped."""
        if len(self.tokens) < self.long:
            return None
        return group_keys(self.nodes[selector], self.nodes, self.values, values, self.causal)  # type: ignore[arg-type]

    def _rows(self, name: str) -> list[SelectedKeys]:
        """The keys that a selector selects, for each query."""
        if name not in self._selected:
            self._selected[name] = self._compute_rows(self.nodes[name])  # type: ignore[arg-type]
        return self._selected[name]

    def _compute_rows(self, node: Selector) -> list[SelectedKeys]:
        match node:
            case ir.SelectAll():
                return [list(self._visible_keys(i)) if node.selected else [] for i in self.positions]
            case ir.Select():
                return self._compare(node.key, node.query, lambda key, query: apply(node.comparison, (key, query)))
            case ir.SelectPairs():
                pairs = {identity_key(pair) for pair in node.pairs}
                return self._compare(node.key, node.query, lambda key, query: is_paired(key, query, pairs))
            case ir.Combine():
                rows = zip(*map(self._rows, node.selectors), strict=True)
                return [combine_selectors(node.operator, row, self._visible_keys(i)) for i, row in enumerate(rows)]

    def _compare(
        self, key: str, query: str, test: Callable[[PartialValue, PartialValue], PartialValue]
    ) -> list[SelectedKeys]:
        """Compare every query with every visible key; equal queries share one pass over all keys."""
        keys, chosen = self.values[key], dict[Hashable, tuple[list[int], int]]()
        rows: list[SelectedKeys] = []
        for i, query_value in enumerate(self.values[query]):
            if identity_key(query_value) not in chosen:
                tests = [test(found, query_value) for found in keys]
                undefined = tests.index(UNDEFINED) if UNDEFINED in tests else len(tests)
                chosen[identity_key(query_value)] = (
                    [j for j, selected in enumerate(tests) if selected is True],
                    undefined,
                )
            row, undefined = chosen[identity_key(query_value)]
            seen = len(self._visible_keys(i))
            rows.append(UNDEFINED if undefined < seen else row[: bisect_right(row, seen - 1)])
        return rows

    def _repeat(self, node: ir.Repeat) -> dict[str, SequenceValues]:
        """The final values of the variables of a loop."""
        loop = structural_key(replace(node, result=""))
        if loop not in self._ends:
            if len(self.tokens) < self.long:  # once, instead of in every iteration
                for name in ir.operands(node):
                    if name not in self.values:
                        self._rows(name)
            self._ends[loop] = self._iterate(node, {name: self.values[start] for name, start in node.variables})
        return self._ends[loop]

    def _iterate(self, node: ir.Repeat, variables: dict[str, SequenceValues]) -> dict[str, SequenceValues]:
        earlier, remembered = 0, None
        for iteration in range(1, MAX_ITERATIONS + 1):
            following = self._iteration(node, variables)
            state, new_state = (tuple(map(identity_key, entry.values())) for entry in (variables, following))
            if state == new_state:
                return variables
            if new_state == remembered:
                raise NoNextTokenError(
                    f"a loop does not end: its state after iteration {iteration} equals that after iteration {earlier}"
                )
            if iteration & (iteration - 1) == 0:  # Brent's cycle detection: remember the state at powers of two
                earlier, remembered = iteration, new_state
            variables = following
        raise NoNextTokenError(f"a loop has not ended after {MAX_ITERATIONS:,} iterations")

    def _iteration(self, node: ir.Repeat, variables: dict[str, SequenceValues]) -> dict[str, SequenceValues]:
        inside = _Evaluation(self.tokens, self.causal, self.long)
        inside.nodes = dict(self.nodes)
        inside.values = {**self.values, **variables}
        inside._selected = dict(self._selected)
        inside.compute(node.body)
        return {name: inside.values[new] for (name, _), new in zip(node.variables, node.next_values, strict=True)}


def lookup_table(results: Mapping[Hashable, PartialValue], operands: SequenceValues) -> PartialValue:
    """The result of a table, given as a dictionary by the identity of its rows."""
    return UNDEFINED if UNDEFINED in operands else results.get(identity_key(operands), UNDEFINED)


def is_paired(key: PartialValue, query: PartialValue, pairs: set[Hashable]) -> PartialValue:
    """Whether a key and a query form one of the pairs."""
    return UNDEFINED if UNDEFINED in (key, query) else identity_key((key, query)) in pairs


def combine_selectors(operator: Operator, rows: Sequence[SelectedKeys], visible: range) -> SelectedKeys:
    """The visible keys that a combination of selectors selects."""
    sets = [set(row) for row in rows if not isinstance(row, Undefined)]
    if len(sets) < len(rows):
        return UNDEFINED
    if operator is Operator.NOT:
        return [j for j in visible if j not in sets[0]]
    together = set.intersection(*sets) if operator is Operator.AND else set.union(*sets)
    return sorted(together)


def aggregate_selected(
    node: ir.Aggregate, row: SelectedKeys, values: Sequence[PartialValue], default: PartialValue
) -> PartialValue:
    """The value of an aggregate, given the keys that a query selects."""
    if isinstance(row, Undefined):
        return UNDEFINED
    return reduce_values([values[j] for j in row], node.reduction) if row else default
