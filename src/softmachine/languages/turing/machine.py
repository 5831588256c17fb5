"""Deterministic Turing machines with one or more tapes, as immutable, validated data; and their lossless JSON form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any, ClassVar

from softmachine.languages.formats import make_json_codec
from softmachine.languages.source import WordSource, find_name_problems, find_repetitions, is_symbol
from softmachine.support.errors import InvalidError, SourceLocation
from softmachine.support.token_array import CodedSequence

MOVES: Mapping[str, int] = {"L": -1, "S": 0, "R": +1}
MAX_TABLE_COLUMNS = 24
"""Maximum columns (readings) of the rule table in a notebook."""


class TapeConvention(StrEnum):
    """Convention for the cells to the left of cell 0."""

    TWO_WAY = "two-way"
    """The tape is infinite in both directions."""
    STAY = "stay"
    """The tape ends at cell 0; a left move there leaves the head in place (Sipser's convention)."""
    ERROR = "error"
    """The tape ends at cell 0; a left move there is an error: the rule does not apply and the machine halts."""


class Verdict(StrEnum):
    """Verdict of a run that halted."""

    ACCEPT = "accept"
    REJECT = "reject"
    HALT = "halt"
    """The machine has no accepting states; its output is on the tape."""


@dataclass(frozen=True)
class Rule:
    """A transition: in ``state``, reading ``read``, write ``write``, move by ``move`` and go to ``next`` (per tape)."""

    state: str
    read: tuple[str, ...]
    write: tuple[str, ...]
    move: tuple[str, ...]
    next: str
    place: SourceLocation | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        read, write, move = (" ".join(part) for part in (self.read, self.write, self.move))
        return f"{self.state}, {read} → {write} {move} {self.next}"


@dataclass(frozen=True, kw_only=True)
class TuringMachine(WordSource):
    """A deterministic Turing machine (Q, Σ, Γ, δ, q_start, accept, reject) with K tapes.

    The input is on the first tape, starting at cell 0, where every head starts. A machine halts in an accepting or
    rejecting state, and where no rule applies. All problems of a definition are reported at once.

    Args:
        name: Name of the machine.
        states: Q, in the order of the source.
        alphabet: Σ, the input alphabet.
        symbols: Γ, the tape alphabet; contains Σ and the blank.
        blank: The symbol of an unwritten cell; not in Σ.
        rules: δ. At most one rule per state and symbols read.
        start: The start state.
        accept: The accepting states.
        reject: The rejecting states.
        tape: Convention for the cells to the left of cell 0, on every tape.
        tapes: K, the number of tapes.
        default_input: The example input of the source.
    """

    language: ClassVar[str] = "turing"
    name: str
    states: tuple[str, ...]
    alphabet: tuple[str, ...]
    symbols: tuple[str, ...]
    blank: str
    rules: tuple[Rule, ...]
    start: str
    accept: tuple[str, ...] = ()
    reject: tuple[str, ...] = ()
    tape: TapeConvention = TapeConvention.TWO_WAY
    tapes: int = 1
    default_input: tuple[str, ...] = field(default=(), compare=False)
    place: SourceLocation | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        problems = find_name_problems((self.name, *self.states, *self.symbols)) or list(_find_problems(self))
        if problems:
            raise InvalidError(f"Turing machine {self.name!r}", problems, place=self.place)

    @cached_property
    def _rule_of(self) -> dict[tuple[str, tuple[str, ...]], Rule]:
        return {(rule.state, rule.read): rule for rule in self.rules}

    def find_rule(self, state: str, read: tuple[str, ...]) -> Rule | None:
        """The rule for a state and the symbols under the heads; None if the machine halts."""
        return self._rule_of.get((state, read))

    @property
    def halting_states(self) -> tuple[str, ...]:
        """The accepting and rejecting states, in which the machine halts."""
        return self.accept + self.reject

    def verdict(self, state: str) -> Verdict:
        """The verdict of a run that halts in this state."""
        if state in self.accept:
            return Verdict.ACCEPT
        if state in self.reject or self.accept:
            return Verdict.REJECT
        return Verdict.HALT

    def format_symbols(self, symbols: Iterable[str]) -> str:
        """Format symbols: joined, with spaces between them if any symbol of the machine is longer than a character."""
        between = "" if all(len(symbol) == 1 for symbol in self.symbols) else " "
        return symbols.join_text(between) if isinstance(symbols, CodedSequence) else between.join(symbols)

    def __str__(self) -> str:
        tapes = "" if self.tapes == 1 else f", {self.tapes} tapes"
        return (
            f"Turing machine {self.name}: {len(self.states)} states, {len(self.symbols)} symbols, "
            f"{len(self.rules)} rules{tapes}"
        )

    def _repr_html_(self) -> str:
        return machine_table(self)


def _find_problems(machine: TuringMachine) -> Iterator[str]:
    """All problems of a definition, one sentence each."""
    states, symbols = set(machine.states), set(machine.symbols)
    if machine.tapes < 1:
        yield f"it has {machine.tapes} tapes; write at least 1"
    yield from find_repetitions(machine.states, "state {!r} is listed {} times")
    yield from find_repetitions(machine.symbols, "symbol {!r} is listed {} times")
    if not machine.start:
        yield "it has no start state; name one of its states"
    elif machine.start not in states:
        yield f"the start state {machine.start!r} is not one of its states ({_format_names(machine.states)})"
    for kind, group in (("accepting", machine.accept), ("rejecting", machine.reject)):
        for state in group:
            if state not in states:
                yield f"the {kind} state {state!r} is not one of its states"
    for state in machine.accept:
        if state in machine.reject:
            yield f"state {state!r} both accepts and rejects"
    if machine.blank not in symbols:
        yield f"the blank {machine.blank!r} is not one of its symbols ({_format_names(machine.symbols)})"
    if machine.blank in machine.alphabet:
        yield f"the blank {machine.blank!r} is in the input alphabet; the end of an input would be ambiguous"
    for symbol in machine.alphabet:
        if symbol not in symbols:
            yield f"the input symbol {symbol!r} is not one of its symbols"
    for symbol in machine.symbols:
        if not is_symbol(symbol):
            yield f"symbol {symbol!r} is empty or contains spaces"
    for rule in machine.rules:
        yield from _rule_problems(machine, rule, states, symbols)
    seen: dict[tuple[str, tuple[str, ...]], Rule] = {}
    for rule in machine.rules:
        first = seen.setdefault((rule.state, rule.read), rule)
        if first is not rule:
            where = f" ({first.place} and {rule.place})" if first.place and rule.place else ""
            read = " ".join(rule.read)
            yield f"two rules for state {rule.state!r} reading {read!r}{where}: {first} | {rule}; keep one"


def _rule_problems(machine: TuringMachine, rule: Rule, states: set[str], symbols: set[str]) -> Iterator[str]:
    where = f"rule {rule}" + (f" ({rule.place})" if rule.place else "")
    for part, entries in (("reads", rule.read), ("writes", rule.write), ("moves", rule.move)):
        if len(entries) != machine.tapes:
            yield f"{where} {part} on {len(entries)} tapes; the machine has {machine.tapes}"
    for state in (rule.state, rule.next):
        if state not in states:
            yield f"{where}: state {state!r} is not one of its states"
    for symbol in dict.fromkeys(rule.read + rule.write):
        if symbol not in symbols:
            yield f"{where}: symbol {symbol!r} is not one of its symbols"
    for move in rule.move:
        if move not in MOVES:
            yield f"{where}: {move!r} is not a move; write L, R or S"
    if rule.state in machine.halting_states:
        yield f"{where} leaves a state in which the machine has already halted; remove it"


def _format_names(names: tuple[str, ...], most: int = 12) -> str:
    return " ".join(names[:most]) + (" …" if len(names) > most else "") or "there are none"


def machine_table(machine: TuringMachine) -> str:
    """HTML table of the rules: one row per state, one column per reading; cells hold write, move and next state."""
    readings = list(dict.fromkeys(rule.read for rule in machine.rules))
    if machine.tapes == 1:
        readings = [(symbol,) for symbol in machine.symbols]
    shown = readings[:MAX_TABLE_COLUMNS]
    head = ["state", *map(_format_symbols, shown), *(["…"] if len(readings) > len(shown) else [])]
    rows = [
        [_format_state(machine, state), *(_format_action(machine.find_rule(state, read)) for read in shown)]
        for state in machine.states
    ]
    from softmachine.support.notebook_html import html_table

    return html_table(rows, str(machine), head=head)


def _format_state(machine: TuringMachine, state: str) -> str:
    """A state, marked if it is the start state or a final state."""
    marks = [
        mark
        for mark, group in (("start", (machine.start,)), ("accept", machine.accept), ("reject", machine.reject))
        if state in group
    ]
    return f"{state} ({', '.join(marks)})" if marks else state


def _format_action(rule: Rule | None) -> str:
    return "" if rule is None else f"{_format_symbols(rule.write)} {' '.join(rule.move)} {rule.next}"


def _format_symbols(symbols: tuple[str, ...]) -> str:
    # Make a space visible.
    return " ".join(symbol if symbol.strip() else "␣" for symbol in symbols)


def machine_to_json(machine: TuringMachine) -> dict[str, object]:
    """Convert a machine to dictionaries, lists and strings."""
    return {
        "name": machine.name,
        "states": list(machine.states),
        "alphabet": list(machine.alphabet),
        "symbols": list(machine.symbols),
        "blank": machine.blank,
        "rules": [
            [rule.state, list(rule.read), list(rule.write), list(rule.move), rule.next] for rule in machine.rules
        ],
        "start": machine.start,
        "accept": list(machine.accept),
        "reject": list(machine.reject),
        "tape": str(machine.tape),
        "tapes": machine.tapes,
        "default_input": list(machine.default_input) or None,
    }


def machine_from_json(data: Any) -> TuringMachine:
    """The inverse of :func:`machine_to_json`.

    Raises:
        KeyError, TypeError, ValueError: If the data does not have that form.
        InvalidError: If the Turing machine is not valid.
    """
    return TuringMachine(
        name=str(data["name"]),
        states=_strings(data["states"]),
        alphabet=_strings(data["alphabet"]),
        symbols=_strings(data["symbols"]),
        blank=str(data["blank"]),
        rules=tuple(
            Rule(str(state), _strings(read), _strings(write), _strings(move), str(following))
            for state, read, write, move, following in data["rules"]
        ),
        start=str(data["start"]),
        accept=_strings(data["accept"]),
        reject=_strings(data["reject"]),
        tape=TapeConvention(data["tape"]),
        tapes=int(data["tapes"]),
        default_input=_strings(data["default_input"] or ()),
    )


def _strings(items: Iterable[object]) -> tuple[str, ...]:
    strings = tuple(item for item in items if isinstance(item, str))
    if isinstance(items, str) or strings != tuple(items):
        raise TypeError(f"{items!r} is not a list of strings")
    return strings


parse_json, format_json = make_json_codec("a Turing machine", machine_to_json, machine_from_json)
