"""Deterministic automaton of a C-RASP program (Lemma 4.2 of "Softmax Transformers are Turing-Complete").

The last token and the counts of a prefix determine all further outputs of a program without relations, including its
chain of thought. They are the states of an automaton for the words up to length n; their number is polynomial, since a
count is at most n. A language that needs more states has no such program.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from softmachine.languages.crasp.program import CraspProgram
from softmachine.languages.crasp.streaming_interpreter import (
    VERDICTS,
    RunningCounts,
    continue_chain,
    get_transition_table,
)
from softmachine.support.errors import UsageError

MAX_STATES = 1 << 18
MAX_COT_TOKENS = 100_000
"""Longer chains of thought count as nonterminating."""


@dataclass(frozen=True)
class Automaton:
    """Deterministic automaton for the words up to a length; state 0 is initial.

    Args:
        alphabet: The letters.
        length: Maximum length of words.
        levels: For each state the number of letters read.
        transitions: For each state the successor for each letter; empty after words of maximum length.
        accepting: For each state whether it is accepting.
    """

    alphabet: tuple[str, ...]
    length: int
    levels: tuple[int, ...]
    transitions: tuple[tuple[int, ...], ...]
    accepting: tuple[bool, ...]

    @property
    def size(self) -> int:
        """The number of states."""
        return len(self.levels)

    def accepts(self, word: tuple[str, ...]) -> bool:
        """Whether a word of at most the maximum length is accepted."""
        state = 0
        for letter in word:
            state = self.transitions[state][self.alphabet.index(letter)]
        return self.accepting[state]

    def count_classes(self, length: int) -> tuple[int, ...]:
        """Return the number of states of the minimal automaton for the words of one length, per prefix length."""
        known: dict[int, int] = {}
        numbers = []
        for level in range(length, -1, -1):
            groups: dict[object, int] = {}
            for state, own in enumerate(self.levels):
                if own == level:
                    key = (
                        self.accepting[state]
                        if level == length
                        else tuple(known[after] for after in self.transitions[state])
                    )
                    known[state] = groups.setdefault(key, len(groups))
            numbers.append(len(groups))
        return tuple(reversed(numbers))


def build_automaton(program: CraspProgram, length: int) -> Automaton:
    """Build the automaton of a program for the words up to a length.

    Raises:
        UsageError: If the program counts through R, has too many states, or does not terminate.
    """
    first = RunningCounts(get_transition_table(program))
    states: dict[tuple[int, ...], int] = {_state_key(first): 0}
    waiting = [first.copy()]
    following: list[tuple[int, ...]] = []
    for counting in waiting:  # grows during iteration
        after = []
        for letter in program.alphabet if counting.position < length else ():
            later = counting.copy()
            later.append(counting.reactions.number[letter])
            if (key := _state_key(later)) not in states:
                states[key] = len(states)
                waiting.append(later)
            after.append(states[key])
        following.append(tuple(after))
        if len(states) > MAX_STATES:
            raise UsageError(
                f"the automaton of {program.name!r} for length {length} has more than {MAX_STATES:,} states"
            )
    accepting = tuple(_is_accepting(program, counting) for counting in waiting)
    return Automaton(program.alphabet, length, tuple(each.position for each in waiting), tuple(following), accepting)


def _state_key(counting: RunningCounts) -> tuple[int, ...]:
    return (counting.position, counting.token, *counting.sums)


def _is_accepting(program: CraspProgram, counting: RunningCounts) -> bool:
    """Run a program from a state, and return whether it accepts."""
    tokens = list(islice(continue_chain(program, counting.copy()), MAX_COT_TOKENS))
    if not tokens or tokens[-1] not in VERDICTS:
        raise UsageError(f"{program.name!r} does not terminate within {MAX_COT_TOKENS:,} tokens")
    return VERDICTS[tokens[-1]] == "accept"
