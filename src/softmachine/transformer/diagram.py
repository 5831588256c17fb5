"""Architecture diagram of a transformer as text: one line per head and feed-forward layer, with its output."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from softmachine.support.notebook_html import html_text
from softmachine.support.text import abbreviate_names, join_names, pluralize, vector_name
from softmachine.transformer.features import Feature

if TYPE_CHECKING:
    from softmachine.transformer.weights import Block, FeedForward, Head, Transformer

_ARROW_COLUMN = 62
_MAX_UNITS = 4
"""Maximum groups of units listed, unless all are requested."""

NameFormatter = Callable[[Sequence[str]], str]
"""Formats a list of names."""


@dataclass(frozen=True)
class DiagramRow:
    """A line of the diagram.

    Args:
        label: The place, such as "layer 2"; the heading of a loop has only a label.
        component: The head or feed-forward layer.
        targets: The coordinates that it writes to.
        in_loop: Whether it is in a loop.
    """

    label: str
    component: str = ""
    targets: str = ""
    in_loop: bool = False

    def __str__(self) -> str:
        return (
            f"{'  ' * self.in_loop}{format_diagram_line(self.label, self.component, self.targets)}"
            if self.component
            else f"  {self.label}"
        )


def render_diagram(transformer: Transformer, *, full: bool = False) -> str:
    """The diagram as text; long lists of names are abbreviated, unless ``full`` is true."""
    return "\n".join(
        [diagram_title(transformer), *map(str, diagram_rows(transformer, ", ".join if full else abbreviate_names))]
    )


def render_diagram_html(transformer: Transformer) -> str:
    """The diagram as HTML for notebooks."""
    heading, *body = render_diagram(transformer).split("\n")
    return html_text("\n".join(body), heading)


def diagram_title(transformer: Transformer) -> str:
    """The first line: kind, attention and sizes."""
    kinds = " and ".join(str(weighting) for weighting in transformer.weightings) or "no attention"
    return (
        f"Transformer  {transformer.name}  {'decoder' if transformer.is_causal else 'encoder'}, {kinds}, "
        f"{pluralize(len(transformer.layers), 'layer')}, {pluralize(len(transformer.heads), 'head')}, "
        f"width {transformer.width}, {pluralize(len(transformer.vocabulary), 'token')}"
    )


def diagram_rows(transformer: Transformer, format_names: NameFormatter = abbreviate_names) -> Iterator[DiagramRow]:
    """Yield the lines of the diagram."""
    yield DiagramRow("embedding", "token", format_names(_target_names(transformer, transformer.embedding.rows)))
    if transformer.features:
        features = join_names(feature.name for feature in transformer.features)
        yield DiagramRow(
            "", f"position  {features}", format_names(_target_names(transformer, transformer.position_embedding.rows))
        )
    number = 0
    for block in transformer.blocks:
        if block.name:
            yield DiagramRow(f"loop {block.name}, {_describe_repeats(block)}")
        for layer in block.layers:
            number += 1
            label, inside = f"layer {number}", bool(block.name)
            for head in layer.heads:
                yield DiagramRow(
                    label,
                    _describe_head(head),
                    format_names(_target_names(transformer, _output_row(head.output.rows))),
                    in_loop=inside,
                )
                label = ""
            if layer.feed_forward.units:
                what = f"feed-forward  {_describe_units(layer.feed_forward, format_names)}"
                changed = _output_row(layer.feed_forward.second.weight.rows)
                yield DiagramRow(label, what, format_names(_target_names(transformer, changed)), in_loop=inside)
    yield DiagramRow("logits", f"{pluralize(len(transformer.outputs), 'output')}", "largest")


def format_diagram_line(label: str, component: str, targets: str) -> str:
    """Format a line of the diagram: place, component, and the coordinates it writes to."""
    start = f"  {label:<10}{component} "
    return f"{start.ljust(_ARROW_COLUMN, '.')} → {targets}"


def _describe_head(head: Head) -> str:
    scores = "uniform" if not head.query.bias else f"d_k {len(head.query.bias)}"
    bias = f", bias {head.bias}" if head.bias else ""
    return f"attention  {head.name} ({head.mask}, {scores}{bias})"


def _describe_units(forward: FeedForward, names: NameFormatter) -> str:
    groups = list(dict.fromkeys(vector_name(name.split(":")[0]) for name in forward.units))
    shown = groups if names is not abbreviate_names or len(groups) <= _MAX_UNITS else [*groups[:_MAX_UNITS], "…"]
    return f"{names(shown)} ({pluralize(len(forward.units), 'unit')})"


def _describe_repeats(block: Block) -> str:
    return f"{block.repeats} times" if isinstance(block.repeats, Feature) else pluralize(block.repeats, "time")


def _output_row(rows: Iterable[tuple[tuple[int, object], ...]]) -> list[tuple[tuple[int, object], ...]]:
    """The coordinates that a matrix writes to, as one row."""
    return [tuple((r, 1) for r, row in enumerate(rows) if row)]


def _target_names(transformer: Transformer, rows: Iterable[tuple[tuple[int, object], ...]]) -> list[str]:
    """The names of the coordinates in these rows; the components of a vector are merged."""
    columns = sorted({c for row in rows for c, _ in row})
    return [*dict.fromkeys(vector_name(transformer.coordinates[c]) for c in columns)] or ["nothing"]
