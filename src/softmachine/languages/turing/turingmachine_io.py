"""Parser and printer of the YAML format of turingmachine.io, both as typed there and as exported by the site.

A document has the keys ``blank``, ``start state``, ``table`` and optionally ``input`` and ``synonyms``. softmachine
adds these optional keys:

- ``accept states``, ``reject states``: lists of states. Default: the states without instructions whose name is
  accept(ed) or reject(ed).
- ``alphabet``: the input alphabet. Default: every symbol but the blank.
- ``symbols``: the list of all symbols. Default: those that occur.
- ``tape``: ``two-way``, ``stay`` or ``error``, see `softmachine.languages.turing.machine.TapeConvention`. Default:
  two-way.
- ``name``: the name of the machine.

A head that does not move is ``N``, as on the site, or ``S``. Symbols may have more than one character; an ``input`` is
then a list, or has spaces between its symbols.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from softmachine.languages.formats import raise_inexpressible
from softmachine.languages.source import check_source_length, default_name
from softmachine.languages.turing.located_nodes import YamlNode, parse_embedded, parse_yaml
from softmachine.languages.turing.machine import Rule, TapeConvention, TuringMachine
from softmachine.support.errors import SourceLocation

__all__ = ["parse", "to_text"]


# Words that some YAML parsers do not treat as strings.
SPECIAL_WORDS = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"}
MAX_PLAIN_KEY = 1000
"""Keys longer than this are marked by ``?``, which YAML requires above 1,024 characters."""
SYMBOLS_PER_LINE = 12


def to_text(machine: TuringMachine) -> str:
    """Format a machine as a turingmachine.io document, with softmachine's additional keys where needed."""
    raise_inexpressible(machine, "turingmachine.io", _find_obstacles(machine))
    lines = [f"name: {_format_scalar(machine.name)}"]
    if machine.default_input:
        lines.append(f"input: {_format_input(machine, machine.default_input)}")
    lines += [
        f"blank: {_format_scalar(machine.blank)}",
        f"start state: {_format_scalar(machine.start)}",
        *_format_extensions(machine),
    ]
    lines.append("table:")
    rules_of: dict[str, list[Rule]] = {state: [] for state in machine.states}
    for rule in machine.rules:
        rules_of[rule.state].append(rule)
    for state, rules in rules_of.items():
        lines.append("  " + _format_key(_format_scalar(state), 2))
        lines += _format_row(rules)
    return "\n".join(lines) + "\n"


def _find_obstacles(machine: TuringMachine) -> Iterator[str]:
    if machine.tapes != 1:
        yield f"it has {machine.tapes} tapes"
    if "" in machine.states:
        yield "it has a state without a name"


def _format_extensions(machine: TuringMachine) -> Iterator[str]:
    """Softmachine's additional keys, where the defaults would give a different machine."""
    if machine.tape is not TapeConvention.TWO_WAY:
        yield f"tape: {machine.tape}"
    alphabet = machine.alphabet
    if alphabet == tuple(symbol for symbol in machine.symbols if symbol != machine.blank):
        alphabet = ()
    else:
        yield f"alphabet: {_format_list(alphabet)}"
    occurring = (symbol for rule in machine.rules for symbol in rule.read + rule.write)
    if machine.symbols != tuple(dict.fromkeys([machine.blank, *alphabet, *occurring, *machine.default_input])):
        yield f"symbols: {_format_list(machine.symbols)}"
    left = {rule.state for rule in machine.rules}
    for kind, states in (("accept", machine.accept), ("reject", machine.reject)):
        by_name = (state for state in machine.states if state.lower() in (kind, f"{kind}ed") and state not in left)
        if states != tuple(by_name):
            yield f"{kind} states: {_format_list(states)}"


def _format_row(rules: list[Rule]) -> Iterator[str]:
    """The lines of one state; adjacent rules with the same instruction share one."""
    for instruction, group in groupby(rules, key=_format_instruction):
        symbols = [rule.read[0] for rule in group]
        for first in range(0, len(symbols), SYMBOLS_PER_LINE):
            some = symbols[first : first + SYMBOLS_PER_LINE]
            key = _format_scalar(some[0]) if len(some) == 1 else _format_list(some)
            yield f"    {_format_key(key, 4)} {instruction}"


def _format_instruction(rule: Rule) -> str:
    move = "N" if rule.move == ("S",) else rule.move[0]
    write = "" if rule.write == rule.read else f"write: {_format_scalar(rule.write[0])}, "
    following = "" if rule.next == rule.state else f": {_format_scalar(rule.next)}"
    return f"{{{write}{move}{following}}}" if write or following else move


