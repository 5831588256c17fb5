"""Activations of a model at one position: residual stream, head activations and logits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from softmachine.inspection.head_activation import HeadActivation
from softmachine.transformer.head_view import EnclosedNumber, Enclosure, lower_end, upper_end

if TYPE_CHECKING:
    from softmachine.inspection.hooks import HookPoint


@dataclass(frozen=True)
class ResidualStream:
    """The residual stream after a sublayer.

    Args:
        hook_point: The sublayer.
        coordinates: The names of the coordinates.
        values: Their values.
    """

    hook_point: HookPoint
    coordinates: Sequence[str]
    values: Sequence[EnclosedNumber]

    def __getitem__(self, name: str) -> EnclosedNumber:
        return self.values[list(self.coordinates).index(name)]

    def __iter__(self) -> Iterator[tuple[str, EnclosedNumber]]:
        return zip(self.coordinates, self.values, strict=True)


@dataclass(frozen=True)
class Logits:
    """The logits at a position.

    Args:
        outputs: The outputs that the logits belong to.
        values: The logits.
        emitted: The output of the run there; None where the run has none.
    """

    outputs: Sequence[str]
    values: Sequence[EnclosedNumber]
    emitted: str | None = None

    def _ranked(self) -> list[int]:
        return sorted(range(len(self.values)), key=lambda k: (-upper_end(self.values[k]), k))

    @property
    def has_bounds(self) -> bool:
        """Whether some logits are known only by bounds."""
        return any(isinstance(value, Enclosure) for value in self.values)

    @property
    def winner(self) -> str | None:
        """The output of the largest logit; None if several tie."""
        first = self._ranked()[0]
        return None if self.tied else self.outputs[first]

    @property
    def tied(self) -> tuple[str, ...]:
        """The outputs that are tied for the largest logit, if there is more than one."""
        top = max(map(lower_end, self.values))
        tied = tuple(output for output, value in zip(self.outputs, self.values, strict=True) if upper_end(value) >= top)
        return tied if len(tied) > 1 else ()

    @property
    def runner_up(self) -> str | None:
        """The output of the next largest logit; None if there is only one."""
        return self.outputs[self._ranked()[1]] if len(self.values) > 1 else None

    @property
    def margin(self) -> Fraction | None:
        """The margin of the winner: a lower bound where logits are enclosures; 0 for a tie."""
        if len(self.values) < 2:
            return None
        first, second, *_ = self._ranked()
        return max(lower_end(self.values[first]) - upper_end(self.values[second]), Fraction(0))

    def __getitem__(self, output: str) -> EnclosedNumber:
        return self.values[list(self.outputs).index(output)]


@dataclass(frozen=True)
class Activations:
    """The activations of a model at one position of a run.

    Args:
        position: The position, counted from 0 over the prompt and the output.
        local_position: The position in its context; it differs only in runs that resume from summaries.
        segment: The index of the context, from 0.
        token: The token there.
        step: The step of the source language that is decided there, if any.
        token_step: The step of the source language that the token is, if any.
        tokens: The tokens of the context, up to the last visible one.
        residual_streams: The residual stream after the embedding and after every sublayer that adds to it.
        heads: The activation of each head, layer by layer, and in every iteration of a loop.
        logits: The logits, which decide the next token.
    """

    position: int
    local_position: int
    segment: int
    token: str
    step: int | None
    token_step: int | None
    tokens: Sequence[str]
    residual_streams: tuple[ResidualStream, ...]
    heads: tuple[HeadActivation, ...]
    logits: Logits

    def head(self, name: str, iteration: int | None = None) -> HeadActivation:
        """The activation of the head of a name; in a loop in the given iteration, by default the last."""
        found = [head for head in self.heads if head.name == name and iteration in (None, head.hook_point.iteration)]
        if not found:
            raise KeyError(name)
        return found[-1]
