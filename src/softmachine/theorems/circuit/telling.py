"""A walk through one position of a circuit, and what its heads saw: wires, and the arguments of gates."""

from __future__ import annotations

from dataclasses import replace

from softmachine.theorems.circuit.layout import Slot
from softmachine.theorems.circuit.tokens import CircuitCodec
from softmachine.theorems.theorem import Guide
from softmachine.transformer.sight import Sight

_WIRING = Guide(
    "Who stands here?",
    "Every input, every gate and every argument of a gate has a position of its own. What is wired to what is said by "
    "position features: an own address, that of the source of an argument, that of its gate.",
    ("own address", "source", "target", "is gate", "is argument"),
)
_LOOP = Guide(
    "Once more",
    "All gates compute all the time; those of level l are right from turn l on, so that nothing says when they are "
    "ready. The loop turns as often as the circuit is deep.",
    ("layers of gates",),
)
BINARY = (
    _WIRING,
    Guide(
        "What does the wire hold?",
        "An argument fetches the bit of the wire that it is. Addresses are signed bits: where all agree the score is "
        "0, and each one that does not costs 4 (Lemma B.3).",
        ("wire", "argument"),
    ),
    Guide(
        "Which argument decides?",
        "A 0 decides AND, a 1 decides OR: of the arguments of a gate, one that decides has the best score, and the "
        "head retrieves the gate's value itself (Theorem 4.1; Lemma B.6 detects by an average).",
        ("decides", "AND or OR", "not NOT"),
    ),
    _LOOP,
)
UNIT_VECTORS = (
    replace(_WIRING, shows=("input's address", "gate's address", "source", "argument's gate", "is argument")),
    Guide(
        "What does the wire hold?",
        "An argument fetches the bit of the wire that it is. Addresses are vectors of length 1, so that equal ones "
        "have the largest product (Lemma B.5).",
        ("wire", "argument"),
    ),
    Guide(
        "Are there enough ones?",
        "A gate retrieves the share of its K arguments that are 1, and compares it with (θ - 1/2)/K, a feature of its "
        "position (Lemma 4.1).",
        ("share of ones", "threshold", "enough"),
    ),
    _LOOP,
)


def tell(codec: CircuitCodec, sight: Sight) -> str | None:
    """What a head found out about the wires of the circuit; None where nobody needs it."""
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
