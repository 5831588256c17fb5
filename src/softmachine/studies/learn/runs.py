"""Training runs: from a setting to a JSON record; optionally saved in a folder, with the weights.

With a folder, sweeps resume after an interruption: a run whose JSON file exists is not repeated, and an interrupted run
resumes from its saved state.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softmachine.studies.learn.data import corpus_of
from softmachine.studies.learn.settings import Setting
from softmachine.support.errors import Place, SourceError, UsageError
from softmachine.support.files import remove, write
from softmachine.support.version import __version__

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

    from softmachine.studies.learn.measures import measure
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
