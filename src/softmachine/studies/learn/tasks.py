"""From a source to a task: what is learned is asked for in the words of the command line."""

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
    """The task to learn the traces of a source.

    Args:
        source: The source.
        train: Words of the training have at most this length.
        tests: Up to which length each bin of tests goes.
        theorem: Whose tokens; by default the first that applies.
        more: What else :class:`.Task` takes.

    Raises:
        UsageError: If the source has no traces.
        ConstructionError: If there is no such theorem, or its tokens depend on a length and there is none.
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
    """All runs with one of each: encodings, depths, precisions, seeds.

    Raises:
        UsageError: If there is no such encoding or precision, or no model has such a shape.
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
    """Make the data of all runs, so that what is wrong with it is said before any training.

    Raises:
        UsageError: If a bin has no words, or fewer than were asked for.
    """
    for task in dict.fromkeys(each.task for each in settings):
        corpus_of(task)
