"""The decision at a position: the output or the rule that determines it, and the values that it depends on.

The values are traced through the weights and the activations: from the logit of the output, or the hidden unit of a
rule, to the coordinates that it reads, and from each of them to the head, or the token, that determines it. The text is
therefore also true of edited weights.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property

from softmachine.compiler.model import Model
from softmachine.inspection.activations import Activations
from softmachine.inspection.head_activation import HeadActivation
from softmachine.inspection.hooks import ATTENTION, FEED_FORWARD, linear_combination
from softmachine.support.text import shorten_middle, truncate, vector_name
from softmachine.transformer.head_view import EnclosedNumber, Enclosure, format_number, midpoint
from softmachine.transformer.weights import FeedForward, SparseRow

MAX_VALUES = 4
"""The number of values that are listed."""
MAX_LENGTH = 600
"""The largest number of characters of a text; names may be very long."""
MAX_ERROR = Fraction(1, 1 << 10)
"""An enclosure up to this absolute value counts as zero."""
RELATIONS = frozenset("=<>≤≥")
"""A name with one of these characters is put in parentheses."""
IGNORED = "nothing is decided: the run ignores the output"

Origin = tuple[int, int]
"""A stage and the index of a head among those of all layers; `TOKEN` for the token."""
TOKEN = (0, -1)


def explain_decision(activations: Activations, model: Model) -> str:
    """Explain the decision: the rule or the output, and the values that it depends on."""
    logits = activations.logits
    if logits.emitted is None:
        return IGNORED
    if logits.winner is None:
        return f"nothing is decided: {len(logits.tied):,} logits tie"
    trace = _Trace(activations, model)
    read = model.weights.unembedding.weight.rows[model.weights.outputs.index(logits.winner)]
    if units := trace.units_of_rules(read):
        decision = "; ".join(dict.fromkeys(trace.rules[trace.network(stage).units[unit]] for stage, unit in units))
        rows = [(trace.network(stage).first.weight.rows[unit], stage - 1) for stage, unit in units]
    else:
        decision = model.codec.describe_output(logits.winner, activations.local_position)
        rows = [(read, len(activations.residual_streams) - 1)]
    values = list(dict.fromkeys(value for row, stage in rows for value in trace.describe(row, stage)))
    if len(values) > MAX_VALUES:
        values[MAX_VALUES:] = [f"{len(values) - MAX_VALUES:,} more"]
    because = " and ".join(filter(None, (", ".join(values[:-1]), *values[-1:])))
    return truncate(f"{decision}, because {because}" if because else decision, MAX_LENGTH)


class _Trace:
    """The dependencies of the coordinates of the residual stream at a position. Stages number the recorded streams."""

    def __init__(self, activations: Activations, model: Model) -> None:
        self.activations, self.weights = activations, model.weights
        self.streams = activations.residual_streams
        self.rules = model.compiled_program.rules
        self._origins: dict[tuple[int, int], frozenset[Origin]] = {}
        self._active: dict[tuple[int, int], bool] = {}

    @cached_property
    def _embedding(self) -> list[dict[int, Fraction]]:
        return list(map(dict, self.weights.embedding.rows))

    def network(self, stage: int) -> FeedForward:
        """The feed-forward sublayer before a stage."""
        return self.weights.layers[self.streams[stage].hook_point.layer - 1].feed_forward

    def units_of_rules(self, read: SparseRow) -> list[tuple[int, int]]:
        """The stage and the index of the active units of rules: those that a row reads, else those of a step."""
        stages = [k for k, stream in enumerate(self.streams) if stream.hook_point.sublayer == FEED_FORWARD]
        units = [
            (stage, unit)
            for stage in stages
            for unit, name in enumerate(self.network(stage).units)
            if name in self.rules and self._is_active(stage, unit)
        ]
        near = [
            (stage, unit)
            for stage, unit in units
            if any(unit in dict(self.network(stage).second.weight.rows[coordinate]) for coordinate, _ in read)
        ]
        return near or (units if self.activations.step is not None else [])

    def describe(self, read: SparseRow, stage: int) -> Iterator[str]:
        """Describe the values that a row of weights reads, with their origins, one text for each vector."""
        vectors: dict[str, list[int]] = {}
        for coordinate, _ in read:
            vectors.setdefault(vector_name(self.weights.coordinates[coordinate]), []).append(coordinate)
        found = {
            name: [k for k in members if _is_nonzero(self.streams[stage].values[k])] or members
            for name, members in vectors.items()
        }
        nonzero = [name for name, members in found.items() if _is_nonzero(self.streams[stage].values[members[0]])]
        for name in nonzero if len(found) > MAX_VALUES and nonzero else found:
            value, origins = self._format_value(name, found[name], stage), self._format_origins(found[name], stage)
            if value or origins:
                yield f"{value} ({origins})" if value and origins else value or f"of the {origins}"

    def _format_value(self, vector: str, members: Sequence[int], stage: int) -> str:
        """Format a value as ``state = q0`` or ``name = value``; empty for a coordinate that several vectors share."""
        name, value = self.weights.coordinates[members[0]], self.streams[stage].values[members[0]]
        if " / " in name or len(members) > 1:
            return "" if " / " in name else shorten_middle(vector)
        if name != vector and value == 1:
            return f"{shorten_middle(vector)} = {shorten_middle(name[len(vector) + 1 : -1])}"
        shown = shorten_middle(name)
        return f"{f'({shown})' if RELATIONS.intersection(shown) else shown} = {format_number(value)}"

    def _format_origins(self, members: Iterable[int], stage: int) -> str:
        """Format the heads of the last layer among those that coordinates depend on; without heads, the token."""
        origins = frozenset[Origin]().union(*(self._find_origins(member, stage) for member in members))
        latest = max((at for at, _ in origins), default=0)
        if latest:
            return ", ".join(_format_head(self.activations.heads[k]) for at, k in sorted(origins) if at == latest)
        if TOKEN not in origins:
            return ""
        step, position = self.activations.token_step, self.activations.position
        return f"token at position {position:,}" if step is None else f"token at step {step:,}"

    def _find_origins(self, coordinate: int, stage: int) -> frozenset[Origin]:
        """The heads, and the token, that a value depends on.

        Active writers and their nonzero inputs count; if there are none, inactive ones, and then also zeros.
        """
        waiting = [(coordinate, stage)]
        while waiting:  # without recursion, because models may have hundreds of layers
            found, missing = set[Origin](), list[tuple[int, int]]()
            for active, nonzero in ((True, True), (False, True), (False, False)):
                if not found and not missing and waiting[-1] not in self._origins:
                    found, missing = self._search(*waiting[-1], active=active, nonzero=nonzero)
            if missing:
                waiting += missing
            else:
                self._origins.setdefault(waiting.pop(), frozenset(found))
        return self._origins[coordinate, stage]

    def _search(
        self, coordinate: int, stage: int, *, active: bool, nonzero: bool
    ) -> tuple[set[Origin], list[tuple[int, int]]]:
        """The origins of a value, and the earlier values whose origins must be found first."""
        found, missing, name = set[Origin](), list[tuple[int, int]](), self.weights.coordinates[coordinate]
        for at in range(stage, 0, -1):
            values = self.streams[at - 1].values
            if self.streams[at].hook_point.sublayer == ATTENTION:
                for k, head in enumerate(self.activations.heads):
                    if head.hook_point == self.streams[at].hook_point and name in head.added:
                        found |= {(at, k)} if not nonzero or _is_nonzero(head.added[name]) else set()
            else:
                network = self.network(at)
                writers = [unit for unit, _ in network.second.weight.rows[coordinate]]
                for unit in writers if not active else (unit for unit in writers if self._is_active(at, unit)):
                    for source, _ in network.first.weight.rows[unit]:
                        if source != coordinate and (not nonzero or _is_nonzero(values[source])):
                            found |= self._origins.get((source, at - 1), frozenset())
                            missing += [] if (source, at - 1) in self._origins else [(source, at - 1)]
            if active and not _is_nonzero(values[coordinate]):
                return found, missing
        varies = len({row.get(coordinate) for row in self._embedding}) > 1
        if varies and (not nonzero or _is_nonzero(self.streams[0].values[coordinate])):
            found.add(TOKEN)
        return found, missing

    def _is_active(self, stage: int, unit: int) -> bool:
        """Whether the output of a unit of a feed-forward sublayer is not zero."""
        key = stage, unit
        if key not in self._active:
            network, values = self.network(stage), self.streams[stage - 1].values
            terms = [(weight, values[c]) for c, weight in network.first.weight.rows[unit]]
            total = linear_combination([(network.first.bias[unit], Fraction(1)), *terms])
            positive = midpoint(total) > 0 or network.activations[unit] == "norm"
            step = network.activations[unit] == "step" and midpoint(total) >= 0
            self._active[key] = step or (_is_nonzero(total) and positive)
        return self._active[key]


def _is_nonzero(number: EnclosedNumber) -> bool:
    return abs(midpoint(number)) > (MAX_ERROR if isinstance(number, Enclosure) else 0)


def _format_head(head: HeadActivation) -> str:
    chosen = head.chosen
    where = f"position {chosen[0]:,}" if len(chosen) == 1 else f"{len(chosen):,} positions"
    return f"head *{shorten_middle(head.name)}*, {where}"
