"""Plots of training runs: exact traces against word length, and probe R² by layer."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from pathlib import Path

from softmachine.studies.learn.probes import Probed
from softmachine.studies.learn.runs import Record
from softmachine.studies.learn.tables import named, settings_of
from softmachine.support.figures import MARKERS, picture

WINDOW = 12
"""Number of windows that the lengths are divided into."""


def curve(group: Sequence[Record]) -> tuple[list[float], list[float]]:
    """Return lengths, and the share of exact traces of words of about that length, over all seeds."""
    counts: dict[int, list[int]] = {}
    for record in group:
        for measures in record["measures"].values():
            for length, (words, right) in measures["by_length"].items():
                pair = counts.setdefault(int(length), [0, 0])
                pair[0] += words
                pair[1] += right
    width = max(1, -(-max(counts) // WINDOW))
    windows: dict[int, list[int]] = {}
    for length, (words, right) in counts.items():
        pair = windows.setdefault((length - 1) // width, [0, 0])
        pair[0] += words
        pair[1] += right
    at = sorted(windows)
    return [width * (k + 0.5) + 0.5 for k in at], [100 * windows[k][1] / windows[k][0] for k in at]


def draw_runs(records: Sequence[Record], compiled: dict[str, float] | None, file: Path) -> None:
    """Plot exact traces against word length, with a mark at the training length.

    Args:
        records: The runs.
        compiled: For each bin the share of exact traces of the compiled model, if measured.
        file: The file to write.
    """
    groups, task = named(records), settings_of(records)[0].task
    with picture(file, 7.0, 4.2) as figure:
        axes = figure.subplots()
        for (name, group), marker in zip(groups, cycle(MARKERS), strict=False):
            axes.plot(*curve(group), label=name, marker=marker)
        axes.axvline(task.train + 0.5, color="black", linestyle=":", label="training ends")
        if compiled is not None:
            ends = [0, *(lengths[-1] for lengths in task.bins.values())]
            steps = [100 * value for value in compiled.values()]
            axes.stairs(steps, ends, baseline=None, color="black", linestyle="--", label="compiled model")
        axes.set(
            xlabel="length of the word",
            ylabel="whole trace exact, %",
            ylim=(-3, 103),
            title=f"{task.name}: trained on words up to {task.train}",
        )
        axes.legend(fontsize="small")


def draw_probes(found: Sequence[Probed], name: str, file: Path) -> None:
    """Plot the R² of probes for each variable of the compiled model on each layer of a trained one."""
    with picture(file, 7.0, max(2.5, 0.3 * len(found) + 1.4)) as figure:
        axes = figure.subplots()
        grid = [[max(0.0, value) for value in each.trained] for each in found]
        image = axes.imshow(grid, aspect="auto", vmin=0, vmax=1, cmap="viridis")
        labels = ["embedding", *(f"layer {k}" for k in range(1, len(grid[0])))]
        axes.set_xticks(range(len(labels)), labels, fontsize="small")
        axes.set_yticks(range(len(found)), [each.name[:48] for each in found], fontsize="x-small")
        for row, each in enumerate(found):
            for column, value in enumerate(each.trained):
                dark = max(0.0, value) < 0.6
                axes.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=6, color="w" if dark else "k")
        figure.colorbar(image, label="R² of a linear map")
        axes.set_title(f"{name}: variables of the compiled model in the trained one", fontsize="medium")
