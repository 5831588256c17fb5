"""``softmachine check``: compare a model with the reference interpreter, token for token."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from softmachine.cli import options
from softmachine.cli.compile_options import alphabet_line, rasp_theorem
from softmachine.cli.groups import Group
from softmachine.cli.options import Status, switch, value
from softmachine.cli.output import Output
from softmachine.support.errors import SoftmachineError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from softmachine.compiler.model import Model
    from softmachine.engines.check import Disagreement, Report
    from softmachine.studies.sweeps import Checking

EXAMPLES = """[dim]Examples:[/]
  softmachine check palindrome --up-to 6
  softmachine check increment --sample 20 --length 100 --arithmetic exact
  softmachine check "Q_a since Q_b" --up-to 12 --workers 2 --journal since.jsonl"""

MAX_LISTED = 10
"""Maximum number of disagreements in JSON."""
MAX_SHOWN = 3
"""Maximum number of disagreements printed with both traces."""
CONTEXT_TOKENS = 3
"""Tokens shown on each side of the first difference."""


PANELS = {
    "Options": (
        *("up_to", "sample", "length", "attention", "theorem", "context", "arithmetic", "workers", "journal", "first"),
        "yes",
    ),
    "Compilation": ("alphabet", "causal", "format_name"),
    "Execution": ("seed", "max_steps", "cluster"),
}

First = Annotated[bool, switch("Stop at the first disagreement.", "--first")]


@dataclass(frozen=True)
class Tried(Group):
    """Options of the inputs to check, and of their execution."""

    up_to: Annotated[
        int | None,
        value("N", "Check every input up to length N. Default for circuits and graphs: all, if they are few.", least=0),
    ] = None
    sample: Annotated[int | None, value("K", "Check K random inputs of length --length.", least=1)] = None
    length: Annotated[
        int | None, value("N", "Length of the random inputs; circuits and graphs have only one.", least=0)
    ] = None
    seed: Annotated[int, typer.Option(metavar="S", help="Seed of the random inputs.")] = 0
    arithmetic: options.ArithmeticName = "float64"
    max_steps: Annotated[int, value("N", "Compare longer runs up to this step.", least=0, default=True)] = 10_000


def command(
    source: options.Source,
    *,
    tried: Tried,
    theorem: options.TheoremName = None,
    causal: options.Causal = False,
    attention: options.AttentionName = None,
    context: options.CheckContext = None,
    alphabet: options.Alphabet = None,
    format_name: options.Format = None,
    first: First = False,
    workers: options.Workers = None,
    cluster: options.Cluster = None,
    journal: options.JournalFile = None,
    output: Output,
) -> int:
    """Compare a transformer with the reference interpreter, token by token.

    Exit status: 0 they agree on every input tried; 1 they do not, and the first differences are shown.
    """
    from softmachine import api
    from softmachine.cli.output import working
    from softmachine.studies import sweeps
    from softmachine.support.parallel import crew_of

    crew = crew_of(workers, cluster)
    wanted = sweeps.Wanted(**asdict(tried), first=first)
    item = api.load_for_many_words(source, format_name, alphabet)
    with working("compiling", output):
        chosen = rasp_theorem(theorem, causal=causal)
        model = api.compile_for_check(item, wanted, chosen, attention=attention, context=context)
    checking = sweeps.Checking(model, wanted, crew=crew, journal=journal, tell=output.warn)
    stopped = _check_all(checking, output)
    report = checking.report
    if output.as_json:
        holds = None if stopped and report.holds else report.holds
        over = {"holds": holds, "interrupted": stopped, "alphabet": list(model.codec.alphabet)}
        output.answer(report.to_json(MAX_LISTED) | over)
    else:
        unasked = tried.up_to is None and tried.sample is None and not stopped
        output.say(f"all {report}" if unasked else str(report), style="green" if report.holds else "red")
        if not output.quiet:
            if letters := alphabet_line(model.source):
                output.say(letters)
            _print_disagreements(report.disagreements, model, output, tried)
    return _status(report, stopped, checking.sweep.total, output)


def _check_all(checking: Checking, output: Output) -> bool:
    """Check all parts; return whether Ctrl-C interrupted it, which loses at most one part."""
    from softmachine.cli.output import bar

    try:
        with bar("checking", checking.sweep.total, output) as advance:
            for part in checking:
                advance(part.stop - part.start)
    except KeyboardInterrupt:
        return True
    return False


def _status(report: Report, stopped: bool, total: float, output: Output) -> Status:
    from softmachine.engines.inputs import COUNTABLE

    if stopped:
        of_all = f" of {total:,}" if total <= COUNTABLE else ""
        output.warn(f"interrupted: {report.inputs:,}{of_all} inputs were tried")
        return Status.INTERRUPTED
    return Status.DONE if report.holds else Status.FAILS


def _print_disagreements(problems: Sequence[Disagreement], model: Model, output: Output, tried: Tried) -> None:
    """Print the first disagreements with both traces."""
    for problem in problems[:MAX_SHOWN]:
        output.say(f"\n{problem}")
        for line in _traces(problem, model, tried):
            output.say(line)
    if len(problems) > MAX_SHOWN:
        output.say(f"\n… and {len(problems) - MAX_SHOWN:,} more")


def _traces(problem: Disagreement, model: Model, tried: Tried) -> Iterator[str]:
    """Yield the tokens of the interpreter and of the model around the first difference."""
    from softmachine.engines.run import Running

    first, last = max(problem.step - CONTEXT_TOKENS, 0), problem.step + CONTEXT_TOKENS + 1
    dots = "… " if first else ""
    steps = tried.max_steps
    expected = model.codec.expected(problem.word, steps)
    running = Running(model, problem.word, arithmetic=tried.arithmetic, max_steps=steps, engine="dense")
    for label, tokens in (("interpreter", expected), ("model", iter(running))):
        yield f"  {label:<12} {dots}{'  '.join(islice(_until_error(tokens), first, last))}"


def _until_error(tokens: Iterable[str | None]) -> Iterator[str]:
    """Yield the tokens, and a note where the run fails."""
    try:
        yield from (token or "(anything)" for token in tokens)
    except SoftmachineError:
        yield "(cannot continue)"
