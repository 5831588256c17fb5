"""Program → graph: nodes in topological order, with common subexpressions merged and dead components removed.

Also determines the loop whose body a node belongs to: the one whose carried values it depends on. Loop-invariant nodes
are thereby moved in front of the loop.
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


def program_to_graph(program: Program) -> Graph:
    """Collect and merge the nodes of a program, and drop those that the logits do not depend on."""
    merger = _Merger()
    for node in inputs_first(program.logits.forms):
        merger.node(node)
    nodes, logits = pruned(merger.nodes, merger.forms(program.logits.forms))
    return Graph(nodes, logits, _bodies(nodes, logits))


class _Merger:
    """Common subexpression elimination: rebuilds a graph in topological order. Merged nodes keep the first name."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._merged: dict[Node, Node] = {}
        self._known: dict[object, Node] = {}
        self._carried_along: set[Node] = set()
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
            # ``restores`` is used by certificates only; the weights do not depend on it.
            return replace(node, restores=()).over(self.forms)
        if isinstance(node, Loop):
            self.node(node.carried)
            same = node.over(self.forms)
            return replace(same, initial=tuple(self._written_once(same, form) for form in same.initial))
        return node.over(self.forms)

    def _moving(self, node: Node) -> bool:
        return any(source in self._carried_along for form in node.inputs() for source, _ in form.terms)

    def _written_once(self, loop: Loop, form: Affine) -> Affine:
        """Copy the results of other loops in an initial value by two units, since they already have a coordinate."""
        moving = Affine({atom: factor for atom, factor in form.terms.items() if atom[0] in self._carried_along})
        if not moving.terms:
            return form
        forms = (moving, moving * Fraction(-1))
        copy = self.node(Unit(f"copy for {loop.name}", tuple(part.kind for part in forms), forms, "relu"))
        copied = Affine({(copy, 0): Fraction(1), (copy, 1): Fraction(-1)})
        return form + moving * Fraction(-1) + copied


def _content(node: Node) -> object:
    """Return the structural key of a node: all but its names; its width, because sparse tables do not imply it."""
    if isinstance(node, Carried | Loop):
        return node
    shared = {item.name for item in fields(Node)}
    own = (getattr(node, item.name) for item in fields(node) if item.name not in shared)
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
