"""Analysis: facts about all numbers of a program, and about the scores of its heads, for inputs up to a length.

One walk from the tokens to the logits (abstract interpretation). A form is a sum of facts; a form with hidden units is
enumerated box by box (:mod:`.piecewise`), over named numbers where it contains all of one; what the token and the
position decide is tabulated (:mod:`.function_tables`). Heads are judged by the rules of :mod:`.head_rules`.

What an author declares of a head is a *hint*. The gap, the decay and that keys that tie hold equal values are derived;
what a hint claims beyond that is an assumption, and the fact about the head names it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from copy import copy
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import count, product
from math import ceil, floor
from operator import mul
from typing import Any

from softmachine.ir.domain import Domain
from softmachine.ir.facts import INFINITY, MAX_VALUES, ONE, ZERO, Fact, Step, sum_facts
from softmachine.ir.function_tables import (
    Column,
    FirstPosition,
    FunctionTables,
    PositionFunction,
    Table,
    placed_rows,
    stack_columns,
    token_rows,
)
from softmachine.ir.head_rules import HeadFact, adopt_hint, judge
from softmachine.ir.piecewise import MAX_BOXES, Bounds, PiecewiseForm, find_guards
from softmachine.ir.primitives import (
    Attention,
    Loop,
    Named,
    Norm,
    Position,
    Token,
    Unit,
    find_outside,
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
        self.functions: dict[Atom, PositionFunction] = {}
        """What the position alone decides at every length."""
        self.by_token = FunctionTables(token_rows(self.domain), self.is_padded, self.functions)
        self.by_place = FunctionTables(placed_rows(self.domain, self.positions), self.is_padded)
        self.first = FirstPosition(self)
        self.bounds_by_token: dict[Node, list[Bounds | None]] = {}
        """Bounds in each row of the tables by token, …"""
        self.bounds_by_place: dict[Node, list[Bounds | None]] = {}
        """… and by place."""
        self.placed_values: dict[Atom, list[tuple[Fraction, ...]]] = {}
        """The values at each position of means over keys whose number depends on the position."""
        self.order: dict[Node, int] = {}
        self.tied: dict[object, Attention] = {}
        """A head for each way of scoring keys: heads that score them alike have the same number of best keys."""
        self.reciprocals: dict[Atom, Affine] = {}
        """Means, as forms over what is equal to 1/(i+1), or to 1/c for a number c of keys that tie."""
        self.reciprocal = Position(RECIPROCAL.name, (REALS,), RECIPROCAL)
        self.outside: dict[Loop, list[Node]] = {}
        """The nodes that the body of a loop reads and that do not depend on what it carries."""
        self.facts[self.reciprocal, 0] = self.of_feature(RECIPROCAL)
        self._visited: set[Node] = set()
        self._forms: dict[Key, Fact] = {}
        self._pieces: dict[Key, tuple[PiecewiseForm | None, list[Affine]]] = {}
        self._named: dict[Atom, tuple[Named, ...]] = {}

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
            case Named() | Unit():
                for k, form in enumerate(node.forms):
                    self.facts[node, k] = self.of_unit(node, form) if isinstance(node, Unit) else self.of(form, node)
                    function = None if isinstance(node, Norm) else self.function(form)
                    if function is not None and isinstance(node, Unit):
                        function = function.apply(node.activation)
                    if function is not None:
                        self.functions[node, k] = function
                        self.facts[node, k] = function.fact(self.positions) or self.facts[node, k]
                    if isinstance(node, Named):
                        self._named |= {a: (*self._named.get(a, ()), node) for a in form.other_terms}
                        self.place_multiple(node, k, form)
        if not self.is_padded:
            self.first.has(node)

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
        """What is known of a position feature, at all positions of all lengths.

        If the number of positions is fixed, n is any number up to the length, so that i may be larger than n.
        """
        if self.is_padded and feature.needs_length:
            return Fact(-INFINITY, INFINITY)
        exact = Fact.of(map(feature.at, range(self.positions))) if self.is_padded else None
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
            function = self.function(form)
            exact = None if function is None else function.fact(self.positions)
            base = self._forms[key] = exact or self.sum(form)
            if exact is None and self.is_worth_enumerating(form, base):
                pieces, parts = self.pieces(form, own), list[Affine]()
                found = None if pieces is None else pieces.fact()
                if pieces is not None and found is not None:
                    beside = [(ONE, found), (ONE, self.sum(pieces.other))]
                    self._forms[key] = (sum_facts(beside, ZERO) if pieces.other.terms else found).narrow(base)
                elif len(parts := self.split(absorbed := self.absorb(form, own))) > 1:
                    found = sum_facts([(ONE, self.of(part)) for part in parts], absorbed.constant)
                    self._forms[key] = found.narrow(base)
                self._pieces[key] = pieces, parts if len(parts) > 1 else []
        return self._forms[key]

    def is_worth_enumerating(self, form: Affine, base: Fact) -> bool:
        """Whether boxes can show more of a form than the sum of its terms, or of its errors."""
        units = any(isinstance(node, Unit) and node.activation == "relu" for node, _ in form.terms)
        several = len({node for node, _ in form.terms}) > 1
        return units or (several and base.values is not None and not base.is_constant)

    def sum(self, form: Affine) -> Fact:
        """What the terms of a form show; what the token decides is exact."""
        tokens = {atom: factor for atom, factor in form.terms.items() if isinstance(atom[0], Token)}
        parts = [(factor, self.facts[atom]) for atom, factor in form.terms.items() if atom not in tokens]
        if tokens:
            parts.append((ONE, Fact.of(self.by_token.column(Affine(tokens)).distinct())))
        base = sum_facts(parts, form.constant)
        if self.is_padded and base.values is None and self.by_place.has_form(form):
            exact = Fact.of(self.by_place.column(form).distinct())
            if exact.values is not None and (base.step is None or base.step.is_constant):
                return exact
            return replace(base, low=exact.low, high=exact.high)
        return base

    def function(self, form: Affine) -> PositionFunction | None:
        """The form as a function of the position, if it is one; tokens count where only the first one matters."""
        known = all(atom in self.functions or self.by_token.has(atom[0]) for atom in form.terms)
        if self.is_padded or not form.terms or not known:
            return None
        local, rest = self.by_token.split(form)
        parts = [(factor, self.functions[atom]) for atom, factor in rest.terms.items()]
        values = [self.by_token.values(local, start=start) for start in (True, False)]
        if max(map(len, values)) > 1:
            return None
        first, later = (value for found in values for value in found or {ZERO})
        return PositionFunction.sum([*parts, (ONE, PositionFunction((first,), ((later, ZERO, ZERO),)))], form.constant)

    def decompose(self, form: Affine) -> tuple[PiecewiseForm | None, list[Affine]]:
        """The boxes of a form, if it has any, and the forms, each with units of one line, of which it is the sum."""
        self.of(form)
        return self._pieces.get(form.key, (None, []))

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
        local = {a for f in forms for a in f.terms if isinstance(a[0], Token) or self.is_tabulated(a)}
        free = [a for a in variables if a not in local]
        finite = {a: values for a in free if (values := self.facts[a].values) is not None}
        infinite = [a for a in free if a not in finite]
        parts = [Affine({a: factor for a, factor in f.terms.items() if a in local}) for f in forms]
        placed = [a for a in infinite if a in self.placed_values]
        tables = self.by_place if placed or any(map(self.is_tabulated, variables)) else self.by_token
        split = self.find_line(forms, [a for a in infinite if a not in self.placed_values])
        if split is None:
            return None if partly else self.pieces(original, own, partly=True)
        line, slopes, other = split
        weights = [form.terms[atom] for atom in units]
        guards = find_guards(self, list(finite), tables)
        columns = [*map(tables.column, parts), *(guard.offset or tables.column(NOTHING) for guard in guards)]
        table = self.place_values(columns, placed, forms) if placed else stack_columns(columns)
        return table and PiecewiseForm(forms, weights, table, finite, guards, line, slopes, other)

    def split(self, form: Affine) -> list[Affine]:
        """The form as a sum of forms, each with the units of one line."""
        groups: defaultdict[frozenset[tuple[Atom, Fraction]], dict[Atom, Fraction]] = defaultdict(dict)
        for (node, k), factor in form.terms.items():
            read = node.forms[k].terms if isinstance(node, Unit) else {(node, k): ONE}
            infinite = [a for a in read if not isinstance(a[0], Token) and self.facts[a].values is None]
            first = min(infinite, key=lambda atom: (self.order[atom[0]], atom[1]), default=None)
            groups[frozenset((a, read[a] / read[first]) for a in infinite if first)][node, k] = factor
        return [Affine(terms) for terms in groups.values()]

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
        head = judge(self, node)
        if node.name in self.hints and head.rule != "uniform" and node.weighting.is_hard:
            head = adopt_hint(self, head, self.hints[node.name])
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

        **Lemma (count).** If the value is w at position 0 and 0 elsewhere, and position 0 is always among the best
        keys, the mean over the c keys that tie is w/c. Under the mask j < i this holds from position 1 on, and the sum
        of the mean and the value at the query is w/c with c = 1 at position 0.
        """
        pairs = Counter((query.key, key.key) for query, key in zip(node.query, node.key, strict=True))
        head = self.tied.setdefault((node.mask, node.bias, frozenset(pairs.items())), node)
        step, function = value.step, self.function(form)
        whole = step is not None and step.is_same_at_all_positions and node.weighting.is_hard
        share = Step(step.factor, length=step.length, counts=frozenset([head])) if step and whole else None
        self.place_mean(node, k, form)
        first = ZERO if function is None or function.later != 0 else function.at(0)
        if not first or share is None or not self.first.is_best(node):
            return Fact(value.low, value.high, share, share)
        least = Fraction(1, self.positions)
        if first < 0 or node.mask is Mask.PAST:
            reciprocal, count = Node(f"1/{node.label(k)}", (REALS,)), Step(ONE, counts=share.counts)
            self.facts[reciprocal, 0] = Fact(least, ONE, count, count, exact=count)
            self.reciprocals[node, k] = Affine({(reciprocal, 0): first})
            if node.mask is Mask.PAST:
                self.reciprocals[node, k] += form * -ONE
            return Fact(min(first, first * least), max(first, first * least), share, share)
        return Fact(first * least, first, share, share, exact=share)

    def place_mean(self, node: Attention, k: int, form: Affine) -> None:
        """List the values of a mean over tied keys at each position, if they are few.

        The mean of what the position decides is known; the rest is a mean of multiples of a step.
        """
        local = Affine({a: f for a, f in form.terms.items() if self.by_place.is_positional(Affine({a: ONE}))})
        best, placed, rest = (
            self.by_place.best_keys(node),
            self.by_place.by_position(local),
            self.of(form + local * -ONE),
        )
        step = rest.step.factor if rest.step is not None and rest.step.is_constant else ZERO
        if best is None or placed is None or not step:
            return
        if (rest.high - rest.low) / step * max(map(len, best), default=0) > MAX_VALUES:
            return
        means = self.by_place.means(node, placed).fractions()
        self.placed_values[node, k] = [
            tuple(mean + x * step / n for x in range(ceil(rest.low / step * n), floor(rest.high / step * n) + 1))
            if n
            else (ZERO,)
            for mean, n in zip(means, map(len, best), strict=True)
        ]

    def place_multiple(self, node: Named, k: int, form: Affine) -> None:
        """List the values of a named number at each position, if it is a multiple of a mean with such a list."""
        atom, factor = next(iter(form.terms.items()), (None, ZERO))
        if atom in self.placed_values and len(form.terms) == 1:
            known = self.placed_values[atom]
            self.placed_values[node, k] = [tuple(form.constant + factor * x for x in values) for values in known]

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
        per_key = {Mask.CAUSAL: Step(ONE, next=1), Mask.ALL: Step(ONE, length=1), Mask.ANTICAUSAL: Step(ONE, rest=1)}
        if self.is_padded:
            per_key = {Mask.CAUSAL: Step(ONE, next=1), Mask.ALL: Step(Fraction(1, self.positions))}
        share = step.product(per_key.get(node.mask, Step(ONE, counts=frozenset([node]))))
        return Fact(value.low, value.high, share, share)

    # Loops.

    def loop(self, node: Loop) -> None:
        """Facts of the body of a loop that hold in every iteration, and of what it returns.

        What position and token decide is tabulated, iteration by iteration. Otherwise what is carried has the join of
        its initial facts and of those after each iteration. Bounds that still grow after some iterations are widened to
        the next threshold; another iteration over a fixpoint then narrows them.
        """
        outside = self.outside[node] = find_outside(node)
        for inner in outside:
            if inner not in self._visited:
                self.visit(inner)
        initial = [self.of(form) for form in node.initial]
        state = {name: copy(value) for name, value in vars(self).items() if isinstance(value, dict | set)}
        tables, times = self.by_place.iterations(node), self.count_iterations(node)
        if tables is not None:
            begins = zip(*(tables[:-1] or tables), strict=True)
            self.iterate(node, state, [Fact.of(x for c in columns for x in c.distinct()) for columns in begins])
            self.facts |= {(node, k): Fact.of(column.distinct()) for k, column in enumerate(tables[-1])}
            return
        carried = initial
        for turn in count(1):
            joined = [old.join(new) for old, new in zip(carried, self.iterate(node, state, carried), strict=True)]
            if turn >= times or joined == carried:
                break
            if turn >= MAX_LOOP_PASSES:
                joined = [old.widen(new, self.positions) for old, new in zip(carried, joined, strict=True)]
            carried = joined
        for _ in range(2 if turn > MAX_LOOP_PASSES else 0):
            carried = joined = [old.join(x) for old, x in zip(initial, self.iterate(node, state, carried), strict=True)]
        self.facts |= {(node, k): fact for k, fact in enumerate(joined)}

    def iterate(self, node: Loop, state: Mapping[str, Any], carried: Sequence[Fact]) -> list[Fact]:
        """Find the facts of the body of a loop, from those of what it carries; return those of the next values."""
        vars(self).update({name: copy(value) for name, value in state.items()})
        self.first = FirstPosition(self)
        self._visited.add(node.carried)
        self.order[node.carried] = len(self.order)
        self.facts |= {(node.carried, k): fact for k, fact in enumerate(carried)}
        self.follow(node.body)
        inside = self._visited - state["_visited"]
        return [_forget_counts(self.of(form), inside) for form in node.body]

    def count_iterations(self, node: Loop) -> int:
        """An upper bound of the number of iterations of a loop."""
        if isinstance(node.iterations, Feature) and not self.is_padded:
            return floor(node.iterations.high.at(self.positions))
        return node.count_iterations(self.length)


def _forget_counts(fact: Fact, heads: Set[Node]) -> Fact:
    """What is known in the next iteration, in which other numbers of keys may tie in some heads."""

    def keep(step: Step | None) -> Step | None:
        return None if step is None or step.counts & heads else step

    return replace(fact, step=keep(fact.step), difference=keep(fact.difference), exact=keep(fact.exact))


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
