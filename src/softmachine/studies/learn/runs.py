"""Training runs: from a setting to a JSON record; optionally saved in a folder, with the weights.

With a folder, sweeps resume after an interruption: a run whose JSON file exists is not repeated, and an interrupted run
resumes from its saved state.

Sweeps of training runs on the executor of all sweeps; a unit of work is one run, sent as text.

Cost estimate of training, from the time of a few steps.
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

from softmachine.studies.learn.config import Setting, Shape
from softmachine.studies.learn.data import corpus_of
from softmachine.support import __version__
from softmachine.support.errors import MismatchError, Place, SourceError, UsageError
from softmachine.support.files import make_folder, remove, write
from softmachine.support.parallel import Cluster, Crew, Json, Work, parts
from softmachine.support.progress import Tell, nobody
from softmachine.support.resources import Estimate, allow
from softmachine.support.text import many

if TYPE_CHECKING:
    from softmachine.studies.learn.model import Decoder
    from softmachine.studies.learn.training import Watch


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


def run(setting: Setting, folder: Path | None = None, watch: Watch = lambda _: None) -> tuple[Record, Decoder]:
    """Train and evaluate a model, or load a finished run from a folder.

    Args:
        setting: The setting.
        folder: Folder for the record and the weights; None to save neither.
        watch: Progress callback of training.
    """
    from softmachine.studies.learn.training import train

    require_torch()
    known = None if folder is None else known_record(setting, folder)
    if known is not None and folder is not None:
        return known, trained(setting, folder)
    kept = None if folder is None else folder / f"{setting.name}.state"
    corpus = corpus_of(setting.task)
    decoder, progress = train(setting, corpus, kept=kept, watch=watch)
    record = _record(setting, decoder, vars(progress))
    if folder is not None and kept is not None:
        _save_weights(folder / f"{setting.name}.safetensors", decoder)
        save_record(record, folder)
        remove(kept)
    return record, decoder


def _record(setting: Setting, decoder: Decoder, progress: Record) -> Record:
    import torch

    from softmachine.studies.learn.metrics import measure
    from softmachine.studies.learn.training import alone

    corpus = corpus_of(setting.task)
    with alone(setting.seed):
        measures = {name: measure(decoder, corpus, bin_).to_json() for name, bin_ in corpus.tests.items()}
    return {
        "format": "softmachine-learn",
        "softmachine": __version__,
        "torch": torch.__version__,
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "setting": setting.to_json(),
        "parameters": decoder.parameters_in_all,
        "vocabulary": list(corpus.vocabulary),
        "context": corpus.context,
        "data": corpus.describe(),
        "training": json.loads(json.dumps(progress)),
        "measures": measures,
    }


def known_record(setting: Setting, folder: Path) -> Record | None:
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
        raise SourceError("this is not the record of that run", place=Place(str(path)), hint="use another folder")
    return record  # type: ignore[no-any-return]


def save_record(record: Record, folder: Path) -> None:
    """Write the record of a run."""
    path = folder / f"{Setting.from_json(record['setting']).name}.json"
    write(path, json.dumps(record, ensure_ascii=False, indent=1), force=True)


def _save_weights(path: Path, decoder: Decoder) -> None:
    from safetensors.torch import save

    weights = {name: each.detach().contiguous() for name, each in decoder.named_parameters()}
    write(path, save(weights, metadata={"format": "pt"}), force=True)


def trained(setting: Setting, folder: Path) -> Decoder:
    """Load the trained model of a run from a folder.

    Raises:
        SourceError: If its weights are missing or belong to another model.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    from softmachine.studies.learn.model import Decoder

    path, corpus = folder / f"{setting.name}.safetensors", corpus_of(setting.task)
    decoder = Decoder(setting.shape, len(corpus.vocabulary), corpus.context)
    try:
        decoder.load_state_dict(load_file(path))
    except (SafetensorError, OSError, RuntimeError) as error:
        raise SourceError(f"these are not the weights of that run: {error}", place=Place(str(path))) from None
    return decoder


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
