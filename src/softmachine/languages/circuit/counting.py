"""Counting up to a constant in constant depth: why small thresholds are in AC⁰.

At least t of the arguments x₁ … x_m are 1 if and only if, for some k, x_k is, and at least t - 1 of those before it
are. Written out this is a circuit of ANDs and ORs of depth 2t - 1, whatever m is, with at most 2tm gates; and all t up
to the largest one, and all beginnings of a list of arguments, share them. An argument of weight w counts w times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

Gate = Callable[[Iterable[int]], int]

FALSE, TRUE = 0, 1


class Counting:
    """Thresholds made of AND and OR gates; what was counted once is not counted again.

    Args:
        every: Makes an AND gate.
        some: Makes an OR gate.
    """

    def __init__(self, every: Gate, some: Gate) -> None:
        self._every = every
        self._some = some
        self._beginnings: dict[tuple[int, int, int], int] = {}
        self._last: list[tuple[int, int, int]] = [(0, 0, 0)]
        self._ways: dict[tuple[int, int], list[int]] = {}
        self._found: dict[tuple[int, int], int] = {}

    def at_least(self, threshold: int, weights: Sequence[tuple[int, int]]) -> int:
        """Whether the weights of those wires that are 1 sum up to at least a threshold.

        Args:
            threshold: t; the depth is at most 2t - 1.
            weights: Pairs of a wire and its weight, which is positive. Lists that begin alike share gates.
        """
        end = 0
        for wire, weight in weights:
            key = (end, wire, weight)
            if key not in self._beginnings:
                self._beginnings[key] = len(self._last)
                self._last.append(key)
            end = self._beginnings[key]
        return self._reached(threshold, end)

    def _reached(self, threshold: int, end: int) -> int:
        """Whether so much is reached before the end of a beginning."""
        if threshold <= 0:
            return TRUE
        if not end:
            return FALSE
        key = (end, threshold)
        if key not in self._found:
            self._found[key] = self._some(self._all_ways(threshold, end))
        return self._found[key]

    def _all_ways(self, threshold: int, end: int) -> list[int]:
        """For each argument of a beginning: it is 1, and what is lacking then is reached before it."""
        waiting = []
        while end and (end, threshold) not in self._ways:
            waiting.append(end)
            end = self._last[end][0]
        ways = self._ways.get((end, threshold), [])
        for later in reversed(waiting):
            before, wire, weight = self._last[later]
            ways = [*ways, self._every([wire, self._reached(threshold - weight, before)])]
            self._ways[later, threshold] = ways
        return ways
