"""Verification of exported weights: third-party software against the reference interpreter.

:class:`ExpectedAnswers` compares logits with expected outputs; all formats use it.

A checkpoint on disk is verified in this process, or in worker processes that load it from there.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from softmachine.exports.lowered_model import LoweredTransformer
from softmachine.exports.prompt_format import PromptFormat, TestInput
from softmachine.support.parallel import ExecutorFactory, Json, RangeFunction, current_executor, map_range
from softmachine.support.progress import ProgressCallback, ignore_progress

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel


MAX_GENERATED_TOKENS = 256
"""Runs of at most this many tokens are also generated; longer ones are only scored in chunks, with teacher forcing."""
BATCH_SIZE, CHUNK_SIZE = 32, 256


@dataclass(frozen=True)
class Verification:
    """Result of running an exported model in one floating-point format.

    Args:
        dtype: The format.
        inputs: The number of inputs tried.
        tokens: The number of tokens compared.
        longest: The largest number of positions of an input with its run.
        margin: The smallest distance between the correct logit and the next; in exact arithmetic it is at least 1.
        failure: The first wrong output, None if there is none.
    """

    dtype: str
    inputs: int
    tokens: int
    longest: int
    margin: float | None
    failure: str | None

    @property
    def holds(self) -> bool:
        """Whether every output was correct."""
        return self.failure is None


@contextlib.contextmanager
def torch_threads(count: int | None) -> Iterator[None]:
    """Context with this many threads of torch: small matrices are multiplied faster by one."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class ExpectedAnswers:
    """The expected outputs as ids of tokens and labels, and their comparison with logits.

    Args:
        lowered: The lowered model.
        prompt_format: The samples with their expected outputs.
        dtype: The floating-point format, for messages.
    """

    def __init__(self, lowered: LoweredTransformer, prompt_format: PromptFormat, dtype: str) -> None:
        self.lowered, self.prompt_format, self.dtype = lowered, prompt_format, dtype
        self._label = {label: k for k, label in enumerate(lowered.labels)}

    def encode(self, tokens: Sequence[str | None]) -> list[int]:
        """The ids of tokens."""
        return [self.lowered.index[token] for token in tokens if token is not None]

    def input_ids(self, sample: TestInput) -> list[int]:
        """The ids that the model reads: the prompt and, for a decoder, the run without its last token."""
        return self.encode((*sample.prompt, *(sample.expected[:-1] if self.prompt_format.is_decoder else ())))

    def compare_logits(
        self, sample: TestInput, logits: NDArray[np.floating], start: int = 0
    ) -> tuple[str | None, float]:
        """The first wrong output among the logits of positions from ``start``, if any, and the smallest margin."""
        first = len(sample.prompt) - 1 if self.prompt_format.is_decoder else 0
        smallest = float("inf")
        for position, row in enumerate(logits, start):
            step = position - first
            right = sample.expected[step] if 0 <= step < len(sample.expected) else None
            if right is None:
                continue
            found = int(row.argmax())
            distance = float(row[found] - np.delete(row, found).max(initial=-np.inf))
            if found != self._label[right] or not distance > 0:
                return self.format_error(sample, step, found if distance > 0 else None), 0.0
            smallest = min(smallest, distance)
        return None, smallest

    def format_error(self, sample: TestInput, step: int, found: int | None) -> str:
        """The message about a wrong output: the input, the position, the expected and the actual output."""
        word = repr(sample.input) if sample.input else "the empty input"
        what = "token" if self.prompt_format.is_decoder else "the answer at position"
        was = "is not decided" if found is None else f"is {self.lowered.labels[found]}"
        return f"in {self.dtype}, on {word}, {what} {step} should be {sample.expected[step]}, but {was}"

    def summarise(self, longest: int, margin: float, failure: str | None) -> Verification:
        """The result for all samples."""
        samples = self.prompt_format.samples
        tokens = sum(token is not None for sample in samples for token in sample.expected)
        smallest = margin if failure is None and margin < float("inf") else None
        return Verification(self.dtype, len(samples), tokens, longest, smallest, failure)


