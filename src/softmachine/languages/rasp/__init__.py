"""RASP: programs of sequence operators and selectors, their interpreters in exact rationals, types and text form."""

from softmachine.languages.rasp.building import Builder
from softmachine.languages.rasp.canonical import canonical
from softmachine.languages.rasp.core import UNDEFINED, Definition, Operator, Reduction, Undefined, Value
from softmachine.languages.rasp.evaluate import evaluate, run
from softmachine.languages.rasp.incremental import Generation, Reading, generate
from softmachine.languages.rasp.program import Program
from softmachine.languages.rasp.syntax import parse, to_text
from softmachine.languages.rasp.value_types import Finite, Integer, Line, Ratio, Type

__all__ = [
    "Program", "Definition", "Builder", "Operator", "Reduction", "Value", "Undefined", "UNDEFINED",
    "Type", "Finite", "Integer", "Ratio", "Line",
    "canonical", "parse", "to_text",
    "Generation", "Reading", "evaluate", "generate", "run",
]  # fmt: skip
