"""One position of a run as text: decision, attention of each head, changes of the residual stream, and logits.

Attention of a head is explained by a sentence: that of the node it was compiled from, or a generic one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from textwrap import wrap

from softmachine.compiler.model import Model
from softmachine.inspection.activations import Activations, Logits, ResidualStream
from softmachine.inspection.decision import explain_decision
from softmachine.inspection.head_activation import HeadActivation
from softmachine.inspection.hooks import ATTENTION, HookPoint
from softmachine.support.text import pluralize, shorten_middle
from softmachine.transformer.attention import AttentionKind
from softmachine.transformer.head_view import (
    EnclosedNumber,
    Enclosure,
    format_ends,
    format_fraction,
    format_key,
    format_number,
    format_rounded_down,
    upper_end,
)

_NUMBERED = re.compile(r" \(\d+\)$")
"""Heads of the same name are numbered."""
MAX_CLAUSE_LENGTH = 400
"""The largest number of characters of a clause; names may be very long."""
MAX_LISTED_POSITIONS = 4
"""The largest number of positions that are listed; of more, only the count is given."""


def explain_head(activation: HeadActivation, model: Model) -> str:
    """Explain a head by the clause that its node carries, or by its chosen positions and values; and the score gap."""
    node = model.compiled_program.heads.get(activation.name)
    explains = None if node is None else node.explains
    clause = explains(activation) if callable(explains) and activation.added else None
    role = explains if isinstance(explains, str) else ""
    clause = clause or "; ".join([_format_chosen(activation, role), *_format_retrieved(activation)])
    clause = clause if len(clause) <= MAX_CLAUSE_LENGTH else f"{clause[:MAX_CLAUSE_LENGTH]}…"
    return "; ".join([f"{shorten_middle(activation.name)}: {clause}", *_format_next_best(activation)])


def _format_chosen(activation: HeadActivation, role: str) -> str:
    """The generic clause: the positions that the head attends to; of a single one, its role."""
    chosen, seen = activation.chosen, len(activation.visible)
    if not seen:
        return "sees nothing, so that it adds 0"
    if len(chosen) == 1:
        weight = _format_weight(activation)
        return (
            f"chose {format_key(activation)}{f' as {role}' if role else ''}{_format_tie_break(activation)}"
            f"{',' if role and weight else ''}{weight}"
        )
    if len(chosen) == seen:
        return f"takes the mean of all {pluralize(seen, 'position')}"
    return f"takes the mean of {_format_positions(chosen)}, which tie{_format_weight(activation)}"


def _format_tie_break(activation: HeadActivation) -> str:
    """The tie-breaking rule, if several positions tie and one is chosen."""
    order = {AttentionKind.LEFTMOST: "first", AttentionKind.RIGHTMOST: "last"}.get(activation.head.weighting.kind)
    return f", the {order} of {len(activation.tied):,} that tie" if order and len(activation.tied) > 1 else ""


def _format_weight(activation: HeadActivation) -> str:
    """The total softmax weight of the positions of maximal score."""
    if activation.head.weighting.is_hard:
        return ""
    return f" with weight {format_number(sum_weights(activation, activation.chosen))}"


def sum_weights(activation: HeadActivation, positions: Sequence[int]) -> EnclosedNumber:
    """The total attention weight of some positions."""
    weights = [activation.weights[position] for position in positions]
    low = sum((w.lower if isinstance(w, Enclosure) else w for w in weights), Fraction(0))
    high = sum((w.upper if isinstance(w, Enclosure) else w for w in weights), Fraction(0))
    return low if low == high else Enclosure(low, high)


def _format_next_best(activation: HeadActivation) -> Iterator[str]:
    """The score gap to the next best positions."""
    if activation.gap is None:
        return
    rivals = activation.next_best
    if len(rivals) == 1:
        yield f"the next best is {format_number(activation.gap)} below, at position {rivals[0]:,}"
    else:
        yield f"{pluralize(len(rivals), 'other position')} are {format_number(activation.gap)} below"


def _format_retrieved(activation: HeadActivation) -> Iterator[str]:
    """The non-zero coordinates that the head adds."""
    added = [
        f"{shorten_middle(_own_name(activation, name))} = {format_number(value)}"
        for name, value in activation.added.items()
        if value != 0
    ]
    if not added:
        yield "retrieved 0"
    elif len(added) > MAX_LISTED_POSITIONS:
        yield f"retrieved {', '.join(added[:MAX_LISTED_POSITIONS])} and {len(added) - MAX_LISTED_POSITIONS:,} more"
    else:
        yield f"retrieved {', '.join(added)}"


def _own_name(activation: HeadActivation, name: str) -> str:
    """The part of a shared coordinate's name that belongs to the head, if there is one; else the whole name."""
    plain = _NUMBERED.sub("", activation.name)
    return next((part for part in name.split(" / ") if part.startswith(plain)), name)