def _format_input(machine: TuringMachine, word: tuple[str, ...]) -> str:
    return _format_scalar("".join(word)) if all(len(symbol) == 1 for symbol in machine.symbols) else _format_list(word)


def _format_key(text: str, indent: int) -> str:
    return f"{text}:" if len(text) < MAX_PLAIN_KEY else f"? {text}\n{' ' * indent}:"


def _format_list(names: Iterable[str]) -> str:
    return f"[{', '.join(_format_scalar(name) for name in names)}]"


def _format_scalar(text: str) -> str:
    """A YAML scalar that every parser reads as this string."""
    if re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*|[0-9]|[1-9][0-9]*", text) and text.lower() not in SPECIAL_WORDS:
        return text
    if text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    escaped = (f"\\U{ord(character):08X}" if not character.isprintable() else character for character in text)
    return '"' + "".join("\\" + part if part in ('"', "\\") else part for part in escaped) + '"'


WRAPPER_KEY = "source code"
KEYS = (
    "name", "input", "blank", "start state", "synonyms", "table",
    "alphabet", "symbols", "accept states", "reject states", "tape",
)  # fmt: skip
MOVES = {"L": "L", "R": "R", "N": "S", "S": "S"}
INSTRUCTION_HINT = "an instruction is like R, {L: state}, {write: x, R} or {write: x, R: state}, or a synonym"


def parse(text: str, *, source: str = "<string>", name: str | None = None) -> TuringMachine:
    """Parse a turingmachine.io document."""
    check_source_length(text, source, "a machine may be described in")
    root = parse_yaml(text, SourceLocation(source, 1, 1))
    entries = root.mapping_by_key("the document")
    if WRAPPER_KEY in entries:
        if not name and "name" in entries:
            name = entries["name"][1].scalar_text("'name'")
        root = parse_embedded(entries[WRAPPER_KEY][1], text, repr(WRAPPER_KEY))
    return _DocumentParser(root).parse_machine(name)


@dataclass(frozen=True)
class _Instruction:
    """An instruction; None means that the symbol or the state does not change."""

    move: str
    write: str | None = None
    next: str | None = None


