"""Hard to soft: the softmax transformer that decides as the hard one does, and the certificate that it does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from softmachine.certify.budget import Budget, budget, least_gap
from softmachine.certify.theorem import Theorem, theorem26
from softmachine.compiler import compile_program
from softmachine.errors import ConstructionError, UsageError
from softmachine.signals.primitives import Attention, Loop, Named, Unit
from softmachine.signals.program import Program
from softmachine.signals.signal import Affine, Node, Signal, inputs_first
from softmachine.transformer.attention import AVERAGE_HARD, softmax
from softmachine.transformer.features import Feature, Monomial
from softmachine.transformer.weights import Transformer

MOST = 4096
"""No scaled gap larger than this is tried; float64 has no use for one above 745."""


@dataclass(frozen=True)
class Certificate:
    """For every input up to a length, the softmax transformer gives what the hard one gives.

    Args:
        length: Inputs have at most so many positions after position 0.
        sharpness: The scale of every head is this, divided by the gap of its scores.
        budget: The errors, head by head, and the margin that is left.
        theorem: What Theorem 26 would ask for, from the weights alone.
        gap: The smallest gap of any head at this length; None if no head chooses.
        layers: The layer of each head.
        scales: The scale (inverse temperature) of each head, as a formula.
    """

    length: int
    sharpness: int
    budget: Budget
    theorem: Theorem
    gap: Fraction | None
    layers: Mapping[str, int]
    scales: Mapping[str, str]

    @property
    def holds(self) -> bool:
        """Whether the margin is positive."""
        return self.budget.holds

    @property
    def temperature(self) -> float | None:
        """The lowest temperature of any head, τ = gap / sharpness; None if no head chooses."""
        return None if self.gap is None else float(self.gap) / self.sharpness

    @property
    def margin(self) -> float:
        """What is left of the distance between the right logit and the others."""
        return self.budget.margin

    def __str__(self) -> str:
        lines = [f"certificate for every input up to {self.length} symbols, scale {self.sharpness} / gap"]
        rows = [("layer", "head", "lemma", "gap", "scale", "error in", "error out")]
        for row in self.budget.rows:
            layer, scale = str(self.layers.get(row.head, "")), self.scales[row.head]
            rows.append((layer, row.head, row.lemma, row.gap, scale, f"{row.error_in:.1e}", f"{row.error_out:.1e}"))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines += ["  " + "  ".join(map(str.ljust, cells, widths)).rstrip() for cells in rows]
        needed = self.theorem.sharpness
        lines.append(f"  Theorem 26 asks for scale {needed:.1f} / gap, {needed / self.sharpness:.1f} times as much")
        lines.append(f"  margin of the logits ≥ {self.margin:.4f}" if self.holds else f"  fails: {self.why}")
        return "\n".join(lines)

    @property
    def why(self) -> str:
        """Why it does not hold."""
        return self.budget.failure or f"the margin of the logits is {self.margin:.3g}"


def certify(program: Program, length: int, sharpness: int | None = None) -> Certificate:
    """The certificate for a program; without a sharpness, for the smallest that does.

    Raises:
        ConstructionError: If no sharpness up to the largest one does; it says at which head the budget breaks.
    """
    if length < 0:
        raise UsageError(f"there is no input of length {length}")
    chosen = sharpness if sharpness is not None else _smallest(program, length)
    gap = smallest_gap(program, length)
    transformer = compile_program(program)
    positions = program.positions or length + 1
    theorem = theorem26(transformer, length, positions, gap or Fraction(1), program.margin or Fraction(1))
    layers = {head.name: k for k, layer in enumerate(transformer.layers, 1) for head in layer.heads}
    heads = [node for node in inputs_first(program.logits.forms) if isinstance(node, Attention)]
    scales = {node.name: str(_scale(node, chosen)) if node.query else "–" for node in heads}
    return Certificate(length, chosen, budget(program, length, chosen), theorem, gap, layers, scales)


def _smallest(program: Program, length: int) -> int:
    """The smallest sharpness for which the budget holds, by doubling and halving."""
    low, high = 0, 1
    while not (tried := budget(program, length, high)).holds:
        low, high = high, 2 * high
        if high > MOST:
            why = tried.failure or f"the margin of the logits is {tried.margin:.3g}"
            raise ConstructionError(f"no temperature is certified for length {length}: {why}")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if budget(program, length, middle).holds else (middle, high)
    return high


def smallest_gap(program: Program, length: int) -> Fraction | None:
    """The smallest gap that any head promises, at any position of an input of this length."""
    gaps = [node.gap for node in inputs_first(program.logits.forms) if isinstance(node, Attention) and node.gap]
    return min((least_gap(gap, length) for gap in gaps), default=None)


def soften(program: Program, certificate: Certificate) -> Transformer:
    """The softmax transformer that a certificate speaks of.

    Raises:
        ConstructionError: If the certificate does not hold.
    """
    if not certificate.holds:
        raise ConstructionError(f"the certificate does not hold: {certificate.why}")
    return compile_program(softened(program, certificate.sharpness))


def softened(program: Program, sharpness: int) -> Program:
    """The same signals with softmax in place of hard attention: only the weighting differs."""
    rebuilt: dict[Node, Node] = {}

    def form(old: Affine) -> Affine:
        return Affine({(rebuilt[node], k): factor for (node, k), factor in old.terms.items()}, old.constant)

    def forms(old: tuple[Affine, ...]) -> tuple[Affine, ...]:
        return tuple(map(form, old))

    for node in inputs_first(program.logits.forms):
        match node:
            case Attention():
                query, key, value = forms(node.query), forms(node.key), forms(node.value)
                weighting = softmax(_scale(node, sharpness)) if node.weighting == AVERAGE_HARD else node.weighting
                rebuilt[node] = replace(node, query=query, key=key, value=value, weighting=weighting)
            case Named():
                rebuilt[node] = replace(node, forms=forms(node.forms), restores=forms(node.restores))
            case Unit():
                rebuilt[node] = replace(node, forms=forms(node.forms), after=forms(node.after))
            case Loop():
                rebuilt[node] = replace(node, initial=forms(node.initial), body=forms(node.body))
            case _:
                rebuilt[node] = node
    logits = Signal(forms(program.logits.forms), program.logits.kinds)
    return replace(program, logits=logits)


def _scale(node: Attention, sharpness: int) -> Fraction | Feature:
    """The scale that makes a head's gap as large as the sharpness."""
    if not node.query:
        return Fraction(1)
    if isinstance(node.gap, Fraction):
        return sharpness / node.gap
    if not isinstance(node.gap, Monomial):
        raise ConstructionError(f"head {node.name!r}: no scale is known for the gap {node.gap}")
    return sharpness / node.gap
