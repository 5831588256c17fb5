"""Programs: the logits of a model as signals, with its vocabulary and its outputs."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, TypeVar

from softmachine.ir.primitives import token
from softmachine.ir.signal import Signal, constant, stack
from softmachine.support.errors import ConstructionError

Meaning = TypeVar("Meaning", bound=Hashable)


@dataclass(frozen=True)
class Program:
    """The input of the compiler: logits over a vocabulary.

    Args:
        name: The name of the model.
        vocabulary: The input tokens.
        outputs: The labels of the logits: next tokens for a decoder, answers for an encoder.
        logits: One number for each output; the argmax is the prediction.
        margin: With hard attention, the largest logit exceeds the others by at least this much wherever the output
            counts.
        reuse_coordinates: Whether coordinates may be reused, which makes the residual stream narrower; units clear a
            coordinate before it is reused.
        spare_tolerance: The part of the error tolerance of rounding gadgets that is reserved for rounding in low
            precision.
        position_count: The number of positions, if padding determines it rather than the length of the input.
        sharpness: With softmax, the default lower bound of scale × gap; low-precision formats may need more than exact
            arithmetic does.
    """

    name: str
    vocabulary: tuple[str, ...]
    outputs: tuple[str, ...]
    logits: Signal
    margin: Fraction | None = None
    reuse_coordinates: bool = False
    spare_tolerance: Fraction = Fraction(0)
    position_count: int | None = None
    sharpness: int = 1

    def __post_init__(self) -> None:
        if len(self.logits) != len(self.outputs):
            raise ConstructionError(f"{len(self.outputs)} outputs, but {len(self.logits)} logits")
        if len(set(self.vocabulary)) != len(self.vocabulary):
            raise ConstructionError(f"a token occurs twice in the vocabulary of {self.name!r}")


class Vocabulary(Generic[Meaning]):
    """Maps tokens to their meanings in a construction; creates token signals from the meanings."""

    def __init__(self, meanings: Mapping[str, Meaning]) -> None:
        self.meanings = dict(meanings)

    @property
    def tokens(self) -> tuple[str, ...]:
        """All tokens, in order."""
        return tuple(self.meanings)

    def one_hot(self, name: str, labels: Sequence[str], label_of: Callable[[Meaning], str | None]) -> Signal:
        """One-hot over ``labels``; zero where ``label_of`` gives None."""
        rows = {
            key: tuple(int(label == label_of(meaning)) for label in labels) for key, meaning in self.meanings.items()
        }
        return token(name, rows, labels=tuple(labels))

    def number(self, name: str, number_of: Callable[[Meaning], Fraction | int]) -> Signal:
        """One number for each token."""
        return token(name, {key: (number_of(meaning),) for key, meaning in self.meanings.items()})

    def bit(self, name: str, holds: Callable[[Meaning], bool]) -> Signal:
        """One bit for each token."""
        return self.number(name, lambda meaning: int(holds(meaning)))

    def program(
        self,
        name: str,
        logits: Mapping[str, Signal],
        margin: Fraction | None = None,
        *,
        reuse_coordinates: bool = False,
    ) -> Program:
        """Create a decoder that emits the token with the largest logit; tokens without a logit are never emitted."""
        outputs = tuple(key for key in self.tokens if key in logits)
        return Program(name, self.tokens, outputs, stack(*(logits[key] for key in outputs)), margin, reuse_coordinates)


def recogniser(name: str, tokens: Sequence[str], accept: Signal, *, positions: int | None = None) -> Program:
    """Create an encoder whose output at every position is whether a bit is 1."""
    accept.require_bits("recogniser")
    half = constant(Fraction(1, 2))
    logits = stack(half - accept, accept - half)
    return Program(name, tuple(tokens), ("false", "true"), logits, Fraction(1), position_count=positions)
