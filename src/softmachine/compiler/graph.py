"""Program → graph: nodes in topological order, with common subexpressions merged and dead components removed.

Also determines the loop whose body a node belongs to: the one whose carried values it depends on. Loop-invariant nodes
are thereby moved in front of the loop.

Components that the logits do not depend on are dropped, so that they cost no layer and no coordinate. Vectors of units
and named vectors are split into one node per component, so that each is scheduled as early as its own inputs allow; a
head retrieves all its values at once and stays whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import TypeVar

from softmachine.ir.primitives import Attention, Carried, Loop, Named, Norm, Position, Token, Unit
from softmachine.ir.program import Program
from softmachine.ir.signal import Affine, Atom, Node, topological_order
from softmachine.support.errors import ConstructionError

Item = TypeVar("Item")


def prune(nodes: Sequence[Node], logits: Sequence[Affine]) -> tuple[tuple[Node, ...], tuple[Affine, ...]]:
    """Return the nodes, in topological order as before, without unread components; and the logits over them."""
    live = _live_atoms(nodes, logits)
    pruning = _Pruner()
    kept = ((node, [k for k in range(len(node.ranges)) if (node, k) in live]) for node in nodes)
    remaining = tuple(new for node, components in kept if components for new in pruning.node(node, components))
    return remaining, pruning.forms(logits)


def _live_atoms(nodes: Sequence[Node], logits: Sequence[Affine]) -> set[Atom]:
    loop_of = {node.carried: node for node in nodes if isinstance(node, Loop)}
    live: set[Atom] = set()
    waiting = [atom for form in logits for atom in form.terms]
    while waiting:
        node, k = atom = waiting.pop()
        if atom not in live:
            live.add(atom)
            waiting += [source for form in _forms_read(node, k) for source in form.terms]
            if isinstance(node, Loop):
                waiting.append((node.carried, k))
            elif node in loop_of:
                waiting.append((loop_of[node], k))
    return live


def _forms_read(node: Node, k: int) -> Iterable[Affine]:
    """Return the forms that one component of a node reads."""
    match node:
        case Norm():
            return node.forms
        case Unit() | Named():
            return (node.forms[k],)
        case Attention():
            return (*node.query, *node.key, node.value[k])
        case Loop():
            return (node.initial[k], node.body[k])
    return ()


class _Pruner:
    """Rebuilds nodes with a subset of their components, under their old labels."""

    def __init__(self) -> None:
        self.atoms: dict[Atom, Atom] = {}
        self.carried: dict[Carried, Carried] = {}

    def forms(self, forms: Iterable[Affine]) -> tuple[Affine, ...]:
        return tuple(Affine({self.atoms[a]: factor for a, factor in f.terms.items()}, f.constant) for f in forms)

    def _remaining(self, forms: Iterable[Affine]) -> tuple[Affine, ...]:
        """Return the live part of forms that constrain the schedule but are not read."""
        return tuple(Affine({self.atoms[a]: factor for a, factor in f.terms.items() if a in self.atoms}) for f in forms)

    def node(self, node: Node, kept: Sequence[int]) -> Iterator[Node]:
        """Yield the node restricted to these components, or one node for each of them."""
        if isinstance(node, Norm):  # each number depends on all of them
            yield self._register(node.with_forms(self.forms), {(node, k): k for k in range(len(node.ranges))})
            return
        if isinstance(node, Unit | Named):
            for k in kept:
                alone = replace(node, name=node.label(k), ranges=(node.ranges[k],), labels=None)
                if isinstance(alone, Unit):
                    alone = replace(alone, after=self._remaining(alone.after))
                yield self._register(replace(alone, forms=self.forms([node.forms[k]])), {(node, k): 0})
            return
        labels = node.labels or tuple(map(str, range(len(node.ranges))))
        fewer = len(kept) < len(node.ranges)
        cut = replace(node, ranges=_select(node.ranges, kept), labels=_select(labels, kept)) if fewer else node
        match cut:
            case Token():
                place = {k: index for index, k in enumerate(kept)}
                rows = ((key, [(place[k], x) for k, x in row.items() if k in place]) for key, row in cut.table.items())
                cut = replace(cut, table={key: dict(row) for key, row in rows})
            case Attention():
                cut = replace(cut, value=_select(cut.value, kept)).with_forms(self.forms)
            case Loop():
                initial, body = (_select(part, kept) for part in (cut.initial, cut.body))
                cut = replace(cut, carried=self.carried[cut.carried], initial=initial, body=body).with_forms(self.forms)
        yield self._register(cut, {(node, k): index for index, k in enumerate(kept)})
        if isinstance(node, Carried) and isinstance(cut, Carried):
            self.carried[node] = cut

    def _register(self, node: Node, places: dict[Atom, int]) -> Node:
        self.atoms |= {atom: (node, index) for atom, index in places.items()}
        return node


def _select(items: Sequence[Item], kept: Sequence[int]) -> tuple[Item, ...]:
    return tuple(items[k] for k in kept)


@dataclass(frozen=True)
class SignalGraph:
    """The nodes of a program.

    Args:
        nodes: All nodes, in topological order.
        logits: The outputs, as forms over these nodes.
        body_of: For the nodes inside a loop, the carried values they depend on.
    """

    nodes: tuple[Node, ...]
    logits: tuple[Affine, ...]
    body_of: dict[Node, Carried]

    @property
    def loops(self) -> tuple[Loop, ...]:
        """The loops in the order in which they run."""
        return tuple(node for node in self.nodes if isinstance(node, Loop))


def program_to_graph(program: Program) -> SignalGraph:
    """Collect and merge the nodes of a program, and drop those that the logits do not depend on."""
    merger = _Merger()
    for node in topological_order(program.logits.forms):
        merger.node(node)
    nodes, logits = prune(merger.nodes, merger.forms(program.logits.forms))
    return SignalGraph(nodes, logits, _assign_bodies(nodes, logits))


class _Merger:
    """Common subexpression elimination: rebuilds a graph in topological order.

    Merged nodes keep the name and the explanation of the first.
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._merged: dict[Node, Node] = {}
        self._known: dict[object, Node] = {}
        self._loop_results: set[Node] = set()
        """Results of loops, also if they are named."""

    def forms(self, forms: Sequence[Affine]) -> tuple[Affine, ...]:
        return tuple(self.form(form) for form in forms)

    def form(self, form: Affine) -> Affine:
        renamed = [((self.node(node), k), factor) for (node, k), factor in form.terms.items()]
        terms = dict(renamed)
        if len(terms) == len(renamed):
            return Affine(terms, form.constant)
        # Two atoms become one when their nodes merge, so their coefficients add up.
        return Affine.sum([Affine({}, form.constant), *(Affine({atom: factor}) for atom, factor in renamed)])

    def node(self, node: Node) -> Node:
        if node not in self._merged:
            rebuilt = self.rebuild(node)
            key = _structural_key(rebuilt)
            if key not in self._known:
                self._known[key] = self._merged[rebuilt] = rebuilt
                self.nodes.append(rebuilt)
                if isinstance(rebuilt, Loop) or (isinstance(rebuilt, Named) and self._reads_loop_result(rebuilt)):
                    self._loop_results.add(rebuilt)
            self._merged[node] = self._known[key]
        return self._merged[node]

    def rebuild(self, node: Node) -> Node:
        if isinstance(node, Loop):
            self.node(node.carried)
            same = node.with_forms(self.forms)
            return replace(same, initial=tuple(self._copy_loop_results(same, form) for form in same.initial))
        return node.with_forms(self.forms)

    def _reads_loop_result(self, node: Node) -> bool:
        return any(source in self._loop_results for form in node.inputs() for source, _ in form.terms)

    def _copy_loop_results(self, loop: Loop, form: Affine) -> Affine:
        """Copy the results of other loops in an initial value by two units, since they already have a coordinate."""
        moving = Affine({atom: factor for atom, factor in form.terms.items() if atom[0] in self._loop_results})
        if not moving.terms:
            return form
        forms = (moving, moving * Fraction(-1))
        copy = self.node(Unit(f"copy for {loop.name}", tuple(part.value_range for part in forms), forms, "relu"))
        copied = Affine({(copy, 0): Fraction(1), (copy, 1): Fraction(-1)})
        return form + moving * Fraction(-1) + copied


