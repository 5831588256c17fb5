"""RASP in Python: sequence operators and selectors as objects, with the names that tracr uses.

>>> from softmachine import rasp
>>> same = rasp.Select(rasp.tokens, rasp.tokens, rasp.Comparison.EQ)
>>> hist = rasp.SelectorWidth(same).named("hist")
>>> hist("hello")
[1, 1, 2, 2, 1]
>>> program = rasp.program(hist, "helo")  # accepted by sm.compile and sm.run
"""

from softmachine.languages.rasp.program import RaspProgram
from softmachine.languages.rasp.python.expression import Expression, annotate
from softmachine.languages.rasp.python.expression import Expression as RASPExpr
from softmachine.languages.rasp.python.lowering import evaluate_expression as evaluate
from softmachine.languages.rasp.python.lowering import program
from softmachine.languages.rasp.python.selectors import (
    Aggregate,
    Comparison,
    ConstantSelector,
    Select,
    Selector,
    SelectorAnd,
    SelectorNot,
    SelectorOr,
    SelectorWidth,
    selector_and,
    selector_not,
    selector_or,
)
from softmachine.languages.rasp.python.sequences import (
    ConstantSOp,
    Encoding,
    Full,
    IndicesType,
    LengthType,
    LinearSequenceMap,
    Map,
    SequenceMap,
    SOp,
    TokensType,
    categorical,
    get_encoding,
    indices,
    is_categorical,
    is_numerical,
    length,
    numerical,
    sop_not,
    tokens,
)

__all__ = [
    "tokens", "indices", "length", "Full", "Map", "SequenceMap", "LinearSequenceMap", "ConstantSOp", "sop_not",
    "Select", "Comparison", "ConstantSelector", "SelectorAnd", "SelectorOr", "SelectorNot", "SelectorWidth",
    "Aggregate", "numerical", "categorical", "get_encoding", "is_numerical", "is_categorical", "Encoding",
    "Expression", "SOp", "Selector", "TokensType", "IndicesType", "LengthType", "RaspProgram", "program", "RASPExpr",
    "annotate", "evaluate", "selector_and", "selector_or", "selector_not",
]  # fmt: skip
