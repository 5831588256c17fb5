"""``softmachine check``: compare a model with the reference interpreter, token for token."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softmachine.cli import options
from softmachine.cli.models import open_model, spelled
from softmachine.cli.options import Status
from softmachine.cli.output import Output
from softmachine.errors import SoftmachineError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from softmachine.checking import Disagreement, Report
    from softmachine.transformer import Codec, Transformer

NAME = "check"
EXAMPLES = """[dim]Examples:[/]
  softmachine check palindrome --up-to 6
  softmachine check increment --sample 20 --length 100 --arithmetic exact"""

LISTED = 10
"""So many disagreements are listed as JSON."""
SHOWN = 3
"""So many are shown to people, with both traces."""
AROUND = 3
"""So many tokens to each side of the first difference."""


def command(
    source: options.Source,
    *,
    up_to: Annotated[
        int | None, typer.Option(metavar="N", min=0, show_default=False, help="Try every input up to length N.")
    ] = None,
    sample: Annotated[
        int | None, typer.Option(metavar="K", min=1, show_default=False, help="Try K random inputs ...")
    ] = None,
    length: Annotated[int | None, typer.Option(metavar="N", min=0, show_default=False, help="... of length N.")] = None,
    seed: Annotated[int, typer.Option(metavar="S", help="Which random inputs.")] = 0,
    arithmetic: options.ArithmeticName = "float64",
    max_steps: Annotated[int, typer.Option(metavar="N", min=0, help="Compare longer runs up to here.")] = 10_000,
    construction: options.ConstructionName = None,
    format_name: options.Format = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    _debug: options.Debug = False,
) -> int:
    """Compare the transformer of a machine with the reference interpreter, token for token.

    Exit status 0: they agree on every input that was tried; 1: they do not, and the first differences are shown.
    """
    if (up_to is None) == (sample is None) or (sample is None) != (length is None):
        raise UsageError("say which inputs to check", hint="--up-to N, or --sample K --length N")
    from softmachine.checking import all_words, check_words, random_words
    from softmachine.cli.progress import counted
    from softmachine.runs import codec_of

    output = Output(as_json, quiet)
    transformer = open_model(source, format_name, construction)
    codec = codec_of(transformer)
    if up_to is not None:
        words, total = all_words(codec.alphabet, up_to), sum(len(codec.alphabet) ** n for n in range(up_to + 1))
    else:
        total = sample or 0
        words = random_words(codec.alphabet, total, length or 0, seed)
    with counted(words, total, output) as count:
        report = check_words(transformer, count, arithmetic=arithmetic, max_steps=max_steps)
    if as_json:
        output.answer({**_answer(report, codec), "interrupted": count.stopped})
    else:
        _show(report, transformer, output, arithmetic, max_steps)
    return _status(report, count.stopped, total, output)


def _status(report: Report, stopped: bool, total: int, output: Output) -> Status:
    if stopped:
        output.warn(f"interrupted: {report.inputs:,} of {total:,} inputs were tried")
        return Status.INTERRUPTED
    return Status.DONE if report.holds else Status.FAILS


def _answer(report: Report, codec: Codec) -> dict[str, Any]:
    return {
        "holds": report.holds,
        "inputs": report.inputs,
        "tokens": report.tokens,
        "disagreement_count": len(report.disagreements),
        "disagreements": [
            {
                "word": spelled(codec, problem.word),
                "step": problem.step,
                "expected": problem.expected,
                "found": problem.found,
                "reason": problem.reason,
            }
            for problem in report.disagreements[:LISTED]
        ],
        "seconds": round(report.seconds, 6),
    }


def _show(report: Report, transformer: Transformer, output: Output, arithmetic: str, max_steps: int) -> None:
    output.say(str(report), style="green" if report.holds else "red")
    if output.quiet:
        return
    for problem in report.disagreements[:SHOWN]:
        output.say(f"\n{problem}")
        for line in _traces(problem, transformer, arithmetic, max_steps):
            output.say(line)
    hidden = len(report.disagreements) - SHOWN
    if hidden > 0:
        output.say(f"\n… and {hidden:,} more")


def _traces(problem: Disagreement, transformer: Transformer, arithmetic: str, max_steps: int) -> Iterator[str]:
    """What the interpreter says and what the model says, around the first difference."""
    from softmachine.runs import Running, codec_of

    first, last = max(problem.step - AROUND, 0), problem.step + AROUND + 1
    dots = "… " if first else ""
    expected = codec_of(transformer).expected(problem.word, max_steps)
    running = Running(transformer, problem.word, arithmetic=arithmetic, max_steps=max_steps)
    for label, tokens in (("interpreter", expected), ("model", iter(running))):
        yield f"  {label:<12} {dots}{'  '.join(islice(_until_error(tokens), first, last))}"


def _until_error(tokens: Iterable[str]) -> Iterator[str]:
    """The tokens, and that it cannot go on where it cannot."""
    try:
        yield from tokens
    except SoftmachineError:
        yield "(cannot go on)"
