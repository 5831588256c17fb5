"""All that a model computed at one position: the residual stream, what its heads saw, and the logits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from softmachine.inspection.seeing import HeadSight
from softmachine.inspection.stage import Stage
from softmachine.transformer.sight import Enclosure, Number, least, most

__all__ = ["Logits", "Moment", "Stage", "Stream"]


@dataclass(frozen=True)
class Stream:
    """The residual stream after a sublayer.

    Args:
        stage: The sublayer.
        coordinates: The names of the coordinates.
        values: Their values.
    """

    stage: Stage
    coordinates: Sequence[str]
    values: Sequence[Number]

    def __getitem__(self, name: str) -> Number:
        return self.values[list(self.coordinates).index(name)]

    def __iter__(self) -> Iterator[tuple[str, Number]]:
        return zip(self.coordinates, self.values, strict=True)


@dataclass(frozen=True)
class Logits:
    """What decides the next token.

    Args:
        outputs: What the logits stand for.
        values: The logits.
        said: The output that the run has there; None where nobody listened.
    """

    outputs: Sequence[str]
    values: Sequence[Number]
    said: str | None = None

    def _ranked(self) -> list[int]:
        return sorted(range(len(self.values)), key=lambda k: (-most(self.values[k]), k))

    @property
    def bounded(self) -> bool:
        """Whether logits are known by bounds only."""
        return any(isinstance(value, Enclosure) for value in self.values)

    @property
    def winner(self) -> str | None:
        """The output of the largest logit; None if that is not one alone."""
        first = self._ranked()[0]
        return None if self.rivals else self.outputs[first]

    @property
    def rivals(self) -> tuple[str, ...]:
        """The outputs that are tied for the largest logit, if there is more than one."""
        top = max(map(least, self.values))
        tied = tuple(output for output, value in zip(self.outputs, self.values, strict=True) if most(value) >= top)
        return tied if len(tied) > 1 else ()

    @property
    def runner_up(self) -> str | None:
        """The output of the next largest logit; None if there is only one."""
        return self.outputs[self._ranked()[1]] if len(self.values) > 1 else None

    @property
    def margin(self) -> Fraction | None:
        """By how much the winner wins, at least: a lower bound where logits are enclosures; 0 for a tie."""
        if len(self.values) < 2:
            return None
        first, second, *_ = self._ranked()
        return max(least(self.values[first]) - most(self.values[second]), Fraction(0))

    def __getitem__(self, output: str) -> Number:
        return self.values[list(self.outputs).index(output)]


@dataclass(frozen=True)
class Moment:
    """All that a model computed at one position of a run.

    Args:
        position: The position, counted from 0 over the prompt and all that was said.
        place: The position in its context; another one only in runs that went on from summaries.
        segment: The context, from 0 on.
        token: The token there.
        step: The step of the source language that is decided there, if it is one.
        tokens: The tokens of the context, up to the last one that anybody could see.
        streams: The residual stream after the embedding and after every sublayer that adds to it.
        heads: What each head saw, layer by layer, and in every turn of a loop.
        logits: What decides the next token.
    """

    position: int
    place: int
    segment: int
    token: str
    step: int | None
    tokens: Sequence[str]
    streams: tuple[Stream, ...]
    heads: tuple[HeadSight, ...]
    logits: Logits

    def head(self, name: str, turn: int | None = None) -> HeadSight:
        """What the head of a name saw; in a loop in its last turn, or the one that is given."""
        found = [head for head in self.heads if head.name == name and turn in (None, head.stage.turn)]
        if not found:
            raise KeyError(name)
        return found[-1]
