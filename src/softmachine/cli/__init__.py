"""The command line: ``softmachine run palindrome abba``. One thin module a command; all of them end in :func:`main`."""

from __future__ import annotations

import gc
import os
import sys

TYPE_CHECKING = False  # as little as possible is imported before `main` can answer Ctrl-C
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

GARBAGE = 100_000
"""So many new objects before garbage is looked for. Imports and compiling make many, none of it garbage: looking for it
took a twentieth of the time of short commands, and a tenth of those that compile much."""

ONE_THREAD = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""What is multiplied here is narrow, and two threads take longer than one: a circuit 1.7 times, an audit 4 times. Who
has set these has their say; many cores are for ``--workers``."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out one command and return its exit status.

    0 it ran to a verdict or the check holds; 1 a check does not hold; 2 bad input or usage; 3 step limit reached;
    130 interrupted.

    Args:
        arguments: What follows the program's name; by default what the process was started with.
    """
    gc.set_threshold(GARBAGE)
    for variable in ONE_THREAD:  # before numpy is there
        os.environ.setdefault(variable, "1")
    try:
        from softmachine.cli.failures import guarded

        given = list(sys.argv[1:] if arguments is None else arguments)
        status = guarded(lambda: _carry_out(given), given)
        guarded(_warn, given)
        return status
    except KeyboardInterrupt:  # before there was anything that could say so
        print("interrupted", file=sys.stderr)
        return 130


def _carry_out(arguments: list[str]) -> int:
    instruction = os.environ.get("_SOFTMACHINE_COMPLETE")
    if instruction:
        from softmachine.cli.completion import complete

        return complete(instruction)
    from softmachine.cli.app import command

    # What click's own ``main`` does, without its way to report errors.
    chosen = command(arguments[0] if arguments else None)
    with chosen.make_context("softmachine", arguments) as context:
        return int(chosen.invoke(context) or 0)


def _warn() -> int:
    """Name the parts of other people's packages that cannot be used, one a line."""
    from softmachine.cli.output import Output
    from softmachine.support.plugins import Shelf

    while Shelf.problems:
        Output().warn(f"warning: {Shelf.problems.pop(0)}")
    return 0
