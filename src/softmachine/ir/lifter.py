"""Lift: weights → Program, the representation that theorems build, so that analyses need only one.

The residual stream is a list of affine forms over *raw* atoms: token indicators, position features, hidden units,
components of heads, loop-carried values. Where a sublayer reads a coordinate, its content becomes a named node, unless
it is a constant, a single atom or a function of the token. Nothing is approximated: the program computes exactly the
logits of the weights.

Two facts about ReLU undo what the compiler does to copy, clear and update coordinates: units of one layer with equal
pre-activations are one unit, and ``w ReLU(g) - w ReLU(-g)`` is ``w g``. Equal forms are found by fingerprints: the
value of a form at a random point of a prime field (polynomial identity testing), confirmed by comparing the forms.

A narrow program clears a coordinate that is never negative with one unit, x - ReLU(x). Only facts about x show that
nothing is left.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

from softmachine.ir.facts import ONE, ZERO
from softmachine.ir.primitives import (
    Attention,
    Carried,
    Loop,
    Named,
    Norm,
    Position,
    ScoreDecay,
    Token,
    Unit,
    expand_named,
)
from softmachine.ir.program import Program
from softmachine.ir.ranges import BIT, REALS, ValueRange
from softmachine.ir.signal import Affine, Atom, Node, Signal, topological_order
from softmachine.transformer.features import Feature
from softmachine.transformer.weights import AffineMap, Block, FeedForward, Head, Layer, SparseRow, Transformer

if TYPE_CHECKING:
    from softmachine.ir.analysis import Analysis

_PRIME = 2**127 - 1


def lift(weights: Transformer, *, margin: Fraction | None = None, position_count: int | None = None) -> Program:
    """Return a program that computes the logits of a transformer.

    Args:
        weights: The transformer, with any kind of attention.
        margin: The margin of the logits, if it is known.
        position_count: The number of positions, if padding determines it.
    """
    lifter = Lifter(weights)
    for block in weights.blocks:
        lifter.block(block)
    logits = lifter.read(weights.unembedding)
    signal = Signal(logits, (REALS,) * len(logits))
    return Program(weights.name, weights.vocabulary, weights.outputs, signal, margin, position_count=position_count)


@dataclass
class _Content:
    """The content of a coordinate, over raw atoms; ``view`` is the form by which it is read, until it changes."""

    terms: dict[Atom, Fraction] = field(default_factory=dict)
    constant: Fraction = Fraction(0)
    view: Affine | None = None

    def add(self, factor: Fraction, terms: Mapping[Atom, Fraction], constant: Fraction) -> None:
        """Add a multiple of a form."""
        if constant:
            self.constant += factor * constant
        self.view, is_one = None, factor == 1
        for atom, own in terms.items():
            total = own if is_one else factor * own
            if atom in self.terms:
                total += self.terms[atom]
            if total:
                self.terms[atom] = total
            else:
                self.terms.pop(atom, None)

    def copy(self) -> _Content:
        """A copy that can be changed."""
        return _Content(dict(self.terms), self.constant, self.view)

    def is_equal(self, other: _Content) -> bool:
        """Whether both are the same form."""
        return self.constant == other.constant and self.terms == other.terms

    @property
    def form(self) -> Affine:
        """The content as a form over raw atoms."""
        return Affine(dict(self.terms), self.constant)


@cache
def _residue(number: Fraction) -> int:
    return number.numerator * pow(number.denominator, -1, _PRIME) % _PRIME


class _Fingerprints:
    """Values of forms at a random point of a prime field; a named node has the value of its content."""

    def __init__(self) -> None:
        self._point: dict[Atom, int] = {}
        self._random = random.Random(0)

    def of(self, form: Affine | _Content) -> int:
        """The fingerprint of a form."""
        total = _residue(form.constant)
        for atom, factor in form.terms.items():
            if atom not in self._point:
                node, k = atom
                self._point[atom] = (
                    self.of(node.forms[k]) if isinstance(node, Named) else self._random.randrange(_PRIME)
                )
            total += _residue(factor) * self._point[atom]
        return total % _PRIME


@dataclass
class HiddenUnits:
    """The units of one feed-forward layer.

    Args:
        outputs: Each unit as a form: an atom, or a constant if it reads nothing.
        opposites: For a unit of g, if there is one of -g: its atom, and g over raw atoms.
    """

    outputs: list[Affine]
    opposites: dict[Atom, tuple[Atom, Affine]]


class Lifter:
    """The residual stream on its way through the layers: embeddings, or the numbers of a node, if one is given."""

    def __init__(self, weights: Transformer, start: Node | None = None) -> None:
        self.weights = weights
        self.fingerprints = _Fingerprints()
        self.stream = self.embed() if start is None else [_Content({(start, c): ONE}) for c in range(weights.width)]

    @cached_property
    def token(self) -> Token:
        """The token, one-hot over the vocabulary."""
        names = self.weights.vocabulary
        rows = {name: {k: ONE} for k, name in enumerate(names)}
        return Token("token", (BIT,) * len(names), rows, labels=names)

    def embed(self) -> list[_Content]:
        """The content of each coordinate at the start."""
        weights = self.weights
        columns: list[dict[int, Fraction]] = [{} for _ in range(weights.width)]
        for row, column, value in weights.embedding.entries():
            columns[column][row] = value
        forms = map(self.token_function, columns)
        stream = [_Content(dict(form.terms), form.constant) for form in forms]
        for feature, entries in zip(weights.features, weights.position_embedding.rows, strict=True):
            form = self.position(feature)
            for coordinate, factor in entries:
                stream[coordinate].add(factor, form.terms, form.constant)
        return stream

    def token_function(self, values: Mapping[int, Fraction], default: Fraction = ZERO) -> Affine:
        """A function of the token, given by the values of some tokens and the value of all others.

        The constant is the default, or the most frequent value if more than half of the tokens have a value.
        """
        count = len(self.token.ranges)
        if 2 * len(values) > count:
            values = {k: values.get(k, default) for k in range(count)}
            ((default, _),) = Counter(values.values()).most_common(1)
        return Affine({(self.token, k): value - default for k, value in values.items() if value != default}, default)

    def position(self, feature: Feature) -> Affine:
        """A position feature."""
        bounds = ValueRange(feature.low, feature.high, feature.denominator)
        return Affine({(Position(feature.name, (bounds,), feature), 0): ONE})

    def block(self, block: Block) -> None:
        """Apply a block; one that is repeated becomes a loop over the coordinates that it changes."""
        if block.repeats == 1 and not block.name:
            self.layers(block.layers)
            return
        before = self.stream
        changed, unchanged = list[int](), set[int]()
        while True:
            labels = tuple(self.weights.coordinates[c] for c in changed)
            carried = Carried(block.name, (REALS,) * len(changed), labels=labels)
            self.stream = [content.copy() for content in before]
            for k, c in enumerate(changed):
                self.stream[c] = _Content({(carried, k): ONE})
            self.layers(block.layers)
            same = {c for c, content in enumerate(self.stream) if content.is_equal(before[c])}
            more = {c for c in range(len(before)) if c not in changed and c not in same}
            fewer = (same & set(changed)) - unchanged
            if not more and not fewer:
                break
            # What a first, wrong assumption made look changed is dropped again, but only once, so that this ends.
            unchanged |= fewer
            changed = sorted({*changed, *more} - fewer)
        initial = tuple(before[c].form for c in changed)
        body = tuple(map(self.view, changed))
        ranges = (REALS,) * len(changed)
        loop = Loop(block.name, ranges, carried, initial, body, block.repeats, labels=labels)
        self.stream = before
        for k, c in enumerate(changed):
            self.stream[c] = _Content({(loop, k): ONE})

    def layers(self, layers: Iterable[Layer]) -> None:
        """Apply some layers."""
        for layer in layers:
            self.attend(layer.heads)
            self.feed_forward(layer.feed_forward)

    def attend(self, heads: Sequence[Head]) -> None:
        """Apply an attention sublayer."""
        nodes = [self.head(head) for head in heads]
        for head, node in zip(heads, nodes, strict=True):
            self.add(head.output.rows, self.retrieved(node))

    def retrieved(self, node: Attention) -> list[Affine]:
        """What a head adds to the stream, component by component."""
        return [Affine({(node, k): ONE}) for k in range(len(node.value))]

    def head(self, head: Head) -> Attention:
        """A head as a node."""
        query, key, value = map(self.read, (head.query, head.key, head.value))
        ranges = (REALS,) * len(value)
        facts = (head.mask, head.weighting, head.bias, None, False, ScoreDecay.FLAT)
        return Attention(head.name, ranges, query, key, value, *facts)

    def feed_forward(self, forward: FeedForward) -> None:
        """Apply a feed-forward sublayer."""
        units = self.hidden_units(forward)
        for content, bias in zip(self.stream, forward.second.bias, strict=True):
            if bias:
                content.add(ONE, {}, bias)
        self.add(forward.second.weight.rows, units.outputs, units.opposites)

    def hidden_units(self, forward: FeedForward) -> HiddenUnits:
        """The units of a sublayer; those with equal pre-activations share a node, and so do norms of a group."""
        forms = self.read(forward.first)
        grouped: dict[int, Atom] = {}
        for group in forward.norms:
            node = Norm(forward.units[group[0]], (REALS,) * len(group), tuple(forms[u] for u in group), "norm")
            grouped |= {u: (node, k) for k, u in enumerate(group)}
        found = HiddenUnits([], {})
        known: defaultdict[tuple[str, int], list[tuple[Affine, Atom]]] = defaultdict(list)
        for u, (name, activation, form) in enumerate(zip(forward.units, forward.activations, forms, strict=True)):
            if not form.terms and u not in grouped:
                found.outputs.append(Affine({}, activate(activation, form.constant)))
                continue
            fingerprint = self.fingerprints.of(form)
            atom = grouped[u] if u in grouped else self.find_equal(form, known[activation, fingerprint])
            if atom is None:
                atom = (Unit(name, (REALS,), (form,), activation), 0)
                known[activation, fingerprint].append((form, atom))
                opposite = self.find_equal(form * -ONE, known["relu", -fingerprint % _PRIME])
                if activation == "relu" and opposite is not None:
                    raw = expand_named(form)
                    found.opposites |= {atom: (opposite, raw), opposite: (atom, raw * -ONE)}
            found.outputs.append(Affine({atom: ONE}))
        return found

    def find_equal(self, form: Affine, candidates: Sequence[tuple[Affine, Atom]]) -> Atom | None:
        """The atom of the candidate with an equal form, over raw atoms."""
        for other, atom in candidates:
            if form == other or expand_named(form) == expand_named(other):
                return atom
        return None

    def add(
        self,
        rows: Sequence[SparseRow],
        parts: Sequence[Affine],
        opposites: Mapping[Atom, tuple[Atom, Affine]] = MappingProxyType({}),
    ) -> None:
        """Add the outputs of a sublayer to the stream; ``w ReLU(g) - w ReLU(-g)`` becomes ``w g``."""
        for coordinate, row in enumerate(rows):
            if not row:
                continue
            content = self.stream[coordinate]
            written = Affine.combine((factor, parts[column]) for column, factor in row)
            terms = dict(written.terms)
            for atom, factor in written.terms.items():
                opposite, form = opposites.get(atom, (atom, written))
                if atom in terms and terms.get(opposite) == -factor:
                    content.add(factor, form.terms, form.constant)
                    del terms[atom], terms[opposite]
            content.add(ONE, terms, written.constant)

    def read(self, affine: AffineMap) -> tuple[Affine, ...]:
        """The forms that an affine map reads."""
        return tuple(
            Affine.combine(((weight, self.view(c)) for c, weight in row), bias)
            for row, bias in zip(affine.weight.rows, affine.bias, strict=True)
        )

    def view(self, coordinate: int) -> Affine:
        """The form by which a coordinate is read."""
        content = self.stream[coordinate]
        if content.view is None:
            content.view = content.form
            if not is_read_directly(content.view):
                node = Named(self.weights.coordinates[coordinate], (REALS,), (content.view,))
                content.view = Affine({(node, 0): ONE})
        return content.view


def is_read_directly(form: Affine) -> bool:
    """Whether a form gets no name: a single atom, or a function of the token."""
    is_atom = len(form.terms) == 1 and not form.constant and next(iter(form.terms.values())) == 1
    return is_atom or all(node.is_token for node, _ in form.terms)


def activate(activation: str, number: Fraction) -> Fraction:
    """The value of a unit that reads a number."""
    return max(number, ZERO) if activation == "relu" else Fraction(number >= 0)


def remove_clearing(analysis: Analysis) -> None:
    """Remove units that only clear from the program of an analysis, which follows the nodes of the new program.

    Programs with loops are left as they are: their coordinates are not reused.
    """
    program, new_nodes, linear = analysis.program, dict[Node, Node](), dict[Atom, Affine]()
    order = list(topological_order(program.logits.forms))
    if any(isinstance(node, Loop) for node in order):
        return

    def simplify(forms: tuple[Affine, ...]) -> tuple[Affine, ...]:
        """Forms with g in place of every ReLU(g), and without names of what is read directly."""
        new = [Affine({(new_nodes[node], k): x for (node, k), x in f.terms.items()}, f.constant) for f in forms]
        parts = ([(linear[a] + Affine({a: -ONE})) * x for a, x in form.terms.items() if a in linear] for form in new)
        return tuple(Affine.sum([form, *own]) for form, own in zip(new, parts, strict=True))

    for node in order:
        new = new_nodes[node] = node.with_forms(simplify)
        if isinstance(new, Named) and is_read_directly(new.forms[0]):
            linear[new, 0] = new.forms[0]
            continue
        analysis.visit(new)
        if isinstance(new, Unit) and new.activation == "relu" and analysis.of(new.forms[0]).low >= ZERO:
            linear[new, 0] = expand_named(new.forms[0])
    logits = replace(program.logits, forms=simplify(program.logits.forms))
    analysis.program = replace(program, logits=logits)
    kept = set(topological_order(logits.forms))
    analysis.heads = {head: fact for head, fact in analysis.heads.items() if head in kept}
