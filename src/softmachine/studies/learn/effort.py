"""How long training takes: a few steps are timed before it begins."""

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
"""So many steps are timed."""


def allow_training(settings: Sequence[Setting], folder: Path | None, hands: int = 1) -> None:
    """See that all runs together do not take too long.

    Args:
        settings: The runs.
        folder: Where some may be done already.
        hands: How many work at the same time.

    Raises:
        EffortError: If they take more than ten minutes and nobody said yes.
        UsageError: If there is no torch, or a task has no data.
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
    allow(Estimate(f"training {many(len(left), 'model')}", total / hands), "take fewer steps or --minutes")


def _of_a_step(setting: Setting) -> float:
    """How many seconds a step takes: the median of a few, because others may use the machine meanwhile."""
    from softmachine.studies.learn.training import train

    corpus, ends = corpus_of(setting.task), list[float]()
    short = replace(setting.schedule, steps=TRIED, every=TRIED, curriculum=0.0)
    few = replace(corpus, validation=corpus.validation[:1])
    train(replace(setting, schedule=short), few, watch=lambda _: ends.append(time.perf_counter()))
    return median(end - begin for begin, end in pairwise(ends))
