"""Turing machines: data type, reference interpreter, and the established file formats."""

from softmachine.languages.turing.configuration import Action, Configuration, TapeContents
from softmachine.languages.turing.interpreter import (
    TuringResult,
    TuringStopReason,
    execute,
    iterate_actions,
    next_action,
    replay,
)
from softmachine.languages.turing.machine import MOVES, Rule, TapeConvention, TuringMachine, Verdict

__all__ = [
    "MOVES",
    "Rule",
    "TapeConvention",
    "TuringMachine",
    "Verdict",
    "Action",
    "Configuration",
    "TapeContents",
    "TuringStopReason",
    "TuringResult",
    "execute",
    "replay",
    "next_action",
    "iterate_actions",
]
