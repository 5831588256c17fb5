"""C-RASP with and without chain of thought: programs, parser, printer, semantics, and translations into it."""

from softmachine.languages.crasp.desugaring import Core, core, counted
from softmachine.languages.crasp.interpreter import Evaluation
from softmachine.languages.crasp.parser import parse, to_text
from softmachine.languages.crasp.program import (
    ACCEPT,
    REJECT,
    Comparison,
    Definition,
    NamedFormula,
    Program,
    Rule,
    compare,
)
from softmachine.languages.crasp.relations import RELATIONS, Encoding, beta, decode, encode
from softmachine.languages.crasp.streaming_interpreter import Result, generate, run
from softmachine.languages.crasp.terms import Conditional, Count, Maximum, Minimum, NamedTerm, Number, Term, term

__all__ = [
    "Program", "Definition", "Rule", "ACCEPT", "REJECT",
    "Comparison", "NamedFormula", "compare",
    "Term", "Number", "Count", "NamedTerm", "Conditional", "Minimum", "Maximum", "term",
    "parse", "to_text",
    "core", "Core", "counted",
    "run", "generate", "Result", "Evaluation",
    "RELATIONS", "beta", "Encoding", "encode", "decode",
]  # fmt: skip
