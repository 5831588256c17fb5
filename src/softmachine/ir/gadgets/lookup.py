"""Lookups: attention gadgets (mean, lookup by index or by layer-norm hash, latest match, existence), and finite tables.

Every attention gadget documents its score gap: the difference between the best and the next best score, which a softmax
or a float format has to resolve. A finite lookup table is one feed-forward layer with one unit per row.

Due to Merrill and Sabharwal; see section B.3 of "Revisiting Padded Transformer Expressivity". The layer norm of
(x, y, -x, -y), whose mean is 0, divides the vector by the root of (x² + y²)/2; unlike section B.3 there is no ε. Hence
numbers with a common divisor, such as counts over i+1, have the hash of the undivided numbers:
φ(c/(i+1), 1/(i+1)) = φ(c, 1). The dot product of two hashes is 2 for equal ratios, and smaller otherwise. Neither
squares nor position features are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from softmachine.ir.gadgets.boolean import all_of
from softmachine.ir.primitives import ScoreDecay, attend, named, norm, position, relu
from softmachine.ir.ranges import BIT, OVER_POSITIONS
from softmachine.ir.signal import Affine, Signal, constant, stack
from softmachine.support.errors import ConstructionError
from softmachine.transformer.attention import Mask
from softmachine.transformer.features import HALF_RECIPROCAL, I_SQUARED, RECIPROCAL, Feature, I
from softmachine.transformer.head_view import HeadExplanation, HeadView, format_key, retrieved_bit


@dataclass(frozen=True)
class WithSquare:
    """A number and its square: the score -(k - q)² needs both at query and key, because no layer can multiply."""

    value: Signal
    square: Signal


def position_with_square() -> WithSquare:
    """The position i and i²."""
    return WithSquare(position(I), position(I_SQUARED))


def mean(name: str, value: Signal, mask: Mask = Mask.CAUSAL, *, explains: HeadExplanation | None = None) -> Signal:
    """The mean over the visible positions, by uniform attention; for integers and a causal mask, integers over i+1."""
    return attend(name, value=value, mask=mask, explains=explains)


def lookup(
    name: str,
    index: Signal,
    read: Signal,
    *,
    index_scale: Feature | None = None,
    mask: Mask = Mask.CAUSAL,
    explains: HeadExplanation = "the position looked up",
) -> Signal:
    """The value of ``read`` at position x; if x is out of range, at the nearest visible position.

    The score (2 x j - j²) · s has its maximum at j = x. The factor s is 1, or the feature ``index_scale`` if ``index``
    is x·s, for example a mean h/(i+1) with per 1/(i+1) (Barceló et al.; (8.8) of Chiang's lecture notes). Gap: s.
    """
    if not all(
        kind.is_integer or (index_scale == RECIPROCAL and kind.denominator == OVER_POSITIONS) for kind in index.ranges
    ):
        what = "integers over i+1" if index_scale == RECIPROCAL else "integers"
        raise ConstructionError(f"lookup {name!r} takes {what}, but the index is {index.ranges[0]}")
    scale = position(index_scale) if index_scale else constant(1)
    place = position_with_square()
    return attend(
        name,
        query=stack(2 * index, -scale),
        key=stack(place.value, place.square),
        value=read,
        mask=mask,
        gap=index_scale or Fraction(1),
        single_key=True,
        decay=ScoreDecay.QUADRATIC,
        explains=explains,
    )


@dataclass(frozen=True)
class RecoveredInteger:
    """An integer h recovered from h/(i+1).

    Args:
        integer: The integer h, and h².
        is_negative: max(0, -h).
        read: The value read at position max(0, h).
    """

    integer: WithSquare
    is_negative: Signal
    read: Signal


def recover_integer(
    name: str,
    scaled: Signal,
    read: Signal,
    *,
    negative: bool,
    quantity: str = "",
    explains: Callable[[int], HeadExplanation] = lambda _: "the position looked up",
) -> RecoveredInteger:
    """Recover the integer h from h/(i+1), for -i ≤ h ≤ i, and the value of ``read`` at position max(0, h).

    Positions are nonnegative, so a second lookup, of -h, handles negative numbers: at most one of the two results is
    nonzero, h is their difference, and h² the sum of their squares. Gap: 1/(i+1).

    Args:
        name: The name of h in the residual stream.
        scaled: h/(i+1).
        read: The signal to read at position max(0, h).
        negative: Whether h may be negative; if not, the second head is omitted.
        quantity: The quantity in the names "recover …" of the heads; by default the name.
        explains: The explanation of the head that looks up h (for 1) or -h (for -1).
    """
    place, quantity = position_with_square(), quantity or name
    above = lookup(
        f"recover {quantity}",
        scaled,
        stack(place.value, place.square, read),
        index_scale=RECIPROCAL,
        explains=explains(1),
    )
    value, square, found = above[0], above[1], above[2:]
    if read.labels:
        found = named(f"read at {name}", found.with_labels(read.labels, exclusive=read.is_one_hot))
    below = constant(0)
    if negative:
        mirrored = lookup(
            f"recover -{quantity}",
            -scaled,
            stack(place.value, place.square),
            index_scale=RECIPROCAL,
            explains=explains(-1),
        )
        below = named(f"-{name} if negative", mirrored[0])
        value, square = value - mirrored[0], square + mirrored[1]
    return RecoveredInteger(WithSquare(named(name, value), named(f"{name}²", square)), below, found)


def fetch_latest(
    name: str,
    read: Signal,
    *,
    where: Signal | None = None,
    matches: tuple[WithSquare, WithSquare] | None = None,
    mask: Mask = Mask.CAUSAL,
    explains: HeadExplanation = "the latest of the best matches",
) -> Signal:
    """The value of ``read`` at the latest position among the best matches.

    Args:
        name: The head's name.
        read: The signal to retrieve. To detect a partial match, retrieve the matched quantities with it.
        where: A bit at the key that should be 1.
        matches: An integer with its square at the key, and one at the query, that should be equal.
        mask: Which earlier positions are visible.
        explains: The explanation of the head.

    The score is where - (k - q)² + j / (2(i+1)), expanded to 2kq - k² - q² so that it is small near the match, with the
    tie-breaking term last: this order keeps float64 exact for 10⁸ steps. Gap: 1/(2(i+1)).
    """
    if not mask.is_causal:
        raise ConstructionError(f"latest {name!r} needs a causal mask, not {str(mask)!r}")
    query, key = [], []
    if where is not None:
        where.require_bits(f"latest {name!r}")
        query.append(constant(1))
        key.append(where)
    if matches is not None:
        theirs, ours = matches
        stack(theirs.value, ours.value).require_integers(f"latest {name!r}")
        query += [2 * ours.value, constant(-1), -ours.square]
        key += [theirs.value, theirs.square, constant(1)]
    if not key:
        raise ConstructionError(f"latest {name!r} has no match condition: give where, equal, or both")
    query.append(position(RECIPROCAL) * Fraction(1, 2))
    key.append(position(I))
    return attend(
        name,
        query=stack(*query),
        key=stack(*key),
        value=read,
        mask=mask,
        gap=HALF_RECIPROCAL,
        single_key=True,
        decay=ScoreDecay.LINEAR,
        explains=explains,
    )


def exists(name: str, where: Signal, *, match: tuple[Signal, Signal] | None = None, mask: Mask = Mask.CAUSAL) -> Signal:
    """A bit: whether ``where`` is 1 at some visible position, or at some visible position that matches.

    ``match`` = (query address, key address), vectors of ±1, restricts the search to the positions with that address;
    there must be one. The head averages ``where`` over the positions with the best score. Gap: 1.
    """
    where.require_bits(f"exists {name!r}")
    ours, theirs = match or (None, None)
    query = stack(ours, constant(1)) if ours else constant(1)
    key = stack(theirs, where) if theirs else where
    return attend(
        name, query=query, key=key, value=where, mask=mask, gap=1, single_key=True, explains=_explain_existence
    )


def _explain_existence(view: HeadView) -> str | None:
    """Explain a head whose value is a bit of the chosen positions."""
    if not view.chosen:
        return None
    found = "the bit is 1 at" if retrieved_bit(view) else "the bit is 0 at all visible positions that match, such as"
    return f"{found} {format_key(view)}"


def fetch(
    name: str,
    address: Signal,
    keys: Signal,
    read: Signal,
    mask: Mask = Mask.CAUSAL,
    *,
    explains: HeadExplanation = "the position with the address",
) -> Signal:
    """The value of ``read`` where the ±1 vector ``keys`` equals ``address``. Gap: 2."""
    return attend(name, query=address, key=keys, value=read, mask=mask, gap=2, single_key=True, explains=explains)


def fetch_previous(name: str, read: Signal) -> Signal:
    """The value of ``read`` at position i - 1; at position 0, its own value. Gap: 1."""
    return lookup(name, position(I) - 1, read, explains="the previous position, or the first")


def first_position(name: str = "first") -> Signal:
    """A bit: whether this is position 0. One unit: ReLU(1 - i)."""
    return relu(name, 1 - position(I)).with_range(BIT)


@dataclass(frozen=True)
class TableRow:
    """A row of a table: where all conditions hold, the outputs with these labels are 1.

    Args:
        name: The name of the unit, for example the rule that the row implements.
        conditions: Bits that must all be 1.
        outputs: The labels whose outputs are 1.
        rule: The rule of the source that the row implements, if any.
    """

    name: str
    conditions: tuple[Signal, ...]
    outputs: tuple[str, ...]
    rule: str = ""


def lookup_table(name: str, labels: Sequence[str], rows: Sequence[TableRow]) -> Signal:
    """One bit per label: 1 where a row with that output applies. Assumes at most one row applies. One unit per row."""
    _require_labels(f"table {name!r}", [label for row in rows for label in row.outputs], labels)
    units = [all_of(f"{name}: {row.name}", *row.conditions, rule=row.rule).forms[0] for row in rows]
    forms = {label: [unit for unit, row in zip(units, rows, strict=True) if label in row.outputs] for label in labels}
    sums = tuple(Affine.sum(forms[label]) for label in labels)
    return named(name, Signal(sums, (BIT,) * len(sums), tuple(labels)))


def one_hot_with_default(name: str, *choices: Signal, labels: Sequence[str], default: str) -> Signal:
    """One-hot over ``labels``: the sum of the choices, and the default label where all of them are 0.

    Assumes labelled bits, at most one of them 1 in all choices together. No unit: the default is affine.
    """
    for choice in choices:
        choice.require_bits(f"first_of {name!r}")
        _require_labels(f"first_of {name!r}", choice.labels or ("unlabelled",), labels)
    _require_labels(f"first_of {name!r}", [default], labels)
    forms = {
        label: Affine.sum(choice[label].forms[0] for choice in choices if label in (choice.labels or ()))
        for label in labels
        if label != default
    }
    forms[default] = Affine.sum([Affine({}, Fraction(1)), *(form * Fraction(-1) for form in forms.values())])
    ordered = tuple(forms[label] for label in labels)
    return named(name, Signal(ordered, (BIT,) * len(labels), tuple(labels), is_one_hot=True))


def _require_labels(gadget: str, used: Iterable[str], labels: Sequence[str]) -> None:
    """Raise a ConstructionError unless all used labels exist."""
    known = set(labels)
    for label in used:
        if label not in known:
            raise ConstructionError(f"{gadget} has no output {label!r}; it has {', '.join(map(repr, labels))}")


def layer_norm_hash(name: str, numerator: Signal, denominator: Signal) -> Signal:
    """φ(x, y), an injective function of the ratio x/y for positive y. Two units."""
    return norm(name, stack(numerator, denominator).with_labels(("over", "under")))


def lookup_by_hash(
    name: str, index: Signal, index_scale: Signal, position: Signal, position_scale: Signal, read: Signal, mask: Mask
) -> Signal:
    """The value of ``read`` at position ``index / per``, where positions are given as ``place / place_per``.

    Assumes that ``index_scale`` and ``position_scale`` are positive, and that the position is visible. For numbers up
    to n the best score exceeds the next by at least about 1/n⁴; no gap is declared, because it is not a rational
    number.
    """
    query, key = (
        layer_norm_hash(f"{name}: query hash", index, index_scale),
        layer_norm_hash("hash of the position", position, position_scale),
    )
    return attend(name, query=query, key=key, value=read, mask=mask, explains="the position looked up")
