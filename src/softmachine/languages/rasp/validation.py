"""Structural validation of RASP programs: names, arities, tables, loops, size limits."""

from __future__ import annotations

from collections import Counter
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
    did_you_mean,
)
from softmachine.languages.rasp.values import identity
from softmachine.languages.source import is_symbol, name_problems
from softmachine.languages.text.diagnostics import Problem
from softmachine.support.errors import Place

MOST_DEFINITIONS: Final = 10_000
MOST_ROWS: Final = 1 << 14
"""Maximal number of rows of a table, or of pairs of a selector."""
MOST_LETTERS: Final = 1 << 12
LARGEST_NUMBER: Final = 10**9
"""Maximal absolute value of the numerator and the denominator of a constant."""
DEEPEST_VALUE: Final = 8
SEQUENCE, SELECTOR = "a sequence operator", "a selector"


def kind_of(node: Node) -> str:
    """The kind of an operation, as messages name it."""
    return SELECTOR if isinstance(node, ir.Selector) else SEQUENCE


def shape_problems(definitions: Sequence[Definition], output: str, output_place: Place | None) -> list[Problem]:
    """All structural problems of the definitions and of the output name."""
    if len(definitions) > MOST_DEFINITIONS:
        message = f"it has {len(definitions):,} definitions; at most {MOST_DEFINITIONS:,} are allowed"
        return [Problem(message, definitions[MOST_DEFINITIONS].place)]
    checker = _Checker(frozenset(definition.name for definition in definitions))
    for definition in definitions:
        checker.check(definition, checker.kinds)
    checker.output(output, output_place)
    return checker.problems


def letter_problems(alphabet: Sequence[str], letters: Sequence[Value]) -> Iterator[Problem]:
    """Problems of an alphabet and of the values of its letters."""
    if not alphabet:
        yield Problem("it has no alphabet; add a line: # alphabet: a b c")
    if len(alphabet) > MOST_LETTERS:
        yield Problem(f"its alphabet has {len(alphabet):,} letters; at most {MOST_LETTERS:,} are allowed")
    for letter, times in Counter(alphabet).items():
        if times > 1:
            yield Problem(f"letter {letter!r} is listed {times} times in the alphabet")
        if not isinstance(letter, str) or not is_symbol(letter):
            yield Problem(f"letter {letter!r} of the alphabet is empty or contains whitespace")
    if len(letters) != len(alphabet):
        yield Problem(f"there are values for {len(letters)} letters, but the alphabet has {len(alphabet)}")
    for value in letters:
        if problem := value_problem(value):
            yield Problem(f"the value of a letter is invalid: {problem}")


