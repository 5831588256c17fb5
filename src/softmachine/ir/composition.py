"""Composition of programs (Lemma 5.3 of "Revisiting Padded Transformer Expressivity"): a reduction feeds a recogniser.

A reduction t is computed bit by bit, in parallel: the first transformer reads a word and padding, and outputs the i-th
bit of t(w) at padding position ``offset`` + i. If computing a bit needs padding, every bit has its own block, and the
output is at the end of the i-th block. The second transformer recognises a language over {0, 1} (and has its own
padding). In the composition, the second one reads the outputs of the first instead of tokens: its token tables become
affine forms of the bit, its position features are those of the index of the bit, and its heads avoid the positions
before and inside blocks. Layers, loops and widths add up. The result is a program that reads bits if the reduction
does, so that chains of reductions are composed one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction

from softmachine.ir import Program, Signal, named, position, relu, stack
from softmachine.ir.gadgets.binary_addresses import penalty_scores, position_flag
from softmachine.ir.primitives import Attention, Carried, Loop, Position, Token
from softmachine.ir.ranges import BIT, exact, real, union
from softmachine.ir.signal import Affine, Atom, Node, node_signal, topological_order
from softmachine.support.errors import ConstructionError
from softmachine.transformer.features import Feature
from softmachine.transformer.table_features import BlockFeature, OffsetFeature


def compose(
    name: str, reduction: Program, recogniser: Program, *, offset: int, bits: int, length: int, block: int = 1
) -> Program:
    """Compose a reduction and a recogniser into one transformer that accepts w iff the recogniser accepts t(w).

    Args:
        name: The name of the composition.
        reduction: Outputs "true" at the end of the i-th block iff the i-th bit of t(w) is 1. It has two outputs.
        recogniser: Reads 0, 1 and one more token, its padding.
        offset: The position of the first block.
        bits: The number of blocks.
        length: The number of positions of the recogniser, bits and padding.
        block: The number of positions of the reduction per bit; the last one outputs the bit.

    Raises:
        ConstructionError: If their vocabularies or outputs do not match.
    """
    padding = [item for item in recogniser.vocabulary if item not in ("0", "1")]
    if reduction.outputs != ("false", "true") or len(padding) != 1:
        raise ConstructionError(
            f"{reduction.name!r} cannot feed {recogniser.name!r}",
            hint="a reduction outputs false or true, and a recogniser reads 0, 1 and padding",
        )
    output = (reduction.logits[1] + Fraction(1, 2)).with_range(BIT)
    inside = [*[1] * (block - 1), 0] * bits
    is_letter = position_flag("is letter", [0] * offset + [1 - item for item in inside])
    is_padding = position_flag("is padding", [0] * (offset + len(inside)) + [1] * (length - bits))
    letter = named("letter", relu("letter", output + is_letter - 1).with_range(BIT))
    avoided = penalty_scores(position_flag("is outside", [1] * offset + (inside if block > 1 else [])))

    def placed(feature: Feature) -> Feature:
        return OffsetFeature(offset, feature) if block == 1 else BlockFeature(offset, feature, block, bits)

    def read(table: Token) -> Signal:
        """A token table as forms: the row of 0, the difference of the rows of 1 and 0, and the row of padding."""
        rows = zip(*map(table.row, ("0", "1", padding[0])), strict=True)
        return stack(*(is_letter * zero + letter * (one - zero) + is_padding * pad for zero, one, pad in rows))

    logits = _rebuild(recogniser.logits, read, avoided, placed)
    positions = offset + len(inside) + length - bits
    return Program(name, reduction.vocabulary, recogniser.outputs, logits, recogniser.margin, position_count=positions)


def _rebuild(
    signal: Signal,
    read: Callable[[Token], Signal],
    hidden: tuple[Signal, Signal],
    features: Callable[[Feature], Feature],
) -> Signal:
    """Rebuild the recogniser's signal with ``read`` in place of token tables and ``features`` features."""
    atoms: dict[Atom, Affine] = {}
    carried: dict[Carried, Carried] = {}

    def forms(old: Iterable[Affine]) -> tuple[Affine, ...]:
        return tuple(
            Affine.sum([Affine({}, form.constant), *(atoms[atom] * factor for atom, factor in form.terms.items())])
            for form in old
        )

    def again(node: Node) -> Signal:
        """Rebuild one node whose inputs have been rebuilt."""
        match node:
            case Token():
                return read(node)
            case Position():
                with_zero = union([node.ranges[0], exact(Fraction(0))])
                return position(features(node.feature)).with_range(with_zero)
            case Attention():
                head = node.with_forms(forms)
                query, key = (*head.query, *hidden[0].forms), (*head.key, *hidden[1].forms)
                # Positions before the blocks have arbitrary queries, so the declared gap does not hold for them.
                kinds = tuple(real(kind.low, kind.high) for kind in node.ranges)
                return node_signal(replace(head, ranges=kinds, query=query, key=key, single_key=False, gap=None))
            case Carried():
                carried[node] = replace(node)
                return node_signal(carried[node])
            case Loop():
                return node_signal(replace(node.with_forms(forms), carried=carried[node.carried]))
        return node_signal(node.with_forms(forms))

    for node in topological_order(signal.forms):
        atoms |= {(node, k): form for k, form in enumerate(again(node).forms)}
    return Signal(forms(signal.forms), signal.ranges, signal.labels)
