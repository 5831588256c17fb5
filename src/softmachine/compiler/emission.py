"""Allocation → Transformer: emits the weight matrices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

from softmachine.compiler.allocation import Allocation, UniqueNames
from softmachine.compiler.graph import SignalGraph
from softmachine.compiler.schedule import BlockPlan, Schedule
from softmachine.ir.primitives import Attention, Norm, Position, Token, Unit
from softmachine.ir.program import Program
from softmachine.ir.signal import Affine, Atom, Node
from softmachine.transformer.features import Feature
from softmachine.transformer.weights import AffineMap, Block, FeedForward, Head, Layer, Matrix, Transformer


class CompiledProgram(NamedTuple):
    """The weights of a program, and what they implement.

    Args:
        weights: The transformer.
        heads: The node of each head, by the head's name, in graph order.
        rules: The rule of the source that a hidden unit implements, by the unit's name.
    """

    weights: Transformer
    heads: dict[str, Attention]
    rules: dict[str, str]


def allocation_to_transformer(
    program: Program, graph: SignalGraph, schedule: Schedule, allocation: Allocation
) -> CompiledProgram:
    """Emit the weights of a scheduled and allocated program."""
    emitter = _Emitter(program, graph, schedule, allocation)
    transformer = emitter.transformer()
    names = {node: name for name, node in emitter.heads.items()}
    heads = {names[node]: node for node in graph.nodes if isinstance(node, Attention) and node in names}
    return CompiledProgram(transformer, heads, emitter.rules)


class _Emitter:
    def __init__(self, program: Program, graph: SignalGraph, schedule: Schedule, allocation: Allocation) -> None:
        self.program = program
        self.graph = graph
        self.schedule = schedule
        self.allocation = allocation
        self.width = len(allocation.names)
        self.head_names, self.unit_names = UniqueNames(), UniqueNames()
        self.heads: dict[str, Attention] = {}
        self.rules: dict[str, str] = {}
        self.targets: dict[Atom, dict[int, Fraction]] = {}
        for coordinate, written in enumerate(allocation.summands):
            for atom, factor in written.items():
                self.targets.setdefault(atom, {})[coordinate] = factor
        for updates in allocation.updates.values():
            for update in updates:
                for atom, factor in update.direct.items():
                    own = self.targets.setdefault(atom, {})
                    own[update.coordinate] = own.get(update.coordinate, Fraction(0)) + factor

    def transformer(self) -> Transformer:
        features = self.features()
        return Transformer(
            name=self.program.name,
            vocabulary=self.program.vocabulary,
            coordinates=self.allocation.names,
            embedding=Matrix.of(self.embedding(), self.width),
            features=tuple(features),
            position_embedding=Matrix.of(features.values(), self.width),
            blocks=tuple(self.block(plan) for plan in self.schedule.blocks if plan.depth),
            outputs=self.program.outputs,
            unembedding=self.affine_map(self.graph.logits),
        )

    def embedding(self) -> Iterable[dict[int, Fraction]]:
        """Return a row for each token: the constants, plus the token's table entries."""
        constants = {k: constant for k, constant in enumerate(self.allocation.constants) if constant}
        rows = {token: dict(constants) for token in self.program.vocabulary}
        for node in dict.fromkeys(node for node, _ in self.targets if isinstance(node, Token)):
            for token, entries in node.table.items():
                for k, value in entries.items():
                    if token in rows and (node, k) in self.targets:
                        _add_scaled(rows[token], self.targets[(node, k)], value)
        return [rows[token] for token in self.program.vocabulary]

    def features(self) -> dict[Feature, dict[int, Fraction]]:
        rows: dict[Feature, dict[int, Fraction]] = {}
        for (node, _), targets in self.targets.items():
            if isinstance(node, Position):
                _add_scaled(rows.setdefault(node.feature, {}), targets)
        return rows

    def block(self, plan: BlockPlan) -> Block:
        layers: list[Layer] = []
        index = self.schedule.blocks.index(plan)
        for heads, units in zip(plan.heads, plan.units, strict=True):
            last = len(layers) == plan.depth - 1
            clears = self.allocation.cleared.get((index, 2 * len(layers) + 2), ())
            layers.append(Layer(self.attention(heads), self.feed_forward(units, plan if last else None, clears)))
        return Block(tuple(layers), plan.repeats, plan.name)

    def affine_map(self, forms: Sequence[Affine]) -> AffineMap:
        readings = [self.allocation.read(form) for form in forms]
        weight = Matrix.of((reading.terms for reading in readings), self.width)
        return AffineMap(weight, tuple(reading.constant for reading in readings))

    def attention(self, nodes: Sequence[Attention]) -> tuple[Head, ...]:
        return tuple(self.head(node) for node in nodes if self.written_components(node))

    def written_components(self, node: Node) -> list[int]:
        """Return the components that are written to some coordinate."""
        return [k for k in range(len(node.ranges)) if self.targets.get((node, k))]

    def head(self, node: Attention) -> Head:
        columns = [self.targets[(node, k)] for k in self.written_components(node)]
        name = self.head_names.make_unique(node.name)
        self.heads[name] = node
        return Head(
            name=name,
            query=self.affine_map(node.query),
            key=self.affine_map(node.key),
            value=self.affine_map([node.value[k] for k in self.written_components(node)]),
            output=_matrix_of_columns(columns, self.width),
            mask=node.mask,
            weighting=node.weighting,
            bias=node.bias,
        )

    def feed_forward(
        self, nodes: Sequence[Unit], end_of: BlockPlan | None, clears: Sequence[tuple[int, bool]]
    ) -> FeedForward:
        hidden = _HiddenUnits(self.allocation)
        for node in nodes:
            if isinstance(node, Norm) and self.written_components(node):
                hidden.add_norm(node, [self.targets.get((node, k), {}) for k in range(len(node.ranges))])
                continue
            for k in self.written_components(node):
                hidden.add(node.label(k), node.forms[k], node.activation, self.targets[(node, k)], node.rule)
        if end_of and end_of.loop:
            for update in self.allocation.updates[end_of.loop]:
                name = self.allocation.names[update.coordinate]
                hidden.add_linear(f"new {name}", update.change, {update.coordinate: Fraction(1)})
            for atom in self.allocation.temporaries[end_of.loop]:
                hidden.clear(self.allocation.coordinate_of[atom])
        for coordinate, signed in clears:
            hidden.clear(coordinate, signed=signed)
        layer = hidden.layer(self.width, self.unit_names)
        names = dict(zip(hidden.units, layer.units, strict=True))
        self.rules |= {names[key]: rule for key, rule in hidden.rules.items()}
        return layer


