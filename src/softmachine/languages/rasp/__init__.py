"""RASP: programs of sequence operators and selectors, their interpreters in exact rationals, types and text form."""

from softmachine.languages.rasp.builder import Builder
from softmachine.languages.rasp.incremental_interpreter import Generation, Reading, generate
from softmachine.languages.rasp.interpreter import evaluate, run
from softmachine.languages.rasp.ir import UNDEFINED, Definition, Operator, Reduction, Undefined, Value
from softmachine.languages.rasp.parser import parse, to_text
from softmachine.languages.rasp.program import Program, canonical
from softmachine.languages.rasp.types import Finite, Integer, Line, Ratio, Type

__all__ = [
    "Program", "Definition", "Builder", "Operator", "Reduction", "Value", "Undefined", "UNDEFINED",
    "Type", "Finite", "Integer", "Ratio", "Line",
    "canonical", "parse", "to_text",
    "Generation", "Reading", "evaluate", "generate", "run",
]  # fmt: skip
