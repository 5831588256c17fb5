"""S-RASP programs as HTML tables, for notebooks."""

from __future__ import annotations

from html import escape

from softmachine.languages.srasp.printing import show
from softmachine.languages.srasp.program import Program


def program_table(program: Program) -> str:
    """A table of the program's vectors: a row a vector, with its type and its definition."""
    rows = "".join(
        f"<tr><th>{escape(entry.name)}{' <small>output</small>' if entry.name == program.output else ''}</th>"
        f"<td>{escape(str(program.types[entry.name]))}</td>"
        f'<td style="text-align: left"><code>{escape(show(entry.body))}</code></td></tr>'
        for entry in program.definitions
    )
    return (
        f"<table><caption>{escape(str(program))}</caption>"
        f"<thead><tr><th>vector</th><th>type</th><th>definition</th></tr></thead><tbody>{rows}</tbody></table>"
    )
