"""Families of circuits as their direct connection languages: what gate g is, and what its k-th argument is.

A family n ↦ C_n is L-uniform if a machine in logarithmic space answers such questions about C_n (Definition A.2 of
"Revisiting Padded Transformer Expressivity"). Here the answers are programs. Wires are numbered: the inputs from 0 on,
then the gates, each after those that it reads; the last wire is the output.
"""

from __future__ import annotations

from typing import Protocol

from softmachine.studies.uniformity.library import length

AND, OR, NOT, THRESHOLD = range(4)
"""What a gate computes."""


class CircuitFamily(Protocol):
    """The circuits C_n, told gate by gate. All numbers are natural, and every answer is a program."""

    def wires(self, n: int) -> int:
        """How many inputs and gates there are; the first n are the inputs."""
        ...

    def depth(self, n: int) -> int:
        """The number of gates on the longest path."""
        ...

    def most_arguments(self, n: int) -> int:
        """The largest number of arguments of a gate."""
        ...

    def kind(self, n: int, g: int) -> int:
        """What gate g computes."""
        ...

    def fan_in(self, n: int, g: int) -> int:
        """How many arguments gate g has."""
        ...

    def at_least(self, n: int, g: int) -> int:
        """How many arguments of gate g must be 1, if it is a threshold gate."""
        ...

    def argument(self, n: int, g: int, k: int) -> int:
        """The wire that is argument k of gate g, from 0 on."""
        ...


class AdjacentOnes:
    """Are two neighbours both 1? The OR of all x_k ∧ x_(k+1): depth 2, so that it is in AC⁰. From n = 3 on."""

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
        """The OR reads all others."""
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
    """A tree of gates with two arguments, AND and OR in turn: depth ⌈log₂ n⌉. From n = 2 on.

    Gate n + k reads wires 2k and 2k + 1. So every wire is read once, by a later gate, and there are n - 1 gates.
    """

    @staticmethod
    def wires(n: int) -> int:
        """The inputs and n - 1 gates."""
        return n + n - 1

    @staticmethod
    def level(n: int, g: int) -> int:
        """The number of gates on the longest path to wire g: that over its second argument."""
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
    """Are more than half of the inputs 1? One threshold gate: in TC⁰ and not in AC⁰. From n = 3 on."""

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
    """A tree of majorities of three: depth O(log n). For odd n from 3 on.

    Gate n + k reads wires 3k, 3k + 1 and 3k + 2, and there are (n - 1)/2 gates.
    """

    @staticmethod
    def wires(n: int) -> int:
        """The inputs and (n - 1)/2 gates."""
        return n + n // 2

    @staticmethod
    def depth(n: int) -> int:
        """The level of the last gate: that of its third argument, and one."""
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
    """What stands at position i: a wire (0), or argument 1, 2, … of a gate. Every gate precedes its arguments."""
    g = i
    which = 0
    if i >= n:
        g = n
        which = i - n
        while which > family.fan_in(n, g):
            which -= family.fan_in(n, g) + 1
            g += 1
    return g, which
