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
    lines = [f"machine {_word(machine.name)}", _header("input", machine.alphabet)]
    lines += ["order"] if machine.order else []
    lines += [_header("counters", machine.work_counters)] if machine.work_counters else []
    lines.append(_header("start", (machine.start,)))
    for keyword, states in (("accept", machine.accept), ("reject", machine.reject)):
        lines += [_header(keyword, states)] if states else []
    return "\n".join([*lines, "", *(transition_text(one) for one in machine.transitions)]) + "\n"


def transition_text(transition: Transition) -> str:
    """Format a transition as a line."""
    changes = _changes(transition)
    end = f": {changes}" if changes else ""
    return f"{name_text(transition.source)}: {_test(transition)} -> {name_text(transition.target)}{end}"


def _test(transition: Transition) -> str:
    return "else" if transition.test is None else str(transition.test)


def _changes(transition: Transition, minus: str = "-") -> str:
    return ", ".join(
        f"{name_text(name)} {minus if change < 0 else '+'}= {abs(change)}" for name, change in transition.updates
    )


def name_text(name: str) -> str:
    """Format the name of a state or counter, in quotes if necessary."""
    return name if re.fullmatch(r"[^\W\d]\w*", name) and name not in RESERVED else quote(name)


def _header(keyword: str, names: Iterable[str]) -> str:
    return " ".join([keyword, *(_word(name) for name in names)])


def _word(name: str) -> str:
    return name if _PLAIN_LETTER.fullmatch(name) and name.isprintable() else quote(name)


def machine_table(machine: CounterMachine) -> str:
    """HTML table of the transitions: state, test, changes, next state."""
    rows = [
        (
            _marked(machine, transition.source),
            _test(transition),
            _changes(transition, minus="−"),
            _marked(machine, transition.target),
        )
        for transition in machine.transitions
    ]
    return html_table(rows, str(machine), head=("state", "test", "changes", "next state"))


def _marked(machine: CounterMachine, state: str) -> str:
    """A state, with its role in parentheses if it is initial or halting."""
    verdict = machine.verdict(state)
    marks = [*(["start"] if state == machine.start else []), *([str(verdict)] if verdict else [])]
    return f"{state} ({', '.join(marks)})" if marks else state
