"""Memoisation of the logits: a pure function of the token and a few integers, computed once per argument.

Small integers index a table. Where that table would be too large, a direct-mapped hash table holds the full key with
each answer and compares it: on a mismatch the answer is computed and replaces the entry.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from softmachine.engines.fast.indexes.kernels import Integers

UNKNOWN = -1
LARGEST_TABLE = 1 << 20
"""Maximum number of entries of a table."""
LEAST_REACH, MOST_REACH = 1, 7
"""A table covers at least the integers from -1 to 2, and at most those from -7 to 8."""
SLOTS = 1 << 15
"""Slots of a hash table: a power of two, small enough for a core's cache together with the other data of a run."""
SPREAD, GOLDEN = 0x5BD1E995, 0x9E3779B1
"""Multiplicative hashing (Knuth, volume 3, section 6.4), on 31 bits at a time to avoid overflow."""
LOW = (1 << 31) - 1


@dataclass(frozen=True)
class Direct:
    """Memoisation in a table indexed by the integers.

    Args:
        vocabulary: The number of tokens.
        count: The number of integers.
        reach: The table covers integers from -reach to reach + 1.
    """

    vocabulary: int
    count: int
    reach: int

    @property
    def span(self) -> int:
        """The number of values per integer."""
        return 2 * self.reach + 2

    def fresh(self) -> Integers:
        """An empty table."""
        return np.full(self.vocabulary * self.span**self.count, UNKNOWN, dtype=np.int64)

    def find(self, names: Sequence[str]) -> Iterator[str]:
        """Lines that look up the answer: ``out``, negative if it is not stored."""
        within = " and ".join(f"{-self.reach} <= {name} <= {self.reach + 1}" for name in names) or "True"
        index = f"token * {self.span**self.count}"
        for k, name in enumerate(names):
            index += f" + ({name} + {self.reach}) * {self.span**k}"
        yield "at, out = -1, -1"
        yield f"if {within}:"
        yield f"    at = {index}"
        yield "    out = memory[at]"

    def keep(self, names: Sequence[str]) -> Iterator[str]:
        """Lines that store an answer."""
        del names
        yield "if at >= 0 and out >= 0:"
        yield "    memory[at] = out"

    def __str__(self) -> str:
        return "memoised for small values"


@dataclass(frozen=True)
class Hashed:
    """Memoisation in a hash table; a slot holds the token, the integers and the answer.

    Args:
        count: The number of integers.
    """

    count: int

    @property
    def stride(self) -> int:
        """The number of integers per slot."""
        return self.count + 2

    def fresh(self) -> Integers:
        """An empty hash table."""
        return np.full(SLOTS * self.stride, UNKNOWN, dtype=np.int64)

    def find(self, names: Sequence[str]) -> Iterator[str]:
        """Lines that look up the answer: ``out``, negative if it is not stored."""
        yield "at = token"
        for name in names:
            yield f"at = (at * {SPREAD} + {name}) & {LOW}"
        yield f"at = (at * {GOLDEN} >> 16 & {SLOTS - 1}) * {self.stride}"
        same = [f"memory[at + {k}] == {name}" for k, name in enumerate(("token", *names))]
        yield f"out = memory[at + {self.stride - 1}] if {' and '.join(same)} else {UNKNOWN}"

    def keep(self, names: Sequence[str]) -> Iterator[str]:
        """Lines that store an answer."""
        yield "if out >= 0:"
        for k, name in enumerate(("token", *names, "out")):
            yield f"    memory[at + {k}] = {name}"

    def __str__(self) -> str:
        return f"memoised in {SLOTS:,} slots"


def remembering(vocabulary: int, count: int) -> Direct | Hashed:
    """Choose the memoisation for answers that depend on the token and ``count`` integers."""
    reach = -1
    while reach < MOST_REACH and vocabulary * (2 * (reach + 1) + 2) ** count <= LARGEST_TABLE:
        reach += 1
    return Direct(vocabulary, count, reach) if reach >= LEAST_REACH else Hashed(count)
