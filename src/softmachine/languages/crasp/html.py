"""A program as a table, for notebooks."""

from __future__ import annotations

from html import escape

from softmachine.languages.crasp.printing import body_text
from softmachine.languages.crasp.program import Program


def program_table(program: Program) -> str:
    """The definitions, rules and what is accepted, one a row."""
    rows = [(entry.name, ":=", body_text(entry.body)) for entry in program.definitions]
    rows += [(rule.token, "←", body_text(rule.body)) for rule in program.rules]
    if program.accept is not None:
        rows.append(("accept", "", body_text(program.accept)))
    body = "".join(
        f"<tr><th>{escape(head)}</th><td>{sign}</td><td><code>{escape(text)}</code></td></tr>"
        for head, sign, text in rows
    )
    letters = " ".join(f"<code>{escape(letter)}</code>" for letter in program.alphabet)
    caption = f"C-RASP program {escape(program.name)} over {letters}"
    return f"<table><caption>{caption}</caption><tbody>{body}</tbody></table>"
