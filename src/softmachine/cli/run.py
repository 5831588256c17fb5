"""``softmachine run``: compile a source, run it, and show its tape or its output."""

from __future__ import annotations

import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from softmachine.cli import options
from softmachine.cli.compile_options import (
    choose_rasp_theorem,
    load_model_for_run,
    notes_json,
    tape_view,
)
from softmachine.cli.inspection_options import InspectOptions
from softmachine.cli.options import OptionGroup, Status, file_option, switch_option, value_option
from softmachine.cli.output import Output
from softmachine.compiler.model import CompileOptions, Model
from softmachine.support.errors import FixHint, TooExpensiveError, UsageError
from softmachine.support.text import pluralize

if TYPE_CHECKING:
    from softmachine.cli.run_views import PageOption, StepOption
    from softmachine.cli.tape_view import TapeView
    from softmachine.engines.engine import AuditResult
    from softmachine.engines.run import Run, RunObserver, RunSession

    Views = list[StepOption | PageOption]

EXAMPLES = """[dim]Examples:[/]
  softmachine run palindrome abba
  softmachine run busy-beaver-4 --trace
  softmachine run "1RB1LB_1LA1RZ" --arithmetic exact --json"""

PANELS = {
    "Options": (
        *("trace", "attention", "theorem", "arithmetic", "engine", "max_steps", "context", "verify", "explain", "html"),
        "yes",
    ),
    "Compilation": ("length", "alphabet", "causal", "generate", "format_name"),
    "Execution": ("audit", "sample", "seed", "unchecked", "checkpoint", "resume"),
    "Inspection": ("svg", "svg_of", "table", "html_at", "tokens"),
}
PLAIN_WIDTH = 200
"""Columns of a trace that is written to a file."""


Input = Annotated[
    str | None,
    typer.Argument(
        metavar="INPUT",
        show_default=False,
        help="The input; symbols longer than one character are separated by spaces. Default: the input that the source "
        "suggests, or else the empty word.",
    ),
]
Tokens = Annotated[bool, switch_option("With --json: include the tokens, as trace_tokens.", "--tokens")]
Trace = Annotated[bool, switch_option("Print one line per step.", "--trace")]


@dataclass(frozen=True)
class RunOptions(OptionGroup):
    """Options of the execution of a model."""

    arithmetic: options.ArithmeticName = "float64"
    engine: Annotated[
        str,
        typer.Option(
            "--engine",
            metavar="NAME",
            help="[b]dense[/] (every score, any arithmetic), [b]fast[/] (exact, millions of tokens per second) or "
            "[b]auto[/] (dense, then fast if the input or the run is long).",
        ),
    ] = "auto"
    max_steps: Annotated[
        int | None,
        value_option("N", "Step limit. Default: 10^6, and 10^8 on the fast engine.", minimum=0),
    ] = None
    audit: Annotated[
        int,
        value_option(
            "N",
            "After the run, recompute N random steps with every score in exact arithmetic (fast engine). Its duration "
            "can only be estimated, and refused, after the run.",
            minimum=0,
        ),
    ] = 0
    verify: Annotated[
        bool,
        switch_option(
            "Compare every token with the reference interpreter during the run; status 1 if any differs.", "--verify"
        ),
    ] = False
    unchecked: Annotated[
        bool,
        switch_option(
            "Do not compare the output with the reference interpreter: for models with edited weights. The run is "
            "labelled as unchecked.",
            "--unchecked",
        ),
    ] = False
    sample: Annotated[
        bool,
        switch_option(
            "Sample every token from the softmax of the logits, as language models do, instead of taking the maximum, "
            "and report the first difference from the interpreter. It shows how sharp the logits are.",
            "--sample",
        ),
    ] = False
    seed: Annotated[
        int,
        value_option("N", "Seed of --sample and --audit. Default: 0.", minimum=0),
    ] = 0
    checkpoint: Annotated[
        Path | None,
        file_option("Save the run to FILE periodically, on interruption and at its end (fast engine)."),
    ] = None
    resume: Annotated[
        Path | None,
        file_option(
            "Resume from a checkpoint, and keep writing to it unless --checkpoint names another file (fast engine)."
        ),
    ] = None

    def require(self) -> None:
        """Validate the combination of options, and files, before any work."""
        if self.audit and self.engine == "dense":
            raise UsageError("--audit requires the fast engine", hint=FixHint(engine="fast"))
        if self.seed and not (self.sample or self.audit):
            raise UsageError("--seed requires --sample or --audit", hint=FixHint("leave it out", seed=None))
        if self.unchecked:
            from softmachine.engines.engine import require_verifiable

            require_verifiable(verify=self.verify, checked=False)
        if self.checkpoint and self.engine != "dense":
            from softmachine.engines.fast.checkpoint import require_replaceable

            require_replaceable(self.checkpoint)

    def start(self, model: Model, text: str) -> RunSession:
        """Return a run that has not started."""
        from softmachine.engines.run import RunSession

        return RunSession(
            model,
            text,
            arithmetic=self.arithmetic,
            max_steps=self.max_steps,
            engine="fast" if self.audit and self.engine == "auto" else self.engine,
            checkpoint=self.checkpoint,
            resume=self.resume,
            verify=self.verify,
            checked=not self.unchecked,
        )


