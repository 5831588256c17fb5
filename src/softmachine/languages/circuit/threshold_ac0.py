"""Threshold circuits of constant depth for small thresholds, which are in AC⁰.

At least t of the arguments x₁ … x_m are 1 if and only if, for some k, x_k is 1 and at least t - 1 of x₁ … x_{k-1} are.
Unfolded, this is a circuit of ANDs and ORs of depth 2t - 1, independent of m, with at most 2tm gates; all thresholds up
to t and all prefixes of a list of arguments share these gates. An argument of weight w counts w times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

GateFactory = Callable[[Iterable[int]], int]

FALSE, TRUE = 0, 1


class ThresholdBuilder:
    """Builds thresholds from AND and OR gates, with memoisation.

    Args:
        make_and: Creates an AND gate.
        make_or: Creates an OR gate.
    """

    def __init__(self, make_and: GateFactory, make_or: GateFactory) -> None:
        self._every = make_and
        self._some = make_or
        self._beginnings: dict[tuple[int, int, int], int] = {}
        self._last: list[tuple[int, int, int]] = [(0, 0, 0)]
        self._ways: dict[tuple[int, int], list[int]] = {}
        self._found: dict[tuple[int, int], int] = {}

    def at_least(self, threshold: int, weights: Sequence[tuple[int, int]]) -> int:
        """Build a gate for: the weights of the wires that are 1 sum to at least the threshold.

        Args:
            threshold: t; the depth is at most 2t - 1.
            weights: Pairs of a wire and its positive weight. Lists with a common prefix share gates.
        """
        end = 0
        for wire, weight in weights:
            key = (end, wire, weight)
            if key not in self._beginnings:
                self._beginnings[key] = len(self._last)
                self._last.append(key)
            end = self._beginnings[key]
        return self._prefix_at_least(threshold, end)

    def _prefix_at_least(self, threshold: int, end: int) -> int:
        """The gate for: the weights in a prefix sum to at least the threshold."""
        if threshold <= 0:
            return TRUE
        if not end:
            return FALSE
        key = (end, threshold)
        if key not in self._found:
            self._found[key] = self._some(self._prefix_cases(threshold, end))
        return self._found[key]

    def _prefix_cases(self, threshold: int, end: int) -> list[int]:
        """One gate per argument of a prefix: it is 1, and the arguments before it reach the rest of the threshold."""
        waiting = []
        while end and (end, threshold) not in self._ways:
            waiting.append(end)
            end = self._last[end][0]
        ways = self._ways.get((end, threshold), [])
        for later in reversed(waiting):
            before, wire, weight = self._last[later]
            ways = [*ways, self._every([wire, self._prefix_at_least(threshold - weight, before)])]
            self._ways[later, threshold] = ways
        return ways
