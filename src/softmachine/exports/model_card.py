"""Usage section of the model card: example code, inputs and outputs.

Interpretability section of the model card: sizes, heads, and how to read and write coordinates.

NumPy forward pass of a lowered model, and a search for an activation patch that flips an answer.

The patch is the example of the model card.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from softmachine.exports.lowered_model import Array, Lowered, LoweredHead, LoweredLayer
from softmachine.exports.prompt_format import Dialogue, Sample
from softmachine.exports.tensors import Placed
from softmachine.support.text import cut, family, many, span
from softmachine.theorems.codec import Interface

MOST_SHOWN = 12
"""The number of tokens of an example that are shown, and of names of inputs."""
MOST_LISTED = 16
"""The number of outputs that are listed; `softmachine.json` has all."""

SEPARATED = "Separate symbols by spaces."
_UNSEPARATED = "Spaces between symbols are optional."


@dataclass(frozen=True)
class Manual:
    """The texts of a model card that depend on the format.

    Args:
        library: ``library_name`` of the Hugging Face hub.
        form: The kind of model, after "The model is".
        sample: Template of the code that runs the model. Its fields: the input as a quoted ``{word}``, or as a
            ``{prompt}`` and its ``{ids}``; the ``{length}``, and the number of tokens ``{left}`` after the prompt; the
            expression that splits the input into ``{texts}``, and the id of the ``{unknown}`` token; the ``{shown}``
            output; and, in code with a list of ``answers``, the lines ``{prints}`` that print it with the ``{imports}``
            and ``{facts}`` that they need.
        generates: Whether the shown output is generated autoregressively.
        adds: The beginning of the sentence about the special tokens around an input.
        notes: Further notes about inputs.
        holding: A pointer to the list of correct number formats, appended to a sentence.
        inside: Template of the code that reads and patches activations. Its fields: the ``{blocks}`` that read the
            stream, a note about the ``{storage}`` of signals and the line that writes the ``{mirrored}`` copy, the
            ``{auto_class}`` that loads the model, an expression for the text of ``{label}`` k, and an ``{example}``.
    """

    library: str
    form: str
    sample: str
    generates: bool
    adds: str
    notes: str = ""
    holding: str = ""
    inside: str = ""


def usage(manual: Manual, model: Lowered, prompt_format: Dialogue, length: int) -> str:
    """The text of the section: an example, the input format, and the meaning of outputs."""
    spelled, sample = model.spelled, example(prompt_format)
    prints, printed = _printing(prompt_format.interface, sample)
    code = manual.sample.format(
        word=json.dumps(" ".join(spelled[token] for token in prompt_format.symbols(sample.prompt)), ensure_ascii=False),
        prompt=" ".join(spelled[token] for token in sample.prompt),
        ids=", ".join(str(model.index[token]) for token in sample.prompt),
        length=length,
        left=length - len(sample.prompt) if prompt_format.decodes else 1,
        texts='"".join(word.split())' if prompt_format.letters(spelled) else "word.split()",
        unknown=model.unknown,
        shown=_said(prompt_format, sample, spelled) if manual.generates else "",
        prints="\n".join([*prints, *(f"# {line}" for line in printed)]),
        imports=_IMPORTS if prompt_format.interface and prompt_format.interface.outputs else "",
        facts=_FACTS if prompt_format.interface and prompt_format.interface.outputs else "",
    )
    return f"{code}\n{_input(manual, prompt_format, spelled)}\n\n{_answers(manual, prompt_format, length, spelled)}\n"


_BAR = r"\|"
"""A vertical bar in a Markdown table."""
_IMPORTS = "import json\nfrom pathlib import Path\n\n"
_FACTS = 'facts = json.loads(Path("softmachine.json").read_text(encoding="utf-8"))\n'


def example(prompt_format: Dialogue) -> Sample:
    """The sample to show: the one with the longest prompt whose run fits on a line, if there is one."""
    short = [sample for sample in prompt_format.samples if len(sample.expected) <= MOST_SHOWN and sample.ends]
    return max(short or prompt_format.samples, key=lambda sample: len(sample.prompt))


def _said(prompt_format: Dialogue, sample: Sample, spelled: Mapping[str, str]) -> str:
    """A prompt and the output after it."""
    output = [spelled[token] for token in sample.expected if token is not None]
    output = output if prompt_format.decodes else output[-1:]
    more = " …" if len(output) > MOST_SHOWN else ""
    return " ".join([*(spelled[token] for token in sample.prompt), *output[:MOST_SHOWN]]) + more


def _printing(interface: Interface | None, sample: Sample) -> tuple[list[str], list[str]]:
    """Code that prints a list of answers, and its output."""
    if interface is None:
        return [], []
    if interface.outputs:
        code = [
            'for output in facts["interface"]["outputs"]:',
            '    print(output["name"], answers[output["position"]])',
        ]
        printed = [f"{name} {sample.expected[position]}" for name, position in interface.outputs]
        printed[MOST_LISTED:] = ["…"] if len(printed) > MOST_LISTED else []
    else:
        code, printed = ["print(*answers)"], [" ".join(answer or "·" for answer in sample.expected)]
    if interface.verdict is not None:
        code.append(f'print("accept" if answers[{interface.verdict}] == "true" else "reject")')
        printed.append("accept" if sample.expected[interface.verdict] == "true" else "reject")
    return code, printed


def _input(manual: Manual, prompt_format: Dialogue, spelled: Mapping[str, str]) -> str:
    """The paragraph about inputs and the special tokens around them."""
    interface = prompt_format.interface
    parts = []
    if interface is not None and interface.symbols:
        symbols = [spelled[symbol] for symbol in interface.symbols]
        parts.append(f"The input consists of the symbols {_listed(symbols, 'and')}.")
    if prompt_format.only is not None:
        names = _named(interface.inputs if interface else ())
        parts.append(f"It has exactly {many(prompt_format.only, 'symbol')}{names}.")
    marks = [*_marks(prompt_format.prefix, "before", spelled), *_marks(prompt_format.suffix, "after", spelled)]
    if marks:
        parts.append(f"{manual.adds} {' and '.join(marks)}.")
    notes = manual.notes.replace(SEPARATED, _UNSEPARATED) if prompt_format.letters(spelled) else manual.notes
    return f"**Input.** {' '.join([*parts, notes]).strip()}"


def _answers(manual: Manual, prompt_format: Dialogue, length: int, spelled: Mapping[str, str]) -> str:
    """The paragraph about the positions and the meaning of outputs."""
    interface = prompt_format.interface
    stops = _listed([spelled[token] for token in prompt_format.stops]) if manual.generates else ""
    if interface is None:
        cut = f"A run that does not end within {many(length, 'position')} is cut off and has no verdict."
        ends = f"a run ends with {stops}" if stops else "no token ends a run"
        return f"**Output.** The model continues the input token by token; {ends}. {cut}"
    last = f" to {length - 1:,}" if interface.inputs else ""
    where = f"The model gives an answer at every position, counted from 0{last}."
    if manual.generates:
        where = f"The model computes an answer at every position; the generated token is the last one: {stops}."
    parts = ["**Output.**", where, interface.meaning]
    if not (manual.generates or interface.outputs or all(example(prompt_format).expected)):
        parts.append("Answers shown as `·` are arbitrary.")
    if interface.verdict is not None:
        which = "the last answer" if interface.verdict == -1 else f"the answer at position {interface.verdict}"
        parts.append(f"An input is accepted if {which} is `true`.")
    if not interface.outputs:
        return " ".join(parts)
    cells = [(quoted(name).replace("|", _BAR), str(position)) for name, position in interface.outputs[:MOST_LISTED]]
    if len(interface.outputs) > MOST_LISTED:
        cells.append(("…", "see `interface` in `softmachine.json`"))
    rows = [f"| {name} | {position} |" for name, position in cells]
    return "\n".join([" ".join([*parts, "The outputs are:"]), "", "| output | position |", "|---|---|", *rows])


def _named(inputs: Sequence[str]) -> str:
    """The names of the symbols of an input, as the end of a sentence."""
    if len(inputs) > MOST_SHOWN:
        first, last = quoted(inputs[0]), quoted(inputs[-1])
        return f", from {first} to {last}; `softmachine.json` lists their names under `interface`"
    return f": {_listed(inputs, 'and')}, in this order" if inputs else ""


def _marks(tokens: Sequence[str], side: str, spelled: Mapping[str, str]) -> Iterator[str]:
    """The tokens added on one side, with the number of repetitions."""
    groups = [(token, len(list(same))) for token, same in groupby(tokens)]
    if len(groups) > MOST_SHOWN:
        yield f"{many(len(tokens), 'token')} {side} the input (`{side}_input` in `softmachine.json`)"
        return
    for token, count in groups:
        yield f"{quoted(spelled[token])}{f' × {count}' if count > 1 else ''} {side} the input"


def _listed(names: Sequence[str], last: str = "or") -> str:
    """Names as a list in a sentence."""
    texts = [quoted(name) for name in names]
    return f" {last} ".join(part for part in (", ".join(texts[:-1]), *texts[-1:]) if part)


def quoted(name: str) -> str:
    """A name as inline code in Markdown."""
    return f"`` {name} ``" if "`" in name else f"`{name}`"


MOST_TRIED = 200
"""The number of patches to try; if none of them works, the model card has no example."""
CLEAR = 0.5
"""The smallest margin between the two largest logits that counts as an answer; exact arithmetic has at least 1."""


@dataclass(frozen=True)
class Patch:
    """Values written to coordinates at one position, and the answer before and after.

    Args:
        layer: The layer before which they are written; the number of layers means after the last one.
        position: The position of both the patch and the answer.
        values: A value for each coordinate, by name.
        was: The value of the first coordinate without the patch.
        before: The label of the answer without the patch.
        after: The label of the answer with the patch.
    """

    layer: int
    position: int
    values: Mapping[str, int]
    was: int
    before: int
    after: int


def telling_patch(model: Lowered, ids: Sequence[int], position: int) -> Patch | None:
    """Find a patch that changes the answer at a position; None if none of :data:`MOST_TRIED` does.

    Tries the last layer first, then earlier ones, and finally the stream after the last layer.
    """
    stages = [*streams(model, ids)]
    before, tried = _answer(model, stages[-1][position]), 0
    last = len(model.layers)
    for layer in (*reversed(range(last)), last) if before is not None else ():
        for values in _moves(model, stages[layer][position]):
            tried += 1
            if tried > MOST_TRIED:
                return None
            after = _answer(model, patched(model, stages[layer], layer, position, values)[position])
            if before is not None and after not in (None, before):
                return Patch(layer, position, values, 1 - next(iter(values.values())), before, after)
    return None


def patched(model: Lowered, stream: Array, layer: int, position: int, values: Mapping[str, int]) -> Array:
    """The stream after the last layer when these values are written to the stream before a layer."""
    stream = stream.copy()
    for name, value in values.items():
        c = model.coordinates.index(name)
        stream[position, c] = value * model.scales[c]
    for each in model.layers[layer:]:
        stream = _after(each, stream, causal=model.causal)
    return stream


def streams(model: Lowered, ids: Sequence[int]) -> Iterator[Array]:
    """The residual stream before each layer, and after the last one: (position, coordinate), in float64."""
    stream = model.embedding[list(ids)] + model.positions[: len(ids)]
    yield stream
    for layer in model.layers:
        stream = _after(layer, stream, causal=model.causal)
        yield stream


def attention(head: LoweredHead, stream: Array, *, causal: bool) -> Array:
    """The attention weights: (query position, key position)."""
    scores = head.query.of(stream) @ head.key.of(stream).T
    if causal:
        scores = np.where(np.tri(len(stream), dtype=bool), scores, -np.inf)
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights: Array = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return weights


def _after(layer: LoweredLayer, stream: Array, *, causal: bool) -> Array:
    found = [attention(head, stream, causal=causal) @ head.value.of(stream) @ head.output.T for head in layer.heads]
    stream = stream + sum(found)
    return stream + layer.second.of(np.maximum(layer.first.of(stream), 0))


def _moves(model: Lowered, row: Array) -> Iterator[dict[str, int]]:
    """Candidate patches: move the 1 of a one-hot vector, set a 1 to 0, set a 0 to 1."""
    values, names = np.round(row / model.scales, 6), model.coordinates
    ones = np.flatnonzero(values == 1).tolist()
    vectors: dict[str, list[int]] = {}
    for c, name in enumerate(names):
        vectors.setdefault(family(name), []).append(c)
    for c in ones:
        others = [d for d in vectors[family(names[c])] if d != c]
        if not values[others].any():
            yield from ({names[c]: 0, names[d]: 1} for d in others)
    yield from ({names[c]: 0} for c in ones)
    yield from ({names[c]: 1} for c in np.flatnonzero(values == 0))


def _answer(model: Lowered, row: Array) -> int | None:
    """The label with the largest logit, if its margin is at least :data:`CLEAR`."""
    logits = model.unembedding.of(row)
    first = int(logits.argmax())
    rest = np.delete(logits, first)
    return first if logits[first] - rest.max(initial=-np.inf) >= CLEAR else None


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
