"""The map of a checkpoint: which index of the residual stream, which head and which unit carries what."""

from __future__ import annotations

from typing import Any

from softmachine.codec import Interface
from softmachine.exports.dialogue import Dialogue
from softmachine.exports.exported import Exported
from softmachine.exports.placed import Placed
from softmachine.model import Model

FORMAT = "softmachine-map"
VERSION = 1


def mapping(compiled: Model, placed: Placed, exported: Exported, dialogue: Dialogue) -> dict[str, Any]:
    """Everything that has a name, as data: ``value = residual[..., index] / scale``."""
    model = placed.model
    coordinates = [
        {
            "name": name,
            "index": k,
            "mirror": None if placed.mirror is None else placed.mirror + k,
            "scale": float(scale),
        }
        for k, (name, scale) in enumerate(zip(model.coordinates, model.scales, strict=True))
    ]
    layers = [
        {
            "heads": [
                {
                    "index": h,
                    "name": head.name,
                    "query_width": len(head.query.bias),
                    "value_width": len(head.value.bias),
                    "writes": [model.coordinates[c] for c in sorted({*head.output.nonzero()[0].tolist()})],
                }
                for h, head in enumerate(layer.heads)
            ],
            "units": [{"index": u, "name": name} for u, name in enumerate(layer.units)],
        }
        for layer in model.layers
    ]
    return {
        "format": FORMAT,
        "version": VERSION,
        "name": compiled.name,
        "architecture": placed.architecture,
        "construction": compiled.theorem.name,
        "positions": exported.length,
        "dtype": exported.dtype,
        "dtypes_that_hold": list(exported.dtypes),
        "coordinates": coordinates,
        "layers": layers,
        "unit_scale": placed.activation_gain,
        "logit_scale": placed.gain,
        "vocabulary": [
            {"id": k, "text": text, "token": token}
            for k, (text, token) in enumerate(zip(model.spellings, model.vocabulary, strict=True))
        ],
        "labels": list(model.labels),
        "produces": list(model.outputs),
        "before_input": list(dialogue.prefix),
        "after_input": list(dialogue.suffix),
        "stops": list(dialogue.stops),
        "interface": _interface(dialogue.interface),
        "source": {"language": compiled.source.language, "name": compiled.source.name},
    }


def _interface(interface: Interface | None) -> dict[str, Any] | None:
    """What goes in and what comes out where, as data; nothing for a model that goes on from its input."""
    if interface is None:
        return None
    return {
        "symbols": list(interface.symbols),
        "inputs": list(interface.inputs),
        "outputs": [{"name": name, "position": position} for name, position in interface.outputs],
        "verdict": interface.verdict,
        "meaning": interface.meaning,
    }
