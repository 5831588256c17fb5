"""The table of a certificate for other programs: CSV for spreadsheets, LaTeX for papers."""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from softmachine.certify.certificate import Certificate

NOTHING = "–"
"""What a table for people has where a head has no such number."""
_LETTERS = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
    **{letter: f"${letter}$" for letter in "<>|"},
    "–": "--",
    "…": r"\dots{}",
    "²": "$^2$",
    "³": "$^3$",
    "√": r"$\surd$",
    "·": r"$\cdot$",
    "×": r"$\times$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "≠": r"$\neq$",
    "¬": r"$\neg$",
    "∧": r"$\wedge$",
    "∨": r"$\vee$",
    "→": r"$\to$",
}
"""What LaTeX would take for its own, or cannot print."""


def to_csv(certificate: Certificate) -> str:
    """One line a head, with all digits; what is so for all heads stands in every line."""
    whole = {
        "length": certificate.length,
        "sharpness": certificate.sharpness,
        "margin": certificate.margin,
        "holds": str(certificate.holds).lower(),
    }
    lines = [{**whole, **row.to_json()} for row in certificate.rows]
    text = io.StringIO()
    names = [*whole, "layer", "head", "lemma", "gap", "scale", "scaled_gap", "error_in", "error_out"]
    table = csv.DictWriter(text, names, lineterminator="\n")
    table.writeheader()
    table.writerows({name: "" if value == NOTHING else value for name, value in line.items()} for line in lines)
    return text.getvalue()


def to_latex(certificate: Certificate) -> str:
    """A ``tabular`` that needs no package, with what is certified in its last line."""
    head, *rows = certificate.table
    lines = [" & ".join(map(_escaped, cells)) for cells in rows]
    caption = f"\\multicolumn{{{len(head)}}}{{l}}{{{_escaped(f'{certificate.claim}; {certificate.result}')}}}"
    parts = [" & ".join(head), r"\hline", *lines, r"\hline", caption]
    body = "\n".join(part if part.startswith(r"\hline") else rf"{part} \\" for part in parts)
    return f"\\begin{{tabular}}{{rllllrr}}\n\\hline\n{body}\n\\hline\n\\end{{tabular}}\n"


def _escaped(text: str) -> str:
    """A text as LaTeX prints it; numbers like 6.1e-05 as products with powers of ten."""
    number = re.fullmatch(r"(\d+\.\d+)e([+-]\d+)", text)
    if number:
        return "$0$" if float(text) == 0 else rf"${number[1]} \cdot 10^{{{int(number[2])}}}$"
    return "".join(_LETTERS.get(letter, letter) for letter in text)
