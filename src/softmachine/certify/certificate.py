"""Certificate that a softmax transformer decides as the one with hard attention does, for inputs up to a length.

Tables of certificates can be written as CSV for spreadsheets and as LaTeX for papers.
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

from softmachine.certify.softmax_error import (
    ErrorBudget,
    compute_budget,
    min_gap,
    require_average_hard,
    scores_are_uniform,
)
from softmachine.certify.theorem26 import SharpnessBound, bound_sharpness
from softmachine.certify.tie_breaking import break_ties_in_program
from softmachine.compiler import compile_program
from softmachine.ir.primitives import Attention, Loop
from softmachine.ir.program import Program
from softmachine.ir.signal import Node, rewrite, topological_order
from softmachine.support.errors import ConstructionError, UsageError
from softmachine.support.notebook_html import html_table
from softmachine.support.resources import Estimate, require_affordable
from softmachine.transformer.attention import softmax_weighting
from softmachine.transformer.features import Feature, Monomial
from softmachine.transformer.weights import Transformer, compute_digest

if TYPE_CHECKING:
    from softmachine.certify.promises import PromiseTest
    # MERGED


MAX_SHARPNESS = 4096
"""No scaled gap larger than this is tried; float64 has no use for one above 745."""
MAX_UNTIMED_LENGTH = 100_000
"""Certificates for shorter lengths take no time worth mentioning."""
TRIAL_POSITIONS = 1_000
"""Positions at which a gap is looked up to measure the time."""
SECONDS_PER_ITERATION, BYTES_PER_ITERATION = 1e-3, 100
"""What a turn of a loop takes: seconds and bytes, about."""


@dataclass(frozen=True)
class Certificate(ErrorBudget):
    """For every input up to a length, the softmax transformer decides as the hard one does; the budget is the proof.

    Args:
        length: The largest number of positions after position 0.
        sharpness: The scale of a head is this, divided by the gap of its scores; or less, as its row shows.
        theorem: What Theorem 26 would ask for, from the weights alone.
        gap: The smallest gap of any head at this length; None if no head chooses.
        hard_digest: The digest of the weights with hard attention.
        weights: The weights with softmax attention; None if the certificate does not hold.
        soft_digest: Their digest.
        promises: The inputs on which the promises of a plug-in were tested; None if the theorem is bundled.
    """

    length: int
    sharpness: int
    theorem: SharpnessBound
    gap: Fraction | None
    hard_digest: str
    weights: Transformer | None = field(repr=False, compare=False)
    soft_digest: str | None
    promises: PromiseTest | None = None

    @property
    def soft_transformer(self) -> Transformer:
        """The softmax transformer that the certificate is about.

        Raises:
            ConstructionError: If the certificate does not hold.
        """
        if self.weights is None:
            raise ConstructionError(f"the certificate does not hold: {self.explain_failure}")
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
            "why": None if self.holds else self.explain_failure,
            "digests": {"hard": self.hard_digest, "soft": self.soft_digest},
            **({} if self.promises is None else {"promises": self.promises.to_json()}),
        }

    @property
    def claim(self) -> str:
        """What it is about."""
        less = "up to " if any(own < self.sharpness for own in self.own_sharpness.values()) else ""
        return f"certificate for every input up to {self.length} symbols, scale {less}{self.sharpness} / gap"

    @property
    def conclusion(self) -> str:
        """What it comes to."""
        return f"margin of the logits ≥ {self.margin:.4f}" if self.holds else f"fails: {self.explain_failure}"

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
        return "\n  ".join(
            [
                self.claim,
                *lines,
                self.theorem.describe_requirement(self.sharpness),
                *tested,
                self.conclusion,
            ]
        )

    def _repr_html_(self) -> str:
        head, *rows = self.table
        return html_table(rows, f"{self.claim}; {self.conclusion}", head=head)


def certify(program: Program, length: int, sharpness: int | None = None) -> Certificate:
    """The certificate for a program; without a sharpness, for the smallest that does and that the program wants.

    Raises:
        ConstructionError: If no sharpness up to the largest one does; the message names the head where it breaks.
    """
    if length < 0:
        raise UsageError(f"there is no input of length {length}")
    if sharpness is not None and sharpness < 1:
        raise UsageError(f"a sharpness of {sharpness} prefers no key to another", hint="leave it out, or say 1 or more")
    original, program = program, break_ties_in_program(program)
    _require_affordable(program, length)
    chosen = sharpness if sharpness is not None else _find_sharpness(program, length)
    gap = find_min_gap(program, length)
    transformer = compile_program(program)
    positions = program.position_count or length + 1
    theorem = bound_sharpness(transformer, length, positions, gap or Fraction(1), program.margin or Fraction(1))
    layers = {head.name: k for k, layer in enumerate(transformer.layers, 1) for head in layer.heads}
    heads = [node for node in topological_order(program.logits.forms) if isinstance(node, Attention)]
    found = compute_budget(program, length, chosen)
    scales = {
        node.name: _gap_to_scale(node, found.own_sharpness.get(node, chosen))
        for node in heads
        if not scores_are_uniform(node)
    }
    rows = tuple(replace(row, layer=layers.get(row.head), scale=scales.get(row.head)) for row in found.rows)
    hard = compute_digest(transformer if program is original else compile_program(original))
    weights = compile_program(replace_by_softmax(program, chosen, found.own_sharpness)) if found.holds else None
    soft = None if weights is None else compute_digest(weights)
    facts = (length, chosen, theorem, gap, hard, weights, soft)
    return Certificate(rows, found.margin, found.failure, *facts, own_sharpness=found.own_sharpness)


def _require_affordable(program: Program, length: int) -> None:
    """Gaps that are not monotone are looked up at every position, and loops are followed turn by turn.

    Raises:
        TooExpensiveError: If it takes too long, and expensive work is not allowed.
    """
    if length < MAX_UNTIMED_LENGTH:
        return
    nodes = list(topological_order(program.logits.forms))
    features = {node.gap for node in nodes if isinstance(node, Attention) and isinstance(node.gap, Feature)}
    gaps = [gap for gap in features if not gap.is_monotone]
    turns = max((node.count_iterations(length) for node in nodes if isinstance(node, Loop)), default=0)
    seconds = sum(map(partial(_estimate_lookup_seconds, length), gaps)) + turns * SECONDS_PER_ITERATION
    estimate = Estimate(f"a certificate for length {length:,}", seconds, turns * BYTES_PER_ITERATION)
    require_affordable(estimate, hint="ask for a shorter length")


def _estimate_lookup_seconds(length: int, gap: Feature) -> float:
    """How many seconds it takes to look a gap up at every position."""
    began = time.perf_counter()
    min(gap.at(length - i, length) for i in range(TRIAL_POSITIONS))
    return (time.perf_counter() - began) / TRIAL_POSITIONS * length


def _find_sharpness(program: Program, length: int) -> int:
    """The smallest sharpness for which the budget holds, of those that the program wants; by doubling and halving."""
    low, high = program.sharpness - 1, program.sharpness
    while not (tried := compute_budget(program, length, high)).holds:
        low, high = high, 2 * high
        if high > MAX_SHARPNESS:
            raise ConstructionError(f"no temperature is certified for length {length}: {tried.explain_failure}")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if compute_budget(program, length, middle).holds else (middle, high)
    return high


def find_min_gap(program: Program, length: int) -> Fraction | None:
    """The smallest gap that any head promises, at any position of an input of this length."""
    gaps = [node.gap for node in topological_order(program.logits.forms) if isinstance(node, Attention) and node.gap]
    return min((min_gap(gap, length) for gap in gaps), default=None)


def replace_by_softmax(program: Program, sharpness: int, own: Mapping[Node, Fraction] | None = None) -> Program:
    """The same signals with softmax in place of hard attention: only the weighting differs, once ties are broken.

    Args:
        program: The signals.
        sharpness: The scaled gap of every head,
        own: but for these.

    Raises:
        ConstructionError: If a head has a temperature already; the message names it.
    """
    program = break_ties_in_program(program)

    def soft(old: Node, new: Node) -> Node:
        if not isinstance(new, Attention):
            return new
        require_average_hard(new)
        return replace(new, weighting=softmax_weighting(_gap_to_scale(new, (own or {}).get(old, sharpness))))

    return replace(program, logits=rewrite(program.logits, soft))


def _gap_to_scale(node: Attention, sharpness: int | Fraction) -> Fraction | Feature:
    """The scale that makes a head's gap as large as the sharpness."""
    if scores_are_uniform(node):
        return Fraction(1)
    if isinstance(node.gap, Fraction):
        return Fraction(sharpness) / node.gap
    if not isinstance(node.gap, Monomial):
        raise ConstructionError(f"head {node.name!r}: no scale is known for the gap {node.gap}")
    return sharpness / node.gap


