"""The model card: what a checkpoint computes, up to which length, in which formats, and how to use it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from softmachine.exports.dialogue import Dialogue, Sample
from softmachine.exports.exported import Exported
from softmachine.exports.placed import Placed
from softmachine.exports.verify import Verification
from softmachine.text import many
from softmachine.transformer import Transformer

MOST_SHOWN = 12
"""So many tokens of an example are shown."""

_CARD = """\
---
library_name: transformers
pipeline_tag: {task}
tags: [softmachine, compiled, mechanistic-interpretability]
---

# {name}

{about}

The weights were not trained: they were compiled, by the construction {construction}, and compute {what}
{length:,} positions ({positions}).{inputs} It is a stock `{architecture}`: {layers}, {heads} a layer, width {width:,},
{vocabulary}, {parameters:,} parameters.

## Use

{use}
## Numbers

The weights are stored in {dtype}. Before this folder was written, they were run on sample inputs and compared, token
for token, with the reference interpreter:

| format | holds | inputs | tokens | longest | smallest margin |
|---|---|---|---|---|---|
{table}

A margin of 1 is what exact arithmetic has; logits are {gain:,.0f} times that. **In a format that does not hold, the
answers are wrong and nothing says so**{where}.

## What is inside

`softmachine.json` names every coordinate of the residual stream, every head and every unit. The value of a named signal
is `residual[..., index] / scale`{inside}

Signals: {signals}.
"""

_USE = """\
```python
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(".")
model = AutoModelForCausalLM.from_pretrained(".", dtype="auto")
inputs = tokenizer("{word}", return_tensors="pt", return_token_type_ids=False)
print(tokenizer.decode(model.generate(**inputs)[0]))
# {shown}
```

Symbols of an input are separated by blanks.{around} A word that is not in the vocabulary is an error.{answers}
"""

_ASK = """\
```python
from transformers import AutoModelForTokenClassification, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(".")
model = AutoModelForTokenClassification.from_pretrained(".", dtype="auto")
inputs = tokenizer("{word}", return_tensors="pt", return_token_type_ids=False)
answers = model(**inputs).logits[0].argmax(-1)
print(" ".join(model.config.id2label[int(k)] for k in answers))
# {shown}
```

There is one answer for every token, marks included; where `·` is shown, it means nothing. Symbols of an input are
separated by blanks.{around} A word that is not in the vocabulary is an error. Batches are padded at the right.
"""

_INSIDE = """:

```python
import json
from pathlib import Path

coordinates = json.loads(Path("softmachine.json").read_text(encoding="utf-8"))["coordinates"]
stream = model(**inputs, output_hidden_states=True).hidden_states[-1][0]
print({c["name"]: round((stream[-1, c["index"]] / c["scale"]).item(), 3) for c in coordinates})
```"""


def model_card(transformer: Transformer, placed: Placed, exported: Exported, dialogue: Dialogue, about: str) -> str:
    """The card of a checkpoint for transformers."""
    use = (_USE if placed.model.causal else _ASK).replace("AutoTokenizer", placed.tokenizer)
    return _card(transformer, placed, exported, dialogue, about, use).format(
        where="; `config.json` lists the formats that hold, under `softmachine`", inside=_INSIDE
    )


def plain_card(
    transformer: Transformer, placed: Placed, exported: Exported, dialogue: Dialogue, about: str, use: str
) -> str:
    """The card of a file for other software, which is used as ``use`` says."""
    return _card(transformer, placed, exported, dialogue, about, use).format(where="", inside=".")


def _card(
    transformer: Transformer, placed: Placed, exported: Exported, dialogue: Dialogue, about: str, use: str
) -> str:
    """The text, with places left for what only some cards say."""
    model = placed.model
    spelled = dict(zip(model.vocabulary, model.spellings, strict=True))
    index = {token: str(k) for k, token in enumerate(model.vocabulary)}
    sample = _example(dialogue)
    symbols = dialogue.symbols(sample.prompt)
    if model.causal:
        said = [spelled[token] for token in sample.expected if token is not None]
        said = said if dialogue.decodes else said[-1:]
        shown = [*(spelled[token] for token in sample.prompt), *said[:MOST_SHOWN]]
    else:
        shown = said = [token or "·" for token in sample.expected]
    marks = [f"`{spelled[token]}`{times} {side}" for token, times, side in _marks(dialogue)]
    usage = use.format(
        word=" ".join(spelled[token] for token in symbols),
        prompt=" ".join(spelled[token] for token in sample.prompt),
        ids=", ".join(index[token] for token in sample.prompt),
        stops=", ".join(index[token] for token in dialogue.stops) if model.causal else "",
        length=exported.length,
        shown=" ".join(shown) + (" …" if model.causal and len(said) > MOST_SHOWN else ""),
        around=f" The tokenizer adds {' and '.join(marks)}." if marks else "",
        answers="" if dialogue.decodes else " One token is generated: the answer at the last position.",
    )
    parts = {
        "task": placed.task,
        "inputs": "" if dialogue.only is None else f" Inputs have exactly {many(dialogue.only, 'symbol')}.",
        "name": transformer.name,
        "about": about,
        "construction": transformer.construction or "of its author",
        "what": "every run that fits in" if dialogue.decodes else "the answer at every position of words that fit in",
        "positions": "marks, input and steps together" if dialogue.decodes else "marks and input together",
        "architecture": placed.architecture,
        "layers": many(len(model.layers), "layer"),
        "heads": many(max((len(layer.heads) for layer in model.layers), default=0), "head"),
        "vocabulary": many(len(model.vocabulary), "token"),
        "use": usage,
        "dtype": exported.dtype,
        "table": "\n".join(map(_row, exported.verified)),
        "signals": ", ".join(f"`{name}`" for name in dict.fromkeys(name.split("[")[0] for name in model.coordinates)),
    }
    # Names may have braces in them, and the text is filled in once more.
    safe = {key: text.replace("{", "{{").replace("}", "}}") for key, text in parts.items()}
    numbers = {"length": exported.length, "width": model.width, "parameters": exported.parameters, "gain": placed.gain}
    return _CARD.format(**safe, **numbers, where="{where}", inside="{inside}")


def _example(dialogue: Dialogue) -> Sample:
    """A sample that is worth showing: the longest input with a run that fits on a line, if there is one."""
    short = [sample for sample in dialogue.samples if len(sample.expected) <= MOST_SHOWN and sample.ends]
    return max(short or dialogue.samples, key=lambda sample: len(sample.prompt))


def _marks(dialogue: Dialogue) -> Iterator[tuple[str, str, str]]:
    """What the tokenizer adds, how often if more than once, and where."""
    for tokens, side in ((dialogue.prefix, "before"), (dialogue.suffix, "after")):
        for token, same in groupby(tokens):
            count = len(list(same))
            yield token, f" × {count}" if count > 1 else "", side


def _row(result: Verification) -> str:
    margin = "–" if result.margin is None else f"{result.margin:.4f}"
    holds = "yes" if result.holds else f"**no**: {result.failure}"
    cells = (result.dtype, holds, f"{result.inputs:,}", f"{result.tokens:,}", f"{result.longest:,}", margin)
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"