def value_problem(value: object, depth: int = 0) -> str | None:
    """The problem of a value, or None."""
    match value:
        case None | bool():
            return None
        case str():
            return next(iter(name_problems((value,))), None)
        case int() if abs(value) <= LARGEST_NUMBER:
            return None
        case Fraction(denominator=1):
            return f"{value} is an integer; use an int instead of a Fraction"
        case Fraction() if max(abs(value.numerator), value.denominator) <= LARGEST_NUMBER:
            return None
        case int() | Fraction():
            return f"numbers in a program are at most {LARGEST_NUMBER:,} in size"
        case tuple() if depth == DEEPEST_VALUE:
            return f"tuples are nested at most {DEEPEST_VALUE} levels deep"
        case tuple():
            return next(filter(None, (value_problem(part, depth + 1) for part in value)), None)
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

    def check(self, definition: Definition, kinds: dict[str, str], *, inside: bool = False) -> None:
        """Check one definition, given the kinds of the earlier ones, and record its kind."""
        self._place = definition.place
        self._name(definition.name, kinds)
        node = definition.node
        match node:
            case ir.Constant(value=value):
                self._value(value)
            case ir.Apply():
                self._arity(node)
                self._all(node.operands, SEQUENCE, kinds)
            case ir.Table():
                self._rows(node)
                self._all(node.operands, SEQUENCE, kinds)
            case ir.Select():
                if node.comparison not in COMPARISONS:
                    self._report(f"a selector compares by one of {' '.join(COMPARISONS)}, not by {node.comparison!r}")
                self._all((node.key, node.query), SEQUENCE, kinds)
            case ir.SelectPairs():
                self._pairs(node)
                self._all((node.key, node.query), SEQUENCE, kinds)
            case ir.Combine():
                self._combine(node)
                self._all(node.selectors, SELECTOR, kinds)
            case ir.Aggregate():
                self._all((node.selector,), SELECTOR, kinds)
                self._all((node.values, node.default), SEQUENCE, kinds)
            case ir.Width():
                self._all((node.selector,), SELECTOR, kinds)
            case ir.Repeat() if inside:
                self._report("loops cannot be nested; write one loop with more variables")
            case ir.Repeat():
                self._repeat(node, kinds)
            case _:
                pass
        kinds.setdefault(definition.name, kind_of(node))

    def output(self, name: str, place: Place | None) -> None:
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

    def _name(self, name: str, kinds: Mapping[str, str]) -> None:
        if not NAME.fullmatch(name):
            self._report(f"{name!r} is not a valid name; use letters, digits and _")
        elif name in RESERVED:
            self._report(f"{name!r} is a reserved name; choose another name")
        if name in kinds:
            self._report(f"{name!r} is defined twice; rename the second definition")

    def _all(self, names: Sequence[str], kind: str, kinds: Mapping[str, str]) -> None:
        for name in names:
            found = kinds.get(name)
            if found is None and name in self.names:
                self._report(f"{name!r} is used before it is defined; definitions are evaluated from top to bottom")
            elif found is None:
                hint = did_you_mean(name, kinds) or "define it before this one"
                self._report(f"unknown name {name!r}; {hint}")
            elif found is not kind:
                self._report(f"{name!r} is {found}; expected {kind}")

    def _value(self, value: object) -> None:
        if problem := value_problem(value):
            self._report(problem)

    def _arity(self, node: ir.Apply) -> None:
        if len(node.operands) != ARITY[node.operator]:
            expected = ARITY[node.operator]
            self._report(
                f"{node.operator.value!r} takes {expected} operand{'s' * (expected > 1)}, not {len(node.operands)}"
            )

    def _rows(self, node: ir.Table) -> None:
        if not node.operands:
            self._report("a table has at least one operand")
        if len(node.rows) > MOST_ROWS:
            self._report(f"a table of {len(node.rows):,} rows is too large; at most {MOST_ROWS:,} are allowed")
            return
        results: dict[object, object] = {}
        for values, result in node.rows:
            if len(values) != len(node.operands):
                self._report(f"the row {values!r} has {len(values)} values for {len(node.operands)} operands")
            for value in (*values, result):
                self._value(value)
            if identity(values) in results:
                self._report(f"the table has two rows for {values!r}; remove one")
            results[identity(values)] = result

    def _pairs(self, node: ir.SelectPairs) -> None:
        if len(node.pairs) > MOST_ROWS:
            self._report(f"a selector by {len(node.pairs):,} pairs is too large; at most {MOST_ROWS:,} are allowed")
            return
        for pair in node.pairs:
            self._value(pair)
        if len({identity(pair) for pair in node.pairs}) < len(node.pairs):
            self._report("the same pair of key and query is listed twice")

    def _combine(self, node: ir.Combine) -> None:
        if node.operator is Operator.NOT:
            if len(node.selectors) != 1:
                self._report(f"'not' negates one selector, not {len(node.selectors)}")
        elif node.operator not in (Operator.AND, Operator.OR):
            self._report(f"selectors are combined by and, or and not, but not by {node.operator.value!r}")
        elif len(node.selectors) < 2:
            self._report(f"{node.operator.value!r} combines two or more selectors")

    def _repeat(self, node: ir.Repeat, kinds: dict[str, str]) -> None:
        variables = [name for name, _ in node.variables]
        self._all([start for _, start in node.variables], SEQUENCE, kinds)
        if not variables:
            self._report("a loop has at least one variable")
        if len(node.following) != len(variables):
            self._report(f"a loop of {len(variables)} variables has next values for {len(node.following)} of them")
        if node.result not in variables:
            self._report(f"{node.result!r} is not a variable of the loop ({' '.join(variables)})")
        if len(node.body) > MOST_DEFINITIONS:
            self._report(f"a loop has at most {MOST_DEFINITIONS:,} definitions")
            return
        loop = replace(node, result="")
        if loop in self._loops:  # checked for another variable of the same loop
            return
        self._loops.add(loop)
        place, inner = self._place, dict(kinds)
        for name in variables:
            self._local(name, place)
            self._name(name, inner)
            inner[name] = SEQUENCE
        for step in node.body:
            self._local(step.name, step.place)
            self.check(step, inner, inside=True)
        self._place = place
        self._all(node.following, SEQUENCE, inner)

    def _local(self, name: str, place: Place | None) -> None:
        if name in self.names or name in self._local_names:
            message = f"{name!r} is defined both inside and outside the loop; rename one of them"
            self.problems.append(Problem(message, place))
        self._local_names.add(name)
