"""Tasks that are learned in a second or two."""

from __future__ import annotations

from functools import cache

from softmachine.studies.learn.config import ModelConfig, Schedule, TrainingConfig, TrainingTask
from softmachine.studies.learn.data import make_task
from softmachine.theorems.read_source import read_source


@cache
def parity(train: int = 12, tests: tuple[int, ...] = (16,)) -> TrainingTask:
    """An even number of a's, by halving: one token per two of them."""
    return make_task(read_source("parity-counter"), train=train, tests=tests, words=200, test_words=None)


def setting(
    task: TrainingTask | None = None, *, steps: int = 60, seed: int = 0, every: int = 20, **shape: object
) -> TrainingConfig:
    """A small run."""
    return TrainingConfig(
        task=task or parity(),
        shape=ModelConfig(**{"layers": 1, "width": 32, **shape}),  # type: ignore[arg-type]
        schedule=Schedule(steps=steps, batch=16, every=every, learning_rate=1e-2),
        seed=seed,
    )
