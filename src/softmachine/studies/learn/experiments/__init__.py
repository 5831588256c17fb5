"""The experiments of two papers, as tables that a command makes: which runs, at which scale, and what they show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from softmachine.studies.learn.experiments import depth_or_precision, softmax_turing_complete
from softmachine.studies.learn.runs import Record
from softmachine.studies.learn.settings import Setting
from softmachine.support.errors import UsageError

SCALES = ("small", "medium", "paper")
"""What a laptop does within two hours, what it does in a night, and what needs a GPU."""


@dataclass(frozen=True)
class Experiment:
    """An experiment.

    Args:
        about: The question, and the paper that asks it.
        settings: The runs of a scale, with so many seeds (by default the scale's own).
        report: What they show, in lines.
    """

    about: str
    settings: Callable[[str, int | None], list[Setting]]
    report: Callable[[Sequence[Record]], list[str]]


EXPERIMENTS = {
    "softmax-turing-complete": Experiment(
        softmax_turing_complete.ABOUT, softmax_turing_complete.settings, softmax_turing_complete.report
    ),
    "depth-or-precision": Experiment(depth_or_precision.ABOUT, depth_or_precision.settings, depth_or_precision.report),
}


def experiment_named(name: str) -> Experiment:
    """The experiment of a name.

    Raises:
        UsageError: If there is none.
    """
    if name not in EXPERIMENTS:
        raise UsageError(f"there is no experiment {name!r}", hint=f"there are {', '.join(EXPERIMENTS)}")
    return EXPERIMENTS[name]


def require_scale(scale: str) -> None:
    """See that there is such a scale.

    Raises:
        UsageError: If not.
    """
    if scale not in SCALES:
        raise UsageError(f"there is no scale {scale!r}", hint=f"there are {', '.join(SCALES)}")
