"""Counter machines: data type, parser, printer, interpreter, and the translation from Turing machines."""

from softmachine.languages.counter.condition import Condition, CounterComparison, compare, holds
from softmachine.languages.counter.from_turing import counter_machine
from softmachine.languages.counter.from_turing_relative import relative_counter_machine
from softmachine.languages.counter.interpreter import (
    Configuration,
    Reason,
    Result,
    RunError,
    execute,
    execute_from,
    follow,
    parted,
    step,
    transitions,
)
from softmachine.languages.counter.machine import CounterMachine, Transition, Verdict
from softmachine.languages.counter.parser import parse, to_text
from softmachine.languages.linear import Linear, Relation
from softmachine.languages.temporal.formula import FALSE, TRUE, And, Constant, Not, Or

__all__ = [
    "CounterMachine", "Transition", "Verdict",
    "Condition", "CounterComparison", "Relation", "Linear", "Not", "And", "Or", "Constant", "TRUE", "FALSE", "compare",
    "holds",
    "Configuration", "Reason", "Result", "RunError", "execute", "execute_from", "step", "transitions",
    "follow", "parted",
    "counter_machine", "relative_counter_machine",
    "parse", "to_text",
]  # fmt: skip
