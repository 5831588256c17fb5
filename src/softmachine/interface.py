"""What goes into a model that answers at once, and what comes out where: all that its users need to know."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Interface:
    """What goes into a model that answers at once, and what it says where; positions count the tokens of its prompt.

    Args:
        symbols: The tokens that an input is made of.
        meaning: What an answer says, in sentences.
        inputs: What each symbol of an input is, if all inputs have the same; they are the first tokens of the prompt.
        outputs: The name and the position of each output; none if every symbol has an answer of its own.
        verdict: Where "true" means that the input is accepted, -1 for the last position; None if there is no verdict.
    """

    symbols: tuple[str, ...]
    meaning: str
    inputs: tuple[str, ...] = ()
    outputs: tuple[tuple[str, int], ...] = ()
    verdict: int | None = None
