"""Training runs: from a setting to a JSON record; optionally saved in a folder, with the weights.

With a folder, sweeps resume after an interruption: a run whose JSON file exists is not repeated, and an interrupted run
resumes from its saved state.

A sweep of runs uses the executor of all sweeps; a unit of work is one run, sent as text. The cost of training is
estimated from the time of a few steps.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from softmachine.studies.learn.config import ModelConfig, TrainingConfig
from softmachine.studies.learn.data import load_corpus
from softmachine.support import __version__
from softmachine.support.errors import SourceError, SourceLocation, UsageError, WorkerMismatchError
from softmachine.support.files import make_folder, remove_file, write_file
from softmachine.support.parallel import DaskFactory, ExecutorFactory, Json, RangeFunction, map_range
from softmachine.support.progress import ProgressCallback, ignore_progress
from softmachine.support.resources import Estimate, require_affordable
from softmachine.support.text import pluralize

if TYPE_CHECKING:
    from softmachine.studies.learn.model import Decoder
    from softmachine.studies.learn.training import StepCallback


Record = dict[str, Any]
"""Record of a run: its setting, data, training progress and metrics."""


def require_torch() -> None:
    """Require torch.

    Raises:
        UsageError: If torch is not installed.
    """
    try:
        import torch  # noqa: F401
    except ImportError:
        raise UsageError(
            "learning needs torch, which is not installed", hint="pip install 'softmachine[learn]'"
        ) from None


def perform_run(
    setting: TrainingConfig, folder: Path | None = None, on_step: StepCallback = lambda _: None
) -> tuple[Record, Decoder]:
    """Train and evaluate a model, or load a finished run from a folder.

    Args:
        setting: The setting.
        folder: Folder for the record and the weights; None to save neither.
        on_step: Progress callback of training.
    """
    from softmachine.studies.learn.training import train

    require_torch()
    known = None if folder is None else load_record(setting, folder)
    if known is not None and folder is not None:
        return known, load_decoder(setting, folder)
    kept = None if folder is None else folder / f"{setting.name}.state"
    corpus = load_corpus(setting.task)
    decoder, progress = train(setting, corpus, state_file=kept, on_step=on_step)
    record = _make_record(setting, decoder, vars(progress))
    if folder is not None and kept is not None:
        _save_weights(folder / f"{setting.name}.safetensors", decoder)
        save_record(record, folder)
        remove_file(kept)
    return record, decoder


def _make_record(setting: TrainingConfig, decoder: Decoder, progress: Record) -> Record:
    import torch

    from softmachine.studies.learn.metrics import evaluate
    from softmachine.studies.learn.training import isolated

    corpus = load_corpus(setting.task)
    with isolated(setting.seed):
        measures = {name: evaluate(decoder, corpus, bin_).to_json() for name, bin_ in corpus.tests.items()}
    return {
        "format": "softmachine-learn",
        "softmachine": __version__,
        "torch": torch.__version__,
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "setting": setting.to_json(),
        "parameters": decoder.num_parameters,
        "vocabulary": list(corpus.vocabulary),
        "context": corpus.context,
        "data": corpus.describe(),
        "training": json.loads(json.dumps(progress)),
        "measures": measures,
    }


def load_record(setting: TrainingConfig, folder: Path) -> Record | None:
    """Load the record of a run from a folder; None if there is none.

    Raises:
        SourceError: If the file is damaged.
    """
    path = folder / f"{setting.name}.json"
    if not path.is_file():
        return None
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        same = record["setting"] == setting.to_json()
    except (OSError, ValueError, LookupError, TypeError):
        same = False
    if not same:
        raise SourceError(
            "this is not the record of that run", place=SourceLocation(str(path)), hint="use another folder"
        )
    return record  # type: ignore[no-any-return]


def save_record(record: Record, folder: Path) -> None:
    """Write the record of a run."""
    path = folder / f"{TrainingConfig.from_json(record['setting']).name}.json"
    write_file(path, json.dumps(record, ensure_ascii=False, indent=1), force=True)


def _save_weights(path: Path, decoder: Decoder) -> None:
    from safetensors.torch import save

    weights = {name: each.detach().contiguous() for name, each in decoder.named_parameters()}
    write_file(path, save(weights, metadata={"format": "pt"}), force=True)


def load_decoder(setting: TrainingConfig, folder: Path) -> Decoder:
    """Load the trained model of a run from a folder.

    Raises:
        SourceError: If its weights are missing or belong to another model.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    from softmachine.studies.learn.model import Decoder

    path, corpus = folder / f"{setting.name}.safetensors", load_corpus(setting.task)
    decoder = Decoder(setting.shape, len(corpus.vocabulary), corpus.context)
    try:
        decoder.load_state_dict(load_file(path))
    except (SafetensorError, OSError, RuntimeError) as error:
        raise SourceError(f"these are not the weights of that run: {error}", place=SourceLocation(str(path))) from None
    return decoder


