"""A theorem with a position feature of its own: the words of even length."""

from __future__ import annotations

from dataclasses import dataclass

from softmachine.ir import Program, position, recogniser
from softmachine.ir.ranges import BIT
from softmachine.languages.predicate import FormalLanguage
from softmachine.theorems import Theorem
from softmachine.theorems.shared.recogniser_codec import RecogniserCodec
from softmachine.transformer.features import Feature

EVEN = FormalLanguage("even-length", ("a", "b"), lambda word: len(word) % 2 == 0)


@dataclass(frozen=True)
class EveryOther(Feature):
    """1 at every so many positions, else 0."""

    period: int

    @property
    def name(self) -> str:
        return f"every {self.period}"

    def value(self, i: int, n: int) -> int:
        return int(i % self.period == 0)


def signals(codec: RecogniserCodec) -> Program:
    return recogniser(EVEN.name, codec.tokens, position(EveryOther(2)).with_range(BIT))


THEOREM = Theorem(
    name="even-length",
    statement="words of even length",
    reference="a toy",
    requirements="a position feature",
    cost="no layer",
    source=EVEN,
    attentions=("hard",),
    codec=lambda language, _: RecogniserCodec(language),
    signals=lambda codec, _: signals(codec),
    features=(EveryOther,),
)
