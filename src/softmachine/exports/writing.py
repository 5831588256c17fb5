"""What is written of a model, whatever the format: what was done, and a card and a map that say what is there.

The model card says what it computes, up to which length, in which formats, and how to use it; the map says which index
of the residual stream, which head and which unit carries what.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from softmachine.compiler.model import Model
from softmachine.exports.dialogue import Dialogue
from softmachine.exports.inside import inside, sizes
from softmachine.exports.manifest import seal
from softmachine.exports.manual import Manual, usage
from softmachine.exports.placed import Placed
from softmachine.exports.verify import Verification
from softmachine.support.files import write
from softmachine.support.progress import Tell
from softmachine.support.text import many
from softmachine.theorems.codec import Interface


@dataclass(frozen=True)
class Exported:
    """What was written.

    Args:
        folder: Where.
        architecture: The class that loads it.
        length: The number of positions.
        dtype: The format of the weights.
        verified: What a stock model said in each format that was tried, the format of the weights first.
        parameters: The number of weights, zeros included.
        rounded: How many of the weights that are not 0 the format had to round.
        theorem: The name of the theorem that the model was compiled by.
        notes: What every answer from the model has to say.
    """

    folder: Path
    architecture: str
    length: int
    dtype: str
    verified: tuple[Verification, ...]
    parameters: int
    rounded: int
    theorem: str
    notes: tuple[str, ...] = ()

    @property
    def dtypes(self) -> tuple[str, ...]:
        """The formats in which everything was right."""
        return tuple(result.dtype for result in self.verified if result.holds)


@dataclass(frozen=True)
class Filled:
    """What a format has put into a folder: the weights, what is as in :class:`Exported`, and how to use it."""

    placed: Placed
    architecture: str
    verified: tuple[Verification, ...]
    parameters: int
    rounded: int
    manual: Manual


Fill = Callable[[Model, Path, int, str, Dialogue, Tell], Filled]
"""Puts a model with so many positions, in a format of numbers, into an empty folder, and lets it say what it should;
and tells meanwhile what it does."""


def describe(folder: Path, model: Model, filled: Filled, exported: Exported, dialogue: Dialogue) -> None:
    """Say in a folder what is in it, for people and for programs."""
    write(folder / "README.md", _card(model, filled, exported, dialogue))
    seal(folder, _map(model, filled.placed, exported, dialogue))


_CARD = """\
---
library_name: {library}
pipeline_tag: {task}
tags: [softmachine, compiled, mechanistic-interpretability]
---

# {name}

{about}

The weights were not trained: they were compiled, by the theorem {construction}, and compute {what}
{length:,} positions ({positions}). It is {form}: {sizes},
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

{inside}
"""


def _card(compiled: Model, filled: Filled, exported: Exported, dialogue: Dialogue) -> str:
    """The card of a model that is used as a manual says."""
    placed, manual, model = filled.placed, filled.manual, filled.placed.model
    return _CARD.format(
        library=manual.library,
        task=placed.task,
        name=compiled.name,
        about="\n\n".join([str(compiled.source), *exported.notes]),
        construction=compiled.theorem.name,
        what="every run that fits in" if dialogue.decodes else "the answer at every position of words that fit in",
        length=exported.length,
        positions="marks, input and steps together" if dialogue.decodes else "marks and input together",
        form=manual.form,
        sizes=sizes(placed),
        vocabulary=many(len(model.vocabulary), "token"),
        parameters=exported.parameters,
        usage=usage(manual, model, dialogue, exported.length),
        dtype=exported.dtype,
        table="\n".join(map(_row, exported.verified)),
        gain=placed.gain,
        holding=manual.holding,
        inside=inside(placed, manual.inside, dialogue),
    )


def _row(result: Verification) -> str:
    margin = "–" if result.margin is None else f"{result.margin:.4f}"
    holds = "yes" if result.holds else f"**no**: {result.failure}"
    cells = (result.dtype, holds, f"{result.inputs:,}", f"{result.tokens:,}", f"{result.longest:,}", margin)
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"


def _map(compiled: Model, placed: Placed, exported: Exported, dialogue: Dialogue) -> dict[str, object]:
    """Everything that has a name, as data.

    ``residual[..., index]`` is a value times ``scale``; if there is a ``mirror``, the negative of that is there.
    """
    model = placed.model
    coordinates = [
        {"name": name, "index": k, "mirror": placed.mirror and placed.mirror + k, "scale": float(scale)}
        for k, (name, scale) in enumerate(zip(model.coordinates, model.scales, strict=True))
    ]
    layers = [
        {
            "heads": [
                {
                    "index": h,
                    "name": head.name,
                    "query_width": len(head.query.bias),
                    "value_width": len(head.value.bias),
                    "writes": [model.coordinates[c] for c in sorted({*head.output.nonzero()[0].tolist()})],
                }
                for h, head in enumerate(layer.heads)
            ],
            "idle_heads": list(placed.idle(k)),
            "units": [{"index": u, "name": name} for u, name in enumerate(layer.units)],
        }
        for k, layer in enumerate(model.layers)
    ]
    return {
        "format": "softmachine-map",
        "version": 2,
        "name": compiled.name,
        "architecture": placed.architecture,
        "construction": compiled.theorem.name,
        "positions": exported.length,
        "dtype": exported.dtype,
        "dtypes_that_hold": list(exported.dtypes),
        "coordinates": coordinates,
        "layers": layers,
        "unit_scale": placed.activation_gain,
        "logit_scale": placed.gain,
        "vocabulary": [
            {"id": k, "text": text, "token": token}
            for k, (text, token) in enumerate(zip(model.spellings, model.vocabulary, strict=True))
        ],
        "labels": list(model.labels),
        "produces": list(model.outputs),
        "before_input": list(dialogue.prefix),
        "after_input": list(dialogue.suffix),
        "stops": list(dialogue.stops),
        "interface": _interface(dialogue.interface),
        "source": {"language": compiled.source.language, "name": compiled.source.name},
        **({"notes": list(exported.notes)} if exported.notes else {}),
    }


def _interface(interface: Interface | None) -> dict[str, object] | None:
    """What goes in and what comes out where, as data; nothing for a model that goes on from its input."""
    if interface is None:
        return None
    return {
        "symbols": list(interface.symbols),
        "inputs": list(interface.inputs),
        "outputs": [{"name": name, "position": position} for name, position in interface.outputs],
        "verdict": interface.verdict,
        "meaning": interface.meaning,
    }
