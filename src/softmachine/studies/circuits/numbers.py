"""Integers on wires: affine combinations of bits, and thermometer codes.

A number is a constant plus the weights of the true wires. Sums and integer multiples need no gates, and terms that
cancel vanish. For other operations a number becomes a *thermometer code*: for each possible value v, a wire that is
true if the number is at least v. Such a wire is one threshold gate, since it compares a sum of bits with a constant;
and any monotone function of a thermometer code, such as rounding, saturation, ReLU or the exponential, reuses the same
wires with other values. A number of F_b has at most 2²ᵇ⁺¹ values, polynomially many if b is logarithmic: hence
threshold circuits of constant depth and polynomial size compute with them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from softmachine.studies.circuits.wires import FALSE, TRUE, CircuitBuilder
from softmachine.support.errors import ConstructionError

MAX_VALUES = 1 << 15
"""Maximum number of values of a thermometer code."""


@dataclass(frozen=True)
class WireNumber:
    """A constant plus the weights of the true wires, in fixed-point units."""

    constant: int
    weights: tuple[tuple[int, int], ...] = ()

    @property
    def is_constant(self) -> bool:
        """Whether the number is the same for all inputs."""
        return not self.weights

    def __add__(self, other: WireNumber) -> WireNumber:
        weights = dict(self.weights)
        for wire, weight in other.weights:
            weights[wire] = weights.get(wire, 0) + weight
        return WireNumber(self.constant + other.constant, _sort_weights(weights))

    def __mul__(self, factor: int) -> WireNumber:
        if not factor:
            return WireNumber(0)
        return WireNumber(self.constant * factor, tuple((wire, weight * factor) for wire, weight in self.weights))

    def __sub__(self, other: WireNumber) -> WireNumber:
        return self + other * -1


@dataclass(frozen=True)
class ThermometerCode:
    """All possible values of a number in ascending order, and for each but the first the wire "at least this"."""

    values: tuple[int, ...]
    wires: tuple[int, ...]

    def at_least(self, value: int) -> int:
        """Return the wire that is true if the number is at least this."""
        place = bisect_left(self.values, value)
        if place == 0:
            return TRUE
        return FALSE if place == len(self.values) else self.wires[place - 1]


class WireArithmetic:
    """Operations on numbers on the wires of a circuit.

    Wires of a thermometer code imply one another; they are recorded as chains, which keeps the number of possible
    values of their sums small.
    """

    def __init__(self, wires: CircuitBuilder) -> None:
        self.wires = wires
        self._chain: dict[int, tuple[int, int, bool]] = {}
        self._chains = 0
        self._thermometers: dict[WireNumber, ThermometerCode] = {}

    def from_bit(self, wire: int, value: int) -> WireNumber:
        """Return the value where the wire is true, else 0."""
        if wire in (FALSE, TRUE):
            return WireNumber(value if wire == TRUE else 0)
        base, plain = self.wires.split_literal(wire)
        return WireNumber(0, ((base, value),)) if plain else WireNumber(value, ((base, -value),))

    def bounds(self, number: WireNumber) -> tuple[int, int]:
        """Return a lower and an upper bound of a number."""
        if number.is_constant:
            return number.constant, number.constant
        constant, chains = self._split_chains(number)
        states = [_states(chain) for chain in chains]
        return constant + sum(map(min, states)), constant + sum(map(max, states))

    def with_nonnegative_weights(self, number: WireNumber) -> WireNumber:
        """Rewrite a number as its minimum plus nonnegative weights.

        If the wires of a thermometer code have weights of both signs, as for the values 0, 2, 0, the apparent minimum
        is too small. A sum of many such numbers would need a threshold that grows with the number of terms.
        """
        apart = number.constant + sum(min(weight, 0) for _, weight in number.weights)
        if apart == self.bounds(number)[0]:
            return number
        thermometer = self.to_thermometer(number)
        return self.from_thermometer(thermometer.values, thermometer.wires)

    def possible_values(self, number: WireNumber) -> list[int]:
        """Return a sorted superset of the possible values of a number."""
        constant, chains = self._split_chains(number)
        found = {constant}
        for chain in chains:
            states = set(_states(chain))
            found = {value + state for value in found for state in states}
            if len(found) > MAX_VALUES:
                raise ConstructionError(
                    f"a number may have more than {MAX_VALUES:,} values", hint="use a smaller precision"
                )
        return sorted(found)

    def at_least(self, number: WireNumber, value: int) -> int:
        """Return the wire that is true if a number is at least a value."""
        return self._compare_with_each(number, [value])[0]

    def _compare_with_each(self, number: WireNumber, values: Sequence[int]) -> list[int]:
        """Return for each value the wire that is true if a number is at least that."""
        constant, chains = self._split_chains(number)
        if len(chains) == 1:
            literals, states = [literal for literal, _ in chains[0]], [constant + s for s in _states(chains[0])]
            return self._compare_images(literals, states, values)
        return self.wires.threshold_gates(number.weights, [value - number.constant for value in values])

    def to_thermometer(self, number: WireNumber) -> ThermometerCode:
        """Convert a number to a thermometer code."""
        if number not in self._thermometers:
            values = self.possible_values(number)
            self._thermometers[number] = _trim(values, self._compare_with_each(number, values[1:]))
        return self._thermometers[number]

    def from_thermometer(self, values: Sequence[int], wires: Sequence[int]) -> WireNumber:
        """Convert a thermometer code to a number."""
        thermometer = _trim(values, wires)
        self._record_chain(thermometer.wires)
        constant = thermometer.values[0]
        weights: dict[int, int] = {}
        for (before, after), wire in zip(pairwise(thermometer.values), thermometer.wires, strict=True):
            base, plain = self.wires.split_literal(wire)
            constant += 0 if plain else after - before
            weights[base] = weights.get(base, 0) + (after - before if plain else before - after)
        found = WireNumber(constant, _sort_weights(weights))
        self._thermometers.setdefault(found, thermometer)
        return found

    def map(self, number: WireNumber, function: Callable[[int], int]) -> WireNumber:
        """Apply a function to a number."""
        if number.is_constant:
            return WireNumber(function(number.constant))
        thermometer = self.to_thermometer(number)
        images = [function(value) for value in thermometer.values]
        values = sorted(set(images))
        return self.from_thermometer(values, self._compare_images(thermometer.wires, images, values[1:]))

    def restrict(self, number: WireNumber, low: int | None = None, high: int | None = None) -> WireNumber:
        """Restrict the values of a number that is known to lie between two bounds."""
        values = [v for v in self.possible_values(number) if (low is None or v >= low) and (high is None or v <= high)]
        return self.from_thermometer(values, self._compare_with_each(number, values[1:]))

    def gate(self, wire: int, number: WireNumber) -> WireNumber:
        """Return the number where the wire is true, else 0."""
        if number.is_constant:
            return self.from_bit(wire, number.constant)
        if wire in (FALSE, TRUE):
            return number if wire == TRUE else WireNumber(0)
        thermometer = self.to_thermometer(number)
        values = sorted({0, *thermometer.values})
        closed = self.wires.negate(wire)
        wires = [
            self.wires.conjunction([wire, thermometer.at_least(value)])
            if value > 0
            else self.wires.disjunction([closed, thermometer.at_least(value)])
            for value in values[1:]
        ]
        return self.from_thermometer(values, wires)

    def multiplex(
        self, number: WireNumber, cases: Mapping[int, ThermometerCode], *, decreasing: bool = False
    ) -> WireNumber:
        """Select one of several thermometer codes by the value of a number (multiplexer).

        Args:
            number: The selector.
            cases: A thermometer code for each value of the selector.
            decreasing: Whether larger selectors select smaller numbers. Then one comparison per stretch suffices: that
                the selector is not above its end.
        """
        thermometer = self.to_thermometer(number)
        shown = [cases[value] for value in thermometer.values]
        values = sorted({value for other in shown for value in other.values})
        wires = []
        for value in values[1:]:
            parts = []
            for wire, start, end in _runs([other.at_least(value) for other in shown]):
                low = TRUE if decreasing else self._between(thermometer.wires, start, len(shown))
                parts.append(self.wires.conjunction([low, self._between(thermometer.wires, 0, end), wire]))
            wires.append(self.wires.disjunction(parts))
        return self.from_thermometer(values, wires)

    def maximum(self, numbers: Iterable[WireNumber]) -> WireNumber:
        """Return the maximum of numbers."""
        bounds = {number: self.bounds(number) for number in numbers}
        floor = max(low for low, _ in bounds.values())
        thermometers = [self.to_thermometer(number) for number, (_, high) in bounds.items() if high >= floor]
        least = max(thermometer.values[0] for thermometer in thermometers)
        values = sorted({least} | {v for thermometer in thermometers for v in thermometer.values if v > least})
        wires = [
            self.wires.disjunction([thermometer.at_least(value) for thermometer in thermometers])
            for value in values[1:]
        ]
        return self.from_thermometer(values, wires)

    def _compare_images(self, chain: Sequence[int], images: Sequence[int], values: Sequence[int]) -> list[int]:
        """Return for each value the wire that is true if the image of a chain's state is at least that."""
        if all(before <= after for before, after in pairwise(images)):
            shown = ThermometerCode(tuple(images), tuple(chain))
            return [shown.at_least(value) for value in values]
        if all(before >= after for before, after in pairwise(images)):
            shown = ThermometerCode(tuple(-image for image in images), tuple(chain))
            return [self.wires.negate(shown.at_least(1 - value)) for value in values]
        return [self._state_flag(chain, [image >= value for image in images]) for value in values]

    def _state_flag(self, chain: Sequence[int], flags: Sequence[bool]) -> int:
        """Return the wire that is true if the state of a chain (the number of its true wires) has a flag."""
        stretches = [(start, end) for flag, start, end in _runs(flags) if flag]
        return self.wires.disjunction([self._between(chain, start, end) for start, end in stretches])

    def _between(self, chain: Sequence[int], start: int, end: int) -> int:
        """Return the wire that is true if at least ``start`` and less than ``end`` wires of a chain are true."""
        low = TRUE if start == 0 else chain[start - 1]
        high = FALSE if end > len(chain) else chain[end - 1]
        return self.wires.conjunction([low, self.wires.negate(high)])

    def _record_chain(self, chain: Sequence[int]) -> None:
        """Record that each of these wires implies those before it."""
        new = [pair for pair in map(self.wires.split_literal, chain) if pair[0] not in self._chain]
        for index, (base, plain) in enumerate(new):
            self._chain[base] = (self._chains, index, plain)
        self._chains += 1

    def _split_chains(self, number: WireNumber) -> tuple[int, list[list[tuple[int, int]]]]:
        """Decompose a number into a constant and chains of weighted wires, each wire implying those before it."""
        constant = number.constant
        groups: dict[int, list[tuple[int, int, int]]] = {}
        for base, weight in number.weights:
            chain, index, plain = self._chain.get(base, (-base, 0, True))
            literal = base if plain else self.wires.negate(base)
            constant += 0 if plain else weight
            groups.setdefault(chain, []).append((index, literal, weight if plain else -weight))
        return constant, [[(literal, weight) for _, literal, weight in sorted(group)] for group in groups.values()]


