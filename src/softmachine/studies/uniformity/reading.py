"""Front end of the Python-to-machine compiler: bodies and parameters of functions, or of generated code."""

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
    """A program uses a construct outside the supported subset of Python."""


@dataclass(frozen=True)
class Written:
    """Generated program: source text that is compiled to a machine and never run as Python.

    Args:
        text: The body.
        called: The programs that it calls.
        parameters: Its parameters; ``tape`` are the input and output tapes.
    """

    text: str
    called: Mapping[str, Callable[..., Any]] = field(hash=False)
    parameters: tuple[str, ...] = ("tape",)


Code = Callable[..., Any] | Written


def title(function: Code) -> str:
    """Return the name of a program for messages."""
    return "a generated program" if isinstance(function, Written) else function.__qualname__


def parameters(function: Code) -> list[str]:
    """Return the names of the parameters; the tapes, if it uses them, are first."""
    return list(function.parameters if isinstance(function, Written) else signature(function).parameters)


def around(function: Code) -> Mapping[str, Any]:
    """Return the global names of a function."""
    return function.called if isinstance(function, Written) else vars(sys.modules[function.__module__])


@cache
def definition(function: Code) -> list[ast.stmt]:
    """Return the body of a function; a return is allowed only as its last statement."""
    if isinstance(function, Written):
        return ast.parse(function.text).body
    tree = ast.parse(dedent(getsource(function))).body[0]
    if not isinstance(tree, ast.FunctionDef):
        raise ProgramError(f"{title(function)} is not a named function")
    returns = [node for node in ast.walk(tree) if isinstance(node, ast.Return)]
    if returns and returns != [tree.body[-1]]:
        raise ProgramError(f"{title(function)} returns before its end")
    return tree.body


def assigned(body: list[ast.stmt]) -> set[str]:
    """Return the variables that a body assigns."""
    nodes = (node for statement in body for node in ast.walk(statement))
    return {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
