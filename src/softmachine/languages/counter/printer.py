"""Printer of counter machines: text, and HTML tables for notebooks."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from softmachine.languages.text.statements import quote
from softmachine.support.notebook_html import html_table

if TYPE_CHECKING:
    from softmachine.languages.counter.machine import CounterMachine, Transition

RESERVED = frozenset({"and", "or", "not", "else", "true", "false"})
_PLAIN_LETTER = re.compile(r"[^\s'\"#:][^\s]*")


def to_text(machine: CounterMachine) -> str:
    """Format a machine. `parse` is the inverse."""
    lines = [f"machine {_format_word(machine.name)}", _format_header("input", machine.alphabet)]
    lines += ["order"] if machine.has_ordered_letters else []
    lines += [_format_header("counters", machine.work_counters)] if machine.work_counters else []
    lines.append(_format_header("start", (machine.start,)))
    for keyword, states in (("accept", machine.accept), ("reject", machine.reject)):
        lines += [_format_header(keyword, states)] if states else []
    return "\n".join([*lines, "", *(format_transition(one) for one in machine.transitions)]) + "\n"


def format_transition(transition: Transition) -> str:
    """Format a transition as a line."""
    changes = _format_changes(transition)
    end = f": {changes}" if changes else ""
    return f"{format_name(transition.source)}: {_format_test(transition)} -> {format_name(transition.target)}{end}"


def _format_test(transition: Transition) -> str:
    return "else" if transition.test is None else str(transition.test)


def _format_changes(transition: Transition, minus: str = "-") -> str:
    return ", ".join(
        f"{format_name(name)} {minus if change < 0 else '+'}= {abs(change)}" for name, change in transition.updates
    )


def format_name(name: str) -> str:
    """Format the name of a state or counter, in quotes if necessary."""
    return name if re.fullmatch(r"[^\W\d]\w*", name) and name not in RESERVED else quote(name)


def _format_header(keyword: str, names: Iterable[str]) -> str:
    return " ".join([keyword, *(_format_word(name) for name in names)])


def _format_word(name: str) -> str:
    return name if _PLAIN_LETTER.fullmatch(name) and name.isprintable() else quote(name)


def machine_table(machine: CounterMachine) -> str:
    """HTML table of the transitions: state, test, changes, next state."""
    rows = [
        (
            _format_state(machine, transition.source),
            _format_test(transition),
            _format_changes(transition, minus="−"),
            _format_state(machine, transition.target),
        )
        for transition in machine.transitions
    ]
    return html_table(rows, str(machine), head=("state", "test", "changes", "next state"))


def _format_state(machine: CounterMachine, state: str) -> str:
    """A state, with its role in parentheses if it is initial or halting."""
    verdict = machine.verdict(state)
    marks = [*(["start"] if state == machine.start else []), *([str(verdict)] if verdict else [])]
    return f"{state} ({', '.join(marks)})" if marks else state
