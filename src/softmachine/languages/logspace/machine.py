"""Nondeterministic machines with a read-only input tape and a work tape of O(log n) cells, as validated data.

The input w is in cells 1 to n, between the end markers < and >; the head may visit the markers, and no rule moves past
them. The work tape has s(n) = a·⌈log₂(n + 1)⌉ + b cells, initially blank, between the same markers. Both heads start
on <. A rule gives the symbols read on both tapes, the symbol written on the work tape, and the moves of both heads; if
several rules apply, the machine may take any of them. It accepts if some choice leads to an accepting state.

Reference interpreter of logspace machines: breadth-first search of the configuration graph.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from softmachine.languages.source import OfWords, name_problems
from softmachine.support.errors import InvalidError, Place, UsageError
from softmachine.support.notebook_html import html_table

LEFT, RIGHT = "<", ">"
"""The end markers of both tapes."""
BLANK = "_"
MOVES = {"L": -1, "S": 0, "R": 1}
MOST_RULES = 10_000


@dataclass(frozen=True)
class Rule:
    """A transition.

    Args:
        state: The current state.
        reads: The symbol under the input head.
        work: The symbol under the work head.
        next: The next state.
        writes: The symbol written on the work tape; end markers cannot be overwritten.
        move: Move of the input head: L, S or R.
        work_move: Move of the work head.
        place: Location in the source.
    """

    state: str
    reads: str
    work: str
    next: str
    writes: str
    move: str
    work_move: str
    place: Place | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        left = f"{self.state} {self.reads} {self.work}"
        return f"{left} -> {self.next} {self.writes} {self.move} {self.work_move}"


@dataclass(frozen=True)
class Configuration:
    """A configuration: state, positions of both heads, and contents of the work tape."""

    state: str
    head: int
    work_head: int
    work: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.state}@{self.head},{self.work_head}:{''.join(self.work)}"


@dataclass(frozen=True, kw_only=True)
class LogspaceMachine(OfWords):
    """A nondeterministic logspace machine. All problems of a definition are reported at once.

    Args:
        name: Name of the machine.
        alphabet: The input alphabet.
        symbols: The symbols of the work tape, without the blank _.
        factor: a, of the a·⌈log₂(n + 1)⌉ + b cells of the work tape.
        cells: b.
        start: The start state.
        accept: The accepting states.
        rules: The transitions.
        place: Location in the source.
    """

    language: ClassVar[str] = "logspace"
    default_input: ClassVar[tuple[str, ...]] = ()
    name: str
    alphabet: tuple[str, ...]
    symbols: tuple[str, ...]
    factor: int
    cells: int
    start: str
    accept: tuple[str, ...]
    rules: tuple[Rule, ...]
    place: Place | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        names = (self.name, *self.alphabet, *self.symbols, *self.states)
        problems = name_problems(names) or list(_problems(self))
        if problems:
            raise InvalidError(f"machine {self.name!r}", problems[:20], place=self.place)

    @property
    def states(self) -> tuple[str, ...]:
        """All states, in order of first occurrence."""
        named = (state for rule in self.rules for state in (rule.state, rule.next))
        return tuple(dict.fromkeys((self.start, *named, *self.accept)))

    def space(self, length: int) -> int:
        """s(n): the number of cells of the work tape."""
        return self.factor * length.bit_length() + self.cells

    def initial(self, length: int) -> Configuration:
        """The initial configuration on words of a length."""
        return Configuration(self.start, 0, 0, (BLANK,) * self.space(length))

    def configurations(self, length: int) -> int:
        """The number of configurations on words of a length, which is polynomial in it."""
        space = self.space(length)
        return len(self.states) * (length + 2) * (space + 2) * int((len(self.symbols) + 1) ** space)

    def __str__(self) -> str:
        space = f"{self.factor}⌈log₂(n + 1)⌉ + {self.cells}"
        return f"machine {self.name}: {len(self.states)} states, {len(self.rules)} rules, work tape of {space} cells"

    def _repr_html_(self) -> str:
        return html_table([[str(rule)] for rule in self.rules[:100]], str(self))


def _problems(machine: LogspaceMachine) -> Iterator[str]:
    """All problems of a definition, one sentence each."""
    if len(machine.rules) > MOST_RULES:
        yield f"it has {len(machine.rules):,} rules; at most {MOST_RULES:,} are allowed"
        return
    for what, symbols in (("letter", machine.alphabet), ("work symbol", machine.symbols)):
        for symbol, times in Counter(symbols).items():
            if times > 1:
                yield f"the {what} {symbol!r} is listed {times} times"
            if symbol in (LEFT, RIGHT) or (what == "work symbol" and symbol == BLANK):
                yield f"{symbol!r} is not a {what}: < and > are end markers, and {BLANK} is the blank of the work tape"
    if not machine.accept:
        yield "it has no accepting state"
    if not 0 <= machine.factor <= 8 or not 0 <= machine.cells <= 64 or machine.factor + machine.cells == 0:
        yield (
            f"its work tape has {machine.factor} log + {machine.cells} cells; "
            "the numbers are at most 8 and 64, and not both 0"
        )
    for rule in machine.rules:
        where = f"the rule {rule}" + (f" ({rule.place})" if rule.place else "")
        for problem in _rule_problems(machine, rule):
            yield f"{where} {problem}"


def _rule_problems(machine: LogspaceMachine, rule: Rule) -> Iterator[str]:
    marks = (LEFT, RIGHT)
    if rule.reads not in (*machine.alphabet, *marks):
        yield f"reads {rule.reads!r}, which is not a letter; the letters are {' '.join(machine.alphabet)}"
    for symbol in (rule.work, rule.writes):
        if symbol not in (*machine.symbols, BLANK, *marks):
            yield f"has {symbol!r} on the work tape, which is not one of {' '.join(machine.symbols)} {BLANK}"
    if rule.work != rule.writes and (rule.work in marks or rule.writes in marks):
        yield "overwrites an end marker of the work tape, or writes one"
    for move, symbol, tape in ((rule.move, rule.reads, "the input"), (rule.work_move, rule.work, "the work tape")):
        if move not in MOVES:
            yield f"moves {move!r}; a head moves L, S or R"
        if (symbol, move) in ((LEFT, "L"), (RIGHT, "R")):
            yield f"leaves {tape}: it moves {move} from {symbol}"


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
