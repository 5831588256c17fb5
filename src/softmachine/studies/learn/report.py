"""Report of training runs: text tables with one row per setting, with mean and range over seeds, notes, and plots.

Plotted are exact traces against word length, and probe R² by layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from statistics import fmean
from typing import Any

from softmachine.studies.learn.config import TrainingConfig, differing_fields
from softmachine.studies.learn.probes import ProbeResult
from softmachine.studies.learn.runs import Record
from softmachine.support.figures import MARKERS, open_figure

COLUMNS = {"all": "exact", "long": "exact_long", "verdict": "verdict"}
"""Columns of each bin: heading and metric."""


def read_configs(records: Sequence[Record]) -> list[TrainingConfig]:
    """Return the settings of runs."""
    return [TrainingConfig.from_json(each["setting"]) for each in records]


def group_by_config(records: Sequence[Record]) -> list[list[Record]]:
    """Group runs that differ only in the seed."""
    groups: dict[TrainingConfig, list[Record]] = {}
    for setting, record in zip(read_configs(records), records, strict=True):
        groups.setdefault(replace(setting, seed=0), []).append(record)
    return list(groups.values())


def group_and_name(records: Sequence[Record]) -> list[tuple[str, list[Record]]]:
    """Group runs, and name each group by the fields that differ between groups."""
    groups = group_by_config(records)
    firsts = [TrainingConfig.from_json(group[0]["setting"]) for group in groups]
    odd = differing_fields(firsts) or ["positions"]
    return [
        (" ".join(_format_field(first, name) for name in odd), group)
        for first, group in zip(firsts, groups, strict=True)
    ]


def _format_field(setting: TrainingConfig, name: str) -> str:
    for part in (setting.task, setting.shape, setting.schedule):
        if hasattr(part, name):
            value = getattr(part, name)
            plain = name in ("positions", "precision", "name", "theorem")
            return str(value) if plain else f"{name.replace('_', ' ')} {value}"
    raise AssertionError(name)


def format_share(values: Sequence[float | None]) -> str:
    """Format shares as a percentage: the mean over seeds, and the range if they differ."""
    known = [value for value in values if value is not None]
    if not known:
        return "–"
    shown = [f"{100 * value:.0f}" for value in (fmean(known), min(known), max(known))]
    return shown[0] if shown[1] == shown[2] else f"{shown[0]} ({shown[1]}–{shown[2]})"


def format_metric(group: Sequence[Record], bin_: str, name: str) -> str:
    """Format a metric of a bin, over the seeds of a group."""
    return format_share([each["measures"][bin_][name] for each in group])


def format_table(records: Sequence[Record]) -> str:
    """Format a table of exact traces, among all words and among long traces, and of verdicts, for every bin."""
    bins = read_configs(records)[0].task.bins
    head = ["", *(f"{bin_} {column}" for bin_ in bins for column in COLUMNS)]
    rows = [
        [name, *(format_metric(group, bin_, key) for bin_ in bins for key in COLUMNS.values())]
        for name, group in group_and_name(records)
    ]
    return align_columns([head, *rows])


def align_columns(rows: Sequence[Sequence[str]]) -> str:
    """Align rows of cells, the first column left and the others right, with a rule below the heading."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    sides = [str.ljust, *[str.rjust] * (len(widths) - 1)]
    lines = ["  ".join(side(cell, width) for side, cell, width in zip(sides, row, widths, strict=True)) for row in rows]
    lines.insert(1, "  ".join("─" * width for width in widths))
    return "\n".join(line.rstrip() for line in lines)


def format_notes(records: Sequence[Record]) -> list[str]:
    """Return the notes of a table: bins and counts, baselines, and how training ended."""
    first = records[0]
    task, lines = read_configs(records)[0].task, []
    for bin_, lengths in task.bins.items():
        found: dict[str, Any] = first["measures"][bin_]
        baselines = format_share([found["same_trace"]]), format_share([found["same_verdict"]])
        lines.append(
            f"{bin_}: length {lengths[0]} to {lengths[-1]}, {found['words']} words, {found['accepted']} of them "
            f"accepted, {found['long_words']} with traces of over 10 tokens; baseline (most frequent "
            f"answer): {baselines[0]} % of traces and {baselines[1]} % of verdicts"
        )
    data = first["data"]["train"]
    seeds = sorted({each["setting"]["seed"] for each in records})
    lines.append(f"trained on {data['words']} words, {data['accepted']} of them accepted; data seed {task.seed}")
    lines.append(f"seeds {', '.join(map(str, seeds))}: mean, and range in parentheses; shares of words in %")
    lines += [f"{name}: {format_ending(group)}" for name, group in group_and_name(records)]
    return lines


def format_ending(group: Sequence[Record]) -> str:
    """Format how training of a group ended, and how long it took."""
    reasons = {"steps": "all steps done", "converged": "validation exact", "time": "time limit reached"}
    parts = [each["training"] for each in group]
    why = ", ".join(sorted({reasons[part["ended"]] for part in parts}))
    steps, seconds = (_format_range([round(part[name]) for part in parts]) for name in ("step", "cpu"))
    right = format_share([part["losses"][-1][2] for part in parts])
    return f"{steps} steps, {seconds} s of processor time, {why}; {right} % of the validation split exact"


def _format_range(numbers: Sequence[int]) -> str:
    low, high = min(numbers), max(numbers)
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"


NUM_WINDOWS = 12
"""Number of windows that the lengths are divided into."""


def exact_share_curve(group: Sequence[Record]) -> tuple[list[float], list[float]]:
    """Return lengths, and the share of exact traces of words of about that length, over all seeds."""
    counts = [
        (int(length), words, right)
        for record in group
        for measures in record["measures"].values()
        for length, (words, right) in measures["by_length"].items()
    ]
    width = max(1, -(-max(length for length, _, _ in counts) // NUM_WINDOWS))
    windows: dict[int, list[int]] = {}
    for length, words, right in counts:
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
    groups, task = group_and_name(records), read_configs(records)[0].task
    with open_figure(file, 7.0, 4.2) as figure:
        axes = figure.subplots()
        for (name, group), marker in zip(groups, cycle(MARKERS), strict=False):
            axes.plot(*exact_share_curve(group), label=name, marker=marker)
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


def draw_probes(found: Sequence[ProbeResult], name: str, file: Path) -> None:
    """Plot the R² of probes for each variable of the compiled model on each layer of a trained one."""
    with open_figure(file, 7.0, max(2.5, 0.3 * len(found) + 1.4)) as figure:
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
