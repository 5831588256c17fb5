"""Interpretability section of the model card: sizes, heads, and how to read and write coordinates."""

from __future__ import annotations

import json

from softmachine.exports.dialogue import Dialogue
from softmachine.exports.lowered import Lowered
from softmachine.exports.manual import MOST_SHOWN, example, quoted
from softmachine.exports.patches import Patch, telling_patch
from softmachine.exports.placed import Placed
from softmachine.support.text import cut, family, many, span

_BOTH = """Each signal is stored twice, and the model reads half of
the difference: if you write only one of the two, it computes with the mean of the old and the new value."""
MOST_LINES = 24
"""The number of layers and of signals that are listed; `softmachine.json` has all."""


def sizes(placed: Placed) -> str:
    """Layers, heads and width, as in the configuration."""
    layers, heads = many(len(placed.model.layers), "layer"), many(placed.heads, "head")
    return f"{layers}, {heads} per layer, width {placed.width:,}"


def inside(placed: Placed, code: str, prompt_format: Dialogue) -> str:
    """The text of the section; with ``code``, a template, also the code and an example."""
    mirrored = "" if placed.mirror is None else f" and, negated, at `mirror` (`index` + {placed.mirror:,})"
    about = (
        "`softmachine.json` names every coordinate of the residual stream, every head and every feed-forward unit. The "
        f"stream has width\n{placed.width:,} and holds {many(placed.model.width, 'signal')}, each at its "
        f"`index`{mirrored}. The value of a signal is `residual[..., index] / scale`."
    )
    parts = [
        about,
        f"Signals: {_signals(placed.model)}.",
        _heads(placed),
    ]
    return "\n\n".join([*parts, *([_filled(placed, code, prompt_format)] if code else [])])


def _signals(model: Lowered) -> str:
    """The names of the signals, one per vector; long names are cut."""
    names = [*dict.fromkeys(cut(family(name)) for name in model.coordinates)]
    more = f" and {len(names) - MOST_LINES:,} more" if len(names) > MOST_LINES else ""
    return ", ".join(map(quoted, names[:MOST_LINES])) + more


def _heads(placed: Placed) -> str:
    """The table of heads, layer by layer."""
    lines = ["| layer | heads | idle heads |", "|---|---|---|"]
    for k, layer in enumerate(placed.model.layers[:MOST_LINES]):
        names = [f"{h}: {quoted(head.name)}" for h, head in enumerate(layer.heads[:MOST_SHOWN])]
        names += ["…"] if len(layer.heads) > MOST_SHOWN else []
        row = (str(k), ", ".join(names) or "none", span(placed.idle(k)))
        lines.append(f"| {' | '.join(cell.replace('|', '&#124;') for cell in row)} |")
    if len(placed.model.layers) > MOST_LINES:
        lines.append("| … | see `softmachine.json` | |")
    if any(placed.idle(k) for k in range(len(placed.model.layers))):
        lines += ["", "All weights of an idle head are 0: it attends to all positions uniformly and writes nothing."]
    return "\n".join(lines)


def _filled(placed: Placed, code: str, prompt_format: Dialogue) -> str:
    model, prompt = placed.model, example(prompt_format).prompt
    patch = telling_patch(model, [model.index[token] for token in prompt], _place(prompt_format))
    return code.format(
        blocks=placed.blocks,
        storage="" if placed.mirror is None else _BOTH,
        mirrored="" if placed.mirror is None else '\n    stream[..., c["mirror"]] = -value * c["scale"]',
        auto_class=placed.auto_class,
        label="tokenizer.decode([k])" if model.causal else "model.config.id2label[k]",
        example="" if patch is None else _example(model, patch),
    )


def _place(prompt_format: Dialogue) -> int:
    """The position of the answer that the example changes."""
    interface = prompt_format.interface
    if interface is None or prompt_format.decodes:
        return -1
    if interface.verdict is None and interface.outputs:
        return interface.outputs[0][1]
    return -1 if interface.verdict is None else interface.verdict


def _example(model: Lowered, patch: Patch) -> str:
    name, texts = next(iter(patch.values)), model.spellings if model.causal else model.labels
    return f"""
plain = run()
print(round(read(plain.hidden_states[{patch.layer}][0, {patch.position}], {_literal(name)}).item()))
# {patch.was}
print(answer(plain, {patch.position}))
# {texts[patch.before]}
print(answer(run({patch.layer}, {patch.position}, {_literal(patch.values)}), {patch.position}))
# {texts[patch.after]}"""


def _literal(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