def _format_positions(chosen: Sequence[int]) -> str:
    if len(chosen) > MAX_LISTED_POSITIONS:
        return f"{pluralize(len(chosen), 'position')} from {chosen[0]:,} to {chosen[-1]:,}"
    *first, last = (f"{position:,}" for position in chosen)
    return f"positions {', '.join(first)} and {last}"


LINE_WIDTH = 80
"""Columns."""
_BLANK = "\x1f"
"""Stands for a space that must not be a line break."""
MAX_CHANGES = 12
"""The number of changed coordinates that are listed per sublayer."""
MAX_LOGITS = 4
"""The number of logits that are listed, the largest first."""
MAX_SCORES = 2_000
"""The largest number of scores of a head in JSON; with more, only the best are written."""


def format_activations(activations: Activations, model: Model) -> str:
    """Format the activations at a position, in lines of at most 80 columns."""
    return "\n".join(
        [
            *_format_title(activations),
            *_wrap(explain_decision(activations, model), "  ", hanging="    "),
            *_format_embedding(activations),
            *_format_layers(activations, model),
            *_format_logits(activations.logits),
        ]
    )


def _format_title(activations: Activations) -> Iterator[str]:
    step = "" if activations.step is None else f"step {activations.step:,}, decided at "
    where = (
        f" of the run, {activations.local_position:,} of segment {activations.segment + 1:,}"
        if activations.segment
        else ""
    )
    yield from _wrap(
        f"{step}position {activations.position:,}{where}: the token is {shorten_middle(activations.token)}", ""
    )


def _format_embedding(activations: Activations) -> Iterator[str]:
    first = activations.residual_streams[0]
    yield "embedding"
    yield from _format_changes([(name, value) for name, value in first if value != 0])


def _format_layers(activations: Activations, model: Model) -> Iterator[str]:
    """Format each layer: a sentence per head, and the changed coordinates."""
    before, label = activations.residual_streams[0], ""
    for stream in activations.residual_streams[1:]:
        changed = list(_changed_coordinates(before, stream))
        if (name := _format_layer(stream.hook_point)) != label and (changed or stream.hook_point.sublayer == ATTENTION):
            label = name
            yield name
        if stream.hook_point.sublayer == ATTENTION:
            for head in activations.heads:
                if head.hook_point == stream.hook_point:
                    yield from _wrap(explain_head(head, model), "  ", hanging="    ")
        if stream.hook_point.sublayer != ATTENTION and changed:
            yield "  feed-forward"
        yield from _format_changes(changed)
        before = stream


def _format_layer(stage: HookPoint) -> str:
    iteration = f", iteration {stage.iteration} of {stage.loop}" if stage.iteration else ""
    return f"layer {stage.layer}{iteration}"


def _changed_coordinates(before: ResidualStream, after: ResidualStream) -> Iterator[tuple[str, EnclosedNumber]]:
    for (name, old), (_, new) in zip(before, after, strict=True):
        if old != new:
            yield name, new


