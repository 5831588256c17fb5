"""A checker of facts that does not use the analysis: every fact against the exact values on many sequences."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf, prod

import numpy as np
from numpy.typing import NDArray

from softmachine.ir import Program
from softmachine.ir.analysis import Analysis, HeadFact
from softmachine.ir.domain import Domain
from softmachine.ir.facts import Fact, Step
from softmachine.ir.primitives import Attention, ScoreDecay
from softmachine.ir.signal import Affine, Atom, Node, format_form
from softmachine.transformer.features import Feature
from tests.ir.exact import Attended, Batch, Integers, Rationals

Tokens = tuple[str, ...]


@dataclass
class Checker:
    """Facts that are false on some sequence.

    Facts that rest on an assumption are checked on the sequences on which the assumption is true.

    Args:
        program: The program.
        atoms: What is claimed of components of nodes.
        heads: What is claimed of heads.
        forms: What is claimed of forms.
        false: The false facts found so far.
    """

    program: Program
    atoms: dict[Atom, Fact]
    heads: dict[Attention, HeadFact]
    forms: dict[int, tuple[Affine, Fact]]
    false: list[str] = field(default_factory=list)
    _references: dict[object, Fraction] = field(default_factory=dict)

    @staticmethod
    def of(analysis: Analysis) -> Checker:
        """All that an analysis claims: also of what heads read, and of logits."""
        heads = {head: fact for head, fact in analysis.heads.items() if head in analysis.order}
        atoms = {atom: fact for atom, fact in analysis.facts.items() if atom[0] in analysis.order}
        read = (form for head in heads for form in head.inputs())
        forms = {id(form): (form, analysis.of(form)) for form in (*analysis.program.logits.forms, *read)}
        return Checker(analysis.program, atoms, heads, forms)

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
        self.batch = Batch(sequences, self.length, self.observe)

    def run(self) -> None:
        self.batch.run(self.checker.program)
        for form in self.checker.program.logits.forms:
            self.compare_form("a logit", form, self.batch.form(form))

    def observe(self, node: Node, columns: Sequence[Rationals], attended: Attended | None) -> None:
        """Compare what is claimed of a node."""
        if isinstance(node, Attention) and attended is not None:
            self.counts[node] = np.maximum(attended.tied.sum(axis=2), 1).astype(object)
            if node in self.checker.heads:
                self.compare_head(node, self.checker.heads[node], attended)
            for form, column in (*attended.sides, *zip(node.value, attended.values, strict=True)):
                self.compare_form(f"what {node.name} reads", form, column)
        for k, column in enumerate(columns):
            if (node, k) in self.checker.atoms:
                self.compare(node.label(k), (node, k), self.checker.atoms[node, k], column)

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
        if fact.is_reciprocal:
            wrong = np.array([number <= 0 or bool(over % number) for number in numbers.ravel().tolist()], dtype=bool)
            self.report(f"{name} is a reciprocal", wrong)
        if fact.step is not None:
            self.report(f"{name} is a multiple of {describe(fact.step)}", self.is_no_multiple(column, fact.step))
        if fact.difference is not None:
            self.compare_difference(name, key, fact.difference, column)

    def is_no_multiple(self, column: Rationals, step: Step) -> NDArray[np.bool_]:
        """Where numbers are no multiples of a step."""
        if not step.factor:
            return np.asarray(column.numerators != 0, dtype=bool)
        numerators = column.numerators * self.divisors(step) * step.factor.denominator
        return np.asarray(numerators % (step.factor.numerator * column.denominator) != 0, dtype=bool)

    def divisors(self, step: Step) -> Integers:
        """(i+1)^a (n+1)^b (n-i+1)^c Π counts, by which the factor of a step is divided, at each place.

        The count of a head of a loop is that of the last iteration, and 1 before the first.
        """
        n = self.length
        row = [(i + 1) ** step.next * (n + 1) ** step.length * (n - i + 1) ** step.rest for i in range(self.shape[1])]
        once = np.ones(self.shape, dtype=object)
        return prod((self.counts.get(head, once) for head in step.counts), start=np.array([row], dtype=object) * once)

    def compare_difference(self, name: str, key: object, step: Step, column: Rationals) -> None:
        """Compare differences of values with one n, at positions and sequences at which the step is the same."""
        divisors = self.divisors(step).ravel().tolist()
        numbers = column.fractions()
        references = self.checker._references
        wrong = np.zeros(len(numbers), dtype=bool)
        for place, (number, divisor) in enumerate(zip(numbers, divisors, strict=True)):
            difference = number - references.setdefault((key, self.length, divisor), number)
            size = step.factor / divisor
            wrong[place] = bool(difference % size) if size else bool(difference)
        self.report(f"differences of {name} are multiples of {describe(step)}", wrong)

    # Heads.

    def compare_head(self, node: Attention, fact: HeadFact, attended: Attended) -> None:
        """Compare what is derived of a head, or what is assumed of it."""
        assumed = set(fact.assumptions)
        claims: dict[str, Callable[[], NDArray[np.bool_]]] = {}
        if fact.gap is not None:
            claims["gap"] = lambda: self.has_low_scores(fact, attended, np.ones(1, dtype=object))
            if fact.decay is not ScoreDecay.FLAT:
                claims["decay"] = lambda: self.decays_slower(fact, attended)
        if fact.single_key:
            claims["single key"] = lambda: ties_differ(attended)
        if fact.unique:
            claims["unique"] = lambda: attended.tied.sum(axis=2) > 1
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
