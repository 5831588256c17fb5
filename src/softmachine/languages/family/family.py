"""Circuit families C₁, C₂, …, given by rules with indices, and the language that a family recognises.

A rule generates one gate for all values of its indices, which range between bounds that depend on n. Kinds and
arguments of gates are determined by arithmetic on numbers of O(log n) bits, so a logspace machine prints C_n and
decides its direct connection language: families are L-uniform by construction.

Bounds, conditions and arguments are integer expressions over n and indices: sums, products, floor quotients,
remainders, powers, logarithms. Every value has O(log n) bits and is computable in O(log n) space, which makes a family
uniform.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from softmachine.languages.circuit import Circuit, Gate, GateKind, evaluate
from softmachine.languages.source import WordSource, find_name_problems
from softmachine.support.errors import InputError, InvalidError, SourceLocation

MAX_VALUE = 1 << 48
"""Maximum absolute value of an expression."""


@dataclass(frozen=True)
class Numeral:
    """An integer literal."""

    value: int

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True)
class Variable:
    """The input length n, or an index."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class BinaryOperation:
    """A binary operation: + - * / % ^."""

    sign: str
    left: Expression
    right: Expression

    def __str__(self) -> str:
        level = PRECEDENCE[self.sign]
        left = _parenthesise(self.left, level)
        space = "" if self.sign == "^" else " "
        return f"{left}{space}{self.sign}{space}{_parenthesise(self.right, level + 1)}"


@dataclass(frozen=True)
class Log:
    """⌈log₂ x⌉, and 0 for x ≤ 1."""

    argument: Expression

    def __str__(self) -> str:
        return f"log({self.argument})"


Expression = Numeral | Variable | BinaryOperation | Log
PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2, "%": 2, "^": 3}
"""Operator precedence: higher binds tighter."""


@dataclass(frozen=True)
class ExpressionComparison:
    """A comparison of two expressions: = != < <= > >=."""

    relation: str
    left: Expression
    right: Expression

    def __str__(self) -> str:
        return f"{self.left} {self.relation} {self.right}"

    def holds(self, values: Mapping[str, int]) -> bool:
        """Whether the comparison is true for these values of the variables."""
        return COMPARISONS[self.relation](
            evaluate_expression(self.left, values), evaluate_expression(self.right, values)
        )


COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "=": int.__eq__, "!=": int.__ne__, "<": int.__lt__, "<=": int.__le__, ">": int.__gt__, ">=": int.__ge__,
}  # fmt: skip


def evaluate_expression(expression: Expression, values: Mapping[str, int]) -> int:
    """Evaluate an expression.

    Raises:
        InputError: If a divisor is 0, an exponent is negative, or a number is too large.
    """
    match expression:
        case Numeral(number):
            return number
        case Variable(name):
            return values[name]
        case Log(of):
            return max(evaluate_expression(of, values) - 1, 0).bit_length()
        case BinaryOperation(sign, left, right):
            found = _apply(sign, evaluate_expression(left, values), evaluate_expression(right, values), expression)
    if abs(found) > MAX_VALUE:
        raise InputError(f"{expression} is {found:,}; numbers of a family are at most {MAX_VALUE:,}")
    return found


def find_variables(expression: Expression) -> set[str]:
    """The names of the variables of an expression."""
    match expression:
        case Variable(name):
            return {name}
        case BinaryOperation(_, left, right):
            return find_variables(left) | find_variables(right)
        case Log(of):
            return find_variables(of)
    return set()


def _apply(sign: str, left: int, right: int, whole: Expression) -> int:
    if sign in "/%" and right == 0:
        raise InputError(f"{whole} divides by 0", hint="a range or a condition should leave this case out")
    if sign == "^" and not (0 <= right <= 64 and abs(left) <= 1 << 32):
        raise InputError(f"{whole} is {left}^{right}; exponents are between 0 and 64, and bases are small")
    operations: dict[str, Callable[[int, int], int]] = {
        "+": int.__add__, "-": int.__sub__, "*": int.__mul__, "/": int.__floordiv__, "%": int.__mod__, "^": pow,
    }  # fmt: skip
    return operations[sign](left, right)


def _parenthesise(part: Expression, level: int) -> str:
    inner = PRECEDENCE[part.sign] if isinstance(part, BinaryOperation) else 9
    return f"({part})" if inner < level else str(part)


MAX_ENUMERATED = 1 << 16
"""Maximum total number of index values enumerated while a circuit is built."""
KINDS = (GateKind.AND, GateKind.OR, GateKind.NOT, GateKind.THR)
INPUT_NAME, LENGTH_NAME = "x", "n"
"""Names of the inputs and of their number."""


@dataclass
class EnumerationBudget:
    """Counter of enumerated index values, which bounds the work that a source can cause."""

    family: str
    length: int
    spent: int = 0

    def spend(self) -> None:
        """Count one more value.

        Raises:
            InputError: If there are more than `MAX_ENUMERATED`.
        """
        self.spent += 1
        if self.spent > MAX_ENUMERATED:
            raise InputError(
                f"the circuit of family {self.family!r} for {self.length} inputs takes more than {MAX_ENUMERATED:,} "
                f"values of "
                "indices, gates and arguments",
                hint="give a shorter word",
            )