NO_VALUE = "–"
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
    table.writerows({name: "" if value == NO_VALUE else value for name, value in line.items()} for line in lines)
    return text.getvalue()


def to_latex(certificate: Certificate) -> str:
    """A ``tabular`` that needs no package, with what is certified in its last line."""
    head, *rows = certificate.table
    lines = [" & ".join(map(_escape, cells)) for cells in rows]
    claim = _escape(f"{certificate.claim}; {certificate.conclusion}")
    caption = f"\\multicolumn{{{len(head)}}}{{l}}{{{claim}}}"
    parts = [" & ".join(head), r"\hline", *lines, r"\hline", caption]
    body = "\n".join(part if part.startswith(r"\hline") else rf"{part} \\" for part in parts)
    return f"\\begin{{tabular}}{{rllllrr}}\n\\hline\n{body}\n\\hline\n\\end{{tabular}}\n"


def _escape(text: str) -> str:
    """A text as LaTeX prints it; numbers like 6.1e-05 as products with powers of ten."""
    number = re.fullmatch(r"(\d+\.\d+)e([+-]\d+)", text)
    if number:
        return "$0$" if float(text) == 0 else rf"${number[1]} \cdot 10^{{{int(number[2])}}}$"
    return "".join(_LETTERS.get(letter, letter) for letter in text)
