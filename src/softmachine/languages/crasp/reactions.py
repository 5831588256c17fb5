"""Programs prepared for running: what a token does to the counts, and what follows it.

Counts are kept as running sums. The left sides of all comparisons become *sums*, one number each: a token adds to it
what all counts of formulas about single tokens add, at once. (A counter machine's counter is such a sum.) Other
formulas under a count are *tracked*: evaluated at every position. A count through R looks up the positions of its row
among the values that are remembered, so what it counts is tracked, too, as far as rows reach. A rule is looked at only
after tokens that its body allows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial, reduce
from operator import and_, or_
from typing import TypeAlias

from softmachine.languages.crasp.core import core, counted
from softmachine.languages.crasp.formula import Comparison
from softmachine.languages.crasp.program import ACCEPT, REJECT, Program
from softmachine.languages.crasp.terms import Count
from softmachine.languages.decisions import Compared, Decision, decide
from softmachine.languages.temporal.formula import TRUE, And, Constant, Formula, Not, Or, Symbol, subformulas

START = 0
"""The number of the place before the first token, as if it were a token."""
STUCK = 0
"""The outcome of a decision if no rule applies."""

Changes: TypeAlias = tuple[tuple[int, int], ...]
"""Numbers of sums, and what is added to each."""


@dataclass(frozen=True)
class Tracked:
    """A formula under a count to be evaluated when a token has come.

    Args:
        related: The numbers of the counts through R to look up first.
        decision: Whether it is true: outcome 1 or 0.
        adds: What it adds to sums where it is true.
        memory: Where its values are remembered, if it is counted through R.
    """

    related: tuple[int, ...]
    decision: Decision
    adds: Changes
    memory: int | None


@dataclass(frozen=True)
class Reaction:
    """What happens when a token has come.

    Args:
        adds: What the token adds to sums by itself.
        tracked: The formulas to evaluate, in order.
        related: The numbers of the counts through R to look up last.
        follows: The decision of the next token, by its number.
    """

    adds: Changes
    tracked: tuple[Tracked, ...]
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
        uses: dict[Count, list[tuple[int, int]]] = {}
        for which, terms in enumerate(counts):
            for coefficient, count in terms:
                uses.setdefault(count, []).append((which, coefficient))
        self._uses: Mapping[Count, Changes] = {count: tuple(changes) for count, changes in uses.items()}
        self._memory = {of: k for k, of in enumerate(dict.fromkeys(count.of for count in uses if count.relation))}
        self.related = tuple((self._memory[count.of], self._uses[count]) for count in uses if count.relation)
        """For every count through R where its formula is remembered, and what a 1 of it adds to sums."""
        tracked = dict.fromkeys(count.of for count in uses if count.relation or self._masks[count.of] is None)
        self._tracked = sorted(tracked, key=lambda formula: formula.depth)
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

    def _guard(self, body: Formula) -> int:
        """The tokens after which a body may be true, as far as it is easily seen, as bits."""
        operands = body.operands if isinstance(body, And) else (body,)
        return reduce(and_, (mask for operand in operands if (mask := self._masks[operand]) is not None), -1)

    def _holds(self, formula: Formula, token: int) -> bool | None:
        mask = self._masks[formula]
        return None if mask is None else bool(mask >> token & 1)

    def _reaction(self, token: int) -> Reaction:
        known = partial(self._holds, token=token)
        adds: dict[int, int] = {}
        for count, changes in self._uses.items():
            if token != START and count.relation is None and known(count.of):
                for which, coefficient in changes:
                    adds[which] = adds.get(which, 0) + coefficient
        seen: set[int] = set()
        tracked = []
        for formula in self._tracked if token != START else ():
            decision = decide([(formula, 1)], 0, known, self._places)
            own = self._uses.get(Count(formula), ()) if known(formula) is None else ()
            tracked.append(Tracked(self._needed(decision, seen), decision, own, self._memory.get(formula)))
        allowed = [rule for rule, guard in zip(self._rules, self._allowed, strict=True) if guard >> token & 1]
        follows = decide(allowed, STUCK, known, self._places)
        related = self._needed(follows, seen) if token != START else ()
        return Reaction(
            tuple((which, change) for which, change in adds.items() if change), tuple(tracked), related, follows
        )

    def _needed(self, decision: Decision, seen: set[int]) -> tuple[int, ...]:
        """The counts through R that a decision asks for, apart from those that are up to date."""
        asked = decision.sums
        found = [
            number
            for number, (_, adds) in enumerate(self.related)
            if number not in seen and any(which in asked for which, _ in adds)
        ]
        seen.update(found)
        return tuple(found)


def _sums(
    formulas: Iterable[Formula],
) -> tuple[dict[Formula, Compared], list[tuple[tuple[int, Count], ...]]]:
    """What every comparison compares; and for every sum what it is made of."""
    numbers: dict[frozenset[tuple[int, Count]], int] = {}
    sums: list[tuple[tuple[int, Count], ...]] = []
    places: dict[Formula, Compared] = {}
    for formula in formulas:
        if isinstance(formula, Comparison):
            terms, constant = counted(formula)
            which = numbers.setdefault(frozenset(terms), len(sums))
            if which == len(sums):
                sums.append(terms)
            places[formula] = which, formula.relation, -constant
    return places, sums


@lru_cache(maxsize=32)
def prepared(program: Program) -> Reactions:
    """A program prepared for running; the last ones are kept."""
    return Reactions(program)
