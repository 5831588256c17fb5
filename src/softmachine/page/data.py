"""A run as the data of its page: plain JSON, with nothing in it that another run of the same would not have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict

from softmachine.codec import AnsweringCodec, Codec
from softmachine.engines.result import UNFINISHED, Run
from softmachine.languages.scene import Scene
from softmachine.languages.source import Source
from softmachine.page.choices import choices, coded
from softmachine.page.contexts import Context, contexts
from softmachine.page.numbers import Json
from softmachine.page.soft import soft
from softmachine.page.weights import weights
from softmachine.text import many
from softmachine.theorems.theorem import Theorem

MOST_POSITIONS = 12_000
"""More are not put into a page."""
MOST_CHOICES = 150_000
"""Positions times heads that choose, in all turns of loops; more are not put into a page."""


def page_data(run: Run, command: str) -> Json:
    """All that the page of a run needs."""
    every = contexts(run)
    chosen = every[-1] if len(every) == 1 else every[0]
    number = every.index(chosen)
    first, end = _window(run, chosen)
    shown, length = chosen.tokens[:end], chosen.length
    used = tuple(dict.fromkeys(shown))
    index = {token: k for k, token in enumerate(used)}
    model, positions = run.model, range(end)
    recorded = choices(model.weights, shown, length)
    scene = model.codec.scene(run.outcome.word, chosen.stretch(0, end))
    return {
        "about": _about(run, command, every, number, (first, end)),
        "theorem": _theorem(model.theorem),
        "weights": weights(model.weights, used, positions, length),
        "vocabulary": list(used),
        "context": {
            "tokens": [index[token] for token in shown],
            "first": first,
            "given": chosen.given,
            "length": length,
            "decodes": chosen.answers is None,
            "focus": _focus(scene, chosen, end),
            "said": [chosen.said_at(position) for position in positions],
            "heard": [*_heard(model.codec, run, chosen, end)],
            "choices": coded(model.weights, recorded),
        },
        "scene": _scene(scene),
        "soft": soft(model, positions, length),
    }


def _window(run: Run, context: Context) -> tuple[int, int]:
    """From where to where a context is shown: all of it if it fits."""
    choosing = run.model.weights.depth(context.length) * max(
        (len(layer.heads) for layer in run.model.weights.layers), default=0
    )
    return 0, min(context.read, MOST_POSITIONS, max(MOST_CHOICES // max(choosing, 1), 1))


def _focus(scene: Scene, context: Context, end: int) -> int:
    """The position to look at first."""
    spoken = context.given - 1 if context.answers is None else end - 1
    return min(spoken if scene.focus is None else scene.focus, end - 1)


def _heard(codec: Codec[Source], run: Run, context: Context, end: int) -> Iterable[int]:
    """The positions at which it matters what is said."""
    if not isinstance(codec, AnsweringCodec):
        return range(context.given - 1, end)
    return [at for at, wanted in enumerate(codec.expected(run.outcome.word, 0)) if wanted is not None]


def _about(run: Run, command: str, every: Sequence[Context], number: int, window: tuple[int, int]) -> Json:
    model, outcome, context = run.model, run.outcome, every[number]
    weights, decodes = model.weights, context.answers is None
    sizes = [
        many(len(weights.layers), "layer"),
        many(len(weights.heads), "head"),
        f"width {weights.width:,}",
        many(len(weights.vocabulary), "token"),
        many(weights.nonzeros, "weight") + " ≠ 0",
    ]
    kinds = " and ".join(map(str, weights.weightings)) or "no attention"
    facts: list[tuple[str, str]] = [
        ("transformer", f"{'decoder' if weights.causal else 'encoder'}, {kinds}: {', '.join(sizes)}"),
        ("run", _how(run, decodes)),
    ]
    if model.certified is not None:
        facts.append(("certificate", f"softmax certified up to n = {model.certified:,}"))
    facts += [("shown", text) for text in _shown(every, number, window)]
    return {
        "name": model.source.name,
        "language": model.source.language,
        "source": str(model.source),
        "input": model.codec.text_of(outcome.word),
        "verdict": outcome.verdict or UNFINISHED,
        "output": outcome.output,
        "facts": [[title, text] for title, text in facts],
        "notes": list(run.notes),
        "command": command,
    }


def _how(run: Run, decodes: bool) -> str:
    how = f"{run.arithmetic} on the {run.engine} engine"
    if not decodes:
        return f"one pass over {many(len(run.tokens), 'position')}, {how}"
    return f"{many(run.steps, 'step')}, {many(len(run.tokens), 'token')}, {how}"


def _shown(every: Sequence[Context], number: int, window: tuple[int, int]) -> Iterable[str]:
    """What is left out, if anything is."""
    if len(every) > 1:
        yield f"context {number + 1:,} of {len(every):,}: the model goes on from summaries"
    first, end = window
    if end - first < every[number].read:
        yield f"positions {first:,} to {end - 1:,} of {every[number].read:,}"


def _theorem(theorem: Theorem) -> Json:
    guide: list[Json] = [
        {"title": step.title, "text": step.text, "shows": list(step.shows)} for step in theorem.guide
    ]
    return {
        "name": theorem.name,
        "statement": theorem.statement,
        "reference": theorem.reference,
        "needs": theorem.needs,
        "cost": theorem.cost,
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