def _format_changes(changed: Sequence[tuple[str, EnclosedNumber]]) -> Iterator[str]:
    """Format the new values of coordinates."""
    if not changed:
        return
    items = [_unbreakable(f"{shorten_middle(name)} = {format_number(value)}") for name, value in changed[:MAX_CHANGES]]
    more = f" and {len(changed) - MAX_CHANGES:,} more" if len(changed) > MAX_CHANGES else ""
    yield from _wrap(f"→ {', '.join(items)}{more}", "    ", hanging="      ")


def _format_logits(logits: Logits) -> Iterator[str]:
    yield "logits"
    ranked = sorted(zip(logits.values, logits.outputs, strict=True), key=lambda pair: -upper_end(pair[0]))
    items = [_unbreakable(f"{shorten_middle(output)} {format_number(value)}") for value, output in ranked[:MAX_LOGITS]]
    more = f" and {len(ranked) - MAX_LOGITS:,} more" if len(ranked) > MAX_LOGITS else ""
    yield from _wrap(f"{', '.join(items)}{more}", "  ", hanging="    ")
    if logits.winner is None:
        verdict = f"{len(logits.tied):,} outputs tie, so that none is emitted"
        verdict += "; the run ignores it" if logits.emitted is None else ""
    else:
        margin = "" if logits.margin is None else f", by {_format_margin(logits.margin, logits.has_bounds)}"
        intro = "the run ignores it, but it would be " if logits.emitted is None else "it emits "
        verdict = f"{intro}{shorten_middle(logits.winner)}{margin}"
    yield from _wrap(verdict, "  ", hanging="    ")


def _format_margin(margin: Fraction, bounded: bool) -> str:
    """The margin of the winner; of a bound, the digits that are certain."""
    return f"at least {format_rounded_down(margin)}" if bounded else format_number(margin)


def _unbreakable(text: str) -> str:
    """Protect the spaces of a text from line breaks."""
    return text.replace(" ", _BLANK)


def _wrap(text: str, indent: str, hanging: str | None = None) -> list[str]:
    hanging = indent if hanging is None else hanging
    return [
        line.replace(_BLANK, " ") for line in wrap(text, LINE_WIDTH, initial_indent=indent, subsequent_indent=hanging)
    ]


def activations_to_json(activations: Activations, model: Model) -> dict[str, object]:
    """Convert the activations to JSON data: numbers are strings like "3/4"; enclosures are pairs of their ends."""
    return {
        "position": activations.position,
        "step": activations.step,
        "segment": activations.segment,
        "place": activations.local_position,
        "token": activations.token,
        "decision": explain_decision(activations, model),
        "heads": [
            {
                "layer": head.hook_point.layer,
                "iteration": head.hook_point.iteration,
                "index": head.index,
                "head": head.name,
                "sentence": explain_head(head, model),
                "visible": len(head.visible),
                "chosen": list(head.chosen),
                "tied": len(head.tied),
                "best": _json(head.max_score),
                "gap": _json(head.gap),
                "next_best": list(head.next_best),
                "scores": {k: _json(v) for k, v in head.scores.items()} if len(head.visible) <= MAX_SCORES else None,
                **({} if head.head.weighting.is_hard else {"weights": {k: _json(v) for k, v in head.weights.items()}}),
                "retrieved": {name: _json(value) for name, value in head.added.items()},
            }
            for head in activations.heads
        ],
        "stream": [
            {
                "layer": stream.hook_point.layer,
                "iteration": stream.hook_point.iteration,
                "sublayer": stream.hook_point.sublayer,
                "values": {name: _json(value) for name, value in stream},
            }
            for stream in activations.residual_streams
        ],
        "logits": {
            "winner": activations.logits.winner,
            "emitted": activations.logits.emitted,
            "runner_up": activations.logits.runner_up,
            "margin": _json(activations.logits.margin),
            "values": dict(zip(activations.logits.outputs, map(_json, activations.logits.values), strict=True)),
        },
    }


def _json(number: EnclosedNumber | None) -> object:
    if isinstance(number, Enclosure):
        return list(format_ends(number))
    return None if number is None else format_fraction(number)
