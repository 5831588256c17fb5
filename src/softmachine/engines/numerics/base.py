"""What every arithmetic can do: arrays of its numbers, affine maps, and the decisions that attention needs.

Shapes: a batch of sequences of vectors, ``(batch, position, coordinate)``. An arithmetic knows what a number is,
nothing of what the numbers are for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import EllipsisType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from softmachine.support.errors import ConstructionError, Remedy
from softmachine.transformer.attention import Choice

Array = NDArray[Any]
"""Floats, integers or Python objects: each arithmetic has its own."""
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Index = int | slice | EllipsisType | NDArray[np.intp] | Flags | None
SparseRows = Sequence[Sequence[tuple[int, Fraction]]]
Affine = tuple[SparseRows, int, Sequence[Fraction]]
"""The rows of an affine map, how many columns they have, and its constants."""


@dataclass(frozen=True)
class Tensor:
    """Numbers of one arithmetic and how far each can be from the exact one; no ``error`` means that all are exact."""

    value: Array
    error: Floats | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self.value.shape

    def __getitem__(self, index: Index | tuple[Index, ...]) -> Tensor:
        return Tensor(self.value[index], None if self.error is None else self.error[index])

    def joined(self, others: Sequence[Tensor], axis: int) -> Tensor:
        """These, then others."""
        parts = [self, *others]
        value = np.concatenate([part.value for part in parts], axis)
        if not np.issubdtype(value.dtype, np.floating):
            return Tensor(value)
        errors = [np.zeros(part.shape) if part.error is None else part.error for part in parts]
        return Tensor(value, np.concatenate(errors, axis))


Map = Callable[[Tensor], Tensor]
"""A function of tensors, prepared in an arithmetic."""
Sum = Callable[[Tensor, Tensor], Tensor]
"""The sum of one tensor and a function of another."""


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


class Arithmetic(ABC):
    """A kind of numbers."""

    name: str
    checks_many = True
    """Whether checking many guesses at a time takes much less time than computing without."""
    pace = 1e-7
    """A product of two numbers, with all that belongs to it, takes about so many seconds at most."""
    bytes = 16
    """So many bytes a number takes, with what is known of its error."""
    rounds: ClassVar[bool] = False
    """Whether a run goes on where rounding decides, so that it may differ from the source; others stop in doubt."""
    in_place: ClassVar[bool] = False
    """Whether sums are written over what they are sums of, and bounds serve all sequences at a position: nobody may
    keep a stream for the next turn, or take positions for sequences."""

    def finer(self) -> Iterator[Arithmetic]:
        """Arithmetics of the same kind that round less, the next one first."""
        return iter(())

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
        return self.numbers([[scale] for scale in scales])[:, 0]

    @abstractmethod
    def operator(self, rows: SparseRows, columns: int, bias: Sequence[Fraction]) -> Map:
        """The affine map x ↦ W x + b of the last axis.

        Raises:
            UnrepresentableError: If the arithmetic lacks a weight, and does not round.
        """

    def adding(self, rows: SparseRows, columns: int, bias: Sequence[Fraction]) -> Sum:
        """The sum x + W y + b."""
        there = self.operator(rows, columns, bias)
        return lambda x, y: self.add(x, there(y))

    def rows(self, matrix: Tensor, indices: NDArray[np.intp]) -> Tensor:
        """Rows of a matrix: for each index one, along one more axis."""
        return matrix[indices]

    @abstractmethod
    def add(self, x: Tensor, y: Tensor) -> Tensor:
        """The sum x + y."""

    @abstractmethod
    def activate(self, x: Tensor, steps: Flags) -> Tensor:
        """ReLU of every coordinate; the Heaviside function where ``steps`` is set.

        Raises:
            UndecidedError: If the sign of a step's argument is not certain.
        """

    def network(self, first: Affine, steps: Flags, second: Affine) -> Map:
        """The feed-forward network x ↦ x + second(activate(first(x))).

        Raises:
            UndecidedError: When it is applied, if the sign of a step's argument is not certain.
        """
        there, back = self.operator(*first), self.adding(*second)
        return lambda x: back(x, self.activate(there(x), steps))

    def norm(self, x: Tensor) -> Tensor:
        """The numbers of the last axis over the root of the mean of their squares, and 0 where all are 0.

        Raises:
            ConstructionError: If the arithmetic does not have it.
            UndecidedError: If it is not certain whether all are 0.
        """
        raise ConstructionError(
            f"layer norm is not defined in {self.name}", hint=Remedy("use float64, {}, or ball", arithmetic="exact")
        )

    def normalising(self, first: Affine, steps: Flags, second: Affine, norms: Sequence[Sequence[int]]) -> Map:
        """The feed-forward network in which some hidden units are normalised together."""
        there, back = self.operator(*first), self.operator(*second)

        def feed(x: Tensor) -> Tensor:
            before = there(x)
            hidden = self.activate(before, steps)
            for group in norms:
                hidden = replaced(hidden, np.array(group), self.norm(before[..., np.array(group)]))
            return self.add(x, back(hidden))

        return feed

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
        if query.shape[-1] == 0 and bias is None:
            chosen = np.broadcast_to(visible, (query.shape[0], query.shape[1], key.shape[1]))
        else:
            chosen = self.best(query, key, bias, visible)
        if choice is Choice.AVERAGE:
            return chosen
        flipped = chosen[..., ::-1] if choice is Choice.RIGHTMOST else chosen
        first: Flags = flipped & (np.cumsum(flipped, axis=-1) == 1)
        return first[..., ::-1] if choice is Choice.RIGHTMOST else first

    @abstractmethod
    def best(self, query: Tensor, key: Tensor, bias: Tensor | None, visible: Flags) -> Flags:
        """For every query all keys of maximal score, if not all scores are 0."""

    def certain_scores(self, query: Tensor, key: Tensor) -> Array | None:
        """The scores (batch, queries, keys), if the larger of any two, and no other, is the better; None if in doubt.

        Each of them depends on its query and its key alone, whatever others there are.
        """
        return None

    @abstractmethod
    def mean(self, chosen: Flags, value: Tensor) -> Tensor:
        """The mean of the chosen values: (batch, queries, keys) and (batch, keys, d) give (batch, queries, d).

        Where all sequences choose the same, the flags may be those of one.
        """

    @abstractmethod
    def soft(self, query: Tensor, key: Tensor, bias: Tensor | None, visible: Flags, scale: Tensor) -> Map:
        """Softmax attention: from values to their means in proportion to exp(scale · score), with one scale a query.

        Where the scores of all sequences are the same, queries and keys may be those of one.
        """

    def largest(self, x: Tensor) -> NDArray[np.intp]:
        """The index of the largest number of the last axis, for every batch and position.

        Raises:
            UndecidedError: If the largest one is not certain.
        """
        winner: NDArray[np.intp] = x.value.argmax(axis=-1)
        rivals = ~(x.value < np.take_along_axis(x.value, winner[..., None], -1))
        for b, i in np.argwhere(rivals.sum(axis=-1) > 1)[:1].tolist():
            raise UndecidedError(b, i, np.flatnonzero(rivals[b, i]).tolist(), "the logits are equal", tie=True)
        return winner


def replaced(x: Tensor, where: NDArray[np.intp], part: Tensor) -> Tensor:
    """A tensor with other numbers in some places of the last axis."""
    value = x.value.copy()
    value[..., where] = part.value
    if x.error is None or part.error is None:
        return Tensor(value, x.error)
    error = x.error.copy()
    error[..., where] = part.error
    return Tensor(value, error)


@dataclass(frozen=True)
class Family:
    """The arithmetics that one module makes.

    Args:
        make: The arithmetic of a name; None if the name is another family's.
        names: The names that are proposed where one is wrong.
        note: What other names mean.
        order: Where the names stand in a list of all.
    """

    make: Callable[[str], Arithmetic | None]
    names: tuple[str, ...] = ()
    note: str = ""
    order: int = 100
