"""What a run of training depends on, as plain values: the same settings give the same weights on one machine."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from hashlib import sha256
from itertools import pairwise
from typing import Any

from softmachine.support.errors import UsageError

MOST_WORDS = 100_000
"""Nobody trains on more words here."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """Which words are learned from, and which are tried.

    Args:
        language: The language of the source.
        name: Its name.
        text: The source itself.
        theorem: The theorem whose tokens traces are written in.
        train: Words of the training have at most this length.
        tests: Up to which length each further bin of tests goes.
        context: The length that the theorem's weights would be made for, if its tokens depend on one.
        words: So many words are looked for, to train on and to hold out; fewer, if there are no more.
        test_words: So many are tried in each bin; None for up to :data:`.data.SOME`, or as many as there are.
        long_traces: The share of long traces (over ten tokens) in training and tests.
        near_misses: Whether words come in pairs, one edit apart, of which one is accepted and one rejected.
        max_steps: How many steps a run of the source may take.
        seed: Which random words.
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
                f"words of at most {self.train} letters are no training with tests up to {shown}",
                hint="each bin of tests goes farther than the one before, and the first farther than the training",
            )
        if not 2 <= self.words <= MOST_WORDS or not 0 <= self.long_traces <= 1:
            raise UsageError(f"from 2 to {MOST_WORDS:,} words, of which a share from 0 to 1 has long traces")

    @property
    def bins(self) -> dict[str, range]:
        """The bins of lengths by name: test0 has those of the training."""
        limits = (0, self.train, *self.tests)
        return {f"test{k}": range(a + 1, b + 1) for k, (a, b) in enumerate(pairwise(limits))}


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What a model is like.

    Args:
        layers: How many layers.
        width: The width of the residual stream.
        heads: How many heads a layer has.
        positions: The position encoding, as :mod:`.positions` names it.
        precision: What activations and attention are rounded to, as :mod:`.precision` names it.
    """

    layers: int = 2
    width: int = 64
    heads: int = 2
    positions: str = "none"
    precision: str = "float32"

    def __post_init__(self) -> None:
        if min(self.layers, self.width, self.heads) < 1 or self.width % (2 * self.heads):
            raise UsageError(
                f"a width of {self.width} is not for {self.heads} heads",
                hint="the width is a multiple of twice the number of heads",
            )


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """How it is trained: AdamW, with a learning rate that rises for a while and then falls as a cosine.

    Args:
        steps: How many steps at most.
        batch: How many words a step sees.
        learning_rate: The highest one.
        weight_decay: That of AdamW.
        warm_up: The share of steps in which the rate rises.
        floor: The share of the highest rate that is left at the end.
        curriculum: The share of steps in which words get longer, from a quarter of the longest on.
        every: After so many steps the validation split is looked at.
        patience: It ends when that was all right so many times in a row; 0 for never.
        minutes: It ends after so many minutes; None for never. Then the weights depend on how fast the machine is.
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
            raise UsageError("steps, words of a step and the learning rate are greater than 0")
        if not (0 <= self.curriculum <= 1 and 0 <= self.warm_up <= 1 and 0 <= self.floor <= 1):
            raise UsageError("the shares of steps in which words get longer, or the rate rises, are from 0 to 1")


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A run: what is learned, by what, how, and from which first weights."""

    task: Task
    shape: Shape
    schedule: Schedule
    seed: int = 0

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return json.loads(json.dumps(asdict(self)))  # type: ignore[no-any-return]

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Setting:
        """What :meth:`to_json` gave.

        Raises:
            UsageError: If it is something else.
        """
        try:
            kinds = {"task": Task, "shape": Shape, "schedule": Schedule}
            parts = {name: kind(**_tuples(data[name])) for name, kind in kinds.items()}
            return cls(**parts, seed=int(data["seed"]))
        except (LookupError, TypeError, ValueError):
            raise UsageError("this is not the setting of a run of training") from None

    @property
    def digest(self) -> str:
        """A short name for everything that the weights depend on."""
        return sha256(json.dumps(self.to_json(), sort_keys=True).encode()).hexdigest()[:10]

    @property
    def name(self) -> str:
        """A name for files: what people ask for first, and the digest."""
        shape = self.shape
        safe = "".join(c if c.isalnum() or c in "-_" else "-" for c in self.task.name)[:40]
        positions, precision = shape.positions.replace("+", "-"), shape.precision.replace(":", "-")
        return f"{safe}-{positions}-{precision}-{shape.layers}x{shape.width}-seed{self.seed}-{self.digest}"


def _tuples(data: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in data.items()}


def differences(settings: list[Setting]) -> list[str]:
    """The names of what is not the same in all settings, apart from the seed of a run, such as "positions"."""
    flat = [{**asdict(each.task), **asdict(each.shape), **asdict(each.schedule)} for each in settings]
    names = [field.name for kind in (Task, Shape, Schedule) for field in fields(kind) if field.name != "text"]
    return [name for name in names if len({str(each[name]) for each in flat}) > 1]
