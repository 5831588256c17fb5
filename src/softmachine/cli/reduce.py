"""``softmachine reduce``: print the result of a theorem's reduction on an input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from softmachine.cli import options
from softmachine.cli.options import value_option
from softmachine.cli.output import Output
from softmachine.support.errors import FixHint, SoftmachineError, UsageError

if TYPE_CHECKING:
    from softmachine.languages.source import Source
    from softmachine.theorems import Theorem

EXAMPLES = """[dim]Examples:[/]
  softmachine reduce parity-family 011
  softmachine reduce equal-blocks '1#1'
  softmachine reduce koenigsberg 'altstadt lomse' --theorem odd-walks"""

WordArgument = Annotated[
    str, typer.Argument(metavar="INPUT", show_default=False, help="The input, as in [b]softmachine run[/].")
]
TheoremName = Annotated[
    str | None,
    value_option("NAME", "Theorem with the reduction; [b]softmachine theorems[/] lists them.", "--theorem"),
]


def command(
    source: options.Source,
    word: WordArgument,
    *,
    theorem: TheoremName = None,
    format_name: options.Format = None,
    output: Output,
) -> None:
    """Print a theorem's reduction of an input: a circuit or a graph.

    The transformer computes it on its padding tokens, and then recognises it. A graph is printed as a list of edges,
    which [b]softmachine run[/] reads with [b]--format edges[/].
    """
    from softmachine.api import load, source_of
    from softmachine.theorems import all_theorems, find_theorem

    item = source_of(load(source, format_name))
    chosen = find_theorem(item, theorem)
    reduced = _reduced(chosen, item, word)
    if reduced is None:
        others = [other.name for other in all_theorems() if other.applies_to(item) and _by_reduction(other, item, word)]
        raise UsageError(
            f"the theorem {chosen.name} has no reduction",
            hint=FixHint("one that has: {}", theorem=others[0]) if others else "no theorem for this source has one",
        )
    if output.as_json:
        output.print_json({"source": item.name, "theorem": chosen.name, "word": word, "reduced": reduced})
    else:
        output.print(reduced.rstrip("\n"))


def _reduced(theorem: Theorem, item: Source, word: str) -> str | None:
    """Return the theorem's reduction of a word; None if it has none."""
    length = len(item.word(word)) if theorem.length else None
    return theorem.build_codec(item, length).apply_reduction(word)


def _by_reduction(theorem: Theorem, item: Source, word: str) -> bool:
    """Whether the theorem has a reduction that applies to this source."""
    try:
        return _reduced(theorem, item, word) is not None
    except SoftmachineError:
        return False
