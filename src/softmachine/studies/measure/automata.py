"""The automaton of Lemma 4.2 of "Softmax Transformers are Turing-Complete", built from a C-RASP program.

What a program without relations knows of a prefix is the last token and its counts, and they decide all that it says
afterwards, its chain of thought included. So these are the states of an automaton for the words up to length n: there
are polynomially many, since a count goes up to n. A language that needs more states than that has no such program.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from softmachine.languages.crasp.incremental import VERDICTS, Counting, thoughts
from softmachine.languages.crasp.program import Program
from softmachine.languages.crasp.reactions import prepared
from softmachine.support.errors import UsageError

MOST_STATES = 1 << 18
MOST_THOUGHTS = 100_000
"""A chain of thought that is longer is taken for one that does not end."""


@dataclass(frozen=True)
class Automaton:
    """A deterministic automaton for the words up to a length; state 0 is the first one.

    Args:
        alphabet: The letters.
        length: The longest words that it reads.
        levels: For each state how many letters were read.
        next: For each state the state after each letter; none after the longest words.
        accepting: For each state whether a word that ends there is accepted.
    """

    alphabet: tuple[str, ...]
    length: int
    levels: tuple[int, ...]
    next: tuple[tuple[int, ...], ...]
    accepting: tuple[bool, ...]

    @property
    def size(self) -> int:
        """The number of states."""
        return len(self.levels)

    def accepts(self, word: tuple[str, ...]) -> bool:
        """Whether a word, not longer than the longest, is accepted."""
        state = 0
        for letter in word:
            state = self.next[state][self.alphabet.index(letter)]
        return self.accepting[state]

    def classes(self, length: int) -> tuple[int, ...]:
        """How many states the smallest automaton for the words of one length has, for prefixes of each length."""
        known: dict[int, int] = {}
        numbers = []
        for level in range(length, -1, -1):
            groups: dict[object, int] = {}
            for state, own in enumerate(self.levels):
                if own == level:
                    key = (
                        self.accepting[state] if level == length else tuple(known[after] for after in self.next[state])
                    )
                    known[state] = groups.setdefault(key, len(groups))
            numbers.append(len(groups))
        return tuple(reversed(numbers))


def automaton(program: Program, length: int) -> Automaton:
    """The automaton of a program for the words up to a length.

    Raises:
        UsageError: If the program counts through R, has too many states, or does not come to an end.
    """
    first = Counting(prepared(program))
    states: dict[tuple[int, ...], int] = {_state(first): 0}
    waiting = [first.copy()]
    following: list[tuple[int, ...]] = []
    for counting in waiting:  # grows while it is gone through
        after = []
        for letter in program.alphabet if counting.position < length else ():
            later = counting.copy()
            later.append(counting.reactions.number[letter])
            if (key := _state(later)) not in states:
                states[key] = len(states)
                waiting.append(later)
            after.append(states[key])
        following.append(tuple(after))
        if len(states) > MOST_STATES:
            raise UsageError(
                f"the automaton of {program.name!r} for length {length} has more than {MOST_STATES:,} states"
            )
    accepting = tuple(_verdict(program, counting) for counting in waiting)
    return Automaton(program.alphabet, length, tuple(each.position for each in waiting), tuple(following), accepting)


def _state(counting: Counting) -> tuple[int, ...]:
    return (counting.position, counting.token, *counting.sums)


def _verdict(program: Program, counting: Counting) -> bool:
    """What a program says in the end, from a state on."""
    said = list(islice(thoughts(program, counting.copy()), MOST_THOUGHTS))
    if not said or said[-1] not in VERDICTS:
        raise UsageError(f"{program.name!r} does not come to an end in {MOST_THOUGHTS:,} tokens")
    return VERDICTS[said[-1]] == "accept"
