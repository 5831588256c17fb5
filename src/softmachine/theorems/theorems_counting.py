"""The constructions for C-RASP and for counter machines."""

from __future__ import annotations

from collections.abc import Callable

from softmachine.languages.counter import CounterMachine
from softmachine.languages.crasp import Program as CraspProgram
from softmachine.theorems.counter.tokens import CounterCodec
from softmachine.theorems.crasp import theorem as crasp
from softmachine.theorems.crasp import tokens as crasp_words
from softmachine.theorems.crasp.truth import Sign
from softmachine.theorems.crasp.variant import Variant
from softmachine.theorems.theorem import Construction, Made

UNIFORM = "no position features, nothing of the length; uniform attention (through R: a relative bias, scale O(log i))"
_COUNTED = "Lemma 3.5 and Proposition 2.1: a counter machine as C-RASP with chain of thought, "


def _crasp(sign: Sign) -> Callable[[CraspProgram, str, int | None], Made]:
    def build(source: CraspProgram, attention: str, length: int | None) -> Made:
        variant = Variant(sign, attention == "soft", length)
        return crasp.transformer(source, variant), crasp_words.codec_of_program(source, variant)

    return build


def _counter(sign: Sign) -> Callable[[CounterMachine, str, int | None], Made]:
    def build(machine: CounterMachine, attention: str, length: int | None) -> Made:
        codec = CounterCodec(machine, Variant(sign, attention == "soft", length))
        return crasp.transformer(codec.program, codec.variant), codec

    return build


COUNTING: tuple[Construction, ...] = (
    Construction(
        "crasp",
        "Proposition 2.1: C-RASP, with chain of thought or without, by uniform attention and Heaviside units",
        UNIFORM,
        CraspProgram,
        ("soft", "hard"),
        _crasp(Sign.HEAVISIDE),
    ),
    Construction(
        "crasp-relu",
        "Proposition 2.1 with ReLU alone: C-RASP that counts tokens only, truth in units of 1/(i+1)",
        f"{UNIFORM}; no nested counts",
        CraspProgram,
        ("soft", "hard"),
        _crasp(Sign.RELU),
    ),
    Construction(
        "crasp-relu-bounded",
        "Proposition 2.1 with ReLU alone, with a slope for a length",
        UNIFORM,
        CraspProgram,
        ("soft", "hard"),
        _crasp(Sign.BOUNDED),
        family="the number of positions, for the input, what follows it, and one more",
    ),
    Construction(
        "counter",
        f"{_COUNTED}by uniform attention and Heaviside units",
        UNIFORM,
        CounterMachine,
        ("soft", "hard"),
        _counter(Sign.HEAVISIDE),
    ),
    Construction(
        "counter-relu",
        f"{_COUNTED}with ReLU alone",
        f"{UNIFORM}; letters in any order",
        CounterMachine,
        ("soft", "hard"),
        _counter(Sign.RELU),
    ),
    Construction(
        "counter-relu-bounded",
        f"{_COUNTED}with ReLU alone, with a slope for a length",
        UNIFORM,
        CounterMachine,
        ("soft", "hard"),
        _counter(Sign.BOUNDED),
        family="the number of positions, for the input, what follows it, and one more",
    ),
)
