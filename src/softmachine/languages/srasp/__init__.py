"""S-RASP and its fragment without integers, B-RASP: programs, parser, printer, interpreter and normal form."""

from softmachine.languages.srasp.ast import BOOLEAN, INTEGER, Type, ValueKind
from softmachine.languages.srasp.inference import IntegerEquality
from softmachine.languages.srasp.interpreter import accepts, evaluate, run
from softmachine.languages.srasp.operations import (
    AttentionStep,
    PredicateProduct,
    PrefixSumStep,
    list_operations,
    normalise,
    split_predicate,
)
from softmachine.languages.srasp.parser import parse, to_text
from softmachine.languages.srasp.program import Definition, SraspProgram

__all__ = [
    "SraspProgram", "Definition", "ValueKind", "Type", "BOOLEAN", "INTEGER", "parse", "to_text", "accepts",
    "evaluate", "run", "IntegerEquality", "AttentionStep", "PredicateProduct", "PrefixSumStep", "normalise",
    "list_operations", "split_predicate",
]  # fmt: skip
