"""Families of circuits, given by their direct connection languages: the kind and the arguments of every gate.

A family n ↦ C_n is L-uniform if a logarithmic-space machine decides its connection language (Definition A.2 of
"Revisiting Padded Transformer Expressivity"). Here the queries are answered by programs. Wires are numbered from 0: the
inputs, then the gates, each after its arguments; the last wire is the output.
"""

from __future__ import annotations

from typing import Protocol

from softmachine.studies.uniformity.library import length

AND, OR, NOT, THRESHOLD = range(4)
"""Kinds of gates."""


class CircuitFamily(Protocol):
    """The circuits C_n, gate by gate. All numbers are natural, and every method is a program."""

    def wires(self, n: int) -> int:
        """Return the number of inputs and gates; the first n wires are the inputs."""
        ...

    def depth(self, n: int) -> int:
        """Return the number of gates on the longest path."""
        ...

    def most_arguments(self, n: int) -> int:
        """Return the maximum fan-in of a gate."""
        ...

    def kind(self, n: int, g: int) -> int:
        """Return the kind of gate g."""
        ...

    def fan_in(self, n: int, g: int) -> int:
        """Return the number of arguments of gate g."""
        ...

    def at_least(self, n: int, g: int) -> int:
        """Return the threshold of gate g, if it is a threshold gate."""
        ...

    def argument(self, n: int, g: int, k: int) -> int:
        """Return the wire that is argument k of gate g, counted from 0."""
        ...


class AdjacentOnes:
    """Are two neighbours both 1? The OR of all x_k ∧ x_(k+1): depth 2, hence in AC⁰. For n ≥ 3."""

    @staticmethod
    def wires(n: int) -> int:
        """The inputs, n - 1 gates AND, and one OR."""
        return n + n

    @staticmethod
    def depth(n: int) -> int:
        """An OR of ANDs."""
        return 2

    @staticmethod
    def most_arguments(n: int) -> int:
        """Those of the OR."""
        return n - 1

    @staticmethod
    def kind(n: int, g: int) -> int:
        """The last gate is the OR."""
        return OR if g + 1 == n + n else AND

    @staticmethod
    def fan_in(n: int, g: int) -> int:
        """The OR reads all other gates."""
        return n - 1 if g + 1 == n + n else 2

    @staticmethod
    def at_least(n: int, g: int) -> int:
        """There is no threshold gate."""
        return 0

    @staticmethod
    def argument(n: int, g: int, k: int) -> int:
        """Gate n + j reads x_j and x_(j+1)."""
        return n + k if g + 1 == n + n else g - n + k


class AndOrTree:
    """A tree of binary gates, alternately AND and OR: depth ⌈log₂ n⌉. For n ≥ 2.

    Gate n + k reads wires 2k and 2k + 1. Every wire is read once, by a later gate, and there are n - 1 gates.
    """

    @staticmethod
    def wires(n: int) -> int:
        """The inputs and n - 1 gates."""
        return n + n - 1

    @staticmethod
    def level(n: int, g: int) -> int:
        """Return the number of gates on the longest path to wire g, which leads through its second argument."""
        found = 0
        while g >= n:
            g -= n
            g += g
            g += 1
            found += 1
        return found

    @staticmethod
    def depth(n: int) -> int:
        """The level of the last gate."""
        return length(n - 1)

    @staticmethod
    def most_arguments(n: int) -> int:
        """Two."""
        return 2

    @staticmethod
    def kind(n: int, g: int) -> int:
        """AND at odd levels."""
        return AND if AndOrTree.level(n, g) % 2 == 1 else OR

    @staticmethod
    def fan_in(n: int, g: int) -> int:
        """Two."""
        return 2

    @staticmethod
    def at_least(n: int, g: int) -> int:
        """There is no threshold gate."""
        return 0

    @staticmethod
    def argument(n: int, g: int, k: int) -> int:
        """Wires 2k and 2k + 1."""
        return g - n + (g - n) + k


class Majority:
    """Are more than half of the inputs 1? One threshold gate: in TC⁰ and not in AC⁰. For n ≥ 3."""

    @staticmethod
    def wires(n: int) -> int:
        """The inputs and the gate."""
        return n + 1

    @staticmethod
    def depth(n: int) -> int:
        """One gate."""
        return 1

    @staticmethod
    def most_arguments(n: int) -> int:
        """All inputs."""
        return n

    @staticmethod
    def kind(n: int, g: int) -> int:
        """A threshold gate."""
        return THRESHOLD

    @staticmethod
    def fan_in(n: int, g: int) -> int:
        """All inputs."""
        return n

    @staticmethod
    def at_least(n: int, g: int) -> int:
        """More than half."""
        return n // 2 + 1

    @staticmethod
    def argument(n: int, g: int, k: int) -> int:
        """Input k."""
        return k


class MajorityTree:
    """A tree of majorities of three: depth O(log n). For odd n ≥ 3.

    Gate n + k reads wires 3k, 3k + 1 and 3k + 2, and there are (n - 1)/2 gates.
    """

    @staticmethod
    def wires(n: int) -> int:
        """The inputs and (n - 1)/2 gates."""
        return n + n // 2

    @staticmethod
    def depth(n: int) -> int:
        """The level of the last gate: one more than that of its third argument."""
        g = MajorityTree.wires(n) - 1
        found = 0
        while g >= n:
            g = 3 * (g - n) + 2
            found += 1
        return found

    @staticmethod
    def most_arguments(n: int) -> int:
        """Three."""
        return 3

    @staticmethod
    def kind(n: int, g: int) -> int:
        """Threshold gates."""
        return THRESHOLD

    @staticmethod
    def fan_in(n: int, g: int) -> int:
        """Three."""
        return 3

    @staticmethod
    def at_least(n: int, g: int) -> int:
        """Two of three."""
        return 2

    @staticmethod
    def argument(n: int, g: int, k: int) -> int:
        """Wires 3k, 3k + 1 and 3k + 2."""
        return 3 * (g - n) + k


def placed(family: CircuitFamily, n: int, i: int) -> tuple[int, int]:
    """Return the wire at position i, and 0, or k for the k-th argument of that gate; gates precede their arguments."""
    g = i
    which = 0
    if i >= n:
        g = n
        which = i - n
        while which > family.fan_in(n, g):
            which -= family.fan_in(n, g) + 1
            g += 1
    return g, which
