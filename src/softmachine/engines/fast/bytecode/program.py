"""A decoder's weights as a program: rows between virtual registers, and heads that retrieve those of earlier positions.

Every number computed at a position has a register, here called its *place*: token embeddings, position features, hidden
units, sums, retrieved values. A multiple of a single other number has none: its readers read the other one, with its
weight. Nor has a constant. Keys and values are registers; queries are rows, one for each register of the key. The bias
of a key is omitted: it adds the same to all scores.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from softmachine.engines.fast.analysis.grids import OVERFLOW_LIMIT, UnsupportedModel
from softmachine.engines.fast.analysis.unrolled_program import UnrolledHead, UnrolledUnit
from softmachine.engines.fast.bytecode import rows as row
from softmachine.ir.signal import Atom
from softmachine.transformer.attention import AttentionKind, Mask
from softmachine.transformer.features import (
    I_SQUARED,
    RECIPROCAL,
    Bit,
    Distance,
    Feature,
    I,
    Monomial,
    PowerOfTwo,
    Prime,
    Residue,
)
from softmachine.transformer.weights import AffineMap, Head, Layer, Matrix, Transformer

MAX_KEY_COMPONENTS = 1 << 12
"""Keys with more components are not supported."""


@dataclass(frozen=True)
class RegisterSum:
    """A weighted sum of registers, and a constant."""

    terms: Mapping[int, Fraction] = field(default_factory=dict)
    bias: Fraction = Fraction(0)

    @staticmethod
    def combine(parts: Iterable[tuple[Fraction, RegisterSum]], bias: Fraction = Fraction(0)) -> RegisterSum:
        """A linear combination of sums, and a constant."""
        terms: dict[int, Fraction] = {}
        for factor, part in parts:
            bias += factor * part.bias
            for place, weight in part.terms.items():
                terms[place] = terms.get(place, Fraction(0)) + factor * weight
        return RegisterSum({place: weight for place, weight in sorted(terms.items()) if weight}, bias)

    @property
    def signature(self) -> object:
        """A hashable value by which sums are compared."""
        return tuple(self.terms.items()), self.bias


@dataclass(frozen=True)
class ProgramRow:
    """The definition of a register: an activation of a sum, computed after the heads of ``stage`` layers."""

    register: int
    sum: RegisterSum
    activation: int
    stage: int


@dataclass(frozen=True, eq=False)
class BytecodeHead:
    """A head: its layer, the number of its index, and the register of each retrieved component that is read."""

    head: Head
    layer: str
    index: int
    results: Mapping[int, int]


@dataclass(frozen=True)
class HeadLookup:
    """The shared retrieval of heads of one stage with equal queries: tie-breaking, registers of values and results."""

    stage: int
    index: int
    query: int
    choice: AttentionKind
    values: tuple[int, ...]
    results: tuple[int, ...]


@dataclass(frozen=True)
class KeyIndex:
    """The keys shared by one or more heads: their registers, and whether a position sees its own."""

    registers: tuple[int, ...]
    causal: bool


@dataclass(frozen=True)
class HeadQuery:
    """A query on an index: for each register of the key a factor, and the coefficient of the key's position.

    A factor is a constant or a multiple of a register.
    """

    index: int
    factors: tuple[RegisterSum, ...]
    position_weight: int


@dataclass(frozen=True, eq=False)
class RegisterProgram:
    """A decoder as rows and heads.

    Args:
        register_count: The number of registers.
        embedding: For each token the registers that differ from token to token.
        features: Position features, each as its kind, two parameters, and its register.
        rows: The rows, in an order in which they can be computed.
        heads: The heads, in their order.
        lookups: Their lookups, stage by stage.
        indexes: Their keys.
        queries: Their queries.
        units: For each layer (each loop iteration has layers of its own) the registers of its units.
        logits: The registers of the logits.
    """

    register_count: int
    embedding: tuple[Mapping[int, Fraction], ...]
    features: tuple[tuple[int, int, int, int], ...]
    rows: tuple[ProgramRow, ...]
    heads: tuple[BytecodeHead, ...]
    lookups: tuple[HeadLookup, ...]
    indexes: tuple[KeyIndex, ...]
    queries: tuple[HeadQuery, ...]
    units: tuple[tuple[int, ...], ...]
    logits: tuple[int, ...]

    def register_of(self, atom: Atom) -> int:
        """The register of a unit or a retrieved component of the unrolled program."""
        match atom:
            case UnrolledUnit(layer=layer, number=number), _:
                return self.units[layer][number]
            case UnrolledHead(number=number), component:
                return self.heads[number].results[component]
        raise KeyError(atom)


def translate(transformer: Transformer) -> RegisterProgram:
    """Translate a decoder into a program.

    Raises:
        UnsupportedModel: If a head or a feature is not supported.
    """
    return _Builder(transformer).program()


class _Builder:
    def __init__(self, transformer: Transformer) -> None:
        self.transformer = transformer
        self.register_count = 0
        self.stage = 0
        self.stream: list[RegisterSum] = []
        """The current value of each coordinate: a constant, or a multiple of a register."""
        self.rows: list[ProgramRow] = []
        self.stages: dict[int, int] = {}
        """The stage from which on a register is available."""
        self.known: dict[object, int] = {}
        """The registers of keys and values."""
        self.features: list[tuple[int, int, int, int]] = []
        self.heads: list[BytecodeHead] = []
        self.lookups: dict[tuple[int, int, int, AttentionKind], dict[int, int]] = {}
        """The result register of each value, by stage, index, query and tie-breaking."""
        self.indexes: dict[object, tuple[int, KeyIndex]] = {}
        self.queries: dict[object, tuple[int, HeadQuery]] = {}
        self.units: list[tuple[int, ...]] = []

    def program(self) -> RegisterProgram:
        transformer = self.transformer
        embedding = self.embed()
        self.add_features()
        depth = 0
        for block in transformer.blocks:
            for turn in range(block.iterations(None)):
                for number, layer in enumerate(block.layers, depth + 1):
                    self.add_layer(
                        layer, f"layer {number}" + (f", turn {turn + 1}" if block.iterations(None) > 1 else "")
                    )
            depth += len(block.layers)
        logits = [self.add_row(item) for item in self.apply_affine(transformer.unembedding)]
        return RegisterProgram(
            register_count=self.register_count,
            embedding=embedding,
            features=tuple(self.features),
            rows=tuple(self.rows),
            heads=tuple(self.heads),
            lookups=tuple(HeadLookup(*key, tuple(found), tuple(found.values())) for key, found in self.lookups.items()),
            indexes=tuple(index for _, index in self.indexes.values()),
            queries=tuple(question for _, question in self.queries.values()),
            units=tuple(self.units),
            logits=tuple(logits),
        )

    def new_register(self) -> int:
        self.register_count += 1
        return self.register_count - 1

    def add_row(self, item: RegisterSum, activation: int = row.IDENTITY) -> int:
        """The register of a new row at the current stage."""
        to = self.new_register()
        self.record(ProgramRow(to, item, activation, self.stage))
        return to

    def record(self, item: ProgramRow) -> None:
        self.rows.append(item)
        self.stages[item.register] = item.stage

    def reduce(self, item: RegisterSum) -> RegisterSum:
        """Reduce a sum to a constant or a multiple of a register, which may be a new one."""
        return (
            item
            if not item.terms or (len(item.terms) == 1 and not item.bias)
            else RegisterSum({self.add_row(item): ONE})
        )

    def shared_register(self, item: RegisterSum) -> int:
        """The register with this value, perhaps a new one: computed as early as possible, and shared by all heads."""
        if not item.bias and list(item.terms.values()) == [ONE]:
            return next(iter(item.terms))
        if item.signature not in self.known:
            self.known[item.signature] = self.new_register()
            stage = max((self.stages.get(place, 0) for place in item.terms), default=0)
            self.record(ProgramRow(self.known[item.signature], item, row.IDENTITY, stage))
        return self.known[item.signature]

    def reduce_shared(self, item: RegisterSum) -> RegisterSum:
        """Reduce a sum to a constant or a multiple of a register that all heads share."""
        return (
            item
            if not item.terms or (len(item.terms) == 1 and not item.bias)
            else RegisterSum({self.shared_register(item): ONE})
        )

    def apply_affine(self, affine: AffineMap) -> list[RegisterSum]:
        """Apply an affine map to the residual stream."""
        pairs = zip(affine.weight.rows, affine.bias, strict=True)
        return [RegisterSum.combine(((w, self.stream[c]) for c, w in entries), bias) for entries, bias in pairs]

    def embed(self) -> tuple[Mapping[int, Fraction], ...]:
        """The registers of each token; coordinates that are the same for all tokens are constants."""
        width, count = self.transformer.width, len(self.transformer.vocabulary)
        columns = [[Fraction(0)] * count for _ in range(width)]
        for token, coordinate, value in self.transformer.embedding.entries():
            if max(abs(value.numerator), value.denominator) >= OVERFLOW_LIMIT:
                raise UnsupportedModel("its weights are not fractions of 62-bit integers")
            columns[coordinate][token] = value
        found: list[dict[int, Fraction]] = [{} for _ in range(count)]
        for column in columns:
            if len(set(column)) <= 1:
                self.stream.append(RegisterSum(bias=column[0] if column else Fraction(0)))
                continue
            place = self.new_register()
            self.stream.append(RegisterSum({place: ONE}))
            for token, value in enumerate(column):
                found[token][place] = value
        return tuple(found)

    def add_features(self) -> None:
        """Add the position features to the residual stream."""
        known: dict[tuple[int, int, int], RegisterSum] = {}
        added: list[list[tuple[Fraction, RegisterSum]]] = [[] for _ in self.stream]
        for number, coordinate, weight in self.transformer.position_embedding.entries():
            terms, constant = _expand_feature(self.transformer.features[number])
            added[coordinate].append((weight * constant, RegisterSum(bias=ONE)))
            for factor, item in terms:
                if item not in known:
                    known[item] = RegisterSum({self.new_register(): ONE})
                    self.features.append((*item, self.register_count - 1))
                added[coordinate].append((weight * factor, known[item]))
        self.stream = [
            self.reduce(RegisterSum.combine([(ONE, own), *more])) for own, more in zip(self.stream, added, strict=True)
        ]

    def add_layer(self, layer: Layer, label: str) -> None:
        """Translate a layer: heads, their output, the units, and their output."""
        found = [self.add_head(head, label) for head in layer.heads]
        self.stage += bool(found)
        self.add_to_stream([(head.output, parts) for head, parts in zip(layer.heads, found, strict=True)])
        forward = layer.feed_forward
        sums = self.apply_affine(forward.first)
        acts = [row.STEP if kind == "step" else row.RELU for kind in forward.activations]
        units = [self.add_row(item, act) for item, act in zip(sums, acts, strict=True)]
        self.units.append(tuple(units))
        values = {
            k: RegisterSum({to: ONE}) if item.terms else RegisterSum(bias=row.activate(item.bias, act))
            for k, (to, item, act) in enumerate(zip(units, sums, acts, strict=True))
        }
        self.add_to_stream([(forward.second.weight, values)], forward.second.bias)

    def add_to_stream(
        self, maps: Sequence[tuple[Matrix, Mapping[int, RegisterSum]]], bias: Sequence[Fraction] = ()
    ) -> None:
        """Add linear maps of some values, and constants, to the residual stream."""
        for c, own in enumerate(self.stream):
            parts = [(weight, values[k]) for matrix, values in maps for k, weight in matrix.rows[c]]
            constant = bias[c] if bias else Fraction(0)
            if parts or constant:
                self.stream[c] = self.reduce(RegisterSum.combine([(ONE, own), *parts], constant))

    def add_head(self, head: Head, label: str) -> dict[int, RegisterSum]:
        """Translate a head; returns the value of each component it retrieves."""
        if head.bias not in (None, Distance()):
            raise UnsupportedModel(
                f"head {head.name!r} has the bias {head.bias}, which the fast engine does not support"
            )
        query = head.query
        components = [
            c for c, keys in enumerate(head.key.weight.rows) if keys and (query.weight.rows[c] or query.bias[c])
        ]
        if len(components) > MAX_KEY_COMPONENTS:
            raise UnsupportedModel(f"head {head.name!r} has keys of {len(components):,} components")
        time = 0 if head.bias is None else -1
        if not head.weighting.is_hard and (components or time):
            raise UnsupportedModel(
                f"head {head.name!r} is a softmax, and the model is too large to prove it equivalent to hard attention"
            )
        index, question = self.add_query(head, components, time)
        used = sorted({c for entries in head.output.rows for c, _ in entries})
        sums = self.apply_affine(head.value)
        lookup = self.lookups.setdefault((self.stage, index, question, head.weighting.kind), {})
        found: dict[int, int] = {}
        for c in used:
            value = self.shared_register(sums[c])
            if value not in lookup:
                lookup[value] = self.new_register()
                self.stages[lookup[value]] = self.stage + 1
            found[c] = lookup[value]
        self.heads.append(BytecodeHead(head, label, index, found))
        return {c: RegisterSum({place: ONE}) for c, place in found.items()}

    def add_query(self, head: Head, components: Sequence[int], time: int) -> tuple[int, int]:
        """The number of a head's index, and of its query."""
        queries, keys = self.apply_affine(head.query), self.apply_affine(head.key)
        parts: dict[int, list[tuple[Fraction, RegisterSum]]] = {}
        for query, key in [(queries[c], keys[c]) for c in components if keys[c].terms]:
            free = RegisterSum(key.terms)
            place, factor = (
                next(iter(free.terms.items())) if len(free.terms) == 1 else (self.shared_register(free), ONE)
            )
            parts.setdefault(place, []).append((factor, query))
        places = tuple(sorted(parts))
        sums = [self.reduce_shared(RegisterSum.combine(parts[place])) for place in places]
        causal = head.mask is Mask.CAUSAL
        index, _ = self.indexes.setdefault((places, causal), (len(self.indexes), KeyIndex(places, causal)))
        signature = (index, time, tuple(item.signature for item in sums))
        number, _ = self.queries.setdefault(signature, (len(self.queries), HeadQuery(index, tuple(sums), time)))
        return index, number


ONE = Fraction(1)


def _expand_feature(item: Feature) -> tuple[list[tuple[Fraction, tuple[int, int, int]]], Fraction]:
    """A feature as a linear combination of those the kernel supports, and a constant."""
    terms, constant = item.affine_expansion
    return [(factor, _feature_code(plain)) for factor, plain in terms], constant


def _feature_code(item: Feature) -> tuple[int, int, int]:
    """The kernel's code of a feature, and its parameters."""
    match item:
        case Monomial() if item in _MONOMIALS:
            return _MONOMIALS[item], 0, 0
        case Bit(k, False, 0):
            return row.BIT, k, 0
        case Residue(modulus, remainder):
            return row.MOD, modulus, remainder
        case PowerOfTwo():
            return row.POWER_OF_TWO, 0, 0
        case Prime():
            return row.PRIME, 0, 0
    raise UnsupportedModel(f"the position feature {item.name} is not supported by the fast engine")


_MONOMIALS = {I: row.PLAIN, I_SQUARED: row.SQUARE, RECIPROCAL: row.INVERSE, RECIPROCAL**2: row.INVERSE_SQUARE}
