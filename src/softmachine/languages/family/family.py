"""Families of circuits C₁, C₂, …, given by rules with indices, and the language that a family recognises.

A rule makes gates for all values of its indices, which run between bounds that depend on n. Which gate has which kind
and which arguments is said by arithmetic on numbers of O(log n) bits, so that a machine with logarithmic space prints
C_n, and decides its direct connection language: families are L-uniform by the way they are written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from softmachine.languages.circuit import Circuit, Gate, GateKind, evaluate
from softmachine.languages.family.expressions import Comparison, Expression, value, variables
from softmachine.languages.source import OfWords, name_problems
from softmachine.support.errors import InputError, InvalidError, Place

MOST = 1 << 16
"""So many values may indices take, together, while a circuit is made."""
KINDS = (GateKind.AND, GateKind.OR, GateKind.NOT, GateKind.THR)
INPUT, LENGTH = "x", "n"
"""The name of the inputs, and of their number."""


@dataclass
class Effort:
    """How many values indices have taken, so that a text cannot keep anybody busy forever."""

    family: str
    length: int
    spent: int = 0

    def spend(self) -> None:
        """One more.

        Raises:
            InputError: If there are too many.
        """
        self.spent += 1
        if self.spent > MOST:
            raise InputError(
                f"the circuit of family {self.family!r} for {self.length} inputs takes more than {MOST:,} values of "
                "indices, gates and arguments",
                hint="give a shorter word",
            )


@dataclass(frozen=True)
class Range:
    """An index, and the bounds between which it runs, both included."""

    index: str
    first: Expression
    last: Expression

    def __str__(self) -> str:
        return f"{self.index} in {self.first}..{self.last}"


@dataclass(frozen=True)
class Indexed:
    """A wire with indices; as an argument perhaps one for all values of further indices.

    Args:
        name: The name of the wires; x for inputs.
        indices: Which of them.
        ranges: Indices of its own.
        conditions: For which values.
    """

    name: str
    indices: tuple[Expression, ...]
    ranges: tuple[Range, ...] = ()
    conditions: tuple[Comparison, ...] = ()

    def __str__(self) -> str:
        inner = f"({', '.join(map(str, self.indices))})" if self.indices else ""
        wire = f"{self.name}{inner}"
        return f"[{wire}{bounds_text(self.ranges, self.conditions)}]" if self.ranges else wire

    def wire(self, values: Mapping[str, int]) -> str:
        """The name of the wire."""
        numbers = ",".join(str(value(index, values)) for index in self.indices)
        return f"{self.name}({numbers})" if self.indices else self.name

    def wires(self, values: Mapping[str, int], effort: Effort) -> Iterator[str]:
        """The names of all wires that it stands for."""
        for all_values in assignments(self.ranges, self.conditions, values, effort):
            yield self.wire(all_values)


@dataclass(frozen=True)
class Rule:
    """Gates of one kind, one for all values of some indices.

    Args:
        wire: The wire of each.
        kind: AND, OR, NOT or THR.
        arguments: What each reads.
        at_least: Of THR: how many ones it asks for.
        ranges: The indices.
        conditions: For which values.
        place: Where it is written.
    """

    wire: Indexed
    kind: GateKind
    arguments: tuple[Indexed, ...]
    at_least: Expression | None = None
    ranges: tuple[Range, ...] = ()
    conditions: tuple[Comparison, ...] = ()
    place: Place | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        asked = f"({self.at_least})" if self.at_least is not None else ""
        arguments = " ".join(map(str, self.arguments))
        return f"{self.wire} = {self.kind}{asked} {arguments}{bounds_text(self.ranges, self.conditions)}"

    def gates(self, values: Mapping[str, int], effort: Effort) -> Iterator[Gate]:
        """All its gates."""
        for all_values in assignments(self.ranges, self.conditions, values, effort):
            inputs = tuple(wire for argument in self.arguments for wire in argument.wires(all_values, effort))
            asked = None if self.at_least is None else value(self.at_least, all_values)
            yield Gate(self.wire.wire(all_values), self.kind, inputs, asked, self.place)


def bounds_text(ranges: tuple[Range, ...], conditions: tuple[Comparison, ...]) -> str:
    """Ranges and conditions, as they are written."""
    over = f" for {', '.join(map(str, ranges))}" if ranges else ""
    return over + (f" if {' and '.join(map(str, conditions))}" if conditions else "")


def assignments(
    ranges: tuple[Range, ...], conditions: tuple[Comparison, ...], values: Mapping[str, int], effort: Effort
) -> Iterator[Mapping[str, int]]:
    """The values of all variables, for all values of some indices that fulfil conditions."""
    if ranges:
        first, last = value(ranges[0].first, values), value(ranges[0].last, values)
        for number in range(first, last + 1):
            effort.spend()
            yield from assignments(ranges[1:], conditions, {**values, ranges[0].index: number}, effort)
    elif all(condition.holds(values) for condition in conditions):
        yield values


@dataclass(frozen=True, kw_only=True)
class Family(OfWords):
    """A uniform family of circuits over AND, OR, NOT and THR, which recognises words over 0 and 1 of any length.

    Args:
        name: What people call it.
        exponent: d: the circuits have depth O(log^d n).
        deepest: How deep C_n is at most, if the family says so: what Lemma C.2 calls c log^d n.
        rules: What makes the gates.
        output: The wire that says whether a word is accepted.
        place: Where it was defined.
    """

    language: ClassVar[str] = "family"
    default_input: ClassVar[tuple[str, ...]] = ("1", "0", "1")
    name: str
    exponent: int
    rules: tuple[Rule, ...]
    output: Indexed
    deepest: Expression | None = None
    alphabet: tuple[str, ...] = field(default=("0", "1"), init=False, repr=False)
    place: Place | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        problems = name_problems((self.name,)) or list(_problems(self))
        if problems:
            raise InvalidError(f"family {self.name!r}", problems, place=self.place)

    @property
    def counts(self) -> bool:
        """Whether it has threshold gates: TC^d and not AC^d."""
        return any(rule.kind is GateKind.THR for rule in self.rules)

    def circuit(self, length: int) -> Circuit:
        """C_n: the circuit for words of a length, its gates in the order of the rules.

        Raises:
            InputError: If the length is 0, the circuit is too large, or an expression has no value.
            InvalidError: If the gates are no circuit.
        """
        if length < 1:
            raise InputError(f"family {self.name!r} has no circuit for the empty word", hint="C₁ is the first one")
        values, effort = {LENGTH: length}, Effort(self.name, length)
        gates = tuple(gate for rule in self.rules for gate in rule.gates(values, effort))
        inputs = tuple(f"{INPUT}({k})" for k in range(length))
        name = f"{self.name}-{length}"
        outputs = (self.output.wire(values),)
        circuit = Circuit(name=name, inputs=inputs, gates=gates, outputs=outputs, place=self.place)
        if self.deepest is not None and circuit.depth > value(self.deepest, values):
            raise InputError(
                f"the circuit of family {self.name!r} for {length} inputs has depth {circuit.depth}, which is more "
                f"than {self.deepest}"
            )
        return circuit

    def depth(self, length: int) -> int:
        """How deep C_n is: at most, as the family says, or else exactly."""
        return self.circuit(length).depth if self.deepest is None else value(self.deepest, {LENGTH: length})

    def accepts(self, word: Iterable[str]) -> bool:
        """Whether the circuit for words of this length says 1."""
        symbols = self.word(word)
        return evaluate(self.circuit(len(symbols)), symbols) == "1"

    def __str__(self) -> str:
        kind = "TC" if self.counts else "AC"
        return f"family {self.name}: {kind} circuits of depth O(log^{self.exponent} n), {len(self.rules)} rules"


def _problems(family: Family) -> Iterator[str]:
    """Everything that is wrong with it whatever n is, one sentence each."""
    if not 1 <= family.exponent <= 4:
        yield f"depth log^{family.exponent}: the exponent is between 1 and 4"
    for name in sorted((variables(family.deepest) if family.deepest else set()) - {LENGTH}):
        yield f"the depth: nothing says what {name} is"
    known = {rule.wire.name for rule in family.rules} | {INPUT}
    yield from _unknown(family.output, {LENGTH}, known, "the output")
    for rule in family.rules:
        where = f"the rule of {rule.wire.name}" + (f" ({rule.place})" if rule.place else "")
        bound = {LENGTH}
        yield from _range_problems(rule.ranges, rule.conditions, bound, where)
        if rule.wire.name == INPUT:
            yield f"{where}: {INPUT} is the name of the inputs, so no gate has it"
        if (rule.kind is GateKind.THR) is (rule.at_least is None):
            yield f"{where}: THR, and nothing else, says how many ones it asks for, as in THR(n/2 + 1)"
        if rule.kind not in KINDS:
            yield f"{where}: {rule.kind} is none of {' '.join(map(str, KINDS))}"
        if not rule.arguments:
            yield f"{where}: a gate has at least one argument"
        for name in sorted((variables(rule.at_least) if rule.at_least else set()) - bound):
            yield f"{where}: nothing says what {name} is"
        for part in (rule.wire, *rule.arguments):
            yield from _unknown(part, bound, known, where)


def _unknown(part: Indexed, bound: set[str], known: set[str], where: str) -> Iterator[str]:
    inner = set(bound)
    yield from _range_problems(part.ranges, part.conditions, inner, where)
    if part.name not in known:
        yield f"{where}: there is no rule for {part.name}"
    for name in sorted(set().union(*map(variables, part.indices)) - inner):
        yield f"{where}: nothing says what {name} is"


def _range_problems(
    ranges: tuple[Range, ...], conditions: tuple[Comparison, ...], bound: set[str], where: str
) -> Iterator[str]:
    """Problems of ranges and conditions; the indices are added to what is bound."""
    for item in ranges:
        for name in sorted((variables(item.first) | variables(item.last)) - bound):
            yield f"{where}: nothing says what {name} is"
        if item.index in bound:
            yield f"{where}: {item.index} has a value already"
        bound.add(item.index)
    for condition in conditions:
        for name in sorted((variables(condition.left) | variables(condition.right)) - bound):
            yield f"{where}: nothing says what {name} is"
