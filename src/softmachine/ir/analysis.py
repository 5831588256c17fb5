"""Analysis: facts about all numbers of a program, and about the scores of its heads, for inputs up to a length.

One walk from the tokens to the logits (abstract interpretation). A form is a sum of facts; a form with hidden units is
enumerated box by box (:mod:`.piecewise`), over named numbers where it contains all of one; what the token and the
position decide is tabulated (:mod:`.function_tables`). Heads are judged by the rules of :mod:`.head_rules`.

What an author declares of a head is a *hint*. The gap, the decay and that keys that tie hold equal values are derived;
what a hint claims beyond that is an assumption, and the fact about the head names it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import count, product
from math import ceil, floor

import numpy as np
from numpy.typing import NDArray

from softmachine.ir.domain import Domain
from softmachine.ir.facts import INFINITY, MAX_VALUES, ONE, ZERO, Fact, Step, sum_facts
from softmachine.ir.first_position import FirstPosition
from softmachine.ir.function_tables import FunctionTables, placed_rows, token_rows
from softmachine.ir.head_rules import HeadFact, adopt_hint, judge
from softmachine.ir.piecewise import MAX_BOXES, Guard, PiecewiseForm, TooManyBoxesError, enumerate_boxes
from softmachine.ir.position_functions import PositionFunction
from softmachine.ir.primitives import (
    Attention,
    Loop,
    Named,
    Norm,
    Position,
    Token,
    Unit,
    inputs_outside_loops,
)
from softmachine.ir.program import Program
from softmachine.ir.ranges import REALS
from softmachine.ir.signal import Affine, Atom, Node, topological_order
from softmachine.transformer.attention import Mask
from softmachine.transformer.features import RECIPROCAL, Feature, Monomial

Key = tuple[frozenset[tuple[Atom, Fraction]], Fraction]
MAX_LOOP_PASSES = 4
"""Passes through the body of a loop before the facts of what it carries are widened."""


@dataclass
class Analysis:
    """Facts about a program.

    Args:
        program: The program.
        domain: The sequences that it reads.
        length: Facts hold for inputs with at most this n.
        hints: What the author declares of heads, by their names; the gaps of hints that are derived are used, since
            larger ones have no use.
    """

    program: Program
    domain: Domain
    length: int
    hints: Mapping[str, Attention] = field(default_factory=dict)
    heads: dict[Attention, HeadFact] = field(default_factory=dict)
    facts: dict[Atom, Fact] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.positions = self.program.position_count or self.length + 1
        fixed = self.length if self.program.position_count else None
        self.functions: dict[Atom, PositionFunction] = {}
        """What the position alone decides at every length."""
        self.by_token = FunctionTables(token_rows(self.domain), fixed, functions=self.functions)
        self.best_keys: dict[Attention, list[NDArray[np.intp]]] = {}
        self.by_place = FunctionTables(placed_rows(self.domain, self.positions), fixed, self.best_keys)
        self.first = FirstPosition(self)
        self.placed_values: dict[Atom, list[tuple[Fraction, ...]]] = {}
        """The values at each position of means over keys whose number depends on the position."""
        self.order: dict[Node, int] = {}
        self.tied: dict[object, Attention] = {}
        """A head for each way of scoring keys: heads that score them alike have the same number of best keys."""
        self.reciprocals: dict[Atom, Affine] = {}
        """Means, as forms over what is equal to 1/(i+1), or to 1/c for a number c of keys that tie."""
        self.reciprocal = Position(RECIPROCAL.name, (REALS,), RECIPROCAL)
        self.facts[self.reciprocal, 0] = self.of_feature(RECIPROCAL)
        self._visited: set[Node] = set()
        self._forms: dict[Key, Fact] = {}
        self._pieces: dict[Key, PiecewiseForm | None] = {}
        self._named: defaultdict[Atom, list[Named]] = defaultdict(list)

    @property
    def is_padded(self) -> bool:
        """Whether the number of positions is fixed."""
        return self.program.position_count is not None

    def follow(self, forms: Iterable[Affine]) -> None:
        """Find the facts of all nodes that forms depend on."""
        for node in topological_order(forms, inputs_outside_loops, self._visited):
            self.visit(node)

    def visit(self, node: Node) -> None:
        """Find the facts of a node whose inputs have been visited."""
        self._visited.add(node)
        self.order[node] = len(self.order)
        match node:
            case Token():
                self.by_token.has(node)
            case Position():
                function = None if self.is_padded else PositionFunction.of_feature(node.feature)
                if function is not None:
                    self.functions[node, 0] = function
                fact = None if function is None else function.fact(self.positions)
                self.facts[node, 0] = fact or self.of_feature(node.feature)
            case Attention():
                self.attention(node)
            case Loop():
                self.loop(node)
            case Named():
                for k, form in enumerate(node.forms):
                    self.facts[node, k] = self.of(form, node)
                    if (function := self.function(form)) is not None:
                        self.functions[node, k] = function
                    for atom in form.terms:
                        if not isinstance(atom[0], Token):
                            self._named[atom].append(node)
            case Unit():
                for k, form in enumerate(node.forms):
                    self.facts[node, k] = self.of_unit(node, form)
                    function = None if isinstance(node, Norm) else self.function(form)
                    if function is not None and (unit := function.apply(node.activation)) is not None:
                        self.functions[node, k] = unit
                        self.facts[node, k] = unit.fact(self.positions) or self.facts[node, k]
        if not self.is_padded:
            self.first.visit(node)

    def of_unit(self, node: Unit, form: Affine) -> Fact:
        """What is known of a hidden unit."""
        if isinstance(node, Norm) and len(node.forms) > 1:
            return Fact(Fraction(-len(node.forms)), Fraction(len(node.forms)))
        if node.activation != "relu":
            return Fact.of([-ONE, ZERO, ONE] if isinstance(node, Norm) else [ZERO, ONE])
        fact = self.of(form)
        if fact.values is not None:
            return Fact.of(max(value, ZERO) for value in fact.values)
        return Fact(max(fact.low, ZERO), max(fact.high, ZERO), fact.step, fact.step)

    def of_feature(self, feature: Feature) -> Fact:
        """What is known of a position feature, at all positions of all lengths."""
        fixed = self.program.position_count is not None
        exact = Fact.of(feature.at(i, self.length) for i in range(self.positions)) if fixed else None
        if isinstance(feature, Monomial):
            fact = _monomial_fact(feature, self.positions - 1)
            if exact is None or (exact.values is not None and fact.step is not None and fact.step.is_constant):
                return exact or fact
            step, difference = fact.step or exact.step, fact.difference or exact.difference
            return replace(fact, low=exact.low, high=exact.high, step=step, difference=difference)
        if exact is not None:
            return exact
        low, high = feature.low.at(self.positions), feature.high.at(self.positions)
        if feature.denominator == "1":
            if high - low <= 2:
                return Fact.of(map(Fraction, range(int(low), int(high) + 1)))
            return Fact(low, high, Step(ONE), Step(ONE))
        step = Step(ONE, next=1) if feature.denominator == "i+1" else None
        return Fact(low, high, step, step)

    # Forms.

    def of(self, form: Affine, own: Named | None = None) -> Fact:
        """What is known of a form; ``own`` is the node that it defines, if any."""
        key = (frozenset(form.terms.items()), form.constant)
        if key not in self._forms:
            function = self.function(form)
            exact = None if function is None else function.fact(self.positions)
            base = self._forms[key] = exact or self.sum(form)
            if exact is None and self.is_worth_enumerating(form, base):
                pieces = self._pieces[key] = self.pieces(form, own)
                if pieces is not None and len(pieces.points):
                    found = pieces.fact()
                    if pieces.other.terms:
                        found = sum_facts([(ONE, found), (ONE, self.sum(pieces.other))], ZERO)
                    self._forms[key] = found.narrow(base)
        return self._forms[key]

    def is_worth_enumerating(self, form: Affine, base: Fact) -> bool:
        """Whether boxes can show more of a form than the sum of its terms."""
        units = any(isinstance(node, Unit) and node.activation == "relu" for node, _ in form.terms)
        several = len({node for node, _ in form.terms}) > 1
        return not base.is_constant and (units or (several and base.values is not None))

    def sum(self, form: Affine) -> Fact:
        """What the terms of a form show; what the token decides is exact."""
        tokens = {atom: factor for atom, factor in form.terms.items() if isinstance(atom[0], Token)}
        parts = [(factor, self.facts[atom]) for atom, factor in form.terms.items() if atom not in tokens]
        if tokens:
            parts.append((ONE, Fact.of(self.by_token.column(Affine(tokens)).distinct())))
        base = sum_facts(parts, form.constant)
        if base.values is None and self.by_place.has_form(form):
            exact = Fact.of(self.by_place.column(form).distinct())
            if exact.values is not None and (base.step is None or base.step.is_constant):
                return exact
            return Fact(exact.low, exact.high, base.step, base.difference)
        return base

    def split_local(self, form: Affine) -> tuple[Affine, Affine]:
        """What the token, and whether the position is 0, decide of a form, without the constant; and the rest."""
        local = Affine({atom: f for atom, f in form.terms.items() if self.by_token.has(atom[0])})
        return local, form + local * -ONE

    def function(self, form: Affine) -> PositionFunction | None:
        """The form as a function of the position, if it is one; tokens count where only the first one matters."""
        known = all(atom in self.functions or self.by_token.has(atom[0]) for atom in form.terms)
        if self.is_padded or not form.terms or not known:
            return None
        local, rest = self.split_local(form)
        parts = [(factor, self.functions[atom]) for atom, factor in rest.terms.items()]
        values = [self.by_token.values(local, start=start) for start in (True, False)]
        if max(map(len, values)) > 1:
            return None
        first, later = (value for found in values for value in found or {ZERO})
        return PositionFunction.sum([*parts, (ONE, PositionFunction((first,), ((later, ZERO, ZERO),)))], form.constant)

    def piecewise(self, form: Affine) -> PiecewiseForm | None:
        """The boxes of a form that has been analysed; None if it has none."""
        self.of(form)
        return self._pieces.get((frozenset(form.terms.items()), form.constant))

    def pieces(self, form: Affine, own: Named | None) -> PiecewiseForm | None:
        """The boxes of a form; None if it has several infinite variables, or too many boxes."""
        form = self.absorb(form, own)
        units = [atom for atom in form.terms if isinstance(atom[0], Unit) and atom[0].activation == "relu"]
        pre = [atom[0].forms[atom[1]] for atom in units if isinstance(atom[0], Unit)]
        rest = Affine({atom: factor for atom, factor in form.terms.items() if atom not in units}, form.constant)
        forms = [rest, *pre]
        variables = [a for a in dict.fromkeys(a for f in forms for a in f.terms) if not isinstance(a[0], Token)]
        tables = self.by_place if any(map(self.is_tabulated, variables)) else self.by_token
        local = {a for f in forms for a in f.terms if isinstance(a[0], Token) or self.is_tabulated(a)}
        free = [a for a in variables if a not in local]
        finite = {a: values for a in free if (values := self.facts[a].values) is not None}
        infinite = [a for a in free if a not in finite]
        parts = [Affine({a: factor for a, factor in f.terms.items() if a in local}) for f in forms]
        placed = [a for a in infinite if a in self.placed_values]
        split = self.find_line(forms, [a for a in infinite if a not in self.placed_values])
        if split is None:
            return None
        line, other = split
        weights = [form.terms[atom] for atom in units]
        try:
            signatures = self.place_values(parts, placed, forms) if placed else tables.distinct(parts)
            return enumerate_boxes(forms, weights, signatures, finite, self.guards(finite), line, other)
        except TooManyBoxesError:
            return None

    def place_values(
        self, parts: Sequence[Affine], placed: Sequence[Atom], forms: Sequence[Affine]
    ) -> set[tuple[Fraction, ...]]:
        """The values of forms in each row of a position and a token, for all values of some atoms at the position."""
        columns = [self.by_place.column(part).fractions() for part in parts]
        found = set()
        for row, base in zip(self.by_place.rows, zip(*columns, strict=True), strict=True):
            for choice in product(*(self.placed_values[atom][row.position or 0] for atom in placed)):
                added = zip(placed, choice, strict=True)
                terms = [(atom, value) for atom, value in added if value]
                found.add(
                    tuple(
                        x + sum((form.terms.get(atom, ZERO) * value for atom, value in terms), ZERO)
                        for x, form in zip(base, forms, strict=True)
                    )
                )
                if len(found) > MAX_BOXES:
                    raise TooManyBoxesError
        return found

    def is_tabulated(self, atom: Atom) -> bool:
        """Whether an atom has few values, which position and token decide."""
        return not isinstance(atom[0], Token) and self.by_place.has(atom[0]) and self.facts[atom].values is not None

    def find_line(
        self, forms: Sequence[Affine], infinite: Sequence[Atom]
    ) -> tuple[tuple[Fact, list[Fraction]] | None, Affine] | None:
        """The form of which the infinite part of every pre-activation is a multiple, and these multiples.

        Also the infinite part of the rest, if that is no multiple. None if there is no such form.
        """
        chosen = set(infinite)
        rest, *parts = ({a: factor for a, factor in form.terms.items() if a in chosen} for form in forms)
        lead = next((part for part in parts if part), None)
        if lead is None:
            return None, Affine(rest)
        first = next(iter(lead))
        unit = {atom: factor / lead[first] for atom, factor in lead.items()}
        multiples = []
        for part in (rest, *parts):
            multiple = part.get(first, ZERO)
            if part == {atom: multiple * factor for atom, factor in unit.items() if multiple}:
                multiples.append(multiple)
            elif part is rest:
                multiples.append(ZERO)
            else:
                return None
        other = Affine({} if multiples[0] or not rest else rest)
        line = self.sum(Affine(unit)) if len(unit) > 1 else self.facts[first]
        return None if line.size == INFINITY else ((line, multiples), other)

    def absorb(self, form: Affine, own: Named | None) -> Affine:
        """Write a form over named numbers, where it contains all of one."""
        limit = self.order.get(own, len(self.order)) if own is not None else len(self.order)
        candidates = {node for atom in form.terms for node in self._named.get(atom, ()) if self.order[node] < limit}
        for node in sorted(candidates, key=lambda node: (-len(node.forms[0].terms), -self.order[node])):
            own_terms = [(a, factor) for a, factor in node.forms[0].terms.items() if not isinstance(a[0], Token)]
            atom, factor = own_terms[0]
            multiple = form.terms.get(atom, ZERO) / factor
            if multiple and all(form.terms.get(a) == multiple * f for a, f in own_terms):
                form = form + node.forms[0] * -multiple + Affine({(node, 0): multiple})
        return form

    def guards(self, finite: Iterable[Atom]) -> list[Guard]:
        """Bounds of the sums of bits that one head retrieves or that are named as components of one vector."""
        groups: defaultdict[object, list[Atom]] = defaultdict(list)
        for atom in finite:
            node, _ = atom
            if self.facts[atom].is_bit and isinstance(node, Attention | Named):
                vector = node.name.rpartition("[")[0]
                if isinstance(node, Attention) or vector:
                    groups[node if isinstance(node, Attention) else vector].append(atom)
        found = []
        for group, atoms in groups.items():
            if len(atoms) > 1:
                fact = self.of_retrieved_sum(group, atoms) if isinstance(group, Attention) else self.of_named_sum(atoms)
                if fact.high < len(atoms) or fact.low > 0:
                    found.append(Guard(frozenset(atoms), fact.low, fact.high))
        return found

    def of_retrieved_sum(self, head: Attention, atoms: Sequence[Atom]) -> Fact:
        """What is known of a sum of components that a head retrieves: as of the sum of its values."""
        fact = self.of(Affine.sum(head.value[k] for _, k in atoms))
        return fact.join(Fact.of([ZERO])) if head.mask in (Mask.PAST, Mask.FUTURE) else fact

    def of_named_sum(self, atoms: Sequence[Atom]) -> Fact:
        """What is known of a sum of named numbers, from what they are sums of."""
        form = Affine.sum(node.forms[k] for node, k in atoms if isinstance(node, Named))
        key = (frozenset(form.terms.items()), form.constant)
        if key not in self._forms:
            base = self._forms[key] = self.sum(form)
            first = min((node for node, _ in atoms if isinstance(node, Named)), key=self.order.__getitem__)
            pieces = self.pieces(form, first)
            if pieces is not None and len(pieces.points) and not pieces.other.terms:
                self._forms[key] = pieces.fact().narrow(base)
        return self._forms[key]

    # Heads.

    def attention(self, node: Attention) -> None:
        """Judge a head, and find the facts of what it retrieves."""
        head = judge(self, node)
        if node.name in self.hints and head.rule != "uniform":
            head = adopt_hint(head, self.hints[node.name])
        self.heads[node] = head
        single = head.single_key or node.weighting.is_unique_hard
        for k, form in enumerate(node.value):
            self.reciprocals.pop((node, k), None)
            value = self.of(form)
            if head.rule == "uniform" and not node.weighting.is_unique_hard:
                fact = self.of_mean(node, form, value, k)
            elif single:
                fact = _retrieved(value, node)
            elif value.is_constant:
                fact = value
            else:
                fact = self.of_tied(node, form, value, k)
            if node.mask in (Mask.PAST, Mask.FUTURE):
                fact = fact.join(Fact.of([ZERO]))
            self.facts[node, k] = fact

    def of_tied(self, node: Attention, form: Affine, value: Fact, k: int) -> Fact:
        """What is known of a mean over the keys that tie.

        **Lemma (count).** If the value is 1 at position 0 and 0 elsewhere, and position 0 is always among the best
        keys, the mean over the c keys that tie is 1/c. Under the mask j < i this holds from position 1 on, and the sum
        of the mean and the value at the query is 1/c with c = 1 at position 0.
        """
        pairs = Counter((_key_of(query), _key_of(key)) for query, key in zip(node.query, node.key, strict=True))
        head = self.tied.setdefault((node.mask, node.bias, frozenset(pairs.items())), node)
        step, function = value.step, self.function(form)
        whole = step is not None and step.is_same_at_all_positions
        share = Step(step.factor, length=step.length, counts=frozenset([head])) if step and whole else None
        if step is not None and step.is_constant and node in self.best_keys:
            self.place_mean((node, k), value, step.factor)
        if function is None or not function.is_start or not self.first.is_best(node):
            return Fact(value.low, value.high, share, share)
        fact = Fact(Fraction(1, self.positions), ONE, share, share, exact=share)
        if node.mask is Mask.PAST:
            reciprocal = Node(f"1/{node.label(k)}", (REALS,))
            self.facts[reciprocal, 0] = fact
            self.reciprocals[node, k] = Affine({(reciprocal, 0): ONE}) + form * -ONE
        return fact

    def place_mean(self, atom: Atom, value: Fact, step: Fraction) -> None:
        """List the values of a mean over tied keys at each position, if they are few."""
        counts = [len(keys) for keys in self.best_keys[atom[0]]] if isinstance(atom[0], Attention) else []
        if not step or (value.high - value.low) / step * max(counts, default=0) > MAX_VALUES:
            return
        self.placed_values[atom] = [
            tuple(x * step / n for x in range(ceil(value.low / step * n), floor(value.high / step * n) + 1))
            if n
            else (ZERO,)
            for n in counts
        ]

    def of_mean(self, node: Attention, form: Affine, value: Fact, k: int) -> Fact:
        """What is known of a mean over all visible keys."""
        if value.is_constant:
            return value
        function = self.function(form) if node.mask is Mask.CAUSAL else None
        if function is not None and (mean := function.mean()) is not None:
            self.functions[node, k] = mean
            if mean.reciprocal is not None:
                constant, factor = mean.reciprocal
                self.reciprocals[node, k] = Affine({(self.reciprocal, 0): factor} if factor else {}, constant)
            return mean.fact(self.positions) or value
        step = value.step
        if step is None or not step.is_same_at_all_positions:
            return Fact(value.low, value.high)
        match node.mask:
            case Mask.CAUSAL:
                share = Step(step.factor, next=1, length=step.length)
            case Mask.ALL if self.program.position_count is None:
                share = Step(step.factor, length=step.length + 1)
            case Mask.ALL:
                share = Step(step.factor / self.positions, length=step.length)
            case Mask.ANTICAUSAL if self.program.position_count is None:
                share = Step(step.factor, length=step.length, rest=1)
            case _:
                share = Step(step.factor, length=step.length, counts=frozenset([node]))
        return Fact(value.low, value.high, share, share)

    # Loops.

    def loop(self, node: Loop) -> None:
        """Facts of what a loop carries that hold at the beginning of every iteration."""
        carried = [self.of(form) for form in node.initial]
        visited, order = set(self._visited), dict(self.order)
        forms, pieces, facts = dict(self._forms), dict(self._pieces), dict(self.facts)
        named = {atom: list(nodes) for atom, nodes in self._named.items()}
        heads = dict(self.heads)
        for turn in count():
            self._visited, self.order = set(visited), dict(order)
            self._forms, self._pieces, self.facts = dict(forms), dict(pieces), dict(facts)
            self._named = defaultdict(list, {atom: list(nodes) for atom, nodes in named.items()})
            self.heads = dict(heads)
            self._visited.add(node.carried)
            self.order[node.carried] = len(self.order)
            self.facts |= {(node.carried, k): fact for k, fact in enumerate(carried)}
            self.follow(node.body)
            joined = [before.join(self.of(form)) for before, form in zip(carried, node.body, strict=True)]
            if joined == carried:
                break
            if turn >= MAX_LOOP_PASSES:
                joined = [new if new == old else _widen(new) for old, new in zip(carried, joined, strict=True)]
            carried = joined
        self.facts |= {(node, k): fact for k, fact in enumerate(carried)}


def _widen(fact: Fact) -> Fact:
    """No bounds; a step only if it is an integer everywhere."""
    whole = fact.step is not None and fact.step.is_constant and fact.step.factor.denominator == 1
    step = Step(ONE) if whole else None
    return Fact(-INFINITY, INFINITY, step, step)


def _key_of(form: Affine) -> Key:
    """A form as a key of dictionaries."""
    return frozenset(form.terms.items()), form.constant


def _retrieved(fact: Fact, head: Attention) -> Fact:
    """What is known of a value that a head retrieves from one of the keys that tie.

    Steps that depend on the position are dropped, but 1/(i+1) becomes 1/c for the number c of positions up to this key.
    """

    def keep(step: Step | None) -> Step | None:
        if step is None or step.is_same_at_all_positions:
            return step
        moved = replace(step, next=0, counts=step.counts | {head})
        return moved if step.next == 1 and not step.rest and not step.counts else None

    return Fact(fact.low, fact.high, keep(fact.step), keep(fact.difference), fact.values, keep(fact.exact))


def _monomial_fact(feature: Monomial, last: int) -> Fact:
    """What is known of factor · i^a (i+1)^b n^c (n+1)^d (n-i+1)^e for 0 ≤ i ≤ n ≤ last.

    Since i, i+1 and n-i+1 are at most n+1, their powers and those of 1/(n+1) cancel in the upper bound.
    """
    rising = max(feature.i, 0) + max(feature.next, 0) + max(feature.rest, 0) + max(feature.n, 0)
    degree = rising + feature.length
    high = feature.factor * Fraction(last + 1) ** max(degree, 0)
    falling = -sum(min(power, 0) for power in (feature.i, feature.next, feature.n, feature.length, feature.rest))
    is_zero = max(feature.i, 0) + max(feature.n, 0) > 0
    low = ZERO if is_zero else feature.factor / Fraction(last + 1) ** falling
    if degree > 0 and not falling and not feature.length and not feature.rest and not feature.next:
        high = feature.factor * Fraction(last) ** rising
    step = None
    if min(feature.i, feature.n) >= 0:
        step = Step(feature.factor, max(-feature.next, 0), max(-feature.length, 0), max(-feature.rest, 0))
    exact = None if feature.i or feature.n else Step(feature.factor, -feature.next, -feature.length, -feature.rest)
    return Fact(low, high, step, step, exact=exact)
