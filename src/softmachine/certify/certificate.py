"""Hard to soft: the softmax transformer that decides as the hard one does, and the certificate that it does.

The table of a certificate for other programs: CSV for spreadsheets, LaTeX for papers.
"""

from __future__ import annotations

import csv
import io
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING

from softmachine.certify.softmax_error import Budget, budget, is_uniform, least_gap, require_average_hard
from softmachine.certify.theorem26 import Theorem26, theorem26
from softmachine.certify.tie_breaking import tieless
from softmachine.compiler import compile_program
from softmachine.ir.primitives import Attention, Loop
from softmachine.ir.program import Program
from softmachine.ir.signal import Node, inputs_first, rewritten
from softmachine.support.errors import ConstructionError, UsageError
from softmachine.support.notebook_html import html_table
from softmachine.support.resources import Estimate, allow
from softmachine.transformer.attention import softmax
from softmachine.transformer.features import Feature, Monomial
from softmachine.transformer.weights import Transformer, digest

if TYPE_CHECKING:
    from softmachine.certify.promises import PromiseTest
    # MERGED


MOST = 4096
"""No scaled gap larger than this is tried; float64 has no use for one above 745."""
MANY = 100_000
"""Certificates for shorter lengths take no time worth mentioning."""
TRIED = 1_000
"""Positions at which a gap is looked up to measure the time."""
TURN, TURN_BYTES = 1e-3, 100
"""What a turn of a loop takes: seconds and bytes, about."""


@dataclass(frozen=True)
class Certificate(Budget):
    """For every input up to a length, the softmax transformer decides as the hard one does; the budget is the proof.

    Args:
        length: The largest number of positions after position 0.
        sharpness: The scale of a head is this, divided by the gap of its scores; or less, as its row shows.
        theorem: What Theorem 26 would ask for, from the weights alone.
        gap: The smallest gap of any head at this length; None if no head chooses.
        hard: The digest of the weights with hard attention.
        weights: The weights with softmax attention; None if the certificate does not hold.
        soft: Their digest.
        promises: The inputs on which the promises of a plug-in were tested; None if the theorem is bundled.
    """

    length: int
    sharpness: int
    theorem: Theorem26
    gap: Fraction | None
    hard: str
    weights: Transformer | None = field(repr=False, compare=False)
    soft: str | None
    promises: PromiseTest | None = None

    @property
    def softened(self) -> Transformer:
        """The softmax transformer that the certificate is about.

        Raises:
            ConstructionError: If the certificate does not hold.
        """
        if self.weights is None:
            raise ConstructionError(f"the certificate does not hold: {self.why}")
        return self.weights

    @property
    def temperature(self) -> float | None:
        """The lowest temperature of any head, τ = gap / sharpness; None if no head chooses."""
        return None if self.gap is None else float(self.gap) / self.sharpness

    def to_json(self) -> dict[str, object]:
        """As plain data."""
        return {
            "length": self.length,
            "sharpness": self.sharpness,
            "temperature": self.temperature,
            "theorem_sharpness": self.theorem.sharpness if isfinite(self.theorem.sharpness) else None,
            "margin": self.margin,
            "error_budget": [row.to_json() for row in self.rows],
            "holds": self.holds,
            "why": None if self.holds else self.why,
            "digests": {"hard": self.hard, "soft": self.soft},
            **({} if self.promises is None else {"promises": self.promises.to_json()}),
        }

    @property
    def claim(self) -> str:
        """What it is about."""
        less = "up to " if any(own < self.sharpness for own in self.own.values()) else ""
        return f"certificate for every input up to {self.length} symbols, scale {less}{self.sharpness} / gap"

    @property
    def result(self) -> str:
        """What it comes to."""
        return f"margin of the logits ≥ {self.margin:.4f}" if self.holds else f"fails: {self.why}"

    @property
    def table(self) -> list[list[str]]:
        """The errors from head to head, for people; the first line has the titles."""
        table = [["layer", "head", "lemma", "gap", "scale", "error in", "error out"]]
        for row in self.rows:
            facts = row.to_json() | {"error_in": f"{row.error_in:.1e}", "error_out": f"{row.error_out:.1e}"}
            table.append([str(facts[title.replace(" ", "_")] or "") for title in table[0]])
        return table

    def to_csv(self) -> str:
        """As CSV: one line a head, with all digits."""
        # MERGED

        return to_csv(self)

    def to_latex(self) -> str:
        """As a ``tabular`` of LaTeX."""
        # MERGED

        return to_latex(self)

    def __str__(self) -> str:
        widths = [max(map(len, column)) for column in zip(*self.table, strict=True)]
        lines = ["  ".join(map(str.ljust, cells, widths)).rstrip() for cells in self.table]
        tested = [] if self.promises is None else [str(self.promises)]
        return "\n  ".join([self.claim, *lines, self.theorem.beside(self.sharpness), *tested, self.result])

    def _repr_html_(self) -> str:
        head, *rows = self.table
        return html_table(rows, f"{self.claim}; {self.result}", head=head)


