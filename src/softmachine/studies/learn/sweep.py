"""Sweeps of training runs on the executor of all sweeps; a unit of work is one run, sent as text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from softmachine.studies.learn.runs import Record, run, save_record
from softmachine.studies.learn.settings import Setting
from softmachine.support.errors import MismatchError
from softmachine.support.files import make_folder
from softmachine.support.parallel import Cluster, Crew, Json, Work, parts
from softmachine.support.progress import Tell, nobody
from softmachine.support.version import __version__

if TYPE_CHECKING:
    from softmachine.studies.learn.training import Watch


@dataclass(frozen=True)
class Job:
    """Description of a sweep that is sent to a worker.

    Args:
        settings: The settings of all runs, as JSON.
        folder: Folder of the runs; None if the worker is on another machine.
        version: The version of softmachine.
    """

    settings: tuple[str, ...]
    folder: str | None
    version: str = __version__


def do(job: Job, start: int, stop: int) -> Json:
    """Perform a part of the runs on a worker."""
    if job.version != __version__:
        raise MismatchError(f"a worker has softmachine {__version__}, not {job.version}")
    folder = None if job.folder is None else Path(job.folder)
    return {"runs": [run(Setting.from_json(json.loads(each)), folder)[0] for each in job.settings[start:stop]]}


def sweep(
    settings: Sequence[Setting],
    folder: Path | None,
    *,
    crew: Crew | None = None,
    tell: Tell = nobody,
    watch: Watch = lambda _: None,
) -> Iterator[Record]:
    """Perform all runs, and yield their records in order.

    Args:
        settings: The runs.
        folder: Folder that the runs are saved in and resumed from; None to save nothing.
        crew: The executor.
        tell: Progress callback; called if the executor cannot be used.
        watch: Progress callback of runs in this process.
    """
    if folder is not None:
        make_folder(folder)

    def here(start: int, stop: int) -> Json:
        return {"runs": [run(each, folder, watch)[0] for each in settings[start:stop]]}

    def away() -> Work:
        shared = None if folder is None or isinstance(crew, Cluster) else str(folder.resolve())
        return partial(do, Job(tuple(json.dumps(each.to_json()) for each in settings), shared))

    with closing(parts(here, len(settings), away=away, crew=crew, tell=tell)) as found:
        for part in found:
            for record in part.result["runs"]:
                if folder is not None:
                    save_record(record, folder)
                yield record
