"""Run as JSON data of its page; deterministic."""

from __future__ import annotations

from dataclasses import asdict

from softmachine.engines.result import UNFINISHED
from softmachine.inspection.inspection import Inspection, is_exact
from softmachine.inspection.page.choices import chosen
from softmachine.inspection.page.numbers import Json
from softmachine.inspection.page.shown import Shown, names_of, shown
from softmachine.inspection.page.soft import soft
from softmachine.inspection.page.weights import weights
from softmachine.inspection.sentences import sentence
from softmachine.languages.scene import Scene
from softmachine.support.text import cut, many
from softmachine.theorems.theorem import Theorem

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
