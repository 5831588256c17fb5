"""Program → graph: every node once, in an order in which inputs come first, equal nodes merged, unread numbers dropped.

Also finds for each node the loop whose body it belongs to: the one whose carried values it depends on. What a body
computes without them is thereby moved in front of the loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction

from softmachine.compiler.prune import pruned
from softmachine.ir.primitives import Attention, Carried, Loop, Named, Position, Token, Unit
from softmachine.ir.program import Program
from softmachine.ir.signal import Affine, Node, inputs_first
from softmachine.support.errors import ConstructionError


@dataclass(frozen=True)
class Graph:
    """The nodes of a program.

    Args:
        nodes: All nodes, inputs first.
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


def program_to_graph(program: Program) -> Graph:
    """Collect and merge the nodes of a program, and drop what the logits do not depend on."""
    merger = _Merger()
    for node in inputs_first(program.logits.forms):
        merger.node(node)
    nodes, logits = pruned(merger.nodes, merger.forms(program.logits.forms))
    return Graph(nodes, logits, _bodies(nodes, logits))


class _Merger:
    """Rebuilds a graph, inputs first, so that nodes that compute the same are one node. The first name stays."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._merged: dict[Node, Node] = {}
        self._known: dict[object, Node] = {}
        self._carried_along: set[Node] = set()
        """What loops carry, also behind names."""

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
            key = _content(rebuilt)
            if key not in self._known:
                self._known[key] = self._merged[rebuilt] = rebuilt
                self.nodes.append(rebuilt)
                if isinstance(rebuilt, Loop) or (isinstance(rebuilt, Named) and self._moving(rebuilt)):
                    self._carried_along.add(rebuilt)
            self._merged[node] = self._known[key]
        return self._merged[node]

    def rebuild(self, node: Node) -> Node:
        if isinstance(node, Named):
            # What a name restores is for certificates; the weights do not depend on it.
            return replace(node, restores=()).over(self.forms)
        if isinstance(node, Loop):
            self.node(node.carried)
            same = node.over(self.forms)
            return replace(same, initial=tuple(self._written_once(same, form) for form in same.initial))
        return node.over(self.forms)

    def _moving(self, node: Node) -> bool:
        return any(source in self._carried_along for form in node.inputs() for source, _ in form.terms)

    def _written_once(self, loop: Loop, form: Affine) -> Affine:
        """An initial value in which two units copy what other loops carry, since that already has a coordinate."""
        moving = Affine({atom: factor for atom, factor in form.terms.items() if atom[0] in self._carried_along})
        if not moving.terms:
            return form
        forms = (moving, moving * Fraction(-1))
        copy = self.node(Unit(f"copy for {loop.name}", tuple(part.kind for part in forms), forms, "relu"))
        copied = Affine({(copy, 0): Fraction(1), (copy, 1): Fraction(-1)})
        return form + moving * Fraction(-1) + copied


def _content(node: Node) -> object:
    """What makes two nodes the same: everything but the names; and how many numbers, which sparse tables do not say."""
    if isinstance(node, Carried | Loop):
        return node
    own = (getattr(node, item.name) for item in fields(node) if item.name not in ("name", "labels", "kinds"))
    return (type(node), len(node.kinds), *(_hashable(value) for value in own))


def _hashable(value: object) -> object:
    match value:
        case Affine():
            return frozenset(value.terms.items()), value.constant
        case dict():
            return frozenset((key, _hashable(item)) for key, item in value.items())
        case tuple():
            return tuple(_hashable(item) for item in value)
    return value


def _bodies(nodes: Sequence[Node], logits: Sequence[Affine]) -> dict[Node, Carried]:
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
            raise ConstructionError(f"{node.name!r} reads what the loops {names} carry; it can be inside one only")
        elif inside:
            bodies[node] = next(iter(inside))
    for form in logits:
        for node, _ in form.terms:
            if node in bodies:
                raise ConstructionError(f"{node.name!r} is read outside of its loop {bodies[node].name!r}")
    return bodies


def is_raw(node: Node) -> bool:
    """Whether a sublayer or the embedding produces the node's numbers, so that it can add them to any coordinate."""
    return isinstance(node, Token | Position | Unit | Attention)
