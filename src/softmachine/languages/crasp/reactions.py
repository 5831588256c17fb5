"""Programs prepared for running: what a token does to the counts, and what follows it.

Counts are kept as running sums. The left sides of all comparisons become *sums*, one number each: a token adds to it
what all counts of formulas about single tokens add, at once. (A counter machine's counter is such a sum.) Other
formulas under a count are *tracked*: evaluated at every position. A count through a relation looks up the positions of
its row among the values that are *remembered*. A rule is looked at only after tokens that its body allows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial, reduce
from operator import and_, or_

from softmachine.languages.crasp.core import core, counted
from softmachine.languages.crasp.decisions import Decision, decide
from softmachine.languages.crasp.formula import Comparison
from softmachine.languages.crasp.program import ACCEPT, REJECT, Program
from softmachine.languages.crasp.relation import RELATIONS, PositionRelation
from softmachine.languages.crasp.terms import Count
from softmachine.languages.temporal.formula import TRUE, And, Constant, Formula, Not, Or, Symbol
from softmachine.languages.temporal.structure import subformulas

START = 0
"""The number of the place before the first token, as if it were a token."""
STUCK = 0
"""The outcome of a decision if no rule applies."""


@dataclass(frozen=True)
class Tracked:
    """A formula under a count that is not about single tokens.

    Args:
        formula: The formula.
        adds: The sums that it is counted in, each with its coefficient.
        memory: Where its values are remembered, if it is counted through a relation.
    """

    formula: Formula
    adds: tuple[tuple[int, int], ...]
    memory: int | None


@dataclass(frozen=True)
class Related:
    """A count through a relation.

    Args:
        relation: The relation.
        formula: What is counted.
        memory: Where its values are remembered.
        adds: The sums that it is counted in, each with its coefficient.
    """

    relation: PositionRelation
    formula: Formula
    memory: int
    adds: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Reaction:
    """What happens when a token has come.

    Args:
        adds: The sums that change, and by how much.
        remembers: The values about the token alone that are remembered, in which memory.
        tracked: The formulas to evaluate, in order: numbers of the related counts to look up first, the formula, and
            the decision of it (outcome 1 if it is true).
        related: The related counts to look up last.
        follows: The decision of the next token, by its number.
    """

    adds: tuple[tuple[int, int], ...]
    remembers: tuple[tuple[int, bool], ...]
    tracked: tuple[tuple[tuple[int, ...], Tracked, Decision], ...]
    related: tuple[int, ...]
    follows: Decision


class Reactions:
    """A program prepared for running.

    Tokens are numbers, from 1 on in the order of `Program.tokens`; 0 is the place before the first one. A program
    without rules is taken to have two: ``ACC <- φ`` and ``REJ <- true``.

    Raises:
        ConstructionError: If a term of the program has too many cases.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        essence = core(program)
        rules = essence.rules if essence.accept is None else ((ACCEPT, essence.accept), (REJECT, TRUE))
        self.tokens = tuple(dict.fromkeys((*program.tokens, *(token for token, _ in rules))))
        self.number = {token: index for index, token in enumerate(self.tokens, start=1)}
        self._rules = [(body, self.number[token]) for token, body in rules]
        formulas = subformulas(*(body for body, _ in self._rules))
        self._masks = self._find_masks(formulas)
        self._allowed = [self._guard(body) for body, _ in self._rules]
        self._places, counts = _sums(formulas)
        self.sums = len(counts)
        """How many sums there are."""
        self._uses: dict[Count, list[tuple[int, int]]] = {}
        for which, terms in enumerate(counts):
            for coefficient, count in terms:
                self._uses.setdefault(count, []).append((which, coefficient))
        remembered = dict.fromkeys(count.of for count in self._uses if count.relation is not None)
        self._memory = {formula: index for index, formula in enumerate(remembered)}
        self.farthest = tuple(self._farthest(formula) for formula in remembered)
        """For every memory, the last position whose value it needs; None if it needs all of them."""
        self.related = tuple(
            Related(RELATIONS[count.relation], count.of, self._memory[count.of], tuple(uses))
            for count, uses in self._uses.items()
            if count.relation is not None
        )
        self.tracked = tuple(self._tracked())
        self._made: dict[int, Reaction] = {}

    def __getitem__(self, token: int) -> Reaction:
        """What happens when a token has come; prepared when it first does."""
        if token not in self._made:
            self._made[token] = self._reaction(token)
        return self._made[token]

    def _find_masks(self, formulas: Iterable[Formula]) -> dict[Formula, int | None]:
        """For formulas about single tokens the set of tokens where they hold, as bits; None for the others."""
        everything = (1 << (len(self.tokens) + 1)) - 1
        masks: dict[Formula, int | None] = {}
        for formula in formulas:
            parts = [masks[part] for part in formula.parts]
            sets = [part for part in parts if part is not None]
            masks[formula] = None
            if isinstance(formula, Comparison) or len(sets) < len(parts):
                continue
            match formula:
                case Symbol(symbol):
                    masks[formula] = 1 << self.number[symbol]
                case Constant(value):
                    masks[formula] = everything if value else 0
                case Not():
                    masks[formula] = everything & ~sets[0]
                case And():
                    masks[formula] = reduce(and_, sets)
                case Or():
                    masks[formula] = reduce(or_, sets)
                case _:
                    raise TypeError(f"{type(formula).__name__} does not occur in a core")
        return masks

    def _farthest(self, formula: Formula) -> int | None:
        bounds = [RELATIONS[count.relation].farthest for count in self._uses if count.relation and count.of == formula]
        known = [bound for bound in bounds if bound is not None]
        return max(known) if len(known) == len(bounds) else None

    def _tracked(self) -> Iterator[Tracked]:
        """What is to be evaluated at every position, each after those that it needs."""
        counts = {count.of: None for count in self._uses if self._masks[count.of] is None}
        for formula in sorted(counts, key=lambda formula: formula.depth):
            yield Tracked(formula, tuple(self._uses.get(Count(formula), ())), self._memory.get(formula))

    def _holds(self, formula: Formula, token: int) -> bool | None:
        mask = self._masks[formula]
        return None if mask is None else bool(mask >> token & 1)

    def _reaction(self, token: int) -> Reaction:
        known = partial(self._holds, token=token)
        adds: dict[int, int] = {}
        for count, uses in self._uses.items():
            if token != START and count.relation is None and known(count.of):
                for which, coefficient in uses:
                    adds[which] = adds.get(which, 0) + coefficient
        allowed = (rule for rule, guard in zip(self._rules, self._allowed, strict=True) if guard >> token & 1)
        follows = decide(allowed, STUCK, known, self._places)
        seen: set[int] = set()
        tracked = []
        for entry in self.tracked if token != START else ():
            decision = decide([(entry.formula, 1)], 0, known, self._places)
            tracked.append((self._needed(decision, seen), entry, decision))
        return Reaction(
            adds=tuple((which, change) for which, change in adds.items() if change),
            remembers=tuple(
                (memory, bool(known(formula)))
                for formula, memory in self._memory.items()
                if self._masks[formula] is not None
            ),
            tracked=tuple(tracked),
            related=self._needed(follows, seen),
            follows=follows,
        )

    def _guard(self, body: Formula) -> int:
        """The tokens after which a body may be true, as far as it is easily seen, as bits."""
        operands = body.operands if isinstance(body, And) else (body,)
        return reduce(and_, (mask for operand in operands if (mask := self._masks[operand]) is not None), -1)

    def _needed(self, decision: Decision, seen: set[int]) -> tuple[int, ...]:
        """The counts through relations that a decision asks for, apart from those that are up to date."""
        asked = decision.sums
        found = [
            index
            for index, related in enumerate(self.related)
            if index not in seen and any(which in asked for which, _ in related.adds)
        ]
        seen.update(found)
        return tuple(found)


def _sums(
    formulas: Iterable[Formula],
) -> tuple[dict[Comparison, tuple[int, int]], list[tuple[tuple[int, Count], ...]]]:
    """For every comparison its sum and the constant beside it; and for every sum what it is made of."""
    numbers: dict[frozenset[tuple[int, Count]], int] = {}
    sums: list[tuple[tuple[int, Count], ...]] = []
    places = {}
    for formula in formulas:
        if isinstance(formula, Comparison):
            terms, constant = counted(formula)
            which = numbers.setdefault(frozenset(terms), len(sums))
            if which == len(sums):
                sums.append(terms)
            places[formula] = which, constant
    return places, sums


@lru_cache(maxsize=32)
def prepared(program: Program) -> Reactions:
    """A program prepared for running; the last ones are kept."""
    return Reactions(program)
