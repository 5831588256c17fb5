"""``softmachine run``: compile, run, and show the tape or the answer."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softmachine.cli import options
from softmachine.cli.models import Wanted, default_input, language, open_model, values_of, view_of
from softmachine.cli.options import Status
from softmachine.cli.output import Output
from softmachine.text import many

if TYPE_CHECKING:
    from softmachine.cli.watching import Watcher
    from softmachine.runs import Run, Running

NAME = "run"
EXAMPLES = """[dim]Examples:[/]
  softmachine run palindrome abba
  softmachine run busy-beaver-4 --trace
  softmachine run "1RB1LB_1LA1RZ" --arithmetic exact --json"""

PLAIN_WIDTH = 200
"""Columns of a trace that goes to a file."""


def command(
    source: options.Source,
    word: Annotated[
        str | None,
        typer.Argument(
            metavar="INPUT",
            show_default=False,
            help="The input word; symbols longer than a character are separated by blanks. By default the one that "
            "the source suggests, or else the empty word.",
        ),
    ] = None,
    *,
    arithmetic: options.ArithmeticName = "float64",
    engine: options.EngineName = "auto",
    max_steps: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            show_default=False,
            help="Stop after so many steps; by default a million, and a hundred million on the fast engine.",
        ),
    ] = None,
    audit: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            show_default=False,
            help="Afterwards, do N random steps again with every score computed in exact arithmetic (fast engine).",
        ),
    ] = 0,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="Write the run to FILE now and then, and when it is interrupted (fast engine).",
        ),
    ] = None,
    resume: Annotated[
        Path | None, typer.Option(metavar="FILE", show_default=False, help="Go on from a checkpoint (fast engine).")
    ] = None,
    construction: options.ConstructionName = None,
    attention: options.AttentionName = None,
    certified: options.CertifiedLength = None,
    length: options.Length = None,
    alphabet: options.Alphabet = None,
    trace: Annotated[bool, typer.Option("--trace", metavar="", help="Print one line a step.")] = False,
    format_name: options.Format = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    _debug: options.Debug = False,
) -> int:
    """Run a machine as a transformer, and show what it does.

    The machine is compiled to the weights of a transformer, which then produces the run one token at a time.
    Exit status 0: it came to a verdict; 3: it reached the step limit; 130: interrupted.
    """
    output = Output(as_json, quiet)
    from softmachine.cli.progress import working
    from softmachine.cli.results import show_run
    from softmachine.cli.watching import Trace, watch
    from softmachine.runs import Running, codec_of

    transformer = open_model(source, Wanted(format_name, construction, attention, alphabet, certified, length), output)
    text = default_input(codec_of(transformer)) if word is None else word
    with working("preparing the weights", output):
        running = Running(
            transformer,
            text,
            arithmetic=arithmetic,
            max_steps=max_steps,
            engine="fast" if audit and engine == "auto" else engine,
            checkpoint=checkpoint,
            resume=resume,
        )
    watcher = _watcher(running, text, output, trace)
    interrupted = watch(running, watcher)
    if interrupted and running.save():
        output.warn(f"to go on: --resume {checkpoint}")
    if running.unsaved:
        output.warn(running.unsaved)
    result = running.so_far()
    with working("doing steps again in exact arithmetic", output):
        audited = running.audit(audit) if audit else None
    if as_json:
        lines = {"trace": watcher.lines} if isinstance(watcher, Trace) else {}
        checked = {"audit": {"steps": len(audited.steps), "holds": audited.holds}} if audited else {}
        output.answer({**_answer(result, text), "interrupted": interrupted, **checked, **lines})
    else:
        show_run(result, output, interrupted=interrupted, traced=trace)
        if audited:
            output.say(f"audit: {audited}")
    if audited and not audited.holds:
        return Status.FAILS
    return _status(result, interrupted, running.max_steps, output)


def _watcher(running: Running, text: str, output: Output, trace: bool) -> Watcher | None:
    """Who looks on: the terminal, the trace, a status line, or nobody."""
    from softmachine.cli.watching import MOST_ROWS, Trace, screen, status_line

    view = view_of(running.codec, text, remember=MOST_ROWS)
    if trace:
        width = output.width if output.live else shutil.get_terminal_size((PLAIN_WIDTH, 24)).columns
        return Trace(view, output, width)
    if output.live:
        return screen(running, view, f"{running.transformer.name}  {text}".rstrip(), output)
    return status_line(running, output) if output.progress else None


def _answer(run: Run, text: str) -> dict[str, Any]:
    return {
        "name": run.transformer.name,
        "language": language(run.transformer.codec),
        "construction": run.transformer.construction,
        "input": text,
        "verdict": run.verdict,
        "halted": run.halted,
        "steps": run.steps,
        "tokens": len(run.tokens),
        **({"segments": list(run.segments)} if run.segments else {}),
        "output": run.output,
        **values_of(run.outcome),
        "attention": run.transformer.attention,
        "arithmetic": run.arithmetic,
        "engine": run.engine,
        **({"note": run.note} if run.note else {}),
        "seconds": round(run.seconds, 6),
        "tokens_per_second": round(run.tokens_per_second, 1),
    }


def _status(run: Run, interrupted: bool, max_steps: int, output: Output) -> Status:
    if interrupted:
        return Status.INTERRUPTED
    if run.halted:
        return Status.DONE
    output.warn(f"stopped after {many(max_steps, 'step')}; to let it run longer: --max-steps {10 * max_steps or 1000}")
    return Status.STEP_LIMIT