def _structural_key(node: Node) -> object:
    """Return the structural key of a node: all but names and explanations; its width, not implied by sparse tables."""
    if isinstance(node, Carried | Loop):
        return node
    shared = {item.name for item in fields(Node)}
    own = (getattr(node, item.name) for item in fields(node) if item.compare and item.name not in shared)
    return (type(node), len(node.ranges), *(_hashable(value) for value in own))


def _hashable(value: object) -> object:
    match value:
        case Affine():
            return frozenset(value.terms.items()), value.constant
        case dict():
            return frozenset((key, _hashable(item)) for key, item in value.items())
        case tuple():
            return tuple(_hashable(item) for item in value)
    return value


def _assign_bodies(nodes: Sequence[Node], logits: Sequence[Affine]) -> dict[Node, Carried]:
    bodies: dict[Node, Carried] = {}
    for node in nodes:
        if isinstance(node, Carried):
            bodies[node] = node
            continue
        inside = {bodies[source]: source for form in node.inputs() for source, _ in form.terms if source in bodies}
        if isinstance(node, Loop):
            inside.pop(node.carried, None)
            if inside:
                outer = next(iter(inside)).name
                raise ConstructionError(f"loop {node.name!r} is inside loop {outer!r}; loops do not nest")
        elif len(inside) > 1:
            names = " and ".join(repr(carried.name) for carried in inside)
            raise ConstructionError(
                f"{node.name!r} reads values carried by the loops {names}; it can be inside one of them only"
            )
        elif inside:
            bodies[node] = next(iter(inside))
    for form in logits:
        for node, _ in form.terms:
            if node in bodies:
                raise ConstructionError(f"{node.name!r} is read outside its loop {bodies[node].name!r}")
    return bodies


def is_raw(node: Node) -> bool:
    """Whether a sublayer or the embedding computes the node, so that it can add its values to any coordinate."""
    return isinstance(node, Token | Position | Unit | Attention)
