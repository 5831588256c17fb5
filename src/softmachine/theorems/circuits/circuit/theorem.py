"""Boolean circuits in padded transformers, two attention layers per layer of gates (Theorem 4.1, Lemma 4.1).

"Revisiting Padded Transformer Expressivity" (Svete et al. 2026; all numbers refer to it) stores a circuit in the
position embeddings of a transformer that reads the input followed by padding. Every gate, and every argument of a gate,
has its own position. First each argument fetches the bit of its wire; then each gate attends to its arguments. The
number of iterations is the depth of the circuit: all gates are evaluated in every iteration, and those of level l are
correct after iteration l, so that no control signal is needed.

**Binary pointers** (AND, OR and NOT; Theorem 4.1): addresses are signed bits, so that the width grows with the
logarithm of the number of wires and the precision is constant: F_2. An argument that determines the gate (a 0 for AND,
a 1 for OR) has the best score, so that the head retrieves the gate's value itself, for any number of arguments. (Lemma
B.6 uses an average, which decreases with the fan-in.)

**Unit vectors** (threshold gates as well; Lemma 4.1): addresses are unit vectors, so that the width is constant and the
precision grows with the logarithm. A gate retrieves the exact fraction of its K arguments that are 1 and compares it
with (θ - 1/2)/K, a feature of its position. The layout differs from the paper's, in which no field contains an
argument's gate.

Needs: position features for the wiring; independent of the length.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial

from softmachine.ir import Program, Signal, attend, constant, loop, named, position, recogniser, relu, stack
from softmachine.ir.gadgets.binary_addresses import (
    BIT_SCALE,
    address_scores,
    address_weighting,
    address_width,
    binary_address_features,
    fetch_by_scores,
    find_unit_vector_scale,
    penalty_scores,
    position_flag,
    round_to_bit,
    unit_vector_features,
)
from softmachine.ir.primitives import token
from softmachine.ir.ranges import BIT
from softmachine.languages.circuit import Circuit, GateKind
from softmachine.theorems.circuits.circuit.codec import AddressEncoding, CircuitCodec, CircuitLayout, PositionContent
from softmachine.theorems.cost import Cost, ceil_log2, define, largest, parameter
from softmachine.theorems.shared.recogniser_codec import PAD_TOKEN
from softmachine.theorems.theorem import Requirements, Theorem, TourStep
from softmachine.transformer import features
from softmachine.transformer.attention import AVERAGE_HARD, Mask, Weighting, softmax_weighting
from softmachine.transformer.head_view import HeadExplanation, HeadView
from softmachine.transformer.table_features import NO_ADDRESS, TableFeature

_WIRING_STEP = TourStep(
    "What is at this position?",
    "Every input, every gate and every argument of a gate has its own position. Position features encode the wiring: "
    "the own address, the address of the source of an argument, the address of its gate.",
    ("own address", "source", "target", "is gate", "is argument"),
)
_ITERATION_STEP = TourStep(
    "Iterate",
    "All gates are evaluated in every iteration; those of level l are correct after iteration l, so that no control "
    "signal is needed. The number of iterations is the depth of the circuit.",
    ("layers of gates",),
)
BINARY_TOUR = (
    _WIRING_STEP,
    TourStep(
        "What does the wire hold?",
        "An argument fetches the bit of its wire. Addresses are signed bits: the score is 0 if all agree, and each "
        "bit that differs lowers it by 4 (Lemma B.3 of Svete et al. 2026).",
        ("wire", "argument"),
    ),
    TourStep(
        "Which argument determines the gate?",
        "A 0 determines AND, a 1 determines OR: an argument that determines the gate has the best score, and the head "
        "retrieves the gate's value itself (Theorem 4.1 of Svete et al. 2026; their Lemma B.6 uses an average).",
        ("decides", "AND or OR", "not NOT"),
    ),
    _ITERATION_STEP,
)
UNIT_VECTOR_TOUR = (
    replace(_WIRING_STEP, highlights=("input's address", "gate's address", "source", "argument's gate", "is argument")),
    TourStep(
        "What does the wire hold?",
        "An argument fetches the bit of its wire. Addresses are unit vectors, so that equal ones have the largest "
        "product (Lemma B.5 of Svete et al. 2026).",
        ("wire", "argument"),
    ),
    TourStep(
        "Are there enough ones?",
        "A gate retrieves the fraction of its K arguments that are 1, and compares it with (θ - 1/2)/K, a feature of "
        "its position (Lemma 4.1 of Svete et al. 2026).",
        ("share of ones", "threshold", "enough"),
    ),
    _ITERATION_STEP,
)


def _describe_gate(slot: PositionContent) -> str:
    return f"gate {slot.gate.name} ({slot.gate.kind})" if slot.gate else "an input"


def _explain_argument(view: HeadView, layout: CircuitLayout) -> str | None:
    """Explain the head that fetches the bit of a wire; None at positions whose result is not used."""
    here = layout.contents[view.position]
    if here.gate is None or not here.is_argument or len(view.chosen) != 1:
        return None
    if layout.contents[view.chosen[0]].own_address != here.source:
        return None
    wire = f"wire {layout.circuit.wires[here.source]}"
    return f"an argument of {_describe_gate(here)} is {wire}, at position {view.chosen[0]:,}"


def _explain_gate(view: HeadView, layout: CircuitLayout, *, by_mean: bool) -> str | None:
    """Explain the head of a gate; None at positions whose result is not used."""
    here, chosen = layout.contents[view.position], [layout.contents[position] for position in view.chosen]
    if here.gate is None or here.is_argument or not chosen:
        return None
    if any(not there.is_argument or there.target != here.own_address for there in chosen):
        return None
    if by_mean:
        return f"{_describe_gate(here)} takes the mean of its {len(chosen):,} arguments"
    if len(chosen) > 1:
        return f"{len(chosen):,} arguments of {_describe_gate(here)} decide alike"
    wire = f"wire {layout.circuit.wires[chosen[0].source]}"
    return f"{_describe_gate(here)} is decided by its argument {wire}, at position {view.chosen[0]:,}"


TOKENS = ("0", "1", PAD_TOKEN)


def evaluate_gates_once(
    value: Signal,
    *,
    initial: Signal,
    addresses: tuple[Signal, Signal],
    own_arguments: tuple[tuple[Signal, Signal], ...],
    is_argument: Signal,
    is_and_or: Signal,
    is_not: Signal,
    wants_one: Signal,
    wants_zero: Signal,
    weighting: Weighting,
    explains_argument: HeadExplanation = "the position of the wire",
    explains_gate: HeadExplanation = "an argument of the gate",
) -> Signal:
    """One iteration: the values of the wires after AND, OR (plain) and NOT gates are evaluated once more.

    The query-key pair ``addresses`` addresses the wire of an argument, those of ``own_arguments`` the arguments of a
    gate. A gate is determined by an argument that is 1, if it ``wants_one``, or 0, if it ``wants_zero``. The last two
    parameters explain the two heads.
    """
    # Step 2. An argument fetches the bit of its wire.
    wire = fetch_by_scores("wire", [addresses], value, weighting, explains=explains_argument)
    argument = round_to_bit("argument", wire, is_argument)
    # Step 3. A gate attends to an argument that determines it, and takes its bit.
    decisive = (BIT_SCALE * wants_one, argument - 1), (BIT_SCALE * wants_zero, -argument)
    decides = fetch_by_scores("decides", [*own_arguments, *decisive], argument, weighting, explains=explains_gate)
    plain, same = round_to_bit("AND or OR", decides, is_and_or), round_to_bit("not NOT", decides, is_not)
    return (initial + plain + is_not - same).with_range(BIT)


def binary_signals(layout: CircuitLayout, *, soft: bool) -> Program:
    """Build a transformer that outputs the value of every wire at its position; gates are AND, OR and NOT."""
    # Step 1. The wiring as position features.
    width = address_width(len(layout.circuit.wires))
    own = binary_address_features("own address", width, layout.table(lambda place: place.own_address))
    source = binary_address_features("source", width, layout.table(lambda place: place.source))
    target = binary_address_features("target", width, layout.table(lambda place: place.target))
    is_gate = position_flag("is gate", layout.table(lambda place: int(place.is_gate)))
    turn = partial(
        evaluate_gates_once,
        initial=_initial_values(layout),
        addresses=address_scores(source, own),
        own_arguments=(address_scores(target, target), penalty_scores(is_gate)),
        is_argument=_is_argument(layout),
        is_and_or=position_flag("is AND or OR", layout.gates(GateKind.AND, GateKind.OR)),
        is_not=position_flag("is NOT", layout.gates(GateKind.NOT)),
        wants_one=position_flag("of OR", layout.gates_and_arguments(GateKind.OR)),
        wants_zero=position_flag("of AND or NOT", layout.gates_and_arguments(GateKind.AND, GateKind.NOT)),
        weighting=address_weighting(soft, len(layout.contents)),
        explains_argument=partial(_explain_argument, layout=layout),
        explains_gate=partial(_explain_gate, layout=layout, by_mean=False),
    )
    return _iterate(layout, turn)


def unit_signals(layout: CircuitLayout, *, soft: bool) -> Program:
    """Build a transformer that outputs the value of every wire at its position; gates are AND, OR, NOT and THR."""
    numbers = find_unit_vector_scale(len(layout.circuit.wires), len(layout.contents), soft)
    weighting = softmax_weighting(1) if soft else AVERAGE_HARD

    def address(name: str, entry: Callable[[PositionContent], int]) -> Signal:
        return unit_vector_features(name, numbers.bits, layout.table(entry))

    # Step 1. The wiring as position features.
    of_input = address("input's address", lambda place: NO_ADDRESS if place.gate else place.own_address)
    of_gate = address("gate's address", lambda place: place.own_address if place.gate else NO_ADDRESS)
    source = address("source", lambda place: place.source)
    of_argument = address("argument's gate", lambda place: place.target if place.is_argument else NO_ADDRESS)
    is_argument, is_not = _is_argument(layout), position_flag("is NOT", layout.gates(GateKind.NOT))
    steepness = 1 << features.ceil_log2(4 * max((len(gate.inputs) for gate in layout.circuit.gates), default=1))

    def found(name: str, address: Signal, held: Signal, value: Signal, explains: HeadExplanation) -> Signal:
        query, key, gap = numbers.scale * stack(address, constant(-1)), stack(held, constant(1)), numbers.gap
        return attend(
            name, query=query, key=key, value=value, mask=Mask.ALL, weighting=weighting, gap=gap, explains=explains
        )

    def above(name: str, share: Signal, limit: Signal) -> Signal:
        rise = steepness * (share - limit)  # at most -2 or at least 2, so that an error of 1 has no effect
        decided = relu(f"{name}: rises", rise) - relu(f"{name}: is 1", rise - 1)
        return named(name, decided.with_range(BIT))

    def turn(value: Signal) -> Signal:
        # Step 2. An argument fetches the bit of its wire.
        wire = found("wire", source, of_input + of_gate, value, partial(_explain_argument, layout=layout))
        argument = round_to_bit("argument", wire, is_argument)
        # Step 3. A gate compares the fraction of its arguments that are 1 with its threshold.
        explains = partial(_explain_gate, layout=layout, by_mean=True)
        share = found("share of ones", of_input + of_gate + of_argument, of_input + of_argument, argument, explains)
        plain = above("enough", share, _threshold_feature(layout, "threshold", negated=False))
        same = above("not NOT", share, _threshold_feature(layout, "half at NOT", negated=True))
        return (_initial_values(layout) + plain + is_not - same).with_range(BIT)

    return _iterate(layout, turn)


def _is_argument(layout: CircuitLayout) -> Signal:
    return position_flag("is argument", layout.table(lambda place: int(place.is_argument)))


def _threshold_feature(layout: CircuitLayout, name: str, *, negated: bool) -> Signal:
    """(θ - 1/2)/K at NOT gates, or at all other gates; elsewhere 2, more than any fraction."""

    def ratio(place: PositionContent) -> Fraction:
        gate = place.gate
        if gate is None or not place.is_gate or not gate.inputs or (gate.kind is GateKind.NOT) is not negated:
            return Fraction(2)
        needed = {GateKind.OR: 1, GateKind.NOT: 1, GateKind.AND: len(gate.inputs)}
        return Fraction(2 * needed.get(gate.kind, gate.effective_threshold) - 1, 2 * len(gate.inputs))

    return position(TableFeature(name, tuple(map(ratio, layout.contents))))


def _initial_values(layout: CircuitLayout) -> Signal:
    """The initial values of the wires: inputs and constants."""
    bit = token("bit", {"1": (1,), "0": (0,), PAD_TOKEN: (0,)})
    if not any(ones := layout.gates(GateKind.ONE)):
        return bit
    return (bit + position_flag("is ONE", ones)).with_range(BIT)


def _iterate(layout: CircuitLayout, turn: Callable[[Signal], Signal]) -> Program:
    # Step 4. As many iterations as the circuit is deep.
    value = named("value", _initial_values(layout))
    if layout.circuit.depth:
        value = loop("layers of gates", iterations=layout.circuit.depth, initial=value, body=turn)
    return recogniser(layout.circuit.name, TOKENS, value, positions=len(layout.contents))


_WIRES = parameter("W", "wires", lambda codec: len(codec.layout.circuit.wires))
_ARGUMENTS = parameter("A", "arguments of gates", lambda codec: sum(len(g.inputs) for g in codec.layout.circuit.gates))
_ONES = parameter("c", "kinds of constant gates (0 or 1)", lambda codec: int(any(codec.layout.gates(GateKind.ONE))))
_COST = {
    "layers": 2 * parameter("L", "depth of the circuit", lambda codec: codec.layout.circuit.depth),
    "positions": _WIRES + _ARGUMENTS,
}

THEOREMS = (
    Theorem(
        "circuit-and-or-not",
        "Circuits of AND, OR and NOT, two attention layers per layer of gates, constant precision",
        "Revisiting Padded Transformer Expressivity, Theorem 4.1",
        Requirements(
            "the wiring as position features, ⌈log₂ wires⌉ bits per address",
            scale="O(log positions)",
            remark="padding; any F_b with b ≥ 2",
        ),
        Cost(_COST, {"heads": 2, "width": 3 * define("p", largest(2, ceil_log2(_WIRES))) + 11 + _ONES, "precision": 2}),
        Circuit,
        ("hard", "soft"),
        codec=lambda circuit, _: CircuitCodec(circuit, AddressEncoding.BINARY),
        signals=lambda codec, attention: binary_signals(codec.layout, soft=attention == "soft"),
        steps=(
            "Every gate, and every argument of a gate, has its own position; its wiring is a position feature.",
            "An argument fetches the bit of its wire: signed bits of addresses agree, or lower the score by 4.",
            "A gate attends to an argument that determines it: a 0 for AND, a 1 for OR.",
            "Both layers are repeated as often as the circuit is deep.",
        ),
        tour=BINARY_TOUR,
        rank=1,
    ),
    Theorem(
        "circuit-threshold",
        "Circuits with threshold gates, two attention layers per layer of gates, constant width",
        "Revisiting Padded Transformer Expressivity, Lemma 4.1",
        Requirements(
            "the wiring as position features, two numbers of O(log wires) bits per address",
            scale="1; the weights grow with the number of wires",
            remark="padding",
        ),
        Cost(_COST, {"heads": 2, "width": 17 + _ONES}),
        Circuit,
        ("hard", "soft"),
        codec=lambda circuit, _: CircuitCodec(circuit, AddressEncoding.UNIT),
        signals=lambda codec, attention: unit_signals(codec.layout, soft=attention == "soft"),
        steps=(
            "Every gate, and every argument of a gate, has its own position; its wiring is a position feature.",
            "An argument fetches the bit of its wire: addresses are unit vectors.",
            "A gate retrieves the fraction of its arguments that are 1, and compares it with its threshold.",
            "Both layers are repeated as often as the circuit is deep.",
        ),
        tour=UNIT_VECTOR_TOUR,
        rank=2,
    ),
)
