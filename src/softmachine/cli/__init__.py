"""The command line: ``softmachine run palindrome abba``. One module per command; :func:`main` is the entry point."""

from __future__ import annotations

import gc
import os
import sys

TYPE_CHECKING = False  # minimal imports before `main` can handle Ctrl-C
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

GC_THRESHOLD = 100_000
"""Allocations between garbage collections. Imports and compiling allocate many objects that stay alive: with the
default, collecting them took 5 % of short commands, and 10 % of those that mostly compile."""

ONE_THREAD = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Variables set to one thread, unless they are set: matrices are narrow, and two threads slow them down (a circuit 1.7
times, an audit 4 times). ``--workers`` uses more cores."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Execute a command and return its exit status.

    0 verdict reached, or check holds; 1 check or certificate does not hold; 2 bad input or usage; 3 step limit reached;
    130 interrupted.

    Args:
        arguments: The arguments after the program's name. Default: those of the process.
    """
    gc.set_threshold(GC_THRESHOLD)
    for variable in ONE_THREAD:  # before numpy is imported
        os.environ.setdefault(variable, "1")
    try:
        from softmachine.cli.errors import run_guarded

        given = list(sys.argv[1:] if arguments is None else arguments)
        status = run_guarded(lambda: _execute(given), given)
        run_guarded(_warn_of_plugins, given)
        return status
    except KeyboardInterrupt:  # before the error reporter was imported
        print("interrupted", file=sys.stderr)
        return 130


def _execute(arguments: list[str]) -> int:
    instruction = os.environ.get("_SOFTMACHINE_COMPLETE")
    if instruction:
        from softmachine.cli.completion import complete

        return complete(instruction)
    from softmachine.cli.app import command

    # As click's ``main``, but without its error reporting.
    chosen = command(arguments[0] if arguments else None)
    with chosen.make_context("softmachine", arguments) as context:
        return int(chosen.invoke(context) or 0)


def _warn_of_plugins() -> int:
    """Print a warning for each plug-in that cannot be used."""
    from softmachine.cli.output import Output
    from softmachine.support.plugins import Registry

    while Registry.problems:
        Output().warn(f"warning: {Registry.problems.pop(0)}")
    return 0
