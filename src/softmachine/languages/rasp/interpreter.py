"""Reference interpreter of RASP: exact rationals, every query against every key.

On long inputs it uses grouped aggregation where that gives the same result.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from softmachine.languages.rasp import ir
from softmachine.languages.rasp.builder import distinguished
from softmachine.languages.rasp.grouped_aggregation import Grouped, grouped
from softmachine.languages.rasp.ir import UNDEFINED, Definition, Node, Operator, Selector, SequenceOperator, Undefined
from softmachine.languages.rasp.program import Program
from softmachine.languages.rasp.values import Result, aggregated, apply, identity
from softmachine.support.errors import StuckError

Values: TypeAlias = tuple[Result, ...]
"""The value of a sequence operator at every position."""
Row: TypeAlias = list[int] | Undefined
"""The keys that a query selects, in increasing order."""
LONG: Final = 64
"""Default input length from which grouped aggregation is used."""
MOST_TURNS: Final = 100_000
"""Maximal number of iterations of a loop."""


def evaluate(program: Program, word: str | Iterable[str], *, long: int = LONG) -> dict[str, Values]:
    """The values of all sequence operators of a program on an input, in order of definition.

    Args:
        program: The program.
        word: The input.
        long: Input length from which keys are grouped instead of compared with every query.

    Raises:
        InputError: If a symbol of the word is not in the alphabet.
        StuckError: If a loop does not end.
    """
    letters = program.word(word)
    meanings = dict(zip(program.alphabet, program.letters, strict=True))
    evaluation = _Evaluation(tuple(meanings[letter] for letter in letters), program.causal, long)
    evaluation.compute(program.definitions)
    return evaluation.values


def run(program: Program, word: str | Iterable[str]) -> Values:
    """The output of a program: its value at every position.

    Raises:
        InputError: If a symbol of the word is not in the alphabet.
        StuckError: If a loop does not end.
    """
    return evaluate(program, word)[program.output]


class _Evaluation:
    """The evaluation of a program on one input.

    Args:
        tokens: The values of the input letters.
        causal: Whether selectors see only keys up to the query.
        long: Input length from which keys are grouped.
    """

    def __init__(self, tokens: Values, causal: bool, long: int) -> None:
        self.tokens = tokens
        self.causal = causal
        self.long = long
        self.positions = range(len(tokens))
        self.nodes: dict[str, Node] = {}
        self.values: dict[str, Values] = {}
        self._selected: dict[str, list[Row]] = {}
        self._ends: dict[Hashable, dict[str, Values]] = {}

    def compute(self, definitions: Iterable[Definition]) -> None:
        """Compute definitions in order."""
        for definition in definitions:
            node = self.nodes[definition.name] = definition.node
            if not isinstance(node, ir.Selector):
                self.values[definition.name] = self._sequence(node)

    def _sequence(self, node: SequenceOperator) -> Values:
        match node:
            case ir.Tokens():
                return self.tokens
            case ir.Indices():
                return tuple(self.positions)
            case ir.Length():
                return tuple(len(self._seen(i)) for i in self.positions)
            case ir.Constant(value=value):
                return (value,) * len(self.tokens)
            case ir.Apply():
                return tuple(apply(node.operator, here) for here in self._together(node.operands))
            case ir.Table():
                results = {identity(values): result for values, result in node.rows}
                return tuple(looked_up(results, here) for here in self._together(node.operands))
            case ir.Aggregate():
                return self._aggregate(node)
            case ir.Width():
                groups = self._groups(node.selector, self.positions)
                if groups is not None:
                    return tuple(groups.width(i) for i in self.positions)
                rows = self._rows(node.selector)
                return tuple(UNDEFINED if isinstance(row, Undefined) else len(row) for row in rows)
            case ir.Repeat():
                return self._repeat(node)[node.result]

    def _seen(self, i: int) -> range:
        """The keys visible to the query at position i."""
        return range(i + 1) if self.causal else self.positions

    def _together(self, names: Sequence[str]) -> Iterable[Values]:
        """The values of several sequence operators, zipped by position."""
        return zip(*(self.values[name] for name in names), strict=True)

    def _aggregate(self, node: ir.Aggregate) -> Values:
        values, default = self.values[node.values], self.values[node.default]
        groups = self._groups(node.selector, values)
        if groups is not None:
            return tuple(groups.aggregate(i, node.reduction, default[i]) for i in self.positions)
        rows = self._rows(node.selector)
        return tuple(selected_value(node, rows[i], values, default[i]) for i in self.positions)

    def _groups(self, selector: str, values: Sequence[Result]) -> Grouped | None:
        """The grouped keys of a selector; None for short inputs and selectors that cannot be grouped."""
        if len(self.tokens) < self.long:
            return None
        return grouped(self.nodes[selector], self.nodes, self.values, values, self.causal)  # type: ignore[arg-type]

    def _rows(self, name: str) -> list[Row]:
        """The keys that a selector selects, for each query."""
        if name not in self._selected:
            self._selected[name] = self._compute_rows(self.nodes[name])  # type: ignore[arg-type]
        return self._selected[name]

    def _compute_rows(self, node: Selector) -> list[Row]:
        match node:
            case ir.SelectAll():
                return [list(self._seen(i)) if node.selected else [] for i in self.positions]
            case ir.Select():
                return self._compared(node.key, node.query, lambda key, query: apply(node.comparison, (key, query)))
            case ir.SelectPairs():
                pairs = {identity(pair) for pair in node.pairs}
                return self._compared(node.key, node.query, lambda key, query: is_paired(key, query, pairs))
            case ir.Combine():
                rows = zip(*map(self._rows, node.selectors), strict=True)
                return [combined(node.operator, row, self._seen(i)) for i, row in enumerate(rows)]

    def _compared(self, key: str, query: str, test: Callable[[Result, Result], Result]) -> list[Row]:
        """Compare every query with every visible key; equal queries share one pass over all keys."""
        keys, chosen = self.values[key], dict[Hashable, tuple[list[int], int]]()
        rows: list[Row] = []
        for i, query_value in enumerate(self.values[query]):
            if identity(query_value) not in chosen:
                tests = [test(found, query_value) for found in keys]
                undefined = tests.index(UNDEFINED) if UNDEFINED in tests else len(tests)
                chosen[identity(query_value)] = [j for j, selected in enumerate(tests) if selected is True], undefined
            row, undefined = chosen[identity(query_value)]
            seen = len(self._seen(i))
            rows.append(UNDEFINED if undefined < seen else row[: bisect_right(row, seen - 1)])
        return rows

    def _repeat(self, node: ir.Repeat) -> dict[str, Values]:
        """The final values of the variables of a loop."""
        loop = distinguished(replace(node, result=""))
        if loop not in self._ends:
            if len(self.tokens) < self.long:  # once, instead of in every iteration
                for name in ir.operands(node):
                    if name not in self.values:
                        self._rows(name)
            self._ends[loop] = self._turns(node, {name: self.values[start] for name, start in node.variables})
        return self._ends[loop]

    def _turns(self, node: ir.Repeat, variables: dict[str, Values]) -> dict[str, Values]:
        earlier, remembered = 0, None
        for iteration in range(1, MOST_TURNS + 1):
            following = self._turn(node, variables)
            state, new_state = (tuple(map(identity, entry.values())) for entry in (variables, following))
            if state == new_state:
                return variables
            if new_state == remembered:
                raise StuckError(
                    f"a loop does not end: its state after iteration {iteration} equals that after iteration {earlier}"
                )
            if iteration & (iteration - 1) == 0:  # Brent's cycle detection: remember the state at powers of two
                earlier, remembered = iteration, new_state
            variables = following
        raise StuckError(f"a loop has not ended after {MOST_TURNS:,} iterations")

    def _turn(self, node: ir.Repeat, variables: dict[str, Values]) -> dict[str, Values]:
        inside = _Evaluation(self.tokens, self.causal, self.long)
        inside.nodes = dict(self.nodes)
        inside.values = {**self.values, **variables}
        inside._selected = dict(self._selected)
        inside.compute(node.body)
        return {name: inside.values[new] for (name, _), new in zip(node.variables, node.following, strict=True)}


def looked_up(results: Mapping[Hashable, Result], operands: Values) -> Result:
    """The result of a table, given as a dictionary by the identity of its rows."""
    return UNDEFINED if UNDEFINED in operands else results.get(identity(operands), UNDEFINED)


def is_paired(key: Result, query: Result, pairs: set[Hashable]) -> Result:
    """Whether a key and a query form one of the pairs."""
    return UNDEFINED if UNDEFINED in (key, query) else identity((key, query)) in pairs


def combined(operator: Operator, rows: Sequence[Row], seen: range) -> Row:
    """The visible keys that a combination of selectors selects."""
    sets = [set(row) for row in rows if not isinstance(row, Undefined)]
    if len(sets) < len(rows):
        return UNDEFINED
    if operator is Operator.NOT:
        return [j for j in seen if j not in sets[0]]
    together = set.intersection(*sets) if operator is Operator.AND else set.union(*sets)
    return sorted(together)


def selected_value(node: ir.Aggregate, row: Row, values: Sequence[Result], default: Result) -> Result:
    """The value of an aggregate, given the keys that a query selects."""
    if isinstance(row, Undefined):
        return UNDEFINED
    return aggregated([values[j] for j in row], node.reduction) if row else default
