"""A checker of facts that does not use the analysis: every fact against the exact values on many sequences."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import inf, prod

import numpy as np
from numpy.typing import NDArray

from softmachine.ir import Program
from softmachine.ir.analysis import Analysis
from softmachine.ir.domain import Domain
from softmachine.ir.facts import Fact, Step
from softmachine.ir.head_rules import HeadFact
from softmachine.ir.primitives import Attention, Position, ScoreDecay
from softmachine.ir.signal import Affine, Atom, Node, format_form
from softmachine.transformer.features import Feature
from tests.ir.exact import Attended, Batch, Integers, Rationals, add

Tokens = tuple[str, ...]


RowFact = Callable[[int], Fraction | None]
"""The value that is claimed of a number at a position, if one is."""


@dataclass
class Checker:
    """Facts that are false on some sequence.

    Facts that rest on an assumption are checked on the sequences on which the assumption is true.

    Args:
        program: The program.
        atoms: What is claimed of components of nodes.
        heads: What is claimed of heads.
        forms: What is claimed of forms, by their identities.
        rows: What is claimed of components of nodes at single positions.
        reciprocals: Forms that are equal to components of heads.
        false: The false facts found so far.
        references: A value of each number, for each n and each step of its differences.
    """

    program: Program
    atoms: dict[Atom, Fact] = field(default_factory=dict)
    heads: dict[Attention, HeadFact] = field(default_factory=dict)
    forms: dict[int, tuple[Affine, Fact]] = field(default_factory=dict)
    rows: dict[Atom, list[RowFact]] = field(default_factory=dict)
    reciprocals: dict[Atom, Affine] = field(default_factory=dict)
    false: list[str] = field(default_factory=list)
    references: dict[object, Fraction] = field(default_factory=dict)

    @staticmethod
    def of(analysis: Analysis) -> Checker:
        """All that an analysis claims: also of what heads read, of logits, and at single positions."""
        read = (form for head in analysis.heads for form in head.inputs())
        forms = {id(form): (form, analysis.of(form)) for form in (*analysis.program.logits.forms, *read)}
        return Checker(
            analysis.program, analysis.facts, analysis.heads, forms, row_facts(analysis), analysis.reciprocals
        )

    def check(self, sequences: Sequence[Tokens], length: int | None = None) -> None:
        """Compare all facts with the values on sequences of one length; n is one less, unless it is given."""
        kept = list(sequences)
        if any(fact.assumptions for fact in self.heads.values()):
            first = _Comparison(self, sequences, length, assumptions=True)
            first.run()
            kept = [sequence for sequence, wrong in zip(sequences, first.wrong.tolist(), strict=True) if not wrong]
        if kept:
            comparison = _Comparison(self, kept, length)
            comparison.run()
            self.false += comparison.found


def row_facts(analysis: Analysis) -> dict[Atom, list[RowFact]]:
    """What is claimed of numbers at single positions: functions of the position, and values at position 0."""
    found: dict[Atom, list[RowFact]] = {}
    for atom, function in analysis.functions.items():
        found.setdefault(atom, []).append(function.at)
    for atom in () if analysis.is_padded else analysis.facts:
        if (value := analysis.first.value(Affine({atom: Fraction(1)}))) is not None:
            found.setdefault(atom, []).append({0: value}.get)
    return found


class _Comparison:
    """The facts of a checker on one batch of sequences.

    Args:
        checker: The facts.
        sequences: The sequences.
        length: n; by default one less than the number of positions.
        assumptions: Whether what is assumed is compared, and not what is derived.
    """

    def __init__(
        self, checker: Checker, sequences: Sequence[Tokens], length: int | None, *, assumptions: bool = False
    ) -> None:
        self.checker, self.sequences, self.assumptions = checker, sequences, assumptions
        self.shape = (len(sequences), len(sequences[0]))
        self.length = self.shape[1] - 1 if length is None else length
        self.counts: dict[Node, Integers] = {}
        self.found: list[str] = []
        self.wrong = np.zeros(len(sequences), dtype=bool)

    def run(self) -> None:
        batch = Batch(self.sequences, self.length, self.observe)
        batch.run(self.checker.program)
        for form in self.checker.program.logits.forms:
            self.compare_form("a logit", form, batch.form(form))

    def observe(self, batch: Batch, node: Node, attended: Attended | None) -> None:
        """Compare what is claimed of a node."""
        if isinstance(node, Attention) and attended is not None:
            known = self.checker.heads.get(node, HeadFact("none"))
            single = known.single_key or node.weighting.is_unique_hard
            counts = attended.chosen.argmax(axis=2) + 1 if single else np.maximum(attended.tied.sum(axis=2), 1)
            self.counts[node] = counts.astype(object)
            if node in self.checker.heads:
                self.compare_head(batch, node, self.checker.heads[node], attended)
            for form, column in (*attended.sides, *zip(node.value, attended.values, strict=True)):
                self.compare_form(f"what {node.name} reads", form, column)
        for k in range(len(node.ranges)):
            atom, column = (node, k), batch.atoms[node, k]
            if atom in self.checker.atoms:
                self.compare(node.label(k), atom, self.checker.atoms[atom], column)
            for claim in self.checker.rows.get(atom, ()):
                self.compare_rows(node.label(k), claim, column)
            if atom in self.checker.reciprocals:
                self.compare_reciprocal(batch, atom, self.checker.reciprocals[atom])

    def report(self, claim: str, wrong: NDArray[np.bool_]) -> None:
        """Keep a claim with a sequence on which it is wrong; ``wrong`` has a row for each sequence."""
        rows = wrong.reshape(len(self.sequences), -1).any(axis=1)
        self.wrong |= rows
        if rows.any():
            self.found.append(
                f"{claim} is false on {' '.join(self.sequences[int(rows.argmax())])!r}, n = {self.length}"
            )

    # Numbers.

    def compare_form(self, name: str, form: Affine, column: Rationals) -> None:
        """Compare what is claimed of a form, if it is."""
        if id(form) in self.checker.forms:
            self.compare(f"{name}, {format_form(form)[:80]},", id(form), self.checker.forms[id(form)][1], column)

    def compare(self, name: str, key: object, fact: Fact, column: Rationals) -> None:
        """Compare what is claimed of a number."""
        if self.assumptions:
            return
        numbers, over = column.numerators, column.denominator
        if fact.low != -inf:
            self.report(f"{name} ≥ {fact.low}", numbers * fact.low.denominator < fact.low.numerator * over)
        if fact.high != inf:
            self.report(f"{name} ≤ {fact.high}", numbers * fact.high.denominator > fact.high.numerator * over)
        if fact.values is not None:
            listed = {value * over for value in fact.values}
            wrong = np.array([number not in listed for number in numbers.ravel().tolist()], dtype=bool)
            self.report(f"{name} in {list(map(str, fact.values))}", wrong)
        self.compare_steps(name, key, fact, column)

    def compare_rows(self, name: str, claim: RowFact, column: Rationals) -> None:
        """Compare what is claimed of a number at single positions."""
        if self.assumptions:
            return
        wrong = np.zeros(self.shape, dtype=bool)
        for i, value in enumerate(map(claim, range(self.shape[1]))):
            if value is not None:
                numbers = column.numerators[:, i] * value.denominator
                wrong[:, i] = numbers != value.numerator * column.denominator
        self.report(f"{name} at a position", wrong)

    def compare_reciprocal(self, batch: Batch, atom: Atom, form: Affine) -> None:
        """Compare a component with a form over 1/(i+1), or over a number of which it is known that it is 1/c."""
        shares = {share for share in form.terms if share not in batch.atoms}
        rest = Affine({a: factor for a, factor in form.terms.items() if a not in shares}, form.constant)
        numbers = add([(Fraction(1), batch.atoms[atom]), (Fraction(-1), batch.form(rest))], Fraction(0), self.shape)
        if not shares:
            return self.compare(f"{atom[0].name} as a form", form, Fact.of([Fraction(0)]), numbers)
        (share,) = shares
        inverse = 1 / form.terms[share]
        divided = Rationals(numbers.numerators * inverse.numerator, numbers.denominator * inverse.denominator)
        if isinstance(share[0], Position):
            expected = Rationals.of([share[0].feature.at(i) for i in range(self.shape[1])])
            wrong = divided.numerators * expected.denominator != expected.numerators * divided.denominator
            return self.report(f"{atom[0].name} as a multiple of 1/(i+1)", np.asarray(wrong, dtype=bool))
        return self.compare(share[0].name, share, self.checker.atoms[share], divided)

    def quotient(self, step: Step) -> tuple[Integers, Integers]:
        """A step at each place, as a quotient of integers.

        The count of a head is the number of keys that tie; of a head that retrieves the value of one key, the number of
        positions up to that key. In a loop it is that of the last iteration, and 1 before the first.
        """
        n, once = self.length, np.ones(self.shape, dtype=object)
        counts: Integers = prod((self.counts[head] for head in step.counts if head in self.counts), start=once)
        bases = [(i + 1, n + 1, n - i + 1) for i in range(self.shape[1])]
        powers = (step.next, step.length, step.rest)
        above = [prod(base**-power for base, power in zip(row, powers, strict=True) if power < 0) for row in bases]
        below = [prod(base**power for base, power in zip(row, powers, strict=True) if power > 0) for row in bases]
        assert all(below)
        over = np.array(below, dtype=object) * counts * step.factor.denominator
        return once * np.array(above, dtype=object) * step.factor.numerator, over

    def compare_steps(self, name: str, key: object, fact: Fact, column: Rationals) -> None:
        """Compare values with a step, and differences of values with one n where their step is the same."""
        if fact.step is not None:
            wrong = not_multiples(column, *self.quotient(fact.step))
            self.report(f"{name} is a multiple of {describe(fact.step)}", wrong)
        if fact.exact is not None:
            above, below = self.quotient(fact.exact)
            wrong = (column.numerators * below != above * column.denominator) | (above <= 0)
            self.report(f"{name} is {describe(fact.exact)}", np.asarray(wrong, dtype=bool))
        if fact.difference is not None:
            above, below = self.quotient(fact.difference)
            steps: dict[tuple[int, int], list[int]] = {}
            for place, pair in enumerate(zip(above.ravel().tolist(), below.ravel().tolist(), strict=True)):
                steps.setdefault(pair, []).append(place)
            wrong, flat = np.zeros(self.shape, dtype=bool), column.numerators.ravel()
            for pair, places in steps.items():
                numbers, step = Rationals(flat[places], column.denominator), Fraction(*pair)
                first = Fraction(numbers.numerators[0], numbers.denominator)
                first = self.checker.references.setdefault((key, self.length, step), first)
                wrong.flat[places] = not_multiples(add([(Fraction(1), numbers)], -first, (len(places),)), *pair)
            self.report(f"differences of {name} are multiples of {describe(fact.difference)}", wrong)

    # Heads.

    def compare_head(self, batch: Batch, node: Attention, fact: HeadFact, attended: Attended) -> None:
        """Compare what is derived of a head, or what is assumed of it."""
        assumed = set(fact.assumptions)
        claims: dict[str, Callable[[], NDArray[np.bool_]]] = {}
        once = np.ones(1, dtype=object)
        if fact.derived is not None:
            claims["derived gap"] = lambda: self.has_low_scores(replace(fact, gap=fact.derived), attended, once)
        if fact.gap is not None:
            claims["gap"] = lambda: self.has_low_scores(fact, attended, once)
            if fact.decay is not ScoreDecay.FLAT:
                claims["decay"] = lambda: self.decays_slower(fact, attended)
        if fact.single_key:
            claims["single key"] = lambda: ties_differ(attended)
        if fact.unique:
            claims["unique"] = lambda: attended.tied.sum(axis=2) > 1
        if fact.index is not None:
            index = batch.form(fact.index).numerators
            first = attended.visible.argmax(axis=1)
            claims["index"] = lambda: (
                (index <= 0) & attended.visible.any(axis=1) & (attended.tied.argmax(axis=2) != first)
            )
        if fact.rule == "uniform":
            claims["uniform"] = lambda: (attended.tied != attended.visible).any(axis=2)
        if "gap" in assumed and fact.decay is not ScoreDecay.FLAT:
            assumed.add("decay")  # in gaps
        for claim, is_wrong in claims.items():
            if (claim in assumed) == self.assumptions:
                self.report(f"{claim} of {node.name} by {fact.rule} ({fact.gap}, {fact.decay})", is_wrong())

    def has_low_scores(self, fact: HeadFact, attended: Attended, multiple: Integers) -> NDArray[np.bool_]:
        """Where the score of a key that is not tied is less than a multiple of the gap below the best."""
        gaps = [gap_at(fact.gap, i, self.length) for i in range(self.shape[1])]
        numerators, denominators = (
            np.array([[[getattr(gap, part)] for gap in gaps]], dtype=object) for part in ("numerator", "denominator")
        )
        over = attended.scores.denominator
        low = distances(attended) * denominators < multiple * numerators * over
        return np.asarray(low, dtype=bool) & attended.visible & ~attended.tied

    def decays_slower(self, fact: HeadFact, attended: Attended) -> NDArray[np.bool_]:
        """Where the k-th of the other scores, or the score k positions from the best, is too high."""
        if fact.decay is ScoreDecay.QUADRATIC:
            return self.has_low_scores(fact, attended, nearest(attended.tied) ** 2)
        others = attended.visible & ~attended.tied
        below = np.where(others, distances(attended), distances(attended).max(initial=0) + 1)
        rank = below.argsort(axis=2, kind="stable").argsort(axis=2, kind="stable") + 1
        return self.has_low_scores(fact, attended, rank)


def distances(attended: Attended) -> Integers:
    """How far scores are below the best of each query, over the common denominator of the scores."""
    numbers = attended.scores.numerators
    best: Integers = np.where(attended.tied, numbers, numbers.min(initial=0)).max(axis=2, keepdims=True)
    return best - numbers


def nearest(tied: NDArray[np.bool_]) -> Integers:
    """How many positions each key is away from the next key that is tied, for each sequence and query."""
    keys = np.arange(tied.shape[2])
    found = np.full(tied.shape, tied.shape[2])
    for j in keys:
        found = np.where(tied[:, :, j, None], np.minimum(found, abs(keys - j)), found)
    return found.astype(object)


def not_multiples(numbers: Rationals, above: Integers | int, below: Integers | int) -> NDArray[np.bool_]:
    """Where a number is not an integer times a step ``above / below``; a multiple of 0 is 0."""
    size = np.abs(np.asarray(above * numbers.denominator, dtype=object))
    wrong = numbers.numerators * below % np.where(size == 0, 1, size) != 0
    return np.asarray(np.where(size == 0, numbers.numerators != 0, wrong), dtype=bool)


def describe(step: Step) -> str:
    """A step as text; the representation of a node would contain all nodes that it reads."""
    powers = f"(i+1)^{step.next} (n+1)^{step.length} (n-i+1)^{step.rest}"
    return " / ".join([f"{step.factor} / {powers}", *(f"ties of {head.name}" for head in step.counts)])


def gap_at(gap: Fraction | Feature | None, i: int, n: int) -> Fraction:
    """A gap at a position."""
    assert gap is not None
    return gap.at(i, n) if isinstance(gap, Feature) else gap


def ties_differ(attended: Attended) -> NDArray[np.bool_]:
    """Where keys that tie hold different values."""
    wrong = np.zeros(attended.tied.shape[:2], dtype=bool)
    for value in attended.values:
        numbers = value.numerators[:, None, :]
        largest = np.where(attended.tied, numbers, numbers.min(initial=0)).max(axis=2)
        least = np.where(attended.tied, numbers, numbers.max(initial=0)).min(axis=2)
        wrong |= np.asarray(largest > least, dtype=bool) & attended.tied.any(axis=2)
    return wrong


# Sequences.


def sequences_of(domain: Domain, positions: int, most: int, rng: random.Random) -> list[Tokens]:
    """All sequences of a domain with a number of positions, or random ones if there are more than ``most``."""
    if domain.placed is not None and len(domain.placed) != positions:
        return []
    if prod(len(domain.tokens_at(i)) for i in range(positions)) <= most:
        return list(domain.iterate_sequences(positions))
    drawn = (random_sequence(domain, positions, rng) for _ in range(most))
    return list(dict.fromkeys(sequence for sequence in drawn if sequence is not None))


def random_sequence(domain: Domain, positions: int, rng: random.Random) -> Tokens | None:
    """A random sequence of a domain; None if a choice leads nowhere."""
    sets = [*((0, unique) for unique in domain.unique), *((1, unique) for unique in domain.unique_later)]
    sequence: list[str] = []
    for i in range(positions):
        taken = [unique for start, unique in sets if i >= start and not unique.isdisjoint(sequence[start:])]
        possible = sorted(token for token in domain.tokens_at(i) if not any(token in unique for unique in taken))
        if not possible:
            return None
        sequence.append(rng.choice(possible))
    return tuple(sequence)


def find_false_facts(
    analysis: Analysis, positions: Iterable[int], most: int = 400, more: Iterable[Tokens] = (), seed: int = 0
) -> list[str]:
    """The facts of an analysis that are false on some sequence of its domain.

    Args:
        analysis: The analysis.
        positions: The numbers of positions of sequences.
        most: The number of sequences of each that are tried at most.
        more: Further sequences.
        seed: The seed of random sequences.
    """
    checker, rng = Checker.of(analysis), random.Random(seed)
    fixed = analysis.program.position_count
    batches: dict[int, dict[Tokens, None]] = {}
    for count in positions if fixed is None else [fixed]:
        batches.setdefault(count, {}).update(dict.fromkeys(sequences_of(analysis.domain, count, most, rng)))
    for sequence in more:
        batches.setdefault(len(sequence), {})[sequence] = None
    for batch in batches.values():
        if batch:
            checker.check(list(batch), None if fixed is None else analysis.length)
    return checker.false
