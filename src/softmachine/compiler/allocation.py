"""Schedule → allocation: assigns coordinates of the residual stream to atoms, and forms over atoms to forms over them.

Only values that a sublayer or the unembedding reads are stored. A named vector is written in parts: each sublayer adds
its part when it computes it, so that a sum over several layers needs one coordinate and no copy. Values that cannot be
written that way (loop-carried values, and values from outside that a loop's body names) are read from their own
coordinates.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from softmachine.compiler.graph import SignalGraph, is_raw
from softmachine.compiler.schedule import Schedule, Time
from softmachine.ir.primitives import Attention, Carried, Loop, Named, Norm, Unit
from softmachine.ir.signal import Affine, Atom, Node


@dataclass(frozen=True)
class CoordinateForm:
    """An affine form over coordinates."""

    terms: dict[int, Fraction]
    constant: Fraction


@dataclass(frozen=True)
class CarriedUpdate:
    """How the last feed-forward layer of a loop updates a carried value.

    Args:
        coordinate: The coordinate of the carried value.
        direct: Units of that feed-forward layer that write to the coordinate themselves.
        change: The rest of the new value minus the old one, read before that feed-forward layer.
    """

    coordinate: int
    direct: dict[Atom, Fraction]
    change: Affine


@dataclass(frozen=True)
class Allocation:
    """Layout of the residual stream.

    Args:
        names: A unique name for each coordinate.
        coordinate_of: The coordinate of each stored atom.
        summands: For each coordinate, the raw atoms that are added to it, with their factors.
        constants: For each coordinate, its constant in the embedding.
        extra_forms: For stored atoms, the form to read in addition to their coordinate.
        updates: For each loop, the updates of its carried values.
        temporaries: For each loop, the atoms that its body stores and must clear.
        cleared: For each feed-forward sublayer (block, stage), the coordinates that it clears for reuse, with whether
            their values may be negative.
    """

    names: tuple[str, ...]
    coordinate_of: dict[Atom, int]
    summands: tuple[dict[Atom, Fraction], ...]
    constants: tuple[Fraction, ...]
    extra_forms: dict[Atom, Affine]
    updates: dict[Loop, tuple[CarriedUpdate, ...]]
    temporaries: dict[Loop, tuple[Atom, ...]]
    cleared: dict[Time, tuple[tuple[int, bool], ...]] = field(default_factory=dict)

    def read(self, form: Affine) -> CoordinateForm:
        """Convert a form over atoms to a form over coordinates."""
        terms: dict[int, Fraction] = {}
        constant = form.constant
        for atom, factor in form.terms.items():
            slot = self.coordinate_of[_storage_atom(atom)]
            terms[slot] = terms[slot] + factor if slot in terms else factor
            if atom in self.extra_forms:
                more = self.read(self.extra_forms[atom])
                constant += factor * more.constant
                for coordinate, share in more.terms.items():
                    terms[coordinate] = terms.get(coordinate, Fraction(0)) + factor * share
        return CoordinateForm({slot: factor for slot, factor in terms.items() if factor}, constant)


def schedule_to_allocation(graph: SignalGraph, schedule: Schedule, *, narrow: bool = False) -> Allocation:
    """Assign a coordinate to every atom that is read, and determine the summands of each coordinate.

    ``narrow``: coordinates will be reused, so that none can hold a constant from the embedding.
    """
    splitter = _Splitter(graph, narrow)
    updates = {loop: _carried_updates(loop, schedule) for loop in graph.loops}
    demand = _DemandAnalysis(splitter)
    for loop in graph.loops:
        for k, (direct, change) in enumerate(updates[loop]):
            for form in (*demand.store((loop.carried, k)), *(f for atom in direct for f in demand.produce(atom))):
                demand.read(form)
            demand.read(change)
    for form in graph.logits:
        demand.read(form)

    rank = {node: index for index, node in enumerate(graph.nodes)}
    atoms = sorted(demand.stored, key=lambda atom: (rank[atom[0]], atom[1]))
    slot = {atom: index for index, atom in enumerate(atoms)}
    inside = [splitter.split(atom)[0] for atom in atoms]
    names = UniqueNames()
    return Allocation(
        names=tuple(names.make_unique(node.label(k)) for node, k in atoms),
        coordinate_of=slot,
        summands=tuple(dict(form.terms) for form in inside),
        constants=tuple(form.constant for form in inside),
        extra_forms=demand.extra_forms,
        updates={
            loop: tuple(
                CarriedUpdate(slot[(loop.carried, k)], direct, change)
                for k, (direct, change) in enumerate(updates[loop])
            )
            for loop in graph.loops
        },
        temporaries={
            loop: tuple(a for a in atoms if graph.body_of.get(a[0]) is loop.carried and a[0] is not loop.carried)
            for loop in graph.loops
        },
    )


class UniqueNames:
    """Makes names unique by appending a number to repeated ones."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._used: set[str] = set()

    def make_unique(self, name: str) -> str:
        """Return the name, or the first free numbered variant."""
        given = name
        while not self._counts[name] or given in self._used:
            self._counts[name] += 1
            given = name if self._counts[name] == 1 else f"{name} ({self._counts[name]})"
        self._used.add(given)
        return given


