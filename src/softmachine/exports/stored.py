"""A stock model in a folder, verified by this process, or by several of this machine that load it from there."""

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
"""Vocabulary times width: below, a model is small."""


@dataclass(frozen=True)
class Stored:
    """A model in a folder of this machine.

    Args:
        folder: The folder.
        auto_class: The class of transformers that loads it.
        dtype: The format to load it in.
    """

    folder: str
    auto_class: str
    dtype: str

    def load(self) -> PreTrainedModel:
        """The model."""
        import torch
        import transformers

        stock = getattr(transformers, self.auto_class)
        with quiet():
            model: PreTrainedModel = stock.from_pretrained(self.folder, dtype=getattr(torch, self.dtype)).eval()
        return model


@contextmanager
def quiet() -> Iterator[None]:
    """Without the notes and progress bars of the libraries; their errors stay errors."""
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
    dialogue: Dialogue,
    *,
    gain: float,
    generating: bool,
    tell: Tell = nobody,
) -> Verification:
    """Load a model, let it speak, and compare.

    Processes that were hired (:func:`.crew.hiring`) help where it takes a while. Only small models are left to them:
    the others use all cores by themselves, and what they say depends on how many there are.

    Args:
        stored: The stock model.
        lowered: What it should be.
        dialogue: What it should say.
        gain: What a margin of 1 has become.
        generating: Whether short runs are also generated, in left-padded batches.
        tell: Is told how far it is.
    """
    small = lowered.embedding.size < SMALL
    verifier = Verifier(stored.load(), lowered, dialogue, stored.dtype, generating=generating)
    with threads(1 if small else None):
        crew = hired() if small else None
        return verifier.verification(gain, tell, crew, partial(_travelling, verifier, stored))


@dataclass(frozen=True)
class _Job:
    """What travels to another process: where the model is, and what it should say; the arrays stay."""

    stored: Stored
    lowered: Lowered
    dialogue: Dialogue
    generating: bool


def _travelling(verifier: Verifier, stored: Stored) -> Work:
    """The same for another process."""
    model = verifier.lowered
    none = np.empty((0, 0))
    places = np.empty((len(model.positions), 0))  # only their number is of interest
    empty = replace(
        model,
        scales=none,
        embedding=none,
        positions=places,
        layers=(),
        unembedding=replace(model.unembedding, weight=none),
    )
    return partial(_do, _Job(stored, empty, verifier.dialogue, verifier.generating))


_loaded: dict[Stored, Verifier] = {}
"""The model that this process, if it is a worker, has verified last."""


def _do(job: _Job, start: int, stop: int) -> Json:
    """What a worker does with a part."""
    with threads(1):
        if job.stored not in _loaded:
            _loaded.clear()
            model = job.stored.load()
            _loaded[job.stored] = Verifier(
                model, job.lowered, job.dialogue, job.stored.dtype, generating=job.generating
            )
        return _loaded[job.stored].part(start, stop)
