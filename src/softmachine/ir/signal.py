"""Signals, affine forms and graph nodes: a vector at every position, with affine maps folded on construction.

A signal's components are affine forms over *atoms*, the numbers that nodes of the graph produce: a token's table
entry, a position feature, a ReLU or step unit, an output of a head, a loop-carried value. Adding, scaling and stacking
signals only rewrites forms and costs no layer.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self

from softmachine.ir.ranges import BIT, ValueRange, affine_range, exact
from softmachine.support.errors import ConstructionError


@dataclass(frozen=True, eq=False)
class Node:
    """A graph node that produces a vector at every position; its atoms are (node, 0), (node, 1) and so on.

    Args:
        name: The name given by the author; coordinates, heads and units carry it.
        ranges: The range of each component.
        labels: The label of each component, if the vector is indexed by names.
    """

    name: str
    ranges: tuple[ValueRange, ...]
    labels: tuple[str, ...] | None = field(default=None, kw_only=True)
    form_fields: ClassVar[tuple[str, ...]] = ()
    """The fields that hold forms."""
    is_token: ClassVar[bool] = False
    """Whether the token alone determines the vector."""

    def label(self, index: int) -> str:
        """Return the name of one component: ``name``, ``name[label]`` or ``name[index]``."""
        if len(self.ranges) == 1 and self.labels is None:
            return self.name
        return f"{self.name}[{self.labels[index] if self.labels else index}]"

    def inputs(self) -> Iterator[Affine]:
        """The forms that this node reads."""
        return (form for name in self.form_fields for form in getattr(self, name))

    def with_forms(self, forms: Callable[[tuple[Affine, ...]], tuple[Affine, ...]]) -> Self:
        """Return the node with its forms replaced; the node itself if it has none."""
        changed = {name: forms(getattr(self, name)) for name in self.form_fields}
        return type(self)(**vars(self) | changed) if changed else self


Atom = tuple[Node, int]
SINGLE_KEY_HINT = "if a head retrieves it where tied keys hold equal values, declare single_key=True"


@dataclass(frozen=True)
class Affine:
    """An affine form: a linear combination of atoms, and a constant. Terms with coefficient 0 are never kept."""

    terms: Mapping[Atom, Fraction]
    constant: Fraction = Fraction(0)

    @cached_property
    def key(self) -> tuple[frozenset[tuple[Atom, Fraction]], Fraction]:
        """The terms and the constant as a key of dictionaries."""
        return frozenset(self.terms.items()), self.constant

    @property
    def is_zero(self) -> bool:
        """Whether the form is 0."""
        return not self.terms and not self.constant

    @cached_property
    def token_terms(self) -> Mapping[int, Fraction]:
        """The coefficients of the components of the token table, by component."""
        return {k: factor for (node, k), factor in self.terms.items() if node.is_token}

    @cached_property
    def other_terms(self) -> Mapping[Atom, Fraction]:
        """The terms without those of the token table."""
        return {atom: factor for atom, factor in self.terms.items() if not atom[0].is_token}

    def at_token(self, token: int) -> Fraction:
        """The constant plus the coefficient of one token, for a token table that is one-hot."""
        return self.constant + self.token_terms.get(token, 0)

    @property
    def value_range(self) -> ValueRange:
        """The range of the value, by interval arithmetic."""
        return affine_range(((factor, node.ranges[k]) for (node, k), factor in self.terms.items()), self.constant)

    def __add__(self, other: Affine) -> Affine:
        terms = dict(self.terms)
        for atom, factor in other.terms.items():
            total = terms[atom] + factor if atom in terms else factor
            if total:
                terms[atom] = total
            else:
                del terms[atom]
        return Affine(terms, self.constant + other.constant)

    def __mul__(self, factor: Fraction) -> Affine:
        if not factor or factor == 1:
            return self if factor else Affine({})
        terms = {atom: factor if own == 1 else factor * own for atom, own in self.terms.items()}
        return Affine(terms, factor * self.constant)

    @staticmethod
    def combine(parts: Iterable[tuple[Fraction, Affine]], constant: Fraction = Fraction(0)) -> Affine:
        """A constant plus a linear combination of forms, in linear time."""
        terms: dict[Atom, Fraction] = {}
        for factor, form in parts:
            if not factor:
                continue
            is_one = factor == 1
            if form.constant:
                constant += form.constant if is_one else factor * form.constant
            for atom, own in form.terms.items():
                product = own if is_one else factor * own
                terms[atom] = terms[atom] + product if atom in terms else product
        return Affine({atom: factor for atom, factor in terms.items() if factor}, constant)

    @staticmethod
    def sum(forms: Iterable[Affine]) -> Affine:
        """The sum of many forms, in linear time."""
        return Affine.combine((Fraction(1), form) for form in forms)


@dataclass(frozen=True, eq=False)
class Signal:
    """A vector at every position.

    Args:
        forms: The components.
        ranges: The range of each component (at least as narrow as interval arithmetic gives).
        labels: The label of each component, if any.
        is_one_hot: Whether at most one component is nonzero, and that one is 1 (a one-hot or zero vector).
    """

    forms: tuple[Affine, ...]
    ranges: tuple[ValueRange, ...]
    labels: tuple[str, ...] | None = None
    is_one_hot: bool = False

    def __post_init__(self) -> None:
        for what, items in (("ranges", self.ranges), ("labels", self.labels)):
            if items is not None and len(items) != len(self.forms):
                raise ConstructionError(f"a signal of width {len(self.forms)} cannot have {len(items)} {what}")

    def __len__(self) -> int:
        return len(self.forms)

    def __getitem__(self, key: int | str | slice) -> Signal:
        if isinstance(key, slice):
            return Signal(self.forms[key], self.ranges[key], self.labels and self.labels[key], self.is_one_hot)
        if isinstance(key, str):
            if self.labels is None or key not in self.labels:
                raise ConstructionError(f"the signal has no component {key!r}; it has {self.labels}")
            key = self.labels.index(key)
        return Signal((self.forms[key],), (self.ranges[key],))

    def __add__(self, other: Signal | Fraction | int) -> Signal:
        other = other if isinstance(other, Signal) else constant(other, width=len(self))
        if len(self) != len(other):
            raise ConstructionError(f"signals of width {len(self)} and {len(other)} cannot be added")
        one = Fraction(1)
        forms = tuple(a + b for a, b in zip(self.forms, other.forms, strict=True))
        sums = (affine_range([(one, a), (one, b)], Fraction(0)) for a, b in zip(self.ranges, other.ranges, strict=True))
        return Signal(forms, tuple(form.value_range.narrower(kind) for form, kind in zip(forms, sums, strict=True)))

    def __mul__(self, factor: Fraction | int) -> Signal:
        factor = Fraction(factor)
        forms = tuple(form * factor for form in self.forms)
        return Signal(forms, tuple(affine_range([(factor, kind)], Fraction(0)) for kind in self.ranges))

    def __neg__(self) -> Signal:
        return self * -1

    def __sub__(self, other: Signal | Fraction | int) -> Signal:
        return self + (-other)

    def __radd__(self, other: Fraction | int) -> Signal:
        return self + other

    def __rsub__(self, other: Fraction | int) -> Signal:
        return -self + other

    __rmul__ = __mul__

    def __invert__(self) -> Signal:
        """Logical negation of bits."""
        self.require_bits("not")
        return 1 - self

    @property
    def total(self) -> Signal:
        """The sum of the components; for an exclusive signal, a bit: whether any is 1."""
        return self._sum(range(len(self)))

    def sum_of_labels(self, labels: Iterable[str]) -> Signal:
        """The sum of the components with these labels; for an exclusive signal, a bit: whether one of them is 1."""
        chosen, places = set(labels), self._label_indices
        unknown = [label for label in chosen if label not in places]
        if unknown:
            raise ConstructionError(f"the signal has no component {min(unknown)!r}; it has {self.labels}")
        return self._sum(sorted(k for label in chosen for k in places[label]))

    @cached_property
    def _label_indices(self) -> dict[str, list[int]]:
        """The indices of each label, cached because signals can have thousands of labels."""
        found: dict[str, list[int]] = {}
        for k, label in enumerate(self.labels or ()):
            found.setdefault(label, []).append(k)
        return found

    def _sum(self, components: Sequence[int]) -> Signal:
        form = Affine.sum(self.forms[k] for k in components)
        if self.is_one_hot:
            return Signal((form,), (BIT,))
        kind = affine_range([(Fraction(1), self.ranges[k]) for k in components], Fraction(0))
        return Signal((form,), (form.value_range.narrower(kind),))

    def with_range(self, *kinds: ValueRange, exclusive: bool = False) -> Signal:
        """Declare the ranges of the components; the interpreter checks them where the signal is named."""
        return Signal(self.forms, kinds if len(kinds) > 1 else kinds * len(self), self.labels, exclusive)

    def with_labels(self, labels: Iterable[str], *, exclusive: bool = False) -> Signal:
        """Return the signal with a label for each component."""
        return Signal(self.forms, self.ranges, tuple(labels), exclusive)

    def require_bits(self, gadget: str) -> None:
        """Raise a ConstructionError unless every component is 0 or 1."""
        for form, kind in zip(self.forms, self.ranges, strict=True):
            if not kind.is_bit:
                raise ConstructionError(
                    f"{gadget} takes bits, but {format_form(form)} is {kind}",
                    hint=f"round it (round_unit_bit), or compare the integer (at_least); {SINGLE_KEY_HINT}",
                )

    def require_integers(self, gadget: str) -> None:
        """Raise a ConstructionError unless every component is an integer."""
        for form, kind in zip(self.forms, self.ranges, strict=True):
            if not kind.is_integer:
                raise ConstructionError(
                    f"{gadget} takes integers, but {format_form(form)} is {kind}",
                    hint=f"recover the integer from its share of i+1 (recover_integer), or round it; {SINGLE_KEY_HINT}",
                )


def topological_order(
    forms: Iterable[Affine],
    inputs_of: Callable[[Node], Iterable[Affine]] = lambda node: node.inputs(),
    skipped: Container[Node] = (),
) -> Iterator[Node]:
    """The nodes that forms depend on, in topological order, each once; known nodes are left out.

    Iterative, so that the depth of the graph is not limited by the recursion limit.
    """
    seen: set[Node] = set()
    path: list[tuple[Node | None, Iterator[Node]]] = [(None, _nodes_read(forms))]
    while path:
        node, sources = path[-1]
        source = next((item for item in sources if item not in seen and item not in skipped), None)
        if source is not None:
            seen.add(source)
            path.append((source, _nodes_read(inputs_of(source))))
            continue
        path.pop()
        if node is not None:
            yield node


def rewrite(signal: Signal, change: Callable[[Node, Node], Node]) -> Signal:
    """Rewrite the nodes of a signal, inputs first; its ranges stay.

    Args:
        signal: The signal.
        change: Maps an old node, and the same node over its rewritten inputs, to the new node.
    """
    new: dict[Node, Node] = {}

    def forms(old: tuple[Affine, ...]) -> tuple[Affine, ...]:
        return tuple(Affine({(new[n], k): factor for (n, k), factor in f.terms.items()}, f.constant) for f in old)

    for node in topological_order(signal.forms):
        new[node] = change(node, node.with_forms(forms))
    return replace(signal, forms=forms(signal.forms))


def _nodes_read(forms: Iterable[Affine]) -> Iterator[Node]:
    return (node for form in forms for node, _ in form.terms)


def node_signal(node: Node, *, exclusive: bool = False) -> Signal:
    """All components of a node, as a signal."""
    forms = tuple(Affine({(node, k): Fraction(1)}) for k in range(len(node.ranges)))
    return Signal(forms, node.ranges, node.labels, exclusive)


def constant(value: Fraction | int, width: int = 1) -> Signal:
    """The same number at every position."""
    value = Fraction(value)
    return Signal((Affine({}, value),) * width, (exact(value),) * width)


def stack(*signals: Signal) -> Signal:
    """Concatenate signals."""
    return Signal(
        tuple(form for signal in signals for form in signal.forms),
        tuple(kind for signal in signals for kind in signal.ranges),
    )


def weighted_sum(parts: Iterable[tuple[int, Signal]], constant: int, value_range: ValueRange) -> Signal:
    """The weighted sum of signals of width 1 and a constant, with a declared range.

    The same as ``+`` and ``*``, but in linear time for long sums.
    """
    terms: dict[Atom, Fraction] = {}
    total = Fraction(constant)
    for factor, part in parts:
        (form,) = part.forms
        total += factor * form.constant
        for atom, own in form.terms.items():
            terms[atom] = terms.get(atom, 0) + factor * own
    return Signal((Affine({atom: factor for atom, factor in terms.items() if factor}, total),), (value_range,))


def sum_signals(*signals: Signal, value_range: ValueRange) -> Signal:
    """The sum of signals of equal width, component by component, with a declared range."""
    forms = (Affine.sum(parts) for parts in zip(*(signal.forms for signal in signals), strict=True))
    return Signal(tuple(forms), (value_range,) * len(signals[0]))


def format_form(form: Affine) -> str:
    """A form as text, with the names of its atoms."""
    parts = [f"{'' if factor == 1 else f'{factor}·'}{node.label(k)}" for (node, k), factor in form.terms.items()]
    if form.constant or not parts:
        parts.append(str(form.constant))
    return " + ".join(parts).replace("+ -", "- ")
