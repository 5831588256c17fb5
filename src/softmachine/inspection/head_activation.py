"""Activation of one head at one position: scores, attention weights and the retrieved vector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from softmachine.engines.dense.attention import Search
from softmachine.engines.numerics import Tensor
from softmachine.engines.numerics.python_objects import Objects
from softmachine.inspection.hook_point import Stage
from softmachine.inspection.numbers import number, numbers
from softmachine.transformer.head_view import Number
from softmachine.transformer.weights import Head

Places = NDArray[np.intp]


@dataclass(frozen=True)
class Asked:
    """The attention query of one head at one position.

    Args:
        arithmetic: The arithmetic of the numbers.
        search: The search of the head's group, with its results.
        member: The index of the head in the group.
        row: The index of the position in the search.
    """

    arithmetic: Objects
    search: Search
    member: int
    row: int

    @property
    def query(self) -> Tensor:
        """The query vector."""
        return self.search.group.queries[self.member][:1, self.row : self.row + 1]

    @property
    def bias(self) -> Tensor | None:
        """The bias of the scores."""
        return None if self.search.bias is None else self.search.bias[self.row : self.row + 1]

    @property
    def seen(self) -> Places:
        """The visible keys."""
        return np.flatnonzero(self.search.visible[self.row])

    def scores(self) -> NDArray[Any]:
        """The scores of the visible keys, as numbers of the arithmetic."""
        seen, key, bias = self.seen, self.search.group.key, self.bias
        with self.arithmetic.precisely():
            found: NDArray[Any] = self.arithmetic.scores(
                self.query, key[:1, seen], None if bias is None else bias[:, seen]
            )[0, 0]
        return found

    def shares(self) -> NDArray[Any]:
        """The attention weights of the visible keys."""
        seen, search = self.seen, self.search
        if search.scale is None:
            chosen = search.chosen[self.member][0, self.row][seen]
            shares = np.full(len(seen), self.arithmetic.number(fmpq(0)), dtype=object)
            shares[chosen] = self.arithmetic.number(fmpq(1, max(1, int(chosen.sum()))))
            return shares
        scale, visible = search.scale[self.row : self.row + 1], search.visible[self.row : self.row + 1]
        shares = self.arithmetic.shares(self.query, search.group.key[:1], self.bias, visible, scale)
        found: NDArray[Any] = shares[0, 0, seen]
        return found


@dataclass(frozen=True, eq=False)
class HeadSight:
    """The activation of a head at one position of a context; see :class:`~softmachine.transformer.head_view.Sight`.

    Args:
        head: The head.
        stage: The layer of the head.
        index: The index of the head in its layer, from 0.
        position: The position of the query.
        tokens: The tokens of the context, up to the last visible one.
        coordinates: The names of the residual stream's coordinates.
        before: The residual stream that it reads.
        retrieved: The weighted mean of the values.
        added: Its contribution to the residual stream, by name of the coordinate.
        head_query: The query, from which everything else is computed.
    """

    head: Head
    stage: Stage
    index: int
    position: int
    tokens: Sequence[str]
    coordinates: Sequence[str]
    before: Sequence[Number]
    retrieved: Sequence[Number]
    added: dict[str, Number]
    head_query: Asked

    @property
    def name(self) -> str:
        """The name of the head."""
        return self.head.name

    @property
    def read(self) -> dict[str, Number]:
        """The residual stream that it reads, by name."""
        return dict(zip(self.coordinates, self.before, strict=True))

    @cached_property
    def query(self) -> tuple[Number, ...]:
        """The query vector."""
        return numbers(self.head_query.query.value[0, 0])

    @cached_property
    def visible(self) -> tuple[int, ...]:
        """The visible positions."""
        return tuple(self.head_query.seen.tolist())

    @cached_property
    def _scores(self) -> NDArray[Any]:
        return self.head_query.scores()

    @cached_property
    def scores(self) -> dict[int, Number]:
        """The score of every visible position."""
        return dict(zip(self.visible, numbers(self._scores), strict=True))

    @cached_property
    def weights(self) -> dict[int, Number]:
        """The attention weight of every visible position; they add up to 1."""
        return dict(zip(self.visible, numbers(self.head_query.shares()), strict=True))

    @cached_property
    def _order(self) -> tuple[Places, Places, Number | None]:
        """Among the visible keys: the indices of maximal score, those of the next best score, and the gap."""
        scores, none = self._scores, np.empty(0, dtype=np.intp)
        if not len(scores):
            return none, none, None
        with self.head_query.arithmetic.precisely():
            top = _largest(scores)
            best = ~(scores < scores[top])
            below = np.flatnonzero(~best)
            if not len(below):
                return np.flatnonzero(best), none, None
            second = below[_largest(scores[below])]
            following = below[~(scores[below] < scores[second])]
            return np.flatnonzero(best), following, number(scores[top] - scores[second])

    @cached_property
    def best(self) -> Number | None:
        """The largest score; None if no position is visible."""
        return number(self._scores[_largest(self._scores)]) if self.visible else None

    @cached_property
    def tied(self) -> tuple[int, ...]:
        """The positions of maximal score; in ball arithmetic, all that are not certainly below."""
        return tuple(self.head_query.seen[self._order[0]].tolist())

    @cached_property
    def chosen(self) -> tuple[int, ...]:
        """The positions that hard attention averages; for softmax, those of maximal score."""
        chosen = self.head_query.search.chosen
        if not chosen:
            return self.tied
        return tuple(np.flatnonzero(chosen[self.head_query.member][0, self.head_query.row]).tolist())

    @property
    def next_best(self) -> tuple[int, ...]:
        """The positions of the second largest score."""
        return tuple(self.head_query.seen[self._order[1]].tolist())

    @property
    def gap(self) -> Number | None:
        """The score gap between the largest and the second largest score; None if there is only one."""
        return self._order[2]


def _largest(scores: NDArray[Any]) -> int:
    """The index of the largest score; for balls, of the largest midpoint."""
    return int(np.argmax(scores if isinstance(scores[0], fmpq) else np.array([score.mid() for score in scores])))
