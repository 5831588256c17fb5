"""One-line format of bbchallenge.org for busy beavers, as in ``1RB1LB_1LA0LC_1RZ1LD_1RD0RA``: parser and printer.

One row per state (A, B, ...), separated by ``_``; in a row one rule per symbol (0, 1, ...), three characters each: the
symbol to write, L or R, the next state. ``---`` is a missing rule. A state without a row, whatever its letter, is the
halting state; the parser names it Z. The tape is infinite in both directions, and 0 is the blank.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from string import ascii_uppercase, digits

from softmachine.languages.formats import raise_inexpressible
from softmachine.languages.source import check_source_length, default_name
from softmachine.languages.turing.machine import Rule, TapeConvention, TuringMachine
from softmachine.support.errors import SourceError, SourceLocation

HALTING_STATE = "Z"
MISSING_RULE = "---"
CODE_HINT = "a code is like 1RB1LB_1LA1RZ: one row per state, three characters per rule, --- for a missing rule"


def parse(text: str, *, source: str = "<string>", name: str | None = None) -> TuringMachine:
    """Parse a bbchallenge code."""
    check_source_length(text, source, "a machine may be described in")
    code = text.strip()
    start = len(text) - len(text.lstrip())
    line, column = text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)
    rows = code.split("_")
    if not code or len(rows) > len(ascii_uppercase):
        problem = f"there are {len(rows)} rows, but only {len(ascii_uppercase)} letters for states"
        raise SourceError(problem if code else "the code is empty", place=SourceLocation(source, line), hint=CODE_HINT)
    rules: list[Rule] = []
    for state, row in zip(ascii_uppercase, rows, strict=False):
        place = SourceLocation(source, line, column)
        if not row or len(row) % 3 or len(row) != len(rows[0]):
            raise SourceError(
                f"the row of state {state} has {len(row)} characters; "
                f"it should have 3 for each of the symbols, as many as the row of A ({len(rows[0])})",
                place=place,
                hint=CODE_HINT,
            )
        rules += _parse_row(state, row, len(rows), place)
        column += len(row) + 1
    if len(rows[0]) > 3 * len(digits):
        raise SourceError(
            f"{len(rows[0]) // 3} symbols, but there are only ten digits", place=SourceLocation(source, line)
        )
    states = tuple(ascii_uppercase[: len(rows)])
    symbols = tuple(digits[: len(rows[0]) // 3])
    halts = HALTING_STATE not in states and any(rule.next == HALTING_STATE for rule in rules)
    return TuringMachine(
        name=name or default_name(source) or code,
        states=(*states, HALTING_STATE) if halts else states,
        alphabet=symbols[1:],
        symbols=symbols,
        blank=digits[0],
        rules=tuple(rules),
        start=states[0],
        place=SourceLocation(source, line),
    )


def _parse_row(state: str, row: str, states: int, place: SourceLocation) -> Iterator[Rule]:
    """Parse the rules of one state."""
    for index in range(0, len(row), 3):
        rule = row[index : index + 3]
        here = SourceLocation(place.source, place.line, (place.column or 1) + index)
        if rule == MISSING_RULE:
            continue
        if not re.fullmatch(r"[0-9][LR][A-Z]", rule):
            raise SourceError(f"{rule!r} is not a rule", place=here, hint=CODE_HINT)
        if int(rule[0]) >= len(row) // 3:
            raise SourceError(
                f"rule {rule!r} writes {rule[0]}, but there are rules only for the symbols 0 to {len(row) // 3 - 1}",
                place=here,
            )
        following = rule[2] if rule[2] in ascii_uppercase[:states] else HALTING_STATE
        yield Rule(state, (str(index // 3),), (rule[0],), (rule[1],), following, here)


def to_text(machine: TuringMachine) -> str:
    """Format a machine as a bbchallenge code."""
    raise_inexpressible(machine, "bbchallenge", _find_obstacles(machine))
    states = machine.states[:-1] if _has_halting_state(machine) else machine.states
    return "_".join(
        "".join(_format_rule(machine.find_rule(state, (symbol,))) for symbol in machine.symbols) for state in states
    )


def _format_rule(rule: Rule | None) -> str:
    return f"{rule.write[0]}{rule.move[0]}{rule.next}" if rule else MISSING_RULE


def _has_halting_state(machine: TuringMachine) -> bool:
    return machine.states[-1] == HALTING_STATE and all(rule.state != HALTING_STATE for rule in machine.rules)


def _find_obstacles(machine: TuringMachine) -> Iterator[str]:
    if machine.tapes != 1:
        yield f"it has {machine.tapes} tapes"
    if machine.tape is not TapeConvention.TWO_WAY:
        yield "its tape has a left end"
    if machine.halting_states:
        yield f"it has accepting or rejecting states ({' '.join(machine.halting_states)})"
    if machine.symbols != tuple(digits[: len(machine.symbols)]) or machine.blank != digits[0]:
        yield "its symbols are not 0, 1, ... in this order (at most 9), with the blank 0"
    elif machine.alphabet != machine.symbols[1:]:
        yield "not every non-blank symbol is in the input alphabet"
    letters = machine.states[:-1] if _has_halting_state(machine) else machine.states
    if letters != tuple(ascii_uppercase[: len(letters)]) or machine.start != "A" or not letters:
        yield "its states are not A, B, ... in this order, with the start state A, and Z for halting"
    elif letters != machine.states and all(rule.next != HALTING_STATE for rule in machine.rules):
        yield "no rule leads to its halting state Z"
    if any(move == "S" for rule in machine.rules for move in rule.move):
        yield "it has rules that do not move the head"
