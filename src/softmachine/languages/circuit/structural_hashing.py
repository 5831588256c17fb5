"""Structurally hashed networks (strashing) of gates from one basis, with constant folding.

Nodes are integers; 0 and 1 are the constants. Nodes that are equal by the laws of idempotence, complement, De Morgan
and double negation are merged; no other equivalences are found.

On them are based the conversion of circuits to a basis, and equivalence checking.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from itertools import combinations
from math import comb
from typing import TypeVar

import numpy as np

from softmachine.languages.circuit.circuit import NEGATED_KINDS, Circuit, CircuitBuilder, Gate, GateKind
from softmachine.languages.circuit.interpreter import evaluate_packed, truth_table
from softmachine.languages.circuit.threshold_ac0 import ThresholdBuilder
from softmachine.support.errors import UsageError

FALSE, TRUE = 0, 1
MAX_EXPANDED_ANDS = 20
"""Thresholds are expanded to an OR of ANDs if it has at most this many ANDs."""
MAX_FLAT_THRESHOLD = 64
"""Maximum threshold that `Basis.AC0` expands in constant depth."""

WireT = TypeVar("WireT")
NetworkNode = tuple[str, tuple[int, ...], int]
"""The kind of a node ("in", "and", "or", "not", "xor", "thr"), its arguments, and its threshold or input number."""


class Basis(Enum):
    """The gates of a network, besides NOT and constants: AND, OR and THR of any width, or two-input AND and XOR."""

    AC = ("wide", "or")
    """AND, OR and NOT of unbounded fan-in, as in AC⁰."""
    AC0 = ("wide", "or", "flat")
    """AND, OR and NOT of unbounded fan-in, with small thresholds expanded in constant depth."""
    TC = ("wide", "or", "thr")
    """AND, OR, NOT and threshold gates of unbounded fan-in, as in TC⁰."""
    AIG = ()
    """Two-input AND and NOT: and-inverter graphs."""
    XAG = ("xor",)
    """Two-input AND and XOR, and NOT: xor-and graphs."""

    def supports(self, feature: str) -> bool:
        """Whether it has wide gates ("wide"), "or", "xor" or "thr", or thresholds in constant depth ("flat")."""
        return feature in self.value


class HashedNetwork:
    """Network over a basis; each method returns the number of a node.

    Args:
        basis: The available gates.
        inputs: The number of inputs, which are the nodes 2, 3, ….
    """

    def __init__(self, basis: Basis, inputs: int) -> None:
        self.basis = basis
        self.nodes: list[NetworkNode] = [("zero", (), 0), ("one", (), 0)]
        self._number: dict[NetworkNode, int] = {}
        self._counting = ThresholdBuilder(self.conjunction, self.disjunction)
        self.inputs = [self._node("in", (), k) for k in range(inputs)]

    def _node(self, kind: str, arguments: tuple[int, ...], parameter: int = 0) -> int:
        node = (kind, arguments, parameter)
        if node not in self._number:
            self._number[node] = len(self.nodes)
            self.nodes.append(node)
        return self._number[node]

    def negation(self, wire: int) -> int:
        """NOT."""
        if wire in (FALSE, TRUE):
            return 1 - wire
        kind, arguments, _ = self.nodes[wire]
        return arguments[0] if kind == "not" else self._node("not", (wire,))

    def _is_not(self, wire: int) -> bool:
        return self.nodes[wire][0] == "not"

    def conjunction(self, wires: Iterable[int]) -> int:
        """AND of any number of gates."""
        several = set(wires) - {TRUE}
        if FALSE in several or any(self._is_not(wire) and self.negation(wire) in several for wire in several):
            return FALSE
        if self.basis.supports("or") and len(several) > 1 and all(map(self._is_not, several)):
            return self.negation(self.disjunction(map(self.negation, several)))
        return self._tree("and", sorted(several), TRUE)

    def disjunction(self, wires: Iterable[int]) -> int:
        """OR of any number of gates."""
        several = set(wires) - {FALSE}
        if not self.basis.supports("or"):
            return self.negation(self.conjunction(map(self.negation, several)))
        if TRUE in several or any(self._is_not(wire) and self.negation(wire) in several for wire in several):
            return TRUE
        if len(several) > 1 and all(map(self._is_not, several)):
            return self.negation(self.conjunction(map(self.negation, several)))
        return self._tree("or", sorted(several), FALSE)

    def _tree(self, kind: str, wires: list[int], empty: int) -> int:
        """One wide gate, or a balanced tree of gates with two arguments."""
        if self.basis.supports("wide") and len(wires) > 1:
            return self._node(kind, tuple(wires))
        return reduce_balanced(wires, lambda *pair: self._node(kind, tuple(sorted(pair)))) if wires else empty

    def parity(self, wires: Iterable[int]) -> int:
        """XOR of any number of gates: in constant depth if the basis has thresholds, else a balanced tree."""
        flip = 0
        odd: Counter[int] = Counter()
        for wire in wires:
            negative = wire == TRUE or self._is_not(wire)
            flip ^= negative
            odd[self.negation(wire) if negative else wire] += 1
        several = sorted(wire for wire, times in odd.items() if times % 2 and wire != FALSE)
        if self.basis.supports("thr") and len(several) > 2:
            total = self.disjunction(
                self.conjunction([self.at_least(k, several), self.negation(self.at_least(k + 1, several))])
                for k in range(1, len(several) + 1, 2)
            )
        else:
            total = reduce_balanced(several, self._parity_of_two) if several else FALSE
        return self.negation(total) if flip else total

    def _parity_of_two(self, one: int, other: int) -> int:
        if one == other:
            return FALSE
        if FALSE in (one, other):
            return one + other
        if self.basis.supports("xor") and TRUE not in (one, other):
            return self._node("xor", (min(one, other), max(one, other)))
        return self.conjunction([self.disjunction([one, other]), self.negation(self.conjunction([one, other]))])

    def at_least(self, threshold: int, wires: Iterable[int]) -> int:
        """Whether at least ``threshold`` of the gates are 1; a gate that is listed twice counts twice."""
        times: Counter[int] = Counter(wires)
        threshold -= times.pop(TRUE, 0)
        times.pop(FALSE, 0)
        for wire in [wire for wire in times if self._is_not(wire)]:
            both = min(times[wire], times[self.negation(wire)])  # Exactly one of a wire and its negation is 1.
            times -= Counter({wire: both, self.negation(wire): both})
            threshold -= both
        several = sorted(times.elements())
        if threshold <= 0 or threshold > len(several):
            return TRUE if threshold <= 0 else FALSE
        if threshold == 1:
            return self.disjunction(several)
        if threshold == len(several):
            return self.conjunction(several)
        if self.basis.supports("thr"):
            return self._node("thr", tuple(several), threshold)
        if self.basis.supports("flat") and min(threshold, len(several) - threshold + 1) <= MAX_FLAT_THRESHOLD:
            return self._flat_threshold(threshold, times)
        if comb(len(several), threshold) <= MAX_EXPANDED_ANDS:
            return self.disjunction(self.conjunction(some) for some in combinations(several, threshold))
        return self._digits_at_least(self._count_ones(several), threshold)

    def _flat_threshold(self, threshold: int, times: Counter[int]) -> int:
        """A threshold in depth bounded by the threshold, or by that of the complement if that is much smaller.

        Wires are sorted from the newest to the oldest, so that longer sums with the same older wires share the gates of
        shorter ones.
        """
        opposite = times.total() - threshold + 1
        order = sorted(times.items(), reverse=True)
        if 2 * opposite >= threshold and threshold <= MAX_FLAT_THRESHOLD:
            return self._counting.at_least(threshold, order)
        negated = [(self.negation(wire), weight) for wire, weight in order]
        return self.negation(self._counting.at_least(opposite, negated))

    def _count_ones(self, wires: Sequence[int]) -> list[int]:
        """The binary digits of the number of gates that are 1, lowest first, by full adders (3:2 compressors)."""
        digits = []
        column = list(wires)
        while column:
            carries = []
            while len(column) > 1:
                three, column = column[:3], column[3:]
                column.append(self.parity(three))
                carries.append(self.at_least(2, three))
            digits.append(column[0])
            column = carries
        return digits

    def _digits_at_least(self, digits: list[int], threshold: int) -> int:
        """Whether a binary number is at least the threshold: it is larger at the highest digit that differs."""
        needed = [place for place in range(len(digits)) if threshold >> place & 1]
        larger = [
            self.conjunction([digits[place], *(digits[above] for above in needed if above > place)])
            for place in range(len(digits))
            if not threshold >> place & 1
        ]
        return self.disjunction([*larger, self.conjunction(digits[place] for place in needed)])


def reduce_balanced(wires: Sequence[WireT], merge: Callable[[WireT, WireT], WireT]) -> WireT:
    """Reduce a non-empty list of wires by a balanced binary tree: neighbours are merged level by level."""
    while len(wires) > 1:
        merged = [merge(one, other) for one, other in zip(wires[::2], wires[1::2], strict=False)]
        wires = [*merged, *wires[2 * len(merged) :]]
    return wires[0]


def reachable_nodes(network: HashedNetwork, outputs: Iterable[int]) -> list[int]:
    """The nodes that the outputs depend on, and the outputs, in topological order."""
    live = set(outputs)
    for wire in reversed(range(len(network.nodes))):
        if wire in live:
            live.update(network.nodes[wire][1])
    return sorted(live)


_GATE_KINDS = {"and": GateKind.AND, "or": GateKind.OR, "not": GateKind.NOT, "xor": GateKind.XOR, "thr": GateKind.THR}


def simplify(circuit: Circuit, basis: Basis = Basis.TC) -> Circuit:
    """An equivalent circuit with gates of a basis only: constants are folded and equal gates merged.

    Constants remain only as outputs. Gates that no output depends on are removed; inputs remain. A gate keeps its name
    where it computes the same function as before.
    """
    network, wires = to_network(circuit, basis)
    outputs = [wires[wire] for wire in circuit.outputs]
    return from_network(network, outputs, circuit, names={number: wire for wire, number in reversed(wires.items())})


def to_network(circuit: Circuit, basis: Basis) -> tuple[HashedNetwork, dict[str, int]]:
    """Convert a circuit to a network over a basis; also returns the node of each wire."""
    network = HashedNetwork(basis, circuit.width)
    wires = dict(zip(circuit.inputs, network.inputs, strict=True))
    for gate in circuit.sorted_gates:
        number = _gate_node(network, gate, [wires[wire] for wire in gate.inputs])
        wires[gate.name] = network.negation(number) if gate.kind in NEGATED_KINDS else number
    return network, wires


def _gate_node(network: HashedNetwork, gate: Gate, arguments: list[int]) -> int:
    """The node of a gate, without its negation if its kind is in `NEGATED_KINDS`."""
    match NEGATED_KINDS.get(gate.kind, gate.kind):
        case GateKind.AND:
            return network.conjunction(arguments)
        case GateKind.OR:
            return network.disjunction(arguments)
        case GateKind.XOR:
            return network.parity(arguments)
        case GateKind.BUF:
            return arguments[0]
        case GateKind.MAJ | GateKind.THR:
            return network.at_least(gate.effective_threshold, arguments)
    return FALSE


def from_network(network: HashedNetwork, outputs: list[int], circuit: Circuit, names: dict[int, str]) -> Circuit:
    """Convert a network to a circuit, with the inputs and the name of another circuit; unnamed gates get names."""
    builder = CircuitBuilder(circuit.name, circuit.inputs, reserved=names.values())
    wire: dict[int, str] = dict(zip(network.inputs, circuit.inputs, strict=True))
    for number in reachable_nodes(network, outputs):
        if number in wire:
            continue
        kind, arguments, threshold = network.nodes[number]
        name = names.get(number)
        if number in (FALSE, TRUE):
            wire[number] = builder.constant(number == TRUE, name)
        else:
            inputs = [wire[argument] for argument in arguments]
            limit = threshold if kind == "thr" else None
            wire[number] = builder.gate(_GATE_KINDS[kind], *inputs, name=name, threshold=limit)
    return builder.build([wire[number] for number in outputs], circuit.place)


def are_equivalent(one: Circuit, other: Circuit, *, samples: int = 1 << 16) -> bool:
    """Whether two circuits agree: on every input if these are few, else on random inputs.

    Args:
        one: A circuit.
        other: A circuit with the same numbers of inputs and outputs.
        samples: Number of random inputs; if there are no more inputs than this, all are tried.

    Raises:
        UsageError: If the numbers of inputs or outputs differ.
    """
    if (one.width, len(one.outputs)) != (other.width, len(other.outputs)):
        raise UsageError(f"{one.name!r} and {other.name!r} differ in the number of inputs or outputs")
    if 1 << one.width <= samples:
        return bool(np.array_equal(truth_table(one), truth_table(other)))
    words = np.random.default_rng(0).integers(0, 1 << 64, (one.width, -(-samples // 64)), dtype=np.uint64)
    return bool(np.array_equal(evaluate_packed(one, words), evaluate_packed(other, words)))
