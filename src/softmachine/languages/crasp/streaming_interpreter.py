"""Streaming interpreter of C-RASP with running counts: constant time per token.

Transition tables give the effect of each token on the counts, and decide the next token.

The left sides of all comparisons are running *sums*, one number each. A token changes a sum by the total contribution
of all counts of formulas about single tokens. (A counter of a counter machine is such a sum.) Other counted formulas
are *tracked*: evaluated at every position. A count through R reads stored values at the positions of its row, so its
formula is tracked, too, up to the last position in any row. A rule is tested only after the tokens that its body
allows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial, reduce
from itertools import islice
from operator import and_, or_
from typing import TypeAlias

from softmachine.languages.crasp.desugaring import desugar, linear_counts
from softmachine.languages.crasp.interpreter import stuck_error
from softmachine.languages.crasp.program import ACCEPT, REJECT, CraspProgram, TermComparison
from softmachine.languages.crasp.relations import MAX_RELATED_POSITION, related_positions
from softmachine.languages.crasp.terms import Count
from softmachine.languages.decision_dag import DecisionDag, SumComparison, build_decision_dag
from softmachine.languages.temporal.formula import TRUE, And, BooleanConstant, Formula, Not, Or, Symbol, subformulas
from softmachine.support.errors import UsageError

START_TOKEN = 0
"""Index of position 0, before the first token, as if it were a token."""
NO_RULE = 0
"""Outcome of the decision if no rule applies."""

SumChanges: TypeAlias = tuple[tuple[int, int], ...]
"""Indices of sums, with the change of each."""


@dataclass(frozen=True)
class CountedFormula:
    """A counted formula that is evaluated after a token.

    Args:
        related_counts: Indices of the counts through R to update first.
        decision: Its truth value: outcome 1 or 0.
        changes: The changes of sums if it is true.
        memory_index: Index of the array of its values, if it is counted through R.
    """

    related_counts: tuple[int, ...]
    decision: DecisionDag
    changes: SumChanges
    memory_index: int | None


@dataclass(frozen=True)
class TokenTransition:
    """The effect of a token.

    Args:
        changes: The changes of sums that depend on the token only.
        tracked: The formulas to evaluate, in order.
        related_counts: Indices of the counts through R to update last.
        next_token: The decision of the next token, by index.
    """

    changes: SumChanges
    tracked: tuple[CountedFormula, ...]
    related_counts: tuple[int, ...]
    next_token: DecisionDag


class TransitionTable:
    """The transition table of a program.

    Tokens are numbered from 1 in the order of `Program.tokens`; 0 is the position before the first token. A program
    without rules is treated as one with two: ``ACC <- φ`` and ``REJ <- true``.

    Raises:
        ConstructionError: If a term of the program has too many cases.
    """

    def __init__(self, program: CraspProgram) -> None:
        essence = desugar(program)
        rules = essence.rules if essence.accept is None else ((ACCEPT, essence.accept), (REJECT, TRUE))
        self.tokens = tuple(dict.fromkeys((*program.tokens, *(token for token, _ in rules))))
        self.number = {token: index for index, token in enumerate(self.tokens, start=1)}
        self._rules = [(body, self.number[token]) for token, body in rules]
        formulas = subformulas(*(body for body, _ in self._rules))
        self._masks = self._find_masks(formulas)
        self._allowed = [self._possible_tokens(body) for body, _ in self._rules]
        self._places, counts = _collect_sums(formulas)
        self.sums = len(counts)
        """Number of sums."""
        uses: dict[Count, list[tuple[int, int]]] = {}
        for which, terms in enumerate(counts):
            for coefficient, count in terms:
                uses.setdefault(count, []).append((which, coefficient))
        self._uses: Mapping[Count, SumChanges] = {count: tuple(changes) for count, changes in uses.items()}
        self._memory = {of: k for k, of in enumerate(dict.fromkeys(count.formula for count in uses if count.relation))}
        self.related = tuple((self._memory[count.formula], self._uses[count]) for count in uses if count.relation)
        """For every count through R the index of the values of its formula, and the change of sums per unit."""
        tracked = dict.fromkeys(count.formula for count in uses if count.relation or self._masks[count.formula] is None)
        self._tracked = sorted(tracked, key=lambda formula: formula.depth)
        self._made: dict[int, TokenTransition] = {}

    def __getitem__(self, token: int) -> TokenTransition:
        """The effect of a token, computed on first use."""
        if token not in self._made:
            self._made[token] = self._transition(token)
        return self._made[token]

    def _find_masks(self, formulas: Iterable[Formula]) -> dict[Formula, int | None]:
        """For formulas about single tokens the bit set of tokens where they hold; None for the others."""
        everything = (1 << (len(self.tokens) + 1)) - 1
        masks: dict[Formula, int | None] = {}
        for formula in formulas:
            parts = [masks[part] for part in formula.parts]
            sets = [part for part in parts if part is not None]
            masks[formula] = None
            if isinstance(formula, TermComparison) or len(sets) < len(parts):
                continue
            match formula:
                case Symbol(symbol):
                    masks[formula] = 1 << self.number[symbol]
                case BooleanConstant(value):
                    masks[formula] = everything if value else 0
                case Not():
                    masks[formula] = everything & ~sets[0]
                case And():
                    masks[formula] = reduce(and_, sets)
                case Or():
                    masks[formula] = reduce(or_, sets)
                case _:
                    raise TypeError(f"{type(formula).__name__} does not occur in a desugared program")
        return masks

    def _possible_tokens(self, body: Formula) -> int:
        """A superset of the tokens after which a body can be true, as a bit set."""
        operands = body.operands if isinstance(body, And) else (body,)
        return reduce(and_, (mask for operand in operands if (mask := self._masks[operand]) is not None), -1)

    def _holds(self, formula: Formula, token: int) -> bool | None:
        mask = self._masks[formula]
        return None if mask is None else bool(mask >> token & 1)

    def _transition(self, token: int) -> TokenTransition:
        known = partial(self._holds, token=token)
        adds: dict[int, int] = {}
        for count, changes in self._uses.items():
            if token != START_TOKEN and count.relation is None and known(count.formula):
                for which, coefficient in changes:
                    adds[which] = adds.get(which, 0) + coefficient
        seen: set[int] = set()
        tracked = []
        for formula in self._tracked if token != START_TOKEN else ():
            decision = build_decision_dag([(formula, 1)], 0, known, self._places)
            own = self._uses.get(Count(formula), ()) if known(formula) is None else ()
            tracked.append(
                CountedFormula(self._needed_counts(decision, seen), decision, own, self._memory.get(formula))
            )
        allowed = [rule for rule, guard in zip(self._rules, self._allowed, strict=True) if guard >> token & 1]
        follows = build_decision_dag(allowed, NO_RULE, known, self._places)
        related = self._needed_counts(follows, seen) if token != START_TOKEN else ()
        return TokenTransition(
            tuple((which, change) for which, change in adds.items() if change), tuple(tracked), related, follows
        )

    def _needed_counts(self, decision: DecisionDag, seen: set[int]) -> tuple[int, ...]:
        """The counts through R that a decision depends on, without those that are up to date."""
        used = decision.sums
        found = [
            number
            for number, (_, adds) in enumerate(self.related)
            if number not in seen and any(which in used for which, _ in adds)
        ]
        seen.update(found)
        return tuple(found)


def _collect_sums(
    formulas: Iterable[Formula],
) -> tuple[dict[Formula, SumComparison], list[tuple[tuple[int, Count], ...]]]:
    """Sum, relation and number of every comparison; and the terms of every sum."""
    numbers: dict[frozenset[tuple[int, Count]], int] = {}
    sums: list[tuple[tuple[int, Count], ...]] = []
    places: dict[Formula, SumComparison] = {}
    for formula in formulas:
        if isinstance(formula, TermComparison):
            terms, constant = linear_counts(formula)
            which = numbers.setdefault(frozenset(terms), len(sums))
            if which == len(sums):
                sums.append(terms)
            places[formula] = which, formula.relation, -constant
    return places, sums


@lru_cache(maxsize=32)
def get_transition_table(program: CraspProgram) -> TransitionTable:
    """The transition table of a program, cached for recent programs."""
    return TransitionTable(program)


MAX_TOKENS = 10_000_000
VERDICTS = {ACCEPT: "accept", REJECT: "reject"}


@dataclass(frozen=True)
class CraspResult:
    """The result of a run.

    Args:
        program: The program.
        word: The word.
        tokens: The chain of thought, including the verdict; empty for a program without rules.
        verdict: "accept" or "reject"; None if the token limit was reached.
    """

    program: CraspProgram
    word: tuple[str, ...]
    tokens: tuple[str, ...]
    verdict: str | None

    @property
    def accepted(self) -> bool:
        """Whether the word is accepted."""
        return self.verdict == "accept"


class RunningCounts:
    """The running counts of a program on a growing sequence of tokens."""

    def __init__(self, table: TransitionTable) -> None:
        self.reactions = table
        self.position = 0
        self.token = START_TOKEN
        self.sums = [0] * table.sums
        self._related = [0] * len(table.related)
        # The values at the positions that rows of R contain. Position 0 is in no row.
        self._memories: dict[int, list[bool]] = defaultdict(lambda: [False])

    def copy(self) -> RunningCounts:
        """An independent copy.

        Raises:
            UsageError: If the program counts through R, which depends on positions.
        """
        if self.reactions.related:
            raise UsageError("cannot copy the state of a program that counts through R: it depends on positions")
        other = RunningCounts(self.reactions)
        other.position, other.token, other.sums = self.position, self.token, list(self.sums)
        return other

    def append(self, token: int) -> None:
        """Append a token."""
        self.position += 1
        self.token = token
        reaction = self.reactions[token]
        sums = self.sums
        for which, change in reaction.changes:
            sums[which] += change
        for tracked in reaction.tracked:
            if not tracked.changes and self.position > MAX_RELATED_POSITION:
                continue
            self._update_related(tracked.related_counts)
            holds = tracked.decision.outcome(sums) == 1
            if holds:
                for which, change in tracked.changes:
                    sums[which] += change
            if tracked.memory_index is not None and self.position <= MAX_RELATED_POSITION:
                self._memories[tracked.memory_index].append(holds)
        self._update_related(reaction.related_counts)

    def next_token(self) -> int:
        """The index of the next token; `NO_RULE` if no rule applies."""
        return self.reactions[self.token].next_token.outcome(self.sums)

    def _update_related(self, related: tuple[int, ...]) -> None:
        """Update these counts through R."""
        if not related:
            return
        positions = related_positions(self.position)
        for number in related:
            memory, adds = self.reactions.related[number]
            count = sum(map(self._memories[memory].__getitem__, positions))
            change = count - self._related[number]
            self._related[number] = count
            for which, coefficient in adds:
                self.sums[which] += coefficient * change


def generate(program: CraspProgram, word: str | Iterable[str]) -> Iterator[str]:
    """Generate the chain of thought of a program on a word; it ends with ACC or REJ, or is infinite.

    Raises:
        InputError: If a symbol is not in the alphabet.
        NoNextTokenError: If no rule applies.
        ConstructionError: If a term of the program has too many cases.
        UsageError: If the program has no rules.
    """
    symbols = program.word(word)
    if not program.rules:
        raise UsageError(f"{program.name!r} has no rules, so it has no chain of thought")
    return continue_chain(program, _state_after(program, symbols))


def continue_chain(program: CraspProgram, counts: RunningCounts) -> Iterator[str]:
    """Generate the tokens of a program from a state; for a program without rules, only the verdict.

    Raises:
        NoNextTokenError: If no rule applies.
    """
    reactions = counts.reactions
    while True:
        number = counts.next_token()
        if number == NO_RULE:
            last = reactions.tokens[counts.token - 1] if counts.position else None
            raise stuck_error(program, counts.position, last)
        token = reactions.tokens[number - 1]
        yield token
        if token in VERDICTS:
            return
        counts.append(number)


def run(program: CraspProgram, word: str | Iterable[str], *, max_tokens: int = MAX_TOKENS) -> CraspResult:
    """Run a program on a word: its chain of thought, or the value of its acceptance formula at the last position.

    Raises:
        InputError: If a symbol is not in the alphabet.
        NoNextTokenError: If no rule applies.
        ConstructionError: If a term of the program has too many cases.
    """
    symbols = program.word(word)
    if program.rules:
        tokens = tuple(islice(generate(program, symbols), max_tokens))
        return CraspResult(program, symbols, tokens, VERDICTS.get(tokens[-1]) if tokens else None)
    counting = _state_after(program, symbols)
    return CraspResult(program, symbols, (), VERDICTS[counting.reactions.tokens[counting.next_token() - 1]])


def accept_prefixes(program: CraspProgram, word: str | Iterable[str]) -> Iterator[bool]:
    """The value of the acceptance formula of a program without rules after each prefix, the empty one first.

    Raises:
        InputError: If a symbol is not in the alphabet.
        ConstructionError: If a term of the program has too many cases.
    """
    counting = RunningCounts(get_transition_table(program))
    reactions = counting.reactions
    yield reactions.tokens[counting.next_token() - 1] == ACCEPT
    for symbol in program.word(word):
        counting.append(reactions.number[symbol])
        yield reactions.tokens[counting.next_token() - 1] == ACCEPT


def _state_after(program: CraspProgram, symbols: Iterable[str]) -> RunningCounts:
    """The state after a word."""
    counting = RunningCounts(get_transition_table(program))
    for symbol in symbols:
        counting.append(counting.reactions.number[symbol])
    return counting
