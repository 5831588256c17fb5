"""Allocation → narrower allocation: reuse of coordinates, as in register allocation.

The live range of a number extends from the sublayer that first writes to its coordinate to the last one that reads it.
Numbers with disjoint live ranges share a coordinate, which a feed-forward sublayer clears in between. A number that is
the sum of an earlier one and terms written after the last read of the earlier one stays in the same coordinate without
clearing: a register that is updated in place. Live ranges are intervals, so a linear scan in the order of their starts
needs the fewest coordinates.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

from softmachine.compiler.allocation import Allocation, UniqueNames
from softmachine.compiler.graph import SignalGraph
from softmachine.compiler.schedule import Schedule
from softmachine.ir.primitives import Attention, Named, Unit
from softmachine.ir.signal import Affine, Atom
from softmachine.support.errors import ConstructionError
from softmachine.support.polynomial import Polynomial

MAX_NAMES = 3
"""How many of the numbers that share a coordinate are listed in its name."""


@dataclass
class _LiveRange:
    """The live range of a number in a coordinate.

    Args:
        slots: The coordinates of the given allocation that it replaces; more than one if it is updated in place.
        written: The atoms that are added to the coordinate during the live range.
        start: The stage that first writes to it.
        end: The last stage that reads it.
        names: The names of the numbers.
        signed: Whether it may be negative.
        written_by_head: Whether a head writes to it. Softmax then leaves a small error, and 1 minus a small number is
            rounded, so the coordinate must be cleared before the next number is written.
    """

    slots: list[int]
    written: dict[Atom, Fraction]
    start: int
    end: int
    names: list[str]
    signed: bool
    written_by_head: bool


def reuse_coordinates(graph: SignalGraph, schedule: Schedule, allocation: Allocation) -> Allocation:
    """Return an allocation of the same numbers to fewer coordinates.

    Raises:
        ConstructionError: If the program has loops; their coordinates cannot be reused.
    """
    if graph.loops:
        raise ConstructionError("a narrow program cannot have loops")
    lives = _coalesce(_find_live_ranges(graph, schedule, allocation), schedule)
    coordinates: list[list[_LiveRange]] = []
    for life in sorted(lives, key=lambda item: (item.start, item.slots[0])):
        best = max(
            (index for index, held in enumerate(coordinates) if _can_share(held[-1], life)),
            key=lambda index: (life.names[0] in coordinates[index][-1].names, coordinates[index][-1].end, -index),
            default=None,
        )
        if best is None:
            coordinates.append([life])
        else:
            coordinates[best].append(life)
    return _build_allocation(allocation, coordinates)


def _find_live_ranges(graph: SignalGraph, schedule: Schedule, allocation: Allocation) -> list[_LiveRange]:
    stage = {node: time[1] for node, time in schedule.time.items()}
    end = 2 * schedule.blocks[0].depth + 1
    death = [0] * len(allocation.names)

    def read(form: Affine, when: int) -> None:
        for slot in allocation.read(form).terms:
            death[slot] = max(death[slot], when)

    for node in graph.nodes:
        if isinstance(node, Unit):
            for form in node.forms:
                read(form, stage[node])
        elif isinstance(node, Attention):
            for form in node.inputs():
                read(form, stage[node])
    for form in graph.logits:
        read(form, end)
    lives = []
    for (node, k), slot in allocation.coordinate_of.items():
        written = allocation.summands[slot]
        birth = min((stage[source] for source, _ in written), default=0)
        positive = (
            Polynomial(0).is_coefficientwise_at_most(node.ranges[k].low) and (node, k) not in allocation.extra_forms
        )
        retrieved = any(isinstance(source, Attention) for source, _ in written)
        signed = retrieved or not positive  # a bit that a head retrieved may be rounded to less than 0
        lives.append(_LiveRange([slot], written, birth, death[slot], [_atom_name(node, k)], signed, retrieved))
    return lives


def _atom_name(node: object, k: int) -> str:
    return node.label(k) if isinstance(node, Named | Unit | Attention) else f"{getattr(node, 'name', node)}[{k}]"


def _coalesce(lives: list[_LiveRange], schedule: Schedule) -> list[_LiveRange]:
    """Coalesce live ranges: a number that is an earlier one plus later terms stays in its coordinate."""
    by_atom: dict[Atom, list[_LiveRange]] = {}
    kept: list[_LiveRange] = []
    for life in sorted(lives, key=lambda item: (item.start, len(item.written), item.slots[0])):
        before = next(
            (
                other
                for atom in life.written
                for other in reversed(by_atom.get(atom, []))
                if _updates_in_place(other, life, schedule)
            ),
            None,
        )
        if before is None:
            kept.append(life)
            before = life
        else:
            before.slots += life.slots
            before.written, before.end = life.written, life.end
            before.names += [name for name in life.names if name not in before.names]
            before.signed |= life.signed
            before.written_by_head |= life.written_by_head
        for atom in life.written:
            if before not in by_atom.setdefault(atom, []):
                by_atom[atom].append(before)
    return kept


def _updates_in_place(before: _LiveRange, after: _LiveRange, schedule: Schedule) -> bool:
    if any(after.written.get(atom) != factor for atom, factor in before.written.items()):
        return False
    added = [atom for atom in after.written if atom not in before.written]
    return all(schedule.time[node][1] >= before.end for node, _ in added) and after.end >= before.end


def _last_clear_stage(old: _LiveRange, new: _LiveRange) -> int:
    """Return the last feed-forward stage that can clear the coordinate before the new number is written."""
    latest = new.start - 1 if old.written_by_head else new.start
    return latest - latest % 2


def _can_share(old: _LiveRange, new: _LiveRange) -> bool:
    """Whether a feed-forward sublayer between the two live ranges can clear the coordinate."""
    return max(old.end, 2) <= _last_clear_stage(old, new)


def _build_allocation(allocation: Allocation, coordinates: list[list[_LiveRange]]) -> Allocation:
    place = {slot: c for c, held in enumerate(coordinates) for life in held for slot in life.slots}
    clears: dict[tuple[int, int], tuple[tuple[int, bool], ...]] = {}
    names = UniqueNames()
    labels = []
    for c, held in enumerate(coordinates):
        called = list(dict.fromkeys(name for life in held for name in life.names))
        labels.append(names.make_unique(" / ".join(called[:MAX_NAMES]) + (" / …" if len(called) > MAX_NAMES else "")))
        for old, new in pairwise(held):
            when = (0, _last_clear_stage(old, new))
            clears[when] = (*clears.get(when, ()), (c, old.signed))
    return replace(
        allocation,
        names=tuple(labels),
        coordinate_of={atom: place[slot] for atom, slot in allocation.coordinate_of.items()},
        summands=tuple({atom: f for life in held for atom, f in life.written.items()} for held in coordinates),
        constants=(Fraction(0),) * len(coordinates),
        cleared=clears,
    )
