"""Nondeterministic machines with a read-only input tape and a work tape of O(log n) cells, as validated data.

The input w is in cells 1 to n, between the end markers < and >; the head may visit the markers, and no rule moves past
them. The work tape has s(n) = a·⌈log₂(n + 1)⌉ + b cells, initially blank, between the same markers. Both heads start
on <. A rule gives the symbols read on both tapes, the symbol written on the work tape, and the moves of both heads; if
several rules apply, the machine may take any of them. It accepts if some choice leads to an accepting state.

The reference interpreter is a breadth-first search of the configuration graph.

Machines are written in ``.nl`` files:

    machine equal-blocks                  the name
    input 1 #                             the input alphabet
    work 0 1                              the symbols of the work tape, without the blank _
    space 2 log + 1                       2⌈log₂(n + 1)⌉ + 1 cells
    start seek
    accept yes

    seek 1 <  ->  seek  <  R S            state, input, work -> state, symbol written, moves of both heads
    seek * <  ->  count <  R S            * matches every letter (not < and >); a second matching rule is a choice
    count 1 * ->  back  *  S L            on the work tape, * matches any symbol or blank; written, it copies the symbol

Moves are L, S and R. < and > are the end markers of both tapes. A line that begins with # is a comment.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from softmachine.languages.source import (
    WordSource,
    check_source_length,
    default_name,
    find_name_problems,
    find_repetitions,
)
from softmachine.support.errors import InvalidError, SourceError, SourceLocation, UsageError
from softmachine.support.notebook_html import html_table

LEFT_END, RIGHT_END = "<", ">"
"""The end markers of both tapes."""
BLANK = "_"
MOVES = {"L": -1, "S": 0, "R": 1}
MAX_RULES = 10_000


@dataclass(frozen=True)
class Rule:
    """A transition.

    Args:
        state: The current state.
        input_symbol: The symbol under the input head.
        work_symbol: The symbol under the work head.
        next: The next state.
        written_symbol: The symbol written on the work tape; end markers cannot be overwritten.
        move: Move of the input head: L, S or R.
        work_move: Move of the work head.
        place: Location in the source.
    """

    state: str
    input_symbol: str
    work_symbol: str
    next: str
    written_symbol: str
    move: str
    work_move: str
    place: SourceLocation | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        left = f"{self.state} {self.input_symbol} {self.work_symbol}"
        return f"{left} -> {self.next} {self.written_symbol} {self.move} {self.work_move}"


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
class LogspaceMachine(WordSource):
    """A nondeterministic logspace machine. All problems of a definition are reported at once.

    Args:
        name: Name of the machine.
        alphabet: The input alphabet.
        work_symbols: The symbols of the work tape, without the blank _.
        log_factor: a, of the a·⌈log₂(n + 1)⌉ + b cells of the work tape.
        extra_cells: b.
        start: The start state.
        accept: The accepting states.
        rules: The transitions.
        place: Location in the source.
    """

    language: ClassVar[str] = "logspace"
    default_input: ClassVar[tuple[str, ...]] = ()
    name: str
    alphabet: tuple[str, ...]
    work_symbols: tuple[str, ...]
    log_factor: int
    extra_cells: int
    start: str
    accept: tuple[str, ...]
    rules: tuple[Rule, ...]
    place: SourceLocation | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        names = (self.name, *self.alphabet, *self.work_symbols, *self.states)
        problems = find_name_problems(names) or list(_find_problems(self))
        if problems:
            raise InvalidError(f"machine {self.name!r}", problems[:20], place=self.place)

    @property
    def states(self) -> tuple[str, ...]:
        """All states, in order of first occurrence."""
        named = (state for rule in self.rules for state in (rule.state, rule.next))
        return tuple(dict.fromkeys((self.start, *named, *self.accept)))

    def work_cells(self, length: int) -> int:
        """s(n): the number of cells of the work tape."""
        return self.log_factor * length.bit_length() + self.extra_cells

    def initial_configuration(self, length: int) -> Configuration:
        """The initial configuration on words of a length."""
        return Configuration(self.start, 0, 0, (BLANK,) * self.work_cells(length))

    def count_configurations(self, length: int) -> int:
        """The number of configurations on words of a length, which is polynomial in it."""
        space = self.work_cells(length)
        return len(self.states) * (length + 2) * (space + 2) * int((len(self.work_symbols) + 1) ** space)

    def __str__(self) -> str:
        space = f"{self.log_factor}⌈log₂(n + 1)⌉ + {self.extra_cells}"
        return f"machine {self.name}: {len(self.states)} states, {len(self.rules)} rules, work tape of {space} cells"

    def _repr_html_(self) -> str:
        return html_table([[str(rule)] for rule in self.rules[:100]], str(self))


def _find_problems(machine: LogspaceMachine) -> Iterator[str]:
    """All problems of a definition, one sentence each."""
    if len(machine.rules) > MAX_RULES:
        yield f"it has {len(machine.rules):,} rules; at most {MAX_RULES:,} are allowed"
        return
    for what, symbols in (("letter", machine.alphabet), ("work symbol", machine.work_symbols)):
        yield from find_repetitions(symbols, f"the {what} {{!r}} is listed {{}} times")
        for symbol in dict.fromkeys(symbols):
            if symbol in (LEFT_END, RIGHT_END) or (what == "work symbol" and symbol == BLANK):
                yield f"{symbol!r} is not a {what}: < and > are end markers, and {BLANK} is the blank of the work tape"
    if not machine.accept:
        yield "it has no accepting state"
    if (
        not 0 <= machine.log_factor <= 8
        or not 0 <= machine.extra_cells <= 64
        or machine.log_factor + machine.extra_cells == 0
    ):
        yield (
            f"its work tape has {machine.log_factor} log + {machine.extra_cells} cells; "
            "the numbers are at most 8 and 64, and not both 0"
        )
    for rule in machine.rules:
        where = f"the rule {rule}" + (f" ({rule.place})" if rule.place else "")
        for problem in _rule_problems(machine, rule):
            yield f"{where} {problem}"


def _rule_problems(machine: LogspaceMachine, rule: Rule) -> Iterator[str]:
    marks = (LEFT_END, RIGHT_END)
    if rule.input_symbol not in (*machine.alphabet, *marks):
        yield f"reads {rule.input_symbol!r}, which is not a letter; the letters are {' '.join(machine.alphabet)}"
    for symbol in (rule.work_symbol, rule.written_symbol):
        if symbol not in (*machine.work_symbols, BLANK, *marks):
            yield f"has {symbol!r} on the work tape, which is not one of {' '.join(machine.work_symbols)} {BLANK}"
    if rule.work_symbol != rule.written_symbol and (rule.work_symbol in marks or rule.written_symbol in marks):
        yield "overwrites an end marker of the work tape, or writes one"
    for move, symbol, tape in (
        (rule.move, rule.input_symbol, "the input"),
        (rule.work_move, rule.work_symbol, "the work tape"),
    ):
        if move not in MOVES:
            yield f"moves {move!r}; a head moves L, S or R"
        if (symbol, move) in ((LEFT_END, "L"), (RIGHT_END, "R")):
            yield f"leaves {tape}: it moves {move} from {symbol}"


MAX_CONFIGURATIONS = 1_000_000
"""Maximum number of configurations explored."""


def successors(machine: LogspaceMachine, configuration: Configuration, input_symbol: str) -> Iterator[Configuration]:
    """The successors of a configuration whose input head reads a given symbol."""
    if configuration.state in machine.accept:
        return
    tape = (LEFT_END, *configuration.work, RIGHT_END)
    for rule in machine.rules:
        if (rule.state, rule.input_symbol, rule.work_symbol) == (
            configuration.state,
            input_symbol,
            tape[configuration.work_head],
        ):
            written = (*tape[: configuration.work_head], rule.written_symbol, *tape[configuration.work_head + 1 :])
            head = configuration.head + MOVES[rule.move]
            work_head = configuration.work_head + MOVES[rule.work_move]
            yield Configuration(rule.next, head, work_head, written[1:-1])


def reachable_configurations(machine: LogspaceMachine, word: Iterable[str]) -> list[Configuration]:
    """Every configuration that is reachable on a word, in breadth-first order.

    Raises:
        UsageError: If there are more than `MAX_CONFIGURATIONS`.
    """
    letters = machine.word(word)
    tape = (LEFT_END, *letters, RIGHT_END)
    first = machine.initial_configuration(len(letters))
    known = {first}
    for configuration in (queue := [first]):
        for after in successors(machine, configuration, tape[configuration.head]):
            if after not in known:
                known.add(after)
                queue.append(after)
        if len(known) > MAX_CONFIGURATIONS:
            raise UsageError(f"{machine.name!r} has more than {MAX_CONFIGURATIONS:,} configurations on this word")
    return queue


def accepts(machine: LogspaceMachine, word: Iterable[str]) -> bool:
    """Whether some sequence of choices leads to an accepting state."""
    return any(configuration.state in machine.accept for configuration in reachable_configurations(machine, word))


WILDCARD = "*"
ARROW = "->"
SPACE_PATTERN = re.compile(r"(?:(?P<factor>\d{0,3})\s*log)?\s*(?P<plus>\+)?\s*(?P<cells>\d{1,3})?")
HEADERS = {
    "machine": "a name",
    "input": "letters",
    "work": "symbols",
    "space": "",
    "start": "a state",
    "accept": "states",
}
RULE_HINT = "a rule is written as in: count 1 _ -> count 1 R S (state, input, work -> state, written, both moves)"


def parse(text: str, *, source: str = "<string>", name: str | None = None) -> LogspaceMachine:
    """Parse a logspace machine.

    Raises:
        SourceError: If there is a syntax error.
        InvalidError: If the machine is not valid.
    """
    check_source_length(text, source, "a machine may have")
    header: dict[str, list[str]] = {}
    rows: list[tuple[list[str], SourceLocation]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        words = [] if line.lstrip().startswith("#") else line.split()
        place = SourceLocation(source, number, len(line) - len(line.lstrip()) + 1)
        if ARROW in words:
            rows.append((_format_rule(words, line, place), place))
        elif words and words[0] in HEADERS:
            if words[0] in header:
                raise SourceError(f"there is already a line that begins with {words[0]!r}", place=place)
            header[words[0]] = words[1:]
        elif words:
            raise SourceError(f"this is not a rule\n    {line.strip()[:100]}", place=place, hint=RULE_HINT)
    for keyword in ("input", "space", "start", "accept"):
        if not header.get(keyword):
            raise SourceError(
                f"there is no line that begins with {keyword!r}",
                place=SourceLocation(source),
                hint=f"write {keyword} and {HEADERS[keyword] or 'the number of cells, as in: space 1 log + 1'}",
            )
    factor, cells = _parse_space(" ".join(header["space"]), source)
    letters, symbols = tuple(header["input"]), tuple(header.get("work", ()))
    return LogspaceMachine(
        name=name or " ".join(header.get("machine", ())) or default_name(source) or "machine",
        alphabet=letters,
        work_symbols=symbols,
        log_factor=factor,
        extra_cells=cells,
        start=header["start"][0],
        accept=tuple(header["accept"]),
        rules=tuple(rule for row, place in rows for rule in _expand_rules(row, letters, (*symbols, BLANK), place)),
        place=SourceLocation(source),
    )


def to_text(machine: LogspaceMachine) -> str:
    """Format a machine as source text, which `parse` accepts; rules with * are expanded."""
    work = [f"work {' '.join(machine.work_symbols)}"] if machine.work_symbols else []
    head = [
        f"machine {machine.name}",
        f"input {' '.join(machine.alphabet)}",
        *work,
        f"space {machine.log_factor} log + {machine.extra_cells}",
        f"start {machine.start}",
        f"accept {' '.join(machine.accept)}",
    ]
    return "\n".join([*head, "", *map(str, machine.rules)]) + "\n"


def _format_rule(words: list[str], line: str, place: SourceLocation) -> list[str]:
    left, right = words[: words.index(ARROW)], words[words.index(ARROW) + 1 :]
    if len(left) != 3 or len(right) != 4:
        raise SourceError(
            f"a rule has 3 words before the arrow and 4 after it, not {len(left)} and {len(right)}\n"
            f"    {line.strip()[:100]}",
            place=place,
            hint=RULE_HINT,
        )
    return [*left, *right]


def _expand_rules(
    row: list[str], letters: tuple[str, ...], symbols: tuple[str, ...], place: SourceLocation
) -> Iterator[Rule]:
    """Expand a line into its rules."""
    state, reads, work, after, writes, move, work_move = row
    for letter in letters if reads == WILDCARD else (reads,):
        for symbol in symbols if work == WILDCARD else (work,):
            written = symbol if writes == WILDCARD else writes
            yield Rule(state, letter, symbol, after, written, move, work_move, place)


def _parse_space(text: str, source: str) -> tuple[int, int]:
    found = SPACE_PATTERN.fullmatch(text.strip())
    if found is None or (("log" in text) and bool(found["plus"]) is not bool(found["cells"])):
        raise SourceError(
            f"{text!r} is not a number of cells",
            place=SourceLocation(source),
            hint="write, for example: space 2 log + 1",
        )
    factor = int(found["factor"] or 1) if "log" in text else 0
    return factor, int(found["cells"] or 0)
