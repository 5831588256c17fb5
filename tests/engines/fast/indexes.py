"""A stand-alone index of groups for tests."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import cache
from types import ModuleType
from typing import Any, cast

import numpy as np

from softmachine.engines.fast import code_cache
from softmachine.engines.fast.indexes import groups
from softmachine.engines.fast.indexes import groups as finding
from softmachine.engines.fast.indexes.arrays import KeyGroups


def kernel_of(module: ModuleType, name: str, *, plain: bool) -> Callable[..., Any]:
    """A kernel as plain Python, or as machine code."""
    return cast(Callable[..., Any], code_cache.without_numba(vars(module))[name]) if plain else _compiled(module, name)


@cache
def _compiled(module: ModuleType, name: str) -> Callable[..., Any]:
    """A kernel compiled like those that decoders call, cached on disk."""
    parameters = ", ".join(inspect.signature(getattr(module, name).py_func).parameters)
    text = f"from {module.__name__} import {name}\n\n\ndef advance({parameters}, found):\n"
    inserts = name.startswith("insert")
    text += f"    {'found[0]' if inserts else 'found[0], found[1]'} = {name}({parameters})\n"
    advance, found = code_cache.compile_code(text), np.zeros(2, dtype=np.int64)

    def call(*arguments: Any) -> Any:
        advance(*arguments, found)
        return found[0] if inserts else found

    return call


class Index:
    """The groups of a head.

    Args:
        components: The components of a key.
        row: The integers of a value; pairs of numerator and denominator if values are fractions.
        fractional_keys: Whether keys are fractions: pairs of integers in lowest terms.
        fractions: Whether values are.
        plain: Whether to run as plain Python.
    """

    def __init__(
        self,
        components: int,
        row: int = 1,
        *,
        fractional_keys: bool = False,
        fractions: bool = False,
        plain: bool = False,
    ) -> None:
        self.storage = KeyGroups("h", row, "head", components * (2 if fractional_keys else 1), components)
        self.arrays = self.storage.allocate(64)
        self.fractional_keys, self.fractions = fractional_keys, fractions
        self.count = 0
        self._insert, self._search = (
            kernel_of(module, name, plain=plain) for module, name in ((groups, "insert"), (finding, "search"))
        )

    def insert(self, key: Sequence[int], value: Sequence[int]) -> None:
        """Insert a key and its value twice; the second call must have no effect."""
        for _ in range(2):
            arguments = (np.array(key), np.array(value), self.count, self.fractions)
            found = self._insert(*self.arrays[:6], *arguments)
            if found == groups.FULL:
                self.arrays = self.storage.enlarge(self.arrays)
                found = self._insert(*self.arrays[:6], *arguments)
            assert found == groups.OK
        self.count += 1

    def search(self, query: Sequence[int], time: int, choice: int) -> tuple[int, bool, list[int]]:
        """The number of values, whether an overflow occurred, and their sum."""
        out = self.arrays[-1]
        arguments = (np.array(query), time, choice, self.fractional_keys, self.fractions, out)
        count, bad = self._search(*self.arrays[:7], *arguments)
        return int(count), bool(bad), out.tolist()
