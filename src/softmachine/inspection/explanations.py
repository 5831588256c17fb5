"""One position of a run as text: attention of each head, changes of the residual stream, and logits.

Sentences that explain a head's attention: the theorem's own, or a generic one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from textwrap import wrap

from softmachine.compiler.model import Model
from softmachine.inspection.activations import Logits, Moment, Stream
from softmachine.inspection.head_activation import HeadSight
from softmachine.inspection.hook_point import ATTENTION, Stage
from softmachine.support.text import cut, many
from softmachine.transformer.attention import Choice
from softmachine.transformer.head_view import Enclosure, Number, most, told, told_below, written, written_ends

_AGAIN = re.compile(r" \(\d+\)$")
"""Heads of the same name are numbered."""
LONGEST = 400
"""The largest number of characters of a clause; names may be very long."""
FEW = 4
"""The largest number of positions that are listed; of more, only the count is given."""


def sentence(activation: HeadSight, model: Model) -> str:
    """Explain a head: its chosen positions, the score gap and the retrieved values; a theorem may have its own text."""
    own = model.theorem.tells(model.codec, activation) if model.theorem.tells else None
    clause = own or "; ".join([_chose(activation), *_retrieved(activation)])
    clause = clause if len(clause) <= LONGEST else f"{clause[:LONGEST]}…"
    return "; ".join([f"{cut(activation.name)}: {clause}", *_rivals(activation)])


def _chose(activation: HeadSight) -> str:
    """The generic clause: the positions that the head attends to."""
    chosen, seen = activation.chosen, len(activation.visible)
    if not seen:
        return "sees nothing, so that it adds 0"
    if len(chosen) == 1:
        token = cut(activation.tokens[chosen[0]])
        return f"chose position {chosen[0]:,} ({token}){_of_equals(activation)}{_weight(activation)}"
    if len(chosen) == seen:
        return f"takes the mean of all {many(seen, 'position')}"
    return f"takes the mean of {_positions(chosen)}, which tie{_weight(activation)}"


def _of_equals(activation: HeadSight) -> str:
    """The tie-breaking rule, if several positions tie and one is chosen."""
    order = {Choice.LEFTMOST: "first", Choice.RIGHTMOST: "last"}.get(activation.head.weighting.choice)
    return f", the {order} of {len(activation.tied):,} that tie" if order and len(activation.tied) > 1 else ""


def _weight(activation: HeadSight) -> str:
    """The total softmax weight of the positions of maximal score."""
    if activation.head.weighting.hard:
        return ""
    return f" with weight {told(total_weight(activation, activation.chosen))}"


def total_weight(activation: HeadSight, positions: Sequence[int]) -> Number:
    """The total attention weight of some positions."""
    weights = [activation.weights[position] for position in positions]
    low = sum((w.lower if isinstance(w, Enclosure) else w for w in weights), Fraction(0))
    high = sum((w.upper if isinstance(w, Enclosure) else w for w in weights), Fraction(0))
    return low if low == high else Enclosure(low, high)


def _rivals(activation: HeadSight) -> Iterator[str]:
    """The score gap to the next best positions."""
    if activation.gap is None:
        return
    rivals = activation.next_best
    if len(rivals) == 1:
        yield f"the next best is {told(activation.gap)} below, at position {rivals[0]:,}"
    else:
        yield f"{many(len(rivals), 'other position')} are {told(activation.gap)} below"


def _retrieved(activation: HeadSight) -> Iterator[str]:
    """The non-zero coordinates that the head adds."""
    added = [f"{cut(_own(activation, name))} = {told(value)}" for name, value in activation.added.items() if value != 0]
    if not added:
        yield "retrieved 0"
    elif len(added) > FEW:
        yield f"retrieved {', '.join(added[:FEW])} and {len(added) - FEW:,} more"
    else:
        yield f"retrieved {', '.join(added)}"


def _own(activation: HeadSight, name: str) -> str:
    """The part of a shared coordinate's name that belongs to the head, if there is one; else the whole name."""
    plain = _AGAIN.sub("", activation.name)
    return next((part for part in name.split(" / ") if part.startswith(plain)), name)


def _positions(chosen: Sequence[int]) -> str:
    if len(chosen) > FEW:
        return f"{many(len(chosen), 'position')} from {chosen[0]:,} to {chosen[-1]:,}"
    *first, last = (f"{position:,}" for position in chosen)
    return f"positions {', '.join(first)} and {last}"


WIDTH = 80
"""Columns."""
_BLANK = "\x1f"
"""Stands for a space that must not be a line break."""
MOST_CHANGES = 12
"""The number of changed coordinates that are listed per sublayer."""
MOST_LOGITS = 4
"""The number of logits that are listed, the largest first."""
MOST_SCORES = 2_000
"""The largest number of scores of a head in JSON; with more, only the best are written."""


def explanation(activations: Moment, model: Model) -> str:
    """Format the activations at a position, in lines of at most 80 columns."""
    return "\n".join(
        [*_title(activations), *_embedding(activations), *_layers(activations, model), *_logits(activations.logits)]
    )


def _title(activations: Moment) -> Iterator[str]:
    step = "" if activations.step is None else f"step {activations.step:,}, decided at "
    where = f" of the run, {activations.place:,} of segment {activations.segment + 1:,}" if activations.segment else ""
    yield from _filled(f"{step}position {activations.position:,}{where}: the token is {cut(activations.token)}", "")


