"""Run as JSON data of its page; deterministic.

Attention patterns as page data: chosen keys at all positions or, in a window, also the retrieved vectors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict

from softmachine.engines.fast.analysis.grids import Declined
from softmachine.engines.fast.audit import Found, found
from softmachine.engines.fast.engine import FastEngine
from softmachine.engines.result import UNFINISHED
from softmachine.inspection.attention_patterns import Spans
from softmachine.inspection.explanations import sentence
from softmachine.inspection.inspection import Inspection, is_exact
from softmachine.inspection.numbers import Json
from softmachine.inspection.numbers import number_json as number
from softmachine.inspection.page.model_json import is_uniform, soft, weights
from softmachine.inspection.page.window import Shown, names_of, shown
from softmachine.languages.run_view import Scene
from softmachine.support.errors import UsageError
from softmachine.support.text import cut, many
from softmachine.theorems.theorem import Theorem
from softmachine.transformer.weights import Head, Transformer


def chosen(shown: Shown) -> Json:
    """For every layer, loops unrolled, and every head in it: its keys at each position, or null.

    Uniform and soft heads have none. A single key is encoded as the difference from the last one, several keys as the
    start and the length of each interval.
    """
    transformer = shown.inspection.transformer
    if shown.window.start:
        return _far(shown)
    if not any(map(_chooses, transformer.heads)):
        return []
    watched = shown.inspection.chosen(shown.tokens)
    patterns = {(p.stage.layer, max(p.stage.turn, 1), p.index): p for p in watched}
    layers: list[Json] = []
    for layer, turn, heads in _layers(transformer, shown.length):
        found = [patterns[layer, turn, k] if _chooses(head) else None for k, head in enumerate(heads)]
        layers.append([None if pattern is None else {"keys": _coded(pattern.rows)} for pattern in found])
    return layers


def _chooses(head: Head) -> bool:
    return head.weighting.hard and not is_uniform(head)


def _layers(transformer: Transformer, length: int | None) -> Iterator[tuple[int, int, Sequence[Head]]]:
    """All layers with loops unrolled: the number, the iteration and the heads of each."""
    first = 1
    for block in transformer.blocks:
        for turn in range(1, block.count(length) + 1):
            for depth, layer in enumerate(block.layers):
                yield first + depth, turn, layer.heads
        first += len(block.layers)


def _coded(rows: Sequence[Spans | None]) -> list[Json]:
    coded: list[Json] = []
    last = 0
    for spans in rows:
        if spans is None:
            coded.append(None)
            continue
        if len(spans) == 1 and spans[0][1] - spans[0][0] == 1:
            coded.append(spans[0][0] - last)
        else:
            stretches: list[Json] = [item for first, end in spans for item in (first, end - first)]
            coded.append(stretches)
        last = spans[0][0] if spans else last
    return coded


def _far(shown: Shown) -> Json:
    """The same for a window that does not start at 0, with the retrieved vectors, since the page lacks earlier keys."""
    transformer, positions = shown.inspection.transformer, shown.window
    try:
        engine = FastEngine(transformer)
    except Declined as reason:
        raise UsageError(
            f"only the first positions can be shown: {reason}", hint="choose a step near the beginning"
        ) from None
    heads = iter(found(engine.start(shown.read[: positions.stop + 1]), positions))
    return [[_told(next(heads), head) for head in layer] for _, _, layer in _layers(transformer, shown.length)]


def _told(positions: Sequence[Found | None], head: Head) -> Json:
    values: list[Json] = []
    keys: list[Spans | None] = []
    for one in positions:
        if one is None or None in one.values:
            raise UsageError(
                f"only the first positions can be shown: the fast engine does not compute head {head.name!r}",
                hint="choose a step near the beginning",
            )
        values.append([number(value) for value in one.values if value is not None])
        keys.append(tuple((key, key + 1) for key in one.keys) if len(one.keys) == one.count else None)
    return {"keys": None if is_uniform(head) else _coded(keys), "values": values}


MOST_TOLD = 800
"""Heads times positions, loops unrolled, up to which the data contains sentences; else the page generates them."""


def page_data(inspection: Inspection, position: int | None, command: str) -> Json:
    """The data of the page of a run, which opens at a position, if one is given."""
    part, run = shown(inspection, position), inspection.run
    names, scene = names_of(part.tokens), run.model.codec.scene(run.outcome.word, part.stretch())
    return {
        "about": _about(part, command),
        "theorem": _theorem(run.model.theorem),
        "weights": weights(inspection.transformer, tuple(names), part.window, part.length),
        "vocabulary": list(names),
        "context": {
            "tokens": [names[token] for token in part.tokens],
            "first": part.window.start,
            "given": part.given,
            "length": part.length,
            "decodes": part.decodes,
            "focus": _focus(part, scene),
            "outputs": [*part.said()],
            "constrained": [*part.heard()],
            "steps": [*part.steps()],
            "choices": chosen(part),
            "sentences": _sentences(part),
        },
        "scene": _scene(scene),
        "soft": soft(run.model, part.window, part.length),
    }


def _focus(part: Shown, scene: Scene) -> int:
    """The position at which the page opens, counted from the first one shown."""
    natural = part.given - 1 if part.decodes else part.window.stop - 1
    place = part.opens if part.opens is not None else natural if scene.focus is None else scene.focus
    return min(max(place, part.window.start), part.window.stop - 1) - part.window.start


def _sentences(part: Shown) -> Json:
    """The sentences about each head at each position; only for short runs in exact numbers."""
    inspection, transformer = part.inspection, part.inspection.transformer
    heads = sum(len(layer.heads) for layer in transformer.unrolled(part.length))
    if not heads or heads * len(part.window) > MOST_TOLD or not is_exact(transformer) or part.context.segment:
        return None
    model = inspection.run.model
    return [
        [sentence(head, model).removeprefix(f"{cut(head.name)}: ") for head in activations.heads]
        for activations in inspection.moments(part.window)
    ]


def _about(part: Shown, command: str) -> Json:
    run, transformer = part.inspection.run, part.inspection.transformer
    model, outcome = run.model, run.outcome
    sizes = [
        many(len(transformer.layers), "layer"),
        many(len(transformer.heads), "head"),
        f"width {transformer.width:,}",
        many(len(transformer.vocabulary), "token"),
        many(transformer.nonzeros, "weight") + " ≠ 0",
    ]
    kinds = " and ".join(map(str, transformer.weightings)) or "no attention"
    facts: list[tuple[str, str]] = [
        ("transformer", f"{'decoder' if transformer.causal else 'encoder'}, {kinds}: {', '.join(sizes)}"),
        ("run", _how(part)),
        *([] if model.certified is None else [("certificate", f"softmax certified up to n = {model.certified:,}")]),
        *(("shown", text) for text in part.left_out()),
    ]
    return {
        "name": model.source.name,
        "language": model.source.language,
        "source": str(model.source),
        "input": model.codec.text_of(outcome.word),
        "verdict": (outcome.verdict or UNFINISHED) + ("" if run.checked else " (unchecked)"),
        "output": outcome.output,
        "facts": [[title, text] for title, text in facts],
        "notes": list(run.notes),
        "command": command,
    }


def _how(part: Shown) -> str:
    run = part.inspection.run
    how = f"{run.arithmetic} on the {run.engine} engine"
    if not part.decodes:
        return f"one pass over {many(len(run.tokens), 'position')}, {how}"
    return f"{many(run.steps, 'step')}, {many(len(run.tokens), 'token')}, {how}"


def _theorem(theorem: Theorem) -> Json:
    guide: list[Json] = [{"title": step.title, "text": step.text, "shows": list(step.shows)} for step in theorem.guide]
    return {
        "name": theorem.name,
        "statement": theorem.statement,
        "reference": theorem.reference,
        "needs": str(theorem.needs),
        "cost": str(theorem.cost),
        "steps": list(theorem.steps),
        "guide": guide,
    }


def _scene(scene: Scene) -> Json:
    picture = scene.picture
    return {
        "lines": list(scene.lines),
        "active": list(scene.active),
        "names": list(scene.names),
        "picture": None if picture is None else {"kind": picture.kind, **asdict(picture)},
    }
