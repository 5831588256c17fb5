"""Certificate that a softmax transformer decides as the one with hard attention does, for inputs up to a length.

Tables of certificates can be written as CSV for spreadsheets and as LaTeX for papers.
"""

from __future__ import annotations

import csv
import io
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING

from softmachine.certify.softmax_error import (
    ErrorBudget,
    bound_errors,
    min_gap,
    require_average_hard,
    scores_are_uniform,
)
from softmachine.certify.theorem26 import SharpnessBound, bound_sharpness
from softmachine.certify.tie_breaking import break_ties_in_program
from softmachine.compiler import compile_program, compile_with_heads
from softmachine.ir import lift
from softmachine.ir.analysis import Analysis
from softmachine.ir.clearing import remove_clearing
from softmachine.ir.domain import Domain
from softmachine.ir.head_rules import HeadFact
from softmachine.ir.primitives import Attention, Loop
from softmachine.ir.program import Program
from softmachine.ir.signal import Node, rewrite, topological_order
from softmachine.support.errors import ConstructionError, UsageError
from softmachine.support.notebook_html import html_table
from softmachine.support.resources import Estimate, require_affordable
from softmachine.transformer.attention import softmax_weighting
from softmachine.transformer.features import Feature, Monomial
from softmachine.transformer.weights import Head, Transformer, compute_digest

if TYPE_CHECKING:
    from softmachine.certify.promises import PromiseTest


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
        return to_csv(self)

    def to_latex(self) -> str:
        """As a ``tabular`` of LaTeX."""
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


def certify(program: Program, length: int, sharpness: int | None = None, domain: Domain | None = None) -> Certificate:
    """The certificate of a program; without a sharpness, for the smallest that suffices and that the program wants.

    Args:
        program: The program, with hard attention. What its heads declare are hints.
        length: n: inputs have at most n+1 positions, if the program is not padded.
        sharpness: The scaled gap of every head.
        domain: The inputs; by default every sequence over the vocabulary.

    Raises:
        ConstructionError: If no sharpness up to the largest one does; the message names the head where it breaks.
    """
    if length < 0:
        raise UsageError(f"there is no input of length {length}")
    if sharpness is not None and sharpness < 1:
        raise UsageError(f"invalid sharpness {sharpness}", hint="leave it out, or give 1 or more")
    original, program = program, break_ties_in_program(program)
    _require_affordable(program, length)
    transformer, heads = compile_with_heads(program)
    analysis = analyse(transformer, heads, program, length, domain)
    if program.margin is None:
        raise ConstructionError(f"{program.name!r} does not declare by how much its logits differ")
    bound = partial(bound_errors, analysis, program.margin, spare_tolerance=program.spare_tolerance)
    chosen = sharpness if sharpness is not None else _find_sharpness(bound, program.sharpness, length)
    found = bound(chosen)
    gaps = [head.gap for head in analysis.heads.values() if head.gap is not None]
    gap = min((min_gap(own, length) for own in gaps), default=None)
    positions = program.position_count or length + 1
    theorem = bound_sharpness(transformer, length, positions, gap or Fraction(1), program.margin)
    scales = {
        node.name: _gap_to_scale(node.name, head, found.own_sharpness.get(node.name, Fraction(chosen)))
        for node, head in analysis.heads.items()
    }
    layers = {head.name: k for k, layer in enumerate(transformer.layers, 1) for head in layer.heads}
    order = {name: k for k, name in enumerate(heads)}
    rows = tuple(
        replace(row, layer=layers.get(row.head), scale=None if row.gap is None else scales.get(row.head))
        for row in sorted(found.rows, key=lambda row: order[row.head])
    )
    hard = compute_digest(transformer if program is original else compile_program(original))
    weights = soften_heads(transformer, scales) if found.holds else None
    soft = None if weights is None else compute_digest(weights)
    facts = (length, chosen, theorem, gap, hard, weights, soft)
    return Certificate(rows, found.margin, found.failure, *facts, own_sharpness=found.own_sharpness)


def analyse(
    transformer: Transformer,
    heads: Mapping[str, Attention],
    program: Program,
    length: int,
    domain: Domain | None = None,
) -> Analysis:
    """Facts about the lifted weights of a program, for inputs of a domain up to a length.

    Args:
        transformer: The weights that the program compiles to.
        heads: The node of each head, whose declarations are hints.
        program: The program.
        length: n.
        domain: The inputs; by default every sequence over the vocabulary.
    """
    inputs = Domain.all_sequences(transformer.vocabulary) if domain is None else domain
    lifted = lift(transformer, margin=program.margin, position_count=program.position_count)
    if program.reuse_coordinates:
        lifted = remove_clearing(lifted, inputs, length, heads)
    analysis = Analysis(lifted, inputs, length, heads)
    analysis.follow(lifted.logits.forms)
    return analysis


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


def _find_sharpness(bound: Callable[[int], ErrorBudget], wanted: int, length: int) -> int:
    """The smallest sharpness for which the budget holds, of those that the program wants; by doubling and halving."""
    low, high = wanted - 1, wanted
    while not (tried := bound(high)).holds:
        low, high = high, 2 * high
        if high > MAX_SHARPNESS:
            raise ConstructionError(f"no temperature is certified for length {length}: {tried.explain_failure}")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if bound(middle).holds else (middle, high)
    return high


def soften_heads(transformer: Transformer, scales: Mapping[str, Fraction | Feature]) -> Transformer:
    """The transformer with softmax of these scales in place of hard attention."""

    def soft(head: Head) -> Head:
        return replace(head, weighting=softmax_weighting(scales[head.name]))

    layers = [
        tuple(replace(layer, heads=tuple(map(soft, layer.heads))) for layer in block.layers)
        for block in transformer.blocks
    ]
    blocks = zip(transformer.blocks, layers, strict=True)
    return replace(transformer, blocks=tuple(replace(block, layers=own) for block, own in blocks))


def replace_by_softmax(program: Program, sharpness: int) -> Program:
    """The program with softmax in place of hard attention: only the weighting differs, once ties are broken.

    Args:
        program: The program, whose heads declare their gaps.
        sharpness: The scaled gap of every head.

    Raises:
        ConstructionError: If a head has a temperature already; the message names it.
    """
    program = break_ties_in_program(program)

    def soft(_: Node, new: Node) -> Node:
        if not isinstance(new, Attention):
            return new
        require_average_hard(new)
        declared = HeadFact("uniform" if scores_are_uniform(new) else "hint", new.gap)
        return replace(new, weighting=softmax_weighting(_gap_to_scale(new.name, declared, Fraction(sharpness))))

    return replace(program, logits=rewrite(program.logits, soft))


def _gap_to_scale(name: str, head: HeadFact, sharpness: Fraction) -> Fraction | Feature:
    """The scale that makes a head's gap as large as the sharpness."""
    if head.rule == "uniform":
        return Fraction(1)
    if isinstance(head.gap, Fraction):
        return sharpness / head.gap
    if not isinstance(head.gap, Monomial):
        raise ConstructionError(f"head {name!r}: no scale is known for the gap {head.gap}")
    return sharpness / head.gap


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
