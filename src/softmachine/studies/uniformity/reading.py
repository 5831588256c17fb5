"""What programs are read from: functions of Python, by their source, or text that another part wrote."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from inspect import getsource, signature
from textwrap import dedent
from typing import Any


class ProgramError(ValueError):
    """A program has something that no machine is made of."""


@dataclass(frozen=True)
class Written:
    """A program that is no function of Python, but text that another part made; it is read, and never run as Python.

    Args:
        text: The body.
        called: The programs that it calls.
        parameters: Its parameters; the input and output are ``tape``.
    """

    text: str
    called: Mapping[str, Callable[..., Any]] = field(hash=False)
    parameters: tuple[str, ...] = ("tape",)


Code = Callable[..., Any] | Written


def title(function: Code) -> str:
    """What messages call it."""
    return "a written program" if isinstance(function, Written) else function.__qualname__


def parameters(function: Code) -> list[str]:
    """The names of its parameters; if it reads or prints, the tapes first."""
    return list(function.parameters if isinstance(function, Written) else signature(function).parameters)


def around(function: Code) -> Mapping[str, Any]:
    """What names stand for that a function does not bind itself."""
    return function.called if isinstance(function, Written) else vars(sys.modules[function.__module__])


@cache
def definition(function: Code) -> list[ast.stmt]:
    """The body of a function; the one return is its last statement."""
    if isinstance(function, Written):
        return ast.parse(function.text).body
    tree = ast.parse(dedent(getsource(function))).body[0]
    if not isinstance(tree, ast.FunctionDef):
        raise ProgramError(f"{title(function)} is no function with a name")
    returns = [node for node in ast.walk(tree) if isinstance(node, ast.Return)]
    if returns and returns != [tree.body[-1]]:
        raise ProgramError(f"{title(function)} returns before its end")
    return tree.body


def assigned(body: list[ast.stmt]) -> set[str]:
    """The variables that a body changes."""
    nodes = (node for statement in body for node in ast.walk(statement))
    return {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
