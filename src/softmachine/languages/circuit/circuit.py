"""Boolean circuits of unbounded fan-in, as immutable, validated data; their builder, and their lossless JSON form."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any, ClassVar

from softmachine.languages.formats import make_json_codec
from softmachine.languages.source import find_name_problems, parse_word
from softmachine.support.errors import InputError, InvalidError, SourceLocation
from softmachine.support.notebook_html import html_table
from softmachine.support.text import pluralize


class GateKind(StrEnum):
    """Boolean function of a gate. All but NOT, BUF and the constants take any number of arguments, at least one."""

    AND = "AND"
    OR = "OR"
    NOT = "NOT"
    XOR = "XOR"
    """Whether an odd number of arguments is 1."""
    XNOR = "XNOR"
    """Whether an even number of arguments is 1."""
    NAND = "NAND"
    NOR = "NOR"
    BUF = "BUF"
    """The identity."""
    MAJ = "MAJ"
    """Whether more than half of the arguments are 1."""
    THR = "THR"
    """Whether at least ``threshold`` arguments are 1."""
    ZERO = "ZERO"
    ONE = "ONE"


UNARY_KINDS = frozenset({GateKind.NOT, GateKind.BUF})
CONSTANT_KINDS = frozenset({GateKind.ZERO, GateKind.ONE})
NEGATED_KINDS = {
    GateKind.NAND: GateKind.AND,
    GateKind.NOR: GateKind.OR,
    GateKind.XNOR: GateKind.XOR,
    GateKind.NOT: GateKind.BUF,
    GateKind.ONE: GateKind.ZERO,
}
"""Gate kinds that are the negation of another kind."""


@dataclass(frozen=True)
class Gate:
    """A gate: the wire that it drives, its kind, and the wires that it reads.

    Args:
        name: The wire that it drives.
        kind: Its Boolean function.
        inputs: The wires that it reads; a wire that is listed twice counts twice.
        threshold: For THR only: the number of arguments that must be 1.
        place: Location in the source.
    """

    name: str
    kind: GateKind
    inputs: tuple[str, ...] = ()
    threshold: int | None = None
    place: SourceLocation | None = field(default=None, compare=False, repr=False)

    @property
    def effective_threshold(self) -> int:
        """The threshold of a THR or MAJ gate."""
        return len(self.inputs) // 2 + 1 if self.threshold is None else self.threshold

    def evaluate(self, *arguments: bool) -> bool:
        """The value of the gate for these arguments."""
        if self.kind in NEGATED_KINDS:
            return not Gate(self.name, NEGATED_KINDS[self.kind], self.inputs).evaluate(*arguments)
        ones = sum(arguments)
        match self.kind:
            case GateKind.AND:
                return ones == len(arguments)
            case GateKind.OR | GateKind.BUF:
                return ones > 0
            case GateKind.XOR:
                return ones % 2 == 1
            case GateKind.MAJ | GateKind.THR:
                return ones >= self.effective_threshold
        return False

    def find_problems(self) -> Iterator[str]:
        """Yield the problems of the gate on its own, independent of the circuit."""
        if not self.name:
            yield "a gate drives a wire without a name"
        if self.kind in CONSTANT_KINDS and self.inputs:
            yield f"the constant {self.name!r} has arguments; it takes none"
        elif self.kind in UNARY_KINDS and len(self.inputs) != 1:
            yield f"gate {self.name!r} is {self.kind}, which takes 1 argument, not {len(self.inputs)}"
        elif self.kind not in CONSTANT_KINDS and not self.inputs:
            yield f"gate {self.name!r} is {self.kind}, which takes at least 1 argument; for a constant use ZERO or ONE"
        if self.kind is GateKind.THR and self.threshold is None:
            yield f"gate {self.name!r} is THR without a threshold; give the number of arguments that must be 1"
        if self.kind is not GateKind.THR and self.threshold is not None:
            yield f"gate {self.name!r} is {self.kind} and has a threshold; only THR has one"

    def __str__(self) -> str:
        kind = f"THR_{self.threshold}" if self.kind is GateKind.THR else str(self.kind)
        return f"{self.name} = {kind}({', '.join(self.inputs)})"


BITS = ("0", "1")
MAX_GATES = 1 << 18
"""Maximum number of gates."""
MAX_PROBLEMS = 20
"""Maximum problems listed in a message."""
MAX_SHOWN_GATES = 100
"""Maximum gates shown in a notebook."""


@dataclass(frozen=True, kw_only=True)
class Circuit:
    """A Boolean circuit: wires, each driven by an input or by one gate, some of which are outputs.

    A word has one bit per input, in the order of ``inputs``. Gates may be listed in any order; a circuit with a cycle
    is rejected. All problems of a definition are reported at once.

    Args:
        name: Name of the circuit.
        inputs: The wires that the word sets.
        gates: The gates; each drives the wire of its name.
        outputs: The output wires; a wire may be listed more than once, and may be an input.
        place: Location in the source.
    """

    language: ClassVar[str] = "circuit"
    default_input: ClassVar[tuple[str, ...]] = ()
    name: str
    inputs: tuple[str, ...]
    gates: tuple[Gate, ...]
    outputs: tuple[str, ...]
    place: SourceLocation | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        problems = _find_problems(self)
        if problems:
            texts = [text if place is None or place.line is None else f"{text} ({place})" for text, place in problems]
            if len(texts) > MAX_PROBLEMS:
                texts[MAX_PROBLEMS:] = [f"and {pluralize(len(texts) - MAX_PROBLEMS, 'more problem')}"]
            raise InvalidError(f"circuit {self.name!r}", texts, place=problems[0][1] or self.place)

    @property
    def alphabet(self) -> tuple[str, ...]:
        """The symbols of an input."""
        return BITS

    @property
    def width(self) -> int:
        """The number of inputs, which is the length of words."""
        return len(self.inputs)

    @property
    def size(self) -> int:
        """The number of gates."""
        return len(self.gates)

    @cached_property
    def sorted_gates(self) -> tuple[Gate, ...]:
        """The gates in topological order; ties are broken by the order of ``gates``."""
        return tuple(_topological_sort(self.inputs, self.gates))

    @cached_property
    def levels(self) -> dict[str, int]:
        """The level of each wire: 0 for inputs and constants, else one more than the highest input of its gate."""
        levels = dict.fromkeys(self.inputs, 0)
        for gate in self.sorted_gates:
            levels[gate.name] = max((levels[wire] + 1 for wire in gate.inputs), default=0)
        return levels

    @property
    def depth(self) -> int:
        """The number of gates on the longest path to an output."""
        return max((self.levels[wire] for wire in self.outputs), default=0)

    @property
    def wires(self) -> tuple[str, ...]:
        """All wires: the inputs, then those of the gates in topological order."""
        return (*self.inputs, *(gate.name for gate in self.sorted_gates))

    def word(self, text: str | Iterable[str]) -> tuple[str, ...]:
        """Parse a word: one bit per input. In a text, spaces and underscores may group the bits."""
        symbols = parse_word("".join(text.split()).replace("_", "") if isinstance(text, str) else text, BITS, self.name)
        if len(symbols) != self.width:
            raise InputError(
                f"circuit {self.name!r} has {pluralize(self.width, 'input')}, but the word has "
                f"{pluralize(len(symbols), 'bit')}",
                hint=f"give one bit for each of {_format_names(self.inputs)}, in this order",
            )
        return symbols

    def __str__(self) -> str:
        kinds = Counter(str(gate.kind) for gate in self.gates)
        gates = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
        return (
            f"circuit {self.name}: {pluralize(self.width, 'input')}, {pluralize(len(self.outputs), 'output')}, "
            f"{pluralize(self.size, 'gate')}{f' ({gates})' if gates else ''}, depth {self.depth}"
        )

    def _repr_html_(self) -> str:
        rows = [[str(gate)] for gate in self.sorted_gates[:MAX_SHOWN_GATES]]
        rows += [[f"… {pluralize(self.size - MAX_SHOWN_GATES, 'more gate')}"]] if self.size > MAX_SHOWN_GATES else []
        return html_table(rows, str(self))


LocatedProblem = tuple[str, SourceLocation | None]


def _find_problems(circuit: Circuit) -> list[LocatedProblem]:
    """All problems of a definition, one sentence each, with their locations."""
    if circuit.size > MAX_GATES:
        return [(f"it has {pluralize(circuit.size, 'gate')}; at most {MAX_GATES:,} are allowed", None)]
    names = (circuit.name, *circuit.inputs, *(gate.name for gate in circuit.gates))
    problems: list[LocatedProblem] = [(text, None) for text in find_name_problems(names)]
    problems += [(text, gate.place) for gate in circuit.gates for text in gate.find_problems()]
    problems += [*_driver_problems(circuit), *_reader_problems(circuit)]
    if not problems and (cycle := _find_cycle(circuit.inputs, circuit.gates)):
        path = " → ".join(gate.name for gate in (*cycle, cycle[0]))
        problems.append((f"the gates {path} form a cycle; a circuit has none", cycle[0].place))
    return problems


def _driver_problems(circuit: Circuit) -> Iterator[LocatedProblem]:
    """Report wires that are driven twice."""
    inputs = Counter(circuit.inputs)
    for wire, times in inputs.items():
        if not wire:
            yield "an input has no name", None
        if times > 1:
            yield f"input {wire!r} is listed {times} times", None
    driver: dict[str, Gate] = {}
    for gate in circuit.gates:
        if gate.name in inputs:
            yield f"wire {gate.name!r} is an input and is also driven by a gate; a wire has one driver", gate.place
        elif gate.name in driver:
            first = driver[gate.name].place
            where = f", first at {first}" if first else ""
            yield f"wire {gate.name!r} is driven by two gates{where}; a wire has one driver", gate.place
        driver.setdefault(gate.name, gate)


def _reader_problems(circuit: Circuit) -> Iterator[LocatedProblem]:
    """Report wires that are read but not driven."""
    driven = {*circuit.inputs, *(gate.name for gate in circuit.gates)}
    for gate in circuit.gates:
        for wire in dict.fromkeys(gate.inputs):
            if wire not in driven:
                yield f"gate {gate.name!r} reads {wire!r}, which nothing drives; add a gate or an input", gate.place
    for wire in dict.fromkeys(circuit.outputs):
        if wire not in driven:
            yield f"nothing drives the output {wire!r}; add a gate or an input", None
    if not circuit.outputs:
        yield "it has no output; name at least one wire as output", None


def _topological_sort(inputs: Iterable[str], gates: Sequence[Gate]) -> list[Gate]:
    """Topological sort, stable in the listed order; gates on a cycle, or that depend on one, are left out."""
    given = frozenset(inputs)
    waiting = [len(set(gate.inputs) - given) for gate in gates]
    readers: dict[str, list[int]] = {}
    for index, gate in enumerate(gates):
        for wire in dict.fromkeys(gate.inputs):
            if wire not in given:
                readers.setdefault(wire, []).append(index)
    ready = [index for index, count in enumerate(waiting) if not count]
    order: list[Gate] = []
    while ready:
        gate = gates[heapq.heappop(ready)]
        order.append(gate)
        for reader in readers.get(gate.name, ()):
            waiting[reader] -= 1
            if not waiting[reader]:
                heapq.heappush(ready, reader)
    return order


def _find_cycle(inputs: Iterable[str], gates: Sequence[Gate]) -> list[Gate]:
    """The gates of a cycle, each read by the next and the last by the first; empty if there is no cycle."""
    sorted_wires = {gate.name for gate in _topological_sort(inputs, gates)}
    unsorted = {gate.name: gate for gate in gates if gate.name not in sorted_wires}
    if not unsorted:
        return []
    wire = next(iter(unsorted))
    step: dict[str, int] = {}
    while wire not in step:
        step[wire] = len(step)
        wire = next(source for source in unsorted[wire].inputs if source in unsorted)
    return [unsorted[name] for name in list(step)[step[wire] :]][::-1]


def _format_names(names: tuple[str, ...], limit: int = 12) -> str:
    """Names for a message, abbreviated."""
    return ", ".join(names[:limit]) + (f", … {names[-1]}" if len(names) > limit else "") or "none"


class CircuitBuilder:
    """Mutable list of gates; each method adds one and returns its wire.

    Args:
        name: Name of the circuit.
        inputs: Input wires.
        reserved: Names that are not given to unnamed gates.
    """

    def __init__(self, name: str, inputs: Iterable[str] = (), *, reserved: Iterable[str] = ()) -> None:
        self.name = name
        self.inputs = list(inputs)
        self.gates: list[Gate] = []
        self._taken = {*self.inputs, *reserved}
        self._next: dict[str, int] = {}

    def fresh_name(self, stem: str = "n") -> str:
        """Return a name that no wire has."""
        number = self._next.get(stem, 0)
        while f"{stem}{number}" in self._taken:
            number += 1
        self._next[stem] = number + 1
        return f"{stem}{number}"

    def gate(
        self,
        kind: GateKind,
        *inputs: str,
        name: str | None = None,
        threshold: int | None = None,
        place: SourceLocation | None = None,
        stem: str = "n",
    ) -> str:
        """Add a gate of any kind; without a name it gets one that begins with ``stem``."""
        wire = name if name is not None else self.fresh_name(stem)
        self._taken.add(wire)
        self.gates.append(Gate(wire, kind, inputs, threshold, place))
        return wire

    def conjunction(self, *inputs: str, name: str | None = None) -> str:
        """Add an AND gate."""
        return self.gate(GateKind.AND, *inputs, name=name)

    def disjunction(self, *inputs: str, name: str | None = None) -> str:
        """Add an OR gate."""
        return self.gate(GateKind.OR, *inputs, name=name)

    def negation(self, wire: str) -> str:
        """Add a NOT gate."""
        return self.gate(GateKind.NOT, wire)

    def parity(self, *inputs: str, name: str | None = None) -> str:
        """Add an XOR gate."""
        return self.gate(GateKind.XOR, *inputs, name=name)

    def constant(self, value: bool, name: str | None = None) -> str:
        """Add a constant, ONE or ZERO."""
        return self.gate(GateKind.ONE if value else GateKind.ZERO, name=name)

    def build(self, outputs: Iterable[str], place: SourceLocation | None = None) -> Circuit:
        """Return the circuit with these outputs."""
        return Circuit(
            name=self.name,
            inputs=tuple(self.inputs),
            gates=tuple(self.gates),
            outputs=tuple(outputs),
            place=place,
        )


def circuit_to_json(circuit: Circuit) -> dict[str, object]:
    """Convert a circuit to dictionaries, lists and strings."""
    return {
        "name": circuit.name,
        "inputs": list(circuit.inputs),
        "gates": [[gate.name, str(gate.kind), list(gate.inputs), gate.threshold] for gate in circuit.gates],
        "outputs": list(circuit.outputs),
    }


def circuit_from_json(data: Any) -> Circuit:
    """The inverse of :func:`circuit_to_json`.

    Raises:
        KeyError, TypeError, ValueError: If the data does not have that form.
        InvalidError: If the circuit is not valid.
    """
    gates = tuple(
        Gate(str(name), GateKind(kind), tuple(map(str, inputs)), None if threshold is None else int(threshold))
        for name, kind, inputs, threshold in data["gates"]
    )
    inputs, outputs = (tuple(map(str, data[key])) for key in ("inputs", "outputs"))
    return Circuit(name=str(data["name"]), inputs=inputs, gates=gates, outputs=outputs)


parse_json, format_json = make_json_codec("a circuit", circuit_to_json, circuit_from_json)
