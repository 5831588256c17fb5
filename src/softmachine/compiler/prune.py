"""Graph → graph: only the numbers that the logits depend on, so that nothing else costs a layer or a coordinate."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from softmachine.signals.primitives import Attention, Carried, Loop, Named, Token, Unit
from softmachine.signals.signal import Affine, Atom, Node

Item = TypeVar("Item")


def pruned(nodes: Sequence[Node], logits: Sequence[Affine]) -> tuple[tuple[Node, ...], tuple[Affine, ...]]:
    """The nodes, inputs first as before, without the components that nobody reads; and the logits over them."""
    live = _live(nodes, logits)
    pruning = _Pruning({node: [k for k in range(len(node.kinds)) if (node, k) in live] for node in nodes})
    kept = tuple(pruning.node(node) for node in nodes if pruning.kept[node])
    return kept, pruning.forms(logits)


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
    """The forms that one component of a node is made of."""
    match node:
        case Unit() | Named():
            return (node.forms[k],)
        case Attention():
            return (*node.query, *node.key, node.value[k])
        case Loop():
            return (node.initial[k], node.body[k])
    return ()


class _Pruning:
    """Rebuilds nodes with the kept components only, each under the label that it had."""

    def __init__(self, kept: dict[Node, list[int]]) -> None:
        self.kept = kept
        self.rebuilt: dict[Node, Node] = {}
        self.place = {(node, k): index for node, components in kept.items() for index, k in enumerate(components)}

    def forms(self, forms: Iterable[Affine]) -> tuple[Affine, ...]:
        return tuple(Affine({self.atom(a): factor for a, factor in f.terms.items()}, f.constant) for f in forms)

    def atom(self, atom: Atom) -> Atom:
        return self.rebuilt[atom[0]], self.place[atom]

    def node(self, node: Node) -> Node:
        self.rebuilt[node] = self.rebuild(node)
        return self.rebuilt[node]

    def rebuild(self, node: Node) -> Node:
        kept = self.kept[node]
        if len(kept) < len(node.kinds):
            labels = node.labels or tuple(map(str, range(len(node.kinds))))
            node = replace(node, kinds=tuple(node.kinds[k] for k in kept), labels=tuple(labels[k] for k in kept))
        match node:
            case Token():
                return replace(node, table={key: _only(row, kept) for key, row in node.table.items()})
            case Unit() | Named():
                return replace(node, forms=self.forms(_only(node.forms, kept)))
            case Attention():
                query, key, value = (self.forms(part) for part in (node.query, node.key, _only(node.value, kept)))
                return replace(node, query=query, key=key, value=value)
            case Loop():
                initial, body = (self.forms(_only(part, kept)) for part in (node.initial, node.body))
                carried = self.rebuilt[node.carried]
                assert isinstance(carried, Carried)
                return replace(node, carried=carried, initial=initial, body=body)
        return node


def _only(items: Sequence[Item], kept: Sequence[int]) -> tuple[Item, ...]:
    return tuple(items[k] for k in kept)
