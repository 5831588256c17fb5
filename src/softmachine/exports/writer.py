"""Model card and map of an exported model, and the record of the export, for all formats.

The model card states what the model computes, up to which length and in which number formats, and how to use it; the
map names every index of the residual stream, every head and every unit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from softmachine.compiler.model import Model
from softmachine.exports.manifest import write_manifest
from softmachine.exports.model_card import CardTexts, describe_internals, format_sizes, format_usage
from softmachine.exports.prompt_format import PromptFormat
from softmachine.exports.tensors import ArchitectureTensors
from softmachine.exports.verification import Verification
from softmachine.support.files import write_file
from softmachine.support.progress import ProgressCallback
from softmachine.support.text import pluralize
from softmachine.theorems.codec import Interface


@dataclass(frozen=True)
class ExportRecord:
    """Record of an export.

    Args:
        folder: The folder that was written.
        architecture: The class that loads it.
        length: The number of positions.
        dtype: The number format of the weights.
        verifications: The verification in each number format that was tried, that of the weights first.
        parameters: The number of weights, zeros included.
        rounded_weights: How many non-zero weights the number format rounds.
        theorem: The name of the theorem that the model was compiled by.
        notes: Caveats that accompany every output of the model.
    """

    folder: Path
    architecture: str
    length: int
    dtype: str
    verifications: tuple[Verification, ...]
    parameters: int
    rounded_weights: int
    theorem: str
    notes: tuple[str, ...] = ()

    @property
    def dtypes(self) -> tuple[str, ...]:
        """The number formats in which every output was correct."""
        return tuple(result.dtype for result in self.verifications if result.holds)


@dataclass(frozen=True)
class WrittenModel:
    """The files of a format: tensors, the facts that :class:`ExportRecord` also has, and texts of the model card."""

    tensors: ArchitectureTensors
    architecture: str
    verifications: tuple[Verification, ...]
    parameters: int
    rounded_weights: int
    texts: CardTexts


ModelWriter = Callable[[Model, Path, int, str, PromptFormat, ProgressCallback], WrittenModel]
"""Writes a model with a number of positions, in a number format, to an empty folder, runs it on the samples, and
reports progress."""


def write_card_and_map(
    folder: Path, model: Model, filled: WrittenModel, exported: ExportRecord, prompt_format: PromptFormat
) -> None:
    """Write the model card and the map (``softmachine.json``) of a folder."""
    write_file(folder / "README.md", _format_card(model, filled, exported, prompt_format))
    write_manifest(folder, _build_map(model, filled.tensors, exported, prompt_format))


_CARD = """\
---
library_name: {library}
pipeline_tag: {task}
tags: [softmachine, compiled, mechanistic-interpretability]
---

# {name}

{about}

The weights were not trained. They were compiled with softmachine, by the construction `{theorem}`, and
compute {what} {length:,} positions ({positions}).

The model is {form} with {sizes}, a vocabulary of
{vocabulary} and {parameters:,} parameters.

## Usage

{usage}
## Evaluation

The weights are stored in {dtype}. During export, the model was run on sample inputs, and its output was compared token
by token with the reference interpreter:

| number format | correct | inputs | tokens | longest sequence | smallest margin |
|---|---|---|---|---|---|
{table}

The margin is the distance between the two largest logits, divided by {gain:,.0f}; in exact arithmetic it is at least 1.
**In a number format with a “no”, the model gives wrong outputs without raising an error**{holding}.

## Interpretability

{inside}
"""


def _format_card(compiled: Model, filled: WrittenModel, exported: ExportRecord, prompt_format: PromptFormat) -> str:
    """The text of the model card."""
    placed, manual, model = filled.tensors, filled.texts, filled.tensors.model
    return _CARD.format(
        library=manual.library,
        task=placed.pipeline_tag,
        name=compiled.name,
        about="\n\n".join([str(compiled.source), *exported.notes]),
        theorem=compiled.theorem.name,
        what="every run that fits in"
        if prompt_format.is_decoder
        else "the output at every position of inputs that fit in",
        length=exported.length,
        positions="special tokens, input and steps" if prompt_format.is_decoder else "special tokens and input",
        form=manual.kind,
        sizes=format_sizes(placed),
        vocabulary=pluralize(len(model.vocabulary), "token"),
        parameters=exported.parameters,
        usage=format_usage(manual, model, prompt_format, exported.length),
        dtype=exported.dtype,
        table="\n".join(map(_format_row, exported.verifications)),
        gain=placed.gain,
        holding=manual.dtypes_note,
        inside=describe_internals(placed, manual.internals_template, prompt_format),
    )


def _format_row(result: Verification) -> str:
    margin = "–" if result.margin is None else f"{result.margin:.4f}"
    holds = "yes" if result.holds else f"**no**: {result.failure}"
    cells = (result.dtype, holds, f"{result.inputs:,}", f"{result.tokens:,}", f"{result.longest:,}", margin)
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"


def _build_map(
    compiled: Model, placed: ArchitectureTensors, exported: ExportRecord, prompt_format: PromptFormat
) -> dict[str, object]:
    """Everything that has a name, as JSON data.

    ``residual[..., index]`` is a value times ``scale``; if there is a ``mirror``, that index holds its negative.
    """
    model = placed.model
    coordinates = [
        {"name": name, "index": k, "mirror": placed.mirror_offset and placed.mirror_offset + k, "scale": float(scale)}
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
            "idle_heads": list(placed.idle_heads(k)),
            "units": [{"index": u, "name": name} for u, name in enumerate(layer.units)],
        }
        for k, layer in enumerate(model.layers)
    ]
    return {
        "format": "softmachine-map",
        "version": 2,
        "name": compiled.name,
        "architecture": placed.architecture,
        "theorem": compiled.theorem.name,
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
        "before_input": list(prompt_format.prefix),
        "after_input": list(prompt_format.suffix),
        "stops": list(prompt_format.stop_tokens),
        "interface": _interface(prompt_format.interface),
        "source": {"language": compiled.source.language, "name": compiled.source.name},
        **({"notes": list(exported.notes)} if exported.notes else {}),
    }


def _interface(interface: Interface | None) -> dict[str, object] | None:
    """Inputs and outputs by position, as JSON data; None for an autoregressive model."""
    if interface is None:
        return None
    return {
        "symbols": list(interface.symbols),
        "inputs": list(interface.inputs),
        "outputs": [{"name": name, "position": position} for name, position in interface.outputs],
        "verdict": interface.verdict,
        "meaning": interface.meaning,
    }
