"""``softmachine show``: the transformer of a source as its author would draw it, and what it costs."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softmachine.cli import options
from softmachine.cli.models import Wanted, headline, open_model
from softmachine.cli.output import Output, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from softmachine.transformer import Transformer

NAME = "show"
EXAMPLES = """[dim]Examples:[/]
  softmachine show palindrome
  softmachine show busy-beaver-4 --coordinates"""

INDENT = " " * 14
"""Where a line of the board goes on that does not fit."""


def command(
    source: options.Source,
    *,
    coordinates: Annotated[
        bool, typer.Option("--coordinates", metavar="", help="List every coordinate of the residual stream by name.")
    ] = False,
    construction: options.ConstructionName = None,
    attention: options.AttentionName = None,
    certified: options.CertifiedLength = None,
    length: options.Length = None,
    alphabet: options.Alphabet = None,
    format_name: options.Format = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    _debug: options.Debug = False,
) -> None:
    """Draw the transformer of a machine: layers, heads, named coordinates, and what they cost."""
    output = Output(as_json, quiet)
    transformer = open_model(source, Wanted(format_name, construction, attention, alphabet, certified, length), output)
    if as_json:
        output.answer(_answer(transformer))
        return
    board = str(transformer)
    if quiet:
        output.say(board)
        return
    about = headline(transformer.codec)
    if about:
        output.say(f"{about}\n")
    output.say(f"{_fitted(board, output.width) if output.live else board}\n")
    output.out.print(_costs(transformer))
    if coordinates:
        output.say("\nCoordinates of the residual stream")
        for number, name in enumerate(transformer.coordinates):
            output.say(f"  {number:>4}  {name}")


def _answer(transformer: Transformer) -> dict[str, Any]:
    return {
        "name": transformer.name,
        "construction": transformer.construction,
        "theorem": _theorem(transformer),
        "layers": len(transformer.layers),
        "heads": len(transformer.heads),
        "width": transformer.width,
        "vocabulary": len(transformer.vocabulary),
        "parameters": transformer.parameters,
        "nonzeros": transformer.nonzeros,
        "largest_weight": str(transformer.largest_weight),
        "attention": [str(weighting) for weighting in transformer.weightings],
        "position_features": [feature.name for feature in transformer.features],
        "tokens_per_step": _tokens_per_step(transformer),
        "coordinates": list(transformer.coordinates),
    }


def _costs(transformer: Transformer) -> RenderableType:
    """What the model is made of, as a table."""
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim")
    for label, value in _rows(transformer):
        table.add_row(f"  {label}", Text(printable(value)))
    return table


def _rows(transformer: Transformer) -> Iterator[tuple[str, str]]:
    yield "construction", f"{transformer.construction or 'unknown'}: {_theorem(transformer) or 'no theorem'}"
    yield from _choice(transformer)
    yield "attention", ", ".join(str(weighting) for weighting in transformer.weightings) or "none"
    yield "position features", ", ".join(feature.name for feature in transformer.features) or "none"
    yield "layers", f"{len(transformer.layers):,}"
    yield "heads", f"{len(transformer.heads):,}"
    yield "width", f"{transformer.width:,}"
    yield "vocabulary", f"{len(transformer.vocabulary):,} tokens"
    yield "parameters", f"{transformer.parameters:,}, of which weights that are not 0: {transformer.nonzeros:,}"
    yield "largest weight", str(transformer.largest_weight)
    per_step = _tokens_per_step(transformer)
    if per_step is not None:
        yield "tokens per step", str(per_step)


def _choice(transformer: Transformer) -> Iterator[tuple[str, str]]:
    """What the construction needs, and which others could be had."""
    from softmachine.constructions import CONSTRUCTIONS

    codec = transformer.codec
    fitting = [item for item in CONSTRUCTIONS if codec and isinstance(codec.source, item.source)]
    yield from (("needs", item.needs) for item in fitting if item.name == transformer.construction)
    others = ", ".join(item.name for item in fitting if item.name != transformer.construction)
    if others:
        yield "others", f"{others} (--construction)"


def _theorem(transformer: Transformer) -> str | None:
    """What the construction is, for people."""
    from softmachine.constructions import CONSTRUCTIONS

    return next((item.theorem for item in CONSTRUCTIONS if item.name == transformer.construction), None)


def _tokens_per_step(transformer: Transformer) -> int | None:
    from softmachine.transformer import DecoderCodec

    codec = transformer.codec
    return codec.token_limit(2) - codec.token_limit(1) if isinstance(codec, DecoderCodec) else None


def _fitted(board: str, width: int) -> str:
    """The board in so many columns: what a line adds moves to the next one where it does not fit."""
    lines: list[str] = []
    for line in board.split("\n"):
        what, _, result = line.partition(" → ")
        if len(line) <= width:
            lines.append(line)
        else:
            lines += wrap(what.rstrip(" ."), width, subsequent_indent=INDENT)
            lines += (
                wrap(f"→ {result}", width, initial_indent=INDENT, subsequent_indent=f"{INDENT}  ") if result else []
            )
    return "\n".join(lines)
