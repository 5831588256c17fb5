"""Unrolled program: a decoder, lifted to a program without loops, and the order in which its atoms are computed.

Units that depend only on the token become token tables, and a constant retrieved by a head becomes that constant. Long
sums that many logits read become nodes of their own, and atoms that no logit depends on are not computed. Atoms are
numbered in the order of the weights, including those that are not computed: the variables of generated code are named
after these numbers, and checkpoints store a digest of the code.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from softmachine.ir.lifter import HiddenUnits, Lifter, activate
from softmachine.ir.primitives import Attention, Named, Unit
from softmachine.ir.ranges import REALS
from softmachine.ir.signal import Affine, Atom, Node
from softmachine.support.errors import UsageError
from softmachine.support.resources import Estimate, require_affordable
from softmachine.support.text import pluralize
from softmachine.transformer.attention import Mask
from softmachine.transformer.features import Feature
from softmachine.transformer.weights import AffineMap, Block, FeedForward, Head, Transformer

LAYER_SECONDS, LAYER_BYTES = 1e-3, 10_000
"""The estimated cost of unrolling a layer."""
MAX_INLINED_TERMS = 4096
"""The maximal number of terms that a coordinate contributes to all logits before it becomes a node of its own."""
ONE = Fraction(1)


@dataclass(frozen=True, eq=False)
class UnrolledUnit(Unit):
    """A hidden unit that does not depend on the token alone.

    Args:
        layer: The index of its layer; each iteration of a loop has layers of its own.
        number: Its index in the layer.
    """

    layer: int = field(kw_only=True)
    number: int = field(kw_only=True)


@dataclass(frozen=True, eq=False)
class UnrolledHead(Attention):
    """A head; query and key are without the components that add the same to the scores of all keys.

    Args:
        number: Its index among all heads.
        layer: The name of its layer and, in a loop, of the iteration.
        full_key: All components of the key.
    """

    number: int
    layer: str
    full_key: tuple[Affine, ...]


@dataclass(frozen=True)
class UnrolledProgram:
    """The numbers to compute at every position.

    Args:
        atoms: All atoms, by number; tokens have none.
        heads: All heads, layer by layer.
        logits: The logits.
        vocabulary_size: The number of tokens.
    """

    atoms: tuple[Atom, ...]
    heads: tuple[UnrolledHead, ...]
    logits: tuple[Affine, ...]
    vocabulary_size: int

    @cached_property
    def numbers(self) -> dict[Atom, int]:
        """The number of each atom."""
        return {atom: number for number, atom in enumerate(self.atoms)}

    @cached_property
    def order(self) -> tuple[Atom | UnrolledHead, ...]:
        """The atoms that logits depend on, inputs first; a head comes right before the first of its components."""
        needed, reached = set[Atom](), set[Node]()
        pending = [atom for form in self.logits for atom in form.other_terms]
        while pending:
            atom = pending.pop()
            if atom in needed:
                continue
            needed.add(atom)
            node, k = atom
            forms = [node.value[k]] if isinstance(node, UnrolledHead) else list(node.inputs())
            if isinstance(node, UnrolledHead) and node not in reached:
                forms += [*node.query, *node.key]
            reached.add(node)
            pending += [atom for form in forms for atom in form.other_terms]
        order: dict[Atom | UnrolledHead, None] = {}
        for atom in self.atoms:
            if atom in needed:
                order |= {atom[0]: None} if isinstance(atom[0], UnrolledHead) else {}
                order[atom] = None
        return tuple(order)

    @cached_property
    def computed(self) -> frozenset[Atom]:
        """The atoms that logits depend on."""
        return frozenset(item for item in self.order if not isinstance(item, UnrolledHead))

    def components_read(self, head: UnrolledHead) -> list[int]:
        """The components of a head's value that logits depend on."""
        return [k for k in range(len(head.value)) if (head, k) in self.computed]


def unroll(transformer: Transformer) -> UnrolledProgram:
    """Lift a decoder, unroll its loops, and simplify the result.

    Raises:
        UsageError: If the transformer is not causal or needs the length.
        TooExpensiveError: If its loops have too many iterations, and the cost was not approved.
        ConstructionError: If it has a layer norm.
    """
    require_unrollable(transformer)
    transformer.require_no_layer_norm("an unrolled program has none: replace norms of a single number by steps")
    unrolling = _Unrolling(transformer)
    for block in transformer.blocks:
        unrolling.block(block)
    unrolling.name_shared_sums(transformer.unembedding)
    logits = unrolling.read(transformer.unembedding)
    return UnrolledProgram(tuple(unrolling.atoms), tuple(unrolling.heads), logits, len(transformer.vocabulary))


