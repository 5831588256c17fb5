"""Constructions: one module a theorem, from an object of a source language to signals; and the list of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from softmachine.constructions import (
    address_bits,
    chapter8,
    chapter8_summary,
    crasp,
    crasp_words,
    residues,
    srasp,
    temporal,
    ternary,
)
from softmachine.constructions.counter_words import CounterCodec
from softmachine.constructions.crasp_truth import Sign
from softmachine.constructions.srasp_words import SraspCodec
from softmachine.constructions.summary_tokens import SummaryCodec
from softmachine.constructions.temporal import Variant, Vision
from softmachine.constructions.temporal_words import TemporalCodec
from softmachine.constructions.ternary_tokens import TernaryCodec
from softmachine.constructions.turing_counting import CountingCodec
from softmachine.constructions.turing_stream import StreamCodec
from softmachine.constructions.turing_tokens import TuringCodec
from softmachine.errors import ConstructionError, SourceError
from softmachine.languages.counter import CounterMachine
from softmachine.languages.crasp import Program as CraspProgram
from softmachine.languages.srasp import Program as SraspProgram
from softmachine.languages.temporal import Specification
from softmachine.languages.turing import TuringMachine
from softmachine.signals import Program
from softmachine.transformer import Codec

__all__ = ["CONSTRUCTIONS", "Construction", "codec_from_json", "construction_for", "stock_construction"]


@dataclass(frozen=True)
class Construction:
    """A theorem that can be run.

    Args:
        name: What the command line calls it.
        theorem: What it is, for people.
        needs: What the weights must be given: position features, knowledge of the length, and the scale of softmax.
        source: The type of the objects it applies to.
        attentions: The kinds of attention it can use, "hard" or "soft"; the first is the default.
        build: From such an object, a kind of attention and (for a family) a length to the program and its codec.
        family: If the weights depend on a length: what it bounds. Empty if one model serves every length.
        softened: The variant that is certified for soft attention, if it is not the one for hard attention.
    """

    name: str
    theorem: str
    needs: str
    source: type
    attentions: tuple[str, ...]
    build: Callable[[Any, str, int | None], tuple[Program, Codec]]
    family: str = ""
    softened: str = "hard"

    def attention(self, wanted: str | None) -> str:
        """The kind of attention to use.

        Raises:
            ConstructionError: If the construction does not have the one that is wanted.
        """
        if wanted not in (None, *self.attentions):
            known = " or ".join(self.attentions)
            more = "; soft attention certified for a length is made of it, see `certify`" if wanted == "soft" else ""
            raise ConstructionError(
                f"the construction {self.name} has no {wanted} attention of its own", hint=f"it has {known}{more}"
            )
        return wanted or self.attentions[0]

    def program(self, source: object, attention: str, length: int | None) -> tuple[Program, Codec]:
        """The program for an object, and how to talk to it.

        Raises:
            ConstructionError: If the weights depend on a length, and none is given.
        """
        if self.family and length is None:
            raise ConstructionError(
                f"the weights of the construction {self.name} depend on a length: {self.family}",
                hint="say which: --length N, or length=N",
            )
        return self.build(source, attention, length)


def _chapter8(machine: TuringMachine, attention: str, length: int | None) -> tuple[Program, Codec]:
    del attention, length
    codec = TuringCodec(machine)
    return chapter8.decoder(codec), codec


def _chapter8_summary(machine: TuringMachine, attention: str, length: int | None) -> tuple[Program, Codec]:
    del attention, length
    codec = SummaryCodec(machine)
    return chapter8_summary.decoder(codec), codec


def _ternary(*, summarises: bool) -> Callable[[TuringMachine, str, int | None], tuple[Program, Codec]]:
    def build(machine: TuringMachine, attention: str, length: int | None) -> tuple[Program, Codec]:
        codec = TernaryCodec(machine, ternary.bits_for(length or 0), summarises)
        return ternary.decoder(codec, denoised=attention != "hard"), codec

    return build


def _address_bits(machine: TuringMachine, attention: str, length: int | None) -> tuple[Program, Codec]:
    del attention
    codec = StreamCodec(machine, length=length or 0)
    return address_bits.decoder(codec), codec


def _residues(*, positions: bool) -> Callable[[TuringMachine, str, int | None], tuple[Program, Codec]]:
    def build(machine: TuringMachine, attention: str, length: int | None) -> tuple[Program, Codec]:
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


def _temporal(
    vision: Vision, *, unbounded: bool = False
) -> Callable[[Specification, str, int | None], tuple[Program, Codec]]:
    def build(specification: Specification, attention: str, length: int | None) -> tuple[Program, Codec]:
        del length
        variant = Variant(vision, soft=attention == "soft", unbounded=unbounded)
        return temporal.transformer(specification, variant), TemporalCodec(specification, variant)

    return build


def _srasp(source: SraspProgram, attention: str, length: int | None) -> tuple[Program, Codec]:
    del length
    soft = attention == "soft"
    return srasp.transformer(source, soft=soft), SraspCodec(source, soft)


def _crasp(sign: Sign) -> Callable[[CraspProgram, str, int | None], tuple[Program, Codec]]:
    def build(source: CraspProgram, attention: str, length: int | None) -> tuple[Program, Codec]:
        variant = crasp.Variant(sign, attention == "soft", length)
        return crasp.transformer(source, variant), crasp_words.codec_of_program(source, variant)

    return build


def _counter(sign: Sign) -> Callable[[CounterMachine, str, int | None], tuple[Program, Codec]]:
    def build(machine: CounterMachine, attention: str, length: int | None) -> tuple[Program, Codec]:
        codec = CounterCodec(machine, crasp.Variant(sign, attention == "soft", length))
        return crasp.transformer(codec.program, codec.variant), codec

    return build


def _counting(*, relative: bool) -> Callable[[TuringMachine, str, int | None], tuple[Program, Codec]]:
    def build(machine: TuringMachine, attention: str, length: int | None) -> tuple[Program, Codec]:
        codec = CountingCodec(machine, crasp.Variant(Sign.HEAVISIDE, attention == "soft", length), relative)
        return crasp.transformer(codec.program, codec.variant), codec

    return build


_UNIFORM = "no position features, nothing of the length; uniform attention (through R: a relative bias, scale O(log i))"
_COUNTED = "Lemma 3.5 and Proposition 2.1: a counter machine as C-RASP with chain of thought, "
POSITIONS = "the number of positions of a sequence: three marks, the input and one for each step"

CONSTRUCTIONS: tuple[Construction, ...] = (
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
        "turing-counter",
        "Theorem 3.3: a Turing machine as a counter machine, as C-RASP with chain of thought; letters in order",
        _UNIFORM,
        TuringMachine,
        ("soft", "hard"),
        _counting(relative=False),
    ),
    Construction(
        "turing-relative",
        "Theorem 4.3: the same for every word, which the relative encoding writes as numbers; for very short words",
        _UNIFORM,
        TuringMachine,
        ("soft", "hard"),
        _counting(relative=True),
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
        "temporal-encoder",
        "Theorems 12, 15, 20: temporal logic with counting, by an encoder that knows the length",
        "the length; bounded position features (i and i² where it counts); scale O(n), the mildest of all",
        Specification,
        ("hard", "soft"),
        _temporal(Vision.ENCODER),
    ),
    Construction(
        "temporal-masked",
        "Theorems 13, 16, 21: past temporal logic with counting, future-masked, for every length",
        "nothing of the length; 1/(i+1), (-1)^i (i and i² where it counts); scale O(i²); only the past",
        Specification,
        ("hard", "soft"),
        _temporal(Vision.MASKED),
    ),
    Construction(
        "temporal-encoder-unbounded",
        "Theorems 12, 15, 20, variant (b): temperature 1, position features that grow with the length",
        "the length; position features that grow like n, where it counts like n³; scale 1",
        Specification,
        ("hard", "soft"),
        _temporal(Vision.ENCODER, unbounded=True),
    ),
    Construction(
        "temporal-masked-unbounded",
        "Theorems 13, 16, variant (b): temperature 1, position features that grow, future-masked, no counts",
        "nothing of the length; position features that grow like i²; scale 1; only the past, no counts",
        Specification,
        ("hard", "soft"),
        _temporal(Vision.MASKED, unbounded=True),
    ),
    Construction(
        "srasp",
        "S-RASP by an encoder that knows the length: average-hard attention, or softmax",
        "the length; position features i, i², 1/(i+1), i/(n+1), n; scale O(n) to O(n²)",
        SraspProgram,
        ("hard", "soft"),
        _srasp,
    ),
    Construction(
        "crasp",
        "Proposition 2.1: C-RASP, with chain of thought or without, by uniform attention and Heaviside units",
        _UNIFORM,
        CraspProgram,
        ("soft", "hard"),
        _crasp(Sign.HEAVISIDE),
    ),
    Construction(
        "crasp-relu",
        "Proposition 2.1 with ReLU alone: C-RASP that counts tokens only, truth in units of 1/(i+1)",
        f"{_UNIFORM}; no nested counts",
        CraspProgram,
        ("soft", "hard"),
        _crasp(Sign.RELU),
    ),
    Construction(
        "crasp-relu-bounded",
        "Proposition 2.1 with ReLU alone, with a slope for a length",
        _UNIFORM,
        CraspProgram,
        ("soft", "hard"),
        _crasp(Sign.BOUNDED),
        family="the number of positions, for the input, what follows it, and one more",
    ),
    Construction(
        "counter",
        f"{_COUNTED}by uniform attention and Heaviside units",
        _UNIFORM,
        CounterMachine,
        ("soft", "hard"),
        _counter(Sign.HEAVISIDE),
    ),
    Construction(
        "counter-relu",
        f"{_COUNTED}with ReLU alone",
        f"{_UNIFORM}; letters in any order",
        CounterMachine,
        ("soft", "hard"),
        _counter(Sign.RELU),
    ),
    Construction(
        "counter-relu-bounded",
        f"{_COUNTED}with ReLU alone, with a slope for a length",
        _UNIFORM,
        CounterMachine,
        ("soft", "hard"),
        _counter(Sign.BOUNDED),
        family="the number of positions, for the input, what follows it, and one more",
    ),
)
"""All constructions; of those that apply to an object, the first is the one that is used if none is named."""


def construction_for(source: object, name: str | None = None) -> Construction:
    """The construction of this name, or the default one, for an object of a source language.

    Raises:
        ConstructionError: If there is none, or it does not apply.
    """
    fitting = [item for item in CONSTRUCTIONS if isinstance(source, item.source)]
    for item in fitting:
        if name in (None, item.name):
            return item
    known = ", ".join(item.name for item in fitting) or "none yet"
    if name is None:
        raise ConstructionError(f"there is no construction for {type(source).__name__}")
    raise ConstructionError(
        f"there is no construction {name!r} for {type(source).__name__}", hint=f"those that apply: {known}"
    )


def stock_construction(source: object, dtype: str, *, positions: bool) -> str | None:
    """The name of the construction for a stock checkpoint in a floating-point format; None for the default one.

    Args:
        source: What is compiled.
        dtype: The format, e.g. "float32".
        positions: Whether the architecture has an embedding of positions.
    """
    if isinstance(source, TuringMachine):
        if not positions:
            return "residues-without-positions"
        return "address-bits" if dtype in ("float32", "float64") else "residues"
    return "temporal-masked" if isinstance(source, Specification) else None


def codec_from_json(data: dict[str, Any]) -> Codec:
    """The codec of a saved model."""
    if data.get("codec") == "counting":
        return CountingCodec.from_json(data)
    if data.get("kind") == "turing":
        if "summaries" in data:
            return SummaryCodec.from_json(data)
        return TernaryCodec.from_json(data) if "bits" in data else TuringCodec.from_json(data)
    if data.get("kind") == "turing-stream":
        return StreamCodec.from_json(data)
    if data.get("kind") == "temporal":
        return TemporalCodec.from_json(data)
    if data.get("kind") == "srasp":
        return SraspCodec.from_json(data)
    if data.get("kind") == "crasp":
        return crasp_words.codec_from_json(data)
    if data.get("kind") == "counter":
        return CounterCodec.from_json(data)
    raise SourceError(f"a codec of kind {data.get('kind')!r} is not known to this version")