def _embedding(activations: Moment) -> Iterator[str]:
    first = activations.streams[0]
    yield "embedding"
    yield from _changes([(name, value) for name, value in first if value != 0])


def _layers(activations: Moment, model: Model) -> Iterator[str]:
    """Format each layer: a sentence per head, and the changed coordinates."""
    before, label = activations.streams[0], ""
    for stream in activations.streams[1:]:
        changed = list(_changed(before, stream))
        if (name := _layer(stream.stage)) != label and (changed or stream.stage.sublayer == ATTENTION):
            label = name
            yield name
        if stream.stage.sublayer == ATTENTION:
            for head in activations.heads:
                if head.stage == stream.stage:
                    yield from _filled(sentence(head, model), "  ", hanging="    ")
        if stream.stage.sublayer != ATTENTION and changed:
            yield "  feed-forward"
        yield from _changes(changed)
        before = stream


def _layer(stage: Stage) -> str:
    iteration = f", iteration {stage.turn} of {stage.loop}" if stage.turn else ""
    return f"layer {stage.layer}{iteration}"


def _changed(before: Stream, after: Stream) -> Iterator[tuple[str, Number]]:
    for (name, old), (_, new) in zip(before, after, strict=True):
        if old != new:
            yield name, new


def _changes(changed: Sequence[tuple[str, Number]]) -> Iterator[str]:
    """Format the new values of coordinates."""
    if not changed:
        return
    items = [_whole(f"{cut(name)} = {told(value)}") for name, value in changed[:MOST_CHANGES]]
    more = f" and {len(changed) - MOST_CHANGES:,} more" if len(changed) > MOST_CHANGES else ""
    yield from _filled(f"→ {', '.join(items)}{more}", "    ", hanging="      ")


def _logits(logits: Logits) -> Iterator[str]:
    yield "logits"
    ranked = sorted(zip(logits.values, logits.outputs, strict=True), key=lambda pair: -most(pair[0]))
    items = [_whole(f"{cut(output)} {told(value)}") for value, output in ranked[:MOST_LOGITS]]
    more = f" and {len(ranked) - MOST_LOGITS:,} more" if len(ranked) > MOST_LOGITS else ""
    yield from _filled(f"{', '.join(items)}{more}", "  ", hanging="    ")
    if logits.winner is None:
        verdict = f"{len(logits.rivals):,} outputs tie, so that none is emitted"
        verdict += "; the run ignores it" if logits.said is None else ""
    else:
        margin = "" if logits.margin is None else f", by {_margin(logits.margin, logits.bounded)}"
        intro = "the run ignores it, but it would be " if logits.said is None else "it emits "
        verdict = f"{intro}{cut(logits.winner)}{margin}"
    yield from _filled(verdict, "  ", hanging="    ")


def _margin(margin: Fraction, bounded: bool) -> str:
    """The margin of the winner; of a bound, the digits that are certain."""
    return f"at least {told_below(margin)}" if bounded else told(margin)


def _whole(text: str) -> str:
    """Protect the spaces of a text from line breaks."""
    return text.replace(" ", _BLANK)


def _filled(text: str, indent: str, hanging: str | None = None) -> list[str]:
    hanging = indent if hanging is None else hanging
    return [line.replace(_BLANK, " ") for line in wrap(text, WIDTH, initial_indent=indent, subsequent_indent=hanging)]


def explained(activations: Moment, model: Model) -> dict[str, object]:
    """Convert the activations to JSON data: numbers are strings like "3/4"; enclosures are pairs of their ends."""
    return {
        "position": activations.position,
        "step": activations.step,
        "segment": activations.segment,
        "place": activations.place,
        "token": activations.token,
        "heads": [
            {
                "layer": head.stage.layer,
                "iteration": head.stage.turn,
                "index": head.index,
                "head": head.name,
                "sentence": sentence(head, model),
                "visible": len(head.visible),
                "chosen": list(head.chosen),
                "tied": len(head.tied),
                "best": _json(head.best),
                "gap": _json(head.gap),
                "next_best": list(head.next_best),
                "scores": {k: _json(v) for k, v in head.scores.items()} if len(head.visible) <= MOST_SCORES else None,
                **({} if head.head.weighting.hard else {"weights": {k: _json(v) for k, v in head.weights.items()}}),
                "retrieved": {name: _json(value) for name, value in head.added.items()},
            }
            for head in activations.heads
        ],
        "stream": [
            {
                "layer": stream.stage.layer,
                "iteration": stream.stage.turn,
                "sublayer": stream.stage.sublayer,
                "values": {name: _json(value) for name, value in stream},
            }
            for stream in activations.streams
        ],
        "logits": {
            "winner": activations.logits.winner,
            "emitted": activations.logits.said,
            "runner_up": activations.logits.runner_up,
            "margin": _json(activations.logits.margin),
            "values": dict(zip(activations.logits.outputs, map(_json, activations.logits.values), strict=True)),
        },
    }


def _json(number: Number | None) -> object:
    if isinstance(number, Enclosure):
        return list(written_ends(number))
    return None if number is None else written(number)
