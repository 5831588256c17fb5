"""Flow of a decoder: its weights, lifted to a program of the few numbers to compute at every position.

From the transformer alone. Loops are unrolled, what only the token decides is folded into tables, what nothing reads is
left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

from softmachine.engines.fast.analysis.forms import ZERO, AffineForm, apply_to_tokens, atom, combination, of_tokens
from softmachine.support.errors import UsageError
from softmachine.support.resources import Estimate, require_affordable
from softmachine.support.text import pluralize
from softmachine.transformer.attention import Mask, Weighting
from softmachine.transformer.features import Feature, Relation
from softmachine.transformer.weights import AffineMap, FeedForward, Head, Layer, Transformer

LAYER, LAYER_BYTES = 1e-3, 10_000
"""What a layer takes: seconds and bytes, about."""
MAX_INLINED_TERMS = 4096
"""A coordinate becomes an atom where it would put more terms than this into the logits: rules times outputs."""
FUNCTIONS: dict[str, Callable[[Fraction], Fraction]] = {
    "relu": lambda x: max(x, ZERO),
    "step": lambda x: Fraction(int(x >= 0)),
    "identity": lambda x: x,
}


@dataclass(frozen=True)
class PositionAtom:
    """An atom: a feature of the position."""

    feature: Feature


@dataclass(frozen=True)
class UnitAtom:
    """An atom: a hidden unit, ReLU or step of a form; or a form itself that many logits share.

    Args:
        name: Its name.
        form: What it is a function of.
        function: Which function.
        layer: The layer that it is in; each turn of a loop has layers of its own.
        number: Which of the layer's units it is.
    """

    name: str
    form: AffineForm
    function: Literal["relu", "step", "identity"]
    layer: int
    number: int

    @property
    def step(self) -> bool:
        """Whether it is a step."""
        return self.function == "step"

    def of(self, x: Fraction) -> Fraction:
        """The function of a number."""
        return FUNCTIONS[self.function](x)


@dataclass(frozen=True)
class RetrievedAtom:
    """An atom: one component of what a head retrieves."""

    head: int
    component: int


Atom = PositionAtom | UnitAtom | RetrievedAtom


@dataclass(frozen=True, eq=False)
class LiftedHead:
    """A head, its maps as forms over what is known before its layer.

    Components of queries and keys that do not matter are left out; ``every_key`` has them.
    """

    name: str
    layer: str
    query: tuple[AffineForm, ...]
    key: tuple[AffineForm, ...]
    value: tuple[AffineForm, ...]
    every_key: tuple[AffineForm, ...]
    mask: Mask
    weighting: Weighting
    bias: Relation | None


@dataclass(frozen=True)
class LiftedProgram:
    """What has to be computed at every position.

    Args:
        atoms: All atoms, by number.
        heads: All heads.
        order: What to compute, in this order: numbers of atoms, or heads.
        logits: The forms of the outputs.
        vocabulary: How many tokens there are.
    """

    atoms: tuple[Atom, ...]
    heads: tuple[LiftedHead, ...]
    order: tuple[int | LiftedHead, ...]
    logits: tuple[AffineForm, ...]
    vocabulary: int

    def retrieved(self, head: LiftedHead) -> list[tuple[int, int]]:
        """The atoms of a head that are read, as (atom, component)."""
        return self._retrieved.get(head, [])

    @cached_property
    def _retrieved(self) -> dict[LiftedHead, list[tuple[int, int]]]:
        found: dict[LiftedHead, list[tuple[int, int]]] = {}
        for index in self.order:
            if isinstance(index, int) and isinstance(item := self.atoms[index], RetrievedAtom):
                found.setdefault(self.heads[item.head], []).append((index, item.component))
        return found


def lift(transformer: Transformer) -> LiftedProgram:
    """The flow of a decoder.

    Raises:
        UsageError: If the transformer looks ahead or needs the length.
    """
    require_causal(transformer)
    return _Lifting(transformer).flow()


def require_causal(transformer: Transformer) -> None:
    """See that a transformer can decode, and that its loops, turn by turn, are not too much.

    Raises:
        UsageError: If it looks ahead or needs the length.
        TooExpensiveError: If its loops have too many turns, and nobody said yes.
    """
    if not transformer.is_causal:
        raise UsageError(f"{transformer.name!r} looks ahead or needs the length, so it cannot decode token by token")
    depth = transformer.depth(None)
    what = f"unfolding {transformer.name!r} to {pluralize(depth, 'layer')}"
    require_affordable(Estimate(what, depth * LAYER, depth * LAYER_BYTES))


class _Lifting:
    """The residual stream, followed from the embedding to the logits."""

    def __init__(self, transformer: Transformer) -> None:
        self.transformer = transformer
        self.vocabulary = len(transformer.vocabulary)
        self.atoms: list[Atom] = []
        self.heads: list[LiftedHead] = []
        self.layers = 0
        self.places: dict[Feature, int] = {}
        self.stream = self._embedded()

    def flow(self) -> LiftedProgram:
        layers = 0
        for block in self.transformer.blocks:
            for turn in range(block.iterations(None)):
                for depth, layer in enumerate(block.layers, layers + 1):
                    label = f"layer {depth}" + (f", turn {turn + 1}" if block.iterations(None) > 1 else "")
                    self._layer(layer, label)
            layers += len(block.layers)
        self._share(self.transformer.unembedding)
        logits = tuple(self._map(self.transformer.unembedding))
        return _prune(LiftedProgram(tuple(self.atoms), tuple(self.heads), (), logits, self.vocabulary))

    def _share(self, affine: AffineMap) -> None:
        """Coordinates that are long sums and that many rows read become atoms: each sum is then written down once."""
        readers = Counter(c for row in affine.weight.rows for c, _ in row)
        for number, (coordinate, count) in enumerate(sorted(readers.items())):
            form = self.stream[coordinate]
            if count > 1 and count * (len(form.terms) + len(form.tokens)) > MAX_INLINED_TERMS:
                name = self.transformer.coordinates[coordinate]
                self.stream[coordinate] = self._atom(UnitAtom(name, form, "identity", self.layers, number))

    def _atom(self, item: Atom) -> AffineForm:
        self.atoms.append(item)
        return atom(len(self.atoms) - 1)

    def _feature(self, item: Feature) -> AffineForm:
        """A feature as a form; multiples of one another share an atom."""
        if item not in self.places:
            self._atom(PositionAtom(item))
            self.places[item] = len(self.atoms) - 1
        return atom(self.places[item])

    def _position(self, item: Feature) -> AffineForm:
        """A feature, by way of the plain ones if it is an affine function of them."""
        terms, constant = item.affine_expansion
        return combination([(factor, self._feature(plain)) for factor, plain in terms], constant)

    def _embedded(self) -> list[AffineForm]:
        columns: list[dict[int, Fraction]] = [{} for _ in range(self.transformer.width)]
        for token, coordinate, value in self.transformer.embedding.entries():
            columns[coordinate][token] = value
        stream = [of_tokens(column, self.vocabulary) for column in columns]
        places = [self._position(item) for item in self.transformer.features]
        added: list[list[tuple[Fraction, AffineForm]]] = [[(Fraction(1), form)] for form in stream]
        for row, coordinate, weight in self.transformer.position_embedding.entries():
            added[coordinate].append((weight, places[row]))
        return [combination(parts) for parts in added]

    def _map(self, affine: AffineMap) -> list[AffineForm]:
        rows = zip(affine.weight.rows, affine.bias, strict=True)
        return [combination([(weight, self.stream[c]) for c, weight in row], constant) for row, constant in rows]

    def _layer(self, layer: Layer, label: str) -> None:
        found = [self._head(head, label) for head in layer.heads]
        for head, retrieved in zip(layer.heads, found, strict=True):
            self._add(head.output.rows, retrieved)
        self._feed(layer.feed_forward)
        self.layers += 1

    def _head(self, head: Head, label: str) -> list[AffineForm]:
        query, key, value = self._map(head.query), self._map(head.key), self._map(head.value)
        matter = [c for c in range(len(query)) if not query[c].is_zero and not key[c].is_constant]
        self.heads.append(
            LiftedHead(
                name=head.name,
                layer=label,
                query=tuple(query[c] for c in matter),
                key=tuple(key[c] for c in matter),
                value=tuple(value),
                every_key=tuple(key),
                mask=head.mask,
                weighting=head.weighting,
                bias=head.bias,
            )
        )
        number = len(self.heads) - 1
        # The mean of a constant is the constant, if there is anything to see; the first position may see nothing.
        return [
            form if form.is_constant and head.mask is Mask.CAUSAL else self._atom(RetrievedAtom(number, component))
            for component, form in enumerate(value)
        ]

    def _feed(self, forward: FeedForward) -> None:
        hidden: list[AffineForm] = []
        units = zip(forward.units, forward.activations, self._map(forward.first), strict=True)
        for number, (name, kind, form) in enumerate(units):
            function: Literal["relu", "step"] = "step" if kind == "step" else "relu"
            if form.of_token:
                hidden.append(apply_to_tokens(FUNCTIONS[function], form, self.vocabulary))
            else:
                hidden.append(self._atom(UnitAtom(name, form, function, self.layers, number)))
        self._add(forward.second.weight.rows, hidden, forward.second.bias)

    def _add(
        self,
        rows: Sequence[Sequence[tuple[int, Fraction]]],
        parts: Sequence[AffineForm],
        constants: Iterable[Fraction] | None = None,
    ) -> None:
        """Add a linear map of forms to the residual stream."""
        biases = list(constants) if constants is not None else [ZERO] * len(rows)
        self.stream = [
            combination([(Fraction(1), old), *((weight, parts[c]) for c, weight in row)], bias) if row or bias else old
            for old, row, bias in zip(self.stream, rows, biases, strict=True)
        ]


def _prune(flow: LiftedProgram) -> LiftedProgram:
    """The flow with the order of what the logits need, directly or not."""
    needed: set[int] = set()
    heads: set[int] = set()
    todo = [number for form in flow.logits for number in form.terms]
    while todo:
        number = todo.pop()
        if number in needed:
            continue
        needed.add(number)
        match flow.atoms[number]:
            case UnitAtom(form=form):
                todo += form.terms
            case RetrievedAtom(head=index, component=component):
                head = flow.heads[index]
                todo += head.value[component].terms
                if index not in heads:
                    heads.add(index)
                    todo += [a for form in (*head.query, *head.key) for a in form.terms]
    order: list[int | LiftedHead] = []
    for number in sorted(needed):
        item = flow.atoms[number]
        if isinstance(item, RetrievedAtom) and item.head in heads:
            heads.remove(item.head)
            order.append(flow.heads[item.head])
        order.append(number)
    return LiftedProgram(flow.atoms, flow.heads, tuple(order), flow.logits, flow.vocabulary)