def command(
    source: options.Source,
    word: Input = None,
    *,
    execution: RunOptions,
    theorem: options.TheoremName = None,
    causal: options.Causal = False,
    generate: options.Generate = False,
    attention: options.AttentionName = None,
    context: options.RunContext = None,
    length: options.CertifiedLength = None,
    alphabet: options.Alphabet = None,
    trace: Trace = False,
    tokens: Tokens = False,
    inspection: InspectOptions,
    format_name: options.Format = None,
    output: Output,
) -> int:
    """Compile a source to a transformer, and run it on an input.

    The transformer emits the run one token at a time, or the answer in one pass.

    Exit status: 0 verdict reached; 1 the run differs from the reference interpreter, or an audit does not hold; 3 step
    limit reached; 130 interrupted.
    """
    if tokens and not output.as_json:
        raise UsageError("--tokens requires --json", hint="the tokens are part of the JSON answer")
    execution.require()
    if execution.sample:
        from softmachine.cli.sampling import require_compatible

        require_compatible({**asdict(execution), **asdict(inspection), "trace": trace, "tokens": tokens})
    chosen = choose_rasp_theorem(theorem, causal=causal, generate=generate)
    wanted = CompileOptions(chosen, attention, context, length, alphabet, format_name)
    views = inspection.views(
        source, word, {**asdict(wanted), "max_steps": execution.max_steps, "unchecked": execution.unchecked}
    )
    model, text = load_model_for_run(source, word, wanted, execution.max_steps, output)
    if execution.sample:
        from softmachine.cli.sampling import sample_run

        return sample_run(model, text, execution.arithmetic, execution.seed, execution.max_steps, output)
    for view in views:
        view.require(model)
    return _run_and_show(execution, model, text, views, trace=trace, tokens=tokens, output=output)


def _run_and_show(
    execution: RunOptions, model: Model, text: str, views: Views, *, trace: bool, tokens: bool, output: Output
) -> Status:
    """Run a model, and print or return the outcome."""
    from softmachine.cli.live_view import MAX_ROWS, TraceDisplay, print_run
    from softmachine.cli.output import spinner

    with spinner("preparing the weights", output):
        session = execution.start(model, text)
    tape = tape_view(model.codec, text, remember=MAX_ROWS) if trace or output.live else None
    display = _create_display(session, tape, text, output, trace)
    if display:
        session.observers.append(display)
    interrupted = _run_to_end(session, output)
    audited, refused = _audit(session, execution.audit, execution.seed, output)
    run = session.result()
    if output.as_json:
        if refused:
            raise refused
        answer = _run_json(run, text, tokens=tokens, interrupted=interrupted)
        answer |= {"audit": _audit_json(audited)} if audited else {}
        answer |= {"trace": display.lines} if isinstance(display, TraceDisplay) else {}
        output.print_json(answer | _show_views(run, views, output))
    else:
        steps = not trace and not any(view.explains for view in views)
        print_run(run, output, steps=steps, on_screen=output.live and tape is not None, interrupted=interrupted)
        if audited:
            output.print(f"audit: {audited}")
        _show_views(run, views, output)
    if refused:  # after the outcome of the run was printed
        raise refused
    if run.differs or (audited and not audited.holds):
        return Status.DOES_NOT_HOLD
    if interrupted:
        return Status.INTERRUPTED
    if not run.halted:
        output.warn_of_limit(session.max_steps)
        return Status.STEP_LIMIT
    return Status.OK


