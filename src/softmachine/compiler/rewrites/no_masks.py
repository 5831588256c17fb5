"""Rewrite without masks: with padding, unmasked heads simulate masked ones.

"Revisiting Padded Transformer Expressivity": "with sufficient volume, masked transformers can be simulated by unmasked
ones and vice versa" (section 6; Svete and Sabharwal 2026, Lemma D.14, for this direction). Scores cannot compare j ≤ i
for all pairs, but padding can store the result. The P positions are followed by P rows of P + 1 cells. Cell (i, j)
stands for the pair of query i and key j: it fetches the stream of j, and has a flag for every mask: whether j is
visible from i. Position i then attends to the visible cells of its own row, with its original query, and finds the
original keys and values there. The last cell of a row is empty, and visible only if no other cell is. A relative bias
is a feature of the cell.

Needs: hard attention; i, j and flags as position features. Costs: P(P + 1) positions of padding, 2 layers per layer,
twice the width and 3⌈log₂ P⌉ + O(1) coordinates for addresses. One weight dominates all scores
(:mod:`softmachine.ir.stream_facts`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from softmachine.compiler.rewrites.widening import (
    ONE,
    ZERO,
    NetworkBuilder,
    affine_of_rows,
    empty_network,
    stack_outputs,
    widen_inputs,
    widen_layer,
    widen_outputs,
)
from softmachine.ir.stream_facts import StreamFacts, iterate_stream_facts, join_stream_facts
from softmachine.support.errors import ConstructionError
from softmachine.transformer.attention import AVERAGE_HARD, Mask
from softmachine.transformer.features import Feature, Relation, ceil_log2
from softmachine.transformer.table_features import NO_ADDRESS, AddressBit, TableFeature
from softmachine.transformer.weights import Block, Head, Layer, Matrix, Transformer

PADDING_TOKEN = "□□"
"""The padding token of this rewrite; circuits and graphs have their own."""


@dataclass(frozen=True)
class UnmaskedLayout:
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
    def position_start(self) -> int:
        """The first coordinate of the own position."""
        return 2 * self.width

    @property
    def row(self) -> int:
        """The first coordinate of the row."""
        return self.position_start + self.bits

    @property
    def column(self) -> int:
        """The first coordinate of the column."""
        return self.row + self.bits

    @property
    def nonempty_flag(self) -> int:
        """The flag of nonempty cells; the next coordinate is the flag of empty cells."""
        return self.column + self.bits

    def visible_flag(self, mask: Mask) -> int:
        """Return the flag of visible cells."""
        return self.nonempty_flag + 2 + self.masks.index(mask)

    def bias_coordinate(self, relation: Relation) -> int:
        """Return the coordinate of the bias of the cell."""
        return self.nonempty_flag + 2 + len(self.masks) + self.biases.index(relation)

    @property
    def total_width(self) -> int:
        """The width."""
        return self.nonempty_flag + 2 + len(self.masks) + len(self.biases)

    def cells(self, number: Callable[[int, int], Fraction | int]) -> tuple[Fraction, ...]:
        """Return a number for every position: 0 for the first P, then one for each cell of each row."""
        found = [Fraction(number(i, j)) for i in range(self.positions) for j in range(self.positions + 1)]
        return (*[ZERO] * self.positions, *found)

    def addresses(self, which: Callable[[int, int], int]) -> tuple[int, ...]:
        """Return an address for every cell, and no address for the first P positions."""
        return (*[NO_ADDRESS] * self.positions, *map(int, self.cells(which)[self.positions :]))

    def is_visible(self, mask: Mask, i: int, j: int) -> bool:
        """Whether cell (i, j) is visible; the last cell is visible if no other one is."""
        if j < self.positions:
            return mask.is_visible(j, i)
        return not any(mask.is_visible(k, i) for k in range(self.positions))

    @property
    def features(self) -> list[tuple[int, Feature]]:
        """The features, each with its coordinate."""
        last = self.positions
        tables = {
            self.position_start: ("position", (*range(last), *[NO_ADDRESS] * (last * (last + 1)))),
            self.row: ("row", self.addresses(lambda i, _: i)),
            self.column: ("column", self.addresses(lambda _, j: j % last)),
        }
        found: list[tuple[int, Feature]] = [
            (start + k, AddressBit(title, k, table))
            for start, (title, table) in tables.items()
            for k in range(self.bits)
        ]
        found.append((self.nonempty_flag, TableFeature("full", self.cells(lambda _, j: j < last))))
        found.append((self.nonempty_flag + 1, TableFeature("empty", self.cells(lambda _, j: j == last))))
        for mask in self.masks:
            seen = self.cells(lambda i, j, mask=mask: self.is_visible(mask, i, j))  # type: ignore[misc]
            found.append((self.visible_flag(mask), TableFeature(f"visible, {mask}", seen)))
        for relation in self.biases:
            added = self.cells(lambda i, j, relation=relation: relation.at(j, i) if j < last else 0)  # type: ignore[misc]
            found.append((self.bias_coordinate(relation), TableFeature(f"bias {relation}", added)))
        return found


def to_no_masks(transformer: Transformer, positions: int, length: int | None = None) -> Transformer:
    """Rewrite a transformer without masks, for sequences of a fixed number of positions plus padding.

    Args:
        transformer: A transformer with hard attention and without layer norm.
        positions: P, the number of positions of sequences; see :func:`unmasked_padding`.
        length: n, if features or iterations depend on it.

    Raises:
        ConstructionError: If a head is soft, or there is a layer norm.
    """
    require_hard_attention(transformer, "masked positions would keep some weight")
    heads = transformer.heads
    masks = tuple(dict.fromkeys(head.mask for head in heads))
    biases = tuple(dict.fromkeys(head.bias for head in heads if head.bias is not None))
    layout = UnmaskedLayout(transformer.width, positions, masks, biases)
    limits = join_stream_facts(iterate_stream_facts(transformer, [(length, positions)]))
    blocks = tuple(
        Block(
            tuple(
                part
                for layer in block.layers
                for part in (_fetch_layer(layout, limits), _rewrite_layer(layer, layout, limits))
            ),
            block.iterations(length),
            block.name,
        )
        for block in transformer.blocks
    )
    added = layout.features
    features = [
        TableFeature(each.name, tuple(map(Fraction, each.values_at(range(positions), length))))
        for each in transformer.features
    ]
    copies = [f"copy of {name}" for name in transformer.coordinates]
    titles = {coordinate: feature.name for coordinate, feature in added}
    return replace(
        transformer,
        vocabulary=(*transformer.vocabulary, PADDING_TOKEN),
        coordinates=(
            *transformer.coordinates,
            *copies,
            *(titles[c] for c in range(layout.position_start, layout.total_width)),
        ),
        embedding=Matrix((*transformer.embedding.rows, ()), layout.total_width),
        features=(*features, *(feature for _, feature in added)),
        position_embedding=Matrix(
            (*transformer.position_embedding.rows, *(((c, ONE),) for c, _ in added)), layout.total_width
        ),
        blocks=blocks,
        unembedding=widen_inputs(transformer.unembedding, layout.total_width),
    )


def unmasked_padding(positions: int) -> list[str]:
    """Return the padding tokens for a sequence of ``positions`` tokens."""
    return [PADDING_TOKEN] * (positions * (positions + 1))


def require_hard_attention(transformer: Transformer, why: str) -> None:
    """Check that attention is hard and that there is no layer norm.

    Raises:
        ConstructionError: If not; the message names the head or unit.
    """
    transformer.require_no_layer_norm("its bounds are unknown")
    soft = next((head.name for head in transformer.heads if not head.weighting.is_hard), None)
    if soft is not None:
        raise ConstructionError(f"head {soft!r} is soft, and {why}")
    if PADDING_TOKEN in transformer.vocabulary:
        raise ConstructionError(f"{PADDING_TOKEN!r} is already a token", hint="the transformer was padded before")


def match_addresses(
    wanted: int, held: int, bits: int, factor: Fraction | int
) -> tuple[list[tuple[dict[int, Fraction | int], int]], ...]:
    """Rows of a query and a key: score 0 if signed bits agree, else at most -2 · factor (Lemma B.3, same paper)."""
    query: list[tuple[dict[int, Fraction | int], Fraction | int]] = []
    key: list[tuple[dict[int, Fraction | int], Fraction | int]] = []
    for k in range(bits):
        query += [({wanted + k: factor}, 0), ({}, factor)]
        key += [({held + k: 1}, 0), ({}, -1)]
    return query, key  # type: ignore[return-value]


def _fetch_layer(layout: UnmaskedLayout, limits: StreamFacts) -> Layer:
    """Return a layer in which cells fetch the stream of their column."""
    query, key = (
        affine_of_rows(rows, layout.total_width)
        for rows in match_addresses(layout.column, layout.position_start, layout.bits, 1)
    )
    value = affine_of_rows([({c: 1}, 0) for c in range(layout.width)], layout.total_width)
    output = widen_outputs(
        Matrix(tuple(((c, ONE),) for c in range(layout.width)), layout.width), layout.total_width, layout.width
    )
    head = Head("column", query, key, value, output, Mask.ALL, AVERAGE_HARD)
    if not {Mask.PAST, Mask.FUTURE} & set(layout.masks):
        return Layer((head,), empty_network(layout.total_width))
    units = NetworkBuilder(empty_network(layout.total_width))
    for c, largest in enumerate(fact.size for fact in limits.bounds):

        def only_empty(row: dict[int, Fraction], _: Fraction, largest: Fraction = largest) -> None:
            row[layout.nonempty_flag] = -largest

        units.linear(f"clear empty cell {c}", layout.width + c, {layout.width + c: -1}, only_empty)
    return Layer((head,), units.build())


def _rewrite_layer(layer: Layer, layout: UnmaskedLayout, limits: StreamFacts) -> Layer:
    """Rewrite a layer: its heads attend to the visible cells of the own row, and its network clears the copies."""
    given = widen_layer(layer, layout.total_width)
    heads = [_rewrite_head(head, layout, limits) for head in layer.heads]
    units = NetworkBuilder(given.feed_forward)
    for c in range(layout.width, 2 * layout.width):
        units.linear(f"clear copy {c - layout.width}", c, {c: -1})
    return Layer(tuple(heads), units.build())


def _rewrite_head(head: Head, layout: UnmaskedLayout, limits: StreamFacts) -> Head:
    """Rewrite a head to attend to the visible cells of the own row."""
    wide, shift = layout.total_width, layout.width
    bound = limits.bound_score(head) + 1
    if head.bias is not None:
        relation = head.bias
        bound += max(abs(relation.at(j, i)) for i in range(layout.positions) for j in range(layout.positions))
    query, key = match_addresses(layout.position_start, layout.row, layout.bits, bound)
    query.append(({}, 2 * bound))  # type: ignore[arg-type]
    key.append(({layout.visible_flag(head.mask): 1}, -1))
    if head.bias is not None:
        query.append(({}, 1))
        key.append(({layout.bias_coordinate(head.bias): 1}, 0))
    value = widen_inputs(head.value, wide, shift)
    full = [{**dict(row), layout.nonempty_flag: bias} for row, bias in zip(value.weight.rows, value.bias, strict=True)]
    return replace(
        head,
        query=stack_outputs(widen_inputs(head.query, wide), affine_of_rows(query, wide)),
        key=stack_outputs(widen_inputs(head.key, wide, shift), affine_of_rows(key, wide)),
        value=affine_of_rows([(row, 0) for row in full], wide),
        output=widen_outputs(head.output, wide),
        mask=Mask.ALL,
        bias=None,
    )