class _DocumentParser:
    """Parser of one document."""

    def __init__(self, root: YamlNode) -> None:
        self.root = root
        self.entries = root.mapping_by_key("the document")
        for key, (node, _) in self.entries.items():
            if key not in KEYS:
                raise node.error(f"unknown key {key!r}", f"the keys are {', '.join(KEYS)}")
        self.table = self._required("table", "it maps states to their instructions").mapping_by_key("the table")
        self.synonyms = self._synonyms()

    def parse_machine(self, name: str | None) -> TuringMachine:
        """Build the machine, whose constructor validates it."""
        blank = self._text("blank", "name the symbol of an empty cell, as in blank: ' '")
        start = self._text("start state", "name one, as in start state: q0")
        self._known_state(self.entries["start state"][1])
        rules = [rule for state in self.table for rule in self._row(state)]
        occurring = dict.fromkeys(symbol for rule in rules for symbol in rule.read + rule.write)
        alphabet = self._list("alphabet")
        word = self._input([*(self._list("symbols") or ()), *(alphabet or occurring)])
        derived = dict.fromkeys([blank, *(alphabet or ()), *occurring, *word])
        symbols = self._list("symbols") or tuple(derived)
        return TuringMachine(
            name=name or self._optional_text("name") or default_name(self.root.place.source) or "machine",
            states=tuple(self.table),
            alphabet=tuple(symbol for symbol in symbols if symbol != blank) if alphabet is None else alphabet,
            symbols=symbols,
            blank=blank,
            rules=tuple(rules),
            start=start,
            accept=self._halting_states("accept", "reject", rules),
            reject=self._halting_states("reject", "accept", rules),
            tape=self._tape(),
            default_input=word,
            place=self.root.place,
        )

    def _required(self, key: str, hint: str) -> YamlNode:
        if key not in self.entries:
            raise self.root.error(f"there is no {key!r} in the document", hint)
        return self.entries[key][1]

    def _text(self, key: str, hint: str) -> str:
        node = self._required(key, hint)
        text = node.scalar_text(repr(key))
        if not text:
            raise node.error(f"{key!r} is empty", hint)
        return text

    def _optional_text(self, key: str) -> str | None:
        return self.entries[key][1].scalar_text(repr(key)) if key in self.entries else None

    def _list(self, key: str) -> tuple[str, ...] | None:
        """The entries of an optional list; None if the key is missing."""
        if key not in self.entries:
            return None
        node = self.entries[key][1]
        return () if node.is_null else tuple(text for text, _ in node.scalar_list(repr(key)))

    def _known_state(self, node: YamlNode) -> str:
        state = node.scalar_text("a state")
        if state not in self.table:
            raise node.error(
                f"state {state!r} is not in the table", f"list it, possibly without instructions: {state}:"
            )
        return state

    def _tape(self) -> TapeConvention:
        tape = self._optional_text("tape")
        if tape is not None and tape not in list(TapeConvention):
            raise self.entries["tape"][1].error(
                f"there is no tape {tape!r}", f"write one of {', '.join(TapeConvention)}"
            )
        return TapeConvention(tape) if tape else TapeConvention.TWO_WAY

    def _input(self, symbols: list[str]) -> tuple[str, ...]:
        """The example input: a list, or text, which is split into characters unless symbols are longer."""
        if "input" not in self.entries or self.entries["input"][1].kind == "list":
            return self._list("input") or ()
        text = self.entries["input"][1].scalar_text("'input'")
        return tuple(text if all(len(symbol) == 1 for symbol in symbols) else text.split())

    def _halting_states(self, kind: str, opposite: str, rules: list[Rule]) -> tuple[str, ...]:
        """The accepting or rejecting states: as listed or, by default, by their names."""
        key = f"{kind} states"
        listed = self._list(key)
        if listed:
            return tuple(self._known_state(node) for _, node in self.entries[key][1].scalar_list(repr(key)))
        if listed is not None:
            return ()
        taken = {rule.state for rule in rules} | set(self._list(f"{opposite} states") or ())
        return tuple(state for state in self.table if state.lower() in (kind, f"{kind}ed") and state not in taken)

    def _synonyms(self) -> dict[str, _Instruction]:
        if "synonyms" not in self.entries:
            return {}
        synonyms = {}
        for name, (key, value) in self.entries["synonyms"][1].mapping_by_key("the synonyms").items():
            if name in ("L", "R", "N"):
                raise key.error(f"{name} is a move and cannot be a synonym")
            synonyms[name] = self._instruction(value, {})
        return synonyms

    def _row(self, state: str) -> list[Rule]:
        """Parse the rules of one state."""
        key, row = self.table[state]
        if not state:
            raise key.error("a state has no name")
        rules = []
        for reads, node in row.mapping_pairs(f"the row of state {state!r}"):
            instruction = self._instruction(node, self.synonyms)
            for symbol, entry in reads.scalar_list("a list of symbols"):
                write = symbol if instruction.write is None else instruction.write
                following = state if instruction.next is None else instruction.next
                rules.append(Rule(state, (symbol,), (write,), (instruction.move,), following, entry.place))
        return rules

    def _instruction(self, node: YamlNode, synonyms: dict[str, _Instruction]) -> _Instruction:
        if node.kind == "mapping":
            return self._mapped_instruction(node)
        if node.is_null or node.kind == "list":
            raise node.error("an instruction is missing here", INSTRUCTION_HINT)
        if node.text in synonyms:
            return synonyms[node.text]
        if node.text not in MOVES:
            known = ", ".join(synonyms) or "there are none here"
            raise node.error(f"{node.text!r} is not a move, nor a synonym ({known})", INSTRUCTION_HINT)
        return _Instruction(MOVES[node.text])

    def _mapped_instruction(self, node: YamlNode) -> _Instruction:
        """Parse ``{write: x, R: state}``."""
        entries = node.mapping_by_key("an instruction")
        for name, (key, _) in entries.items():
            if name != "write" and name not in MOVES:
                raise key.error(f"unknown key {name!r} in an instruction", INSTRUCTION_HINT)
        moves = [name for name in entries if name in MOVES]
        if len(moves) != 1:
            problem = f"moves {' and '.join(moves)}" if moves else "has no move"
            raise node.error(f"this instruction {problem}", INSTRUCTION_HINT)
        write = entries["write"][1].scalar_text("the symbol to write") if "write" in entries else None
        if write == "":
            raise entries["write"][1].error("there is no symbol after 'write'", "quote a space: write: ' '")
        target = entries[moves[0]][1]
        return _Instruction(MOVES[moves[0]], write, None if target.is_null else self._known_state(target))
