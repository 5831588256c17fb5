"""Leftmost and rightmost attention of S-RASP: a head finds the best key, and a unit checks whether it matches.

The scores, and the proof that the best key is the right one, are in :mod:`.theorem`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TypeAlias

from softmachine.ir import Signal, attend, constant, position, relu, stack
from softmachine.ir.gadgets import all_of, any_of, round_unit_bit
from softmachine.ir.gadgets.integers import compare_with_zero
from softmachine.ir.primitives import ScoreDecay
from softmachine.ir.ranges import BIT, real
from softmachine.languages.srasp import AttentionStep, IntegerEquality, PredicateProduct
from softmachine.languages.srasp.ast import AttentionChoice, BooleanLiteral, move_to_i
from softmachine.languages.srasp.ast import Mask as Visible
from softmachine.support.errors import ConstructionError
from softmachine.theorems.rasp.srasp.elementwise import ElementwiseLowering, Value, require_finite, require_integer
from softmachine.theorems.rasp.srasp.integers import (
    RAMP,
    SHARE,
    SHARPNESS,
    IntegerLookups,
    ScaledInteger,
    position_signal,
)
from softmachine.transformer.attention import Mask
from softmachine.transformer.features import N_PLUS_ONE

LEMMA_8_GAMMA = 3
"""Gap times inverse temperature of heads that retrieve only finite values: 4e^-3 < 1/4."""

MASKS = {
    Visible.NONE: Mask.ALL,
    Visible.BEFORE: Mask.PAST,
    Visible.UP_TO: Mask.CAUSAL,
    Visible.AFTER: Mask.FUTURE,
    Visible.FROM: Mask.ANTICAUSAL,
}

Found: TypeAlias = tuple[Signal, Sequence[Value]]
"""A bit, whether a position matches, and the values read at the rightmost (leftmost) that does."""


def lower_attention(pointwise: ElementwiseLowering, step: AttentionStep) -> Value:
    """The value at the rightmost (leftmost) position that matches; the default if there is none."""
    default = pointwise.lower(step.attention.default)
    groups: dict[tuple[IntegerEquality, ...], list[PredicateProduct]] = {}
    for term in step.products:
        if term.excluded_equalities:
            raise ConstructionError(
                f"its predicate requires that {term.excluded_equalities[0]} does not hold; "
                "attention finds equal integers, not different ones",
                hint="use only '=' in the predicate, or compare in the value",
            )
        groups.setdefault(term.required_equalities, []).append(term)
    if not groups:
        return default
    reads = [pointwise.read_vector(read) for read in step.read_vectors]
    if len(groups) == 1:
        ((equal, products),) = groups.items()
        matched, found = _attend_to_best(pointwise, step, step.name, equal, products, reads)
    else:
        matched, found = _attend_by_cases(pointwise, step, groups, reads)
    retrieved = dict(zip(step.read_vectors, found, strict=True))
    there = replace(
        pointwise,
        read_vector=lambda read: retrieved[read] if read.at == "j" else pointwise.read_vector(read),
        input_bit=constant(1),
    )
    return pointwise.choose(f"{step.name} or default", matched, there.lower(step.attention.value), default)


def _attend_to_best(
    pointwise: ElementwiseLowering,
    step: AttentionStep,
    name: str,
    equal: tuple[IntegerEquality, ...],
    products: Sequence[PredicateProduct],
    reads: Sequence[Value],
) -> Found:
    """One head, for products that require the same equalities."""
    finder, mask = pointwise.integers, MASKS[step.attention.mask]
    # Step 3. A predicate is a sum of products of a query term and a key term; j/(2(n+1)) breaks ties.
    query_terms = [pointwise.lower_finite(term.at_i) for term in products]
    key_terms = [pointwise.lower_finite(move_to_i(term.at_j)) for term in products]
    xs = [pointwise.lower_integer(equality.at_i) for equality in equal]
    ys = [pointwise.lower_integer(move_to_i(equality.at_j)) for equality in equal]
    query, key = list(query_terms), list(key_terms)
    for equality, x, y in zip(equal, xs, ys, strict=True):
        key += finder.with_square(f"{move_to_i(equality.at_j)}", y)
        query += [2 * finder.with_value(f"{equality.at_i}", x), constant(-1)]
    query.append(constant(Fraction(1 if step.attention.choice is AttentionChoice.RIGHTMOST else -1, 2)))
    key.append(position(RAMP))
    values = [*key_terms, *ys, *reads]
    finite = all(isinstance(value, Signal) for value in values)
    head = attend(
        name,
        query=stack(*query),
        key=stack(*key),
        value=_pack(finder, values),
        mask=mask,
        weighting=finder.weighting(2 * LEMMA_8_GAMMA * N_PLUS_ONE if finite else 2 * SHARPNESS * N_PLUS_ONE**2),
        gap=Fraction(1, 2) / N_PLUS_ONE,
        single_key=True,
        decay=ScoreDecay.LINEAR,
        explains=f"the {step.attention.choice} that fits best",
    )
    # Step 4. The retrieved key terms are compared with the query terms.
    found = iter(_unpack(finder, name, head, values))
    bits = _match_bits(name, mask, products, query_terms, [require_finite(next(found)) for _ in products])
    for equality, x in zip(equal, xs, strict=True):
        label, difference = f"{name}: {equality}", x - require_integer(next(found))
        bits.append(compare_with_zero(label, finder.with_value(label, difference), "=", constant(1)))
    return bits[0] if len(bits) == 1 else all_of(f"{name} matches", *bits), list(found)


def _match_bits(
    name: str,
    mask: Mask,
    products: Sequence[PredicateProduct],
    query_terms: Sequence[Signal],
    key_terms: Sequence[Signal],
) -> list[Signal]:
    """Bits that are all 1 iff a product is 1 for the retrieved key terms; not all are 1 at the start token."""
    if len(products) > 1:
        pairs = enumerate(zip(query_terms, key_terms, strict=True), start=1)
        both = [all_of(f"{name}: case {k}", mine, other) for k, (mine, other) in pairs]
        return [stack(*both).total.with_range(BIT)]
    # The start token sees only itself in the past.
    trivial = products[0].at_i == BooleanLiteral(True) and mask.is_causal
    return [key_terms[0]] if trivial else [query_terms[0], key_terms[0]]


def _attend_by_cases(
    pointwise: ElementwiseLowering,
    step: AttentionStep,
    groups: Mapping[tuple[IntegerEquality, ...], Sequence[PredicateProduct]],
    reads: Sequence[Value],
) -> Found:
    """The same for products that require different equalities: one search each, and the best position of all."""
    rightmost = step.attention.choice is AttentionChoice.RIGHTMOST
    matches, ranks = [], []
    for k, (equal, products) in enumerate(groups.items(), 1):
        name = f"{step.name}, case {k}"
        matched, found = _attend_to_best(pointwise, step, name, equal, products, [position_signal()])
        share = require_integer(found[0]).share.with_range(real(0, 1))
        # The rank is 0 where nothing matches: j/(n+1), or 1 - j/(n+1) to find the leftmost.
        ranks.append(relu(f"{name}: rank", share + matched - 1 if rightmost else matched - share))
        matches.append(matched)
    best = ranks[0]
    for k, rank in enumerate(ranks[1:], 2):
        best = best + relu(f"{step.name}: best of {k}", rank - best)
    some = any_of(f"{step.name} matches", *matches)
    if not reads:
        return some, []
    finder = pointwise.integers
    head = finder.lookup(step.name, best if rightmost else some - best, _pack(finder, reads), SHARE, Mask.ALL)
    return some, _unpack(finder, step.name, head, reads)


def _pack(finder: IntegerLookups, values: Sequence[Value]) -> Signal:
    """Values as one vector; an integer x is packed as x and x/(n+1)."""
    return stack(*(stack(finder.with_value("", v), v.share) if isinstance(v, ScaledInteger) else v for v in values))


def _unpack(finder: IntegerLookups, name: str, found: Signal, like: Sequence[Value]) -> list[Value]:
    """Unpacks retrieved values; bits and symbols are rounded after softmax."""
    values: list[Value] = []
    start = 0
    for k, value in enumerate(like):
        if isinstance(value, ScaledInteger):
            exact, share = found[start].with_range(value.value_range), found[start + 1].with_range(value.share_range)
            values.append(ScaledInteger(value.low, value.high, share, exact))
            start += 2
            continue
        part = found[start : start + len(value)]
        bits = round_unit_bit(f"{name}: {k}", part) if finder.soft else part
        values.append(Signal(bits.forms, (BIT,) * len(value), value.labels, value.is_one_hot))
        start += len(value)
    return values
