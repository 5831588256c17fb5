"""Copies of Python functions with built-in functions replaced."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping
from functools import partial
from types import CellType, FunctionType
from typing import Any, Final

MOST_FUNCTIONS: Final = 200
"""Maximal number of copied functions; the rest of a large library stays unchanged."""


def shadowed(function: Callable[..., Any], names: Mapping[str, Any]) -> Callable[..., Any]:
    """A copy of a function in which names of built-ins, such as ``int``, resolve to replacements.

    The replacement extends to called functions that are written in Python and referenced by name. Names that a module
    defines itself are not replaced.

    Args:
        function: The function; it is not modified.
        names: The replacements, by name of the built-in function.
    """
    replaced = {id(getattr(builtins, name)): item for name, item in names.items()}
    done: dict[int, Callable[..., Any]] = {}

    def new(item: Any) -> Any:
        if isinstance(item, partial):
            return partial(new(item.func), *item.args, **item.keywords)
        if not isinstance(item, FunctionType) or (len(done) >= MOST_FUNCTIONS and id(item) not in done):
            return replaced.get(id(item), item)
        if id(item) not in done:
            copy(item)
        return done[id(item)]

    def copy(item: FunctionType) -> None:
        space = dict(item.__globals__)
        closure = tuple(CellType() for _ in item.__closure__ or ())
        made = FunctionType(item.__code__, space, item.__name__, item.__defaults__, closure or None)
        made.__kwdefaults__ = item.__kwdefaults__
        done[id(item)] = made
        made.__defaults__ = item.__defaults__ and tuple(map(new, item.__defaults__))
        for cell, old in zip(closure, item.__closure__ or (), strict=True):
            if not _is_empty(old):
                cell.cell_contents = new(old.cell_contents)
        for name in _mentioned(item):
            if name in space:
                space[name] = new(space[name])
            elif name in names:
                space[name] = names[name]

    result: Callable[..., Any] = new(function)
    return result


def _mentioned(function: FunctionType) -> tuple[str, ...]:
    """The names that a function references, including those in nested functions."""
    codes, names = [function.__code__], list[str]()
    while codes:
        code = codes.pop()
        names += code.co_names
        codes += [constant for constant in code.co_consts if isinstance(constant, type(code))]
    return tuple(names)


def _is_empty(cell: CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018 - the access raises if the cell is empty
    except ValueError:
        return True
    return False
