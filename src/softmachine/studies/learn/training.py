"""Training loop: AdamW on the tokens of traces, deterministic by seed and resumable.

The batch of a step depends only on the seed and the step, and everything else is in the saved state.
An interrupted run therefore gives the same weights as an uninterrupted one, on the same machine. Training ends after
the last step, after several consecutive evaluations without errors on the validation split, or at the time limit; only
the last depends on the speed of the machine, and is recorded.

A checkpoint of an interrupted training has the weights, the optimizer state and the progress in one safetensors file:
tensors hold the numbers, metadata the rest. A file of another setting, or a damaged one, is an error; training does not
silently restart.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from softmachine.studies.learn.config import Schedule, TrainingConfig
from softmachine.studies.learn.data import BatchSampler, Corpus
from softmachine.studies.learn.metrics import check_traces
from softmachine.studies.learn.model import Decoder
from softmachine.support.errors import SourceError, SourceLocation
from softmachine.support.files import write_file


def save_state(path: Path, decoder: Decoder, optimizer: Optimizer, progress: Mapping[str, Any], digest: str) -> None:
    """Save the complete training state; the file is replaced atomically."""
    from safetensors.torch import save

    tensors: dict[str, Tensor] = {f"weights.{name}": each.detach() for name, each in decoder.named_parameters()}
    for name, parameter in decoder.named_parameters():
        for key, value in optimizer.state[parameter].items():
            tensors[f"optimizer.{key}.{name}"] = value.detach().reshape(value.shape)
    about = {"setting": digest, "progress": json.dumps(dict(progress))}
    write_file(path, save({name: each.contiguous() for name, each in tensors.items()}, metadata=about), force=True)


def load_state(path: Path, decoder: Decoder, optimizer: Optimizer, digest: str) -> dict[str, Any]:
    """Load the weights and the optimizer state in place, and return the progress.

    Raises:
        SourceError: If the file is not a state of this setting.
    """
    import torch
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "pt") as file:
            about = file.metadata() or {}
            if about.get("setting") != digest:
                raise SourceError("this is the state of another training run", place=SourceLocation(str(path)))
            with torch.no_grad():
                for name, parameter in decoder.named_parameters():
                    parameter.copy_(file.get_tensor(f"weights.{name}"))
                    optimizer.state[parameter] = {
                        key: file.get_tensor(f"optimizer.{key}.{name}") for key in ("step", "exp_avg", "exp_avg_sq")
                    }
            progress = json.loads(about["progress"])
    except (SafetensorError, OSError, KeyError, ValueError, RuntimeError) as error:
        raise SourceError(
            f"this is not the state of a training run: {error}", place=SourceLocation(str(path))
        ) from None
    if not isinstance(progress, dict):
        raise SourceError("this is not the state of a training run", place=SourceLocation(str(path)))
    return progress


SAVE_SECONDS = 20.0
"""Seconds between saves of the state, if there is a file for it."""
MAX_GRADIENT_NORM = 1.0
"""Maximum gradient norm (clipping)."""


@dataclass
class Progress:
    """Progress of training.

    Args:
        step: Number of steps done.
        seconds: Their wall-clock time, including before an interruption.
        cpu: Their processor time in seconds, which is meaningful on a shared machine.
        in_a_row: Number of consecutive evaluations without errors on the validation split, up to now.
        ended: Why training ended: "steps", "converged" or "time"; empty while it is running.
        losses: Step, mean loss since the last entry, and the share of exact validation traces.
    """

    step: int = 0
    seconds: float = 0.0
    cpu: float = 0.0
    in_a_row: int = 0
    ended: str = ""
    losses: list[tuple[int, float, float]] = field(default_factory=list)


StepCallback = Callable[[Progress], None]


def learning_rate(schedule: Schedule, step: int) -> float:
    """Return the learning rate of a step."""
    warm = max(1, round(schedule.warm_up * schedule.steps))
    if step < warm:
        return schedule.learning_rate * (step + 1) / warm
    along = (step - warm) / max(1, schedule.steps - warm)
    return schedule.learning_rate * (schedule.floor + (1 - schedule.floor) * (1 + math.cos(math.pi * along)) / 2)


def max_word_length(schedule: Schedule, step: int, limit: int) -> int:
    """Return the maximum word length of a step."""
    growing = schedule.curriculum * schedule.steps
    return limit if step >= growing else math.ceil(limit * (0.25 + 0.75 * step / growing))


@contextmanager
def isolated(seed: int) -> Iterator[None]:
    """Use one thread and a separate random state, so that training is independent of its environment."""
    threads, state = torch.get_num_threads(), torch.get_rng_state()
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.set_rng_state(state)


def train(
    setting: TrainingConfig, corpus: Corpus, *, state_file: Path | None = None, on_step: StepCallback = lambda _: None
) -> tuple[Decoder, Progress]:
    """Train a model.

    Args:
        setting: The setting.
        corpus: The data of its task.
        state_file: File of the training state; training resumes from it if it exists.
        on_step: Progress callback, called after every step; an exception from it interrupts training.
    """
    with isolated(setting.seed):
        return _Training(setting, corpus, state_file, on_step).train()


class _Training:
    def __init__(self, setting: TrainingConfig, corpus: Corpus, kept: Path | None, watch: StepCallback) -> None:
        self.setting, self.corpus, self.kept, self.watch = setting, corpus, kept, watch
        self.schedule = setting.schedule
        self.decoder = Decoder(setting.shape, len(corpus.vocabulary), corpus.context)
        matrices = [each for each in self.decoder.parameters() if each.ndim == 2]
        others = [each for each in self.decoder.parameters() if each.ndim != 2]
        groups: list[dict[str, Any]] = [{"params": matrices}, {"params": others, "weight_decay": 0.0}]
        decay = self.schedule.weight_decay
        self.optimizer = torch.optim.AdamW([g for g in groups if g["params"]], betas=(0.9, 0.98), weight_decay=decay)
        self.drawer = BatchSampler(corpus, setting.seed, self.schedule.batch)
        self.progress, self.recent = Progress(), list[float]()
        if kept is not None and kept.is_file():
            known = load_state(kept, self.decoder, self.optimizer, setting.digest)
            self.recent = [float(each) for each in known.pop("recent")]
            self.progress = Progress(**known)

    def train(self) -> tuple[Decoder, Progress]:
        progress, schedule = self.progress, self.schedule
        began, busy, saved = time.perf_counter() - progress.seconds, time.process_time() - progress.cpu, 0.0
        while not progress.ended:
            self._step()
            now = time.perf_counter()
            progress.seconds, progress.cpu = now - began, time.process_time() - busy
            saved = saved or now
            if progress.step % schedule.every == 0 or progress.step == schedule.steps:
                self._evaluate()
            if not progress.ended and schedule.minutes is not None and progress.seconds >= 60 * schedule.minutes:
                progress.ended = "time"
            if self.kept is not None and (now - saved >= SAVE_SECONDS or progress.ended):
                saved = now
                state = asdict(progress) | {"recent": self.recent}
                save_state(self.kept, self.decoder, self.optimizer, state, self.setting.digest)
            self.watch(progress)
        return self.decoder, progress

    def _step(self) -> None:
        step = self.progress.step
        limit = max_word_length(self.schedule, step, self.corpus.task.train)
        tokens, following, counts = self.corpus.encode(self.drawer.sample(step, limit))
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(self.schedule, step)
        loss = trace_loss(self.decoder, tokens, following, counts)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.decoder.parameters(), MAX_GRADIENT_NORM)
        self.optimizer.step()
        self.recent.append(loss.item())
        self.progress.step += 1

    def _evaluate(self) -> None:
        """Evaluate on the validation split, and decide whether training ends."""
        progress, schedule = self.progress, self.schedule
        right = check_traces(self.decoder, self.corpus, self.corpus.validation)
        share = sum(right) / len(right)
        progress.losses.append((progress.step, sum(self.recent) / len(self.recent), share))
        self.recent.clear()
        progress.in_a_row = progress.in_a_row + 1 if share == 1.0 else 0
        if progress.step >= schedule.steps:
            progress.ended = "steps"
        elif schedule.patience and progress.in_a_row >= schedule.patience:
            progress.ended = "converged"


def trace_loss(decoder: Decoder, tokens: Tensor, following: Tensor, counts: Tensor) -> Tensor:
    """Return the mean cross-entropy over the tokens of traces."""
    return nn.functional.cross_entropy(decoder(tokens)[counts], following[counts])