def _storage_atom(atom: Atom) -> Atom:
    """Return the atom that holds a value: the result of a loop is in the coordinates of its carried values."""
    node, k = atom
    return (node.carried, k) if isinstance(node, Loop) else atom


class _DemandAnalysis:
    """Demand analysis: the atoms that must be stored and computed, backwards from the forms that are read."""

    def __init__(self, splitter: _Splitter) -> None:
        self.splitter = splitter
        self.stored: set[Atom] = set()
        self.extra_forms: dict[Atom, Affine] = {}
        self._produced: set[Atom] = set()

    def read(self, form: Affine) -> None:
        waiting = [form]
        while waiting:
            for atom in waiting.pop().terms:
                waiting += self.store(_storage_atom(atom))

    def store(self, atom: Atom) -> Iterator[Affine]:
        """Mark an atom as stored; yields the forms that it reads."""
        if atom in self.stored:
            return
        self.stored.add(atom)
        written, beside = self.splitter.split(atom)
        if beside.terms or beside.constant:
            self.extra_forms[atom] = beside
            yield beside
        for source in written.terms:
            yield from self.produce(source)

    def produce(self, atom: Atom) -> Iterator[Affine]:
        """Mark an atom as computed; yields the forms that it reads."""
        if atom in self._produced:
            return
        self._produced.add(atom)
        node, k = atom
        if isinstance(node, Norm):
            yield from node.forms
        elif isinstance(node, Unit):
            yield node.forms[k]
        elif isinstance(node, Attention):
            yield from (*node.query, *node.key, node.value[k])


class _Splitter:
    """Splits the form of an atom into a part written to its coordinate and a part read from other coordinates."""

    def __init__(self, graph: SignalGraph, narrow: bool) -> None:
        self.graph = graph
        self.narrow = narrow
        self.loop_of = {loop.carried: loop for loop in graph.loops}
        self._named: dict[Atom, tuple[Affine, Affine]] = {}
        for node in graph.nodes:
            if isinstance(node, Named):
                body = graph.body_of.get(node)
                self._named |= {(node, k): self.split_form(form, body) for k, form in enumerate(node.forms)}

    def split(self, atom: Atom) -> tuple[Affine, Affine]:
        """Return (written, read in addition)."""
        node, k = atom
        if isinstance(node, Carried):
            return self.split_form(self.loop_of[node].initial[k], None)
        if isinstance(node, Named):
            return self._named[atom]
        return Affine({atom: Fraction(1)}), Affine({})

    def split_form(self, form: Affine, body: Node | None) -> tuple[Affine, Affine]:
        # A loop clears its temporaries in every iteration, so they cannot hold a constant from the embedding.
        constant = Affine({}, form.constant)
        written, beside = ([constant], []) if body is None and not self.narrow else ([], [constant])
        for (node, k), factor in form.terms.items():
            if self.graph.body_of.get(node) is not body or isinstance(node, Carried | Loop):
                beside.append(Affine({(node, k): factor}))
            elif isinstance(node, Named):
                inner_written, inner_beside = self._named[(node, k)]
                written.append(inner_written * factor)
                beside.append(inner_beside * factor)
            elif is_raw(node):
                written.append(Affine({(node, k): factor}))
        return Affine.sum(written), Affine.sum(beside)


def _carried_updates(loop: Loop, schedule: Schedule) -> list[tuple[dict[Atom, Fraction], Affine]]:
    """For each carried value: (units that write it directly, the form that the last feed-forward layer must add)."""
    index = schedule.time[loop.carried][0]
    end: Time = (index, 2 * schedule.blocks[index].depth)
    result = []
    for k, form in enumerate(loop.body):
        direct, rest = _split_last_units(form, end, schedule)
        result.append((dict(direct.terms), rest + Affine({(loop.carried, k): Fraction(-1)})))
    return result


def _split_last_units(form: Affine, end: Time, schedule: Schedule) -> tuple[Affine, Affine]:
    """Split a form into units of the last feed-forward layer and terms that are complete before it."""
    direct, rest = [], [Affine({}, form.constant)]
    for (node, k), factor in form.terms.items():
        if schedule.time[node] < end:
            rest.append(Affine({(node, k): factor}))
        elif isinstance(node, Unit):
            direct.append(Affine({(node, k): factor}))
        elif isinstance(node, Named):
            inner_direct, inner_rest = _split_last_units(node.forms[k], end, schedule)
            direct.append(inner_direct * factor)
            rest.append(inner_rest * factor)
    return Affine.sum(direct), Affine.sum(rest)
