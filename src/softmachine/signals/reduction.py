"""Stacking by reductions (Lemma 5.3): one transformer in which a reduction feeds a recogniser.

A reduction t is computed bit by bit, in parallel: the first transformer reads a word and padding and says at padding
position ``offset`` + i what the i-th bit of t(w) is. The second one recognises a language of words over 0 and 1 (and
has padding of its own). Stacked, the second reads what the first says instead of tokens: its token tables become affine
forms of the bit, its position features are those of the position less the offset, and its heads avoid what stands
before. Layers, loops and widths add up.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction

from softmachine.errors import ConstructionError
from softmachine.signals import Program, Signal, named, position, relu, stack
from softmachine.signals.gadgets.bit_addresses import avoiding
from softmachine.signals.gadgets.wiring import flag
from softmachine.signals.kinds import BIT, Kind, exactly, union
from softmachine.signals.primitives import Attention, Carried, Loop, Position, Token
from softmachine.signals.signal import Affine, Atom, Node, inputs_first, of_node
from softmachine.transformer.features import Shifted


def stacked(name: str, reduction: Program, recogniser: Program, *, offset: int, bits: int, length: int) -> Program:
    """One transformer that recognises w iff the recogniser accepts t(w).

    Args:
        name: What to call it.
        reduction: Says "true" at position offset + i iff the i-th bit of t(w) is 1. It has two outputs.
        recogniser: Reads 0, 1 and one more token, its padding.
        offset: Where the reduction's bits begin.
        bits: How many there are.
        length: How many positions the recogniser has, bits and padding.

    Raises:
        ConstructionError: If they do not fit together.
    """
    padding = [item for item in recogniser.vocabulary if item not in ("0", "1")]
    if reduction.outputs != ("false", "true") or len(padding) != 1:
        raise ConstructionError(
            f"{reduction.name!r} cannot feed {recogniser.name!r}",
            hint="a reduction says false or true, and a recogniser reads 0, 1 and padding",
        )
    said = (reduction.logits[1] + Fraction(1, 2)).known(BIT)
    is_letter = flag("is letter", [0] * offset + [1] * bits)
    is_padding = flag("is padding", [0] * (offset + bits) + [1] * (length - bits))
    letter = named("letter", relu("letter", said + is_letter - 1).known(BIT))
    outside = flag("is outside", [1] * offset)
    rebuilt = _Rebuilt(letter, is_letter, is_padding, padding[0], outside, offset)
    logits = rebuilt.signal(recogniser.logits)
    positions = offset + length
    return Program(name, reduction.vocabulary, recogniser.outputs, logits, recogniser.margin, positions=positions)


class _Rebuilt:
    """The recogniser's signals, on what the reduction says."""

    def __init__(
        self, letter: Signal, is_letter: Signal, is_padding: Signal, padding: str, outside: Signal, offset: int
    ) -> None:
        self.letter = letter
        self.is_letter = is_letter
        self.is_padding = is_padding
        self.padding = padding
        self.offset = offset
        self.avoided = avoiding(outside)
        self.atoms: dict[Atom, Affine] = {}
        self.carried: dict[Carried, Carried] = {}

    def signal(self, signal: Signal) -> Signal:
        for node in inputs_first(signal.forms):
            self.node(node)
        return Signal(self.forms(signal.forms), signal.kinds, signal.labels)

    def forms(self, forms: Iterable[Affine]) -> tuple[Affine, ...]:
        return tuple(
            Affine.sum([Affine({}, form.constant), *(self.atoms[atom] * factor for atom, factor in form.terms.items())])
            for form in forms
        )

    def node(self, node: Node) -> None:
        """Rebuild one node; what it reads has been rebuilt."""
        match node:
            case Token():
                self.place(node, self.token(node))
            case Position():
                self.place(node, position(Shifted(self.offset, node.feature)).known(_with_zero(node.kinds[0])))
            case Attention():
                extra_query, extra_key = self.avoided
                head = node.over(self.forms)
                query, key = (*head.query, *extra_query.forms), (*head.key, *extra_key.forms)
                # What stands before has queries of no meaning, so that nothing is promised of them.
                kinds = tuple(Kind(kind.low, kind.high, None) for kind in node.kinds)
                self.place(node, of_node(replace(head, kinds=kinds, query=query, key=key, single=False, gap=None)))
            case Carried():
                self.carried[node] = replace(node)
                self.place(node, of_node(self.carried[node]))
            case Loop():
                self.place(node, of_node(replace(node.over(self.forms), carried=self.carried[node.carried])))
            case _:
                self.place(node, of_node(node.over(self.forms)))

    def place(self, node: Node, signal: Signal) -> None:
        self.atoms |= {(node, k): form for k, form in enumerate(signal.forms)}

    def token(self, node: Token) -> Signal:
        """A token's table as forms: a row for 0, what 1 has more, and a row for padding."""
        zeros = (Fraction(0),) * len(node.kinds)
        zero, one, padding = (node.table.get(item, zeros) for item in ("0", "1", self.padding))
        parts = [
            self.is_letter * zero[k] + self.letter * (one[k] - zero[k]) + self.is_padding * padding[k]
            for k in range(len(node.kinds))
        ]
        return stack(*parts)


def _with_zero(kind: Kind) -> Kind:
    """A kind that also has 0."""
    return union([kind, exactly(Fraction(0))])
