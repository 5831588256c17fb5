"""``softmachine reduce``: what the reduction of a theorem makes of an input, before anything is recognised."""

from __future__ import annotations

from typing import Annotated

import typer

from softmachine.cli import options
from softmachine.cli.options import value
from softmachine.cli.output import Output
from softmachine.errors import UsageError

EXAMPLES = """[dim]Examples:[/]
  softmachine reduce parity-family 011
  softmachine reduce equal-blocks '1#1' > steps.edges
  softmachine run steps.edges 'begin@0,0:__ accepted'
  softmachine reduce koenigsberg 'altstadt lomse' --theorem odd-walks"""

WordArgument = Annotated[
    str, typer.Argument(metavar="WORD", show_default=False, help="The input, as [b]softmachine run[/] takes it.")
]
TheoremName = Annotated[
    str | None,
    value("NAME", "The theorem whose reduction it is; [b]softmachine theorems[/] lists them.", "--theorem"),
]


def command(
    source: options.Source,
    word: WordArgument,
    *,
    theorem: TheoremName = None,
    format_name: options.Format = None,
    output: Output,
) -> None:
    """Print what a theorem that is by reduction makes of an input: a circuit with its input, or a graph.

    It is what the transformer computes at its padding before it recognises it. A graph is printed as a list of edges,
    which [b]softmachine run[/] reads with [b]--format edges[/].
    """
    from softmachine import api
    from softmachine.model import Model
    from softmachine.theorems import theorem_for

    loaded = api.load(source, format_name)
    item = loaded.source if isinstance(loaded, Model) else loaded
    chosen = theorem_for(item, theorem)
    length = len(item.word(word)) if chosen.length else None
    reduced = chosen.codec_for(item, length).reduced(word)
    if reduced is None:
        raise UsageError(
            f"the theorem {chosen.name} is not by reduction",
            hint="those that are: uniform-circuits, uniform-thresholds, nondeterministic-logspace, odd-walks",
        )
    if output.as_json:
        output.answer({"source": item.name, "theorem": chosen.name, "word": word, "reduced": reduced})
    else:
        output.say(reduced.rstrip("\n"))
