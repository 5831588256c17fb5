"""Configuration of training runs. Equal settings give equal weights on the same machine."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, fields
from hashlib import sha256
from itertools import pairwise
from typing import Any

from softmachine.support.errors import UsageError

MAX_WORDS = 100_000
"""Maximum number of words of a task."""


POSITION_ENCODINGS = ("none", "rope", "alibi", "absolute", "sinusoidal", "relative")
LLAMA_ENCODINGS = ("none", "rope")
"""The encodings that an unmodified LLaMA supports, without ``+log``."""
PRECISIONS = ("float32", "bfloat16", "bits:B")
SIGNIFICANT_BITS = {"float32": 24, "bfloat16": 8}
"""Number of significant bits, including the leading 1."""


@dataclass(frozen=True, kw_only=True)
class TrainingTask:
    """Training and test words of a source.

    Args:
        language: The language of the source.
        name: The name of the source.
        text: The text of the source.
        theorem: The theorem whose tokens the traces consist of.
        train: Maximum length of training words.
        tests: Maximum length of each further test bin.
        context: Number of positions that the theorem's weights would be built for, if its tokens depend on it.
        words: Number of words to train on and to hold out; fewer if the language has fewer.
        test_words: Number of words of each test bin; None for the default maximum, as available.
        long_traces: The share of long traces (over ten tokens) in training and tests.
        near_misses: Whether words come in pairs at edit distance 1, one accepted and one rejected.
        max_steps: Maximum number of steps of a run of the source.
        seed: Seed of the random words.
    """

    language: str
    name: str
    text: str
    theorem: str
    train: int
    tests: tuple[int, ...]
    context: int | None = None
    words: int = 2_000
    test_words: int | None = None
    long_traces: float = 0.8
    near_misses: bool = False
    max_steps: int = 10_000
    seed: int = 0

    def __post_init__(self) -> None:
        limits = (self.train, *self.tests)
        if self.train < 1 or any(b <= a for a, b in pairwise(limits)):
            shown = ",".join(map(str, self.tests))
            raise UsageError(
                f"test lengths {shown} do not increase from the training length {self.train}",
                hint="each test length must exceed the one before, and the first must exceed the training length",
            )
        if not 2 <= self.words <= MAX_WORDS or not 0 <= self.long_traces <= 1:
            raise UsageError(
                f"the number of words must be from 2 to {MAX_WORDS:,}, and the share of long traces from 0 to 1"
            )

    @property
    def bins(self) -> dict[str, range]:
        """The test bins by name, with their lengths; test0 has the training lengths."""
        limits = (0, self.train, *self.tests)
        return {f"test{k}": range(a + 1, b + 1) for k, (a, b) in enumerate(pairwise(limits))}


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """Architecture of a model.

    Args:
        layers: Number of layers.
        width: Width of the residual stream.
        heads: Heads per layer.
        positions: Name of the position encoding, see :mod:`softmachine.studies.learn.model`.
        precision: Name of the precision of activations, see :mod:`softmachine.studies.learn.model`.
    """

    layers: int = 2
    width: int = 64
    heads: int = 2
    positions: str = "none"
    precision: str = "float32"

    def __post_init__(self) -> None:
        if min(self.layers, self.width, self.heads) < 1 or self.width % (2 * self.heads):
            raise UsageError(
                f"a width of {self.width} cannot be divided among {self.heads} heads",
                hint="the width must be a multiple of twice the number of heads",
            )


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """Training schedule: AdamW, with linear warm-up and cosine decay of the learning rate.

    Args:
        steps: Maximum number of steps.
        batch: Words per step.
        learning_rate: Peak learning rate.
        weight_decay: Weight decay of AdamW.
        warm_up: Share of steps of the warm-up.
        floor: Final learning rate, as a share of the peak.
        curriculum: Share of steps in which the maximum word length grows, starting at a quarter of the full length.
        every: Steps between evaluations on the validation split.
        patience: Training ends after this number of consecutive evaluations without errors; 0 disables this.
        minutes: Time limit; None for no limit. With a limit, the weights depend on the speed of the machine.
    """

    steps: int = 1_000
    batch: int = 64
    learning_rate: float = 2e-3
    weight_decay: float = 0.01
    warm_up: float = 0.05
    floor: float = 0.02
    curriculum: float = 0.0
    every: int = 100
    patience: int = 0
    minutes: float | None = None

    def __post_init__(self) -> None:
        if min(self.steps, self.batch, self.every) < 1 or self.learning_rate <= 0:
            raise UsageError("steps, words per step and the learning rate must be greater than 0")
        if not (0 <= self.curriculum <= 1 and 0 <= self.warm_up <= 1 and 0 <= self.floor <= 1):
            raise UsageError("curriculum, warm-up and floor must be from 0 to 1")


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """A training run: task, architecture, schedule, and the seed of initialisation and batches."""

    task: TrainingTask
    shape: ModelConfig
    schedule: Schedule
    seed: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return the setting as JSON-serialisable data."""
        return json.loads(json.dumps(asdict(self)))  # type: ignore[no-any-return]

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> TrainingConfig:
        """Inverse of :meth:`to_json`.

        Raises:
            UsageError: If the data is not a setting.
        """
        try:
            kinds = {"task": TrainingTask, "shape": ModelConfig, "schedule": Schedule}
            parts = {name: kind(**_tuples(data[name])) for name, kind in kinds.items()}
            return cls(**parts, seed=int(data["seed"]))
        except (LookupError, TypeError, ValueError):
            raise UsageError("this is not the setting of a training run") from None

    @property
    def digest(self) -> str:
        """A digest of everything that the weights depend on."""
        return sha256(json.dumps(self.to_json(), sort_keys=True).encode()).hexdigest()[:10]

    @property
    def name(self) -> str:
        """A file name: the main options and the digest."""
        shape = self.shape
        safe = "".join(c if c.isalnum() or c in "-_" else "-" for c in self.task.name)[:40]
        positions, precision = shape.positions.replace("+", "-"), shape.precision.replace(":", "-")
        return f"{safe}-{positions}-{precision}-{shape.layers}x{shape.width}-seed{self.seed}-{self.digest}"


