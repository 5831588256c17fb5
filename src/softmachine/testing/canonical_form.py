"""Canonical forms of programs by structural hashing: equal up to names, token tables and named nodes.

Named nodes are inlined, token tables written in one basis (the indicators of all tokens but the first), equal nodes
merged, ``ReLU(-g)`` is ``ReLU(g) - g``, and carried numbers that no iteration of a loop changes are their initial
values. Two programs with equal canonical forms compute the same logits.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence, Set
from fractions import Fraction

from softmachine.ir.primitives import Attention, Carried, Loop, Named, Norm, Position, Token, Unit
from softmachine.ir.signal import Affine, Atom, Node, topological_order

Form = tuple[frozenset[tuple[int, Fraction]], Fraction]
"""A linear combination of hashed atoms, and a constant."""
_Terms = tuple[dict[int, Fraction], Fraction]


class StructuralHash:
    """A table of all atoms met so far; programs hashed with the same table can be compared.

    Args:
        vocabulary: The tokens of the programs.
    """

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self.vocabulary = vocabulary
        self._identifiers: dict[Hashable, int] = {}

    def of(self, logits: Iterable[Affine]) -> tuple[Form, ...]:
        """The canonical form of some logits."""
        forms = tuple(logits)
        nodes, unchanged = list(topological_order(forms)), set[Atom]()
        while True:
            program = _ProgramHash(self, nodes, unchanged)
            if program.unchanged == unchanged:
                return program.of(forms)
            unchanged = program.unchanged

    def identify(self, key: Hashable) -> int:
        """The identifier of a key, the same whenever it is met."""
        return self._identifiers.setdefault(key, len(self._identifiers))

    def __len__(self) -> int:
        return len(self._identifiers)


class _ProgramHash:
    """The canonical forms of the atoms of one program.

    Args:
        table: The table of all atoms.
        nodes: The nodes, in topological order.
        unchanged: Carried numbers that no iteration changes.
    """

    def __init__(self, table: StructuralHash, nodes: Sequence[Node], unchanged: Set[Atom]) -> None:
        self.table = table
        self.loops = {node.carried: node for node in nodes if isinstance(node, Loop)}
        self.unchanged = set(unchanged)
        self.atoms: dict[Atom, _Terms] = {}
        for node in nodes:
            self.atoms |= {(node, k): terms for k, terms in enumerate(self.node(node))}

    def of(self, forms: Iterable[Affine]) -> tuple[Form, ...]:
        return tuple(map(self.form, forms))

    def form(self, form: Affine) -> Form:
        terms, constant = self.terms(form)
        return frozenset(terms.items()), constant

    def terms(self, form: Affine) -> _Terms:
        terms: dict[int, Fraction] = {}
        constant = form.constant
        for atom, factor in form.terms.items():
            own, fixed = self.atoms[atom]
            constant += factor * fixed
            for key, value in own.items():
                terms[key] = terms.get(key, Fraction(0)) + factor * value
        return {key: value for key, value in terms.items() if value}, constant

    def atom(self, *key: Hashable) -> _Terms:
        return {self.table.identify(key): Fraction(1)}, Fraction(0)

    def node(self, node: Node) -> Iterable[_Terms]:
        width = range(len(node.ranges))
        match node:
            case Token():
                return map(self.column, zip(*map(node.row, self.table.vocabulary), strict=True))
            case Position():
                return [self.atom("feature", node.feature)]
            case Norm():
                key = self.of(node.forms)
                return (self.atom("norm", key, k) for k in width)
            case Unit():
                return (self.unit(node.activation, self.form(form)) for form in node.forms)
            case Named():
                return map(self.terms, node.forms)
            case Attention():
                head = self.head(node)
                return (self.atom(*head, self.form(value)) for value in node.value)
            case Carried():
                return self.carried(node)
            case Loop():
                return self.loop(node)
        raise TypeError(f"no canonical form of {node!r}")

    def carried(self, node: Carried) -> Iterable[_Terms]:
        """The numbers that a loop carries; those that it does not change are their initial values.

        Loops do not nest, so that a carried number belongs to one loop.
        """
        initial = self.loops[node].initial
        changed = [k for k in range(len(initial)) if (node, k) not in self.unchanged]
        for k, form in enumerate(initial):
            yield self.atom("carried", changed.index(k)) if k in changed else self.terms(form)

    def loop(self, node: Loop) -> Iterable[_Terms]:
        """The numbers after the last iteration."""
        carried, body = list(self.carried(node.carried)), list(map(self.terms, node.body))
        changed = [k for k in range(len(body)) if (node.carried, k) not in self.unchanged]
        self.unchanged |= {(node.carried, k) for k in changed if body[k] in (carried[k], self.terms(node.initial[k]))}
        initial, last = (self.of(forms[k] for k in changed) for forms in (node.initial, node.body))
        key = (node.iterations, initial, last)
        for k, before in enumerate(carried):
            yield self.atom("loop", *key, changed.index(k)) if k in changed else before

    def column(self, values: Sequence[Fraction]) -> _Terms:
        """A number for each token: that of the first token, and the differences from it."""
        first, *_ = values
        pairs = zip(self.table.vocabulary, values, strict=True)
        terms = {self.table.identify(("token", token)): value - first for token, value in pairs if value != first}
        return terms, first

    def unit(self, activation: str, form: Form) -> _Terms:
        terms, constant = form
        if not terms:
            return {}, max(constant, Fraction(0)) if activation == "relu" else Fraction(constant >= 0)
        if activation != "relu" or min(terms)[1] > 0:
            return self.atom(activation, form)
        negative = (frozenset((key, -value) for key, value in terms), -constant)
        unit, _ = self.atom(activation, negative)
        return dict(terms) | unit, constant

    def head(self, node: Attention) -> tuple[Hashable, ...]:
        empty = (frozenset[tuple[int, Fraction]](), Fraction(0))
        pairs = [pair for pair in zip(self.of(node.query), self.of(node.key), strict=True) if empty not in pair]
        numbered = sorted(tuple(map(self.table.identify, pair)) for pair in pairs)
        return "head", tuple(numbered), node.mask, node.weighting, node.bias
