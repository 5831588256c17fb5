"""C-RASP with and without chain of thought: programs, parser, printer, semantics, and translations into it."""

from softmachine.languages.crasp.desugaring import DesugaredProgram, desugar, linear_counts
from softmachine.languages.crasp.interpreter import Evaluation
from softmachine.languages.crasp.parser import parse, to_text
from softmachine.languages.crasp.program import (
    ACCEPT,
    REJECT,
    CraspProgram,
    Definition,
    NamedFormula,
    Rule,
    TermComparison,
    make_comparison,
)
from softmachine.languages.crasp.relations import RELATIONS, RelativeEncoding, beta, decode_word, encode_word
from softmachine.languages.crasp.streaming_interpreter import CraspResult, generate, run
from softmachine.languages.crasp.terms import AtomicTerm, Conditional, Count, Maximum, Minimum, NamedTerm, Term, as_term

__all__ = [
    "CraspProgram", "Definition", "Rule", "ACCEPT", "REJECT",
    "TermComparison", "NamedFormula", "make_comparison",
    "Term", "AtomicTerm", "Count", "NamedTerm", "Conditional", "Minimum", "Maximum", "as_term",
    "parse", "to_text",
    "desugar", "DesugaredProgram", "linear_counts",
    "run", "generate", "CraspResult", "Evaluation",
    "RELATIONS", "beta", "RelativeEncoding", "encode_word", "decode_word",
]  # fmt: skip