@dataclass(frozen=True)
class TrainingJob:
    """Description of a sweep that is sent to a worker.

    Args:
        settings: The settings of all runs, as JSON.
        folder: Folder of the runs; None if the worker is on another machine.
        version: The version of softmachine.
    """

    settings: tuple[str, ...]
    folder: str | None
    version: str = __version__


def train_part(job: TrainingJob, start: int, stop: int) -> Json:
    """Perform a part of the runs on a worker."""
    if job.version != __version__:
        raise WorkerMismatchError(f"a worker has softmachine {__version__}, not {job.version}")
    folder = None if job.folder is None else Path(job.folder)
    return {
        "runs": [
            perform_run(TrainingConfig.from_json(json.loads(each)), folder)[0] for each in job.settings[start:stop]
        ]
    }


def sweep_runs(
    settings: Sequence[TrainingConfig],
    folder: Path | None,
    *,
    factory: ExecutorFactory | None = None,
    progress: ProgressCallback = ignore_progress,
    on_step: StepCallback = lambda _: None,
) -> Iterator[Record]:
    """Perform all runs, and yield their records in order.

    Args:
        settings: The runs.
        folder: Folder that the runs are saved in and resumed from; None to save nothing.
        factory: The executor.
        progress: Progress callback; called if the executor cannot be used.
        on_step: Progress callback of runs in this process.
    """
    if folder is not None:
        make_folder(folder)

    def here(start: int, stop: int) -> Json:
        return {"runs": [perform_run(each, folder, on_step)[0] for each in settings[start:stop]]}

    def away() -> RangeFunction:
        shared = None if folder is None or isinstance(factory, DaskFactory) else str(folder.resolve())
        return partial(train_part, TrainingJob(tuple(json.dumps(each.to_json()) for each in settings), shared))

    with closing(map_range(here, len(settings), remote_work=away, factory=factory, progress=progress)) as found:
        for part in found:
            for record in part.result["runs"]:
                if folder is not None:
                    save_record(record, folder)
                yield record


TIMED_STEPS = 8
"""Number of steps that are timed."""


def require_affordable_training(settings: Sequence[TrainingConfig], folder: Path | None, workers: int = 1) -> None:
    """Require that all runs together are affordable.

    Args:
        settings: The runs.
        folder: Folder with finished runs, which are not counted.
        workers: Number of parallel workers.

    Raises:
        TooExpensiveError: If the estimate exceeds ten minutes, without consent.
        UsageError: If torch is not installed, or a task has no data.
    """
    require_torch()
    left = [each for each in settings if folder is None or load_record(each, folder) is None]
    times: dict[tuple[object, ModelConfig], float] = {}
    total = 0.0
    for each in left:
        kind = each.task, each.shape
        if kind not in times:
            times[kind] = _seconds_per_step(each)
        limit = each.schedule.minutes
        total += min(each.schedule.steps * times[kind], 60 * limit if limit else float("inf"))
    require_affordable(
        Estimate(f"training {pluralize(len(left), 'model')}", total / workers), "reduce the steps, or set --minutes"
    )


def _seconds_per_step(setting: TrainingConfig) -> float:
    """Measure the seconds per step: the median of a few, which is robust to other load on the machine."""
    from softmachine.studies.learn.training import train

    corpus, ends = load_corpus(setting.task), list[float]()
    short = replace(setting.schedule, steps=TIMED_STEPS, every=TIMED_STEPS, curriculum=0.0)
    few = replace(corpus, validation=corpus.validation[:1])
    train(replace(setting, schedule=short), few, on_step=lambda _: ends.append(time.perf_counter()))
    return median(end - begin for begin, end in pairwise(ends))
