"""Certificate that a softmax transformer decides as the one with hard attention does, for inputs up to a length.

Tables of certificates can be written as CSV for spreadsheets and as LaTeX for papers.
"""

from __future__ import annotations

import csv
import io
import re
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING, cast

from softmachine.certify.softmax_error import (
    ErrorAnalysis,
    ErrorBudget,
    HeadErrorBound,
    min_gap,
    require_average_hard,
    scores_are_uniform,
)
from softmachine.certify.theorem26 import SharpnessBound, bound_sharpness
from softmachine.certify.tie_breaking import break_ties_in_program
from softmachine.compiler import compile_program, compile_with_nodes
from softmachine.compiler.allocation import UniqueNames
from softmachine.ir import lift
from softmachine.ir.analysis import Analysis
from softmachine.ir.domain import Domain
from softmachine.ir.facts import join_steps
from softmachine.ir.lifter import remove_clearing
from softmachine.ir.primitives import Attention, Loop
from softmachine.ir.program import Program
from softmachine.ir.signal import Node, rewrite, topological_order
from softmachine.support.errors import BrokenPromiseError, ConstructionError, UsageError
from softmachine.support.notebook_html import html_table
from softmachine.support.resources import Estimate, require_affordable
from softmachine.support.text import pluralize
from softmachine.transformer.attention import AVERAGE_HARD, softmax_weighting
from softmachine.transformer.features import Feature, Monomial
from softmachine.transformer.weights import Block, Head, Transformer, compute_digest

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


