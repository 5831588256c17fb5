"""Activation of one head at one position: scores, attention weights and the retrieved vector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from softmachine.engines.dense.attention import AttentionRecord
from softmachine.engines.numerics import Tensor
from softmachine.engines.numerics.python_objects import FlintArithmetic
from softmachine.inspection.numbers import to_number, to_numbers
from softmachine.transformer.head_view import EnclosedNumber
from softmachine.transformer.weights import Head

if TYPE_CHECKING:
    from softmachine.inspection.hooks import HookPoint

PositionArray = NDArray[np.intp]


@dataclass(frozen=True)
class HeadQuery:
    """The attention query of one head at one position.

    Args:
        arithmetic: The arithmetic of the numbers.
        search: The search of the head's group, with its results.
        head_index: The index of the head in the group.
        row: The index of the position in the search.
    """

    arithmetic: FlintArithmetic
    search: AttentionRecord
    head_index: int
    row: int

    @property
    def query(self) -> Tensor:
        """The query vector."""
        return self.search.group.queries[self.head_index][:1, self.row : self.row + 1]

    @property
    def bias(self) -> Tensor | None:
        """The bias of the scores."""
        return None if self.search.bias is None else self.search.bias[self.row : self.row + 1]

    @property
    def visible(self) -> PositionArray:
        """The visible keys."""
        return np.flatnonzero(self.search.visible[self.row])

    def scores(self) -> NDArray[Any]:
        """The scores of the visible keys, as numbers of the arithmetic."""
        seen, key, bias = self.visible, self.search.group.key, self.bias
        with self.arithmetic.working_precision():
            found: NDArray[Any] = self.arithmetic.scores(
                self.query, key[:1, seen], None if bias is None else bias[:, seen]
            )[0, 0]
        return found

    def weights(self) -> NDArray[Any]:
        """The attention weights of the visible keys."""
        seen, search = self.visible, self.search
        if search.scale is None:
            chosen = search.chosen[self.head_index][0, self.row][seen]
            shares = np.full(len(seen), self.arithmetic.convert_number(fmpq(0)), dtype=object)
            shares[chosen] = self.arithmetic.convert_number(fmpq(1, max(1, int(chosen.sum()))))
            return shares
        scale, visible = search.scale[self.row : self.row + 1], search.visible[self.row : self.row + 1]
        shares = self.arithmetic.softmax_weights(self.query, search.group.key[:1], self.bias, visible, scale)
        found: NDArray[Any] = shares[0, 0, seen]
        return found


@dataclass(frozen=True, eq=False)
class HeadActivation:
    """The activation of a head at one position of a context; see :class:`~softmachine.transformer.head_view.HeadView`.

    Args:
        head: The head.
        hook_point: The layer of the head.
        index: The index of the head in its layer, from 0.
        position: The position of the query.
        tokens: The tokens of the context, up to the last visible one.
        coordinates: The names of the residual stream's coordinates.
        residual_values: The residual stream that it reads.
        retrieved: The weighted mean of the values.
        added: Its contribution to the residual stream, by name of the coordinate.
        head_query: The query, from which everything else is computed.
    """

    head: Head
    hook_point: HookPoint
    index: int
    position: int
    tokens: Sequence[str]
    coordinates: Sequence[str]
    residual_values: Sequence[EnclosedNumber]
    retrieved: Sequence[EnclosedNumber]
    added: dict[str, EnclosedNumber]
    head_query: HeadQuery

    @property
    def name(self) -> str:
        """The name of the head."""
        return self.head.name

    @property
    def read(self) -> dict[str, EnclosedNumber]:
        """The residual stream that it reads, by name."""
        return dict(zip(self.coordinates, self.residual_values, strict=True))

    @cached_property
    def query(self) -> tuple[EnclosedNumber, ...]:
        """The query vector."""
        return to_numbers(self.head_query.query.value[0, 0])

    @cached_property
    def visible(self) -> tuple[int, ...]:
        """The visible positions."""
        return tuple(self.head_query.visible.tolist())

    @cached_property
    def _scores(self) -> NDArray[Any]:
        return self.head_query.scores()

    @cached_property
    def scores(self) -> dict[int, EnclosedNumber]:
        """The score of every visible position."""
        return dict(zip(self.visible, to_numbers(self._scores), strict=True))

    @cached_property
    def weights(self) -> dict[int, EnclosedNumber]:
        """The attention weight of every visible position; they add up to 1."""
        return dict(zip(self.visible, to_numbers(self.head_query.weights()), strict=True))

    @cached_property
    def _order(self) -> tuple[PositionArray, PositionArray, EnclosedNumber | None]:
        """Among the visible keys: the indices of maximal score, those of the next best score, and the gap."""
        scores, none = self._scores, np.empty(0, dtype=np.intp)
        if not len(scores):
            return none, none, None
        with self.head_query.arithmetic.working_precision():
            top = _argmax(scores)
            best = ~(scores < scores[top])
            below = np.flatnonzero(~best)
            if not len(below):
                return np.flatnonzero(best), none, None
            second = below[_argmax(scores[below])]
            following = below[~(scores[below] < scores[second])]
            return np.flatnonzero(best), following, to_number(scores[top] - scores[second])

    @cached_property
    def max_score(self) -> EnclosedNumber | None:
        """The largest score; None if no position is visible."""
        return to_number(self._scores[_argmax(self._scores)]) if self.visible else None

    @cached_property
    def tied(self) -> tuple[int, ...]:
        """The positions of maximal score; in ball arithmetic, all that are not certainly below."""
        return tuple(self.head_query.visible[self._order[0]].tolist())

    @cached_property
    def chosen(self) -> tuple[int, ...]:
        """The positions that hard attention averages; for softmax, those of maximal score."""
        chosen = self.head_query.search.chosen
        if not chosen:
            return self.tied
        return tuple(np.flatnonzero(chosen[self.head_query.head_index][0, self.head_query.row]).tolist())

    @property
    def next_best(self) -> tuple[int, ...]:
        """The positions of the second largest score."""
        return tuple(self.head_query.visible[self._order[1]].tolist())

    @property
    def gap(self) -> EnclosedNumber | None:
        """The score gap between the largest and the second largest score; None if there is only one."""
        return self._order[2]


def _argmax(scores: NDArray[Any]) -> int:
    """The index of the largest score; for balls, of the largest midpoint."""
    return int(np.argmax(scores if isinstance(scores[0], fmpq) else np.array([score.mid() for score in scores])))
