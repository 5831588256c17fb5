"""What ``learn`` and ``experiments`` share: runs of training, with a bar while they are made."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from softmachine.cli.output import Output

if TYPE_CHECKING:
    from softmachine.learn.runs import Record
    from softmachine.learn.settings import Setting
    from softmachine.learn.training import Progress


def trained(
    settings: list[Setting], folder: Path | None, workers: int | None, cluster: str | None, output: Output
) -> list[Record]:
    """The records of all runs, with a bar while they are made; what is wrong is said before any training."""
    from softmachine.cli.progress import bar, working
    from softmachine.learn.effort import allow_training
    from softmachine.learn.sweep import sweep
    from softmachine.learn.tasks import require_data
    from softmachine.workers import crew_of

    crew = crew_of(1 if len(settings) == 1 and cluster is None else workers, cluster)
    with working("looking for words", output):
        require_data(settings)
        allow_training(settings, folder, crew.size if crew else 1)
    found: list[Record] = []
    if crew is not None:
        with bar("runs", len(settings), output) as advance:
            for record in sweep(settings, folder, crew=crew, tell=output.warn):
                found.append(record)
                advance(1)
            return found
    with working("training", output) as tell:

        def watch(progress: Progress) -> None:
            step, loss, right = progress.losses[-1] if progress.losses else (0, 0.0, 0.0)
            seen = f": loss {loss:.3f}, {right:.0%} of validation traces exact at step {step:,}" if step else ""
            tell(f"run {len(found) + 1} of {len(settings)}, step {progress.step:,}{seen}")

        for record in sweep(settings, folder, watch=watch):
            found.append(record)  # noqa: PERF402 - the bar tells how many there are
    return found