class _HiddenUnits:
    """The hidden units of one feed-forward sublayer; units with equal inputs are merged."""

    def __init__(self, allocation: Allocation) -> None:
        self.allocation = allocation
        self.units: dict[object, tuple[str, dict[int, Fraction], Fraction, str, dict[int, Fraction]]] = {}
        self.constant: dict[int, Fraction] = {}
        self.rules: dict[object, str] = {}

    def add(self, name: str, form: Affine, activation: str, targets: dict[int, Fraction], rule: str = "") -> None:
        reading = self.allocation.read(form)
        key = self._add(name, reading.terms, reading.constant, activation, targets)
        if rule:
            self.rules.setdefault(key, rule)

    def add_norm(self, node: Norm, targets: Sequence[dict[int, Fraction]]) -> None:
        """Add units that are normalised together; they are never merged."""
        for k, (form, where) in enumerate(zip(node.forms, targets, strict=True)):
            reading = self.allocation.read(form)
            self.units[node, k] = (node.label(k), reading.terms, reading.constant, "norm", dict(where))

    def _add(
        self, name: str, terms: dict[int, Fraction], bias: Fraction, activation: str, targets: dict[int, Fraction]
    ) -> object:
        key = (frozenset(terms.items()), bias, activation)
        if key not in self.units:
            self.units[key] = (name, terms, bias, activation, {})
        _add_scaled(self.units[key][4], targets)
        return key

    def add_linear(self, name: str, form: Affine, targets: dict[int, Fraction]) -> None:
        """Add a form to coordinates: x = ReLU(x) - ReLU(-x), with the constant in the bias."""
        reading = self.allocation.read(form)
        _add_scaled(self.constant, targets, reading.constant)
        self._linear(name, reading.terms, targets)

    def clear(self, coordinate: int, *, signed: bool = True) -> None:
        """Set a coordinate to 0 by subtracting its value; two units, or one if it is never negative."""
        name = f"clear {self.allocation.names[coordinate]}"
        self._linear(name, {coordinate: Fraction(1)}, {coordinate: Fraction(-1)}, (1, -1) if signed else (1,))

    def _linear(
        self, name: str, terms: dict[int, Fraction], targets: dict[int, Fraction], signs: Sequence[int] = (1, -1)
    ) -> None:
        if not terms:
            return
        for sign in signs:
            pre = {coordinate: sign * factor for coordinate, factor in terms.items()}
            post = {coordinate: sign * factor for coordinate, factor in targets.items()}
            self._add(f"{name} {'+' if sign > 0 else '-'}", pre, Fraction(0), "relu", post)

    def layer(self, width: int, names: UniqueNames) -> FeedForward:
        units = list(self.units.values())
        first = Matrix.of((terms for _, terms, _, _, _ in units), width)
        bias = tuple(self.constant.get(k, Fraction(0)) for k in range(width))
        return FeedForward(
            first=AffineMap(first, tuple(bias for _, _, bias, _, _ in units)),
            activations=tuple(activation for _, _, _, activation, _ in units),
            second=AffineMap(_matrix_of_columns([targets for *_, targets in units], width), bias),
            units=tuple(names.make_unique(name) for name, *_ in units),
            norms=self._norms(),
        )

    def _norms(self) -> tuple[tuple[int, ...], ...]:
        """Return the groups of units that are normalised together."""
        groups: dict[Node, list[int]] = {}
        for place, key in enumerate(self.units):
            if isinstance(key, tuple) and isinstance(key[0], Norm):
                groups.setdefault(key[0], []).append(place)
        return tuple(map(tuple, groups.values()))


def _add_scaled(row: dict[int, Fraction], targets: dict[int, Fraction], factor: Fraction | int = 1) -> None:
    for coordinate, share in targets.items():
        more = share if factor == 1 else share * factor
        row[coordinate] = row[coordinate] + more if coordinate in row else more


def _matrix_of_columns(columns: Sequence[dict[int, Fraction]], width: int) -> Matrix:
    """Return the matrix with these columns."""
    rows: list[dict[int, Fraction]] = [{} for _ in range(width)]
    for index, column in enumerate(columns):
        for row, value in column.items():
            rows[row][index] = value
    return Matrix.of(rows, len(columns))
