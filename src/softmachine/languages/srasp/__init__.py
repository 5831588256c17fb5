"""S-RASP and its fragment without integers, B-RASP: programs, parser, printer, interpreter and normal form."""

from softmachine.languages.srasp.inference import Equality
from softmachine.languages.srasp.interpreter import accepts, evaluate, run
from softmachine.languages.srasp.operations import Lookup, Sum, normalise, operations
from softmachine.languages.srasp.parser import parse, to_text
from softmachine.languages.srasp.predicate_split import Product, split
from softmachine.languages.srasp.program import Definition, Program
from softmachine.languages.srasp.value_types import BOOLEAN, INTEGER, Kind, Type

__all__ = [
    "Program", "Definition", "Kind", "Type", "BOOLEAN", "INTEGER",
    "parse", "to_text", "accepts", "evaluate", "run",
    "Equality", "Lookup", "Product", "Sum", "normalise", "operations", "split",
]  # fmt: skip
