"""Printer of the YAML format of turingmachine.io; see `softmachine.languages.turing.turingmachine_io`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby

from softmachine.languages.formats import refuse
from softmachine.languages.turing.machine import Rule, Tape, TuringMachine

# Words that some YAML parsers do not treat as strings.
SPECIAL_WORDS = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"}
LONGEST_KEY = 1000
"""Keys longer than this are marked by ``?``, which YAML requires above 1,024 characters."""
SYMBOLS_A_LINE = 12


def to_text(machine: TuringMachine) -> str:
    """Format a machine as a turingmachine.io document, with softmachine's additional keys where needed."""
    refuse(machine, "turingmachine.io", _obstacles(machine))
    lines = [f"name: {_scalar(machine.name)}"]
    if machine.default_input:
        lines.append(f"input: {_input(machine, machine.default_input)}")
    lines += [f"blank: {_scalar(machine.blank)}", f"start state: {_scalar(machine.start)}", *_extensions(machine)]
    lines.append("table:")
    rules_of: dict[str, list[Rule]] = {state: [] for state in machine.states}
    for rule in machine.rules:
        rules_of[rule.state].append(rule)
    for state, rules in rules_of.items():
        lines.append("  " + _key(_scalar(state), 2))
        lines += _row(rules)
    return "\n".join(lines) + "\n"


def _obstacles(machine: TuringMachine) -> Iterator[str]:
    if machine.tapes != 1:
        yield f"it has {machine.tapes} tapes"
    if "" in machine.states:
        yield "it has a state without a name"


def _extensions(machine: TuringMachine) -> Iterator[str]:
    """Softmachine's additional keys, where the defaults would give a different machine."""
    if machine.tape is not Tape.TWO_WAY:
        yield f"tape: {machine.tape}"
    alphabet = machine.alphabet
    if alphabet == tuple(symbol for symbol in machine.symbols if symbol != machine.blank):
        alphabet = ()
    else:
        yield f"alphabet: {_list(alphabet)}"
    occurring = (symbol for rule in machine.rules for symbol in rule.read + rule.write)
    if machine.symbols != tuple(dict.fromkeys([machine.blank, *alphabet, *occurring, *machine.default_input])):
        yield f"symbols: {_list(machine.symbols)}"
    left = {rule.state for rule in machine.rules}
    for kind, states in (("accept", machine.accept), ("reject", machine.reject)):
        by_name = (state for state in machine.states if state.lower() in (kind, f"{kind}ed") and state not in left)
        if states != tuple(by_name):
            yield f"{kind} states: {_list(states)}"


def _row(rules: list[Rule]) -> Iterator[str]:
    """The lines of one state; adjacent rules with the same instruction share one."""
    for instruction, group in groupby(rules, key=_instruction):
        symbols = [rule.read[0] for rule in group]
        for first in range(0, len(symbols), SYMBOLS_A_LINE):
            some = symbols[first : first + SYMBOLS_A_LINE]
            key = _scalar(some[0]) if len(some) == 1 else _list(some)
            yield f"    {_key(key, 4)} {instruction}"


def _instruction(rule: Rule) -> str:
    move = "N" if rule.move == ("S",) else rule.move[0]
    write = "" if rule.write == rule.read else f"write: {_scalar(rule.write[0])}, "
    following = "" if rule.next == rule.state else f": {_scalar(rule.next)}"
    return f"{{{write}{move}{following}}}" if write or following else move


def _input(machine: TuringMachine, word: tuple[str, ...]) -> str:
    return _scalar("".join(word)) if all(len(symbol) == 1 for symbol in machine.symbols) else _list(word)


def _key(text: str, indent: int) -> str:
    return f"{text}:" if len(text) < LONGEST_KEY else f"? {text}\n{' ' * indent}:"


def _list(names: Iterable[str]) -> str:
    return f"[{', '.join(_scalar(name) for name in names)}]"


def _scalar(text: str) -> str:
    """A YAML scalar that every parser reads as this string."""
    if re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*|[0-9]|[1-9][0-9]*", text) and text.lower() not in SPECIAL_WORDS:
        return text
    if text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    escaped = (f"\\U{ord(character):08X}" if not character.isprintable() else character for character in text)
    return '"' + "".join("\\" + part if part in ('"', "\\") else part for part in escaped) + '"'
