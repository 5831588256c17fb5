"""Explanations of the heads of a circuit: wires, and arguments of gates."""

from __future__ import annotations

from dataclasses import replace

from softmachine.theorems.circuit.layout import Slot
from softmachine.theorems.circuit.tokens import CircuitCodec
from softmachine.theorems.theorem import Guide
from softmachine.transformer.sight import Sight

_WIRING = Guide(
    "What is at this position?",
    "Every input, every gate and every argument of a gate has its own position. Position features encode the wiring: "
    "the own address, the address of the source of an argument, the address of its gate.",
    ("own address", "source", "target", "is gate", "is argument"),
)
_LOOP = Guide(
    "Iterate",
    "All gates are evaluated in every iteration; those of level l are correct after iteration l, so that no control "
    "signal is needed. The number of iterations is the depth of the circuit.",
    ("layers of gates",),
)
BINARY = (
    _WIRING,
    Guide(
        "What does the wire hold?",
        "An argument fetches the bit of its wire. Addresses are signed bits: the score is 0 if all agree, and each "
        "bit that differs lowers it by 4 (Lemma B.3 of Svete et al. 2026).",
        ("wire", "argument"),
    ),
    Guide(
        "Which argument determines the gate?",
        "A 0 determines AND, a 1 determines OR: an argument that determines the gate has the best score, and the head "
        "retrieves the gate's value itself (Theorem 4.1 of Svete et al. 2026; their Lemma B.6 uses an average).",
        ("decides", "AND or OR", "not NOT"),
    ),
    _LOOP,
)
UNIT_VECTORS = (
    replace(_WIRING, shows=("input's address", "gate's address", "source", "argument's gate", "is argument")),
    Guide(
        "What does the wire hold?",
        "An argument fetches the bit of its wire. Addresses are unit vectors, so that equal ones have the largest "
        "product (Lemma B.5 of Svete et al. 2026).",
        ("wire", "argument"),
    ),
    Guide(
        "Are there enough ones?",
        "A gate retrieves the fraction of its K arguments that are 1, and compares it with (θ - 1/2)/K, a feature of "
        "its position (Lemma 4.1 of Svete et al. 2026).",
        ("share of ones", "threshold", "enough"),
    ),
    _LOOP,
)


def tell(codec: CircuitCodec, sight: Sight) -> str | None:
    """Explain an observation of a head; None at positions whose result is not used."""
    here = codec.layout.places[sight.position]
    if here.gate is None or not sight.chosen or (sight.name == "wire" and not here.is_argument):
        return None
    if sight.name == "wire":
        return f"an argument of {_gate(here)} is {_wire(codec, here.source)}, at position {sight.chosen[0]:,}"
    if here.is_argument:
        return None
    if sight.name == "decides" and len(sight.chosen) > 1:
        return f"{len(sight.chosen):,} arguments of {_gate(here)} decide alike"
    if sight.name == "decides":
        there = codec.layout.places[sight.chosen[0]]
        return f"{_gate(here)} is decided by its argument {_wire(codec, there.source)}, at position {sight.chosen[0]:,}"
    return f"{_gate(here)} takes the mean of its {len(sight.chosen):,} arguments"


def _gate(slot: Slot) -> str:
    return f"gate {slot.gate.name} ({slot.gate.kind})" if slot.gate else "an input"


def _wire(codec: CircuitCodec, address: int) -> str:
    return f"wire {codec.layout.circuit.wires[address]}"
