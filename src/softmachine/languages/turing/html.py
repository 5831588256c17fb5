"""Turing machines as HTML tables, for notebooks."""

from __future__ import annotations

from html import escape

from softmachine.languages.turing.machine import Rule, TuringMachine

MOST_COLUMNS = 24


def machine_table(machine: TuringMachine) -> str:
    """A table of the machine's rules: a row a state, a column a reading, in the cells what to write, move and go to."""
    readings = list(dict.fromkeys(rule.read for rule in machine.rules))
    if machine.tapes == 1:
        readings = [(symbol,) for symbol in machine.symbols]
    shown = readings[:MOST_COLUMNS]
    header = "".join(f"<th>{_code(read)}</th>" for read in shown) + ("<th>…</th>" if len(readings) > len(shown) else "")
    rows = "".join(
        f"<tr><th>{escape(state)}{_marks(machine, state)}</th>"
        + "".join(f"<td>{_cell(machine.rule(state, read))}</td>" for read in shown)
        + "</tr>"
        for state in machine.states
    )
    return (
        f"<table><caption>{escape(str(machine))}</caption>"
        f"<thead><tr><th>state</th>{header}</tr></thead><tbody>{rows}</tbody></table>"
    )


def _marks(machine: TuringMachine, state: str) -> str:
    marks = [
        mark
        for mark, group in (("start", (machine.start,)), ("accept", machine.accept), ("reject", machine.reject))
        if state in group
    ]
    return f" <small>{', '.join(marks)}</small>" if marks else ""


def _cell(rule: Rule | None) -> str:
    return "" if rule is None else f"{_code(rule.write)} {' '.join(rule.move)} {escape(rule.next)}"


def _code(symbols: tuple[str, ...]) -> str:
    # A blank that is a blank should be seen.
    return " ".join(f"<code>{escape(symbol if symbol.strip() else '␣')}</code>" for symbol in symbols)
