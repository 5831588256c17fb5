"""Turing machines: data type, reference interpreter, and the established file formats."""

from softmachine.languages.turing.configuration import Action, Configuration, Contents
from softmachine.languages.turing.interpreter import Reason, Result, execute, replay, step, traced
from softmachine.languages.turing.machine import MOVES, Rule, Tape, TuringMachine, Verdict

__all__ = [
    "MOVES",
    "Rule",
    "Tape",
    "TuringMachine",
    "Verdict",
    "Action",
    "Configuration",
    "Contents",
    "Reason",
    "Result",
    "execute",
    "replay",
    "step",
    "traced",
]
