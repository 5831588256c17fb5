"""The models of the zoo on which the lift and facts are tested, with what the codec says of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import islice

import softmachine as sm
from softmachine.certify.tie_breaking import break_ties_in_program
from softmachine.compiler import compile_with_nodes
from softmachine.ir import Program
from softmachine.ir.domain import Domain
from softmachine.ir.primitives import Attention
from softmachine.languages.source import Source
from softmachine.theorems import find_theorem
from softmachine.theorems.codec import Codec
from softmachine.transformer.weights import Transformer
from tests.cases import CASES
from tests.cases import Case as SmallCase
from tests.certified.cases import Case
from tests.models import signals_of
from tests.theorems.test_domain import sequences

COUNTING = ("turing-counter", "turing-counter-relative-bias")
"""Theorems whose programs take a second to build."""


@dataclass(frozen=True)
class Compiled:
    """A program of a theorem and its weights.

    Args:
        program: The program.
        codec: The codec.
        weights: What the program compiles to.
        hints: The node of each head, whose declarations are hints.
    """

    program: Program
    codec: Codec[Source]
    weights: Transformer
    hints: dict[str, Attention]

    @staticmethod
    def of(program: Program, codec: Codec[Source]) -> Compiled:
        """Compile a program."""
        weights, heads, _ = compile_with_nodes(program)
        return Compiled(program, codec, weights, heads)

    @property
    def domain(self) -> Domain:
        """The sequences that the model reads."""
        return self.codec.domain(self.program.vocabulary)

    def without_ties(self) -> Compiled:
        """The same, with ties broken by scores, as certificates need it."""
        return Compiled.of(break_ties_in_program(self.program), self.codec)

    def sequences(self, most: int, positions: int | None = None) -> list[tuple[str, ...]]:
        """What the model reads on some words: at most its first ``positions`` tokens, unless their number is fixed."""
        cut = None if self.program.position_count is not None else positions
        read = (tokens[:cut] for tokens in islice(sequences(self.codec), most))
        return list(dict.fromkeys(filter(None, read)))


def compile_case(case: Case) -> Compiled | None:
    """The model of a row of the table of certificates, at its smallest length; None if there is none."""
    try:
        theorem = find_theorem(load(case.entry), case.theorem)
        length = case.lengths[0] if theorem.length else None
        return Compiled.of(*signals_of(load(case.entry), case.theorem, case.attention, length))
    except sm.SoftmachineError:
        return None


def load(name: str) -> Source:
    """A source of the zoo, or in one line."""
    source = sm.load(name)
    assert isinstance(source, Source)
    return source


@cache
def small_model(case: SmallCase) -> Compiled:
    """A model of the table of cases, compiled once per process."""
    return Compiled.of(*signals_of(load(case.source), case.theorem, case.attention, case.length))


SMALL = [case for case in CASES if case.theorem not in COUNTING]
"""Cases of all theorems that compile quickly."""
