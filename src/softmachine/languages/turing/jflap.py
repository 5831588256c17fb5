"""JFLAP format (``.jff``) for Turing machines with one to five tapes: parser and printer.

The blank is □, as JFLAP displays it; the tape is infinite in both directions; final states accept. JFLAP's wildcards
for any symbol (``~``) and for any but one (``!x``), and its building blocks, are not supported.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterator
from html import escape

from softmachine.languages.formats import raise_inexpressible
from softmachine.languages.source import check_source_length, default_name
from softmachine.languages.turing.located_nodes import XmlNode, parse_xml
from softmachine.languages.turing.machine import MOVES, Rule, TapeConvention, TuringMachine
from softmachine.support.errors import SourceError, SourceLocation

BLANK = "□"
MAX_TAPES = 5
XML_CHARACTERS = re.compile("[\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]*")


def parse(text: str, *, source: str = "<string>", name: str | None = None) -> TuringMachine:
    """Parse a JFLAP file. Transitions that leave a final state never apply; they cause a warning."""
    check_source_length(text, source, "a machine may be described in")
    root = parse_xml(text.removeprefix("\ufeff"), source)
    kind = root.text_of("type")
    if root.tag != "structure" or kind is None:
        raise SourceError("this is not a JFLAP file", place=root.place, hint="it begins with <structure><type>turing")
    if kind != "turing":
        raise SourceError(f"this JFLAP file is of type {kind!r}; only 'turing' is supported", place=root.place)
    automaton = root.first_child("automaton") or root
    _reject_building_blocks(automaton)
    states = _parse_states(automaton, root.place)
    start = [
        states[_id(node)] for node in automaton.children_with_tags("state", "block") if node.first_child("initial")
    ]
    accept = tuple(
        states[_id(node)] for node in automaton.children_with_tags("state", "block") if node.first_child("final")
    )
    if len(start) != 1:
        problem = f"there are {len(start)} initial states ({' '.join(start)})" if start else "no state is initial"
        raise SourceError(problem, place=root.place, hint="mark exactly one state with <initial/>")
    tapes = _parse_tape_count(root)
    rules = [
        _parse_rule(number, node, states, tapes)
        for number, node in enumerate(automaton.children_with_tags("transition"), 1)
    ]
    for rule in rules:
        if rule.state in accept:
            warnings.warn(f"{rule.place}: {rule} leaves a final state, so it never applies", stacklevel=2)
    rules = [rule for rule in rules if rule.state not in accept]
    symbols = sorted({symbol for rule in rules for symbol in rule.read + rule.write} - {BLANK})
    return TuringMachine(
        name=name or default_name(source) or "machine",
        states=tuple(states.values()),
        alphabet=tuple(symbols),
        symbols=(BLANK, *symbols),
        blank=BLANK,
        rules=tuple(rules),
        start=start[0],
        accept=accept,
        tapes=tapes,
        place=root.place,
    )


def _reject_building_blocks(automaton: XmlNode) -> None:
    machines = {child.tag: child for child in automaton.children}
    for block in automaton.children_with_tags("block"):
        inner = machines.get(block.text_of("tag") or "")
        if inner is not None and inner.children:
            raise SourceError(
                f"block {block.attributes.get('name', '?')!r} contains a machine; building blocks are not supported",
                place=block.place,
                hint="in JFLAP, Convert > Combine Automata or draw its states in their place",
            )


def _id(node: XmlNode) -> str:
    return node.attributes.get("id", "").strip()


def _parse_states(automaton: XmlNode, place: SourceLocation) -> dict[str, str]:
    """The names of the states by their ids; repeated names get the id as a suffix."""
    names: dict[str, str] = {}
    for node in automaton.children_with_tags("state", "block"):
        identity = _id(node)
        if not identity or identity in names:
            problem = f"two states have the id {identity}" if identity else "a state has no id"
            raise SourceError(problem, place=node.place)
        names[identity] = node.text_of("name") or node.attributes.get("name") or f"q{identity}"
    if not names:
        raise SourceError("there are no states", place=place)
    written, taken = set(names.values()), set[str]()
    for identity, name in names.items():
        unique = name
        while unique in taken or (unique != name and unique in written):
            unique = f"{unique}_{identity}"
        names[identity] = unique
        taken.add(unique)
    return names


def _parse_tape_count(root: XmlNode) -> int:
    text = root.text_of("tapes") or "1"
    if text not in {str(number) for number in range(1, MAX_TAPES + 1)}:
        raise SourceError(f"{text!r} tapes are not possible", place=root.place, hint=f"1 to {MAX_TAPES} are")
    return int(text)


def _parse_rule(number: int, node: XmlNode, states: dict[str, str], tapes: int) -> Rule:
    """Parse a transition. As in JFLAP, missing symbols default to the blank and missing moves to R."""
    ends = []
    for end in ("from", "to"):
        identity = node.text_of(end)
        if identity is None or identity not in states:
            problem = f"has no <{end}>" if identity is None else f"goes {end} state {identity!r}, which does not exist"
            raise SourceError(f"transition {number} {problem}", place=node.place)
        ends.append(states[identity])
    where = f"transition {number}, from {ends[0]!r} to {ends[1]!r},"
    if node.attributes.get("block") == "true":
        raise SourceError(f"{where} belongs to a building block; these are not supported", place=node.place)
    parts = {part: [default] * tapes for part, default in (("read", BLANK), ("write", BLANK), ("move", "R"))}
    for child in node.children_with_tags(*parts):
        tape = child.attributes.get("tape", "").strip() or "1"
        if tape not in {str(tape) for tape in range(1, tapes + 1)}:
            raise SourceError(f"{where} refers to tape {tape!r}; tapes are 1 to {tapes}", place=child.place)
        entry = _parse_move if child.tag == "move" else _parse_symbol
        parts[child.tag][int(tape) - 1] = entry(child, where)
    return Rule(ends[0], tuple(parts["read"]), tuple(parts["write"]), tuple(parts["move"]), ends[1], node.place)


def _parse_symbol(node: XmlNode, where: str) -> str:
    text = node.text.strip()
    if text == "~" or "}" in text or (text.startswith("!") and len(text) > 1):
        raise SourceError(
            f"{where} uses the pattern {text!r} for symbols, which is not supported",
            place=node.place,
            hint="write one transition for each symbol",
        )
    if len(text) > 1:
        raise SourceError(f"{where} has {text!r}; expected one symbol (one character)", place=node.place)
    return text or BLANK


def _parse_move(node: XmlNode, where: str) -> str:
    text = node.text.strip()
    if text not in MOVES:
        raise SourceError(f"{where} moves {text!r}", place=node.place, hint="a move is L, R or S")
    return text


def to_text(machine: TuringMachine) -> str:
    """Format a machine as a JFLAP file, with the states laid out on a circle."""
    raise_inexpressible(machine, "JFLAP", _find_obstacles(machine))
    number = {state: index for index, state in enumerate(machine.states)}
    tapes = [f"\t<tapes>{machine.tapes}</tapes>"] if machine.tapes > 1 else []
    lines = ['<?xml version="1.0" encoding="UTF-8" standalone="no"?>', "<structure>", "\t<type>turing</type>", *tapes]
    lines.append("\t<automaton>")
    for state, index in number.items():
        lines.append(f'\t\t<state id="{index}" name="{_escape_attribute(state)}">')
        lines += [f"\t\t\t{line}" for line in _coordinates(index, len(number))]
        lines += ["\t\t\t<initial/>"] * (state == machine.start) + ["\t\t\t<final/>"] * (state in machine.accept)
        lines.append("\t\t</state>")
    for rule in machine.rules:
        lines += ["\t\t<transition>", f"\t\t\t<from>{number[rule.state]}</from>", f"\t\t\t<to>{number[rule.next]}</to>"]
        lines += [f"\t\t\t{line}" for line in _format_tapes(machine, rule)]
        lines.append("\t\t</transition>")
    return "\n".join([*lines, "\t</automaton>", "</structure>"]) + "\n"


def _format_tapes(machine: TuringMachine, rule: Rule) -> Iterator[str]:
    for tape in range(machine.tapes):
        attribute = f' tape="{tape + 1}"' if machine.tapes > 1 else ""
        for tag, entry in (("read", rule.read[tape]), ("write", rule.write[tape]), ("move", rule.move[tape])):
            blank = entry == machine.blank and tag != "move"
            yield f"<{tag}{attribute}/>" if blank else f"<{tag}{attribute}>{escape(entry)}</{tag}>"


def _coordinates(index: int, states: int) -> tuple[str, str]:
    radius, angle = 60 + 20 * states, 2 * math.pi * index / states
    x, y = (radius + 60 - radius * unit for unit in (math.cos(angle), math.sin(angle)))
    return f"<x>{x:.1f}</x>", f"<y>{y:.1f}</y>"


def _escape_attribute(text: str) -> str:
    return "".join(f"&#{ord(character)};" if character in "\t\n\r" else escape(character) for character in text)


def _find_obstacles(machine: TuringMachine) -> Iterator[str]:
    others = [symbol for symbol in machine.symbols if symbol != machine.blank]
    if machine.tapes > MAX_TAPES:
        yield f"it has {machine.tapes} tapes; JFLAP has at most {MAX_TAPES}"
    if machine.tape is not TapeConvention.TWO_WAY:
        yield "its tape has a left end"
    if machine.reject:
        yield f"it has rejecting states ({' '.join(machine.reject)})"
    if set(machine.alphabet) != set(others):
        yield "not every non-blank symbol is in the input alphabet"
    for symbol in others:
        if len(symbol) != 1 or symbol in f"~}}{BLANK}" or symbol.isspace() or not XML_CHARACTERS.fullmatch(symbol):
            yield f"symbol {symbol!r} is not a single character without a special meaning in JFLAP"
    for symbol in sorted(set(others) - {symbol for rule in machine.rules for symbol in rule.read + rule.write}):
        yield f"symbol {symbol!r} does not occur in a rule"
    for state in machine.states:
        if not state or not XML_CHARACTERS.fullmatch(state):
            yield f"state {state!r} has a name that XML cannot represent"
