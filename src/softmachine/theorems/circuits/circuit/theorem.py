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

Explanations of the heads of a circuit: wires, and arguments of gates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial

from softmachine.ir import Program, Signal, attend, constant, loop, named, position, recogniser, relu, stack
from softmachine.ir.gadgets.binary_addresses import UNIT, avoiding, by_bits, fetched, matching, settled, unit_scale
from softmachine.ir.gadgets.position_tables import address_width, binary_address, flag, unit_address
from softmachine.ir.primitives import token
from softmachine.ir.ranges import BIT
from softmachine.languages.circuit import Circuit, GateKind
from softmachine.theorems.circuits.circuit.codec import Addresses, CircuitCodec, Layout, Slot
from softmachine.theorems.cost import Cost, ceil_log2, largest, let, parameter
from softmachine.theorems.shared.recogniser_codec import PAD
from softmachine.theorems.theorem import Guide, Needs, Theorem
from softmachine.transformer import features
from softmachine.transformer.attention import AVERAGE_HARD, Mask, Weighting, softmax
from softmachine.transformer.head_view import Sight
from softmachine.transformer.table_features import NO_ADDRESS, Table

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


TOKENS = ("0", "1", PAD)


def turn_of_gates(
    value: Signal,
    *,
    given: Signal,
    wire: tuple[Signal, Signal],
    own_arguments: tuple[tuple[Signal, Signal], ...],
    is_argument: Signal,
    is_plain: Signal,
    is_not: Signal,
    wants_one: Signal,
    wants_zero: Signal,
    weighting: Weighting,
) -> Signal:
    """One iteration: the values of the wires after AND, OR (plain) and NOT gates are evaluated once more.

    The query-key pair ``wire`` addresses the wire of an argument, those of ``own_arguments`` the arguments of a gate. A
    gate is determined by an argument that is 1, if it ``wants_one``, or 0, if it ``wants_zero``.
    """
    # Step 2. An argument fetches the bit of its wire.
    argument = settled("argument", fetched("wire", [wire], value, weighting), is_argument)
    # Step 3. A gate attends to an argument that determines it, and takes its bit.
    decisive = (UNIT * wants_one, argument - 1), (UNIT * wants_zero, -argument)
    decides = fetched("decides", [*own_arguments, *decisive], argument, weighting)
    plain, same = settled("AND or OR", decides, is_plain), settled("not NOT", decides, is_not)
    return (given + plain + is_not - same).known(BIT)


def binary_signals(layout: Layout, *, soft: bool) -> Program:
    """Build a transformer that outputs the value of every wire at its position; gates are AND, OR and NOT."""
    # Step 1. The wiring as position features.
    width = address_width(len(layout.circuit.wires))
    own = binary_address("own address", width, layout.table(lambda place: place.own))
    source = binary_address("source", width, layout.table(lambda place: place.source))
    target = binary_address("target", width, layout.table(lambda place: place.target))
    is_gate = flag("is gate", layout.table(lambda place: int(place.is_gate)))
    turn = partial(
        turn_of_gates,
        given=_given(layout),
        wire=matching(source, own),
        own_arguments=(matching(target, target), avoiding(is_gate)),
        is_argument=_is_argument(layout),
        is_plain=flag("is AND or OR", layout.gates(GateKind.AND, GateKind.OR)),
        is_not=flag("is NOT", layout.gates(GateKind.NOT)),
        wants_one=flag("of OR", layout.parts(GateKind.OR)),
        wants_zero=flag("of AND or NOT", layout.parts(GateKind.AND, GateKind.NOT)),
        weighting=by_bits(soft, len(layout.places)),
    )
    return _evaluated(layout, turn)