def require_unrollable(transformer: Transformer) -> None:
    """Check that a transformer can decode, and that its loops can be unrolled at an affordable cost.

    Raises:
        UsageError: If the transformer is not causal or needs the length.
        TooExpensiveError: If its loops have too many iterations, and the cost was not approved.
    """
    if not transformer.is_causal:
        raise UsageError(f"{transformer.name!r} looks ahead or needs the length, so it cannot decode token by token")
    depth = transformer.depth(None)
    what = f"unfolding {transformer.name!r} to {pluralize(depth, 'layer')}"
    require_affordable(Estimate(what, depth * LAYER_SECONDS, depth * LAYER_BYTES))


class _Unrolling(Lifter):
    """A lifter that unrolls loops, numbers the atoms, and names no coordinates."""

    def __init__(self, weights: Transformer) -> None:
        self.atoms: list[Atom] = []
        self.heads: list[UnrolledHead] = []
        self.features: dict[Feature, Affine] = {}
        self.layer_name = ""
        self.layer_count = self.unrolled_count = 0
        """The number of layers so far, with those of loops counted once, and once per iteration."""
        super().__init__(weights)

    def atom(self, node: Node, component: int = 0) -> Affine:
        """A new atom."""
        self.atoms.append((node, component))
        return Affine({self.atoms[-1]: ONE})

    def position(self, feature: Feature) -> Affine:
        """A position feature as a form over plain features."""
        terms, constant = feature.affine_expansion
        for _, plain in terms:
            if plain not in self.features:
                self.features[plain] = super().position(plain)
                self.atoms += self.features[plain].terms
        return Affine.combine(((factor, self.features[plain]) for factor, plain in terms), constant)

    def block(self, block: Block) -> None:
        """Apply a block, iteration by iteration."""
        iterations = block.iterations(None)
        for iteration in range(1, iterations + 1):
            for number, layer in enumerate(block.layers, self.layer_count + 1):
                self.layer_name = f"layer {number}" + (f", turn {iteration}" if iterations > 1 else "")
                self.layers([layer])
                self.unrolled_count += 1
        self.layer_count += len(block.layers)

    def head(self, head: Head) -> Attention:
        """A head without the components of query and key that add the same to all scores."""
        node = super().head(head)
        pairs = [pair for pair in zip(node.query, node.key, strict=True) if not pair[0].is_zero and pair[1].terms]
        query, key = (tuple(pair[k] for pair in pairs) for k in (0, 1))
        reduced = vars(node) | {"query": query, "key": key}
        self.heads.append(UnrolledHead(**reduced, number=len(self.heads), layer=self.layer_name, full_key=node.key))
        return self.heads[-1]

    def retrieved(self, node: Attention) -> list[Affine]:
        """Atoms; the mean of a constant is the constant, unless the first position attends to nothing."""
        is_nonempty = node.mask is Mask.CAUSAL
        return [
            form if is_nonempty and not form.terms else self.atom(node, component)
            for component, form in enumerate(node.value)
        ]

    def hidden_units(self, forward: FeedForward) -> HiddenUnits:
        """The units of a sublayer; those that depend only on the token as token tables."""
        outputs = []
        units = zip(forward.units, forward.activations, self.read(forward.first), strict=True)
        for number, (name, activation, form) in enumerate(units):
            if form.other_terms:
                node = UnrolledUnit(name, (REALS,), (form,), activation, layer=self.unrolled_count, number=number)
                outputs.append(self.atom(node))
            else:
                values = {token: activate(activation, form.at_token(token)) for token in form.token_terms}
                outputs.append(self.token_function(values, activate(activation, form.constant)))
        return HiddenUnits(outputs, {})

    def view(self, coordinate: int) -> Affine:
        """The content of a coordinate, without a name."""
        content = self.stream[coordinate]
        if content.view is None:
            content.view = content.form
        return content.view

    def name_shared_sums(self, affine: AffineMap) -> None:
        """Name the coordinates that are long sums and that several rows read, so that each sum is computed once."""
        readers = Counter(c for row in affine.weight.rows for c, _ in row)
        for coordinate, count in sorted(readers.items()):
            form = self.view(coordinate)
            if count > 1 and count * len(form.terms) > MAX_INLINED_TERMS:
                node = Named(self.weights.coordinates[coordinate], (REALS,), (form,))
                self.stream[coordinate].view = self.atom(node)
