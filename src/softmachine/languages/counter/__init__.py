"""Counter machines: the data type, its text form, and what they do."""

from softmachine.languages.counter.condition import (
    FALSE,
    TRUE,
    And,
    Comparison,
    Condition,
    Constant,
    Linear,
    Not,
    Or,
    compare,
)
from softmachine.languages.counter.interpreter import (
    Configuration,
    Reason,
    Result,
    RunError,
    execute,
    execute_from,
    step,
    transitions,
)
from softmachine.languages.counter.machine import CounterMachine, Transition, Verdict
from softmachine.languages.counter.syntax import looks_like, parse, to_text
from softmachine.languages.linear import Relation

__all__ = [
    "CounterMachine", "Transition", "Verdict",
    "Condition", "Comparison", "Relation", "Linear", "Not", "And", "Or", "Constant", "TRUE", "FALSE", "compare",
    "Configuration", "Reason", "Result", "RunError", "execute", "execute_from", "step", "transitions",
    "parse", "to_text", "looks_like",
]  # fmt: skip
