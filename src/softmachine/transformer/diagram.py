"""Architecture diagram of a transformer as text: one line per head and feed-forward layer, with its output."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from softmachine.support.notebook_html import html_text
from softmachine.support.text import brief, family, listed, many
from softmachine.transformer.features import Feature

if TYPE_CHECKING:
    from softmachine.transformer.weights import Block, FeedForward, Head, Transformer

_ARROW_COLUMN = 62
_MOST_UNITS = 4
"""Maximum groups of units listed, unless all are requested."""

Names = Callable[[Sequence[str]], str]
"""Formats a list of names."""


@dataclass(frozen=True)
class Row:
    """A line of the diagram.

    Args:
        label: The place, such as "layer 2"; the heading of a loop has only a label.
        what: The head or feed-forward layer.
        result: The coordinates that it writes to.
        inside: Whether it is in a loop.
    """

    label: str
    what: str = ""
    result: str = ""
    inside: bool = False

    def __str__(self) -> str:
        return f"{'  ' * self.inside}{line(self.label, self.what, self.result)}" if self.what else f"  {self.label}"


def board(transformer: Transformer, *, every: bool = False) -> str:
    """The diagram as text; long lists of names are abbreviated, unless ``every`` is true."""
    return "\n".join([title(transformer), *map(str, rows(transformer, ", ".join if every else brief))])


def board_html(transformer: Transformer) -> str:
    """The diagram as HTML for notebooks."""
    heading, *body = board(transformer).split("\n")
    return html_text("\n".join(body), heading)


def title(transformer: Transformer) -> str:
    """The first line: kind, attention and sizes."""
    kinds = " and ".join(str(weighting) for weighting in transformer.weightings) or "no attention"
    return (
        f"Transformer  {transformer.name}  {'decoder' if transformer.causal else 'encoder'}, {kinds}, "
        f"{many(len(transformer.layers), 'layer')}, {many(len(transformer.heads), 'head')}, "
        f"width {transformer.width}, {many(len(transformer.vocabulary), 'token')}"
    )


def rows(transformer: Transformer, names: Names = brief) -> Iterator[Row]:
    """Yield the lines of the diagram."""
    yield Row("embedding", "token", names(_written(transformer, transformer.embedding.rows)))
    if transformer.features:
        features = listed(feature.name for feature in transformer.features)
        yield Row("", f"position  {features}", names(_written(transformer, transformer.position_embedding.rows)))
    number = 0
    for block in transformer.blocks:
        if block.name:
            yield Row(f"loop {block.name}, {_times(block)}")
        for layer in block.layers:
            number += 1
            label, inside = f"layer {number}", bool(block.name)
            for head in layer.heads:
                yield Row(label, _head(head), names(_written(transformer, _columns(head.output.rows))), inside=inside)
                label = ""
            if layer.feed_forward.units:
                what = f"feed-forward  {_units(layer.feed_forward, names)}"
                changed = _columns(layer.feed_forward.second.weight.rows)
                yield Row(label, what, names(_written(transformer, changed)), inside=inside)
    yield Row("logits", f"{many(len(transformer.outputs), 'output')}", "largest")


def line(label: str, what: str, result: str) -> str:
    """Format a line of the diagram: place, component, and the coordinates it writes to."""
    start = f"  {label:<10}{what} "
    return f"{start.ljust(_ARROW_COLUMN, '.')} → {result}"


def _head(head: Head) -> str:
    scores = "uniform" if not head.query.bias else f"d_k {len(head.query.bias)}"
    bias = f", bias {head.bias}" if head.bias else ""
    return f"attention  {head.name} ({head.mask}, {scores}{bias})"


def _units(forward: FeedForward, names: Names) -> str:
    groups = list(dict.fromkeys(family(name.split(":")[0]) for name in forward.units))
    shown = groups if names is not brief or len(groups) <= _MOST_UNITS else [*groups[:_MOST_UNITS], "…"]
    return f"{names(shown)} ({many(len(forward.units), 'unit')})"


def _times(block: Block) -> str:
    return f"{block.repeats} times" if isinstance(block.repeats, Feature) else many(block.repeats, "time")


def _columns(rows: Iterable[tuple[tuple[int, object], ...]]) -> list[tuple[tuple[int, object], ...]]:
    """The coordinates that a matrix writes to, as one row."""
    return [tuple((r, 1) for r, row in enumerate(rows) if row)]


def _written(transformer: Transformer, rows: Iterable[tuple[tuple[int, object], ...]]) -> list[str]:
    """The names of the coordinates in these rows; the components of a vector are merged."""
    columns = sorted({c for row in rows for c, _ in row})
    return [*dict.fromkeys(family(transformer.coordinates[c]) for c in columns)] or ["nothing"]
