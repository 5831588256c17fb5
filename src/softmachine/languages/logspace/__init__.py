"""Nondeterministic logspace machines (the class NL): data type, reference interpreter, parser and printer."""

from softmachine.languages.logspace.machine import (
    Configuration,
    LogspaceMachine,
    Rule,
    accepts,
    reachable_configurations,
    successors,
)
from softmachine.languages.logspace.parser import parse, to_text

__all__ = [
    "Configuration", "LogspaceMachine", "Rule",
    "accepts", "successors", "reachable_configurations",
    "parse", "to_text",
]  # fmt: skip
