"""What every arithmetic can do: arrays of its numbers, affine maps, and the decisions that attention needs.

Shapes: a batch of sequences of vectors, ``(batch, position, coordinate)``. An arithmetic knows what a number is,
nothing of what the numbers are for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from softmachine.transformer.attention import Choice

Array = NDArray[Any]
Flags = NDArray[np.bool_]
SparseRows = Sequence[Sequence[tuple[int, Fraction]]]
Operator = TypeVar("Operator")


@dataclass(frozen=True)
class Tensor:
    """Numbers of one arithmetic and how far each can be from the exact one; no ``error`` means that all are exact."""

    value: Array
    error: NDArray[np.float64] | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self.value.shape

    def __getitem__(self, index: Any) -> Tensor:
        return Tensor(self.value[index], None if self.error is None else self.error[index])


class UndecidedError(Exception):
    """Two numbers that decide something cannot be told apart; the engine says where and for what.

    Args:
        batch: The sequence.
        query: The position (of those just computed) that has to decide.
        candidates: What it cannot decide between.
        tie: Whether the numbers are known to be equal.
        reason: What is known of them, for people.
    """

    def __init__(self, batch: int, query: int, candidates: Sequence[int], reason: str, *, tie: bool = False) -> None:
        self.batch, self.query, self.candidates, self.reason, self.tie = batch, query, tuple(candidates), reason, tie
        super().__init__(reason)


class UnrepresentableError(Exception):
    """A weight that an arithmetic does not have; the engine says which one of the model it is.

    Args:
        weight: The weight.
        reason: What is wrong with it, for people; a predicate.
    """

    def __init__(self, weight: Fraction, reason: str) -> None:
        self.weight, self.reason = weight, reason
        super().__init__(f"{weight} {reason}")


class Arithmetic(ABC, Generic[Operator]):
    """A kind of numbers."""

    name: str
    checks_many = True
    """Whether checking many guesses at a time takes much less time than computing without."""

    @abstractmethod
    def numbers(self, rows: Sequence[Sequence[Fraction]]) -> Tensor:
        """Exact numbers as a matrix of this arithmetic's."""

    def weights(self, rows: Sequence[Sequence[Fraction]]) -> Tensor:
        """Weights of a model as a matrix of this arithmetic's numbers.

        Raises:
            UnrepresentableError: If the arithmetic lacks one of them, and does not round.
        """
        return self.numbers(rows)

    def scales(self, scales: Sequence[Fraction], *, feature: bool) -> Tensor:
        """Inverse temperatures, one a query, for :meth:`soft`; a feature of the position, or all the same weight.

        Raises:
            UnrepresentableError: If the arithmetic lacks the weight, and does not round.
        """
        del feature
        return self.numbers([[scale] for scale in scales])[:, 0]

    @abstractmethod
    def operator(self, rows: SparseRows, columns: int, bias: Sequence[Fraction]) -> Operator:
        """An affine map x ↦ W x + b, prepared for :meth:`apply`.

        Raises:
            UnrepresentableError: If the arithmetic lacks a weight, and does not round.
        """

    @abstractmethod
    def apply(self, operator: Operator, x: Tensor) -> Tensor:
        """The map applied to the last axis."""

    @abstractmethod
    def add(self, x: Tensor, y: Tensor) -> Tensor:
        """The sum x + y."""

    @abstractmethod
    def activate(self, x: Tensor, steps: Flags) -> Tensor:
        """ReLU of every coordinate; the Heaviside function where ``steps`` is set.

        Raises:
            UndecidedError: If the sign of a step's argument is not certain.
        """

    def network(self, first: Operator, steps: Flags, second: Operator) -> Any:
        """A feed-forward network, prepared for :meth:`feed`."""
        return first, steps, second

    def feed(self, network: Any, x: Tensor) -> Tensor:
        """The sum x + second(activate(first(x))).

        Raises:
            UndecidedError: If the sign of a step's argument is not certain.
        """
        first, steps, second = network
        return self.add(x, self.apply(second, self.activate(self.apply(first, x), steps)))

    @abstractmethod
    def choose(self, query: Tensor, key: Tensor, bias: Tensor | None, visible: Flags, choice: Choice) -> Flags:
        """For every query the keys of maximal score: all of them, the first, or the last.

        Args:
            query: (batch, queries, d).
            key: (batch, keys, d).
            bias: (queries, keys), added to the scores.
            visible: (queries, keys), the keys that count.
            choice: Average (all), leftmost or rightmost.

        Raises:
            UndecidedError: If two scores that decide cannot be told apart.
        """

    @abstractmethod
    def mean(self, chosen: Flags, value: Tensor) -> Tensor:
        """The mean of the chosen values: (batch, queries, keys) and (batch, keys, d) give (batch, queries, d).

        Where all sequences choose the same, the flags may be those of one.
        """

    @abstractmethod
    def shares(self, query: Tensor, key: Tensor, bias: Tensor | None, visible: Flags, scale: Tensor) -> Any:
        """Attention in proportion to exp(scale · score), for :meth:`mix`; there is one ``scale`` a query."""

    @abstractmethod
    def mix(self, shares: Any, value: Tensor) -> Tensor:
        """The mean of the values with these shares.

        Where the scores of all sequences are the same, the shares may be those of one.
        """

    def soft(
        self, query: Tensor, key: Tensor, bias: Tensor | None, visible: Flags, scale: Tensor, value: Tensor
    ) -> Tensor:
        """Softmax attention: the shares, and the mean with them."""
        return self.mix(self.shares(query, key, bias, visible, scale), value)

    @abstractmethod
    def largest(self, x: Tensor) -> NDArray[np.intp]:
        """The index of the largest number of the last axis, for every batch and position.

        Raises:
            UndecidedError: If the largest one is not certain.
        """


def first_or_last(chosen: Flags, choice: Choice) -> Flags:
    """Of the tied keys, those that a choice keeps."""
    if choice is Choice.AVERAGE:
        return chosen
    flipped = chosen[..., ::-1] if choice is Choice.RIGHTMOST else chosen
    first: Flags = flipped & (np.cumsum(flipped, axis=-1) == 1)
    return first[..., ::-1] if choice is Choice.RIGHTMOST else first
