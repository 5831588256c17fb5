"""Counter machines: data type, parser, printer, interpreter, and the translation from Turing machines."""

from softmachine.languages.counter.condition import Condition, CounterComparison, holds, make_comparison
from softmachine.languages.counter.from_turing import build_counter_machine
from softmachine.languages.counter.from_turing_relative import build_relative_counter_machine
from softmachine.languages.counter.interpreter import (
    Configuration,
    CounterResult,
    CounterStopReason,
    RunError,
    divergence_error,
    execute,
    execute_from,
    iterate_transitions,
    next_transition,
    replay,
)
from softmachine.languages.counter.machine import CounterMachine, Transition, Verdict
from softmachine.languages.counter.parser import parse, to_text
from softmachine.languages.linear import LinearExpression, Relation
from softmachine.languages.temporal.formula import FALSE, TRUE, And, BooleanConstant, Not, Or

__all__ = [
    "CounterMachine", "Transition", "Verdict", "Condition", "CounterComparison", "Relation", "LinearExpression",
    "Not", "And", "Or", "BooleanConstant", "TRUE", "FALSE", "make_comparison", "holds", "Configuration",
    "CounterStopReason", "CounterResult", "RunError", "execute", "execute_from", "next_transition",
    "iterate_transitions", "replay", "divergence_error", "build_counter_machine", "build_relative_counter_machine",
    "parse", "to_text",
]  # fmt: skip
