"""Experiments of two papers, reproduced by a command: their runs at three scales, and their reports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from softmachine.studies.learn.config import TrainingConfig
from softmachine.studies.learn.experiments import depth_or_precision, softmax_turing_complete
from softmachine.studies.learn.runs import Record
from softmachine.support.errors import UsageError
from softmachine.support.text import did_you_mean

SCALES = ("small", "medium", "paper")
"""Two hours on a laptop, one night on a laptop, and a GPU."""


@dataclass(frozen=True)
class Experiment:
    """An experiment.

    Args:
        description: The question, and its paper.
        list_runs: Returns the runs of a scale, for a number of seeds (None for the default of the scale).
        format_report: Formats the results as lines of text.
    """

    description: str
    list_runs: Callable[[str, int | None], list[TrainingConfig]]
    format_report: Callable[[Sequence[Record]], list[str]]


EXPERIMENTS = {
    "softmax-turing-complete": Experiment(
        softmax_turing_complete.DESCRIPTION, softmax_turing_complete.list_runs, softmax_turing_complete.format_report
    ),
    "depth-or-precision": Experiment(
        depth_or_precision.DESCRIPTION, depth_or_precision.list_runs, depth_or_precision.format_report
    ),
}


def find_experiment(name: str) -> Experiment:
    """Return the experiment with a name.

    Raises:
        UsageError: If there is none.
    """
    if name not in EXPERIMENTS:
        raise UsageError(
            f"unknown experiment {name!r}",
            hint=did_you_mean(name, EXPERIMENTS),
        )
    return EXPERIMENTS[name]


def require_scale(scale: str) -> None:
    """Require the name of a scale.

    Raises:
        UsageError: If there is no such scale.
    """
    if scale not in SCALES:
        raise UsageError(f"unknown scale {scale!r}", hint=did_you_mean(scale, SCALES))
