"""The constructions for circuits and graphs, and what reduces to them."""

from __future__ import annotations

from collections.abc import Callable

from softmachine.languages.circuit import Circuit
from softmachine.languages.graph import Graph
from softmachine.languages.turing import TuringMachine
from softmachine.theorems.circuit import theorem as circuit
from softmachine.theorems.circuit.tokens import Addresses, CircuitCodec
from softmachine.theorems.circuit_evaluator import theorem as evaluator
from softmachine.theorems.circuit_evaluator.tokens import EvaluatorCodec
from softmachine.theorems.configuration_graph import theorem as configurations
from softmachine.theorems.configuration_graph.tokens import ConfigurationCodec
from softmachine.theorems.connectivity import theorem as connectivity
from softmachine.theorems.connectivity.tokens import GraphCodec
from softmachine.theorems.theorem import Construction, Made


def _circuit(addresses: Addresses) -> Callable[[Circuit, str, int | None], Made]:
    def build(source: Circuit, attention: str, length: int | None) -> Made:
        del length
        codec = CircuitCodec(source, addresses)
        make = circuit.binary_transformer if addresses is Addresses.BINARY else circuit.unit_transformer
        return make(codec.layout, soft=attention == "soft"), codec

    return build


def _evaluator(source: Circuit, attention: str, length: int | None) -> Made:
    codec = EvaluatorCodec(source, length or 0)
    return evaluator.transformer(codec.length, soft=attention == "soft"), codec


def _connectivity(graph: Graph, attention: str, length: int | None) -> Made:
    del length
    return connectivity.transformer(len(graph.vertices), soft=attention == "soft"), GraphCodec(graph)


def _configurations(machine: TuringMachine, attention: str, length: int | None) -> Made:
    codec = ConfigurationCodec(machine, length or 0)
    return configurations.transformer(machine, codec.length, soft=attention == "soft"), codec


CIRCUITS: tuple[Construction, ...] = (
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