ASSUMPTIONS = {
    "gap": "scores below the best are at least {} below it",
    "decay": "scores decay as declared",
    "single key": "keys that tie hold equal values",
}
"""What a head's declaration claims, if it is not derived."""


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
        domain: The sequences that it is about.
        margin_assumption: What is declared of the logits, and not derived; empty if everything is derived.
        promises: The inputs on which the assumptions were tested; None if there are none.
    """

    length: int
    sharpness: int
    theorem: SharpnessBound
    gap: Fraction | None
    hard_digest: str
    weights: Transformer | None = field(repr=False, compare=False)
    soft_digest: str | None
    domain: Domain = field(repr=False)
    margin_assumption: str = ""
    promises: PromiseTest | None = None

    @property
    def assumptions(self) -> list[str]:
        """What is declared by the author of the program, and neither derived nor refuted."""
        claims = [(row, ASSUMPTIONS[name].format(row.gap)) for row in self.rows for name in row.assumptions]
        found = [f"head {row.head!r}: {claim}" for row, claim in claims]
        return [*found, self.margin_assumption] if self.margin_assumption else found

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
            "domain": self.domain.to_json(),
            "assumptions": self.assumptions,
            **({} if self.promises is None else {"promises": self.promises.to_json()}),
        }

    @property
    def claim(self) -> str:
        """What it is about."""
        less = "up to " if any(own < self.sharpness for own in self.own_sharpness.values()) else ""
        count = len(self.assumptions)
        under = f" under {pluralize(count, 'assumption')}" if count else ""
        return f"certificate{under} for every input up to {self.length} symbols, scale {less}{self.sharpness} / gap"

    @property
    def conclusion(self) -> str:
        """What it comes to."""
        return f"margin of the logits ≥ {self.margin:.4f}" if self.holds else f"fails: {self.explain_failure}"

    @property
    def table(self) -> list[list[str]]:
        """The errors from head to head, for people; the first line has the titles."""
        table = [["layer", "head", "rule", "lemma", "gap", "scale", "error in", "error out"]]
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
        assumed = [f"assumption: {assumption}" for assumption in self.assumptions]
        tested = [] if self.promises is None else [str(self.promises)]
        return "\n  ".join(
            [
                self.claim,
                *lines,
                self.theorem.describe_requirement(self.sharpness),
                f"about {self.domain}",
                *assumed,
                *tested,
                self.conclusion,
            ]
        )

    def _repr_html_(self) -> str:
        head, *rows = self.table
        return html_table(rows, f"{self.claim}; {self.conclusion}", head=head)


def certify(
    program: Program,
    length: int,
    sharpness: int | None = None,
    domain: Domain | None = None,
    assumable: Collection[str] = ("gap", "decay", "single key"),
) -> Certificate:
    """The certificate of the weights that a program compiles to.

    Args:
        program: The program, with hard attention. What its heads declare are hints.
        length: n: inputs have at most n+1 positions, if the program is not padded.
        sharpness: The scaled gap of every head; by default the smallest that suffices and that the program wants.
        domain: The inputs; by default every sequence over the vocabulary.
        assumable: What is assumed where a hint claims more than is derived; other such hints are refused.

    Raises:
        BrokenPromiseError: If a hint is refused; the message names the head and what is derived.
        ConstructionError: If no sharpness is certified.
    """
    untied = break_ties_in_program(program)
    weights, heads, _ = compile_with_nodes(untied)
    found = _certify(weights, untied, heads, length, sharpness, domain, assumable)
    return found if untied is program else replace(found, hard_digest=compute_digest(compile_program(program)))


def certify_weights(
    weights: Transformer,
    length: int,
    sharpness: int | None = None,
    domain: Domain | None = None,
    position_count: int | None = None,
) -> Certificate:
    """The certificate of weights with hard attention without a source, in which everything is derived.

    Args:
        weights: The weights.
        length: n: inputs have at most n+1 positions.
        sharpness: The scaled gap of every head; by default the smallest that suffices.
        domain: The inputs; by default every sequence over the vocabulary.
        position_count: The number of positions, if padding determines it.

    Raises:
        ConstructionError: If a gap, the margin or the values of tied keys are not derived, or no sharpness suffices.
    """
    weights = name_heads_apart(weights)
    lifted = replace(lift(weights, position_count=position_count), reuse_coordinates=True)
    if not any(head.weighting.is_unique_hard for head in weights.heads):
        return _certify(weights, lifted, {}, length, sharpness, domain, ())
    gaps = {node.name: head.gap for node, head in analyse(weights, {}, lifted, length, domain).heads.items()}
    found = certify(declare_gaps(lifted, gaps), length, sharpness, domain)
    return replace(found, hard_digest=compute_digest(weights))


def declare_gaps(program: Program, gaps: Mapping[str, Fraction | Feature | None]) -> Program:
    """The program with these gaps as hints of its heads, by their names."""

    def declare(_: Node, node: Node) -> Node:
        return replace(node, gap=gaps[node.name]) if isinstance(node, Attention) else node

    return replace(program, logits=rewrite(program.logits, declare))


def _certify(
    weights: Transformer,
    program: Program,
    hints: Mapping[str, Attention],
    length: int,
    sharpness: int | None,
    domain: Domain | None,
    assumable: Collection[str],
) -> Certificate:
    """The certificate of weights with average-hard attention; hints are given for all heads or for none."""
    if sharpness is not None and sharpness < 1:
        raise UsageError(f"invalid sharpness {sharpness}", hint="leave it out, or give 1 or more")
    _require_affordable(program, length)
    analysis = analyse(weights, hints, program, length, domain)
    _refuse_hints(analysis, assumable)
    margin, assumption = _find_margin(analysis, program.margin)
    bound = ErrorAnalysis(analysis, margin, program.spare_tolerance).bound
    chosen = sharpness if sharpness is not None else _find_sharpness(bound, program.sharpness, length)
    found = bound(chosen)
    scales = {
        node.name: gap_to_scale(node.name, head.gap, found.own_sharpness.get(node.name, Fraction(chosen)))
        for node, head in analysis.heads.items()
    }
    gaps = [min_gap(head.gap, analysis.positions - 1) for head in analysis.heads.values() if head.gap is not None]
    softened = soften_heads(weights, scales) if found.holds else None
    return Certificate(
        _place_rows(found.rows, weights, hints, scales),
        found.margin,
        found.failure,
        length,
        chosen,
        bound_sharpness(weights, length, analysis.positions, min(gaps, default=Fraction(1)), margin),
        min(gaps, default=None),
        compute_digest(weights),
        softened,
        None if softened is None else compute_digest(softened),
        analysis.domain,
        assumption,
        own_sharpness=found.own_sharpness,
    )


def analyse(
    weights: Transformer, hints: Mapping[str, Attention], program: Program, length: int, domain: Domain | None = None
) -> Analysis:
    """Facts about lifted weights, for inputs of a domain up to a length.

    Args:
        weights: The weights.
        hints: What the author declares of the heads, by their names.
        program: The program that compiles to the weights, for what they do not determine.
        length: n.
        domain: The inputs; by default every sequence over the vocabulary.
    """
    if length < 0:
        raise UsageError(f"there is no input of length {length}")
    inputs = Domain.all_sequences(weights.vocabulary) if domain is None else domain
    lifted = lift(weights, margin=program.margin, position_count=program.position_count)
    analysis = Analysis(lifted, inputs, length, hints)
    if program.reuse_coordinates:
        remove_clearing(analysis)
    analysis.follow(analysis.program.logits.forms)
    return analysis


def _refuse_hints(analysis: Analysis, assumable: Collection[str]) -> None:
    """Refuse hints that claim more than is derived.

    Raises:
        BrokenPromiseError: If there is one that is not assumed; the message has what is derived.
    """
    for node, head in analysis.heads.items():
        refused = [name for name in head.assumptions if name not in assumable]
        if not refused:
            continue
        derived = f"only {head.derived} is derived" if head.derived is not None else f"none is derived: {head.reason}"
        claim = f"the gap {head.gap}, but {derived}"
        if "gap" not in refused:
            claim = f"{head.decay} decay, which is not derived"
        hint = f"leave the {refused[0]} out: what is derived is used; or use a gadget whose scores have a larger one"
        raise BrokenPromiseError(f"head {node.name!r} declares {claim}", hint=f"{hint}, such as lookup")


def _find_margin(analysis: Analysis, declared: Fraction | None) -> tuple[Fraction, str]:
    """The margin of the logits, and what is assumed of it; empty if it is derived.

    **Lemma (margin).** If the differences of two logits are multiples of s, then where one logit is the largest, it
    exceeds the others by at least s.
    """
    first, *others = analysis.program.logits.forms
    differences = [analysis.of(form + first * Fraction(-1)) for form in others]
    step = join_steps(fact.step for fact in differences)
    if step is None or not step.factor:
        derived = None if step is None else declared or Fraction(1)
    elif analysis.is_padded:
        derived = step.minimum(analysis.positions)
    else:
        derived = min_gap(step.lower_bound(), analysis.length)
    if declared is None and derived is None:
        raise ConstructionError(
            "no margin of the logits is derived: no step is known of their differences",
            hint="make them from a bit with recogniser, or give Program(margin=…)",
        )
    if declared is None or (derived is not None and derived >= declared):
        return declared or cast(Fraction, derived), ""
    return declared, f"the largest logit exceeds the others by at least {declared}"


def _place_rows(
    rows: Iterable[HeadErrorBound],
    weights: Transformer,
    hints: Mapping[str, Attention],
    scales: Mapping[str, Fraction | Feature],
) -> tuple[HeadErrorBound, ...]:
    """The rows with layers and scales, in the order of the hints or else of the layers."""
    layers = {head.name: k for k, layer in enumerate(weights.layers, 1) for head in layer.heads}
    order = {name: k for k, name in enumerate(hints or layers)}
    return tuple(
        replace(row, layer=layers.get(row.head), scale=None if row.gap is None else scales.get(row.head))
        for row in sorted(rows, key=lambda row: order[row.head])
    )


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


def soften_heads(weights: Transformer, scales: Mapping[str, Fraction | Feature]) -> Transformer:
    """The transformer with softmax of these scales; a head without a scale, which no logit depends on, has scale 1."""
    one = Fraction(1)
    return _map_heads(weights, lambda head: replace(head, weighting=softmax_weighting(scales.get(head.name, one))))


def name_heads_apart(weights: Transformer) -> Transformer:
    """The transformer with a name of its own for every head."""
    names = UniqueNames()
    return _map_heads(weights, lambda head: replace(head, name=names.make_unique(head.name)))


def harden_heads(weights: Transformer) -> Transformer:
    """The transformer with average-hard attention in place of softmax."""
    return _map_heads(weights, lambda head: replace(head, weighting=AVERAGE_HARD))


def _map_heads(weights: Transformer, change: Callable[[Head], Head]) -> Transformer:
    def block(old: Block) -> Block:
        return replace(old, layers=tuple(replace(x, heads=tuple(map(change, x.heads))) for x in old.layers))

    return replace(weights, blocks=tuple(map(block, weights.blocks)))


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
        gap = None if scores_are_uniform(new) else new.gap
        return replace(new, weighting=softmax_weighting(gap_to_scale(new.name, gap, Fraction(sharpness))))

    return replace(program, logits=rewrite(program.logits, soft))


def gap_to_scale(name: str, gap: Fraction | Feature | None, sharpness: Fraction) -> Fraction | Feature:
    """The scale that makes a head's gap as large as the sharpness; 1 without a gap."""
    if gap is None:
        return Fraction(1)
    if isinstance(gap, Fraction):
        return sharpness / gap
    if not isinstance(gap, Monomial):
        raise ConstructionError(f"head {name!r}: no scale is known for the gap {gap}")
    return sharpness / gap


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
    lines = [{**whole, **row.to_json(), "assumptions": "; ".join(row.assumptions)} for row in certificate.rows]
    text = io.StringIO()
    names = [*whole, "layer", "head", "rule", "assumptions", "lemma", "gap", "scale"]
    names += ["scaled_gap", "error_in", "error_out"]
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
    return f"\\begin{{tabular}}{{rlllllrr}}\n\\hline\n{body}\n\\hline\n\\end{{tabular}}\n"


def _escape(text: str) -> str:
    """A text as LaTeX prints it; numbers like 6.1e-05 as products with powers of ten."""
    number = re.fullmatch(r"(\d+\.\d+)e([+-]\d+)", text)
    if number:
        return "$0$" if float(text) == 0 else rf"${number[1]} \cdot 10^{{{int(number[2])}}}$"
    return "".join(_LETTERS.get(letter, letter) for letter in text)
