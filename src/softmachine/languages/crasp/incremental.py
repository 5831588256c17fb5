"""Streaming interpreter of C-RASP with running counts: constant time per token."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from softmachine.languages.crasp.evaluate import stuck
from softmachine.languages.crasp.program import ACCEPT, REJECT, Program
from softmachine.languages.crasp.reactions import START, STUCK, Reactions, prepared
from softmachine.languages.crasp.relation import FARTHEST, row
from softmachine.support.errors import UsageError

MAX_TOKENS = 10_000_000
VERDICTS = {ACCEPT: "accept", REJECT: "reject"}


@dataclass(frozen=True)
class Result:
    """The result of a run.

    Args:
        program: The program.
        word: The word.
        tokens: The chain of thought, including the verdict; empty for a program without rules.
        verdict: "accept" or "reject"; None if the token limit was reached.
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
        # The values at the positions that rows of R contain. Position 0 is in no row.
        self._memories: dict[int, list[bool]] = defaultdict(lambda: [False])

    def copy(self) -> Counting:
        """An independent copy.

        Raises:
            UsageError: If the program counts through R, which depends on positions.
        """
        if self.reactions.related:
            raise UsageError("cannot copy the state of a program that counts through R: it depends on positions")
        other = Counting(self.reactions)
        other.position, other.token, other.sums = self.position, self.token, list(self.sums)
        return other

    def append(self, token: int) -> None:
        """Append a token."""
        self.position += 1
        self.token = token
        reaction = self.reactions[token]
        sums = self.sums
        for which, change in reaction.adds:
            sums[which] += change
        for tracked in reaction.tracked:
            if not tracked.adds and self.position > FARTHEST:
                continue
            self._look_up(tracked.related)
            holds = tracked.decision.outcome(sums) == 1
            if holds:
                for which, change in tracked.adds:
                    sums[which] += change
            if tracked.memory is not None and self.position <= FARTHEST:
                self._memories[tracked.memory].append(holds)
        self._look_up(reaction.related)

    def next_token(self) -> int:
        """The index of the next token; `STUCK` if no rule applies."""
        return self.reactions[self.token].follows.outcome(self.sums)

    def _look_up(self, related: tuple[int, ...]) -> None:
        """Update these counts through R."""
        if not related:
            return
        positions = row(self.position)
        for number in related:
            memory, adds = self.reactions.related[number]
            count = sum(map(self._memories[memory].__getitem__, positions))
            change = count - self._related[number]
            self._related[number] = count
            for which, coefficient in adds:
                self.sums[which] += coefficient * change


def generate(program: Program, word: str | Iterable[str]) -> Iterator[str]:
    """Generate the chain of thought of a program on a word; it ends with ACC or REJ, or is infinite.

    Raises:
        InputError: If a symbol is not in the alphabet.
        StuckError: If no rule applies.
        ConstructionError: If a term of the program has too many cases.
        UsageError: If the program has no rules.
    """
    symbols = program.word(word)
    if not program.rules:
        raise UsageError(f"{program.name!r} has no rules, so it has no chain of thought")
    return thoughts(program, _read(program, symbols))


def thoughts(program: Program, counting: Counting) -> Iterator[str]:
    """Generate the tokens of a program from a state; for a program without rules, only the verdict.

    Raises:
        StuckError: If no rule applies.
    """
    reactions = counting.reactions
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
    """Run a program on a word: its chain of thought, or the value of its acceptance formula at the last position.

    Raises:
        InputError: If a symbol is not in the alphabet.
        StuckError: If no rule applies.
        ConstructionError: If a term of the program has too many cases.
    """
    symbols = program.word(word)
    if program.rules:
        tokens = tuple(islice(generate(program, symbols), max_tokens))
        return Result(program, symbols, tokens, VERDICTS.get(tokens[-1]) if tokens else None)
    counting = _read(program, symbols)
    return Result(program, symbols, (), VERDICTS[counting.reactions.tokens[counting.next_token() - 1]])


def prefixes(program: Program, word: str | Iterable[str]) -> Iterator[bool]:
    """The value of the acceptance formula of a program without rules after each prefix, the empty one first.

    Raises:
        InputError: If a symbol is not in the alphabet.
        ConstructionError: If a term of the program has too many cases.
    """
    counting = Counting(prepared(program))
    reactions = counting.reactions
    yield reactions.tokens[counting.next_token() - 1] == ACCEPT
    for symbol in program.word(word):
        counting.append(reactions.number[symbol])
        yield reactions.tokens[counting.next_token() - 1] == ACCEPT


def _read(program: Program, symbols: Iterable[str]) -> Counting:
    """The state after a word."""
    counting = Counting(prepared(program))
    for symbol in symbols:
        counting.append(counting.reactions.number[symbol])
    return counting
