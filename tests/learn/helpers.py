"""Tasks that are learned in a second or two."""

from __future__ import annotations

from functools import cache

from softmachine.studies.learn.config import Schedule, Setting, Shape, Task
from softmachine.studies.learn.data import task_for
from softmachine.theorems.read_source import read_source


@cache
def parity(train: int = 12, tests: tuple[int, ...] = (16,)) -> Task:
    """An even number of a's, by halving: one token per two of them."""
    return task_for(read_source("parity-counter"), train=train, tests=tests, words=200, test_words=None)


def setting(task: Task | None = None, *, steps: int = 60, seed: int = 0, every: int = 20, **shape: object) -> Setting:
    """A small run."""
    return Setting(
        task=task or parity(),
        shape=Shape(**{"layers": 1, "width": 32, **shape}),  # type: ignore[arg-type]
        schedule=Schedule(steps=steps, batch=16, every=every, learning_rate=1e-2),
        seed=seed,
    )
