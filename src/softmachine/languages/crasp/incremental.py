"""The fast evaluator: a chain of thought with running counts, where a token costs the same however many came before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from softmachine.errors import UsageError
from softmachine.languages.crasp.evaluate import stuck
from softmachine.languages.crasp.program import ACCEPT, REJECT, Program
from softmachine.languages.crasp.reactions import START, STUCK, Reactions, prepared

MAX_TOKENS = 10_000_000
VERDICTS = {ACCEPT: "accept", REJECT: "reject"}


@dataclass(frozen=True)
class Result:
    """What a program made of a word.

    Args:
        program: The program.
        word: The word.
        tokens: The chain of thought, with the verdict; empty for a program without rules.
        verdict: "accept" or "reject"; None if the run was cut short.
    """

    program: Program
    word: tuple[str, ...]
    tokens: tuple[str, ...]
    verdict: str | None

    @property
    def accepted(self) -> bool:
        """Whether the word is accepted."""
        return self.verdict == "accept"


class Counting:
    """The running counts of a program on a growing sequence of tokens."""

    def __init__(self, reactions: Reactions) -> None:
        self.reactions = reactions
        self.position = 0
        self.token = START
        self.sums = [0] * reactions.sums
        self._related = [0] * len(reactions.related)
        # Position 0 is nobody's past.
        self._memories = [[False] for _ in reactions.farthest]
        self._rows: dict[str, tuple[int, Sequence[int]]] = {}
        self._react()

    def append(self, token: int) -> None:
        """Let a token follow."""
        self.position += 1
        self.token = token
        self._react()

    def next_token(self) -> int:
        """The number of the token that comes next; `STUCK` if no rule applies."""
        return self.reactions[self.token].follows.outcome(self.sums)

    def _react(self) -> None:
        reaction = self.reactions[self.token]
        sums = self.sums
        for which, change in reaction.adds:
            sums[which] += change
        if self.position:
            for memory, value in reaction.remembers:
                self._remember(memory, value)
            for related, entry, decision in reaction.tracked:
                if not entry.adds and entry.memory is not None and self._knows(entry.memory):
                    continue
                for index in related:
                    self._look_up(index)
                holds = decision.outcome(sums) == 1
                if holds:
                    for which, change in entry.adds:
                        sums[which] += change
                if entry.memory is not None:
                    self._remember(entry.memory, holds)
            for index in reaction.related:
                self._look_up(index)

    def _knows(self, memory: int) -> bool:
        """Whether a memory needs no more values."""
        farthest = self.reactions.farthest[memory]
        return farthest is not None and self.position > farthest

    def _remember(self, memory: int, value: bool) -> None:
        if not self._knows(memory):
            self._memories[memory].append(value)

    def _look_up(self, index: int) -> None:
        related = self.reactions.related[index]
        remembered = self._memories[related.memory]
        place, row = self._rows.get(related.relation.name, (0, ()))
        if place != self.position:
            row = related.relation.row(self.position)
            self._rows[related.relation.name] = self.position, row
        count = 0
        for j in row:
            count += remembered[j]
        change = count - self._related[index]
        if change:
            self._related[index] = count
            for which, coefficient in related.adds:
                self.sums[which] += coefficient * change


def generate(program: Program, word: str | Iterable[str]) -> Iterator[str]:
    """The chain of thought of a program on a word, token after token; it ends with ACC or REJ, or not at all.

    Raises:
        InputError: If a symbol is not in the alphabet.
        StuckError: If no rule applies.
        ConstructionError: If a term of the program has too many cases.
        UsageError: If the program has no rules.
    """
    symbols = program.word(word)
    if not program.rules:
        raise UsageError(f"{program.name!r} has no rules, so it writes no chain of thought")
    reactions = prepared(program)
    counting = Counting(reactions)
    for symbol in symbols:
        counting.append(reactions.number[symbol])
    while True:
        number = counting.next_token()
        if number == STUCK:
            last = reactions.tokens[counting.token - 1] if counting.position else None
            raise stuck(program, counting.position, last)
        token = reactions.tokens[number - 1]
        yield token
        if token in VERDICTS:
            return
        counting.append(number)


def run(program: Program, word: str | Iterable[str], *, max_tokens: int = MAX_TOKENS) -> Result:
    """What a program makes of a word: its chain of thought, or the truth of its formula at the last position.

    Raises:
        InputError: If a symbol is not in the alphabet.
        StuckError: If no rule applies.
        ConstructionError: If a term of the program has too many cases.
    """
    symbols = program.word(word)
    if program.rules:
        tokens = tuple(islice(generate(program, symbols), max_tokens))
        return Result(program, symbols, tokens, VERDICTS.get(tokens[-1]) if tokens else None)
    reactions = prepared(program)
    counting = Counting(reactions)
    for symbol in symbols:
        counting.append(reactions.number[symbol])
    return Result(program, symbols, (), VERDICTS[reactions.tokens[counting.next_token() - 1]])
