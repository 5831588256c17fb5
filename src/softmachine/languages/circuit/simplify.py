"""Simplification of circuits to a basis, and equivalence checking."""

from __future__ import annotations

import numpy as np

from softmachine.languages.circuit.builder import Builder
from softmachine.languages.circuit.circuit import Circuit
from softmachine.languages.circuit.evaluate import evaluate_words, truth_table
from softmachine.languages.circuit.gates import NEGATED, Gate, GateKind
from softmachine.languages.circuit.network import FALSE, TRUE, Basis, Network, used
from softmachine.support.errors import UsageError

_KINDS = {"and": GateKind.AND, "or": GateKind.OR, "not": GateKind.NOT, "xor": GateKind.XOR, "thr": GateKind.THR}


def simplified(circuit: Circuit, basis: Basis = Basis.TC) -> Circuit:
    """An equivalent circuit with gates of a basis only: constants are folded and equal gates merged.

    Constants remain only as outputs. Gates that no output depends on are removed; inputs remain. A gate keeps its name
    where it computes the same function as before.
    """
    network, wires = as_network(circuit, basis)
    outputs = [wires[wire] for wire in circuit.outputs]
    return from_network(network, outputs, circuit, names={number: wire for wire, number in reversed(wires.items())})


def as_network(circuit: Circuit, basis: Basis) -> tuple[Network, dict[str, int]]:
    """Convert a circuit to a network over a basis; also returns the node of each wire."""
    network = Network(basis, circuit.width)
    wires = dict(zip(circuit.inputs, network.inputs, strict=True))
    for gate in circuit.ordered:
        number = _number(network, gate, [wires[wire] for wire in gate.inputs])
        wires[gate.name] = network.negated(number) if gate.kind in NEGATED else number
    return network, wires


def _number(network: Network, gate: Gate, arguments: list[int]) -> int:
    """The node of a gate, without its negation if its kind is in `NEGATED`."""
    match NEGATED.get(gate.kind, gate.kind):
        case GateKind.AND:
            return network.conjunction(arguments)
        case GateKind.OR:
            return network.disjunction(arguments)
        case GateKind.XOR:
            return network.parity(arguments)
        case GateKind.BUF:
            return arguments[0]
        case GateKind.MAJ | GateKind.THR:
            return network.at_least(gate.at_least, arguments)
    return FALSE


def from_network(network: Network, outputs: list[int], circuit: Circuit, names: dict[int, str]) -> Circuit:
    """Convert a network to a circuit, with the inputs and the name of another circuit; unnamed gates get names."""
    builder = Builder(circuit.name, circuit.inputs, reserved=names.values())
    wire: dict[int, str] = dict(zip(network.inputs, circuit.inputs, strict=True))
    for number in used(network, outputs):
        if number in wire:
            continue
        kind, arguments, threshold = network.nodes[number]
        name = names.get(number)
        if number in (FALSE, TRUE):
            wire[number] = builder.constant(number == TRUE, name)
        else:
            inputs = [wire[argument] for argument in arguments]
            limit = threshold if kind == "thr" else None
            wire[number] = builder.gate(_KINDS[kind], *inputs, name=name, threshold=limit)
    return builder.build([wire[number] for number in outputs], circuit.place)


def equivalent(one: Circuit, other: Circuit, *, samples: int = 1 << 16) -> bool:
    """Whether two circuits agree: on every input if these are few, else on random inputs.

    Args:
        one: A circuit.
        other: A circuit with the same numbers of inputs and outputs.
        samples: Number of random inputs; if there are no more inputs than this, all are tried.

    Raises:
        UsageError: If the numbers of inputs or outputs differ.
    """
    if (one.width, len(one.outputs)) != (other.width, len(other.outputs)):
        raise UsageError(f"{one.name!r} and {other.name!r} differ in the number of inputs or outputs")
    if 1 << one.width <= samples:
        return bool(np.array_equal(truth_table(one), truth_table(other)))
    words = np.random.default_rng(0).integers(0, 1 << 64, (one.width, -(-samples // 64)), dtype=np.uint64)
    return bool(np.array_equal(evaluate_words(one, words), evaluate_words(other, words)))
