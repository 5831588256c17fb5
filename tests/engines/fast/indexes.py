"""An index of groups by itself, as tests and benchmarks fill and ask it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from softmachine.engines.fast import store
from softmachine.engines.fast.analysis.forms import Form
from softmachine.engines.fast.analysis.grids import FRACTION, Grid, Number
from softmachine.engines.fast.analysis.plans import Forest
from softmachine.engines.fast.codegen.serving import Storage
from softmachine.engines.fast.indexes import descent, finding, groups
from softmachine.engines.fast.indexes.index import group_arrays, larger_groups

GROUP_ARRAYS = ("keys", "places", "values", "slots", "meta", "box")


def _plain(module: ModuleType, name: str) -> Callable[..., Any]:
    return cast(Callable[..., Any], store.plain_names(vars(module))[name])


def _compiled(module: ModuleType, name: str) -> Callable[..., Any]:
    """A kernel as decoders call it, kept on disk as they are."""
    parameters = ", ".join(inspect.signature(getattr(module, name).py_func).parameters)
    if name in store.LARGE:
        text = f"def advance({parameters}, found, {name}):\n    found[0] = {name}({parameters})\n"
    else:
        text = f"from {module.__name__} import {name}\n\n\n"
        text += f"def advance({parameters}, found):\n    found[0], found[1] = {name}({parameters})\n"
    advance, found = store.compiled(text), np.zeros(2, dtype=np.int64)

    def call(*arguments: Any) -> Any:
        advance(*arguments, found)
        return found[0] if name in store.LARGE else found

    return call


class Index:
    """The groups of a head, and the forest over them.

    Args:
        components: The components of a key.
        row: The integers of a value; pairs of numerator and denominator if values are fractions.
        fractional_keys: Whether keys are fractions: pairs of integers in lowest terms.
        fractions: Whether values are.
        capacity: Room for so many groups at first, a power of two.
        plain: Whether to run as plain Python.
    """

    def __init__(
        self,
        components: int,
        row: int = 1,
        *,
        fractional_keys: bool = False,
        fractions: bool = False,
        capacity: int = 64,
        plain: bool = False,
    ) -> None:
        known = FRACTION if fractions else Number(Grid())
        width = row // 2 if fractions else row
        forms = (Form(),) * components
        head = cast(Any, SimpleNamespace(name="head"))
        plan = Forest(head, ((0, 0),) * width, (known,) * width, (), "", forms, forms, Form(), fractional_keys)
        self.storage = Storage("forest", "h", plan, row, components * (2 if fractional_keys else 1))
        self.parts = group_arrays(self.storage, capacity)
        self.fractional_keys, self.fractions = fractional_keys, fractions
        self.count = 0
        self._insert, self._scan, self._search = (
            _plain(module, name) if plain else _compiled(module, name)
            for module, name in ((groups, "insert_in_forest"), (finding, "search"), (descent, "search_forest"))
        )

    def arrays(self, *names: str) -> list[NDArray[np.int64]]:
        return [self.parts[f"h_{name}"] for name in names]

    @property
    def kept(self) -> list[NDArray[np.int64]]:
        """The arrays that inserting works on."""
        near = "near" if self.fractional_keys else "keys"
        return self.arrays(*GROUP_ARRAYS, near, "order", "boxes", "marks", "rest")

    def insert(self, key: Sequence[int], value: Sequence[int]) -> None:
        """Add a key and its value, twice, of which the second time counts nothing."""
        for _ in range(2):
            arguments = (np.array(key), np.array(value), self.count, self.fractional_keys, self.fractions)
            found = self._insert(*self.kept, *arguments)
            if found == groups.FULL:
                self.parts = larger_groups(self.storage, self.parts)
                found = self._insert(*self.kept, *arguments)
            assert found == groups.FITS
        self.count += 1

    def search(self, query: Sequence[int], time: int, choice: int) -> tuple[int, bool, list[int]]:
        """How many values there are, whether something did not fit, and their sum, by the forest."""
        arrays = self.arrays(*GROUP_ARRAYS, "order", "boxes", "marks", "stack", "key")
        out = self.parts["h_out"]
        count = self._search(*arrays, np.array(query), time, choice, self.fractional_keys, self.fractions, out)
        return int(count), bool(count < 0), out.tolist()

    def scan(self, query: Sequence[int], time: int, choice: int) -> tuple[int, bool, list[int]]:
        """The same, by looking at every group."""
        return self._asked(self._scan, self.arrays(*GROUP_ARRAYS, "key"), query, time, choice)

    def _asked(
        self, function: Any, arrays: list[NDArray[np.int64]], query: Sequence[int], time: int, choice: int
    ) -> tuple[int, bool, list[int]]:
        out = self.parts["h_out"]
        count, bad = function(*arrays, np.array(query), time, choice, self.fractional_keys, self.fractions, out)
        return int(count), bool(bad), out.tolist()
