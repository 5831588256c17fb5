"""Reference interpreter of logspace machines: breadth-first search of the configuration graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from softmachine.languages.logspace.machine import LEFT, MOVES, RIGHT, Configuration, LogspaceMachine
from softmachine.support.errors import UsageError

MOST_CONFIGURATIONS = 1_000_000
"""Maximum number of configurations explored."""


def following(machine: LogspaceMachine, configuration: Configuration, reads: str) -> Iterator[Configuration]:
    """The successors of a configuration whose input head reads a given symbol."""
    if configuration.state in machine.accept:
        return
    tape = (LEFT, *configuration.work, RIGHT)
    for rule in machine.rules:
        if (rule.state, rule.reads, rule.work) == (configuration.state, reads, tape[configuration.work_head]):
            written = (*tape[: configuration.work_head], rule.writes, *tape[configuration.work_head + 1 :])
            head = configuration.head + MOVES[rule.move]
            work_head = configuration.work_head + MOVES[rule.work_move]
            yield Configuration(rule.next, head, work_head, written[1:-1])


def reachable(machine: LogspaceMachine, word: Iterable[str]) -> list[Configuration]:
    """Every configuration that is reachable on a word, in breadth-first order.

    Raises:
        UsageError: If there are more than `MOST_CONFIGURATIONS`.
    """
    letters = machine.word(word)
    tape = (LEFT, *letters, RIGHT)
    first = machine.initial(len(letters))
    known = {first}
    for configuration in (queue := [first]):
        for after in following(machine, configuration, tape[configuration.head]):
            if after not in known:
                known.add(after)
                queue.append(after)
        if len(known) > MOST_CONFIGURATIONS:
            raise UsageError(f"{machine.name!r} has more than {MOST_CONFIGURATIONS:,} configurations on this word")
    return queue


def accepts(machine: LogspaceMachine, word: Iterable[str]) -> bool:
    """Whether some sequence of choices leads to an accepting state."""
    return any(configuration.state in machine.accept for configuration in reachable(machine, word))
