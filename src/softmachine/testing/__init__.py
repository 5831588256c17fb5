"""Tests of theorems: assertions, words, random sources of every language, Hypothesis strategies.

Importing softmachine does not import this package. Its modules:

- assertions, which this module re-exports: :func:`assert_theorem_holds`, :func:`assert_agrees`,
  :func:`assert_computes_signals`, :func:`assert_engines_agree`, :func:`assert_kept_as_text`;
- inputs: :func:`words`, :func:`strings`, :func:`random_word`; sources loaded as a type: :func:`load_as`;
- generators, one module per language: ``turing``, ``counter``, ``logspace``, ``temporal``, ``crasp``, ``srasp``,
  ``rasp``, ``circuit`` (families of circuits, too), ``graph``. The first argument is a random generator or a seed;
- ``strategies``: the same generators as Hypothesis strategies, which shrink. It needs the extra ``testing``.

>>> from softmachine.testing import assert_theorem_holds
>>> from softmachine.testing.turing import random_turing_machine
>>> assert_theorem_holds("turing-average-hard", random_turing_machine(7), up_to=3, max_steps=50)
"""

from __future__ import annotations

from softmachine.testing.agreement import (
    arithmetics_for,
    assert_agrees,
    assert_computes_signals,
    assert_engines_agree,
    assert_kept_as_text,
    assert_theorem_holds,
    logits,
)
from softmachine.testing.randomness import Seed
from softmachine.testing.words import load_as, random_word, strings, words

__all__ = [
    "Seed",
    "arithmetics_for",
    "assert_agrees",
    "assert_computes_signals",
    "assert_engines_agree",
    "assert_kept_as_text",
    "assert_theorem_holds",
    "load_as",
    "logits",
    "random_word",
    "strings",
    "words",
]
