"""RASP: programs of sequence operators and selectors, their interpreters in exact rationals, types and text form."""

from softmachine.languages.rasp.incremental_interpreter import GeneratedRun, StreamingEvaluator, generate
from softmachine.languages.rasp.interpreter import evaluate, run
from softmachine.languages.rasp.ir import (
    UNDEFINED,
    Definition,
    DefinitionBuilder,
    Operator,
    Reduction,
    Undefined,
    Value,
)
from softmachine.languages.rasp.parser import parse, to_text
from softmachine.languages.rasp.program import RaspProgram, canonicalise
from softmachine.languages.rasp.types import FiniteType, FractionType, IntegerType, Type

__all__ = [
    "RaspProgram", "Definition", "DefinitionBuilder", "Operator", "Reduction", "Value", "Undefined", "UNDEFINED",
    "Type", "FiniteType", "IntegerType", "FractionType",
    "canonicalise", "parse", "to_text",
    "GeneratedRun", "StreamingEvaluator", "evaluate", "generate", "run",
]  # fmt: skip
