"""The command line: ``softmachine run palindrome abba``. One thin module a command; all of them end in :func:`main`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out one command and return its exit status.

    0 it ran to a verdict or the check holds; 1 a check does not hold; 2 bad input or usage; 3 step limit reached;
    130 interrupted.

    Args:
        arguments: What follows the program's name; by default what the process was started with.
    """
    from softmachine.cli.failures import guarded

    given = list(sys.argv[1:] if arguments is None else arguments)
    status = guarded(lambda: _carry_out(given), given)
    guarded(_warn, given)
    return status


def _warn() -> int:
    """Name the parts of other people's packages that cannot be used, one a line."""
    from softmachine.plugins import Shelf

    while Shelf.problems:
        print(f"warning: {Shelf.problems.pop(0)}", file=sys.stderr)
    return 0


def _carry_out(arguments: list[str]) -> int:
    from softmachine.cli.app import command

    # What click's own ``main`` does, without its way to report errors.
    with command().make_context("softmachine", arguments) as context:
        status = command().invoke(context)
    _warn_of_plugins()
    return int(status or 0)


def _warn_of_plugins() -> None:
    """Name every part of another package that could not be used, in a line each."""
    plugins = sys.modules.get("softmachine.plugins")
    if plugins is not None and plugins.Shelf.problems:
        from softmachine.cli.output import Output

        for problem in plugins.Shelf.problems:
            Output().warn(f"warning: {problem}")
        plugins.Shelf.problems.clear()
