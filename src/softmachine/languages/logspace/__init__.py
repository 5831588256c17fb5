"""Nondeterministic logspace machines (the class NL): data type, reference interpreter, parser and printer."""

from softmachine.languages.logspace.machine import (
    Configuration,
    LogspaceMachine,
    Rule,
    accepts,
    parse,
    reachable_configurations,
    successors,
    to_text,
)

__all__ = [
    "Configuration", "LogspaceMachine", "Rule",
    "accepts", "successors", "reachable_configurations",
    "parse", "to_text",
]  # fmt: skip
