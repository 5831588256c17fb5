"""The model card: what a checkpoint computes, up to which length, in which formats, and how to use it."""

from __future__ import annotations

from softmachine.exports.dialogue import Dialogue
from softmachine.exports.exported import Exported
from softmachine.exports.manual import Manual, usage
from softmachine.exports.placed import Placed
from softmachine.exports.verify import Verification
from softmachine.model import Model
from softmachine.text import many

_CARD = """\
---
library_name: {library}
pipeline_tag: {task}
tags: [softmachine, compiled, mechanistic-interpretability]
---

# {name}

{about}

The weights were not trained: they were compiled, by the construction {construction}, and compute {what}
{length:,} positions ({positions}). It is {form}: {layers}, {heads} a layer, width {width:,},
{vocabulary}, {parameters:,} parameters.

## Use

{usage}
## Numbers

The weights are stored in {dtype}. Before this folder was written, they were run on sample inputs and compared, token
for token, with the reference interpreter:

| format | holds | inputs | tokens | longest | smallest margin |
|---|---|---|---|---|---|
{table}

A margin of 1 is what exact arithmetic has; logits are {gain:,.0f} times that. **In a format that does not hold, the
answers are wrong and nothing says so**{holding}.

## What is inside

`softmachine.json` names every coordinate of the residual stream, every head and every unit. The value of a named signal
is `residual[..., index] / scale`{inside}

Signals: {signals}.
"""


def card(compiled: Model, placed: Placed, exported: Exported, dialogue: Dialogue, about: str, manual: Manual) -> str:
    """The card of a model that is used as a manual says."""
    model = placed.model
    return _CARD.format(
        library=manual.library,
        task=placed.task,
        name=compiled.name,
        about=about,
        construction=compiled.theorem.name,
        what="every run that fits in" if dialogue.decodes else "the answer at every position of words that fit in",
        length=exported.length,
        positions="marks, input and steps together" if dialogue.decodes else "marks and input together",
        form=manual.form,
        layers=many(len(model.layers), "layer"),
        heads=many(max((len(layer.heads) for layer in model.layers), default=0), "head"),
        width=model.width,
        vocabulary=many(len(model.vocabulary), "token"),
        parameters=exported.parameters,
        usage=usage(manual, model, dialogue, exported.length),
        dtype=exported.dtype,
        table="\n".join(map(_row, exported.verified)),
        gain=placed.gain,
        holding=manual.holding,
        inside=manual.inside,
        signals=", ".join(f"`{name}`" for name in dict.fromkeys(name.split("[")[0] for name in model.coordinates)),
    )


def _row(result: Verification) -> str:
    margin = "–" if result.margin is None else f"{result.margin:.4f}"
    holds = "yes" if result.holds else f"**no**: {result.failure}"
    cells = (result.dtype, holds, f"{result.inputs:,}", f"{result.tokens:,}", f"{result.longest:,}", margin)
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"
