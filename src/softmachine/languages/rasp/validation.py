"""Structural validation of RASP programs: names, arities, tables, loops, size limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Final

from softmachine.languages.rasp import ir
from softmachine.languages.rasp.ir import (
    ARITY,
    COMPARISONS,
    NAME,
    RESERVED,
    Definition,
    Node,
    Operator,
    Value,
    suggest_name,
)
from softmachine.languages.rasp.values import identity_key
from softmachine.languages.source import find_name_problems, find_repetitions, is_symbol
from softmachine.languages.text.diagnostics import Problem
from softmachine.support.errors import SourceLocation

MAX_DEFINITIONS: Final = 10_000
MAX_ROWS: Final = 1 << 14
"""Maximal number of rows of a table, or of pairs of a selector."""
MAX_LETTERS: Final = 1 << 12
MAX_NUMBER: Final = 10**9
"""Maximal absolute value of the numerator and the denominator of a constant."""
MAX_TUPLE_DEPTH: Final = 8
SEQUENCE, SELECTOR = "a sequence operator", "a selector"


def describe_kind(node: Node) -> str:
    """The kind of an operation, as messages name it."""
    return SELECTOR if isinstance(node, ir.Selector) else SEQUENCE


def find_structural_problems(
    definitions: Sequence[Definition], output: str, output_place: SourceLocation | None
) -> list[Problem]:
    """All structural problems of the definitions and of the output name."""
    if len(definitions) > MAX_DEFINITIONS:
        message = f"it has {len(definitions):,} definitions; at most {MAX_DEFINITIONS:,} are allowed"
        return [Problem(message, definitions[MAX_DEFINITIONS].place)]
    checker = _Checker(frozenset(definition.name for definition in definitions))
    for definition in definitions:
        checker.check(definition, checker.kinds)
    checker.check_output(output, output_place)
    return checker.problems


def find_letter_problems(alphabet: Sequence[str], letters: Sequence[Value]) -> Iterator[Problem]:
    """Problems of an alphabet and of the values of its letters."""
    if not alphabet:
        yield Problem("it has no alphabet; add a line: # alphabet: a b c")
    if len(alphabet) > MAX_LETTERS:
        yield Problem(f"its alphabet has {len(alphabet):,} letters; at most {MAX_LETTERS:,} are allowed")
    yield from map(Problem, find_repetitions(alphabet))
    for letter in dict.fromkeys(alphabet):
        if not isinstance(letter, str) or not is_symbol(letter):
            yield Problem(f"letter {letter!r} of the alphabet is empty or contains whitespace")
    if len(letters) != len(alphabet):
        yield Problem(f"there are values for {len(letters)} letters, but the alphabet has {len(alphabet)}")
    for value in letters:
        if problem := find_value_problem(value):
            yield Problem(f"the value of a letter is invalid: {problem}")


def find_value_problem(value: object, nesting: int = 0) -> str | None:
    """The problem of a value, or None."""
    match value:
        case None | bool():
            return None
        case str():
            return next(iter(find_name_problems((value,))), None)
        case int() if abs(value) <= MAX_NUMBER:
            return None
        case Fraction(denominator=1):
            return f"{value} is an integer; use an int instead of a Fraction"
        case Fraction() if max(abs(value.numerator), value.denominator) <= MAX_NUMBER:
            return None
        case int() | Fraction():
            return f"numbers in a program are at most {MAX_NUMBER:,} in size"
        case tuple() if nesting == MAX_TUPLE_DEPTH:
            return f"tuples are nested at most {MAX_TUPLE_DEPTH} levels deep"
        case tuple():
            return next(filter(None, (find_value_problem(part, nesting + 1) for part in value)), None)
        case float():
            return f"{value!r} is a float, which is not exact; use a Fraction"
        case _:
            return f"a {type(value).__name__} is not a symbol, a Boolean, a number, None or a tuple of these"


class _Checker:
    """Checks definitions in order and collects problems.

    Args:
        names: The names of all definitions, including later ones.
    """

    def __init__(self, names: frozenset[str]) -> None:
        self.names = names
        self.kinds: dict[str, str] = {}
        self.problems: list[Problem] = []
        self._loops: set[ir.Repeat] = set()
        self._local_names: set[str] = set()

    def check(self, definition: Definition, kinds: dict[str, str], *, in_loop: bool = False) -> None:
        """Check one definition, given the kinds of the earlier ones, and record its kind."""
        self._place = definition.place
        self._check_name(definition.name, kinds)
        node = definition.node
        match node:
            case ir.Constant(value=value):
                self._check_value(value)
            case ir.Apply():
                self._check_arity(node)
                self._check_operands(node.operands, SEQUENCE, kinds)
            case ir.Table():
                self._check_rows(node)
                self._check_operands(node.operands, SEQUENCE, kinds)
            case ir.Select():
                if node.comparison not in COMPARISONS:
                    self._report(f"a selector compares by one of {' '.join(COMPARISONS)}, not by {node.comparison!r}")
                self._check_operands((node.key, node.query), SEQUENCE, kinds)
            case ir.SelectPairs():
                self._check_pairs(node)
                self._check_operands((node.key, node.query), SEQUENCE, kinds)
            case ir.Combine():
                self._check_combine(node)
                self._check_operands(node.selectors, SELECTOR, kinds)
            case ir.Aggregate():
                self._check_operands((node.selector,), SELECTOR, kinds)
                self._check_operands((node.values, node.default), SEQUENCE, kinds)
            case ir.Width():
                self._check_operands((node.selector,), SELECTOR, kinds)
            case ir.Repeat() if in_loop:
                self._report("loops cannot be nested; write one loop with more variables")
            case ir.Repeat():
                self._check_repeat(node, kinds)
            case _:
                pass
        kinds.setdefault(definition.name, describe_kind(node))

    def check_output(self, name: str, place: SourceLocation | None) -> None:
        """Check the output name."""
        self._place = place
        if not name:
            self._report("it has no output; define a sequence operator")
        elif name not in self.kinds:
            self._report(f"the output {name!r} is not defined")
        elif self.kinds[name] is SELECTOR:
            self._report(
                f"the output {name!r} is a selector; it must be a sequence operator, so aggregate with it first"
            )

    def _report(self, message: str) -> None:
        self.problems.append(Problem(message, self._place))

    def _check_name(self, name: str, kinds: Mapping[str, str]) -> None:
        if not NAME.fullmatch(name):
            self._report(f"{name!r} is not a valid name; use letters, digits and _")
        elif name in RESERVED:
            self._report(f"{name!r} is a reserved name; choose another name")
        if name in kinds:
            self._report(f"{name!r} is defined twice; rename the second definition")

    def _check_operands(self, names: Sequence[str], kind: str, kinds: Mapping[str, str]) -> None:
        for name in names:
            found = kinds.get(name)
            if found is None and name in self.names:
                self._report(f"{name!r} is used before it is defined; definitions are evaluated from top to bottom")
            elif found is None:
                hint = suggest_name(name, kinds) or "define it before this one"
                self._report(f"unknown name {name!r}; {hint}")
            elif found is not kind:
                self._report(f"{name!r} is {found}; expected {kind}")

    def _check_value(self, value: object) -> None:
        if problem := find_value_problem(value):
            self._report(problem)

    def _check_arity(self, node: ir.Apply) -> None:
        if len(node.operands) != ARITY[node.operator]:
            expected = ARITY[node.operator]
            self._report(
                f"{node.operator.value!r} takes {expected} operand{'s' * (expected > 1)}, not {len(node.operands)}"
            )

    def _check_rows(self, node: ir.Table) -> None:
        if not node.operands:
            self._report("a table has at least one operand")
        if len(node.rows) > MAX_ROWS:
            self._report(f"a table of {len(node.rows):,} rows is too large; at most {MAX_ROWS:,} are allowed")
            return
        results: dict[object, object] = {}
        for values, result in node.rows:
            if len(values) != len(node.operands):
                self._report(f"the row {values!r} has {len(values)} values for {len(node.operands)} operands")
            for value in (*values, result):
                self._check_value(value)
            if identity_key(values) in results:
                self._report(f"the table has two rows for {values!r}; remove one")
            results[identity_key(values)] = result

    def _check_pairs(self, node: ir.SelectPairs) -> None:
        if len(node.pairs) > MAX_ROWS:
            self._report(f"a selector by {len(node.pairs):,} pairs is too large; at most {MAX_ROWS:,} are allowed")
            return
        for pair in node.pairs:
            self._check_value(pair)
        if len({identity_key(pair) for pair in node.pairs}) < len(node.pairs):
            self._report("the same pair of key and query is listed twice")

    def _check_combine(self, node: ir.Combine) -> None:
        if node.operator is Operator.NOT:
            if len(node.selectors) != 1:
                self._report(f"'not' negates one selector, not {len(node.selectors)}")
        elif node.operator not in (Operator.AND, Operator.OR):
            self._report(f"selectors are combined by and, or and not, but not by {node.operator.value!r}")
        elif len(node.selectors) < 2:
            self._report(f"{node.operator.value!r} combines two or more selectors")

    def _check_repeat(self, node: ir.Repeat, kinds: dict[str, str]) -> None:
        variables = [name for name, _ in node.variables]
        self._check_operands([start for _, start in node.variables], SEQUENCE, kinds)
        if not variables:
            self._report("a loop has at least one variable")
        if len(node.next_values) != len(variables):
            self._report(f"a loop of {len(variables)} variables has next values for {len(node.next_values)} of them")
        if node.result not in variables:
            self._report(f"{node.result!r} is not a variable of the loop ({' '.join(variables)})")
        if len(node.body) > MAX_DEFINITIONS:
            self._report(f"a loop has at most {MAX_DEFINITIONS:,} definitions")
            return
        loop = replace(node, result="")
        if loop in self._loops:  # checked for another variable of the same loop
            return
        self._loops.add(loop)
        place, inner = self._place, dict(kinds)
        for name in variables:
            self._check_local_name(name, place)
            self._check_name(name, inner)
            inner[name] = SEQUENCE
        for step in node.body:
            self._check_local_name(step.name, step.place)
            self.check(step, inner, in_loop=True)
        self._place = place
        self._check_operands(node.next_values, SEQUENCE, inner)

    def _check_local_name(self, name: str, place: SourceLocation | None) -> None:
        if name in self.names or name in self._local_names:
            message = f"{name!r} is defined both inside and outside the loop; rename one of them"
            self.problems.append(Problem(message, place))
        self._local_names.add(name)
