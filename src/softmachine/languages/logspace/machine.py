"""Nondeterministic machines with a read-only input tape and a work tape of O(log n) cells, as validated data.

The input w stands between the end marks < and >, in cells 1 to n; the head may stand on the marks, and no rule leaves
them. The work tape has s(n) = a·⌈log₂(n + 1)⌉ + b cells, blank at first, and the same marks around them. Both heads
start on <. A rule says what is read on both tapes, what is written on the work tape, and how both heads move; if
several rules fit, the machine may take any of them. It accepts if some choice leads to an accepting state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from softmachine.languages.source import OfWords, name_problems
from softmachine.support.errors import InvalidError, Place
from softmachine.support.notebook_html import html_table

LEFT, RIGHT = "<", ">"
"""The end marks of both tapes."""
BLANK = "_"
MOVES = {"L": -1, "S": 0, "R": 1}
MOST_RULES = 10_000


@dataclass(frozen=True)
class Rule:
    """What a machine may do in a state, on what it reads.

    Args:
        state: The state.
        reads: The symbol under the head of the input.
        work: The symbol under the head of the work tape.
        next: The state after it.
        writes: What is written on the work tape; end marks stay.
        move: How the head of the input moves: L, S or R.
        work_move: How that of the work tape moves.
        place: Where it is written.
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
    """A moment of a run: the state, both heads, and what is on the work tape."""

    state: str
    head: int
    work_head: int
    work: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.state}@{self.head},{self.work_head}:{''.join(self.work)}"


@dataclass(frozen=True, kw_only=True)
class LogspaceMachine(OfWords):
    """A machine that guesses, in logarithmic space. All problems of a definition are reported at once.

    Args:
        name: What people call it.
        alphabet: The letters of words.
        symbols: What may stand on the work tape, the blank _ apart.
        factor: a, of the a·⌈log₂(n + 1)⌉ + b cells of the work tape.
        cells: b.
        start: The state in which it starts.
        accept: The states in which it accepts.
        rules: What it may do.
        place: Where it was defined.
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
        """All states, in the order in which they are named."""
        named = (state for rule in self.rules for state in (rule.state, rule.next))
        return tuple(dict.fromkeys((self.start, *named, *self.accept)))

    def space(self, length: int) -> int:
        """s(n): how many cells the work tape has."""
        return self.factor * length.bit_length() + self.cells

    def initial(self, length: int) -> Configuration:
        """The first configuration on a word of a length."""
        return Configuration(self.start, 0, 0, (BLANK,) * self.space(length))

    def configurations(self, length: int) -> int:
        """How many configurations there are on words of a length: polynomially many."""
        space = self.space(length)
        return len(self.states) * (length + 2) * (space + 2) * int((len(self.symbols) + 1) ** space)

    def __str__(self) -> str:
        space = f"{self.factor}⌈log₂(n + 1)⌉ + {self.cells}"
        return f"machine {self.name}: {len(self.states)} states, {len(self.rules)} rules, work tape of {space} cells"

    def _repr_html_(self) -> str:
        return html_table([[str(rule)] for rule in self.rules[:100]], str(self))


def _problems(machine: LogspaceMachine) -> Iterator[str]:
    """Everything that is wrong with it, one sentence each."""
    if len(machine.rules) > MOST_RULES:
        yield f"it has {len(machine.rules):,} rules; at most {MOST_RULES:,} are allowed"
        return
    for what, symbols in (("letter", machine.alphabet), ("work symbol", machine.symbols)):
        for symbol, times in Counter(symbols).items():
            if times > 1:
                yield f"the {what} {symbol!r} is listed {times} times"
            if symbol in (LEFT, RIGHT) or (what == "work symbol" and symbol == BLANK):
                yield f"{symbol!r} is no {what}: < and > are end marks, and {BLANK} is the blank of the work tape"
    if not machine.accept:
        yield "it has no accepting state"
    if not 0 <= machine.factor <= 8 or not 0 <= machine.cells <= 64 or machine.factor + machine.cells == 0:
        yield f"its work tape has {machine.factor} log + {machine.cells} cells; the numbers are small, and not both 0"
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
            yield f"has {symbol!r} on the work tape, which is none of {' '.join(machine.symbols)} {BLANK}"
    if rule.work != rule.writes and (rule.work in marks or rule.writes in marks):
        yield "changes an end mark of the work tape, or writes one"
    for move, symbol, tape in ((rule.move, rule.reads, "the input"), (rule.work_move, rule.work, "the work tape")):
        if move not in MOVES:
            yield f"moves {move!r}; a head moves L, S or R"
        if (symbol, move) in ((LEFT, "L"), (RIGHT, "R")):
            yield f"leaves {tape}: it moves {move} from {symbol}"
