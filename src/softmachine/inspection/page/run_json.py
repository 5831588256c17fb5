"""Run as JSON data of its page; deterministic.

Attention patterns are the chosen keys at all positions or, in a window, also the retrieved vectors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict

from softmachine.engines.fast.analysis.grids import UnsupportedModel
from softmachine.engines.fast.audit import HeadResult, recompute_heads
from softmachine.engines.fast.engine import FastEngine
from softmachine.engines.result import NO_VERDICT
from softmachine.inspection.attention_patterns import Intervals
from softmachine.inspection.decision import explain_decision
from softmachine.inspection.explanations import explain_head
from softmachine.inspection.inspection import Inspection, is_exact
from softmachine.inspection.numbers import Json, encode_number
from softmachine.inspection.page.model_json import build_softmax_data, encode_transformer, is_uniform
from softmachine.inspection.page.window import Window, choose_window, number_tokens
from softmachine.languages.run_view import RunView
from softmachine.support.errors import UsageError
from softmachine.support.text import pluralize, shorten_middle
from softmachine.theorems.theorem import Theorem
from softmachine.transformer.weights import Head, Transformer


def encode_attended_keys(window: Window) -> Json:
    """For every layer, loops unrolled, and every head in it: its keys at each position, or null.

    Uniform and soft heads have none. A single key is encoded as the difference from the last one, several keys as the
    start and the length of each interval.
    """
    transformer = window.inspection.transformer
    if window.positions.start:
        return _encode_far_window(window)
    if not any(map(_is_selective, transformer.heads)):
        return []
    watched = window.inspection.patterns_of(window.tokens)
    patterns = {(p.hook_point.layer, max(p.hook_point.iteration, 1), p.index): p for p in watched}
    layers: list[Json] = []
    for layer, turn, heads in _unrolled_layers(transformer, window.length):
        found = [patterns[layer, turn, k] if _is_selective(head) else None for k, head in enumerate(heads)]
        layers.append([None if pattern is None else {"keys": _encode_keys(pattern.rows)} for pattern in found])
    return layers


def _is_selective(head: Head) -> bool:
    return head.weighting.is_hard and not is_uniform(head)


def _unrolled_layers(transformer: Transformer, length: int | None) -> Iterator[tuple[int, int, Sequence[Head]]]:
    """All layers with loops unrolled: the number, the iteration and the heads of each."""
    first = 1
    for block in transformer.blocks:
        for turn in range(1, block.iterations(length) + 1):
            for depth, layer in enumerate(block.layers):
                yield first + depth, turn, layer.heads
        first += len(block.layers)


def _encode_keys(rows: Sequence[Intervals | None]) -> list[Json]:
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


def _encode_far_window(shown: Window) -> Json:
    """The same for a window that does not start at 0, with the retrieved vectors, since the page lacks earlier keys."""
    transformer, positions = shown.inspection.transformer, shown.positions
    try:
        engine = FastEngine(transformer)
    except UnsupportedModel as reason:
        raise UsageError(
            f"only the first positions can be shown: {reason}", hint="choose a step near the beginning"
        ) from None
    heads = iter(recompute_heads(engine.start(shown.all_tokens[: positions.stop + 1]), positions))
    return [
        [_encode_head(next(heads), head) for head in layer]
        for _, _, layer in _unrolled_layers(transformer, shown.length)
    ]


def _encode_head(positions: Sequence[HeadResult | None], head: Head) -> Json:
    values: list[Json] = []
    keys: list[Intervals | None] = []
    for one in positions:
        if one is None or None in one.values:
            raise UsageError(
                f"only the first positions can be shown: the fast engine does not compute head {head.name!r}",
                hint="choose a step near the beginning",
            )
        values.append([encode_number(value) for value in one.values if value is not None])
        keys.append(tuple((key, key + 1) for key in one.keys) if len(one.keys) == one.count else None)
    return {"keys": None if is_uniform(head) else _encode_keys(keys), "values": values}


MAX_SENTENCES = 800
"""Heads times positions, loops unrolled, up to which the data contains sentences; else the page generates them."""


def build_page_data(inspection: Inspection, position: int | None, command: str) -> Json:
    """The data of the page of a run, which opens at a position, if one is given."""
    part, run = choose_window(inspection, position), inspection.run
    names, scene = number_tokens(part.tokens), run.model.codec.run_view(run.outcome.word, part.token_window())
    return {
        "about": _describe_run(part, command),
        "theorem": _encode_theorem(run.model.theorem),
        "weights": encode_transformer(inspection.transformer, tuple(names), part.positions, part.length),
        "vocabulary": list(names),
        "context": {
            "tokens": [names[token] for token in part.tokens],
            "first": part.positions.start,
            "given": part.prompt_length,
            "length": part.length,
            "decodes": part.is_decoder,
            "focus": _initial_position(part, scene),
            "outputs": [*part.outputs()],
            "constrained": [*part.constrained_positions()],
            "steps": [*part.steps()],
            "choices": encode_attended_keys(part),
            **_explanations(part),
        },
        "scene": _encode_view(scene),
        "soft": build_softmax_data(run.model, part.positions, part.length),
    }


def _initial_position(part: Window, scene: RunView) -> int:
    """The position at which the page opens, counted from the first one shown."""
    natural = part.prompt_length - 1 if part.is_decoder else part.positions.stop - 1
    place = (
        part.initial_position
        if part.initial_position is not None
        else natural
        if scene.focus_position is None
        else scene.focus_position
    )
    return min(max(place, part.positions.start), part.positions.stop - 1) - part.positions.start


def _explanations(part: Window) -> dict[str, Json]:
    """The decision and the sentences about each head at each position; null except for short runs in exact numbers."""
    inspection, transformer = part.inspection, part.inspection.transformer
    heads = sum(len(layer.heads) for layer in transformer.iterate_layers(part.length))
    if not heads or heads * len(part.positions) > MAX_SENTENCES or not is_exact(transformer) or part.context.segment:
        return {"decisions": None, "sentences": None}
    model, found = inspection.run.model, list(inspection.at_positions(part.positions))
    return {
        "decisions": [explain_decision(activations, model) for activations in found],
        "sentences": [
            [explain_head(head, model).removeprefix(f"{shorten_middle(head.name)}: ") for head in activations.heads]
            for activations in found
        ],
    }


def _describe_run(part: Window, command: str) -> Json:
    run, transformer = part.inspection.run, part.inspection.transformer
    model, outcome = run.model, run.outcome
    sizes = [
        pluralize(len(transformer.layers), "layer"),
        pluralize(len(transformer.heads), "head"),
        f"width {transformer.width:,}",
        pluralize(len(transformer.vocabulary), "token"),
        pluralize(transformer.nonzero_count, "weight") + " ≠ 0",
    ]
    kinds = " and ".join(map(str, transformer.weightings)) or "no attention"
    facts: list[tuple[str, str]] = [
        ("transformer", f"{'decoder' if transformer.is_causal else 'encoder'}, {kinds}: {', '.join(sizes)}"),
        ("run", _format_execution(part)),
        *(
            []
            if model.certified_length is None
            else [("certificate", f"softmax certified up to n = {model.certified_length:,}")]
        ),
        *(("shown", text) for text in part.omission_notes()),
    ]
    return {
        "name": model.source.name,
        "language": model.source.language,
        "source": str(model.source),
        "input": model.codec.format_input(outcome.word),
        "verdict": (outcome.verdict or NO_VERDICT) + ("" if run.checked else " (unchecked)"),
        "output": outcome.output,
        "facts": [[title, text] for title, text in facts],
        "notes": list(run.notes),
        "command": command,
    }


def _format_execution(part: Window) -> str:
    run = part.inspection.run
    how = f"{run.arithmetic} on the {run.engine} engine"
    if not part.is_decoder:
        return f"one pass over {pluralize(len(run.tokens), 'position')}, {how}"
    return f"{pluralize(run.steps, 'step')}, {pluralize(len(run.tokens), 'token')}, {how}"


def _encode_theorem(theorem: Theorem) -> Json:
    guide: list[Json] = [
        {"title": step.title, "text": step.text, "shows": list(step.highlights)} for step in theorem.tour
    ]
    return {
        "name": theorem.name,
        "statement": theorem.statement,
        "reference": theorem.reference,
        "needs": str(theorem.requirements),
        "cost": str(theorem.cost),
        "steps": list(theorem.steps),
        "guide": guide,
    }


def _encode_view(scene: RunView) -> Json:
    picture = scene.picture
    return {
        "lines": list(scene.lines),
        "active": list(scene.active_lines),
        "names": list(scene.line_names),
        "picture": None if picture is None else {"kind": picture.kind, **asdict(picture)},
    }