def _runs(items: Iterable[int]) -> Iterator[tuple[int, int, int]]:
    """Yield the runs of equal items: the item, the start and the end of the run."""
    start = 0
    for item, group in groupby(items):
        end = start + sum(1 for _ in group)
        yield item, start, end
        start = end


def _states(chain: Sequence[tuple[int, int]]) -> list[int]:
    """Return the contribution of a chain to a number if 0, 1, 2, … of its wires are true."""
    found = [0]
    for _, weight in chain:
        found.append(found[-1] + weight)
    return found


def _trim(values: Sequence[int], wires: Sequence[int]) -> ThermometerCode:
    """Build a thermometer code without the values that constant or repeated wires exclude."""
    low = max((place + 1 for place, wire in enumerate(wires) if wire == TRUE), default=0)
    high = min((place for place, wire in enumerate(wires) if wire == FALSE), default=len(wires))
    kept: dict[int, int] = {}
    for place in range(low, high):
        if wires[place] in kept:  # all wires in between are equal
            while next(reversed(kept)) != wires[place]:
                kept.popitem()
        kept[wires[place]] = values[place + 1]
    return ThermometerCode((values[low], *kept.values()), tuple(kept))


def _sort_weights(weights: Mapping[int, int]) -> tuple[tuple[int, int], ...]:
    return tuple(sorted((wire, weight) for wire, weight in weights.items() if weight))
