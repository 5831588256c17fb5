"""How long training takes: a few steps are timed before it begins."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from softmachine.estimates import Estimate, allow
from softmachine.learn.data import corpus_of
from softmachine.learn.runs import known_record, require_torch
from softmachine.learn.settings import Setting, Shape
from softmachine.text import many

TRIED = 4
"""So many steps are timed, and as many again that are not: the first ones are slow."""


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
    """How many seconds a step takes."""
    from softmachine.learn.training import train

    def timed(steps: int) -> float:
        short = replace(setting.schedule, steps=steps, every=10 * steps, curriculum=0.0)
        began = time.perf_counter()
        train(replace(setting, schedule=short), replace(corpus, validation=corpus.validation[:1]))
        return time.perf_counter() - began

    corpus = corpus_of(setting.task)
    return max(timed(2 * TRIED) - timed(TRIED), 0.0) / TRIED
