"""The primitives of the intermediate representation: token, position, relu and step, norm, attend; named, loop.

``named`` stores a vector in the residual stream under a name; ``loop`` repeats a block of signals. Affine maps are
folded into the forms of a signal and need no primitive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction

from softmachine.ir.ranges import BIT, INTEGERS, OVER_POSITIONS, SIGN, ValueRange, exact, real, relu_range, union
from softmachine.ir.signal import Affine, Node, Signal, node_signal, topological_order
from softmachine.support.errors import ConstructionError
from softmachine.transformer.attention import AVERAGE_HARD, Mask, Weighting
from softmachine.transformer.features import Feature, Relation
from softmachine.transformer.head_view import HeadExplanation


@dataclass(frozen=True, eq=False)
class Token(Node):
    """A vector looked up from the token at this position; tokens and components missing from the table are zero."""

    is_token = True
    table: Mapping[str, Mapping[int, Fraction]]

    def row(self, token: str) -> tuple[Fraction, ...]:
        """Return the vector of a token."""
        found = self.table.get(token, {})
        return tuple(found.get(k, Fraction(0)) for k in range(len(self.ranges)))


@dataclass(frozen=True, eq=False)
class Position(Node):
    """A feature of the position."""

    feature: Feature


@dataclass(frozen=True, eq=False)
class Unit(Node):
    """Hidden units of a feed-forward layer: ``activation`` of each form.

    ``after`` does not influence the values: the units are computed in the layer of these forms, or a later one.
    ``rule`` is the rule of the source that the unit implements, as text; empty if it implements none.
    """

    forms: tuple[Affine, ...]
    activation: str
    after: tuple[Affine, ...] = ()
    rule: str = field(default="", kw_only=True, compare=False)
    form_fields = ("forms", "after")


@dataclass(frozen=True, eq=False)
class Norm(Unit):
    """Hidden units that are normalised together: x₁ … x_k divided by their root mean square.

    This is the first half of the layer norm of (x, -x), whose mean is 0. The norm of zeros is zero.
    """


class ScoreDecay(StrEnum):
    """How attention scores decay below the maximum: the bound that the gap implies for the other keys."""

    FLAT = "flat"
    """Every other score is at least one gap below the maximum."""
    LINEAR = "linear"
    """The k-th best of the others is at least k gaps below."""
    QUADRATIC = "quadratic"
    """The key k positions away, to either side, is at least k² gaps below."""


@dataclass(frozen=True, eq=False)
class Attention(Node):
    """The output of one attention head.

    The author declares, and the exact interpreter checks: ``gap``, by which the maximal score exceeds every other score
    at least; ``fall``, how the other scores decay; ``single``, that keys tied for the maximum have equal values, so
    that the average is one of them. ``explains`` is the explanation of the head; it does not influence the weights.
    """

    query: tuple[Affine, ...]
    key: tuple[Affine, ...]
    value: tuple[Affine, ...]
    mask: Mask
    weighting: Weighting
    bias: Relation | None
    gap: Fraction | Feature | None
    single_key: bool
    decay: ScoreDecay
    explains: HeadExplanation | None = field(default=None, kw_only=True, compare=False)
    form_fields = ("query", "key", "value")


@dataclass(frozen=True, eq=False)
class Named(Node):
    """Forms that the residual stream carries under a name."""

    forms: tuple[Affine, ...]
    form_fields = ("forms",)


@dataclass(frozen=True, eq=False)
class Carried(Node):
    """The loop-carried values, as read by the body."""


@dataclass(frozen=True, eq=False)
class Loop(Node):
    """The loop-carried values after the last iteration: ``body`` applied ``times`` times to ``initial``."""

    carried: Carried
    initial: tuple[Affine, ...]
    body: tuple[Affine, ...]
    iterations: int | Feature = field(default=1)
    form_fields = ("initial", "body")

    def count_iterations(self, length: int | None) -> int:
        """Return the number of iterations on an input of this length."""
        return int(self.iterations.at(0, length)) if isinstance(self.iterations, Feature) else self.iterations


def inputs_outside_loops(node: Node) -> Iterable[Affine]:
    """Return the forms that a node reads before its body runs: for a loop, only the initial values."""
    return node.initial if isinstance(node, Loop) else node.inputs()


def find_outside(loop: Loop) -> list[Node]:
    """Return the nodes that the body of a loop reads and that do not depend on what it carries, inputs first."""
    inside: set[Node] = {loop.carried}
    for node in topological_order(loop.body):
        if any(source in inside for form in node.inputs() for source, _ in form.terms):
            inside.add(node)
    return [node for node in topological_order(loop.body, inputs_outside_loops) if node not in inside]


def expand_named(form: Affine) -> Affine:
    """Write a form over what its named terms stand for."""
    if not any(isinstance(node, Named) for node, _ in form.terms):
        return form
    parts = (
        (factor, node.forms[k] if isinstance(node, Named) else Affine({(node, k): Fraction(1)}))
        for (node, k), factor in form.terms.items()
    )
    return Affine.combine(parts, form.constant)


def token(
    name: str, table: Mapping[str, tuple[Fraction | int, ...]], *, labels: tuple[str, ...] | None = None
) -> Signal:
    """A vector looked up from the token at this position."""
    widths = {len(row) for row in table.values()}
    if len(widths) != 1:
        raise ConstructionError(f"the rows of the token table {name!r} have widths {sorted(widths)}; give them one")
    rows = {key: {k: Fraction(number) for k, number in enumerate(row) if number} for key, row in table.items()}
    return _token_from_rows(name, rows, widths.pop(), labels)


def one_hot(name: str, labels: tuple[str, ...], default: tuple[str, ...] = ()) -> Signal:
    """One-hot vector of the token at this position; zero for other tokens."""
    rows: dict[str, dict[int, Fraction]] = {key: {} for key in (*labels, *default)}
    for k, label in enumerate(labels):
        rows[label][k] = Fraction(1)
    return _token_from_rows(name, rows, len(labels), labels)


def _token_from_rows(
    name: str, rows: Mapping[str, Mapping[int, Fraction]], width: int, labels: tuple[str, ...] | None
) -> Signal:
    """Create a token signal from sparse rows."""
    columns: list[set[Fraction]] = [{Fraction(0)} for _ in range(width)]
    for row in rows.values():
        for k, number in row.items():
            columns[k].add(number)
    kinds = tuple(BIT if column == {0, 1} else union(map(exact, column)) for column in columns)
    exclusive = width > 0 and all(list(row.values()) in ([], [1]) for row in rows.values())
    return node_signal(Token(name, kinds, rows, labels=labels), exclusive=exclusive)


def position(feature: Feature, name: str | None = None) -> Signal:
    """A feature of the position."""
    return node_signal(
        Position(name or feature.name, (ValueRange(feature.low, feature.high, feature.denominator),), feature)
    )


def relu(name: str, signal: Signal, *, after: Signal | None = None, rule: str = "") -> Signal:
    """max(0, x), component by component; ``after`` delays it until another signal is computed, see :class:`Unit`.

    ``rule`` is the rule of the source that it implements, if any.
    """
    waits = after.forms if after is not None else ()
    kinds = tuple(map(relu_range, signal.ranges))
    return node_signal(Unit(name, kinds, signal.forms, "relu", waits, labels=signal.labels, rule=rule))


def step(name: str, signal: Signal) -> Signal:
    """The Heaviside function: 1 if x ≥ 0, else 0, component by component."""
    return node_signal(Unit(name, (BIT,) * len(signal), signal.forms, "step", labels=signal.labels))


def norm(name: str, signal: Signal) -> Signal:
    """Layer norm of a vector and its negative: each component over the root mean square; for one component, its sign.

    Equations (11d) and (11e) of "Revisiting Padded Transformer Expressivity", on a part of the vector, without ε. Only
    the norm of a single number is always rational; the exact interpreter raises an error for irrational norms.
    """
    kinds = (SIGN,) if len(signal) == 1 else (real(-len(signal), len(signal)),) * len(signal)
    return node_signal(Norm(name, kinds, signal.forms, "norm", labels=signal.labels))


def attend(
    name: str,
    *,
    query: Signal | None = None,
    key: Signal | None = None,
    value: Signal,
    mask: Mask = Mask.CAUSAL,
    weighting: Weighting = AVERAGE_HARD,
    bias: Relation | None = None,
    gap: Fraction | Feature | int | None = None,
    single_key: bool = False,
    decay: ScoreDecay = ScoreDecay.FLAT,
    explains: HeadExplanation | None = None,
) -> Signal:
    """The value at the keys with the highest score, query · key + bias(key position, query position).

    Without query and key, attention is uniform and the result is the mean over the visible positions. ``gap``,
    ``single_key`` and ``decay`` declare properties of the scores and of the values at tied keys, see
    :class:`Attention`. ``explains`` explains an activation of the head; without it, the positions and the retrieved
    values do.
    """
    queries, keys = (query.forms if query else ()), (key.forms if key else ())
    if len(queries) != len(keys):
        raise ConstructionError(f"head {name!r}: the query has width {len(queries)}, the key {len(keys)}")
    kinds, chosen = value.ranges, single_key or weighting.is_unique_hard
    if mask in (Mask.PAST, Mask.FUTURE):
        kinds = tuple(union([kind, exact(Fraction(0))]) for kind in kinds)
    over_all = not queries and bias is None and mask is Mask.CAUSAL
    grid = (
        INTEGERS if chosen else OVER_POSITIONS if over_all else None
    )  # means at different positions have different i+1
    kinds = tuple(ValueRange(kind.low, kind.high, grid if kind.is_integer else None) for kind in kinds)
    exact_gap = Fraction(gap) if isinstance(gap, int) else gap
    node = Attention(
        name,
        kinds,
        queries,
        keys,
        value.forms,
        mask,
        weighting,
        bias,
        exact_gap,
        single_key,
        decay,
        labels=value.labels,
        explains=explains,
    )
    return node_signal(node, exclusive=chosen and value.is_one_hot)


def named(name: str, signal: Signal) -> Signal:
    """Store the signal in the residual stream under a name: later stages read the named coordinate."""
    node = Named(name, signal.ranges, signal.forms, labels=signal.labels)
    return node_signal(node, exclusive=signal.is_one_hot)


def loop(name: str, *, iterations: int | Feature, initial: Signal, body: Callable[[Signal], Signal]) -> Signal:
    """The carried signal after ``body`` has been applied ``iterations`` times; ``iterations`` may be a feature of n.

    Raises:
        ConstructionError: If the body returns a different width, or values outside the ranges of the carried ones.
    """
    if isinstance(iterations, int) and iterations < 0:
        raise ConstructionError(f"loop {name!r} cannot run {iterations} times")
    carried = Carried(name, initial.ranges, labels=initial.labels)
    result = body(node_signal(carried, exclusive=initial.is_one_hot))
    if len(result) != len(initial):
        raise ConstructionError(f"loop {name!r} carries {len(initial)} numbers, but its body returns {len(result)}")
    for index, (before, after) in enumerate(zip(initial.ranges, result.ranges, strict=True)):
        if not after.is_within(before):
            raise ConstructionError(
                f"loop {name!r}: component {index} is carried as {before}, but the body returns {after}"
            )
    node = Loop(name, initial.ranges, carried, initial.forms, result.forms, iterations, labels=initial.labels)
    return node_signal(node, exclusive=initial.is_one_hot)
