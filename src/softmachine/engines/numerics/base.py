"""Interface of an arithmetic: tensors, affine maps, activations, attention and argmax.

Shapes: a batch of sequences of vectors, ``(batch, position, coordinate)``. An arithmetic is independent of the model
that uses it.
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

from softmachine.support.errors import ConstructionError, FixHint
from softmachine.transformer.attention import AttentionKind

Array = NDArray[Any]
"""Floats, integers or Python objects, depending on the arithmetic."""
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Index = int | slice | EllipsisType | NDArray[np.intp] | Flags | None
SparseRows = Sequence[Sequence[tuple[int, Fraction]]]
SparseAffine = tuple[SparseRows, int, Sequence[Fraction]]
"""An affine map: its sparse rows, the number of columns, and the constants."""


@dataclass(frozen=True)
class Tensor:
    """Numbers of one arithmetic, with an absolute error bound for each; without ``error`` all are exact."""

    value: Array
    error: Floats | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self.value.shape

    def __getitem__(self, index: Index | tuple[Index, ...]) -> Tensor:
        return Tensor(self.value[index], None if self.error is None else self.error[index])

    def concat(self, others: Sequence[Tensor], axis: int) -> Tensor:
        """Concatenate this tensor and others along an axis."""
        parts = [self, *others]
        value = np.concatenate([part.value for part in parts], axis)
        if not np.issubdtype(value.dtype, np.floating):
            return Tensor(value)
        errors = [np.zeros(part.shape) if part.error is None else part.error for part in parts]
        return Tensor(value, np.concatenate(errors, axis))


TensorMap = Callable[[Tensor], Tensor]
"""A function of a tensor, compiled for an arithmetic."""
TensorSum = Callable[[Tensor, Tensor], Tensor]
"""A function of two tensors: the first plus a function of the second."""


class UndecidedError(Exception):
    """The error bounds do not determine a comparison; the engine adds the location to the message.

    Args:
        sequence: The sequence.
        position: The position of the comparison, counted from the first one just computed.
        candidates: The indices that remain possible.
        tie: Whether the numbers are proved to be equal.
        reason: The cause, for the message.
    """

    def __init__(
        self, sequence: int, position: int, candidates: Sequence[int], reason: str, *, tie: bool = False
    ) -> None:
        self.sequence, self.position, self.candidates, self.reason, self.tie = (
            sequence,
            position,
            tuple(candidates),
            reason,
            tie,
        )
        super().__init__(reason)


class UnrepresentableError(Exception):
    """A weight is not representable in an arithmetic; the engine adds the name of the weight to the message.

    Args:
        weight: The weight.
        reason: The cause, as a predicate for the message.
    """

    def __init__(self, weight: Fraction, reason: str) -> None:
        self.weight, self.reason = weight, reason
        super().__init__(f"{weight} {reason}")


class Arithmetic(ABC):
    """A number format with the operations of a transformer."""

    name: str
    is_draft_efficient = True
    """Whether verifying a draft of many tokens in one pass is much faster than decoding them one by one."""
    seconds_per_product = 1e-7
    """Upper estimate of the seconds per product of two numbers, overhead included."""
    bytes_per_number = 16
    """Bytes per number, error bound included."""
    is_approximate: ClassVar[bool] = False
    """Whether a run continues where rounding determines a comparison, so that it may differ from the source; other
    arithmetics raise :class:`UndecidedError` there."""
    overwrites_inputs: ClassVar[bool] = False
    """Whether operations overwrite their inputs and share error bounds among sequences: callers must not cache tensors
    between iterations, nor exchange the batch and position axes."""

    def higher_precisions(self) -> Iterator[Arithmetic]:
        """Yield arithmetics of the same family with higher precision, in ascending order."""
        return iter(())

    @abstractmethod
    def convert(self, rows: Sequence[Sequence[Fraction]]) -> Tensor:
        """Convert a matrix of exact numbers to this arithmetic."""

    def convert_weights(self, rows: Sequence[Sequence[Fraction]]) -> Tensor:
        """Convert a matrix of model weights to this arithmetic.

        Raises:
            UnrepresentableError: If a weight is not representable and the arithmetic does not round weights.
        """
        return self.convert(rows)

    def convert_scales(self, scales: Sequence[Fraction], *, feature: bool) -> Tensor:
        """Convert inverse temperatures, one per query, for :meth:`softmax_attention`.

        Args:
            scales: The inverse temperatures.
            feature: Whether they are a position feature; otherwise all are one weight.

        Raises:
            UnrepresentableError: If the weight is not representable and the arithmetic does not round weights.
        """
        return self.convert([[scale] for scale in scales])[:, 0]

    @abstractmethod
    def compile_affine(self, rows: SparseRows, columns: int, bias: Sequence[Fraction]) -> TensorMap:
        """Return the affine map x ↦ W x + b of the last axis.

        Raises:
            UnrepresentableError: If a weight is not representable and the arithmetic does not round weights.
        """

    def compile_residual_affine(self, rows: SparseRows, columns: int, bias: Sequence[Fraction]) -> TensorSum:
        """Return the map (x, y) ↦ x + W y + b."""
        there = self.compile_affine(rows, columns, bias)
        return lambda x, y: self.add(x, there(y))

    def gather_rows(self, matrix: Tensor, indices: NDArray[np.intp]) -> Tensor:
        """Gather rows of a matrix (an embedding lookup): one row per index."""
        return matrix[indices]

    @abstractmethod
    def add(self, x: Tensor, y: Tensor) -> Tensor:
        """Return x + y."""

    @abstractmethod
    def activate(self, x: Tensor, steps: Flags) -> Tensor:
        """Apply ReLU to every coordinate, and the Heaviside function where ``steps`` is set.

        Raises:
            UndecidedError: If the sign of a step's argument is undecided.
        """

    def compile_network(self, first: SparseAffine, steps: Flags, second: SparseAffine) -> TensorMap:
        """Return the feed-forward network x ↦ x + second(activate(first(x))).

        Raises:
            UndecidedError: When the network is applied, if the sign of a step's argument is undecided.
        """
        there, back = self.compile_affine(*first), self.compile_residual_affine(*second)
        return lambda x: back(x, self.activate(there(x), steps))

    def norm(self, x: Tensor) -> Tensor:
        """Divide the last axis by the root of the mean of its squares (RMS norm); 0 where all numbers are 0.

        Raises:
            ConstructionError: If the arithmetic does not define the norm.
            UndecidedError: If it is undecided whether all numbers are 0.
        """
        raise ConstructionError(
            f"layer norm is not defined in {self.name}", hint=FixHint("use float64, {}, or ball", arithmetic="exact")
        )

    def compile_norm_network(
        self, first: SparseAffine, steps: Flags, second: SparseAffine, norms: Sequence[Sequence[int]]
    ) -> TensorMap:
        """Return the feed-forward network in which groups of hidden units are normalised."""
        there, back = self.compile_affine(*first), self.compile_affine(*second)

        def feed(x: Tensor) -> Tensor:
            before = there(x)
            hidden = self.activate(before, steps)
            for group in norms:
                hidden = replace_coordinates(hidden, np.array(group), self.norm(before[..., np.array(group)]))
            return self.add(x, back(hidden))

        return feed

    def select_keys(
        self, query: Tensor, key: Tensor, bias: Tensor | None, visible: Flags, choice: AttentionKind
    ) -> Flags:
        """Select the keys of maximal score for every query: all of them, the first, or the last.

        Args:
            query: (batch, queries, d).
            key: (batch, keys, d).
            bias: (queries, keys), added to the scores.
            visible: (queries, keys), the attention mask.
            choice: Average (all), leftmost or rightmost.

        Raises:
            UndecidedError: If the error bounds do not determine the maximum.
        """
        if query.shape[-1] == 0 and bias is None:
            chosen = np.broadcast_to(visible, (query.shape[0], query.shape[1], key.shape[1]))
        else:
            chosen = self.select_best_keys(query, key, bias, visible)
        if choice is AttentionKind.AVERAGE:
            return chosen
        flipped = chosen[..., ::-1] if choice is AttentionKind.RIGHTMOST else chosen
        first: Flags = flipped & (np.cumsum(flipped, axis=-1) == 1)
        return first[..., ::-1] if choice is AttentionKind.RIGHTMOST else first

    @abstractmethod
    def select_best_keys(self, query: Tensor, key: Tensor, bias: Tensor | None, visible: Flags) -> Flags:
        """Return all keys of maximal score for every query; not called if all scores are 0 by construction."""

    def exact_scores(self, query: Tensor, key: Tensor) -> Array | None:
        """Return scores (batch, queries, keys) whose order is exact, or None if the arithmetic cannot guarantee it.

        Each score depends only on its query and its key, not on the rest of the batch.
        """
        return None

    @abstractmethod
    def average(self, chosen: Flags, value: Tensor) -> Tensor:
        """Average the chosen values: (batch, queries, keys) and (batch, keys, d) give (batch, queries, d).

        The flags may have batch size 1 if they are the same for all sequences.
        """

    @abstractmethod
    def softmax_attention(
        self, query: Tensor, key: Tensor, bias: Tensor | None, visible: Flags, scale: Tensor
    ) -> TensorMap:
        """Return softmax attention as a map of values: means weighted by exp(scale · score), with one scale per query.

        Queries and keys may have batch size 1 if they are the same for all sequences.
        """

    def argmax(self, x: Tensor) -> NDArray[np.intp]:
        """Return the argmax of the last axis, for every sequence and position.

        Raises:
            UndecidedError: If the argmax is undecided.
        """
        winner: NDArray[np.intp] = x.value.argmax(axis=-1)
        rivals = ~(x.value < np.take_along_axis(x.value, winner[..., None], -1))
        for b, i in np.argwhere(rivals.sum(axis=-1) > 1)[:1].tolist():
            raise UndecidedError(b, i, np.flatnonzero(rivals[b, i]).tolist(), "the logits are equal", tie=True)
        return winner


def replace_coordinates(x: Tensor, where: NDArray[np.intp], part: Tensor) -> Tensor:
    """Return a copy of a tensor with some coordinates of the last axis replaced."""
    value = x.value.copy()
    value[..., where] = part.value
    if x.error is None or part.error is None:
        return Tensor(value, x.error)
    error = x.error.copy()
    error[..., where] = part.error
    return Tensor(value, error)


@dataclass(frozen=True)
class ArithmeticFamily:
    """The arithmetics that one module defines.

    Args:
        make: Makes the arithmetic of a name; returns None if the name belongs to another family.
        names: The names that the message about an unknown name lists.
        note: The meaning of further names, for the same message.
        order: Sort key of the names in that message.
    """

    make: Callable[[str], Arithmetic | None]
    names: tuple[str, ...] = ()
    note: str = ""
    order: int = 100