def certify(program: Program, length: int, sharpness: int | None = None) -> Certificate:
    """The certificate for a program; without a sharpness, for the smallest that does and that the program wants.

    Raises:
        ConstructionError: If no sharpness up to the largest one does; the message names the head where it breaks.
    """
    if length < 0:
        raise UsageError(f"there is no input of length {length}")
    if sharpness is not None and sharpness < 1:
        raise UsageError(f"a sharpness of {sharpness} prefers no key to another", hint="leave it out, or say 1 or more")
    original, program = program, tieless(program)
    _allow(program, length)
    chosen = sharpness if sharpness is not None else _smallest(program, length)
    gap = smallest_gap(program, length)
    transformer = compile_program(program)
    positions = program.positions or length + 1
    theorem = theorem26(transformer, length, positions, gap or Fraction(1), program.margin or Fraction(1))
    layers = {head.name: k for k, layer in enumerate(transformer.layers, 1) for head in layer.heads}
    heads = [node for node in inputs_first(program.logits.forms) if isinstance(node, Attention)]
    found = budget(program, length, chosen)
    scales = {node.name: _scale(node, found.own.get(node, chosen)) for node in heads if not is_uniform(node)}
    rows = tuple(replace(row, layer=layers.get(row.head), scale=scales.get(row.head)) for row in found.rows)
    hard = digest(transformer if program is original else compile_program(original))
    weights = compile_program(with_softmax(program, chosen, found.own)) if found.holds else None
    soft = None if weights is None else digest(weights)
    facts = (length, chosen, theorem, gap, hard, weights, soft)
    return Certificate(rows, found.margin, found.failure, *facts, own=found.own)


def _allow(program: Program, length: int) -> None:
    """Gaps that are not monotone are looked up at every position, and loops are followed turn by turn.

    Raises:
        EffortError: If it takes too long, and expensive work is not allowed.
    """
    if length < MANY:
        return
    nodes = list(inputs_first(program.logits.forms))
    features = {node.gap for node in nodes if isinstance(node, Attention) and isinstance(node.gap, Feature)}
    gaps = [gap for gap in features if not gap.monotone]
    turns = max((node.turns(length) for node in nodes if isinstance(node, Loop)), default=0)
    seconds = sum(map(partial(_lookups, length), gaps)) + turns * TURN
    estimate = Estimate(f"a certificate for length {length:,}", seconds, turns * TURN_BYTES)
    allow(estimate, hint="ask for a shorter length")


def _lookups(length: int, gap: Feature) -> float:
    """How many seconds it takes to look a gap up at every position."""
    began = time.perf_counter()
    min(gap.at(length - i, length) for i in range(TRIED))
    return (time.perf_counter() - began) / TRIED * length


def _smallest(program: Program, length: int) -> int:
    """The smallest sharpness for which the budget holds, of those that the program wants; by doubling and halving."""
    low, high = program.sharpness - 1, program.sharpness
    while not (tried := budget(program, length, high)).holds:
        low, high = high, 2 * high
        if high > MOST:
            raise ConstructionError(f"no temperature is certified for length {length}: {tried.why}")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if budget(program, length, middle).holds else (middle, high)
    return high


def smallest_gap(program: Program, length: int) -> Fraction | None:
    """The smallest gap that any head promises, at any position of an input of this length."""
    gaps = [node.gap for node in inputs_first(program.logits.forms) if isinstance(node, Attention) and node.gap]
    return min((least_gap(gap, length) for gap in gaps), default=None)


def with_softmax(program: Program, sharpness: int, own: Mapping[Node, Fraction] | None = None) -> Program:
    """The same signals with softmax in place of hard attention: only the weighting differs, once ties are broken.

    Args:
        program: The signals.
        sharpness: The scaled gap of every head,
        own: but for these.

    Raises:
        ConstructionError: If a head has a temperature already; the message names it.
    """
    program = tieless(program)

    def soft(old: Node, new: Node) -> Node:
        if not isinstance(new, Attention):
            return new
        require_average_hard(new)
        return replace(new, weighting=softmax(_scale(new, (own or {}).get(old, sharpness))))

    return replace(program, logits=rewritten(program.logits, soft))


def _scale(node: Attention, sharpness: int | Fraction) -> Fraction | Feature:
    """The scale that makes a head's gap as large as the sharpness."""
    if is_uniform(node):
        return Fraction(1)
    if isinstance(node.gap, Fraction):
        return Fraction(sharpness) / node.gap
    if not isinstance(node.gap, Monomial):
        raise ConstructionError(f"head {node.name!r}: no scale is known for the gap {node.gap}")
    return sharpness / node.gap


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
