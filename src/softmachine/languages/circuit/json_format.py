"""Lossless JSON form of circuits, stored in saved models."""

from __future__ import annotations

from typing import Any

from softmachine.languages.circuit.circuit import Circuit, Gate, GateKind
from softmachine.languages.formats import make_json_codec
from softmachine.support.errors import SourceError


def circuit_to_json(circuit: Circuit) -> dict[str, object]:
    """Convert a circuit to dictionaries, lists and strings."""
    return {
        "name": circuit.name,
        "inputs": list(circuit.inputs),
        "gates": [[gate.name, str(gate.kind), list(gate.inputs), gate.threshold] for gate in circuit.gates],
        "outputs": list(circuit.outputs),
    }


def circuit_from_json(data: Any) -> Circuit:
    """The inverse of :func:`circuit_to_json`.

    Raises:
        SourceError: If the data does not have that form.
        InvalidError: If the circuit is not valid.
    """
    try:
        gates = tuple(
            Gate(str(name), GateKind(kind), tuple(map(str, inputs)), None if threshold is None else int(threshold))
            for name, kind, inputs, threshold in data["gates"]
        )
        inputs, outputs = (tuple(map(str, data[key])) for key in ("inputs", "outputs"))
        name = str(data["name"])
    except (KeyError, TypeError, ValueError) as error:
        raise SourceError(f"this is not a circuit in JSON: {error!r}") from None
    return Circuit(name=name, inputs=inputs, gates=gates, outputs=outputs)


parse_json, format_json = make_json_codec(circuit_to_json, circuit_from_json)
