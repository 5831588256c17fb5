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
from operator import mul

import numpy as np
from numpy.typing import NDArray

from softmachine.ir.domain import Domain
from softmachine.ir.facts import INFINITY, MAX_VALUES, ONE, ZERO, Fact, Step, sum_facts
from softmachine.ir.function_tables import (
    Column,
    FunctionTables,
    Row,
    Table,
    placed_rows,
    stack_columns,
    token_rows,
)
from softmachine.ir.guards import RowBounds, find_guards
from softmachine.ir.piecewise import MAX_BOXES, PiecewiseForm
from softmachine.ir.primitives import (
    Attention,
    Loop,
    Named,
    Norm,
    Position,
    ScoreDecay,
    Token,
    Unit,
    inputs_outside_loops,
)
from softmachine.ir.program import Program
from softmachine.ir.ranges import REALS
from softmachine.ir.signal import Affine, Atom, Node, topological_order
from softmachine.transformer.attention import Mask
from softmachine.transformer.features import RECIPROCAL, Feature, Monomial

NOTHING = Affine({})
Key = tuple[frozenset[tuple[Atom, Fraction]], Fraction]
MAX_LOOP_PASSES = 4
"""Passes through the body of a loop before the facts of what it carries are widened."""


@dataclass(frozen=True)
class HeadFact:
    """What is proved of the scores of a head.

    Args:
        rule: The rule; "uniform" if all keys have one score, "none" if none applies.
        gap: Other scores are at least this much below the best; None if nothing is known.
        single_key: Whether keys that tie for the best score hold equal values.
        decay: How the other scores decay.
        unique: Whether only one key has the best score.
        index: Of a lookup, a form with the sign of the position that it asks for.
        assumptions: What is not derived, but claimed by a hint: "gap", "single key", "decay".
        reason: Why nothing is known.
    """

    rule: str
    gap: Fraction | Monomial | None = None
    single_key: bool = False
    decay: ScoreDecay = ScoreDecay.FLAT
    unique: bool = False
    index: Affine | None = None
    assumptions: tuple[str, ...] = ()
    reason: str = ""


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
        self.by_token = FunctionTables(token_rows(self.domain), fixed)
        self.best_keys: dict[Attention, list[NDArray[np.intp]]] = {}
        self.by_place = FunctionTables(placed_rows(self.domain, self.positions), fixed, self.best_keys)
        self.at_start = FunctionTables([Row(0, token) for token in sorted(self.domain.first)], fixed)
        self.bounds: tuple[dict[Node, list[RowBounds | None]], ...] = ({}, {})
        """Bounds in each row of the tables by token and by place."""
        self.placed_values: dict[Atom, list[tuple[Fraction, ...]]] = {}
        """The values at each position of means over keys whose number depends on the position."""
        self.order: dict[Node, int] = {}
        self.shares_of_start: set[Atom] = set()
        """What is 1/c, for the number c of keys that tie in a head, because the start token is one of them."""
        self.reciprocals: dict[Atom, Affine] = {}
        """Means that are a multiple of 1/(i+1) and a constant: of numbers that only the first token distinguishes."""
        self.reciprocal = Position(RECIPROCAL.name, (REALS,), RECIPROCAL)
        self._visited: set[Node] = set()
        self._forms: dict[Key, Fact] = {}
        self._pieces: dict[Key, PiecewiseForm | None] = {}
        self._named: defaultdict[Atom, list[Named]] = defaultdict(list)
        self._open: set[Key] = set()

    def run(self) -> Analysis:
        """Find the facts that the scores of heads need."""
        forms = self.program.logits.forms
        heads = [node for node in topological_order(forms) if isinstance(node, Attention)]
        if any(isinstance(node, Loop) for node in topological_order(forms)):
            self.follow(forms)
            return self
        self.follow([form for head in heads if _chooses(head) for form in head.inputs()])
        self.follow([Affine({(head, k): ONE}) for head in heads for k in range(len(head.value))])
        return self

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
                self.facts[node, 0] = self.of_feature(node.feature)
            case Attention():
                self.attention(node)
            case Loop():
                self.loop(node)
            case Named():
                for k, form in enumerate(node.forms):
                    self.facts[node, k] = self.of(form, node)
                    for atom in form.terms:
                        if not isinstance(atom[0], Token):
                            self._named[atom].append(node)
            case Unit():
                for k, form in enumerate(node.forms):
                    self.facts[node, k] = self.of_unit(node, form)

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
        key = form.key
        if key not in self._forms:
            base = self._forms[key] = self.sum(form)
            if self.is_worth_enumerating(form, base):
                pieces = self._pieces[key] = self.pieces(form, own)
                found = None if pieces is None else pieces.fact()
                if pieces is not None and found is not None:
                    parts = [(ONE, found), (ONE, self.sum(pieces.other))]
                    self._forms[key] = (sum_facts(parts, ZERO) if pieces.other.terms else found).narrow(base)
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

    def piecewise(self, form: Affine) -> PiecewiseForm | None:
        """The boxes of a form that has been analysed; None if it has none."""
        self.of(form)
        return self._pieces.get(form.key)

    def pieces(self, original: Affine, own: Named | None, *, partly: bool = False) -> PiecewiseForm | None:
        """The boxes of a form; None if it has several infinite variables, or too many boxes."""
        form = self.absorb(original, own, partly=partly)
        units = [atom for atom in form.terms if isinstance(atom[0], Unit) and atom[0].activation == "relu"]
        read = {atom for node, k in units if isinstance(node, Unit) for atom in node.forms[k].terms}
        units = [atom for atom in units if atom not in read or self.facts[atom].values is None]
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
            return None if partly else self.pieces(original, own, partly=True)
        line, slopes, other = split
        weights = [form.terms[atom] for atom in units]
        guards = find_guards(self, list(finite), tables)
        columns = [*map(tables.column, parts), *(guard.offset or tables.column(NOTHING) for guard in guards)]
        table = self.place_values(columns, placed, forms) if placed else stack_columns(columns)
        return table and PiecewiseForm(forms, weights, table, finite, guards, line, slopes, other)

    def place_values(self, columns: Sequence[Column], placed: Sequence[Atom], forms: Sequence[Affine]) -> Table | None:
        """The rows of columns for a position and a token, for all values of some atoms there; None if too many."""
        factors = [[form.terms.get(atom, ZERO) for atom in placed] for form in forms]
        factors += [[ZERO] * len(placed)] * (len(columns) - len(forms))
        found: set[tuple[Fraction, ...]] = set()
        for row, base in zip(self.by_place.rows, zip(*(c.fractions() for c in columns), strict=True), strict=True):
            for choice in product(*(self.placed_values[atom][row.position or 0] for atom in placed)):
                moved = (x + sum(map(mul, own, choice), ZERO) for x, own in zip(base, factors, strict=True))
                found.add(tuple(moved))
                if len(found) > MAX_BOXES:
                    return None
        return stack_columns([Column.of(values) for values in zip(*found, strict=True)])

    def is_tabulated(self, atom: Atom) -> bool:
        """Whether an atom has few values, which position and token decide."""
        return not isinstance(atom[0], Token) and self.by_place.has(atom[0]) and self.facts[atom].values is not None

    def find_line(
        self, forms: Sequence[Affine], infinite: Sequence[Atom]
    ) -> tuple[Fact | None, list[Fraction], Affine] | None:
        """What is known of the form of which the infinite part of every pre-activation is a multiple; these multiples.

        Also the infinite part of the rest, if that is no multiple. None if there is no such form.
        """
        chosen = set(infinite)
        rest, *parts = ({a: factor for a, factor in form.terms.items() if a in chosen} for form in forms)
        lead = next((part for part in parts if part), None)
        if lead is None:
            return None, [ZERO] * len(forms), Affine(rest)
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
        return None if line.size == INFINITY else (line, multiples, other)

    def absorb(self, form: Affine, own: Named | None, *, partly: bool = False) -> Affine:
        """Write a form over named numbers, where it contains all of one, or most if that makes it shorter."""
        limit = self.order.get(own, len(self.order)) if own is not None else len(self.order)
        candidates = {node for atom in form.terms for node in self._named.get(atom, ()) if self.order[node] < limit}
        for node in sorted(candidates, key=lambda node: (-len(node.forms[0].terms), -self.order[node])):
            terms = {a: factor for a, factor in node.forms[0].terms.items() if not isinstance(a[0], Token)}
            common = [atom for atom in terms if atom in form.terms]
            if len(common) < len(terms) and not (partly and 2 * len(common) > len(terms) + 1):
                continue
            ((multiple, cancelled),) = Counter(form.terms[a] / terms[a] for a in common).most_common(1)
            if cancelled == len(terms) or (partly and 1 + len(terms) - len(common) < cancelled):
                form = form + node.forms[0] * -multiple + Affine({(node, 0): multiple})
        return form

    # Heads.

    def attention(self, node: Attention) -> None:
        """Judge a head, and find the facts of what it retrieves."""
        from softmachine.ir.head_rules import adopt_hint, averages_start, judge

        head = judge(self, node)
        if node.name in self.hints and head.rule != "uniform":
            head = adopt_hint(self, head, self.hints[node.name])
        self.heads[node] = head
        single = head.single_key or node.weighting.is_unique_hard
        for k, form in enumerate(node.value):
            value = self.of(form)
            if head.rule == "uniform" and not node.weighting.is_unique_hard:
                fact = self.of_mean(node, form, value, k)
            elif single:
                fact = _moved(value)
            elif value.is_constant:
                fact = value
            else:
                step = value.step
                whole = step is not None and step.is_same_at_all_positions
                share = Step(step.factor, length=step.length, counts=frozenset([node])) if step and whole else None
                fact = Fact(value.low, value.high, share, share)
                if step is not None and step.is_constant and node in self.best_keys:
                    self.place_mean((node, k), value, step.factor)
                if share is not None and share.factor == 1 and averages_start(self, node, form):
                    self.shares_of_start.add((node, k))
                    fact = Fact(Fraction(1, self.positions), ONE, share, share)
            if node.mask in (Mask.PAST, Mask.FUTURE):
                fact = fact.join(Fact.of([ZERO]))
            self.facts[node, k] = fact

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
        found = self.values_by_first(form)
        if found is not None and node.mask is Mask.CAUSAL:
            first, later = found
            self.facts[self.reciprocal, 0] = self.of_feature(RECIPROCAL)
            self.reciprocals[node, k] = Affine({(self.reciprocal, 0): first - later}, later)
            fact = self.sum(self.reciprocals[node, k])
            return replace(fact, is_reciprocal=(first, later) == (ONE, ZERO))
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

    def values_by_first(self, form: Affine) -> tuple[Fraction, Fraction] | None:
        """The value at position 0 and the one at all later positions, if the token decides them."""
        if self.domain.placed is not None or not self.by_token.has_form(form):
            return None
        column = dict(
            zip((row.token for row in self.by_token.rows), self.by_token.column(form).fractions(), strict=True)
        )
        first = {column[token] for token in self.domain.first}
        later = {column[token] for token in self.domain.later}
        return (first.pop(), later.pop()) if len(first) == len(later) == 1 else None

    # Loops.

    def loop(self, node: Loop) -> None:
        """Facts of what a loop carries that hold at the beginning of every iteration."""
        carried = [self.of(form) for form in node.initial]
        visited, order = set(self._visited), dict(self.order)
        forms, pieces, facts = dict(self._forms), dict(self._pieces), dict(self.facts)
        named = {atom: list(nodes) for atom, nodes in self._named.items()}
        heads, bounds = dict(self.heads), tuple(map(dict, self.bounds))
        for turn in count():
            self._visited, self.order = set(visited), dict(order)
            self._forms, self._pieces, self.facts = dict(forms), dict(pieces), dict(facts)
            self._named = defaultdict(list, {atom: list(nodes) for atom, nodes in named.items()})
            self.heads, self.bounds = dict(heads), tuple(map(dict, bounds))
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


def _chooses(head: Attention) -> bool:
    return head.bias is not None or any(form.terms for form in head.key)


def _widen(fact: Fact) -> Fact:
    """No bounds; a step only if it is an integer everywhere."""
    whole = fact.step is not None and fact.step.is_constant and fact.step.factor.denominator == 1
    step = Step(ONE) if whole else None
    return Fact(-INFINITY, INFINITY, step, step)


def _moved(fact: Fact) -> Fact:
    """What is known at another position: not what depends on the position."""

    def keep(step: Step | None) -> Step | None:
        return step if step is not None and step.is_same_at_all_positions else None

    return Fact(fact.low, fact.high, keep(fact.step), keep(fact.difference), fact.values)


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
    is_reciprocal = feature in (Monomial(next=-1), Monomial(rest=-1))
    return Fact(low, high, step, step, is_reciprocal=is_reciprocal)
