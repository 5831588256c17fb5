"""Counter machines as HTML tables, for notebooks."""

from __future__ import annotations

from html import escape

from softmachine.languages.counter.machine import CounterMachine, Transition
from softmachine.languages.counter.printing import name_text


def machine_table(machine: CounterMachine) -> str:
    """A table of the machine's transitions: from where, if what holds, with which changes, to where."""
    rows = "".join(
        f"<tr><th>{escape(transition.source)}{_marks(machine, transition.source)}</th>"
        f"<td>{escape('else' if transition.test is None else str(transition.test))}</td>"
        f"<td>{escape(_changes(transition))}</td>"
        f"<td>{escape(transition.target)}{_marks(machine, transition.target)}</td></tr>"
        for transition in machine.transitions
    )
    return (
        f"<table><caption>{escape(str(machine))}</caption>"
        f"<thead><tr><th>state</th><th>test</th><th>changes</th><th>next state</th></tr></thead>"
        f"<tbody>{rows}</tbody></table>"
    )


def _marks(machine: CounterMachine, state: str) -> str:
    verdict = machine.verdict(state)
    marks = [*(["start"] if state == machine.start else []), *([str(verdict)] if verdict else [])]
    return f" <small>{', '.join(marks)}</small>" if marks else ""


def _changes(transition: Transition) -> str:
    return ", ".join(
        f"{name_text(name)} {'−' if change < 0 else '+'}= {abs(change)}" for name, change in transition.updates
    )
