"""Signals: the intermediate representation between a theorem and its weights.

A signal is a vector at every position of the sequence. Five primitives create signals (:mod:`.primitives`); everything
else is a gadget composed of them (:mod:`.gadgets`). :func:`.interpreter.evaluate` computes any signal exactly.
"""

from typing import TYPE_CHECKING, Any

from softmachine.ir.interpreter import evaluate
from softmachine.ir.primitives import attend, loop, named, norm, position, relu, step, token
from softmachine.ir.program import Program, Vocabulary, recogniser
from softmachine.ir.signal import Signal, constant, stack, sum_signals, weighted_sum

if TYPE_CHECKING:
    from softmachine.ir.lifter import lift

__all__ = [
    "Program", "Signal", "Vocabulary", "attend", "constant", "evaluate", "lift", "loop", "named", "norm", "position",
    "recogniser", "relu", "stack", "step", "token", "sum_signals", "weighted_sum",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import ``lift`` when it is used: a run does not lift weights."""
    if name == "lift":
        from softmachine.ir.lifter import lift

        return lift
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
