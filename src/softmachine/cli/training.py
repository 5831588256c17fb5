"""Training runs with a progress bar, for ``learn`` and ``experiments``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from softmachine.cli.options import value_option
from softmachine.cli.output import Output

if TYPE_CHECKING:
    from softmachine.studies.learn.config import TrainingConfig
    from softmachine.studies.learn.runs import Record
    from softmachine.studies.learn.training import Progress

RunsFolderOption = Annotated[
    Path | None,
    value_option("DIR", "Save the record and weights of each run; an interrupted sweep resumes.", "--output", "-o"),
]


def train_all(
    settings: list[TrainingConfig], folder: Path | None, workers: int | None, cluster: str | None, output: Output
) -> list[Record]:
    """Train all runs with a progress bar, and return their records; the data are validated first."""
    from softmachine.cli.output import bar, spinner
    from softmachine.studies.learn.data import require_data
    from softmachine.studies.learn.runs import require_affordable_training, sweep_runs
    from softmachine.support.parallel import select_executor

    factory = select_executor(1 if len(settings) == 1 and cluster is None else workers, cluster)
    with spinner("sampling words", output):
        require_data(settings)
        require_affordable_training(settings, folder, factory.worker_count if factory else 1)
    found: list[Record] = []
    if factory is not None:
        with bar("runs", len(settings), output) as advance:
            for record in sweep_runs(settings, folder, factory=factory, progress=output.warn):
                found.append(record)
                advance(1)
            return found
    with steps_bar(settings, output) as show:
        for record in sweep_runs(settings, folder, on_step=lambda progress: show(progress, len(found))):
            found.append(record)  # noqa: PERF402 - its length is displayed
    return found


@contextmanager
def steps_bar(settings: list[TrainingConfig], output: Output) -> Iterator[Callable[[Progress, int], None]]:
    """Show a bar of steps with loss and accuracy; yields a function that updates it for a run and its number."""
    if not output.progress:
        yield lambda _progress, _number: None
        return
    from rich import progress as rich_progress
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with rich_progress.Progress(*columns, console=output.err, transient=True) as bars:
        task = bars.add_task("training", total=sum(each.schedule.steps for each in settings))

        def show(progress: Progress, number: int) -> None:
            seen = f": loss {progress.losses[-1][1]:.3f}, {progress.losses[-1][2]:.0%} exact" if progress.losses else ""
            before = sum(each.schedule.steps for each in settings[:number])
            title = f"run {number + 1} of {len(settings)}{seen}"
            bars.update(task, description=title, completed=before + progress.step)

        yield show
