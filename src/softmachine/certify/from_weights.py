"""Certificates of weights without a source: derived from the weights, or by running every input.

Everything is derived where rules suffice (:func:`softmachine.certify.certificate.certify_weights`). Where they do not,
and there are few inputs up to the length, all of them are run with hard and with soft attention
(:mod:`.exhaustive`): the temperature is then the highest with which every decision is the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from math import isfinite

from softmachine.certify.certificate import (
    Certificate,
    certify_weights,
    declare_gaps,
    gap_to_scale,
    name_heads_apart,
    soften_heads,
)
from softmachine.certify.exhaustive import (
    HeadObservation,
    InputsByLength,
    find_disagreement,
    observe_all_inputs,
)
from softmachine.certify.softmax_error import min_gap, scores_are_uniform
from softmachine.certify.theorem26 import SharpnessBound, bound_sharpness
from softmachine.certify.tie_breaking import break_ties_in_program
from softmachine.compiler import compile_with_nodes
from softmachine.ir import lift
from softmachine.ir.domain import Domain
from softmachine.ir.primitives import Attention
from softmachine.ir.signal import topological_order
from softmachine.support.errors import ConstructionError
from softmachine.support.notebook_html import html_table
from softmachine.support.text import pluralize
from softmachine.transformer.features import Feature
from softmachine.transformer.weights import Transformer, compute_digest

MAX_INPUTS = 2_000
"""Maximal number of inputs that are all run."""
MAX_SHARPNESS = 4096
"""No larger scaled gap is tried; float64 has no use for one above 745."""


@dataclass(frozen=True)
class HeadSummary:
    """The behaviour of a head on all inputs.

    Args:
        head: Its name.
        layer: Its layer.
        kind: "uniform", "tieless", "ties", or which of several best keys it takes.
        gap: The gap of its scores, ties broken; None if all keys always have one score.
        scale: Its scale (inverse temperature).
    """

    head: str
    layer: int
    kind: str
    gap: Fraction | None
    scale: Fraction | Feature


@dataclass(frozen=True)
class ExhaustiveCertificate:
    """On every input up to a length, the softmax transformer decides as the hard one does, wherever that decides.

    Args:
        length: n: inputs have at most n+1 positions.
        inputs: The number of inputs; all were run.
        heads: The heads.
        margin: The least distance of the largest logit from the others, where one is largest.
        sharpness: The scale of a head is this, divided by its gap.
        sharpness_bound: The sharpness that Theorem 26 requires.
        failure: Why it does not hold; None if it does.
        hard_digest: The digest of the weights with hard attention.
        weights: The weights with softmax attention.
        soft_digest: Their digest.
    """

    length: int
    inputs: int
    heads: tuple[HeadSummary, ...]
    margin: Fraction
    sharpness: int
    sharpness_bound: SharpnessBound
    failure: str | None
    hard_digest: str
    weights: Transformer
    soft_digest: str

    @property
    def holds(self) -> bool:
        """Whether softmax decides as hard attention does."""
        return self.failure is None

    @property
    def soft_transformer(self) -> Transformer:
        """The softmax transformer that the certificate is about.

        Raises:
            ConstructionError: If the certificate does not hold.
        """
        if self.failure is not None:
            raise ConstructionError(f"the certificate does not hold: {self.failure}")
        return self.weights

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
        """The statement, in one line."""
        positions = pluralize(self.length + 1, "position")
        inputs = pluralize(self.inputs, "input")
        return f"certificate from weights for up to {positions} ({inputs}, all run), scale {self.sharpness} / gap"

    @property
    def table(self) -> list[list[str]]:
        """The heads as a table; the first line has the titles."""
        rows = [
            [str(row.layer), row.head, row.kind, "–" if row.gap is None else str(row.gap), str(row.scale)]
            for row in self.heads
        ]
        return [["layer", "head", "kind", "gap", "scale"], *rows]

    @property
    def conclusion(self) -> str:
        """Whether it holds."""
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
            "margin": str(self.margin),
            "heads": [dict(zip(self.table[0], row, strict=True)) for row in self.table[1:]],
            "holds": self.holds,
            "why": self.failure,
            "digests": {"hard": self.hard_digest, "soft": self.soft_digest},
        }

    def __str__(self) -> str:
        widths = [max(map(len, column)) for column in zip(*self.table, strict=True)]
        lines = ["  ".join(map(str.ljust, cells, widths)).rstrip() for cells in self.table] if self.heads else []
        chooses = "no head chooses" if self.gap is None else f"γ(n) is {self.gap}"
        lines.append(f"{chooses}, margin of the logits is {self.margin}")
        lines.append(self.sharpness_bound.describe_requirement(self.sharpness))
        return "\n  ".join([self.claim, *lines, self.conclusion])

    def _repr_html_(self) -> str:
        head, *rows = self.table
        return html_table(rows, f"{self.claim}; {self.conclusion}", head=head)


def certify_or_run(
    weights: Transformer,
    length: int,
    sharpness: int | None = None,
    domain: Domain | None = None,
    inputs: InputsByLength | None = None,
    position_count: int | None = None,
) -> Certificate | ExhaustiveCertificate:
    """The certificate of weights with hard attention: derived, or from running every input if these are few.

    Args:
        weights: The weights.
        length: n: inputs have at most n+1 positions.
        sharpness: The scaled gap of every head; by default the smallest that is certified.
        domain: The inputs; by default every sequence over the vocabulary.
        inputs: From a length to all inputs of it; by default those of the domain.
        position_count: The number of positions, if padding determines it.

    Raises:
        ConstructionError: If no certificate is found; the message names the head.
    """
    require_unsoftened(weights)
    try:
        return certify_weights(weights, length, sharpness, domain, position_count)
    except ConstructionError as error:
        every = Domain.all_sequences(weights.vocabulary) if domain is None else domain
        listed = inputs or (lambda n: every.iterate_sequences(n + 1))
        if sum(1 for n in range(length + 1) for _ in islice(listed(n), MAX_INPUTS + 1)) > MAX_INPUTS:
            raise ConstructionError(
                error.message, hint=error.hint or f"with at most {MAX_INPUTS:,} inputs, all of them are run"
            ) from None
        return _ExhaustiveSearch(weights, length, listed).certify(sharpness)


def require_unsoftened(weights: Transformer) -> None:
    """Require heads with hard attention, or with equal scores.

    Raises:
        ConstructionError: If one has a temperature already; the message names it.
    """
    nodes = topological_order(lift(weights).logits.forms)
    for node in nodes:
        if isinstance(node, Attention) and not node.weighting.is_hard and not scores_are_uniform(node):
            raise ConstructionError(
                f"head {node.name!r} is {node.weighting}: it has a temperature already",
                hint="only hard attention is softened",
            )


class _ExhaustiveSearch:
    """The search for the smallest sharpness with which every input has the same decisions."""

    def __init__(self, weights: Transformer, length: int, inputs: InputsByLength) -> None:
        self.hard, self.length, self.inputs = weights, length, inputs
        weights = name_heads_apart(weights)
        self.observed = observe_all_inputs(weights, inputs, length)
        gaps = {head.name: seen.gap or Fraction(1) for head, seen in self.observed.heads.items()}
        program = declare_gaps(lift(weights), gaps)
        untied = break_ties_in_program(program)
        if untied is program:
            nodes = (node for node in topological_order(program.logits.forms) if isinstance(node, Attention))
            self.untied, self.nodes = weights, {node.name: node for node in nodes}
        else:
            self.untied, self.nodes, _ = compile_with_nodes(untied)

    @property
    def margin(self) -> Fraction:
        """The least distance of the largest logit from the others, where one is largest."""
        return Fraction(1) if self.observed.margin is None else self.observed.margin

    def certify(self, sharpness: int | None) -> ExhaustiveCertificate:
        """The certificate; without a sharpness, for the smallest that suffices."""
        chosen = self.find_sharpness() if sharpness is None else sharpness
        soft = self.soften(chosen)
        gap = min((min_gap(node.gap, self.length) for node in self.nodes.values() if node.gap), default=Fraction(1))
        return ExhaustiveCertificate(
            self.length,
            self.observed.count,
            tuple(self.summarise(name, k, chosen) for k, name in self.names()),
            self.margin,
            chosen,
            bound_sharpness(self.untied, self.length, self.length + 1, gap, self.margin),
            self.find_failure(chosen),
            compute_digest(self.hard),
            soft,
            compute_digest(soft),
        )

    def names(self) -> list[tuple[int, str]]:
        """The layer and the name of each head that the logits depend on."""
        heads = [(k, head.name) for k, layer in enumerate(self.untied.layers, 1) for head in layer.heads]
        return [(k, name) for k, name in heads if name in self.nodes]

    def find_sharpness(self) -> int:
        """The smallest sharpness with which all inputs have the same decisions, by doubling and halving."""
        low, high = 0, 1
        while (problem := self.find_failure(high)) is not None:
            low, high = high, 2 * high
            if high > MAX_SHARPNESS:
                raise ConstructionError(f"no temperature is certified for length {self.length}: {problem}")
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.find_failure(middle) is None else (middle, high)
        return high

    def find_failure(self, sharpness: int) -> str | None:
        """Why this sharpness is not certified; None if it is."""
        return find_disagreement(self.soften(sharpness), self.inputs, self.length, self.observed)

    def soften(self, sharpness: int) -> Transformer:
        """The transformer with softmax in place of hard attention."""
        return soften_heads(self.untied, {name: self.scale(name, sharpness) for name in self.nodes})

    def scale(self, name: str, sharpness: int) -> Fraction | Feature:
        """The scale of a head."""
        return (
            Fraction(1)
            if scores_are_uniform(self.nodes[name])
            else gap_to_scale(name, self.nodes[name].gap, Fraction(sharpness))
        )

    def summarise(self, name: str, layer: int, sharpness: int) -> HeadSummary:
        """The behaviour of a head."""
        node = self.nodes[name]
        seen = next((seen for head, seen in self.observed.heads.items() if head.name == name), HeadObservation())
        chooses = not scores_are_uniform(node)
        kind = "uniform" if not chooses else "tieless" if node.single_key or seen.tie is None else "ties"
        gap = min_gap(node.gap, self.length) if chooses and node.gap else None
        return HeadSummary(name, layer, kind, gap, self.scale(name, sharpness))