def _create_display(
    session: RunSession, view: TapeView | None, text: str, output: Output, trace: bool
) -> RunObserver | None:
    """Return the display of a run: a trace, a live screen or a status line; None if there is nothing to display."""
    from softmachine.cli.live_view import TraceDisplay, live_screen, status_line

    if view and session.resumed_count and (trace or output.live):
        view.apply_all(session.tokens[:1])  # the first token has no state to leap from
        view.apply_all(session.tokens[1:])
    if trace:
        width = output.width if output.live else shutil.get_terminal_size((PLAIN_WIDTH, 24)).columns
        return TraceDisplay(view, output, width)
    if output.live and view:
        return live_screen(session, view, f"{session.model.name}  {text}".rstrip(), output)
    return status_line(session, output) if output.progress else None


def _run_to_end(session: RunSession, output: Output) -> bool:
    """Run to the end; return whether Ctrl-C interrupted it. If it does not end, print how to resume it."""
    ended = interrupted = False
    try:
        for _ in session.chunks():
            pass
        ended = True
    except KeyboardInterrupt:
        interrupted = True
    except MemoryError as error:
        error.add_note(f"running {session.model.name!r}, after {pluralize(len(session.tokens), 'token')}")
        raise
    finally:
        if (writer := session.checkpoint) and not ended and writer.save():
            output.warn(f"the run so far is saved; to resume it: --resume {writer.file}")
    if writer and writer.error:
        output.warn(writer.error)
    return interrupted


def _audit(
    session: RunSession, count: int, seed: int, output: Output
) -> tuple[AuditResult | None, TooExpensiveError | None]:
    """Audit random steps; return the report, or the error if the estimate is too high."""
    from softmachine.cli.output import spinner

    if not count:
        return None, None
    with spinner("recomputing steps in exact arithmetic", output):
        try:
            return session.audit(count, seed), None
        except TooExpensiveError as problem:
            return None, problem


def _show_views(run: Run, views: Views, output: Output) -> dict[str, object]:
    """Show the requested views of a run; return their JSON data."""
    found: dict[str, object] = {}
    for view in views:
        found |= view.show(run, output)
    return found


def _run_json(run: Run, text: str, *, tokens: bool, interrupted: bool) -> dict[str, object]:
    return {
        "name": run.model.name,
        "language": run.model.source.language,
        "theorem": run.model.theorem.name,
        "input": text,
        "verdict": run.verdict,
        "halted": run.halted,
        "steps": run.steps,
        "tokens": len(run.tokens),
        **({"segments": list(run.segments)} if run.segments else {}),
        "output": run.output,
        **({} if run.outcome.values is None else {"values": list(run.outcome.values)}),
        "attention": run.model.attention,
        "arithmetic": run.arithmetic,
        "engine": run.engine,
        **({} if run.checked else {"unchecked": True}),
        **notes_json(run.notes),
        **({} if run.verified_count is None else {"verified": run.verified_count, "differs": run.differs}),
        **({"difference": asdict(run.difference)} if run.difference else {}),
        **({"resumed": run.resumed_count} if run.resumed_count else {}),
        "seconds": round(run.seconds, 6),
        "tokens_per_second": round(run.tokens_per_second, 1) if len(run.tokens) > run.resumed_count else None,
        "interrupted": interrupted,
        **({"trace_tokens": list(run.tokens)} if tokens else {}),
    }


def _audit_json(audited: AuditResult) -> dict[str, object]:
    count, positions, seed = len(audited.steps), audited.positions, audited.seed
    return {"steps": count, "positions": positions, "seed": seed, "holds": audited.holds}
