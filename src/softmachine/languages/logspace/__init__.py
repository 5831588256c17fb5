"""Nondeterministic logspace machines (the class NL): data type, reference interpreter, parser and printer."""

from softmachine.languages.logspace.machine import Configuration, LogspaceMachine, Rule, accepts, following, reachable
from softmachine.languages.logspace.parser import parse, to_text

__all__ = [
    "Configuration", "LogspaceMachine", "Rule",
    "accepts", "following", "reachable",
    "parse", "to_text",
]  # fmt: skip
