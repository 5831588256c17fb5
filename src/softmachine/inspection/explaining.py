"""One position of a run as text: attention of each head, changes of the residual stream, and logits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from textwrap import wrap

from softmachine.compiler.model import Model
from softmachine.inspection.moment import Logits, Moment, Stream
from softmachine.inspection.sentences import sentence
from softmachine.inspection.stage import ATTENTION, Stage
from softmachine.support.text import cut
from softmachine.transformer.sight import Enclosure, Number, most, told, told_below, written, written_ends

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
