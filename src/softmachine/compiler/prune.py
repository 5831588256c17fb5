"""Dead component elimination: keeps only the components that the logits depend on.

Unread components are dropped, so that they cost no layer and no coordinate. Vectors of units and named vectors are
split into one node per component, so that each is scheduled as early as its own inputs allow; a head retrieves all its
values at once and stays whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from softmachine.ir.primitives import Attention, Carried, Loop, Named, Norm, Token, Unit
from softmachine.ir.signal import Affine, Atom, Node

Item = TypeVar("Item")


def pruned(nodes: Sequence[Node], logits: Sequence[Affine]) -> tuple[tuple[Node, ...], tuple[Affine, ...]]:
    """Return the nodes, in topological order as before, without unread components; and the logits over them."""
    live = _live(nodes, logits)
    pruning = _Pruning()
    kept = ((node, [k for k in range(len(node.kinds)) if (node, k) in live]) for node in nodes)
    remaining = tuple(new for node, components in kept if components for new in pruning.node(node, components))
    return remaining, pruning.forms(logits)


def _live(nodes: Sequence[Node], logits: Sequence[Affine]) -> set[Atom]:
    loop_of = {node.carried: node for node in nodes if isinstance(node, Loop)}
    live: set[Atom] = set()
    waiting = [atom for form in logits for atom in form.terms]
    while waiting:
        node, k = atom = waiting.pop()
        if atom not in live:
            live.add(atom)
            waiting += [source for form in _read(node, k) for source in form.terms]
            if isinstance(node, Loop):
                waiting.append((node.carried, k))
            elif node in loop_of:
                waiting.append((loop_of[node], k))
    return live


def _read(node: Node, k: int) -> Iterable[Affine]:
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


class _Pruning:
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
            yield self._placed(node.over(self.forms), {(node, k): k for k in range(len(node.kinds))})
            return
        if isinstance(node, Unit | Named):
            for k in kept:
                alone = replace(node, name=node.label(k), kinds=(node.kinds[k],), labels=None)
                if isinstance(alone, Unit):
                    alone = replace(alone, after=self._remaining(alone.after))
                yield self._placed(replace(alone, forms=self.forms([node.forms[k]])), {(node, k): 0})
            return
        labels = node.labels or tuple(map(str, range(len(node.kinds))))
        fewer = len(kept) < len(node.kinds)
        cut = replace(node, kinds=_only(node.kinds, kept), labels=_only(labels, kept)) if fewer else node
        match cut:
            case Token():
                place = {k: index for index, k in enumerate(kept)}
                rows = ((key, [(place[k], x) for k, x in row.items() if k in place]) for key, row in cut.table.items())
                cut = replace(cut, table={key: dict(row) for key, row in rows})
            case Attention():
                cut = replace(cut, value=_only(cut.value, kept)).over(self.forms)
            case Loop():
                initial, body = (_only(part, kept) for part in (cut.initial, cut.body))
                cut = replace(cut, carried=self.carried[cut.carried], initial=initial, body=body).over(self.forms)
        yield self._placed(cut, {(node, k): index for index, k in enumerate(kept)})
        if isinstance(node, Carried) and isinstance(cut, Carried):
            self.carried[node] = cut

    def _placed(self, node: Node, places: dict[Atom, int]) -> Node:
        self.atoms |= {atom: (node, index) for atom, index in places.items()}
        return node


def _only(items: Sequence[Item], kept: Sequence[int]) -> tuple[Item, ...]:
    return tuple(items[k] for k in kept)
