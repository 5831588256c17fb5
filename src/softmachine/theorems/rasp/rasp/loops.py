"""Loops of RASP programs: a repeated block, and a check that it has reached a fixpoint.

The number of iterations is a multiple of the length, in a decoder a constant. Iterating at a fixpoint changes nothing;
if the loop has not converged, everything that depends on it is undefined.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from softmachine.ir import Signal, loop, named, stack
from softmachine.ir.gadgets import all_of, any_of, round_unit_bit
from softmachine.ir.ranges import BIT, ValueRange, integer, union
from softmachine.ir.signal import Affine
from softmachine.languages.rasp import ir
from softmachine.languages.rasp.types import FiniteType, IntegerType, Type
from softmachine.languages.rasp.values import identity_key
from softmachine.support.errors import ConstructionError
from softmachine.theorems.rasp.rasp.selection import PairTable, SelectorProduct
from softmachine.theorems.rasp.values import BoundedInteger, Categorical, Value, as_number, one_hot
from softmachine.transformer.features import N_PLUS_ONE, Feature

if TYPE_CHECKING:
    from softmachine.theorems.rasp.rasp.lowering import Lowering

DEFAULT_ITERATIONS = 8
"""Iterations of a loop in an encoder, per n+1."""
CAUSAL_ITERATIONS = 64
"""Iterations of a loop in a decoder, which is not given n."""


def lower_loop(build: Lowering, name: str, node: ir.Repeat) -> dict[str, Value]:
    """The final values of all variables of a loop; undefined if it has not converged."""
    types = build.program.types
    kinds = {variable: types[variable] for variable, _ in node.variables}
    starts = [convert_to_type(build, start, build.values[start], kinds[variable]) for variable, start in node.variables]
    start = stack(
        *(_pack(value, found, build.layout.input_bit) for value, found in zip(starts, kinds.values(), strict=True))
    )

    def body(carried: Signal) -> Signal:
        before = {name: _refresh(build, name, value) for name, value in _unpack(carried, kinds).items()}
        build.values |= before
        for step in node.body:
            build.lower(step)
        after = [
            convert_to_type(build, following, build.values[following], found)
            for following, found in zip(node.next_values, kinds.values(), strict=True)
        ]
        changes = [
            _has_changed(build, f"{variable} changes", before[variable], new)
            for variable, new in zip(kinds, after, strict=True)
        ]
        changed = changes[0] if len(changes) == 1 else any_of(f"{name}: any change", *changes)
        clean = [
            _round_bits(f"{variable}: next", _pack(value, found, build.layout.input_bit), found)
            for (variable, found), value in zip(kinds.items(), after, strict=True)
        ]
        return named(f"{name}: next", stack(*clean, round_unit_bit(f"{name}: any change, rounded", changed)))

    times: int | Feature = CAUSAL_ITERATIONS if build.layout.causal else DEFAULT_ITERATIONS * N_PLUS_ONE
    ended = loop(name, iterations=times, initial=stack(start, build.layout.input_bit), body=body)
    converged = _has_converged(build, name, ended[len(ended) - 1])
    results = _unpack(ended, kinds)
    return {
        variable: build.aggregates.mask_undefined(variable, value, converged) for variable, value in results.items()
    }


def _refresh(build: Lowering, name: str, value: Value) -> Value:
    """A variable at the start of an iteration: integers are looked up again, to keep softmax errors from adding up."""
    return build.finder.restore(f"{name}, restored", value) if isinstance(value, BoundedInteger) else value


def _round_bits(name: str, packed: Signal, found: Type) -> Signal:
    """A variable at the end of an iteration: bits are rounded, for the same reason."""
    if isinstance(found, FiniteType):
        return round_unit_bit(name, packed)
    return stack(packed[0], round_unit_bit(name, packed[1])) if found.partial else packed


def convert_to_type(build: Lowering, name: str, value: Value, found: Type) -> Categorical | BoundedInteger:
    """The value in the representation of its type."""
    if isinstance(found, IntegerType):
        number = as_number(value)
        if isinstance(number, BoundedInteger):
            return number
    if not isinstance(found, FiniteType):
        raise ConstructionError(
            "its loop carries fractions", hint="carry a numerator and a denominator, or round in the loop"
        )
    if not isinstance(value, Categorical):
        value = build.pointwise.to_category(name, value, found.values)
    places = {identity_key(item): form for item, form in zip(value.values, value.bits.forms, strict=True)}
    forms = [places.get(identity_key(item), Affine({})) for item in found.values]
    return Categorical(found.values, one_hot(found.values, forms), found.partial)


def _pack(value: Categorical | BoundedInteger, found: Type, letter: Signal) -> Signal:
    if isinstance(value, Categorical):
        return value.bits.with_range(BIT)
    kind = _packed_ranges(found)
    number = value.value.with_range(kind)
    if not found.partial:
        return number
    return stack(number, (letter if value.presence is None else value.presence).with_range(BIT))


def _packed_ranges(found: Type) -> ValueRange:
    assert isinstance(found, IntegerType)
    return union([integer(found.low, found.high), integer(0, 0)])


def _unpack(carried: Signal, kinds: Mapping[str, Type]) -> dict[str, Value]:
    values: dict[str, Value] = {}
    place = 0
    for variable, found in kinds.items():
        if isinstance(found, FiniteType):
            width = len(found.values)
            bits = one_hot(found.values, carried.forms[place : place + width])
            values[variable] = Categorical(found.values, bits, found.partial)
        else:
            width = 1 + found.partial
            presence = carried[place + 1].with_range(BIT) if found.partial else None
            values[variable] = BoundedInteger(carried[place].with_range(_packed_ranges(found)), presence=presence)
        place += width
    return values


def _has_changed(build: Lowering, name: str, old: Value, new: Value) -> Signal:
    """A bit: whether an iteration changes a variable."""
    letter = build.layout.input_bit
    if isinstance(old, Categorical) and isinstance(new, Categorical):
        both = [
            all_of(f"{name}: {k}", Signal((one,), (BIT,)), Signal((other,), (BIT,))).forms[0]
            for k, (one, other) in enumerate(zip(old.bits.forms, new.bits.forms, strict=True))
        ]
        if old.may_be_undefined:
            undefined = [(letter - item.presence).with_range(BIT) for item in (old, new)]
            both.append(all_of(f"{name}: undefined", *undefined).forms[0])
        return (letter - Signal((Affine.sum(both),), (BIT,))).with_range(BIT)
    assert isinstance(old, BoundedInteger)
    assert isinstance(new, BoundedInteger)
    return build.finder.compare(name, build.finder.subtract(old, new, None), "!=")


def _has_converged(build: Lowering, name: str, changed: Signal) -> Signal:
    """A bit: whether no visible variable changed in the last iteration."""
    grid = PairTable((f"{name}: changed", ""), None, build.layout.input_bit, changed.with_range(BIT), 1, "key")
    some = build.heads.exists(f"{name} has not converged", SelectorProduct((grid,)))
    return (build.layout.input_bit - some).with_range(BIT)
