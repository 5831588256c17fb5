"""Generators of standard circuits of any width: arithmetic, comparison, thresholds, parity, sorting, trees.

Numbers have the highest bit first, and the first number comes before the second: ``adder(2)`` reads a1 a0 b1 b0 and
outputs s2 s1 s0.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from softmachine.languages.circuit.circuit import Circuit, CircuitBuilder, GateKind
from softmachine.languages.circuit.structural_hashing import reduce_balanced
from softmachine.support.errors import UsageError

MAX_WIDTH = 4096
"""Maximum width of a generated circuit."""


def _check_width(what: str, bits: int) -> None:
    if not 1 <= bits <= MAX_WIDTH:
        raise UsageError(f"{what} of width {bits} is not possible; the width is between 1 and {MAX_WIDTH}")


def _number_wires(letter: str, bits: int) -> list[str]:
    """The wires of a number, the lowest bit first."""
    return [f"{letter}{k}" for k in range(bits)]


def _two_number_builder(name: str, bits: int) -> tuple[CircuitBuilder, list[str], list[str]]:
    one, other = _number_wires("a", bits), _number_wires("b", bits)
    return CircuitBuilder(name, [*reversed(one), *reversed(other)]), one, other


def adder(bits: int) -> Circuit:
    """Ripple-carry adder: one full adder per bit, depth O(bits)."""
    _check_width("an adder", bits)
    builder, one, other = _two_number_builder(f"adder-{bits}", bits)
    *sums, carry = _add_numbers(builder, one, other, "s")
    top = builder.gate(GateKind.BUF, carry, name=f"s{bits}")
    return builder.build([top, *reversed(sums)])


def _add_numbers(
    builder: CircuitBuilder, one: Sequence[str | None], other: Sequence[str], stem: str | None = None
) -> list[str]:
    """Add two numbers; returns the sum and the carry if there can be one. None stands for a bit that is 0."""
    carry: str | None = None
    sums = []
    for k, (a, b) in enumerate(zip(one, other, strict=True)):
        name = f"{stem}{k}" if stem else None
        first, *more = [bit for bit in (a, b, carry) if bit is not None]
        if len(more) == 2:
            either = builder.parity(first, more[0])
            total = builder.parity(either, more[1], name=name)
            carry = builder.disjunction(builder.conjunction(first, more[0]), builder.conjunction(either, more[1]))
        elif more:
            total, carry = builder.parity(first, *more, name=name), builder.conjunction(first, *more)
        else:
            total = first
        sums.append(total)
    return [*sums, *([carry] if carry else [])]


def lookahead_adder(bits: int) -> Circuit:
    """Carry-lookahead adder of constant depth, independent of the width: addition is in AC⁰.

    There is a carry into bit k if some lower bit generates one (both are 1) and all between propagate it (one is 1).
    """
    _check_width("an adder", bits)
    builder, one, other = _two_number_builder(f"lookahead-adder-{bits}", bits)
    generate = [builder.gate(GateKind.AND, a, b, stem="g") for a, b in zip(one, other, strict=True)]
    passes = [builder.gate(GateKind.OR, a, b, stem="p") for a, b in zip(one, other, strict=True)]
    carries = [
        builder.disjunction(*(builder.conjunction(generate[j], *passes[j + 1 : k]) for j in range(k)))
        for k in range(1, bits + 1)
    ]
    sums = [builder.parity(one[0], other[0], name="s0")]
    sums += [builder.parity(one[k], other[k], carries[k - 1], name=f"s{k}") for k in range(1, bits)]
    top = builder.gate(GateKind.BUF, carries[-1], name=f"s{bits}")
    return builder.build([top, *reversed(sums)])


def multiplier(bits: int) -> Circuit:
    """Array multiplier: the shifted partial products are added one after the other."""
    _check_width("a multiplier", bits)
    builder, one, other = _two_number_builder(f"multiplier-{bits}", bits)
    total = [builder.conjunction(a, other[0]) for a in one]
    product = []
    for b in other[1:]:
        product.append(total[0])
        rest: list[str | None] = [*total[1:], *[None] * (bits - len(total[1:]))]
        total = _add_numbers(builder, rest, [builder.conjunction(a, b) for a in one])
    product += total
    wires = [builder.gate(GateKind.BUF, wire, name=f"p{k}") for k, wire in enumerate(product)]
    if bits == 1:
        wires.append(builder.constant(False, "p1"))
    return builder.build(reversed(wires))


def comparator(bits: int) -> Circuit:
    """Whether the first number is less than, equal to or greater than the second: lt, eq, gt. Constant depth."""
    _check_width("a comparator", bits)
    builder, one, other = _two_number_builder(f"comparator-{bits}", bits)
    same = [builder.gate(GateKind.XNOR, a, b) for a, b in zip(one, other, strict=True)]
    greater = builder.disjunction(
        *(builder.conjunction(one[k], builder.negation(other[k]), *same[k + 1 :]) for k in range(bits)),
        name="gt",
    )
    equal = builder.conjunction(*same, name="eq")
    less = builder.gate(GateKind.NOR, greater, equal, name="lt")
    return builder.build([less, equal, greater])


def majority(inputs: int) -> Circuit:
    """Whether more than half of the inputs are 1."""
    return threshold(inputs, inputs // 2 + 1, f"majority-{inputs}")


def threshold(inputs: int, at_least: int, name: str | None = None) -> Circuit:
    """Whether at least ``at_least`` inputs are 1: one threshold gate."""
    _check_width("a threshold", inputs)
    builder = CircuitBuilder(name or f"threshold-{at_least}-of-{inputs}", _number_wires("x", inputs))
    return builder.build([builder.gate(GateKind.THR, *builder.inputs, threshold=at_least, name="y")])


def parity(inputs: int) -> Circuit:
    """Whether an odd number of inputs is 1: a balanced tree of two-input XOR gates."""
    _check_width("a parity", inputs)
    builder = CircuitBuilder(f"parity-{inputs}", _number_wires("x", inputs))
    return builder.build([builder.gate(GateKind.BUF, reduce_balanced(builder.inputs, builder.parity), name="y")])


def adjacent_ones(inputs: int) -> Circuit:
    """Whether two adjacent inputs are both 1, in depth 2."""
    _check_width("neighbours", inputs)
    builder = CircuitBuilder(f"adjacent-ones-{inputs}", _number_wires("x", inputs))
    pairs = [builder.conjunction(one, other) for one, other in pairwise(builder.inputs)]
    return builder.build([builder.disjunction(*pairs, name="y")])


def and_or_tree(inputs: int) -> Circuit:
    """A balanced tree of two-input gates, AND and OR in alternate levels: gate k reads wires 2k and 2k + 1."""
    _check_width("a tree", inputs)
    builder = CircuitBuilder(f"and-or-tree-{inputs}", _number_wires("x", inputs))
    wires, levels = list(builder.inputs), [0] * inputs
    for k in range(inputs - 1):
        levels.append(max(levels[2 * k : 2 * k + 2]) + 1)
        kind = GateKind.AND if levels[-1] % 2 else GateKind.OR
        wires.append(builder.gate(kind, *wires[2 * k : 2 * k + 2]))
    return builder.build([wires[-1]])


def majority_tree(inputs: int) -> Circuit:
    """A balanced tree of majorities of three, for an odd number of inputs: gate k reads wires 3k, 3k + 1, 3k + 2."""
    _check_width("a tree", inputs)
    if inputs % 2 == 0:
        raise UsageError(f"a tree of majorities of three has an odd number of inputs, not {inputs}")
    builder = CircuitBuilder(f"majority-tree-{inputs}", _number_wires("x", inputs))
    wires = list(builder.inputs)
    for k in range(inputs // 2):
        wires.append(builder.gate(GateKind.THR, *wires[3 * k : 3 * k + 3], threshold=2))
    return builder.build([wires[-1]])


def sorting_network(inputs: int) -> Circuit:
    """The inputs sorted with the ones first: Batcher's odd-even merge sort, one OR and one AND per comparator."""
    _check_width("a sorting network", inputs)
    builder = CircuitBuilder(f"sorting-{inputs}", _number_wires("x", inputs))
    wires = list(builder.inputs)
    for low, high in _batcher_comparators(inputs):
        one, other = wires[low], wires[high]
        wires[low], wires[high] = builder.disjunction(one, other), builder.conjunction(one, other)
    outputs = [builder.gate(GateKind.BUF, wire, name=f"y{k}") for k, wire in enumerate(wires)]
    return builder.build(outputs)


def _batcher_comparators(inputs: int) -> list[tuple[int, int]]:
    """The comparators of odd-even merge sort for any number of inputs (Knuth, volume 3, algorithm 5.2.2 M)."""
    pairs = []
    span = 1 << max((inputs - 1).bit_length() - 1, 0)
    p = span
    while p:
        q, r, d = span, 0, p
        while True:
            pairs += [(i, i + d) for i in range(inputs - d) if i & p == r]
            if q == p:
                break
            d, q, r = q - p, q >> 1, p
        p >>= 1
    return pairs
