"""``softmachine check``: compare a model with the reference interpreter, token for token."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from softmachine.cli import options
from softmachine.cli.compile_options import choose_rasp_theorem, format_alphabet
from softmachine.cli.options import OptionGroup, Status, switch_option, value_option
from softmachine.cli.output import Output
from softmachine.compiler.model import CompileOptions, Model
from softmachine.support.errors import SoftmachineError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from softmachine.engines.check import Disagreement, Report
    from softmachine.studies.sweeps import CheckRun

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

First = Annotated[bool, switch_option("Stop at the first disagreement.", "--first")]


@dataclass(frozen=True)
class CheckOptions(OptionGroup):
    """Options of the inputs to check, and of their execution."""

    up_to: Annotated[
        int | None,
        value_option(
            "N", "Check every input up to length N. Default for circuits and graphs: all, if they are few.", minimum=0
        ),
    ] = None
    sample: Annotated[int | None, value_option("K", "Check K random inputs of length --length.", minimum=1)] = None
    length: Annotated[
        int | None, value_option("N", "Length of the random inputs; circuits and graphs have only one.", minimum=0)
    ] = None
    seed: Annotated[int, typer.Option(metavar="S", help="Seed of the random inputs.")] = 0
    arithmetic: options.ArithmeticName = "float64"
    max_steps: Annotated[int, value_option("N", "Compare longer runs up to this step.", minimum=0, default=True)] = (
        10_000
    )


def command(
    source: options.Source,
    *,
    inputs: CheckOptions,
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
    from softmachine.cli.output import spinner
    from softmachine.studies import sweeps
    from softmachine.support.parallel import select_executor

    factory = select_executor(workers, cluster)
    wanted = sweeps.CheckOptions(**asdict(inputs), stop_at_first=first)
    item = api.load_with_two_letters(source, format_name, alphabet)
    with spinner("compiling", output):
        options_of_model = CompileOptions(choose_rasp_theorem(theorem, causal=causal), attention, context)
        model = api.compile_for_check(item, wanted, options_of_model)
    checking = sweeps.CheckRun(model, wanted, factory=factory, journal=journal, progress=output.warn)
    stopped = _check_all(checking, output)
    report = checking.report
    if output.as_json:
        holds = None if stopped and report.holds else report.holds
        over = {"holds": holds, "interrupted": stopped, "alphabet": list(model.codec.alphabet)}
        output.print_json(report.to_json(MAX_LISTED) | over)
    else:
        unasked = inputs.up_to is None and inputs.sample is None and not stopped
        output.print(f"all {report}" if unasked else str(report), style="green" if report.holds else "red")
        if not output.quiet:
            if letters := format_alphabet(model.source):
                output.print(letters)
            _print_disagreements(report.disagreements, model, output, inputs)
    return _status(report, stopped, checking.inputs.total, output)


def _check_all(checking: CheckRun, output: Output) -> bool:
    """Check all parts; return whether Ctrl-C interrupted it, which loses at most one part."""
    from softmachine.cli.output import bar

    try:
        with bar("checking", checking.inputs.total, output) as advance:
            for part in checking:
                advance(part.stop - part.start)
    except KeyboardInterrupt:
        return True
    return False


def _status(report: Report, stopped: bool, total: float, output: Output) -> Status:
    from softmachine.engines.inputs import MAX_PRINTED_COUNT

    if stopped:
        of_all = f" of {total:,}" if total <= MAX_PRINTED_COUNT else ""
        output.warn(f"interrupted: {report.inputs:,}{of_all} inputs were tried")
        return Status.INTERRUPTED
    return Status.OK if report.holds else Status.DOES_NOT_HOLD


def _print_disagreements(problems: Sequence[Disagreement], model: Model, output: Output, tried: CheckOptions) -> None:
    """Print the first disagreements with both traces."""
    for problem in problems[:MAX_SHOWN]:
        output.print(f"\n{problem}")
        for line in _traces(problem, model, tried):
            output.print(line)
    if len(problems) > MAX_SHOWN:
        output.print(f"\n… and {len(problems) - MAX_SHOWN:,} more")


def _traces(problem: Disagreement, model: Model, tried: CheckOptions) -> Iterator[str]:
    """Yield the tokens of the interpreter and of the model around the first difference."""
    from softmachine.engines.run import RunSession

    first, last = max(problem.step - CONTEXT_TOKENS, 0), problem.step + CONTEXT_TOKENS + 1
    dots = "… " if first else ""
    steps = tried.max_steps
    expected = model.codec.expected(problem.word, steps)
    running = RunSession(model, problem.word, arithmetic=tried.arithmetic, max_steps=steps, engine="dense")
    for label, tokens in (("interpreter", expected), ("model", iter(running))):
        yield f"  {label:<12} {dots}{'  '.join(islice(_until_error(tokens), first, last))}"


def _until_error(tokens: Iterable[str | None]) -> Iterator[str]:
    """Yield the tokens, and a note where the run fails."""
    try:
        yield from (token or "(anything)" for token in tokens)
    except SoftmachineError:
        yield "(cannot continue)"
