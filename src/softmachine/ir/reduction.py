"""Stacking by reductions (Lemma 5.3): one transformer in which a reduction feeds a recogniser.

A reduction t is computed bit by bit, in parallel: the first transformer reads a word and padding and says at padding
position ``offset`` + i what the i-th bit of t(w) is. If it takes padding to find a bit out, every bit has a block of
its own, and is said at the end of the i-th block. The second one recognises a language of words over 0 and 1 (and has
padding of its own). Stacked, the second reads what the first says instead of tokens: its token tables become affine
forms of the bit, its position features are those of the number of the bit, and its heads avoid what stands before and
inside blocks. Layers, loops and widths add up. What comes of it is a program that reads bits, if the reduction does, so
that a chain of reductions is stacked one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction

from softmachine.ir import Program, Signal, named, position, relu, stack
from softmachine.ir.gadgets.bit_addresses import avoiding
from softmachine.ir.gadgets.wiring import flag
from softmachine.ir.kinds import BIT, Kind, exactly, union
from softmachine.ir.primitives import Attention, Carried, Loop, Position, Token
from softmachine.ir.signal import Affine, Atom, Node, inputs_first, of_node
from softmachine.support.errors import ConstructionError
from softmachine.transformer.features import Feature
from softmachine.transformer.wired_features import InBlocks, Shifted


def stacked(
    name: str, reduction: Program, recogniser: Program, *, offset: int, bits: int, length: int, block: int = 1
) -> Program:
    """One transformer that recognises w iff the recogniser accepts t(w).

    Args:
        name: What to call it.
        reduction: Says "true" at the end of the i-th block iff the i-th bit of t(w) is 1. It has two outputs.
        recogniser: Reads 0, 1 and one more token, its padding.
        offset: Where the reduction's blocks begin.
        bits: How many there are.
        length: How many positions the recogniser has, bits and padding.
        block: How many positions the reduction has for each bit; the last one says it.

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
    inside = [*[1] * (block - 1), 0] * bits
    is_letter = flag("is letter", [0] * offset + [1 - item for item in inside])
    is_padding = flag("is padding", [0] * (offset + len(inside)) + [1] * (length - bits))
    letter = named("letter", relu("letter", said + is_letter - 1).known(BIT))
    avoided = avoiding(flag("is outside", [1] * offset + (inside if block > 1 else [])))

    def placed(feature: Feature) -> Feature:
        return Shifted(offset, feature) if block == 1 else InBlocks(offset, feature, block, bits)

    def read(table: Token) -> Signal:
        """A token's table as forms: a row for 0, what 1 has more, and a row for padding."""
        rows = zip(*map(table.row, ("0", "1", padding[0])), strict=True)
        return stack(*(is_letter * zero + letter * (one - zero) + is_padding * pad for zero, one, pad in rows))

    logits = _rebuilt(recogniser.logits, read, avoided, placed)
    positions = offset + len(inside) + length - bits
    return Program(name, reduction.vocabulary, recogniser.outputs, logits, recogniser.margin, positions=positions)


def _rebuilt(
    signal: Signal,
    read: Callable[[Token], Signal],
    avoided: tuple[Signal, Signal],
    placed: Callable[[Feature], Feature],
) -> Signal:
    """The recogniser's signal on what ``read`` gives in place of tokens, with features where they are ``placed``."""
    atoms: dict[Atom, Affine] = {}
    carried: dict[Carried, Carried] = {}

    def forms(old: Iterable[Affine]) -> tuple[Affine, ...]:
        return tuple(
            Affine.sum([Affine({}, form.constant), *(atoms[atom] * factor for atom, factor in form.terms.items())])
            for form in old
        )

    def again(node: Node) -> Signal:
        """The same node; what it reads has been rebuilt."""
        match node:
            case Token():
                return read(node)
            case Position():
                with_zero = union([node.kinds[0], exactly(Fraction(0))])
                return position(placed(node.feature)).known(with_zero)
            case Attention():
                head = node.over(forms)
                query, key = (*head.query, *avoided[0].forms), (*head.key, *avoided[1].forms)
                # What stands before has queries of no meaning, so that nothing is promised of them.
                kinds = tuple(Kind(kind.low, kind.high, None) for kind in node.kinds)
                return of_node(replace(head, kinds=kinds, query=query, key=key, single=False, gap=None))
            case Carried():
                carried[node] = replace(node)
                return of_node(carried[node])
            case Loop():
                return of_node(replace(node.over(forms), carried=carried[node.carried]))
        return of_node(node.over(forms))

    for node in inputs_first(signal.forms):
        atoms |= {(node, k): form for k, form in enumerate(again(node).forms)}
    return Signal(forms(signal.forms), signal.kinds, signal.labels)
