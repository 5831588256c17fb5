"""Display of a run: live on a screen, as a trace of one line per step, or as a status line; and its summary."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from softmachine.cli.compile_options import format_model
from softmachine.cli.output import SPINNER_DELAY, Output, escape_unprintable
from softmachine.support.text import pluralize

if TYPE_CHECKING:
    from softmachine.cli.tape_view import TapeView
    from softmachine.engines.run import Run, RunSession

FRAME = 1 / 20
"""Seconds between two redraws."""
MAX_ROWS = 14
MIN_MEMORY = 1_000_000
"""Bytes from which the memory is shown."""
MAX_PANEL_WIDTH = 120
COLOURS = {"accept": "bold green", "reject": "bold red", "halt": "bold cyan"}
MAX_LINES = 4
"""Maximum lines of a long tape."""


class RunDisplay(Protocol):
    """Observer of the tokens of a run."""

    def update(self, piece: Sequence[str]) -> None:
        """Receive more tokens."""

    def close(self) -> None:
        """Called at the end."""


@dataclass(frozen=True)
class DisplayResult:
    """How a run was displayed.

    Args:
        interrupted: Whether Ctrl-C ended it.
        traced: Whether every step was printed.
        on_screen: Whether it was shown live.
        lines: The trace, if it was not printed.
    """

    interrupted: bool
    traced: bool
    on_screen: bool
    lines: list[str] | None


def run_with_display(running: RunSession, watcher: RunDisplay | None) -> bool:
    """Run to the end; return whether Ctrl-C interrupted it."""
    try:
        for piece in running.chunks():
            if watcher:
                watcher.update(piece)
    except KeyboardInterrupt:
        return True
    except MemoryError as error:
        error.add_note(f"running {running.model.name!r}, after {pluralize(len(running.tokens), 'token')}")
        raise
    finally:
        if watcher:
            watcher.close()
    return False


class TraceDisplay:
    """Prints one line per step, or collects the lines if standard output is JSON."""

    def __init__(self, view: TapeView | None, output: Output, width: int) -> None:
        self.lines: list[str] = []
        self._view = view
        self._output = output
        self._width = width

    def update(self, piece: Sequence[str]) -> None:
        """Print every step."""
        for token in piece:
            self._show(token)

    def _show(self, token: str) -> None:
        """Print the configuration after a token, if the token is a step."""
        if self._view and not self._view.apply(token):
            return
        self._print(self._view.line(self._width) if self._view else Text(escape_unprintable(token)))

    def print_first(self) -> None:
        """Print the first configuration of a resumed run."""
        if self._view:
            self._print(self._view.line(self._width))

    def _print(self, line: Text) -> None:
        if self._output.as_json:
            self.lines.append(line.plain)
        else:
            self._output.out.print(line, soft_wrap=True)
            self._output.out.file.flush()

    def close(self) -> None:
        """Do nothing: everything was printed."""


class LiveDisplay:
    """A live display that is redrawn many times per second.

    Args:
        console: The console.
        picture: Returns the content.
        view: A view to update with the tokens.
        patience: Seconds before it is shown.
        stays: Whether the last content remains at the end.
    """

    def __init__(
        self,
        console: Console,
        picture: Callable[[], RenderableType],
        *,
        view: TapeView | None = None,
        patience: float = 0.0,
        stays: bool = True,
    ) -> None:
        self._picture = picture
        self._view = view
        self._stays = stays
        self._live = Live(
            console=console, auto_refresh=False, transient=not stays, redirect_stdout=False, redirect_stderr=False
        )
        self._due = time.perf_counter() + patience

    def update(self, piece: Sequence[str]) -> None:
        """Redraw, if it is due."""
        if self._view:
            self._view.apply_all(piece)
        if time.perf_counter() >= self._due:
            self._draw()
            self._due = time.perf_counter() + FRAME

    def close(self) -> None:
        """Draw the final content, or erase the display."""
        if self._stays:
            self._draw()
        self._live.stop()

    def _draw(self) -> None:
        self._live.start()
        self._live.update(self._picture(), refresh=True)


def live_screen(running: RunSession, view: TapeView, title: str, output: Output) -> LiveDisplay:
    """Show the last steps in a panel on standard output."""
    began = time.perf_counter()

    def picture() -> RenderableType:
        width = min(output.width - len("^C "), MAX_PANEL_WIDTH)  # leaves room for the echo of Ctrl-C
        height = max(min(MAX_ROWS, output.out.height - 9), 1)
        rows = view.rows(width - 4, height)
        for row in rows:
            row.no_wrap, row.overflow = True, "crop"
        return Panel(
            Group(*rows),
            title=Text(escape_unprintable(title), style="bold"),
            title_align="left",
            subtitle=Text(_speed(running, began), style="dim"),
            subtitle_align="right",
            width=width,
        )

    return LiveDisplay(output.out, picture, view=view)


def status_line(running: RunSession, output: Output) -> LiveDisplay:
    """Show the progress of a run on standard error."""
    began = time.perf_counter()
    return LiveDisplay(
        output.err, lambda: Text(f"running: {_speed(running, began)}"), patience=SPINNER_DELAY, stays=False
    )


def _speed(running: RunSession, began: float) -> str:
    seconds, count = time.perf_counter() - began, len(running.tokens)
    memory = f", {running.memory_bytes / 1e6:,.0f} MB" if running.memory_bytes > MIN_MEMORY else ""
    speed = f"{pluralize(count, 'token')}, {(count - running.resumed_count) / seconds:,.0f} per second"
    return f"{speed}, context {running.context_length:,}{memory} ({running.engine} engine)"


def print_run(run: Run, output: Output, watched: DisplayResult, *, steps: bool = True) -> None:
    """Print the summary of a run; and with ``steps`` its trace, unless it was traced or shown live."""
    if watched.on_screen:
        output.out.print(_summary_table(run, output.width, watched.interrupted))
        return
    from softmachine.engines.result import NO_VERDICT

    if steps and not (output.quiet or watched.traced) and (went := run.format_steps()):
        output.print(went)
    summary = run.format_summary()
    output.print(summary.replace(NO_VERDICT, _unfinished(watched.interrupted), 1) if run.verdict is None else summary)


def _unfinished(interrupted: bool) -> str:
    return "interrupted" if interrupted else "step limit reached"


def _summary_table(run: Run, width: int, interrupted: bool) -> Table:
    verdict = run.verdict or _unfinished(interrupted)
    tokens = ", ".join([f"{len(run.tokens):,}", *run.describe_speed("per second")])
    rows: dict[str, str | Text] = {
        "verdict": Text.assemble(
            (verdict, COLOURS.get(verdict, "bold yellow")), f" after {pluralize(run.steps, 'step')}"
        ),
        "tape": _abbreviate_tape(escape_unprintable(run.output), MAX_LINES * (width - 9)),
        "tokens": f"{tokens} ({run.engine} engine, {run.arithmetic})",
    }
    if len(run.segments) > 1:
        rows["segments"] = f"{len(run.segments):,}, with contexts of at most {max(run.segments):,} tokens"
    if run.notes:
        rows["note"] = "; ".join(run.notes)
    rows["model"] = format_model(run.model.weights)
    table = Table.grid(padding=(0, 2))
    for label, row in rows.items():
        table.add_row(Text(label, style="dim"), row if isinstance(row, Text) else Text(row))
    return table


def _abbreviate_tape(text: str, most: int) -> Text:
    """Abbreviate a tape to a number of characters, and append its length."""
    if not text:
        return Text("(blank)", style="dim")
    if len(text) <= most:
        return Text(text, overflow="fold")
    length = f" … {len(text):,} characters"
    return Text.assemble(text[: most - len(length)], (length, "dim"), overflow="fold")
