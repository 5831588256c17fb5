"""Signals: the intermediate representation between a theorem and its weights.

A signal is a vector at every position of the sequence. Five primitives create signals (:mod:`.primitives`); everything
else is a gadget composed of them (:mod:`.gadgets`). :func:`.interpreter.evaluate` computes any signal exactly.
"""

from softmachine.ir.interpreter import evaluate
from softmachine.ir.lifter import lift
from softmachine.ir.primitives import attend, loop, named, norm, position, relu, step, token
from softmachine.ir.program import Program, Vocabulary, recogniser
from softmachine.ir.signal import Signal, constant, stack, sum_signals, weighted_sum

__all__ = [
    "Program", "Signal", "Vocabulary", "attend", "constant", "evaluate", "lift", "loop", "named", "norm", "position",
    "recogniser", "relu", "stack", "step", "token", "sum_signals", "weighted_sum",
]  # fmt: skip
