"""Exact values of all nodes of a program on many sequences at once, from the definition of every primitive."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt, lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmachine.ir import Program
from softmachine.ir.primitives import Attention, Loop, Named, Norm, Position, Token, Unit, inputs_outside_loops
from softmachine.ir.signal import Affine, Atom, Node, topological_order
from softmachine.transformer.attention import AttentionKind
from softmachine.transformer.features import Feature

Integers = NDArray[Any]
"""An array of Python integers, which do not overflow."""


class IrrationalError(Exception):
    """A norm or a softmax has no rational value on one of the sequences."""


@dataclass(frozen=True)
class Rationals:
    """An array of rational numbers, with one denominator."""

    numerators: Integers
    denominator: int

    @staticmethod
    def of(numbers: Sequence[Fraction]) -> Rationals:
        """The numbers in one dimension."""
        over = lcm(*(number.denominator for number in numbers))
        return Rationals(np.array([int(number * over) for number in numbers], dtype=object), over)

    def over(self, denominator: int) -> Integers:
        """The numerators over a multiple of the denominator."""
        return self.numerators * (denominator // self.denominator)

    def reduce(self) -> Rationals:
        """The same numbers with the smallest denominator."""
        divisor = int(np.gcd.reduce(self.numerators, axis=None, initial=self.denominator))
        return Rationals(self.numerators // divisor, self.denominator // divisor)

    def fractions(self) -> list[Fraction]:
        """All numbers, in order."""
        return [Fraction(number, self.denominator) for number in self.numerators.ravel().tolist()]


def add(parts: Iterable[tuple[Fraction, Rationals]], constant: Fraction, shape: tuple[int, ...]) -> Rationals:
    """A weighted sum of arrays, and a constant."""
    terms = list(parts)
    over = lcm(constant.denominator, *(factor.denominator * array.denominator for factor, array in terms))
    total = np.full(shape, int(constant * over), dtype=object)
    for factor, array in terms:
        total = total + array.numerators * int(factor * over / array.denominator)
    return Rationals(total, over)


@dataclass(frozen=True)
class Attended:
    """What a head reads and attends to.

    Args:
        scores: The score of each sequence, query and key.
        visible: Whether a key is visible, for each query and key.
        tied: Whether a visible key has the best score, for each sequence, query and key.
        values: Each component of the value, for each sequence and key.
        sides: Each component of the query and of the key, with its form.
    """

    scores: Rationals
    visible: NDArray[np.bool_]
    tied: NDArray[np.bool_]
    values: tuple[Rationals, ...]
    sides: tuple[tuple[Affine, Rationals], ...]


Observer = Callable[[Node, Sequence[Rationals], "Attended | None"], None]
"""Called with each node, its components and, for a head, what it attends to; in a loop, in every iteration."""


class Batch:
    """The values of a program on sequences of one length.

    Args:
        sequences: The sequences.
        length: n, which features refer to.
        observe: Is called when a node has been computed.
    """

    def __init__(self, sequences: Sequence[Sequence[str]], length: int | None, observe: Observer) -> None:
        self.sequences, self.length, self.observe = sequences, length, observe
        self.shape = (len(sequences), len(sequences[0]))
        self.atoms: dict[Atom, Rationals] = {}
        self.visited: set[Node] = set()

    def run(self, program: Program) -> list[Rationals]:
        """The logits."""
        self.follow(program.logits.forms)
        return list(map(self.form, program.logits.forms))

    def follow(self, forms: Sequence[Affine]) -> None:
        """Compute all nodes that forms depend on."""
        for node in topological_order(forms, inputs_outside_loops, self.visited):
            self.store(node, *self.compute(node))

    def store(self, node: Node, columns: Sequence[Rationals], attended: Attended | None) -> None:
        """Keep the value of a node."""
        self.visited.add(node)
        self.atoms |= {(node, k): column.reduce() for k, column in enumerate(columns)}
        self.observe(node, [self.atoms[node, k] for k in range(len(columns))], attended)

    def form(self, form: Affine) -> Rationals:
        """The value of a form."""
        return add(((factor, self.atoms[atom]) for atom, factor in form.terms.items()), form.constant, self.shape)

    def compute(self, node: Node) -> tuple[Sequence[Rationals], Attended | None]:
        """The components of a node; for a head, also what it attends to."""
        match node:
            case Token():
                return [self.token(node, k) for k in range(len(node.ranges))], None
            case Position():
                row = Rationals.of([node.feature.at(i, self.length) for i in range(self.shape[1])])
                return [Rationals(np.broadcast_to(row.numerators, self.shape), row.denominator)], None
            case Norm():
                return normalise(list(map(self.form, node.forms))), None
            case Unit():
                return [activate(node.activation, self.form(form)) for form in node.forms], None
            case Named():
                return list(map(self.form, node.forms)), None
            case Attention():
                return self.attention(node)
            case Loop():
                return self.loop(node), None
        raise TypeError(node)

    def token(self, node: Token, k: int) -> Rationals:
        """A component of a token's row."""
        over = lcm(*(row[k].denominator for row in node.table.values() if k in row))
        table = {name: int(row[k] * over) for name, row in node.table.items() if k in row}
        rows = [[table.get(name, 0) for name in sequence] for sequence in self.sequences]
        return Rationals(np.array(rows, dtype=object), over)

    def loop(self, node: Loop) -> Sequence[Rationals]:
        """The carried numbers after the last iteration."""
        carried = list(map(self.form, node.initial))
        iterations = node.iterations
        for _ in range(int(iterations.at(0, self.length)) if isinstance(iterations, Feature) else iterations):
            inner = Batch(self.sequences, self.length, self.observe)
            inner.atoms, inner.visited = dict(self.atoms), set(self.visited)
            inner.store(node.carried, carried, None)
            inner.follow(node.body)
            carried = list(map(inner.form, node.body))
        return carried

    def attention(self, node: Attention) -> tuple[Sequence[Rationals], Attended]:
        """The means over the keys that a head attends to, and these."""
        positions = range(self.shape[1])
        cube = (*self.shape, self.shape[1])
        queries, keys = list(map(self.form, node.query)), list(map(self.form, node.key))
        parts = []
        for query, key in zip(queries, keys, strict=True):
            products = query.numerators[:, :, None] * key.numerators[:, None, :]
            parts.append((Fraction(1), Rationals(products, query.denominator * key.denominator)))
        if node.bias is not None:
            biases = Rationals.of([node.bias.at(j, i) for i in positions for j in positions])
            parts.append((Fraction(1), Rationals(biases.numerators.reshape(cube[1:]), biases.denominator)))
        scores = add(parts, Fraction(0), cube)
        visible = np.array([[node.mask.is_visible(j, i) for j in positions] for i in positions], dtype=bool)
        lowest = scores.numerators.min(initial=0) - 1
        best = np.where(visible, scores.numerators, lowest).max(axis=2, keepdims=True)
        tied = visible & np.asarray(scores.numerators == best, dtype=bool)
        values = tuple(map(self.form, node.value))
        chosen = choose(node.weighting.kind, tied, visible)
        counts = np.maximum(chosen.sum(axis=2), 1).astype(object)
        over = lcm(*range(1, self.shape[1] + 1))
        means = [
            Rationals(
                (chosen.astype(object) * value.numerators[:, None, :]).sum(axis=2) * (over // counts),
                value.denominator * over,
            )
            for value in values
        ]
        sides = zip((*node.query, *node.key), (*queries, *keys), strict=True)
        return means, Attended(scores, visible, tied, values, tuple(sides))


def choose(kind: AttentionKind, tied: NDArray[np.bool_], visible: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The keys over which the mean is taken."""
    if kind is AttentionKind.LEFTMOST:
        return np.asarray(tied & (tied.cumsum(axis=2) == 1))
    if kind is AttentionKind.RIGHTMOST:
        return np.asarray(tied & (tied[:, :, ::-1].cumsum(axis=2)[:, :, ::-1] == 1))
    if kind is AttentionKind.SOFTMAX and (tied != visible).any():
        raise IrrationalError
    return tied


def activate(activation: str, numbers: Rationals) -> Rationals:
    """ReLU or Heaviside."""
    if activation == "relu":
        return Rationals(np.maximum(numbers.numerators, 0), numbers.denominator)
    return Rationals((numbers.numerators >= 0).astype(int).astype(object), 1)


def normalise(columns: Sequence[Rationals]) -> list[Rationals]:
    """Each number over the root mean square of all; zeros stay zeros."""
    over = lcm(*(column.denominator for column in columns))
    numbers = np.stack([column.over(over) for column in columns], axis=-1)
    found = np.zeros(numbers.shape, dtype=object)
    for place in np.ndindex(numbers.shape[:-1]):
        row = [Fraction(number) for number in numbers[place]]
        square = sum((number * number for number in row), Fraction(0)) / len(row)
        if square:
            root = Fraction(isqrt(square.numerator), isqrt(square.denominator))
            if root * root != square:
                raise IrrationalError
            row = [number / root for number in row]
        found[place] = row
    flat = [Rationals.of(found[..., k].ravel().tolist()) for k in range(len(columns))]
    return [Rationals(column.numerators.reshape(numbers.shape[:-1]), column.denominator) for column in flat]
