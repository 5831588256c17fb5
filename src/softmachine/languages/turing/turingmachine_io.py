"""Parser of the YAML format of turingmachine.io, both as typed there and as exported by the site.

A document has the keys ``blank``, ``start state``, ``table`` and optionally ``input`` and ``synonyms``. softmachine
adds these optional keys:

- ``accept states``, ``reject states``: lists of states. Default: the states without instructions whose name is
  accept(ed) or reject(ed).
- ``alphabet``: the input alphabet. Default: every symbol but the blank.
- ``symbols``: the list of all symbols. Default: those that occur.
- ``tape``: ``two-way``, ``stay`` or ``error``, see `softmachine.languages.turing.machine.Tape`. Default: two-way.
- ``name``: the name of the machine.

A head that does not move is ``N``, as on the site, or ``S``. Symbols may have more than one character; an ``input`` is
then a list, or has spaces between its symbols.
"""

from __future__ import annotations

from dataclasses import dataclass

from softmachine.languages.source import check_size, name_of
from softmachine.languages.turing.machine import Rule, Tape, TuringMachine
from softmachine.languages.turing.turingmachine_io_writer import to_text
from softmachine.languages.turing.yaml_nodes import YamlNode, read_embedded, read_yaml
from softmachine.support.errors import Place

__all__ = ["parse", "to_text"]

WRAPPED = "source code"
KEYS = (
    "name", "input", "blank", "start state", "synonyms", "table",
    "alphabet", "symbols", "accept states", "reject states", "tape",
)  # fmt: skip
MOVES = {"L": "L", "R": "R", "N": "S", "S": "S"}
INSTRUCTIONS = "an instruction is like R, {L: state}, {write: x, R} or {write: x, R: state}, or a synonym"


def parse(text: str, *, source: str = "<string>", name: str | None = None) -> TuringMachine:
    """Parse a turingmachine.io document."""
    check_size(text, source, "a machine may be described in")
    root = read_yaml(text, Place(source, 1, 1))
    entries = root.entries("the document")
    if WRAPPED in entries:
        if not name and "name" in entries:
            name = entries["name"][1].scalar("'name'")
        root = read_embedded(entries[WRAPPED][1], text, repr(WRAPPED))
    return _Reader(root).machine(name)


@dataclass(frozen=True)
class _Instruction:
    """An instruction; None means that the symbol or the state does not change."""

    move: str
    write: str | None = None
    next: str | None = None


class _Reader:
    """Parser of one document."""

    def __init__(self, root: YamlNode) -> None:
        self.root = root
        self.entries = root.entries("the document")
        for key, (node, _) in self.entries.items():
            if key not in KEYS:
                raise node.error(f"unknown key {key!r}", f"the keys are {', '.join(KEYS)}")
        self.table = self._required("table", "it maps states to their instructions").entries("the table")
        self.synonyms = self._synonyms()

    def machine(self, name: str | None) -> TuringMachine:
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
            name=name or self._optional_text("name") or name_of(self.root.place.source) or "machine",
            states=tuple(self.table),
            alphabet=tuple(symbol for symbol in symbols if symbol != blank) if alphabet is None else alphabet,
            symbols=symbols,
            blank=blank,
            rules=tuple(rules),
            start=start,
            accept=self._endings("accept", "reject", rules),
            reject=self._endings("reject", "accept", rules),
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
        text = node.scalar(repr(key))
        if not text:
            raise node.error(f"{key!r} is empty", hint)
        return text

    def _optional_text(self, key: str) -> str | None:
        return self.entries[key][1].scalar(repr(key)) if key in self.entries else None

    def _list(self, key: str) -> tuple[str, ...] | None:
        """The entries of an optional list; None if the key is missing."""
        if key not in self.entries:
            return None
        node = self.entries[key][1]
        return () if node.is_null else tuple(text for text, _ in node.scalars(repr(key)))

    def _known_state(self, node: YamlNode) -> str:
        state = node.scalar("a state")
        if state not in self.table:
            raise node.error(
                f"state {state!r} is not in the table", f"list it, possibly without instructions: {state}:"
            )
        return state

    def _tape(self) -> Tape:
        tape = self._optional_text("tape")
        if tape is not None and tape not in list(Tape):
            raise self.entries["tape"][1].error(f"there is no tape {tape!r}", f"write one of {', '.join(Tape)}")
        return Tape(tape) if tape else Tape.TWO_WAY

    def _input(self, symbols: list[str]) -> tuple[str, ...]:
        """The example input: a list, or text, which is split into characters unless symbols are longer."""
        if "input" not in self.entries or self.entries["input"][1].kind == "list":
            return self._list("input") or ()
        text = self.entries["input"][1].scalar("'input'")
        return tuple(text if all(len(symbol) == 1 for symbol in symbols) else text.split())

    def _endings(self, kind: str, opposite: str, rules: list[Rule]) -> tuple[str, ...]:
        """The accepting or rejecting states: as listed or, by default, by their names."""
        key = f"{kind} states"
        listed = self._list(key)
        if listed:
            return tuple(self._known_state(node) for _, node in self.entries[key][1].scalars(repr(key)))
        if listed is not None:
            return ()
        taken = {rule.state for rule in rules} | set(self._list(f"{opposite} states") or ())
        return tuple(state for state in self.table if state.lower() in (kind, f"{kind}ed") and state not in taken)

    def _synonyms(self) -> dict[str, _Instruction]:
        if "synonyms" not in self.entries:
            return {}
        synonyms = {}
        for name, (key, value) in self.entries["synonyms"][1].entries("the synonyms").items():
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
        for reads, node in row.rows(f"the row of state {state!r}"):
            instruction = self._instruction(node, self.synonyms)
            for symbol, entry in reads.scalars("a list of symbols"):
                write = symbol if instruction.write is None else instruction.write
                following = state if instruction.next is None else instruction.next
                rules.append(Rule(state, (symbol,), (write,), (instruction.move,), following, entry.place))
        return rules

    def _instruction(self, node: YamlNode, synonyms: dict[str, _Instruction]) -> _Instruction:
        if node.kind == "mapping":
            return self._mapped_instruction(node)
        if node.is_null or node.kind == "list":
            raise node.error("an instruction is missing here", INSTRUCTIONS)
        if node.text in synonyms:
            return synonyms[node.text]
        if node.text not in MOVES:
            known = ", ".join(synonyms) or "there are none here"
            raise node.error(f"{node.text!r} is not a move, nor a synonym ({known})", INSTRUCTIONS)
        return _Instruction(MOVES[node.text])

    def _mapped_instruction(self, node: YamlNode) -> _Instruction:
        """Parse ``{write: x, R: state}``."""
        entries = node.entries("an instruction")
        for name, (key, _) in entries.items():
            if name != "write" and name not in MOVES:
                raise key.error(f"unknown key {name!r} in an instruction", INSTRUCTIONS)
        moves = [name for name in entries if name in MOVES]
        if len(moves) != 1:
            problem = f"moves {' and '.join(moves)}" if moves else "has no move"
            raise node.error(f"this instruction {problem}", INSTRUCTIONS)
        write = entries["write"][1].scalar("the symbol to write") if "write" in entries else None
        if write == "":
            raise entries["write"][1].error("there is no symbol after 'write'", "quote a space: write: ' '")
        target = entries[moves[0]][1]
        return _Instruction(MOVES[moves[0]], write, None if target.is_null else self._known_state(target))
