"""Causal RASP as functions of sequences, with the names that RASP-L uses.

A program is a Python function of a sequence. It is called once with a symbolic sequence, which records its operations:

>>> from softmachine.rasp import causal
>>> def previous(x):
...     return causal.shift_right(x, 1)
>>> causal.evaluate(previous, [3, 1, 2])
[0, 3, 1]
>>> program = causal.program(previous, [1, 2, 3])  # accepted by sm.compile and sm.run
"""

from softmachine.languages.rasp.python.causal.array import Sequence
from softmachine.languages.rasp.python.causal.library import (
    aggr,
    aggr_max,
    aggr_mean,
    aggr_min,
    argmax,
    argmin,
    binary_mode,
    cumsum,
    equals,
    evaluate,
    first_true,
    firsts,
    full,
    geq,
    gt,
    has_seen,
    index_select,
    indices,
    induct,
    induct_kqv,
    induct_prev,
    kqv,
    lasts,
    leq,
    lt,
    mask,
    maximum,
    minimum,
    mode,
    num_prev,
    program,
    sel_width,
    select,
    seq_map,
    shift_right,
    tok_map,
    where,
)

__all__ = [
    "full", "indices", "tok_map", "seq_map", "where", "select", "sel_width", "aggr", "aggr_mean", "aggr_max",
    "aggr_min", "kqv", "equals", "leq", "lt", "geq", "gt", "shift_right", "cumsum", "mask", "maximum", "minimum",
    "argmax", "argmin", "num_prev", "has_seen", "firsts", "lasts", "index_select", "first_true", "mode",
    "binary_mode", "induct", "induct_kqv", "induct_prev", "Sequence", "evaluate", "program",
]  # fmt: skip
