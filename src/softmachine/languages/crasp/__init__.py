"""C-RASP with and without chain of thought: programs, parser, printer, semantics, and translations into it."""

from softmachine.languages.crasp.core import Core, core, counted
from softmachine.languages.crasp.evaluate import Evaluation
from softmachine.languages.crasp.formula import Comparison, NamedFormula, compare
from softmachine.languages.crasp.incremental import Result, generate, run
from softmachine.languages.crasp.program import ACCEPT, REJECT, Definition, Program, Rule
from softmachine.languages.crasp.relation import RELATIONS, Encoding, beta, decode, encode
from softmachine.languages.crasp.syntax import parse, to_text
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
