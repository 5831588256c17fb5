"""Turing machines: the data type, the reference interpreter, and the file formats people already use."""

from softmachine.languages.turing.machine import MOVES, Rule, Tape, TuringMachine, Verdict

__all__ = ["MOVES", "Rule", "Tape", "TuringMachine", "Verdict"]
