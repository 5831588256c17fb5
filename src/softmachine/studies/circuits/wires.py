"""Circuit builder with structural hashing and constant propagation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from math import gcd

from softmachine.languages.circuit import Circuit, Gate, GateKind
from softmachine.languages.circuit.circuit import MAX_GATES
from softmachine.support.errors import ConstructionError

FALSE, TRUE = 0, 1
"""The constants; all other wires are numbered from 2."""
MAX_WIRES = 1 << 20
MAX_PRINTED_COUNT = 10**15
"""Larger numbers are printed as powers of two."""
MAX_FAN_IN = 1 << 16
"""Maximum number of arguments of a gate, with multiplicity."""
_SMALLER_HINT = "use a smaller precision or shorter inputs"

GateKey = tuple[GateKind, tuple[tuple[int, int], ...], int]


class CircuitBuilder:
    """Gates AND, OR, NOT and THR over inputs, structurally hashed.

    Args:
        inputs: The names of the inputs; their wires are 2, 3, ….
    """

    def __init__(self, inputs: Sequence[str]) -> None:
        self.inputs = tuple(inputs)
        self._gates: dict[int, GateKey] = {}
        self._made: dict[GateKey, int] = {}
        self._opposite: dict[int, int] = {FALSE: TRUE, TRUE: FALSE}

    def input_wire(self, index: int) -> int:
        """Return the wire of an input."""
        return 2 + index

    def negate(self, wire: int) -> int:
        """Return the negation of a wire (NOT)."""
        if wire not in self._opposite:
            found = self._gate(GateKind.NOT, {wire: 1})
            self._opposite[wire], self._opposite[found] = found, wire
        return self._opposite[wire]

    def split_literal(self, wire: int) -> tuple[int, bool]:
        """Split a literal: the wire and True, or the negated wire and False."""
        kind = self._gates.get(wire)
        return (wire, True) if kind is None or kind[0] is not GateKind.NOT else (self._opposite[wire], False)

    def conjunction(self, wires: Iterable[int]) -> int:
        """Return the conjunction of wires (AND)."""
        return self._and_or(GateKind.AND, wires, TRUE)

    def disjunction(self, wires: Iterable[int]) -> int:
        """Return the disjunction of wires (OR)."""
        return self._and_or(GateKind.OR, wires, FALSE)

    def _and_or(self, kind: GateKind, wires: Iterable[int], neutral: int) -> int:
        """Build AND or OR, given its neutral constant; the other constant is absorbing."""
        found, deciding = set(wires) - {neutral}, self._opposite[neutral]
        if deciding in found or any(self._opposite.get(wire) in found for wire in found):
            return deciding
        if len(found) < 2:
            return found.pop() if found else neutral
        return self._gate(kind, dict.fromkeys(found, 1))

    def threshold_gates(self, weights: Iterable[tuple[int, int]], thresholds: Iterable[int]) -> list[int]:
        """Return for each threshold the wire that is true if the weights of the true wires sum to at least that.

        Args:
            weights: Pairs of a wire and its weight, which may be negative; the wires are distinct and not constants.
            thresholds: The thresholds.
        """
        sizes: dict[int, int] = {}
        offset = 0
        for wire, weight in weights:
            sizes[wire if weight > 0 else self.negate(wire)] = abs(weight)
            offset -= min(weight, 0)
        total = sum(sizes.values())
        return [self._threshold(sizes, total, least + offset) for least in thresholds]

    def _threshold(self, weights: dict[int, int], total: int, least: int) -> int:
        if least <= 0:
            return TRUE
        return FALSE if total < least else self._threshold_gate(*_reduce_threshold(weights, least))

    def _threshold_gate(self, weights: dict[int, int], least: int) -> int:
        if all(weight >= least for weight in weights.values()):
            return self.disjunction(weights)
        if sum(weights.values()) - min(weights.values()) < least:
            return self.conjunction(weights)
        if (total := sum(weights.values())) > MAX_FAN_IN:
            needed = f"{total:,}" if total < MAX_PRINTED_COUNT else f"more than 2^{total.bit_length() - 1}"
            raise ConstructionError(
                f"a gate would need {needed} arguments; at most {MAX_FAN_IN:,} are allowed",
                hint=_SMALLER_HINT,
            )
        return self._gate(GateKind.THR, weights, least)

    def _gate(self, kind: GateKind, arguments: Mapping[int, int], least: int = 0) -> int:
        key = (kind, tuple(sorted(arguments.items())), least)
        if key not in self._made:
            if len(self._made) >= MAX_WIRES:
                raise ConstructionError(
                    f"the circuit has more than {MAX_WIRES:,} gates before simplification", hint=_SMALLER_HINT
                )
            wire = 2 + len(self.inputs) + len(self._made)
            self._made[key], self._gates[wire] = wire, key
        return self._made[key]

    def build(self, name: str, outputs: Sequence[tuple[str, int]]) -> Circuit:
        """Return the circuit that computes the named outputs; other gates are omitted."""
        needed = self._reachable([wire for _, wire in outputs])
        if len(needed) + len(outputs) + 2 > MAX_GATES:
            raise ConstructionError(
                f"the circuit would have {len(needed):,} gates; at most {MAX_GATES:,} are allowed", hint=_SMALLER_HINT
            )
        names = {self.input_wire(index): given for index, given in enumerate(self.inputs)}
        names |= {wire: f"g{wire}" for wire in self._gates} | {FALSE: "g0", TRUE: "g1"}
        gates = [Gate(names[wire], self._gates[wire][0], *self._arguments(wire, names)) for wire in sorted(needed)]
        constants = {wire for _, wire in outputs} & {FALSE, TRUE}
        gates += [Gate(names[wire], GateKind.ONE if wire == TRUE else GateKind.ZERO) for wire in sorted(constants)]
        gates += [Gate(given, GateKind.BUF, (names[wire],)) for given, wire in outputs]
        return Circuit(name=name, inputs=self.inputs, gates=tuple(gates), outputs=tuple(given for given, _ in outputs))

    def _arguments(self, wire: int, names: Mapping[int, str]) -> tuple[tuple[str, ...], int | None]:
        kind, arguments, least = self._gates[wire]
        repeated = tuple(names[argument] for argument, times in arguments for _ in range(times))
        return repeated, least if kind is GateKind.THR else None

    def _reachable(self, wires: Iterable[int]) -> set[int]:
        needed: set[int] = set()
        waiting = [wire for wire in wires if wire in self._gates]
        while waiting:
            wire = waiting.pop()
            if wire not in needed:
                needed.add(wire)
                waiting += [argument for argument, _ in self._gates[wire][1] if argument in self._gates]
        return needed


def _reduce_threshold(weights: dict[int, int], least: int) -> tuple[dict[int, int], int]:
    """Reduce a threshold to an equivalent one with smaller weights and fewer wires.

    Weights are clipped to the threshold; common factors cancel. If the large weights have a common factor g and the sum
    of the small ones is less than the distance from the largest multiple of g below the threshold to the threshold, the
    small ones are irrelevant.
    """
    order = sorted(weights.items(), key=lambda item: item[1])
    sizes = [min(weight, least) for _, weight in order]
    factors = list(accumulate(reversed(sizes), gcd))[::-1]
    below = 0
    kept = 0
    for place, (size, factor) in enumerate(zip(sizes, factors, strict=True)):
        if below < least - (-(-least // factor) - 1) * factor:
            kept = place
        below += size
    factor = factors[kept]
    wires = [wire for wire, _ in order]
    return {wire: size // factor for wire, size in zip(wires[kept:], sizes[kept:], strict=True)}, -(-least // factor)