def _tuples(data: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in data.items()}


def differing_fields(settings: list[TrainingConfig]) -> list[str]:
    """Return the names of the fields that differ between settings, apart from the seed, such as "positions"."""
    flat = [{**asdict(each.task), **asdict(each.shape), **asdict(each.schedule)} for each in settings]
    names = [
        field.name for kind in (TrainingTask, ModelConfig, Schedule) for field in fields(kind) if field.name != "text"
    ]
    return [name for name in names if len({str(each[name]) for each in flat}) > 1]


def parse_encoding(name: str) -> tuple[str, bool]:
    """Split a name into the encoding and whether scores are multiplied by log n.

    Raises:
        UsageError: If there is no such encoding.
    """
    kind, plus, scaled = name.partition("+")
    if kind not in POSITION_ENCODINGS or (plus and scaled != "log"):
        raise UsageError(
            f"there is no position encoding {name!r}",
            hint=f"choose one of {', '.join(POSITION_ENCODINGS)}, optionally with +log",
        )
    return kind, bool(plus)


def significant_bits(name: str) -> int:
    """Return the number of significant bits of a precision.

    Raises:
        UsageError: If there is no such precision.
    """
    if name in SIGNIFICANT_BITS:
        return SIGNIFICANT_BITS[name]
    found = re.fullmatch(r"bits:(\d{1,2})", name)
    if not found or not 1 <= int(found[1]) <= 24:
        raise UsageError(
            f"there is no precision {name!r}", hint=f"choose one of {', '.join(PRECISIONS)}, with B from 1 to 24"
        )
    return int(found[1])
