"""What attention can fetch: means, the value at an index, the latest match, the previous position, existence.

Every gadget states the gap of its scores: the distance between the best and the next best, which is what a softmax
or a float format has to resolve.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from softmachine.ir.kinds import BIT, SHARES
from softmachine.ir.primitives import Fall, attend, named, position, relu
from softmachine.ir.signal import Signal, constant, stack
from softmachine.support.errors import ConstructionError
from softmachine.transformer.attention import Mask
from softmachine.transformer.features import HALF_INVERSE, I_SQUARED, INVERSE, Feature, I


@dataclass(frozen=True)
class Squared:
    """A number and its square: what a score -(k - q)² needs of both sides, since no layer can multiply."""

    value: Signal
    square: Signal


def here() -> Squared:
    """The position i and i²."""
    return Squared(position(I), position(I_SQUARED))


def mean(name: str, value: Signal, mask: Mask = Mask.CAUSAL) -> Signal:
    """The mean over the visible positions: uniform attention. Of integers over the past: an integer divided by i+1."""
    return attend(name, value=value, mask=mask)


def lookup(name: str, index: Signal, read: Signal, *, per: Feature | None = None, mask: Mask = Mask.CAUSAL) -> Signal:
    """What ``read`` is at a position given by number; out of range, at the nearest visible position.

    The score (2 x j - j²) · s has its maximum at j = x, where s is 1, or the feature ``per`` if the index comes as x·s,
    for example a mean h/(i+1) with per 1/(i+1) (Barceló et al.; (8.8) of the lecture notes). Gap: s.
    """
    if not all(kind.is_integer or (per == INVERSE and kind.over == SHARES) for kind in index.kinds):
        what = "shares of i+1" if per == INVERSE else "integers"
        raise ConstructionError(f"lookup {name!r} takes {what}, but the index is {index.kinds[0]}")
    scale = position(per) if per else constant(1)
    place = here()
    return attend(
        name,
        query=stack(2 * index, -scale),
        key=stack(place.value, place.square),
        value=read,
        mask=mask,
        gap=per or Fraction(1),
        single=True,
        fall=Fall.QUADRATIC,
    )


@dataclass(frozen=True)
class Located:
    """An integer found from its share of i+1.

    Args:
        number: The integer h, and h².
        below: How far h is below 0: max(0, -h).
        read: What stands at position max(0, h).
    """

    number: Squared
    below: Signal
    read: Signal


def locate(name: str, share: Signal, read: Signal, *, negative: bool) -> Located:
    """The integer h from h/(i+1), for -i ≤ h ≤ i, and what ``read`` is at that position.

    Positions are not negative, so that a second lookup, of -h, serves the negative numbers: of the two results at most
    one is not 0, h is their difference, and h² the sum of their squares. ``negative=False`` promises h ≥ 0 and saves
    that head. Gap: 1/(i+1).
    """
    place = here()
    above = lookup(f"undo 1/(i+1) of {name}", share, stack(place.value, place.square, read), per=INVERSE)
    value, square, found = above[0], above[1], above[2:]
    if read.labels:
        found = named(f"read at {name}", found.labelled(read.labels, exclusive=read.exclusive))
    below = constant(0)
    if negative:
        mirrored = lookup(f"undo 1/(i+1) of -{name}", -share, stack(place.value, place.square), per=INVERSE)
        below = named(f"-{name} if negative", mirrored[0])
        value, square = value - mirrored[0], square + mirrored[1]
    return Located(Squared(named(name, value), named(f"{name}²", square)), below, found)


def latest(
    name: str,
    read: Signal,
    *,
    where: Signal | None = None,
    equal: tuple[Squared, Squared] | None = None,
    mask: Mask = Mask.CAUSAL,
) -> Signal:
    """What ``read`` is at the latest position that matches best.

    Args:
        name: The head's name.
        read: What to retrieve. Retrieve with it what tells whether the match was a full one.
        where: A bit at the key that should be 1.
        equal: A squared integer at the key and one at the query that should be equal.
        mask: Which earlier positions are visible.

    The score is where - (k - q)² + j / (2(i+1)), written as 2kq - k² - q² so that it is small near the match, with the
    tie-breaking term last: that order keeps float64 exact for 10⁸ steps. Gap: 1/(2(i+1)).
    """
    if not mask.causal:
        raise ConstructionError(f"latest {name!r} looks back, so its mask cannot be {str(mask)!r}")
    query, key = [], []
    if where is not None:
        where.require_bits(f"latest {name!r}")
        query.append(constant(1))
        key.append(where)
    if equal is not None:
        theirs, ours = equal
        stack(theirs.value, ours.value).require_integers(f"latest {name!r}")
        query += [2 * ours.value, constant(-1), -ours.square]
        key += [theirs.value, theirs.square, constant(1)]
    if not key:
        raise ConstructionError(f"latest {name!r} needs something to match: where, equal, or both")
    query.append(position(INVERSE) * Fraction(1, 2))
    key.append(position(I))
    return attend(
        name,
        query=stack(*query),
        key=stack(*key),
        value=read,
        mask=mask,
        gap=HALF_INVERSE,
        single=True,
        fall=Fall.LINEAR,
    )


def exists(name: str, where: Signal, *, match: tuple[Signal, Signal] | None = None, mask: Mask = Mask.CAUSAL) -> Signal:
    """The share of matching positions that hold among those tied for best: positive iff some matching position holds.

    Without ``match``, a bit: whether ``where`` holds at a visible position. With ``match`` = (query address, key
    address), vectors of ±1: whether it holds at one of the positions with that address; there must be one. Gap: 1.
    """
    where.require_bits(f"exists {name!r}")
    ours, theirs = match or (None, None)
    query = stack(ours, constant(1)) if ours else constant(1)
    key = stack(theirs, where) if theirs else where
    return attend(name, query=query, key=key, value=where, mask=mask, gap=1, single=True)


def fetch(name: str, address: Signal, keys: Signal, read: Signal, mask: Mask = Mask.CAUSAL) -> Signal:
    """What ``read`` is where the ±1 vector ``keys`` equals ``address``, in which -1 and 1 are bits. Gap: 2."""
    return attend(name, query=address, key=keys, value=read, mask=mask, gap=2, single=True)


def previous(name: str, read: Signal) -> Signal:
    """What ``read`` was one position earlier; at position 0, what it is there. Gap: 1."""
    return lookup(name, position(I) - 1, read)


def first_position(name: str = "first") -> Signal:
    """A bit: whether this is position 0. One unit: ReLU(1 - i)."""
    return relu(name, 1 - position(I)).known(BIT)
