"""Programs: signals together with the vocabulary they read and the outputs they decide between."""

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
    """What a theorem hands to the compiler.

    Args:
        name: The name of the model.
        vocabulary: The tokens that may stand in a sequence.
        outputs: What the logits stand for: next tokens for a decoder, answers for an encoder.
        logits: One number for each output; the largest decides.
        margin: With hard attention the largest logit exceeds the others by at least this much, where it matters.
        narrow: Whether a coordinate may hold several numbers, one after the other, so that fewer are needed; units then
            clear it in between.
        spare: How much of the error that a rounding gadget takes away is left to the rounding of a small format.
        positions: How many positions there are, where padding decides it and not the length of a word.
        sharpness: With softmax, the least scaled gap that anyone chooses unasked; what small formats need may be more
            than what is certified for exact numbers.
    """

    name: str
    vocabulary: tuple[str, ...]
    outputs: tuple[str, ...]
    logits: Signal
    margin: Fraction | None = None
    narrow: bool = False
    spare: Fraction = Fraction(0)
    positions: int | None = None
    sharpness: int = 1

    def __post_init__(self) -> None:
        if len(self.logits) != len(self.outputs):
            raise ConstructionError(f"{len(self.outputs)} outputs, but {len(self.logits)} logits")
        if len(set(self.vocabulary)) != len(self.vocabulary):
            raise ConstructionError(f"a token occurs twice in the vocabulary of {self.name!r}")


class Vocabulary(Generic[Meaning]):
    """Tokens and what each means to the theorem, from which token signals are made."""

    def __init__(self, meanings: Mapping[str, Meaning]) -> None:
        self.meanings = dict(meanings)

    @property
    def tokens(self) -> tuple[str, ...]:
        """All tokens, in order."""
        return tuple(self.meanings)

    def onehot(self, name: str, labels: Sequence[str], of: Callable[[Meaning], str | None]) -> Signal:
        """One-hot over ``labels``; zero where ``of`` gives None."""
        rows = {key: tuple(int(label == of(meaning)) for label in labels) for key, meaning in self.meanings.items()}
        return token(name, rows, labels=tuple(labels))

    def number(self, name: str, of: Callable[[Meaning], Fraction | int]) -> Signal:
        """One number for each token."""
        return token(name, {key: (of(meaning),) for key, meaning in self.meanings.items()})

    def bit(self, name: str, of: Callable[[Meaning], bool]) -> Signal:
        """One bit for each token."""
        return self.number(name, lambda meaning: int(of(meaning)))

    def program(
        self, name: str, logits: Mapping[str, Signal], margin: Fraction | None = None, *, narrow: bool = False
    ) -> Program:
        """A decoder whose next token is the one of the largest logit; tokens that are left out are never produced."""
        outputs = tuple(key for key in self.tokens if key in logits)
        return Program(name, self.tokens, outputs, stack(*(logits[key] for key in outputs)), margin, narrow)


def recogniser(name: str, tokens: Sequence[str], accept: Signal, *, positions: int | None = None) -> Program:
    """An encoder that answers at every position whether a bit is 1."""
    accept.require_bits("recogniser")
    half = constant(Fraction(1, 2))
    logits = stack(half - accept, accept - half)
    return Program(name, tuple(tokens), ("false", "true"), logits, Fraction(1), positions=positions)
