"""``softmachine reduce``: what the reduction of a theorem makes of an input, before anything is recognised."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from softmachine.cli import options
from softmachine.cli.options import value
from softmachine.cli.output import Output
from softmachine.support.errors import Remedy, SoftmachineError, UsageError

if TYPE_CHECKING:
    from softmachine.languages.source import Source
    from softmachine.theorems import Theorem

EXAMPLES = """[dim]Examples:[/]
  softmachine reduce parity-family 011
  softmachine reduce equal-blocks '1#1'
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
    from softmachine.api import load, source_of
    from softmachine.theorems import all_theorems, theorem_for

    item = source_of(load(source, format_name))
    chosen = theorem_for(item, theorem)
    reduced = _reduced(chosen, item, word)
    if reduced is None:
        others = [other.name for other in all_theorems() if other.applies_to(item) and _by_reduction(other, item, word)]
        raise UsageError(
            f"the theorem {chosen.name} is not by reduction",
            hint=Remedy("one that is: {}", theorem=others[0]) if others else "nor is any other for such a source",
        )
    if output.as_json:
        output.answer({"source": item.name, "theorem": chosen.name, "word": word, "reduced": reduced})
    else:
        output.say(reduced.rstrip("\n"))


def _reduced(theorem: Theorem, item: Source, word: str) -> str | None:
    """What the theorem's reduction makes of a word, if it has one."""
    length = len(item.word(word)) if theorem.length else None
    return theorem.codec_for(item, length).reduced(word)


def _by_reduction(theorem: Theorem, item: Source, word: str) -> bool:
    """Whether the theorem has a reduction, and is about this source."""
    try:
        return _reduced(theorem, item, word) is not None
    except SoftmachineError:
        return False