@dataclass(frozen=True)
class IndexRange:
    """An index and its bounds, both inclusive."""

    index: str
    first: Expression
    last: Expression

    def __str__(self) -> str:
        return f"{self.index} in {self.first}..{self.last}"


@dataclass(frozen=True)
class IndexedWire:
    """An indexed wire; as an argument, possibly a list of wires over further indices.

    Args:
        name: The name of the wires; x for inputs.
        indices: The index expressions.
        ranges: Ranges of a list of wires.
        conditions: Conditions on the indices of a list.
    """

    name: str
    indices: tuple[Expression, ...]
    ranges: tuple[IndexRange, ...] = ()
    conditions: tuple[ExpressionComparison, ...] = ()

    def __str__(self) -> str:
        inner = f"({', '.join(map(str, self.indices))})" if self.indices else ""
        wire = f"{self.name}{inner}"
        return f"[{wire}{format_bounds(self.ranges, self.conditions)}]" if self.ranges else wire

    def wire_name(self, values: Mapping[str, int]) -> str:
        """The name of the wire."""
        numbers = ",".join(str(evaluate_expression(index, values)) for index in self.indices)
        return f"{self.name}({numbers})" if self.indices else self.name

    def wire_names(self, values: Mapping[str, int], budget: EnumerationBudget) -> Iterator[str]:
        """Yield the names of all wires of a list."""
        for all_values in assignments(self.ranges, self.conditions, values, budget):
            yield self.wire_name(all_values)


@dataclass(frozen=True)
class Rule:
    """A rule that generates one gate for each assignment of its indices.

    Args:
        wire: The wire that each gate drives.
        kind: AND, OR, NOT or THR.
        arguments: The wires that each gate reads.
        threshold: The threshold, for THR only.
        ranges: The indices and their bounds.
        conditions: Conditions on the indices.
        place: Location in the source.
    """

    wire: IndexedWire
    kind: GateKind
    arguments: tuple[IndexedWire, ...]
    threshold: Expression | None = None
    ranges: tuple[IndexRange, ...] = ()
    conditions: tuple[ExpressionComparison, ...] = ()
    place: SourceLocation | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        threshold = f"({self.threshold})" if self.threshold is not None else ""
        arguments = " ".join(map(str, self.arguments))
        return f"{self.wire} = {self.kind}{threshold} {arguments}{format_bounds(self.ranges, self.conditions)}"

    def generate_gates(self, values: Mapping[str, int], budget: EnumerationBudget) -> Iterator[Gate]:
        """Yield the gates of the rule."""
        for all_values in assignments(self.ranges, self.conditions, values, budget):
            inputs = tuple(wire for argument in self.arguments for wire in argument.wire_names(all_values, budget))
            threshold = None if self.threshold is None else evaluate_expression(self.threshold, all_values)
            yield Gate(self.wire.wire_name(all_values), self.kind, inputs, threshold, self.place)


def format_bounds(ranges: tuple[IndexRange, ...], conditions: tuple[ExpressionComparison, ...]) -> str:
    """Format ranges and conditions as source text."""
    over = f" for {', '.join(map(str, ranges))}" if ranges else ""
    return over + (f" if {' and '.join(map(str, conditions))}" if conditions else "")


def assignments(
    ranges: tuple[IndexRange, ...],
    conditions: tuple[ExpressionComparison, ...],
    values: Mapping[str, int],
    budget: EnumerationBudget,
) -> Iterator[Mapping[str, int]]:
    """Yield the assignments of the variables that extend ``values`` over the ranges and satisfy the conditions."""
    if ranges:
        first, last = evaluate_expression(ranges[0].first, values), evaluate_expression(ranges[0].last, values)
        for number in range(first, last + 1):
            budget.spend()
            yield from assignments(ranges[1:], conditions, {**values, ranges[0].index: number}, budget)
    elif all(condition.holds(values) for condition in conditions):
        yield values


