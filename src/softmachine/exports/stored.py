"""Verification of a checkpoint on disk, in this process or in worker processes that load it from there."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from softmachine.exports.dialogue import Dialogue
from softmachine.exports.lowered import Lowered
from softmachine.exports.verify import Verification, Verifier, threads
from softmachine.support.parallel import Json, Work, hired
from softmachine.support.progress import Tell, nobody

if TYPE_CHECKING:
    from transformers import PreTrainedModel

SMALL = 1 << 20
"""Size of the embedding below which a model is small: it is verified in workers, with one thread each."""


@dataclass(frozen=True)
class Stored:
    """A checkpoint in a local folder.

    Args:
        folder: The folder.
        auto_class: The class of transformers that loads it.
        dtype: The number format to load it in.
    """

    folder: str
    auto_class: str
    dtype: str

    def load(self) -> PreTrainedModel:
        """Load the model."""
        import torch
        import transformers

        stock = getattr(transformers, self.auto_class)
        with quiet():
            model: PreTrainedModel = stock.from_pretrained(self.folder, dtype=getattr(torch, self.dtype)).eval()
        return model


@contextmanager
def quiet() -> Iterator[None]:
    """Context without warnings and progress bars of the libraries; errors are still raised."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def verify(
    stored: Stored,
    lowered: Lowered,
    prompt_format: Dialogue,
    *,
    gain: float,
    generating: bool,
    tell: Tell = nobody,
) -> Verification:
    """Load a model, run it on the samples, and compare.

    The current executor (:func:`.crew.hiring`) helps if it takes long. Only small models use it: the others use all
    cores by themselves, and their rounding depends on the number of threads.

    Args:
        stored: The checkpoint.
        lowered: The lowered model that it was written from.
        prompt_format: The samples with their expected outputs.
        gain: The factor of the logits.
        generating: Whether short runs are also generated, in left-padded batches.
        tell: Progress callback.
    """
    small = lowered.embedding.size < SMALL
    verifier = Verifier(stored.load(), lowered, prompt_format, stored.dtype, generating=generating)
    with threads(1 if small else None):
        crew = hired() if small else None
        return verifier.verification(gain, tell, crew, partial(_travelling, verifier, stored))


@dataclass(frozen=True)
class _Job:
    """The arguments of a worker: the checkpoint and the expected outputs, without arrays."""

    stored: Stored
    lowered: Lowered
    prompt_format: Dialogue
    generating: bool


def _travelling(verifier: Verifier, stored: Stored) -> Work:
    """The verification as work for other processes."""
    model = verifier.lowered
    none = np.empty((0, 0))
    places = np.empty((len(model.positions), 0))  # only their number is needed
    empty = replace(
        model,
        scales=none,
        embedding=none,
        positions=places,
        layers=(),
        unembedding=replace(model.unembedding, weight=none),
    )
    return partial(_do, _Job(stored, empty, verifier.prompt_format, verifier.generating))


_loaded: dict[Stored, Verifier] = {}
"""The verifier of the last job of this worker process."""


def _do(job: _Job, start: int, stop: int) -> Json:
    """Verify a range of the batches in a worker."""
    with threads(1):
        if job.stored not in _loaded:
            _loaded.clear()
            model = job.stored.load()
            _loaded[job.stored] = Verifier(
                model, job.lowered, job.prompt_format, job.stored.dtype, generating=job.generating
            )
        return _loaded[job.stored].part(start, stop)
