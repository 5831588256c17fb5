"""``softmachine run``: compile, run, and show the tape or the answer."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from softmachine.cli import options
from softmachine.cli.models import Wanted, noted, open_for, rasp_theorem, view_of
from softmachine.cli.options import Status, file, switch, value
from softmachine.cli.output import Output
from softmachine.errors import EffortError, Remedy, SoftmachineError, UsageError
from softmachine.text import many

if TYPE_CHECKING:
    from softmachine.cli.looking import Looking
    from softmachine.cli.pages import Paging
    from softmachine.cli.watching import Watched, Watcher
    from softmachine.comparing import Difference
    from softmachine.engines.engine import Audited as AuditReport
    from softmachine.engines.run import Run, Running

EXAMPLES = """[dim]Examples:[/]
  softmachine run palindrome abba
  softmachine run busy-beaver-4 --trace
  softmachine run "1RB1LB_1LA1RZ" --arithmetic exact --json"""

PLAIN_WIDTH = 200
"""Columns of a trace that goes to a file."""


Word = Annotated[
    str | None,
    typer.Argument(
        metavar="INPUT",
        show_default=False,
        help="The input word; symbols longer than a character are separated by blanks. By default the one that "
        "the source suggests, or else the empty word.",
    ),
]
Engine = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="NAME",
        help="What runs the weights: dense (every score, any arithmetic), fast (exact, millions of tokens a second), "
        "or auto: dense to begin with, fast if the input is long or the run turns out to be.",
    ),
]
MaxSteps = Annotated[
    int | None,
    value("N", "Stop after so many steps; by default a million, and a hundred million on the fast engine.", least=0),
]
Audited = Annotated[
    int,
    value(
        "N",
        "Afterwards, do N random steps of the whole run again with every score computed in exact arithmetic "
        "(fast engine).",
        least=0,
    ),
]
Verified = Annotated[
    bool,
    switch("Compare every token with the reference interpreter, while it runs; status 1 if one differs.", "--verify"),
]
Seed = Annotated[
    int,
    value("N", "What --sample draws tokens by, and --audit random steps; 0 if nothing is said.", least=0),
]
Sampled = Annotated[
    bool,
    switch(
        "Draw every token from the softmax of the logits, as language models do, instead of taking the one of the "
        "largest; and say where the run first parts from the interpreter. It is for seeing how sharp the logits are: "
        "such a run shows nothing about the machine.",
        "--sample",
    ),
]
Checkpoint = Annotated[
    Path | None,
    file("Write the run to FILE now and then, when it is interrupted and when it ends (fast engine)."),
]
Resume = Annotated[
    Path | None,
    file("Go on from a checkpoint, and go on writing to it unless --checkpoint names another file (fast engine)."),
]
Tokens = Annotated[bool, switch("With --json: the tokens as well, as trace_tokens.", "--tokens")]
Explained = Annotated[
    str | None,
    value(
        "STEP",
        "Afterwards, tell what happened inside of the model at a step: as the trace counts them, [b]@N[/] for position "
        "N (models that answer at once have only these), or [b]last[/].",
        "--explain",
    ),
]
Picture = Annotated[Path | None, file("Draw that step, or the last one, to FILE as SVG: who looked where.", "--svg")]
PictureOf = Annotated[
    str | None,
    value(
        "WHAT",
        "What --svg draws: [b]step[/], [b]attention[/] (what all heads chose at every position) or "
        "[b]attention:HEAD[/] (what one of them did).",
        "--svg-of",
    ),
]
Tabled = Annotated[
    bool,
    switch(
        "Afterwards, print the worked table of the theorem, a row for each position: for chapter-8 the state q, the "
        "symbol b that was written, the move m, the head h and the symbol a under it, read off the residual stream.",
        "--table",
    ),
]
Html = Annotated[
    Path | None,
    file("Write a page to FILE that shows the run from the inside; a browser opens it, and it needs nothing else."),
]
HtmlAt = Annotated[
    str | None,
    value("STEP", "With --html: where the page opens, and what it has a window around if the run is long."),
]
Traced = Annotated[bool, switch("Print one line a step.", "--trace")]


def command(
    source: options.Source,
    word: Word = None,
    *,
    arithmetic: options.ArithmeticName = "float64",
    engine: Engine = "auto",
    max_steps: MaxSteps = None,
    audit: Audited = 0,
    verify: Verified = False,
    sample: Sampled = False,
    seed: Seed = 0,
    checkpoint: Checkpoint = None,
    resume: Resume = None,
    theorem: options.TheoremName = None,
    causal: options.Causal = False,
    generate: options.Generate = False,
    attention: options.AttentionName = None,
    context: options.RunContext = None,
    length: options.CertifiedLength = None,
    alphabet: options.Alphabet = None,
    trace: Traced = False,
    tokens: Tokens = False,
    explain: Explained = None,
    svg: Picture = None,
    svg_of: PictureOf = None,
    table: Tabled = False,
    html: Html = None,
    html_at: HtmlAt = None,
    format_name: options.Format = None,
    output: Output,
) -> int:
    """Run a machine as a transformer, and show what it does.

    The machine is compiled to the weights of a transformer, which then produces the run one token at a time.
    Exit status 0: it came to a verdict; 1: it differs from the reference interpreter, or an audit does not hold; 3: it
    reached the step limit; 130: interrupted.
    """
    from softmachine.cli.progress import working
    from softmachine.engines.run import Running

    if tokens and not output.as_json:
        raise UsageError("--tokens is for --json", hint="they are part of the answer in JSON")
    if audit and engine == "dense":
        raise UsageError("only runs of the fast engine are audited", hint=Remedy(engine="fast"))
    if checkpoint and engine != "dense":
        _require_free(checkpoint)
    if sample:
        from softmachine.cli.sampling import require_alone

        require_alone(
            verify=verify,
            audit=audit,
            checkpoint=checkpoint,
            resume=resume,
            trace=trace,
            tokens=tokens,
            table=table,
            explain=explain,
            svg=svg,
            html=html,
            engine=engine == "fast",
        )
    looking = _looking(explain, svg, svg_of, table=table)
    chosen = rasp_theorem(theorem, causal=causal, generate=generate)
    wanted = Wanted(format_name, chosen, attention, alphabet, context, length)
    paging = _paging(html, html_at, (source, word, _asked(wanted, max_steps, html_at)))
    model, text = open_for(source, word, wanted, max_steps, output)
    if sample:
        from softmachine.cli.sampling import draw

        return draw(model, text, arithmetic, seed, max_steps, output)
    if looking:
        looking.require(model)
    with working("preparing the weights", output):
        running = Running(
            model,
            text,
            arithmetic=arithmetic,
            max_steps=max_steps,
            engine="fast" if audit and engine == "auto" else engine,
            checkpoint=checkpoint,
            resume=resume,
            verify=verify,
        )
    watched = _to_its_end(running, text, output, trace)
    audited, refused = _audit(running, audit, seed, output)
    result = running.so_far()
    if output.as_json:
        if refused:
            raise refused
        facts = _answer(result, text) | {"interrupted": watched.interrupted}
        facts |= {"audit": _audited(audited)} if audited else {}
        facts |= {} if watched.lines is None else {"trace": watched.lines}
        facts |= {"trace_tokens": list(result.tokens)} if tokens else {}
        facts |= looking.at(result, output) if looking else {}
        facts |= paging.write(result, output) if paging else {}
        output.answer(facts)
    else:
        _show(result, watched, audited, looking, paging, output)
    if refused:  # what the run came to is told all the same
        raise refused
    if result.differs or (audited and not audited.holds):
        return Status.FAILS
    return _status(result, watched.interrupted, running.max_steps, output)


def _require_free(checkpoint: Path) -> None:
    """Before any work: nothing else may be where a run is to be saved."""
    from softmachine.engines.engine import engine_named

    require_free = engine_named("fast").require_free
    assert require_free is not None
    require_free(checkpoint)


def _asked(wanted: Wanted, max_steps: int | None, html_at: str | None) -> dict[str, object]:
    """The options that a page says it was made with."""
    return {
        "theorem": wanted.theorem,
        "attention": wanted.attention,
        "context": wanted.context,
        "length": wanted.length,
        "alphabet": wanted.alphabet,
        "format": wanted.format_name,
        "max_steps": max_steps,
        "html_at": html_at,
    }


def _to_its_end(running: Running, text: str, output: Output, trace: bool) -> Watched:
    """Let a run go to its end; of one that does not come to it, say how to go on."""
    try:
        watched = _watched(running, text, output, trace)
    except (SoftmachineError, MemoryError):
        _say_saved(running, output)
        raise
    if watched.interrupted:
        _say_saved(running, output)
    if running.unsaved:
        output.warn(running.unsaved)
    return watched


def _audit(running: Running, count: int, seed: int, output: Output) -> tuple[AuditReport | None, EffortError | None]:
    """What came of doing random steps again; or why it would take too long."""
    from softmachine.cli.progress import working

    if not count:
        return None, None
    with working("doing steps again in exact arithmetic", output):
        try:
            return running.audit(count, seed), None
        except EffortError as problem:
            return None, problem


def _show(
    result: Run,
    watched: Watched,
    audited: AuditReport | None,
    looking: Looking | None,
    paging: Paging | None,
    output: Output,
) -> None:
    """What a run came to, and what was to be seen of its inside, for people."""
    from softmachine.cli.watching import show_run

    show_run(result, output, watched)
    if audited:
        output.say(f"audit: {audited}")
    if looking:
        looking.at(result, output)
    if paging:
        paging.write(result, output)


def _looking(explain: str | None, svg: Path | None, svg_of: str | None, *, table: bool) -> Looking | None:
    """What is to be shown of the inside, if anything is: only then it is imported."""
    if explain is None and svg is None and svg_of is None and not table:
        return None
    from softmachine.cli.looking import Looking

    return Looking.wanted(explain, svg, svg_of, table=table)


def _paging(html: Path | None, at: str | None, made: tuple[str, str | None, dict[str, object]]) -> Paging | None:
    """The page that is to be written, if one is: only then it is imported."""
    if html is None and at is None:
        return None
    from softmachine.cli.pages import Paging, command_of

    return Paging.wanted(html, at, command_of(*made))


def _say_saved(running: Running, output: Output) -> None:
    """Of a run that did not come to its end: how to go on."""
    if running.save():
        output.warn(f"the run so far is saved; to go on: --resume {running.checkpoint}")


def _watched(running: Running, text: str, output: Output, trace: bool) -> Watched:
    """Let a run go to its end, looked at by the terminal, the trace, a status line, or nobody."""
    from softmachine.cli.watching import MOST_ROWS, Trace, Watched, screen, status_line, watch

    view = view_of(running.model.codec, text, remember=MOST_ROWS)
    watcher: Watcher | None = None
    if view and running.resumed and (trace or output.live):
        view.follow_all(running.tokens[:1])  # where the run begins there is nothing to leap over
        view.follow_all(running.tokens[1:])
    if trace:
        width = output.width if output.live else shutil.get_terminal_size((PLAIN_WIDTH, 24)).columns
        watcher = Trace(view, output, width)
        if running.resumed:
            watcher.begin()
    elif output.live and view:
        watcher = screen(running, view, f"{running.model.name}  {text}".rstrip(), output)
    elif output.progress:
        watcher = status_line(running, output)
    interrupted = watch(running, watcher)
    lines = watcher.lines if isinstance(watcher, Trace) else None
    return Watched(interrupted, traced=trace, on_screen=output.live and view is not None, lines=lines)


def _answer(run: Run, text: str) -> dict[str, object]:
    return {
        "name": run.model.name,
        "language": run.model.source.language,
        "construction": run.model.theorem.name,
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
        **noted(run.notes),
        **({} if run.verified is None else {"verified": run.verified, "differs": run.differs}),
        **({"difference": _difference(run.difference)} if run.difference else {}),
        **({"resumed": run.resumed} if run.resumed else {}),
        "seconds": round(run.seconds, 6),
        "tokens_per_second": round(run.tokens_per_second, 1) if len(run.tokens) > run.resumed else None,
    }


def _difference(found: Difference) -> dict[str, object]:
    return {"position": found.position, "said": found.said, "should_be": found.expected}


def _audited(audited: AuditReport) -> dict[str, object]:
    count, positions, seed = len(audited.steps), audited.positions, audited.seed
    return {"steps": count, "positions": positions, "seed": seed, "holds": audited.holds}


def _status(run: Run, interrupted: bool, max_steps: int, output: Output) -> Status:
    if interrupted:
        return Status.INTERRUPTED
    if run.halted:
        return Status.DONE
    output.warn(f"stopped after {many(max_steps, 'step')}; to let it run longer: --max-steps {10 * max_steps or 1000}")
    return Status.STEP_LIMIT
