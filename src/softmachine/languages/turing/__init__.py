"""Turing machines: the data type, the reference interpreter, and the file formats people already use."""

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
