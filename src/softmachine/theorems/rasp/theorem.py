"""RASP in a transformer, an encoder or a decoder."""

from __future__ import annotations

from fractions import Fraction

from softmachine.errors import ConstructionError
from softmachine.languages import rasp
from softmachine.signals import Program
from softmachine.signals.kinds import BIT
from softmachine.signals.primitives import one_hot
from softmachine.theorems.rasp.build import Build
from softmachine.theorems.rasp.frame import AtLetters, Frame
from softmachine.theorems.rasp.outputs import logits
from softmachine.theorems.rasp.tokens import RaspCodec
from softmachine.theorems.shared.special_tokens import START, unused
from softmachine.theorems.theorem import Theorem


def signals(codec: RaspCodec, attention: str = "hard") -> Program:
    """A transformer that says at every position what a program's output is."""
    program = codec.source
    letters = one_hot("letter", program.alphabet)
    frame = Frame(program.causal, letters.total.known(BIT))
    build = Build(program, frame, letters)
    build.all()
    answers = codec.answers
    output = logits(build, answers, build.values[program.output])
    return Program(program.name, (codec.start, *program.alphabet), answers.tokens, output, margin=Fraction(1))


THEOREMS = (
    Theorem(
        "rasp",
        "RASP by an encoder that knows the length: exact at every length",
        "Thinking Like Transformers; the constructions are our own",
        "the length; position features i, i², 1/(i+1), 1/(n+1), n as far as used",
        "one head a selector and one a count",
        rasp.Program,
        ("hard",),
        codec=lambda program, _: RaspCodec(program),
        signals=signals,
        features=(AtLetters,),
        rank=1,
    ),
)
