"""Construction of tasks and grids of training runs from a source and the options of the command line."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from softmachine.languages.formats import source_text
from softmachine.languages.source import Source
from softmachine.studies.learn.data import codec_of, corpus_of
from softmachine.studies.learn.positions import parts_of
from softmachine.studies.learn.precision import significant_bits
from softmachine.studies.learn.settings import Schedule, Setting, Shape, Task
from softmachine.theorems import theorem_for


def task_for(
    source: Source, *, train: int, tests: Sequence[int], theorem: str | None = None, **more: int | float | bool | None
) -> Task:
    """Return the task to learn the traces of a source.

    Args:
        source: The source.
        train: Maximum length of training words.
        tests: Maximum length of each further test bin.
        theorem: The theorem whose tokens are used. Default: the first that applies.
        more: Other arguments of ``Task``.

    Raises:
        UsageError: If the source has no traces.
        ConstructionError: If there is no such theorem, or its tokens depend on a length and none is given.
    """
    task = Task(
        language=source.language,
        name=source.name,
        text=source_text(source),
        theorem=theorem_for(source, theorem).name,
        train=train,
        tests=tuple(tests),
        **more,  # type: ignore[arg-type]
    )
    codec_of(task)
    return task


def grid(
    task: Task,
    schedule: Schedule,
    *,
    positions: Sequence[str] = ("none",),
    layers: Sequence[int] = (2,),
    precisions: Sequence[str] = ("float32",),
    seeds: Sequence[int] = (0,),
    width: int = 64,
    heads: int = 2,
) -> list[Setting]:
    """Return the Cartesian product of encodings, depths, precisions and seeds as runs.

    Raises:
        UsageError: If there is no such encoding or precision, or the architecture is invalid.
    """
    for name in positions:
        parts_of(name)
    for name in precisions:
        significant_bits(name)
    return [
        Setting(
            task=task,
            shape=Shape(layers=depth, width=width, heads=heads, positions=encoding, precision=precision),
            schedule=schedule,
            seed=seed,
        )
        for encoding, depth, precision, seed in product(positions, layers, precisions, seeds)
    ]


def require_data(settings: Sequence[Setting]) -> None:
    """Generate the data of all runs, so that errors are raised before training.

    Raises:
        UsageError: If a bin has no words, or fewer than requested.
    """
    for task in dict.fromkeys(each.task for each in settings):
        corpus_of(task)
