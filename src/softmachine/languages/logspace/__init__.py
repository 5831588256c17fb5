"""Nondeterministic logspace machines (the class NL): data type, reference interpreter, parser and printer."""

from softmachine.languages.logspace.interpreter import accepts, following, reachable
from softmachine.languages.logspace.machine import Configuration, LogspaceMachine, Rule
from softmachine.languages.logspace.syntax import parse, to_text

__all__ = [
    "Configuration", "LogspaceMachine", "Rule",
    "accepts", "following", "reachable",
    "parse", "to_text",
]  # fmt: skip
