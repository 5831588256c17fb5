"""Loops of RASP programs: a repeated block, and a check that it has reached a fixpoint.

The number of iterations is a multiple of the length, in a decoder a constant. Iterating at a fixpoint changes nothing;
if the loop has not converged, everything that depends on it is undefined.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from softmachine.ir import Signal, loop, named, stack
from softmachine.ir.gadgets import all_of, any_of, rounded
from softmachine.ir.ranges import BIT, Kind, integer
from softmachine.ir.signal import Affine
from softmachine.languages.rasp import ir
from softmachine.languages.rasp.types import Finite, Integer, Type
from softmachine.languages.rasp.values import identity
from softmachine.support.errors import ConstructionError
from softmachine.support.polynomial import Bound
from softmachine.theorems.rasp.rasp.selection import Grid, Product
from softmachine.theorems.rasp.values import Category, Number, Value, numeric, one_hot
from softmachine.transformer.features import LENGTH, Feature

if TYPE_CHECKING:
    from softmachine.theorems.rasp.rasp.lowering import Build

TURNS = 8
"""Iterations of a loop in an encoder, per n+1."""
CAUSAL_TURNS = 64
"""Iterations of a loop in a decoder, which is not given n."""


def repeated(build: Build, name: str, node: ir.Repeat) -> dict[str, Value]:
    """The final values of all variables of a loop; undefined if it has not converged."""
    types = build.program.types
    kinds = {variable: types[variable] for variable, _ in node.variables}
    starts = [conformed(build, start, build.values[start], kinds[variable]) for variable, start in node.variables]
    start = stack(
        *(_packed(value, found, build.frame.letter) for value, found in zip(starts, kinds.values(), strict=True))
    )

    def body(carried: Signal) -> Signal:
        before = {name: _clean(build, name, value) for name, value in _unpacked(carried, kinds).items()}
        build.values |= before
        for step in node.body:
            build.define(step)
        after = [
            conformed(build, following, build.values[following], found)
            for following, found in zip(node.following, kinds.values(), strict=True)
        ]
        changes = [
            _changed(build, f"{variable} changes", before[variable], new)
            for variable, new in zip(kinds, after, strict=True)
        ]
        changed = changes[0] if len(changes) == 1 else any_of(f"{name}: any change", *changes)
        clean = [
            _rounded(f"{variable}: next", _packed(value, found, build.frame.letter), found)
            for (variable, found), value in zip(kinds.items(), after, strict=True)
        ]
        return named(f"{name}: next", stack(*clean, rounded(f"{name}: any change, rounded", changed)))

    times: int | Feature = CAUSAL_TURNS if build.frame.causal else TURNS * LENGTH
    ended = loop(name, times=times, carry=stack(start, build.frame.letter), body=body)
    converged = _converged(build, name, ended[len(ended) - 1])
    results = _unpacked(ended, kinds)
    return {variable: build.aggregates.guarded(variable, value, converged) for variable, value in results.items()}


def _clean(build: Build, name: str, value: Value) -> Value:
    """A variable at the start of an iteration: integers are looked up again, to keep softmax errors from adding up."""
    return build.finder.restored(f"{name}, restored", value) if isinstance(value, Number) else value


def _rounded(name: str, packed: Signal, found: Type) -> Signal:
    """A variable at the end of an iteration: bits are rounded, for the same reason."""
    if isinstance(found, Finite):
        return rounded(name, packed)
    return stack(packed[0], rounded(name, packed[1])) if found.partial else packed


def conformed(build: Build, name: str, value: Value, found: Type) -> Category | Number:
    """The value in the representation of its type."""
    if isinstance(found, Integer):
        number = numeric(value)
        if isinstance(number, Number):
            return number
    if not isinstance(found, Finite):
        raise ConstructionError(
            "its loop carries fractions", hint="carry a numerator and a denominator, or round in the loop"
        )
    if not isinstance(value, Category):
        value = build.pointwise.sorted_out(name, value, found.values)
    places = {identity(item): form for item, form in zip(value.values, value.bits.forms, strict=True)}
    forms = [places.get(identity(item), Affine({})) for item in found.values]
    return Category(found.values, one_hot(found.values, forms), found.partial)


def _packed(value: Category | Number, found: Type, letter: Signal) -> Signal:
    if isinstance(value, Category):
        return value.bits.known(BIT)
    kind = _kind(found)
    number = value.value.known(kind)
    if not found.partial:
        return number
    return stack(number, (letter if value.presence is None else value.presence).known(BIT))


def _kind(found: Type) -> Kind:
    assert isinstance(found, Integer)
    low, high = (Bound(tuple(map(Fraction, end.coefficients))) for end in (found.low, found.high))
    return integer(low.meet(Bound.of(0)), high.join(Bound.of(0)))


def _unpacked(carried: Signal, kinds: Mapping[str, Type]) -> dict[str, Value]:
    values: dict[str, Value] = {}
    place = 0
    for variable, found in kinds.items():
        if isinstance(found, Finite):
            width = len(found.values)
            bits = one_hot(found.values, carried.forms[place : place + width])
            values[variable] = Category(found.values, bits, found.partial)
        else:
            kind = _kind(found)
            width = 1 + found.partial
            presence = carried[place + 1].known(BIT) if found.partial else None
            values[variable] = Number(kind.low, kind.high, carried[place].known(kind), presence=presence)
        place += width
    return values


def _changed(build: Build, name: str, old: Value, new: Value) -> Signal:
    """A bit: whether an iteration changes a variable."""
    letter = build.frame.letter
    if isinstance(old, Category) and isinstance(new, Category):
        both = [
            all_of(f"{name}: {k}", Signal((one,), (BIT,)), Signal((other,), (BIT,))).forms[0]
            for k, (one, other) in enumerate(zip(old.bits.forms, new.bits.forms, strict=True))
        ]
        if old.partial:
            undefined = [(letter - item.defined).known(BIT) for item in (old, new)]
            both.append(all_of(f"{name}: undefined", *undefined).forms[0])
        return (letter - Signal((Affine.sum(both),), (BIT,))).known(BIT)
    assert isinstance(old, Number)
    assert isinstance(new, Number)
    return build.finder.compare(name, build.finder.minus(old, new, None), "!=")


def _converged(build: Build, name: str, changed: Signal) -> Signal:
    """A bit: whether no visible variable changed in the last iteration."""
    grid = Grid((f"{name}: changed", ""), None, build.frame.letter, changed.known(BIT), 1, "key")
    some = build.heads.some(f"{name} has not converged", Product((grid,)))
    return (build.frame.letter - some).known(BIT)
