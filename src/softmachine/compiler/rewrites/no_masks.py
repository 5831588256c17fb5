"""Rewrite without masks: with padding, unmasked heads simulate masked ones.

"Revisiting Padded Transformer Expressivity": "with sufficient volume, masked transformers can be simulated by unmasked
ones and vice versa" (section 6; Svete and Sabharwal 2026, Lemma D.14, for this direction). Scores cannot compare j ≤ i
for all pairs, but padding can store the result. The P positions are followed by P rows of P + 1 cells. Cell (i, j)
stands for the pair of query i and key j: it fetches the stream of j, and has a flag for every mask: whether j is
visible from i. Position i then attends to the visible cells of its own row, with its original query, and finds the
original keys and values there. The last cell of a row is empty, and visible only if no other cell is. A relative bias
is a feature of the cell.

Needs: hard attention; i, j and flags as position features. Costs: P(P + 1) positions of padding, 2 layers per layer,
twice the width and 3⌈log₂ P⌉ + O(1) coordinates for addresses. One weight dominates all scores (:mod:`.reach`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from softmachine.compiler.rewrites.ranges import Reach, largest_score, reach
from softmachine.compiler.rewrites.widening import (
    ONE,
    ZERO,
    Units,
    nothing,
    reading,
    rows_of,
    stacked,
    widened,
    writing,
)
from softmachine.support.errors import ConstructionError
from softmachine.transformer.attention import AVERAGE_HARD, Mask
from softmachine.transformer.features import Feature, Relation, ceil_log2
from softmachine.transformer.table_features import NO_ADDRESS, AddressBit, Table
from softmachine.transformer.weights import Block, Head, Layer, Matrix, Transformer

PADDING = "□□"
"""The padding token of this rewrite; circuits and graphs have their own."""


@dataclass(frozen=True)
class Layout:
    """Layout of the coordinates: the stream, its copy, and starting at ``places`` the position features.

    Args:
        width: The width of the given residual stream.
        positions: P.
        masks: The masks of the heads.
        biases: The relative biases of the heads.
    """

    width: int
    positions: int
    masks: tuple[Mask, ...]
    biases: tuple[Relation, ...]

    @property
    def bits(self) -> int:
        """The number of bits of an address; at least two, so that no address differs from every address."""
        return max(2, ceil_log2(self.positions))

    @property
    def places(self) -> int:
        """The first coordinate of the own position."""
        return 2 * self.width

    @property
    def row(self) -> int:
        """The first coordinate of the row."""
        return self.places + self.bits

    @property
    def column(self) -> int:
        """The first coordinate of the column."""
        return self.row + self.bits

    @property
    def full(self) -> int:
        """The flag of nonempty cells; the next coordinate is the flag of empty cells."""
        return self.column + self.bits

    def visible(self, mask: Mask) -> int:
        """Return the flag of visible cells."""
        return self.full + 2 + self.masks.index(mask)

    def bias(self, relation: Relation) -> int:
        """Return the coordinate of the bias of the cell."""
        return self.full + 2 + len(self.masks) + self.biases.index(relation)

    @property
    def wide(self) -> int:
        """The width."""
        return self.full + 2 + len(self.masks) + len(self.biases)

    def cells(self, number: Callable[[int, int], Fraction | int]) -> tuple[Fraction, ...]:
        """Return a number for every position: 0 for the first P, then one for each cell of each row."""
        found = [Fraction(number(i, j)) for i in range(self.positions) for j in range(self.positions + 1)]
        return (*[ZERO] * self.positions, *found)

    def addresses(self, which: Callable[[int, int], int]) -> tuple[int, ...]:
        """Return an address for every cell, and no address for the first P positions."""
        return (*[NO_ADDRESS] * self.positions, *map(int, self.cells(which)[self.positions :]))

    def seen(self, mask: Mask, i: int, j: int) -> bool:
        """Whether cell (i, j) is visible; the last cell is visible if no other one is."""
        if j < self.positions:
            return mask.sees(j, i)
        return not any(mask.sees(k, i) for k in range(self.positions))

    @property
    def features(self) -> list[tuple[int, Feature]]:
        """The features, each with its coordinate."""
        last = self.positions
        tables = {
            self.places: ("position", (*range(last), *[NO_ADDRESS] * (last * (last + 1)))),
            self.row: ("row", self.addresses(lambda i, _: i)),
            self.column: ("column", self.addresses(lambda _, j: j % last)),
        }
        found: list[tuple[int, Feature]] = [
            (start + k, AddressBit(title, k, table))
            for start, (title, table) in tables.items()
            for k in range(self.bits)
        ]
        found.append((self.full, Table("full", self.cells(lambda _, j: j < last))))
        found.append((self.full + 1, Table("empty", self.cells(lambda _, j: j == last))))
        for mask in self.masks:
            seen = self.cells(lambda i, j, mask=mask: self.seen(mask, i, j))  # type: ignore[misc]
            found.append((self.visible(mask), Table(f"visible, {mask}", seen)))
        for relation in self.biases:
            added = self.cells(lambda i, j, relation=relation: relation.at(j, i) if j < last else 0)  # type: ignore[misc]
            found.append((self.bias(relation), Table(f"bias {relation}", added)))
        return found


def unmasked(transformer: Transformer, positions: int, length: int | None = None) -> Transformer:
    """Rewrite a transformer without masks, for sequences of a fixed number of positions plus padding.

    Args:
        transformer: A transformer with hard attention and without layer norm.
        positions: P, the number of positions of sequences; see :func:`padding`.
        length: n, if features or iterations depend on it.

    Raises:
        ConstructionError: If a head is soft, or there is a layer norm.
    """
    require_hard(transformer, "masked positions would keep some weight")
    heads = transformer.heads
    masks = tuple(dict.fromkeys(head.mask for head in heads))
    biases = tuple(dict.fromkeys(head.bias for head in heads if head.bias is not None))
    layout = Layout(transformer.width, positions, masks, biases)
    limits = reach(transformer, positions, length)
    blocks = tuple(
        Block(
            tuple(
                part for layer in block.layers for part in (_copying(layout, limits), _unmasked(layer, layout, limits))
            ),
            block.count(length),
            block.name,
        )
        for block in transformer.blocks
    )
    added = layout.features
    features = [
        Table(each.name, tuple(map(Fraction, each.along(range(positions), length)))) for each in transformer.features
    ]
    copies = [f"copy of {name}" for name in transformer.coordinates]
    titles = {coordinate: feature.name for coordinate, feature in added}
    return replace(
        transformer,
        vocabulary=(*transformer.vocabulary, PADDING),
        coordinates=(*transformer.coordinates, *copies, *(titles[c] for c in range(layout.places, layout.wide))),
        embedding=Matrix((*transformer.embedding.rows, ()), layout.wide),
        features=(*features, *(feature for _, feature in added)),
        position_embedding=Matrix(
            (*transformer.position_embedding.rows, *(((c, ONE),) for c, _ in added)), layout.wide
        ),
        blocks=blocks,
        unembedding=reading(transformer.unembedding, layout.wide),
    )


def padding(positions: int) -> list[str]:
    """Return the padding tokens for a sequence of ``positions`` tokens."""
    return [PADDING] * (positions * (positions + 1))


def require_hard(transformer: Transformer, why: str) -> None:
    """Check that attention is hard and that there is no layer norm.

    Raises:
        ConstructionError: If not; the message names the head or unit.
    """
    transformer.require_no_norm("its bounds are unknown")
    soft = next((head.name for head in transformer.heads if not head.weighting.hard), None)
    if soft is not None:
        raise ConstructionError(f"head {soft!r} is soft, and {why}")
    if PADDING in transformer.vocabulary:
        raise ConstructionError(f"{PADDING!r} is already a token", hint="the transformer was padded before")


def matched(
    wanted: int, held: int, bits: int, factor: Fraction | int
) -> tuple[list[tuple[dict[int, Fraction | int], int]], ...]:
    """Rows of a query and a key: score 0 if signed bits agree, else at most -2 · factor (Lemma B.3, same paper)."""
    query: list[tuple[dict[int, Fraction | int], Fraction | int]] = []
    key: list[tuple[dict[int, Fraction | int], Fraction | int]] = []
    for k in range(bits):
        query += [({wanted + k: factor}, 0), ({}, factor)]
        key += [({held + k: 1}, 0), ({}, -1)]
    return query, key  # type: ignore[return-value]


def _copying(layout: Layout, limits: Reach) -> Layer:
    """Return a layer in which cells fetch the stream of their column."""
    query, key = (rows_of(rows, layout.wide) for rows in matched(layout.column, layout.places, layout.bits, 1))
    value = rows_of([({c: 1}, 0) for c in range(layout.width)], layout.wide)
    output = writing(Matrix(tuple(((c, ONE),) for c in range(layout.width)), layout.width), layout.wide, layout.width)
    head = Head("column", query, key, value, output, Mask.ALL, AVERAGE_HARD)
    if not {Mask.PAST, Mask.FUTURE} & set(layout.masks):
        return Layer((head,), nothing(layout.wide))
    units = Units(nothing(layout.wide))
    for c, largest in enumerate(limits.largest):

        def only_empty(row: dict[int, Fraction], _: Fraction, largest: Fraction = largest) -> None:
            row[layout.full] = -largest

        units.linear(f"clear empty cell {c}", layout.width + c, {layout.width + c: -1}, only_empty)
    return Layer((head,), units.done())


def _unmasked(layer: Layer, layout: Layout, limits: Reach) -> Layer:
    """Rewrite a layer: its heads attend to the visible cells of the own row, and its network clears the copies."""
    given = widened(layer, layout.wide)
    heads = [_looking(head, layout, limits) for head in layer.heads]
    units = Units(given.feed_forward)
    for c in range(layout.width, 2 * layout.width):
        units.linear(f"clear copy {c - layout.width}", c, {c: -1})
    return Layer(tuple(heads), units.done())


def _looking(head: Head, layout: Layout, limits: Reach) -> Head:
    """Rewrite a head to attend to the visible cells of the own row."""
    wide, shift = layout.wide, layout.width
    bound = largest_score(head, limits) + 1
    if head.bias is not None:
        relation = head.bias
        bound += max(abs(relation.at(j, i)) for i in range(layout.positions) for j in range(layout.positions))
    query, key = matched(layout.places, layout.row, layout.bits, bound)
    query.append(({}, 2 * bound))  # type: ignore[arg-type]
    key.append(({layout.visible(head.mask): 1}, -1))
    if head.bias is not None:
        query.append(({}, 1))
        key.append(({layout.bias(head.bias): 1}, 0))
    value = reading(head.value, wide, shift)
    full = [{**dict(row), layout.full: bias} for row, bias in zip(value.weight.rows, value.bias, strict=True)]
    return replace(
        head,
        query=stacked(reading(head.query, wide), rows_of(query, wide)),
        key=stacked(reading(head.key, wide, shift), rows_of(key, wide)),
        value=rows_of([(row, 0) for row in full], wide),
        output=writing(head.output, wide),
        mask=Mask.ALL,
        bias=None,
    )
