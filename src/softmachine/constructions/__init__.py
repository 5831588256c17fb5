"""Constructions: one module a theorem, from an object of a source language to signals; and the list of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from softmachine.constructions import chapter8, circuit, configurations, connectivity, evaluator, srasp, temporal
from softmachine.constructions.circuit_words import Addresses, CircuitCodec
from softmachine.constructions.configuration_words import ConfigurationCodec
from softmachine.constructions.evaluator_words import EvaluatorCodec
from softmachine.constructions.graph_words import GraphCodec
from softmachine.constructions.srasp_words import SraspCodec
from softmachine.constructions.temporal import Variant, Vision
from softmachine.constructions.temporal_words import TemporalCodec
from softmachine.constructions.turing_tokens import TuringCodec
from softmachine.errors import ConstructionError, SourceError
from softmachine.languages.circuit import Circuit
from softmachine.languages.graph import Graph
from softmachine.languages.srasp import Program as SraspProgram
from softmachine.languages.temporal import Specification
from softmachine.languages.turing import TuringMachine
from softmachine.signals import Program
from softmachine.transformer import Codec

__all__ = ["CONSTRUCTIONS", "Construction", "codec_from_json", "construction_for"]


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
    """

    name: str
    theorem: str
    needs: str
    source: type
    attentions: tuple[str, ...]
    build: Callable[[Any, str, int | None], tuple[Program, Codec]]
    family: str = ""

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


def _circuit(addresses: Addresses) -> Callable[[Circuit, str, int | None], tuple[Program, Codec]]:
    def build(source: Circuit, attention: str, length: int | None) -> tuple[Program, Codec]:
        del length
        codec = CircuitCodec(source, addresses)
        make = circuit.binary_transformer if addresses is Addresses.BINARY else circuit.unit_transformer
        return make(codec.layout, soft=attention == "soft"), codec

    return build


def _evaluator(source: Circuit, attention: str, length: int | None) -> tuple[Program, Codec]:
    codec = EvaluatorCodec(source, length or 0)
    return evaluator.transformer(codec.length, soft=attention == "soft"), codec


def _configurations(machine: TuringMachine, attention: str, length: int | None) -> tuple[Program, Codec]:
    codec = ConfigurationCodec(machine, length or 0)
    return configurations.transformer(machine, codec.length, soft=attention == "soft"), codec


def _connectivity(graph: Graph, attention: str, length: int | None) -> tuple[Program, Codec]:
    del length
    return connectivity.transformer(len(graph.vertices), soft=attention == "soft"), GraphCodec(graph)


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
        "circuit-binary",
        "Theorem 4.1: circuits of AND, OR and NOT, two attention layers a layer of gates, constant precision",
        "the wiring as position features, ⌈log₂ wires⌉ bits an address; padding; any F_b from F_2 on",
        Circuit,
        ("hard", "soft"),
        _circuit(Addresses.BINARY),
    ),
    Construction(
        "circuit-unit",
        "Lemma 4.1: circuits with threshold gates, two attention layers a layer of gates, constant width",
        "the wiring as position features, two numbers of O(log wires) bits an address; padding",
        Circuit,
        ("hard", "soft"),
        _circuit(Addresses.UNIT),
    ),
    Construction(
        "circuit-evaluator",
        "Lemma C.3: one looped transformer that reads any circuit and its input as tokens, constant precision",
        "the position and those of four neighbours, ⌈log₂ length⌉ bits each; any F_b from F_2 on",
        Circuit,
        ("hard", "soft"),
        _evaluator,
        "how many tokens the circuit, its input and padding have",
    ),
    Construction(
        "connectivity",
        "Theorem C.1: graph connectivity by doubling, ⌈log₂ N⌉ loops over N³ positions of padding, constant precision",
        "i, k and j as position features, ⌈log₂ N⌉ bits each; padding; any F_b from F_2 on",
        Graph,
        ("hard", "soft"),
        _connectivity,
    ),
    Construction(
        "configuration-graph",
        "Lemmas 5.3, 5.4: a reduction to connectivity, stacked: machines that only read, constant precision",
        "configurations as position features; padding; any F_b from F_2 on; only machines that write nothing",
        TuringMachine,
        ("hard", "soft"),
        _configurations,
        "how many letters words have at most",
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


def codec_from_json(data: dict[str, Any]) -> Codec:
    """The codec of a saved model."""
    if data.get("kind") == "turing":
        return TuringCodec.from_json(data)
    if data.get("kind") == "temporal":
        return TemporalCodec.from_json(data)
    if data.get("kind") == "srasp":
        return SraspCodec.from_json(data)
    if data.get("kind") == "circuit":
        return CircuitCodec.from_json(data)
    if data.get("kind") == "circuit evaluator":
        return EvaluatorCodec.from_json(data)
    if data.get("kind") == "configurations":
        return ConfigurationCodec.from_json(data)
    if data.get("kind") == "graph":
        return GraphCodec.from_json(data)
    raise SourceError(f"a codec of kind {data.get('kind')!r} is not known to this version")