def unit_signals(layout: Layout, *, soft: bool) -> Program:
    """Build a transformer that outputs the value of every wire at its position; gates are AND, OR, NOT and THR."""
    numbers = unit_scale(len(layout.circuit.wires), len(layout.places), soft)
    weighting = softmax(1) if soft else AVERAGE_HARD

    def address(name: str, entry: Callable[[Slot], int]) -> Signal:
        return unit_address(name, numbers.bits, layout.table(entry))

    # Step 1. The wiring as position features.
    of_input = address("input's address", lambda place: NO_ADDRESS if place.gate else place.own)
    of_gate = address("gate's address", lambda place: place.own if place.gate else NO_ADDRESS)
    source = address("source", lambda place: place.source)
    of_argument = address("argument's gate", lambda place: place.target if place.is_argument else NO_ADDRESS)
    is_argument, is_not = _is_argument(layout), flag("is NOT", layout.gates(GateKind.NOT))
    steepness = 1 << features.ceil_log2(4 * max((len(gate.inputs) for gate in layout.circuit.gates), default=1))

    def found(name: str, address: Signal, held: Signal, value: Signal) -> Signal:
        query, key = numbers.scale * stack(address, constant(-1)), stack(held, constant(1))
        return attend(name, query=query, key=key, value=value, mask=Mask.ALL, weighting=weighting, gap=numbers.gap)

    def above(name: str, share: Signal, limit: Signal) -> Signal:
        rise = steepness * (share - limit)  # at most -2 or at least 2, so that an error of 1 has no effect
        decided = relu(f"{name}: rises", rise) - relu(f"{name}: is 1", rise - 1)
        return named(name, decided.known(BIT), restores=Fraction(1, 4) * rise)

    def turn(value: Signal) -> Signal:
        # Step 2. An argument fetches the bit of its wire.
        argument = settled("argument", found("wire", source, of_input + of_gate, value), is_argument)
        # Step 3. A gate compares the fraction of its arguments that are 1 with its threshold.
        share = found("share of ones", of_input + of_gate + of_argument, of_input + of_argument, argument)
        plain = above("enough", share, _limit(layout, "threshold", negated=False))
        same = above("not NOT", share, _limit(layout, "half at NOT", negated=True))
        return (_given(layout) + plain + is_not - same).known(BIT)

    return _evaluated(layout, turn)


def _is_argument(layout: Layout) -> Signal:
    return flag("is argument", layout.table(lambda place: int(place.is_argument)))


def _limit(layout: Layout, name: str, *, negated: bool) -> Signal:
    """(θ - 1/2)/K at NOT gates, or at all other gates; elsewhere 2, more than any fraction."""

    def ratio(place: Slot) -> Fraction:
        gate = place.gate
        if gate is None or not place.is_gate or not gate.inputs or (gate.kind is GateKind.NOT) is not negated:
            return Fraction(2)
        needed = {GateKind.OR: 1, GateKind.NOT: 1, GateKind.AND: len(gate.inputs)}
        return Fraction(2 * needed.get(gate.kind, gate.at_least) - 1, 2 * len(gate.inputs))

    return position(Table(name, tuple(map(ratio, layout.places))))


def _given(layout: Layout) -> Signal:
    """The initial values of the wires: inputs and constants."""
    bit = token("bit", {"1": (1,), "0": (0,), PAD: (0,)})
    if not any(ones := layout.gates(GateKind.ONE)):
        return bit
    return (bit + flag("is ONE", ones)).known(BIT)


def _evaluated(layout: Layout, turn: Callable[[Signal], Signal]) -> Program:
    # Step 4. As many iterations as the circuit is deep.
    value = named("value", _given(layout))
    if layout.circuit.depth:
        value = loop("layers of gates", times=layout.circuit.depth, carry=value, body=turn)
    return recogniser(layout.circuit.name, TOKENS, value, positions=len(layout.places))


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
        Needs(
            "the wiring as position features, ⌈log₂ wires⌉ bits per address",
            scale="O(log positions)",
            also="padding; any F_b with b ≥ 2",
        ),
        Cost(_COST, {"heads": 2, "width": 3 * let("p", largest(2, ceil_log2(_WIRES))) + 11 + _ONES, "precision": 2}),
        Circuit,
        ("hard", "soft"),
        codec=lambda circuit, _: CircuitCodec(circuit, Addresses.BINARY),
        signals=lambda codec, attention: binary_signals(codec.layout, soft=attention == "soft"),
        steps=(
            "Every gate, and every argument of a gate, has its own position; its wiring is a position feature.",
            "An argument fetches the bit of its wire: signed bits of addresses agree, or lower the score by 4.",
            "A gate attends to an argument that determines it: a 0 for AND, a 1 for OR.",
            "Both layers are repeated as often as the circuit is deep.",
        ),
        guide=BINARY,
        tells=tell,
        rank=1,
    ),
    Theorem(
        "circuit-threshold",
        "Circuits with threshold gates, two attention layers per layer of gates, constant width",
        "Revisiting Padded Transformer Expressivity, Lemma 4.1",
        Needs(
            "the wiring as position features, two numbers of O(log wires) bits per address",
            scale="1; the weights grow with the number of wires",
            also="padding",
        ),
        Cost(_COST, {"heads": 2, "width": 17 + _ONES}),
        Circuit,
        ("hard", "soft"),
        codec=lambda circuit, _: CircuitCodec(circuit, Addresses.UNIT),
        signals=lambda codec, attention: unit_signals(codec.layout, soft=attention == "soft"),
        steps=(
            "Every gate, and every argument of a gate, has its own position; its wiring is a position feature.",
            "An argument fetches the bit of its wire: addresses are unit vectors.",
            "A gate retrieves the fraction of its arguments that are 1, and compares it with its threshold.",
            "Both layers are repeated as often as the circuit is deep.",
        ),
        guide=UNIT_VECTORS,
        tells=tell,
        rank=2,
    ),
)
