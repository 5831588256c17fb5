"""Why a machine cannot be written in a format, if it cannot."""

from __future__ import annotations

from collections.abc import Iterator

from softmachine.errors import UsageError
from softmachine.languages.turing.machine import TuringMachine


def refuse(machine: TuringMachine, format_name: str, obstacles: Iterator[str]) -> None:
    """Say why a format cannot express a machine, if it cannot.

    Raises:
        UsageError: If there are obstacles.
    """
    reasons = "".join(f"\n  - {obstacle}" for obstacle in obstacles)
    if reasons:
        raise UsageError(f"{machine.name!r} cannot be written in the {format_name} format:{reasons}")