@dataclass(frozen=True, kw_only=True)
class CircuitFamily(WordSource):
    """A uniform circuit family over AND, OR, NOT and THR, which recognises words over 0 and 1 of any length.

    Args:
        name: Name of the family.
        exponent: d: the circuits have depth O(log^d n).
        max_depth: Upper bound on the depth of C_n, if the source declares one; c log^d n in Lemma C.2 of "Revisiting
            Padded Transformer Expressivity".
        rules: The rules that generate the gates.
        output: The wire that is 1 if the word is accepted.
        place: Location in the source.
    """

    language: ClassVar[str] = "family"
    default_input: ClassVar[tuple[str, ...]] = ("1", "0", "1")
    name: str
    exponent: int
    rules: tuple[Rule, ...]
    output: IndexedWire
    max_depth: Expression | None = None
    alphabet: tuple[str, ...] = field(default=("0", "1"), init=False, repr=False)
    place: SourceLocation | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        problems = find_name_problems((self.name,)) or list(_find_problems(self))
        if problems:
            raise InvalidError(f"family {self.name!r}", problems, place=self.place)

    @property
    def has_threshold_gates(self) -> bool:
        """Whether it has threshold gates (TC^d rather than AC^d)."""
        return any(rule.kind is GateKind.THR for rule in self.rules)

    def circuit(self, length: int) -> Circuit:
        """C_n: the circuit for words of a length, its gates in the order of the rules.

        Raises:
            InputError: If the length is 0, the circuit is too large, or an expression has no value.
            InvalidError: If the gates do not form a valid circuit.
        """
        if length < 1:
            raise InputError(f"family {self.name!r} has no circuit for the empty word", hint="C₁ is the first one")
        values, effort = {LENGTH_NAME: length}, EnumerationBudget(self.name, length)
        gates = tuple(gate for rule in self.rules for gate in rule.generate_gates(values, effort))
        inputs = tuple(f"{INPUT_NAME}({k})" for k in range(length))
        name = f"{self.name}-{length}"
        outputs = (self.output.wire_name(values),)
        circuit = Circuit(name=name, inputs=inputs, gates=gates, outputs=outputs, place=self.place)
        if self.max_depth is not None and circuit.depth > evaluate_expression(self.max_depth, values):
            raise InputError(
                f"the circuit of family {self.name!r} for {length} inputs has depth {circuit.depth}, which is more "
                f"than {self.max_depth}"
            )
        return circuit

    def depth(self, length: int) -> int:
        """The depth of C_n: the declared bound, or else the exact depth."""
        return (
            self.circuit(length).depth
            if self.max_depth is None
            else evaluate_expression(self.max_depth, {LENGTH_NAME: length})
        )

    def accepts(self, word: Iterable[str]) -> bool:
        """Whether the circuit for words of this length outputs 1."""
        symbols = self.word(word)
        return evaluate(self.circuit(len(symbols)), symbols) == "1"

    def __str__(self) -> str:
        kind = "TC" if self.has_threshold_gates else "AC"
        return f"family {self.name}: {kind} circuits of depth O(log^{self.exponent} n), {len(self.rules)} rules"


def _find_problems(family: CircuitFamily) -> Iterator[str]:
    """All problems of a definition that do not depend on n, one sentence each."""
    if not 1 <= family.exponent <= 4:
        yield f"depth log^{family.exponent}: the exponent is between 1 and 4"
    for name in sorted((find_variables(family.max_depth) if family.max_depth else set()) - {LENGTH_NAME}):
        yield f"the depth: {name} is not defined"
    known = {rule.wire.name for rule in family.rules} | {INPUT_NAME}
    yield from _unknown_names(family.output, {LENGTH_NAME}, known, "the output")
    for rule in family.rules:
        where = f"the rule of {rule.wire.name}" + (f" ({rule.place})" if rule.place else "")
        bound = {LENGTH_NAME}
        yield from _range_problems(rule.ranges, rule.conditions, bound, where)
        if rule.wire.name == INPUT_NAME:
            yield f"{where}: {INPUT_NAME} is the name of the inputs; give the gate another name"
        if (rule.kind is GateKind.THR) is (rule.threshold is None):
            yield f"{where}: THR takes a threshold, as in THR(n/2 + 1); other gates do not"
        if rule.kind not in KINDS:
            yield f"{where}: {rule.kind} is not one of {' '.join(map(str, KINDS))}"
        if not rule.arguments:
            yield f"{where}: a gate has at least one argument"
        for name in sorted((find_variables(rule.threshold) if rule.threshold else set()) - bound):
            yield f"{where}: {name} is not defined"
        for part in (rule.wire, *rule.arguments):
            yield from _unknown_names(part, bound, known, where)


def _unknown_names(part: IndexedWire, bound: set[str], known: set[str], where: str) -> Iterator[str]:
    inner = set(bound)
    yield from _range_problems(part.ranges, part.conditions, inner, where)
    if part.name not in known:
        yield f"{where}: there is no rule for {part.name}"
    for name in sorted(set().union(*map(find_variables, part.indices)) - inner):
        yield f"{where}: {name} is not defined"


def _range_problems(
    ranges: tuple[IndexRange, ...], conditions: tuple[ExpressionComparison, ...], bound: set[str], where: str
) -> Iterator[str]:
    """Yield problems of ranges and conditions; adds the indices to ``bound``."""
    for item in ranges:
        for name in sorted((find_variables(item.first) | find_variables(item.last)) - bound):
            yield f"{where}: {name} is not defined"
        if item.index in bound:
            yield f"{where}: {item.index} is already defined"
        bound.add(item.index)
    for condition in conditions:
        for name in sorted((find_variables(condition.left) | find_variables(condition.right)) - bound):
            yield f"{where}: {name} is not defined"
