"""The constructions for Turing machines."""

from __future__ import annotations

from collections.abc import Callable

from softmachine.languages.turing import TuringMachine
from softmachine.theorems.address_bits import theorem as address_bits
from softmachine.theorems.chapter_8 import theorem as chapter8
from softmachine.theorems.chapter_8_summary import theorem as chapter8_summary
from softmachine.theorems.chapter_8_summary.tokens import SummaryCodec
from softmachine.theorems.crasp import theorem as crasp
from softmachine.theorems.crasp.truth import Sign
from softmachine.theorems.crasp.variant import Variant
from softmachine.theorems.residues import theorem as residues
from softmachine.theorems.shared.stream_tokens import StreamCodec
from softmachine.theorems.shared.turing_tokens import TuringCodec
from softmachine.theorems.ternary import theorem as ternary
from softmachine.theorems.ternary.tokens import TernaryCodec
from softmachine.theorems.theorem import Construction, Made
from softmachine.theorems.theorems_counting import UNIFORM
from softmachine.theorems.turing.theorem import CountingCodec

POSITIONS = "the number of positions of a sequence: three marks, the input and one for each step"


def _chapter8(machine: TuringMachine, attention: str, length: int | None) -> Made:
    del attention, length
    codec = TuringCodec(machine)
    return chapter8.decoder(codec), codec


def _chapter8_summary(machine: TuringMachine, attention: str, length: int | None) -> Made:
    del attention, length
    codec = SummaryCodec(machine)
    return chapter8_summary.decoder(codec), codec


def _ternary(*, summarises: bool) -> Callable[[TuringMachine, str, int | None], Made]:
    def build(machine: TuringMachine, attention: str, length: int | None) -> Made:
        codec = TernaryCodec(machine, ternary.bits_for(length or 0), summarises)
        return ternary.decoder(codec, denoised=attention != "hard"), codec

    return build


def _address_bits(machine: TuringMachine, attention: str, length: int | None) -> Made:
    del attention
    codec = StreamCodec(machine, length=length or 0)
    return address_bits.decoder(codec), codec


def _residues(*, positions: bool) -> Callable[[TuringMachine, str, int | None], Made]:
    def build(machine: TuringMachine, attention: str, length: int | None) -> Made:
        del attention
        codec = StreamCodec(
            machine,
            length=length or 0,
            modulus=residues.modulus_for(machine, length or 1),
            most_wraps=residues.MOST_WRAPS,
            longest_input=0 if positions else residues.MOST_INPUT,
        )
        return residues.decoder(codec, positions=positions), codec

    return build


def _counting(*, relative: bool) -> Callable[[TuringMachine, str, int | None], Made]:
    def build(machine: TuringMachine, attention: str, length: int | None) -> Made:
        codec = CountingCodec(machine, Variant(Sign.HEAVISIDE, attention == "soft", length), relative)
        return crasp.transformer(codec.program, codec.variant), codec

    return build


TURING: tuple[Construction, ...] = (
    Construction(
        "chapter-8",
        "Theorem 8.2: average-hard attention, one token a step",
        "position features i, i², 1/(i+1); nothing of the length",
        TuringMachine,
        ("hard",),
        _chapter8,
    ),
    Construction(
        "chapter-8-summary",
        "Theorem 8.2 with summaries: the run goes on from the configuration, in a context as long as the space",
        "position features i, i², 1/(i+1); nothing of the length",
        TuringMachine,
        ("hard",),
        _chapter8_summary,
    ),
    Construction(
        "ternary",
        "Brösamle and Eckstein: average-hard or soft attention, activations -1, 0 and 1, about two tokens a step",
        "position features ±bit k of i, for k < ⌈log₂ length⌉; scale O(log length)",
        TuringMachine,
        ("hard", "soft"),
        _ternary(summarises=False),
        family="the number of tokens of prompt and run together",
        softened="denoised",
    ),
    Construction(
        "ternary-summary",
        "the same with summaries: the run goes on from the configuration, and only the space counts",
        "position features ±bit k of i, for k < ⌈log₂ length⌉; scale O(log length)",
        TuringMachine,
        ("hard", "soft"),
        _ternary(summarises=True),
        family="the number of tokens of one segment: five times the cells in use, and some",
        softened="denoised",
    ),
    Construction(
        "address-bits",
        "Addresses in binary: three layers that float32 computes exactly, one token a step",
        "the number of positions N; position features i, i², 1/(i+1), (i-1)/(i+1), i/N, bits of i; scale O(N)",
        TuringMachine,
        ("hard",),
        _address_bits,
        POSITIONS,
    ),
    Construction(
        "residues",
        "Tokens that say their cell modulo M: exact in bfloat16 and float16 too, one token a step",
        "the number of positions N; bits of i and of i-1 as position features; scale O(1)",
        TuringMachine,
        ("hard",),
        _residues(positions=True),
        POSITIONS,
    ),
    Construction(
        "residues-without-positions",
        "Tokens that say their cell modulo M, without position features: exact in float32, one token a step",
        "the number of positions N; no position features; scale O(N²)",
        TuringMachine,
        ("hard",),
        _residues(positions=False),
        POSITIONS,
    ),
    Construction(
        "turing-counter",
        "Theorem 3.3: a Turing machine as a counter machine, as C-RASP with chain of thought; letters in order",
        UNIFORM,
        TuringMachine,
        ("soft", "hard"),
        _counting(relative=False),
    ),
    Construction(
        "turing-relative",
        "Theorem 4.3: the same for every word, which the relative encoding writes as numbers; for very short words",
        UNIFORM,
        TuringMachine,
        ("soft", "hard"),
        _counting(relative=True),
    ),
)
