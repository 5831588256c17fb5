"""Cost estimate of training, from the time of a few steps."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import median

from softmachine.studies.learn.data import corpus_of
from softmachine.studies.learn.runs import known_record, require_torch
from softmachine.studies.learn.settings import Setting, Shape
from softmachine.support.estimates import Estimate, allow
from softmachine.support.text import many

TRIED = 8
"""Number of steps that are timed."""


def allow_training(settings: Sequence[Setting], folder: Path | None, hands: int = 1) -> None:
    """Require that all runs together are affordable.

    Args:
        settings: The runs.
        folder: Folder with finished runs, which are not counted.
        hands: Number of parallel workers.

    Raises:
        EffortError: If the estimate exceeds ten minutes, without consent.
        UsageError: If torch is not installed, or a task has no data.
    """
    require_torch()
    left = [each for each in settings if folder is None or known_record(each, folder) is None]
    times: dict[tuple[object, Shape], float] = {}
    total = 0.0
    for each in left:
        kind = each.task, each.shape
        if kind not in times:
            times[kind] = _of_a_step(each)
        limit = each.schedule.minutes
        total += min(each.schedule.steps * times[kind], 60 * limit if limit else float("inf"))
    allow(Estimate(f"training {many(len(left), 'model')}", total / hands), "reduce the steps, or set --minutes")


def _of_a_step(setting: Setting) -> float:
    """Measure the seconds per step: the median of a few, which is robust to other load on the machine."""
    from softmachine.studies.learn.training import train

    corpus, ends = corpus_of(setting.task), list[float]()
    short = replace(setting.schedule, steps=TRIED, every=TRIED, curriculum=0.0)
    few = replace(corpus, validation=corpus.validation[:1])
    train(replace(setting, schedule=short), few, watch=lambda _: ends.append(time.perf_counter()))
    return median(end - begin for begin, end in pairwise(ends))
