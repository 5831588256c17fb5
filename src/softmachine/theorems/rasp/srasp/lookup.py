"""Leftmost and rightmost attention of S-RASP: a head finds the best key, and a unit checks whether it matches.

The scores, and the proof that the best key is the right one, are in :mod:`.theorem`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TypeAlias

from softmachine.ir import Signal, attend, constant, position, relu, stack
from softmachine.ir.gadgets import all_of, any_of, rounded
from softmachine.ir.gadgets.integers import compared
from softmachine.ir.primitives import Fall
from softmachine.ir.ranges import BIT, real
from softmachine.languages.srasp import Equality, Lookup, Product
from softmachine.languages.srasp.ast import Choice, Truth, at_i
from softmachine.languages.srasp.ast import Mask as Visible
from softmachine.support.errors import ConstructionError
from softmachine.theorems.rasp.srasp.elementwise import Pointwise, Value, finite_value, number_value
from softmachine.theorems.rasp.srasp.integers import RAMP, SHARE, SHARPNESS, Finder, Number, here
from softmachine.transformer.attention import Mask
from softmachine.transformer.features import LENGTH

GAMMA = 3
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


def looked_up(pointwise: Pointwise, step: Lookup) -> Value:
    """The value at the rightmost (leftmost) position that matches; the default if there is none."""
    default = pointwise.of(step.attention.default)
    groups: dict[tuple[Equality, ...], list[Product]] = {}
    for term in step.products:
        if term.unequal:
            raise ConstructionError(
                f"its predicate requires that {term.unequal[0]} does not hold; "
                "attention finds equal integers, not different ones",
                hint="use only '=' in the predicate, or compare in the value",
            )
        groups.setdefault(term.equal, []).append(term)
    if not groups:
        return default
    reads = [pointwise.read(read) for read in step.reads]
    if len(groups) == 1:
        ((equal, products),) = groups.items()
        matched, found = _search(pointwise, step, step.name, equal, products, reads)
    else:
        matched, found = _search_by_cases(pointwise, step, groups, reads)
    retrieved = dict(zip(step.reads, found, strict=True))
    there = replace(
        pointwise, read=lambda read: retrieved[read] if read.at == "j" else pointwise.read(read), one=constant(1)
    )
    return pointwise.choose(f"{step.name} or default", matched, there.of(step.attention.value), default)


def _search(
    pointwise: Pointwise,
    step: Lookup,
    name: str,
    equal: tuple[Equality, ...],
    products: Sequence[Product],
    reads: Sequence[Value],
) -> Found:
    """One head, for products that require the same equalities."""
    finder, mask = pointwise.finder, MASKS[step.attention.mask]
    # Step 3. A predicate is a sum of products of a query term and a key term; j/(2(n+1)) breaks ties.
    query_terms = [pointwise.finite(term.at_i) for term in products]
    key_terms = [pointwise.finite(at_i(term.at_j)) for term in products]
    xs = [pointwise.number(equality.at_i) for equality in equal]
    ys = [pointwise.number(at_i(equality.at_j)) for equality in equal]
    query, key = list(query_terms), list(key_terms)
    for equality, x, y in zip(equal, xs, ys, strict=True):
        key += finder.squared(f"{at_i(equality.at_j)}", y)
        query += [2 * finder.value(f"{equality.at_i}", x), constant(-1)]
    query.append(constant(Fraction(1 if step.attention.choice is Choice.RIGHTMOST else -1, 2)))
    key.append(position(RAMP))
    values = [*key_terms, *ys, *reads]
    finite = all(isinstance(value, Signal) for value in values)
    head = attend(
        name,
        query=stack(*query),
        key=stack(*key),
        value=_packed(finder, values),
        mask=mask,
        weighting=finder.weighting(2 * GAMMA * LENGTH if finite else 2 * SHARPNESS * LENGTH**2),
        gap=Fraction(1, 2) / LENGTH,
        single=True,
        fall=Fall.LINEAR,
    )
    # Step 4. The retrieved key terms are compared with the query terms.
    found = iter(_unpacked(finder, name, head, values))
    bits = _matches(name, mask, products, query_terms, [finite_value(next(found)) for _ in products])
    for equality, x in zip(equal, xs, strict=True):
        label, difference = f"{name}: {equality}", x - number_value(next(found))
        bits.append(compared(label, finder.value(label, difference), "=", constant(1)))
    return bits[0] if len(bits) == 1 else all_of(f"{name} matches", *bits), list(found)


def _matches(
    name: str, mask: Mask, products: Sequence[Product], ours: Sequence[Signal], theirs: Sequence[Signal]
) -> list[Signal]:
    """Bits that are all 1 iff a product is 1 for the retrieved key terms; not all are 1 at the start token."""
    if len(products) > 1:
        pairs = enumerate(zip(ours, theirs, strict=True), start=1)
        both = [all_of(f"{name}: case {k}", mine, other) for k, (mine, other) in pairs]
        return [stack(*both).total.known(BIT)]
    # The start token sees only itself in the past.
    trivial = products[0].at_i == Truth(True) and mask.causal
    return [theirs[0]] if trivial else [ours[0], theirs[0]]


def _search_by_cases(
    pointwise: Pointwise,
    step: Lookup,
    groups: Mapping[tuple[Equality, ...], Sequence[Product]],
    reads: Sequence[Value],
) -> Found:
    """The same for products that require different equalities: one search each, and the best position of all."""
    rightmost = step.attention.choice is Choice.RIGHTMOST
    matches, ranks = [], []
    for k, (equal, products) in enumerate(groups.items(), 1):
        name = f"{step.name}, case {k}"
        matched, found = _search(pointwise, step, name, equal, products, [here()])
        share = number_value(found[0]).share.known(real(0, 1))
        # The rank is 0 where nothing matches: j/(n+1), or 1 - j/(n+1) to find the leftmost.
        ranks.append(relu(f"{name}: rank", share + matched - 1 if rightmost else matched - share))
        matches.append(matched)
    best = ranks[0]
    for k, rank in enumerate(ranks[1:], 2):
        best = best + relu(f"{step.name}: best of {k}", rank - best)
    some = any_of(f"{step.name} matches", *matches)
    if not reads:
        return some, []
    finder = pointwise.finder
    head = finder.at(step.name, best if rightmost else some - best, _packed(finder, reads), SHARE, Mask.ALL)
    return some, _unpacked(finder, step.name, head, reads)


def _packed(finder: Finder, values: Sequence[Value]) -> Signal:
    """Values as one vector; an integer x is packed as x and x/(n+1)."""
    return stack(*(stack(finder.value("", v), v.share) if isinstance(v, Number) else v for v in values))


def _unpacked(finder: Finder, name: str, found: Signal, like: Sequence[Value]) -> list[Value]:
    """Unpacks retrieved values; bits and symbols are rounded after softmax."""
    values: list[Value] = []
    start = 0
    for k, value in enumerate(like):
        if isinstance(value, Number):
            exact, share = found[start].known(value.kind), found[start + 1].known(value.share_kind)
            values.append(Number(value.low, value.high, share, exact))
            start += 2
            continue
        part = found[start : start + len(value)]
        bits = rounded(f"{name}: {k}", part) if finder.soft else part
        values.append(Signal(bits.forms, (BIT,) * len(value), value.labels, value.exclusive))
        start += len(value)
    return values
