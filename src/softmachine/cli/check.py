"""``softmachine check``: compare a model with the reference interpreter, token for token."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from softmachine.cli import options
from softmachine.cli.models import Wanted, alphabet_line, open_model, rasp_theorem
from softmachine.cli.options import Status, value
from softmachine.cli.output import Output
from softmachine.errors import SoftmachineError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from softmachine.engines.check import Disagreement, Report
    from softmachine.engines.sweep import Sweep
    from softmachine.model import Model
    from softmachine.words import Word

EXAMPLES = """[dim]Examples:[/]
  softmachine check palindrome --up-to 6
  softmachine check increment --sample 20 --length 100 --arithmetic exact"""

LISTED = 10
"""So many disagreements are listed as JSON."""
SHOWN = 3
"""So many are shown to people, with both traces."""
AROUND = 3
"""So many tokens to each side of the first difference."""
WORTH_IT = 20
"""A portion of inputs should take so many times longer than it takes to prepare the weights."""
A_WHILE = 2.0
"""A portion should take so many seconds: inputs that are read together take less time."""


UpTo = Annotated[
    int | None,
    value("N", "Try every input up to length N; by default all of a circuit or graph, if they are few.", least=0),
]
Sample = Annotated[int | None, value("K", "Try K random inputs ...", least=1)]
SampleLength = Annotated[int | None, value("N", "... of length N; those of a circuit or graph have one.", least=0)]
Seed = Annotated[int, typer.Option(metavar="S", help="Which random inputs.")]
MaxSteps = Annotated[int, typer.Option(metavar="N", min=0, help="Compare longer runs up to here.")]


def command(
    source: options.Source,
    *,
    up_to: UpTo = None,
    sample: Sample = None,
    length: SampleLength = None,
    seed: Seed = 0,
    arithmetic: options.ArithmeticName = "float64",
    max_steps: MaxSteps = 10_000,
    theorem: options.TheoremName = None,
    causal: options.Causal = False,
    attention: options.AttentionName = None,
    certified: options.Certified = None,
    context: options.Context = None,
    alphabet: options.Alphabet = None,
    format_name: options.Format = None,
    output: Output,
) -> int:
    """Compare the transformer of a machine with the reference interpreter, token for token.

    Exit status 0: they agree on every input that was tried; 1: they do not, and the first differences are shown.
    """
    from softmachine.engines.sweep import Sweep

    wanted = Wanted(format_name, rasp_theorem(theorem, causal=causal), attention, alphabet, context, certified)
    model = open_model(source, wanted, output, two_letters=True)
    sweep = Sweep.of(model, up_to=up_to, sample=sample, length=length, seed=seed)
    report, stopped = _checked(sweep, arithmetic, max_steps, output)
    if output.as_json:
        holds = None if stopped and report.holds else report.holds
        over = {"holds": holds, "interrupted": stopped, "alphabet": list(model.codec.alphabet)}
        output.answer(report.to_json(LISTED) | over)
    else:
        unasked = up_to is None and sample is None and not stopped
        output.say(f"all {report}" if unasked else str(report), style="green" if report.holds else "red")
        if not output.quiet:
            if letters := alphabet_line(model.source):
                output.say(letters)
            _show(report.disagreements, model, output, arithmetic, max_steps)
    return _status(report, stopped, sweep.total, output)


def _checked(sweep: Sweep, arithmetic: str, max_steps: int, output: Output) -> tuple[Report, bool]:
    """What came of it, and whether Ctrl-C ended it before all words were tried."""
    from softmachine.cli.progress import bar
    from softmachine.engines.check import Report

    report = Report(inputs=0, tokens=0, disagreements=(), seconds=0.0, notes=sweep.model.notes)
    try:
        words = sweep.foreseen(arithmetic, max_steps)
        with bar("checking", sweep.total, output) as advance:
            for portion in _portions(sweep.model, words, arithmetic, max_steps, advance):
                report = _joined(report, portion)
    except KeyboardInterrupt:
        return report, True
    return report, False


def _portions(
    model: Model, words: Iterator[Word], arithmetic: str, max_steps: int, advance: Callable[[], None]
) -> Iterator[Report]:
    """Check the words in portions, so that Ctrl-C loses one of them at most; larger ones where that takes less time."""
    from softmachine.cli.progress import counted
    from softmachine.engines.check import check_words

    size = 1
    while portion := tuple(islice(words, size)):
        began = time.perf_counter()
        report = check_words(model, counted(portion, advance), arithmetic=arithmetic, max_steps=max_steps)
        yield report
        prepared = time.perf_counter() - began - report.seconds
        if 2 * report.seconds < max(A_WHILE, WORTH_IT * prepared):
            size *= 2


def _joined(first: Report, second: Report) -> Report:
    return replace(
        first,
        inputs=first.inputs + second.inputs,
        tokens=first.tokens + second.tokens,
        disagreements=first.disagreements + second.disagreements,
        seconds=first.seconds + second.seconds,
    )


def _status(report: Report, stopped: bool, total: float, output: Output) -> Status:
    from softmachine.words import COUNTABLE

    if stopped:
        of_all = f" of {total:,}" if total <= COUNTABLE else ""
        output.warn(f"interrupted: {report.inputs:,}{of_all} inputs were tried")
        return Status.INTERRUPTED
    return Status.DONE if report.holds else Status.FAILS


def _show(problems: Sequence[Disagreement], model: Model, output: Output, arithmetic: str, max_steps: int) -> None:
    """The first disagreements, with both traces."""
    for problem in problems[:SHOWN]:
        output.say(f"\n{problem}")
        for line in _traces(problem, model, arithmetic, max_steps):
            output.say(line)
    if len(problems) > SHOWN:
        output.say(f"\n… and {len(problems) - SHOWN:,} more")


def _traces(problem: Disagreement, model: Model, arithmetic: str, max_steps: int) -> Iterator[str]:
    """What the interpreter says and what the model says, around the first difference."""
    from softmachine.engines.run import Running

    first, last = max(problem.step - AROUND, 0), problem.step + AROUND + 1
    dots = "… " if first else ""
    expected = model.codec.expected(problem.word, max_steps)
    running = Running(model, problem.word, arithmetic=arithmetic, max_steps=max_steps, engine="dense")
    for label, tokens in (("interpreter", expected), ("model", iter(running))):
        yield f"  {label:<12} {dots}{'  '.join(islice(_until_error(tokens), first, last))}"


def _until_error(tokens: Iterable[str | None]) -> Iterator[str]:
    """The tokens, and that it cannot go on where it cannot."""
    try:
        yield from (token or "(anything)" for token in tokens)
    except SoftmachineError:
        yield "(cannot go on)"
