"""Answers that are remembered: a pure function of the token and a few integers is computed once for each.

Small integers index a table. Where there are too many of them for that, a hash table has one slot for each answer, with
all of its key, which is compared: another key in the slot means that the answer is computed, and takes the slot.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from softmachine.engines.fast.indexes.kernels import Integers

UNKNOWN = -1
LARGEST_TABLE = 1 << 20
"""A table has at most so many entries."""
LEAST_REACH, MOST_REACH = 1, 7
"""A table is for integers from -1 to 2 at least; and it need not be for many more."""
SLOTS = 1 << 15
"""Of a hash table: a power of two, so that it fits into the cache of a core together with all that a run looks at."""
SPREAD, GOLDEN = 0x5BD1E995, 0x9E3779B1
"""Multiplicative hashing (Knuth, volume 3, 6.4): of 31 bits at a time, so that nothing overflows."""
LOW = (1 << 31) - 1


@dataclass(frozen=True)
class Direct:
    """A table: the integers are an index.

    Args:
        vocabulary: How many tokens there are.
        count: How many integers.
        reach: They are remembered from -reach to reach + 1.
    """

    vocabulary: int
    count: int
    reach: int

    @property
    def span(self) -> int:
        """How many values each integer has."""
        return 2 * self.reach + 2

    def fresh(self) -> Integers:
        """Nothing is known yet."""
        return np.full(self.vocabulary * self.span**self.count, UNKNOWN, dtype=np.int64)

    def find(self, names: Sequence[str]) -> Iterator[str]:
        """Lines that look the answer up: ``out``, negative if it is not known."""
        within = " and ".join(f"{-self.reach} <= {name} <= {self.reach + 1}" for name in names) or "True"
        index = f"token * {self.span**self.count}"
        for k, name in enumerate(names):
            index += f" + ({name} + {self.reach}) * {self.span**k}"
        yield "at, out = -1, -1"
        yield f"if {within}:"
        yield f"    at = {index}"
        yield "    out = memory[at]"

    def keep(self, names: Sequence[str]) -> Iterator[str]:
        """Lines that remember an answer."""
        del names
        yield "if at >= 0 and out >= 0:"
        yield "    memory[at] = out"

    def __str__(self) -> str:
        return "remembered for small values"


@dataclass(frozen=True)
class Hashed:
    """A hash table: a slot has the token, the integers and the answer.

    Args:
        count: How many integers.
    """

    count: int

    @property
    def stride(self) -> int:
        """How many numbers a slot has."""
        return self.count + 2

    def fresh(self) -> Integers:
        """No slot has a token."""
        return np.full(SLOTS * self.stride, UNKNOWN, dtype=np.int64)

    def find(self, names: Sequence[str]) -> Iterator[str]:
        """Lines that look the answer up: ``out``, negative if it is not known."""
        yield "at = token"
        for name in names:
            yield f"at = (at * {SPREAD} + {name}) & {LOW}"
        yield f"at = (at * {GOLDEN} >> 16 & {SLOTS - 1}) * {self.stride}"
        same = [f"memory[at + {k}] == {name}" for k, name in enumerate(("token", *names))]
        yield f"out = memory[at + {self.stride - 1}] if {' and '.join(same)} else {UNKNOWN}"

    def keep(self, names: Sequence[str]) -> Iterator[str]:
        """Lines that remember an answer."""
        yield "if out >= 0:"
        for k, name in enumerate(("token", *names, "out")):
            yield f"    memory[at + {k}] = {name}"

    def __str__(self) -> str:
        return f"remembered in {SLOTS:,} slots, by all values"


def remembering(vocabulary: int, count: int) -> Direct | Hashed:
    """How answers are remembered that depend on the token and so many integers."""
    reach = -1
    while reach < MOST_REACH and vocabulary * (2 * (reach + 1) + 2) ** count <= LARGEST_TABLE:
        reach += 1
    return Direct(vocabulary, count, reach) if reach >= LEAST_REACH else Hashed(count)
