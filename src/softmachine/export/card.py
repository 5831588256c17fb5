"""The model card: what a checkpoint computes, up to which length, in which formats, and how to use it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from softmachine.export.dialogue import Dialogue, Sample
from softmachine.export.placed import Placed
from softmachine.export.verify import Verification
from softmachine.text import many
from softmachine.transformer import Transformer

if TYPE_CHECKING:
    from softmachine.export.checkpoint import Exported

MOST_SHOWN = 12
"""So many tokens of an example are shown."""

_CARD = """\
---
library_name: transformers
pipeline_tag: text-generation
tags: [softmachine, compiled, mechanistic-interpretability]
---

# {name}

{about}

The weights were not trained: they were compiled, by the construction {construction}, and compute {what}
{length:,} positions ({positions}). It is a stock `{architecture}`: {layers}, {heads} a layer, width {width:,},
{vocabulary}, {parameters:,} parameters.

## Use

```python
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(".")
model = AutoModelForCausalLM.from_pretrained(".", dtype="auto")
inputs = tokenizer("{word}", return_tensors="pt", return_token_type_ids=False)
print(tokenizer.decode(model.generate(**inputs)[0]))
# {shown}
```

Symbols of an input are separated by blanks.{around} A word that is not in the vocabulary is an error.{answers}

## Numbers

The weights are stored in {dtype}. Before this folder was written, a model loaded from it was run by
`transformers` in each format{how}:

| format | holds | inputs | tokens | longest | smallest margin |
|---|---|---|---|---|---|
{table}

A margin of 1 is what exact arithmetic has; logits are {gain:,.0f} times that. **In a format that does not hold, the
answers are wrong and nothing says so**; `config.json` lists those that do, under `softmachine`.

## What is inside

`softmachine.json` names every coordinate of the residual stream, every head and every unit. The value of a named signal
is `residual[..., index] / scale`:

```python
import json, torch

where = {{c["name"]: c for c in json.load(open("softmachine.json"))["coordinates"]}}
stream = model(**inputs, output_hidden_states=True).hidden_states[-2][0]
print({{name: (stream[-1, c["index"]] / c["scale"]).item() for name, c in where.items()}})
```

Signals: {signals}.
"""


def model_card(transformer: Transformer, placed: Placed, exported: Exported, dialogue: Dialogue, about: str) -> str:
    """The text of ``README.md``."""
    model = placed.model
    spelled = dict(zip(model.vocabulary, model.spellings, strict=True))
    sample = _example(dialogue)
    symbols = sample.prompt[len(dialogue.prefix) : len(sample.prompt) - len(dialogue.suffix)]
    said = [token for token in sample.expected if token is not None]
    said = said if dialogue.decodes else said[-1:]
    shown = [*sample.prompt, *said[:MOST_SHOWN]]
    marks = [f"`{spelled[token]}` {side}" for token, side in _marks(dialogue)]
    return _CARD.format(
        name=transformer.name,
        about=about,
        construction=transformer.construction or "of its author",
        what="every run that fits in" if dialogue.decodes else "the answer at every position of words that fit in",
        positions="marks, input and steps together" if dialogue.decodes else "marks and input together",
        length=exported.length,
        architecture=placed.architecture,
        layers=many(len(model.layers), "layer"),
        heads=many(max((len(layer.heads) for layer in model.layers), default=0), "head"),
        width=model.width,
        vocabulary=many(len(model.vocabulary), "token"),
        parameters=exported.parameters,
        word=" ".join(spelled[token] for token in symbols),
        shown=" ".join(spelled[token] for token in shown) + (" …" if len(said) > MOST_SHOWN else ""),
        around=f" The tokenizer adds {' and '.join(marks)}." if marks else "",
        answers="" if dialogue.decodes else " One token is generated: the answer at the last position.",
        dtype=exported.dtype,
        how=", token for token against the reference interpreter",
        table="\n".join(map(_row, exported.verified)),
        gain=placed.gain,
        signals=", ".join(f"`{name}`" for name in dict.fromkeys(name.split("[")[0] for name in model.coordinates)),
    )


def _example(dialogue: Dialogue) -> Sample:
    """A sample that is worth showing: the longest input with a run that fits on a line, if there is one."""
    short = [sample for sample in dialogue.samples if len(sample.expected) <= MOST_SHOWN and sample.ends]
    return max(short or dialogue.samples, key=lambda sample: len(sample.prompt))


def _marks(dialogue: Dialogue) -> list[tuple[str, str]]:
    return [*((token, "before") for token in dialogue.prefix), *((token, "after") for token in dialogue.suffix)]


def _row(result: Verification) -> str:
    margin = "–" if result.margin is None else f"{result.margin:.4f}"
    holds = "yes" if result.holds else f"**no**: {result.failure}"
    cells = (result.dtype, holds, f"{result.inputs:,}", f"{result.tokens:,}", f"{result.longest:,}", margin)
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"
