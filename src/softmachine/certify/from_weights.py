"""Certificate from weights alone, for any transformer with hard attention, built by hand or loaded (Theorem 26).

The gap γ(n) and the margin of the logits come from running every input up to the length, if they are few
(:mod:`.exhaustive`); else from denominators (:mod:`.denominators`), where the weights allow it. Leftmost- and
rightmost-hard heads get a term that breaks ties (Lemma 8, :mod:`.tie_breaking`). In the first case the temperature is
the mildest with which every input comes out the same; in the second it is Theorem 26's. Where neither is possible, the
message names the head that prevents it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil, inf, isfinite

from softmachine.certify.denominators import (
    GapAnalysis,
    find_step_after_errors,
    heads_without_errors,
    is_uniform_average,
    require_hard_attention,
)
from softmachine.certify.exhaustive import (
    ExhaustiveObservation,
    InputsByLength,
    find_disagreement,
    iterate_sequences,
    observe_all_inputs,
)
from softmachine.certify.theorem26 import SharpnessBound, bound_sharpness
from softmachine.certify.tie_breaking import break_ties_in_weights, tie_breaking_slope
from softmachine.support.errors import ConstructionError, UsageError
from softmachine.support.notebook_html import html_table
from softmachine.support.text import pluralize
from softmachine.transformer.attention import softmax_weighting
from softmachine.transformer.weights import Head, Layer, Transformer, compute_digest

MAX_INPUTS = 2_000
"""Limit of the number of inputs that are all run; above, the bounds come from denominators."""
MAX_SHARPNESS = 4096
"""No scaled gap larger than this is tried on every input; float64 has no use for one above 745."""


@dataclass(frozen=True)
class HeadSummary:
    """What is known of a head.

    Args:
        head: Its name.
        layer: Its layer.
        kind: What it does: uniform, tieless, ties without errors, or which of several best keys it takes.
        gap: The gap of its scores, ties broken; None if all keys always have one score, so that it does not choose.
        scale: Its scale (inverse temperature).
    """

    head: str
    layer: int
    kind: str
    gap: Fraction | None
    scale: Fraction


@dataclass(frozen=True)
class WeightCertificate:
    """For every input up to a length, the softmax transformer decides as the hard one does, wherever that decides.

    Args:
        length: n: inputs have at most n+1 positions.
        inputs: How many inputs there are, if all were run; None if the bounds come from denominators.
        heads: What is known of each head.
        largest_activation: x_max(n), the largest entry of an initial activation, and at least 1.
        margin: By how much the largest logit exceeds the others, where it does; a lower bound if from denominators.
        sharpness: The scale of a head is this, divided by its gap.
        sharpness_bound: What Theorem 26 asks for.
        failure: Why it does not hold; None if it does.
        hard_digest: The digest of the weights with hard attention.
        soft_digest: That of the weights with softmax attention.
    """

    length: int
    inputs: int | None
    heads: tuple[HeadSummary, ...]
    largest_activation: Fraction
    margin: Fraction
    sharpness: int
    sharpness_bound: SharpnessBound
    failure: str | None
    hard_digest: str
    soft_digest: str

    @property
    def holds(self) -> bool:
        """Whether softmax decides as hard attention does."""
        return self.failure is None

    @property
    def gap(self) -> Fraction | None:
        """γ(n): the smallest gap of any head; None if no head chooses."""
        return min((row.gap for row in self.heads if row.gap is not None), default=None)

    @property
    def temperature(self) -> float | None:
        """τ(n), the lowest temperature of any head; None if no head chooses."""
        return None if self.gap is None else float(self.gap) / self.sharpness

    @property
    def claim(self) -> str:
        """What it is about."""
        how = "from denominators" if self.inputs is None else f"{pluralize(self.inputs, 'input')}, all run"
        positions = pluralize(self.length + 1, "position")
        return f"certificate from weights for up to {positions} ({how}), scale {self.sharpness} / gap"

    @property
    def table(self) -> list[list[str]]:
        """What is known of the heads, for people; the first line has the titles."""
        rows = [
            [str(row.layer), row.head, row.kind, "–" if row.gap is None else str(row.gap), str(row.scale)]
            for row in self.heads
        ]
        return [["layer", "head", "kind", "gap", "scale"], *rows]

    @property
    def conclusion(self) -> str:
        """What it comes to."""
        return "softmax decides as hard attention does" if self.holds else f"fails: {self.failure}"

    def to_json(self) -> dict[str, object]:
        """As plain data."""
        return {
            "length": self.length,
            "inputs": self.inputs,
            "sharpness": self.sharpness,
            "temperature": self.temperature,
            "theorem_sharpness": self.sharpness_bound.sharpness if isfinite(self.sharpness_bound.sharpness) else None,
            "gap": None if self.gap is None else str(self.gap),
            "largest": str(self.largest_activation),
            "margin": str(self.margin),
            "heads": [dict(zip(self.table[0], row, strict=True)) for row in self.table[1:]],
            "holds": self.holds,
            "why": self.failure,
            "digests": {"hard": self.hard_digest, "soft": self.soft_digest},
        }

    def __str__(self) -> str:
        widths = [max(map(len, column)) for column in zip(*self.table, strict=True)]
        lines = ["  ".join(map(str.ljust, cells, widths)).rstrip() for cells in self.table] if self.heads else []
        least = "is" if self.inputs else "≥"
        chooses = "no head chooses" if self.gap is None else f"γ(n) {least} {self.gap}"
        lines.append(f"{chooses}, x_max(n) is {self.largest_activation}, margin of the logits {least} {self.margin}")
        lines.append(self.sharpness_bound.describe_requirement(self.sharpness))
        return "\n  ".join([self.claim, *lines, self.conclusion])

    def _repr_html_(self) -> str:
        head, *rows = self.table
        return html_table(rows, f"{self.claim}; {self.conclusion}", head=head)


def certify_weights(
    transformer: Transformer, length: int, sharpness: int | None = None, inputs: InputsByLength | None = None
) -> WeightCertificate:
    """The certificate of a transformer with hard attention, from its weights alone.

    Args:
        transformer: The weights.
        length: n: inputs have up to n+1 positions, and n, the index of the last one, is given to the model.
        sharpness: The scaled gap of every head; by default the smallest that is found, or Theorem 26's.
        inputs: From a length to all inputs of it; by default all sequences over the vocabulary.

    Raises:
        ConstructionError: If no gap is known, or softmax cannot replace a head; the message names it.
    """
    return _Softening(transformer, length, inputs).certify(sharpness)


def soften_weights(
    transformer: Transformer, length: int, sharpness: int | None = None, inputs: InputsByLength | None = None
) -> tuple[Transformer, WeightCertificate]:
    """The softmax transformer, and the certificate that it decides as the hard one does; see :func:`certify_weights`.

    Raises:
        ConstructionError: If no temperature, or not this one, is certified; the message gives the reason.
    """
    softening = _Softening(transformer, length, inputs)
    certificate = softening.certify(sharpness)
    if certificate.failure:
        raise ConstructionError(f"the certificate does not hold: {certificate.failure}")
    return softening.soften(certificate.sharpness), certificate


class _Softening:
    """A transformer on its way from hard to soft."""

    def __init__(self, transformer: Transformer, length: int, inputs: InputsByLength | None) -> None:
        if length < 0:
            raise UsageError(f"there is no input of length {length}")
        require_hard_attention(transformer)
        self.hard, self.length = transformer, length
        self.inputs = inputs or iterate_sequences(transformer)
        _ = self.score_gaps  # raises an error with a better message than the next line would
        self.kinds = {head: self._classify(head) for head in transformer.heads}
        self.slopes = {
            head: tie_breaking_slope(head, self.score_gaps[head] or Fraction(1), length)
            for head in transformer.heads
            if head.weighting.is_unique_hard
        }
        self.untied = break_ties_in_weights(transformer, self.slopes)

    @cached_property
    def has_few_inputs(self) -> bool:
        """Whether there are so few inputs that all are run."""
        count = 0
        for n in range(self.length + 1):
            for _ in self.inputs(n):
                count += 1
                if count > MAX_INPUTS:
                    return False
        return True

    @cached_property
    def observed(self) -> ExhaustiveObservation:
        """What all inputs show."""
        return observe_all_inputs(self.hard, self.inputs, self.length)

    @cached_property
    def bounds(self) -> list[GapAnalysis]:
        """What denominators tell, length by length."""
        try:
            return [GapAnalysis(self.hard, n) for n in range(self.length + 1)]
        except ConstructionError as error:
            most = (
                f"there are more than {MAX_INPUTS:,} inputs of up to {self.length + 1} positions, and {error.message}"
            )
            raise ConstructionError(most, hint=error.hint) from None

    @cached_property
    def score_gaps(self) -> Mapping[Head, Fraction | None]:
        """The gap of the scores that differ, of every head; None if none do."""
        if self.has_few_inputs:
            return {head: seen.gap for head, seen in self.observed.heads.items()}
        gaps: dict[Head, Fraction | None] = dict.fromkeys(self.hard.heads)
        for bound in self.bounds:
            for head, gap in bound.heads.items():
                gaps[head] = min(filter(None, (gaps[head], gap)), default=None)
        return gaps

    @cached_property
    def margin(self) -> Fraction:
        """By how much the largest logit exceeds the others, where it does."""
        found = self.observed.margin if self.has_few_inputs else min(bound.margin for bound in self.bounds)
        return Fraction(1) if found is None else found

    def _classify(self, head: Head) -> str:
        """What a head does.

        Raises:
            ConstructionError: If it takes means of keys that tie, and errors would make these uneven.
        """
        if head.weighting.is_unique_hard:
            return str(head.weighting)
        if is_uniform_average(head):
            return "uniform"
        tie = self.observed.heads[head].tie if self.has_few_inputs else "somewhere"
        if tie is None:
            return "tieless"
        if head in heads_without_errors(self.hard, self.length):
            return "ties, no errors"
        raise ConstructionError(
            f"head {head.name!r} is neither uniform nor tieless: {tie} tie, and softmax before it makes errors",
            hint="Theorem 26 is about uniform-tieless heads; let a term of its scores break ties",
        )

    def gap(self, head: Head) -> Fraction | None:
        """The gap of a head's scores once ties are broken; None if it does not choose."""
        return abs(self.slopes[head]) if head in self.slopes else self.score_gaps[head]

    def soften(self, sharpness: int) -> Transformer:
        """The transformer with softmax in place of hard attention."""
        gaps = dict(zip(self.untied.heads, map(self.gap, self.hard.heads), strict=True))

        def softened(layer: Layer) -> Layer:
            heads = (replace(h, weighting=softmax_weighting(_gap_to_scale(gaps[h], sharpness))) for h in layer.heads)
            return replace(layer, heads=tuple(heads))

        blocks = (replace(block, layers=tuple(map(softened, block.layers))) for block in self.untied.blocks)
        return replace(self.untied, blocks=tuple(blocks))

    def certify(self, sharpness: int | None) -> WeightCertificate:
        """The certificate; without a sharpness, for the smallest that does."""
        gaps = [gap for gap in map(self.gap, self.hard.heads) if gap is not None]
        theorem = bound_sharpness(
            self.untied, self.length, self.length + 1, min(gaps, default=Fraction(1)), self.margin
        )
        if find_step_after_errors(self.hard, self.length):
            theorem = replace(theorem, sharpness=inf)
        chosen = self._find_sharpness(theorem) if sharpness is None else sharpness
        return WeightCertificate(
            self.length,
            self.observed.count if self.has_few_inputs else None,
            tuple(self._summarise(head, layer, chosen) for layer, head in self._heads()),
            max_initial_activation(self.hard, self.length),
            self.margin,
            chosen,
            theorem,
            self._find_failure(chosen, theorem),
            compute_digest(self.hard),
            compute_digest(self.soften(chosen)),
        )

    def _heads(self) -> list[tuple[int, Head]]:
        return [(number, head) for number, layer in enumerate(self.hard.layers, 1) for head in layer.heads]

    def _summarise(self, head: Head, layer: int, sharpness: int) -> HeadSummary:
        gap = self.gap(head)
        return HeadSummary(head.name, layer, self.kinds[head], gap, _gap_to_scale(gap, sharpness))

    def _find_failure(self, sharpness: int, theorem: SharpnessBound) -> str | None:
        """Why this sharpness is not certified; None if it is."""
        if self.has_few_inputs:
            return find_disagreement(self.soften(sharpness), self.inputs, self.length, self.observed)
        if sharpness < theorem.sharpness:
            return f"Theorem 26 asks for {theorem.sharpness:.1f}, and there are too many inputs to run them all"
        return None

    def _find_sharpness(self, theorem: SharpnessBound) -> int:
        """The smallest sharpness with which all inputs come out the same, by doubling and halving; or Theorem 26's."""
        if not self.has_few_inputs:
            if not isfinite(theorem.sharpness):
                raise ConstructionError("the bounds of Theorem 26 are beyond floats: no temperature is certified")
            return max(1, ceil(theorem.sharpness))
        low, high = 0, 1
        while (problem := self._find_failure(high, theorem)) is not None:
            low, high = high, 2 * high
            if high > MAX_SHARPNESS:
                step = find_step_after_errors(self.hard, self.length)
                more = f" (unit {step!r} is a step, which an error of any size can turn over)" if step else ""
                raise ConstructionError(f"no temperature is certified for length {self.length}: {problem}{more}")
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._find_failure(middle, theorem) is None else (middle, high)
        return high


def max_initial_activation(transformer: Transformer, length: int) -> Fraction:
    """x_max(n): the largest entry of an initial activation of an input up to this length, and at least 1."""
    tokens = [dict(row) for row in transformer.embedding.rows]
    rows = list(zip(transformer.features, transformer.position_embedding.rows, strict=True))
    reads_length = any(feature.needs_length for feature in transformer.features)
    largest = Fraction(1)
    for n in range(length + 1) if reads_length else [length]:
        for i in range(n + 1):
            placed = [Fraction(0)] * transformer.width
            for feature, row in rows:
                value = feature.at(i, n)
                for c, factor in row:
                    placed[c] += factor * value
            entries = (abs(token.get(c, Fraction(0)) + own) for token in tokens for c, own in enumerate(placed))
            largest = max(largest, *entries)
    return largest


def _gap_to_scale(gap: Fraction | None, sharpness: int) -> Fraction:
    return Fraction(1) if gap is None else sharpness / gap