class CheckpointVerifier(ExpectedAnswers):
    """Verifier of a Hugging Face model: generates batches of short runs, then scores every sample.

    Args:
        model: The loaded model.
        lowered: The lowered model that it was written from.
        prompt_format: The samples with their expected outputs.
        dtype: The floating-point format, for messages.
        generating: Whether short runs are also generated.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        lowered: LoweredTransformer,
        prompt_format: PromptFormat,
        dtype: str,
        *,
        generating: bool,
    ) -> None:
        super().__init__(lowered, prompt_format, dtype)
        self.model, self.pad, self.causal, self.generating = model, lowered.pad_id, lowered.causal, generating
        samples = sorted(prompt_format.samples, key=lambda sample: len(sample.expected))
        short = [sample for sample in samples if len(sample.expected) <= MAX_GENERATED_TOKENS]
        self.to_generate = [*self.make_batches(short)] if prompt_format.is_decoder and generating else []
        self.to_score = [[sample] for sample in samples] if self.causal else [*self.make_batches(samples)]

    def verify(
        self,
        gain: float,
        progress: ProgressCallback,
        factory: ExecutorFactory | None,
        make_work: Callable[[], RangeFunction | None],
    ) -> Verification:
        """Verify all batches, up to the first wrong output."""
        total, failure, margin = len(self.to_generate) + len(self.to_score), None, float("inf")
        found = map_range(
            partial(self.verify_part, progress=progress),
            total,
            remote_work=make_work,
            factory=factory,
            progress=progress,
        )
        with contextlib.closing(found):
            for part in found:
                failure, margin = part.result["failure"], min(margin, part.result["margin"])
                if failure is not None:
                    break
        samples, decodes = self.prompt_format.samples, self.prompt_format.is_decoder
        longest = max((len(s.prompt) + (len(s.expected) if decodes else 0) for s in samples), default=0)
        return self.summarise(longest, margin / gain, failure)

    def verify_part(self, start: int, stop: int, progress: ProgressCallback = ignore_progress) -> Json:
        """The first wrong output in a range of the batches, if any, and the smallest margin."""
        failure, margin = None, float("inf")
        for number in range(start, stop):
            if number < len(self.to_generate):
                progress(f"generating in {self.dtype}: batch {number + 1:,} of {len(self.to_generate):,}")
                failure = self.check_generation(self.to_generate[number])
            else:
                place = number - len(self.to_generate)
                what = "input" if self.causal else "batch"
                progress(f"verifying in {self.dtype}: {what} {place + 1:,} of {len(self.to_score):,}")
                group = self.to_score[place]
                failure, smallest = (
                    self.check_teacher_forced(group[0]) if self.causal else self.check_encoder_batch(group)
                )
                margin = min(margin, smallest)
            if failure is not None:
                break
        return {"failure": failure, "margin": margin}

    def make_batches(self, samples: Sequence[TestInput]) -> Iterator[list[TestInput]]:
        """Batches of samples in which no run exceeds the number of positions before the longest one ends."""
        batch: list[TestInput] = []
        for sample in samples:
            more = [*batch, sample]
            new = max(len(s.expected) for s in more) if self.causal else 0
            if len(more) > BATCH_SIZE or max(len(s.prompt) for s in more) + new > len(self.lowered.positions):
                yield batch
                more = [sample]
            batch = more
        if batch:
            yield batch

    def pad_prompts(self, samples: Sequence[TestInput]) -> tuple[Tensor, Tensor]:
        """Padded prompts, at the left for a decoder and at the right for an encoder, and the attention mask."""
        import torch

        widest = max(len(sample.prompt) for sample in samples)
        rows = [self.encode(sample.prompt) for sample in samples]
        rest = [[self.pad] * (widest - len(row)) for row in rows]
        ids = [more + row if self.causal else row + more for row, more in zip(rows, rest, strict=True)]
        return torch.tensor(ids), (torch.tensor(ids) != self.pad).long()

    def check_generation(self, samples: Sequence[TestInput]) -> str | None:
        """The first wrong token that ``generate`` emits for a left-padded batch, if any."""
        import torch

        samples = [sample for sample in samples if sample.expected]
        if not samples:
            return None
        ids, mask = self.pad_prompts(samples)
        new = max(len(sample.expected) for sample in samples)
        with torch.no_grad():
            output = self.model.generate(ids, attention_mask=mask, max_new_tokens=new, max_length=None, do_sample=False)
        for sample, row in zip(samples, output[:, ids.shape[1] :].tolist(), strict=True):
            for step, expected in enumerate(self.encode(sample.expected)):
                found = row[step] if step < len(row) else self.pad
                if found != expected:
                    return self.format_error(sample, step, found)
        return None

    def check_teacher_forced(self, sample: TestInput) -> tuple[str | None, float]:
        """The first wrong prediction over a run, with teacher forcing, if any, and the smallest margin."""
        import torch

        sequence, smallest, cache = self.input_ids(sample), float("inf"), None
        for start in range(0, len(sequence), CHUNK_SIZE):
            with torch.no_grad():
                answer = self.model(
                    torch.tensor([sequence[start : start + CHUNK_SIZE]]), past_key_values=cache, use_cache=True
                )
            cache = answer.past_key_values
            failure, distance = self.compare_logits(sample, answer.logits[0].double().numpy(), start)
            if failure is not None:
                return failure, 0.0
            smallest = min(smallest, distance)
        return None, smallest

    def check_encoder_batch(self, samples: Sequence[TestInput]) -> tuple[str | None, float]:
        """The first wrong output of an encoder on a right-padded batch, if any, and the smallest margin."""
        import torch

        ids, mask = self.pad_prompts(samples)
        with torch.no_grad():
            logits = self.model(ids, attention_mask=mask).logits.double().numpy()
        found = [self.compare_logits(sample, rows) for sample, rows in zip(samples, logits, strict=True)]
        wrong = next((failure for failure, _ in found if failure is not None), None)
        return wrong, min(distance for _, distance in found)


MAX_WORKER_EMBEDDING = 1 << 20
"""Size of the embedding below which a model is small: it is verified in workers, with one thread each."""


@dataclass(frozen=True)
class StoredCheckpoint:
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
        with silence_libraries():
            model: PreTrainedModel = stock.from_pretrained(self.folder, dtype=getattr(torch, self.dtype)).eval()
        return model


@contextmanager
def silence_libraries() -> Iterator[None]:
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


def verify_checkpoint(
    checkpoint: StoredCheckpoint,
    lowered: LoweredTransformer,
    prompt_format: PromptFormat,
    *,
    gain: float,
    generating: bool,
    progress: ProgressCallback = ignore_progress,
) -> Verification:
    """Load a model, run it on the samples, and compare.

    The current executor (:func:`.executors.use_executor`) helps if it takes long. Only small models use it: the others
    use all cores by themselves, and their rounding depends on the number of threads.

    Args:
        checkpoint: The checkpoint.
        lowered: The lowered model that it was written from.
        prompt_format: The samples with their expected outputs.
        gain: The factor of the logits.
        generating: Whether short runs are also generated, in left-padded batches.
        progress: Progress callback.
    """
    small = lowered.embedding.size < MAX_WORKER_EMBEDDING
    verifier = CheckpointVerifier(checkpoint.load(), lowered, prompt_format, checkpoint.dtype, generating=generating)
    with torch_threads(1 if small else None):
        factory = current_executor() if small else None
        return verifier.verify(gain, progress, factory, partial(_worker_task, verifier, checkpoint))


@dataclass(frozen=True)
class _VerifyTask:
    """The arguments of a worker: the checkpoint and the expected outputs, without arrays."""

    stored: StoredCheckpoint
    lowered: LoweredTransformer
    prompt_format: PromptFormat
    generating: bool


def _worker_task(verifier: CheckpointVerifier, stored: StoredCheckpoint) -> RangeFunction:
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
    return partial(_verify_range, _VerifyTask(stored, empty, verifier.prompt_format, verifier.generating))


_loaded: dict[StoredCheckpoint, CheckpointVerifier] = {}
"""The verifier of the last job of this worker process."""


def _verify_range(job: _VerifyTask, start: int, stop: int) -> Json:
    """Verify a range of the batches in a worker."""
    with torch_threads(1):
        if job.stored not in _loaded:
            _loaded.clear()
            model = job.stored.load()
            _loaded[job.stored] = CheckpointVerifier(
                model, job.lowered, job.prompt_format, job.stored.dtype, generating=job.generating
            )
        return _loaded[job.stored].verify_part(start, stop)
