"""Parser and printer of logspace machines: ``.nl`` files.

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
from collections.abc import Iterator

from softmachine.languages.logspace.machine import BLANK, LogspaceMachine, Rule
from softmachine.languages.source import check_source_length, default_name
from softmachine.support.errors import SourceError, SourceLocation

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
