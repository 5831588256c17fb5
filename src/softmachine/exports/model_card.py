"""Model card of an export: usage with example code, and interpretability with sizes, heads and coordinates.

The card's example of activation patching is found by a search for a patch that flips an answer, with a NumPy forward
pass of the lowered model.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from softmachine.exports.lowered_model import Array, LoweredHead, LoweredLayer, LoweredTransformer
from softmachine.exports.prompt_format import PromptFormat, TestInput
from softmachine.exports.tensors import ArchitectureTensors
from softmachine.support.text import format_range, pluralize, shorten_middle, vector_name
from softmachine.theorems.codec import Interface

MAX_SHOWN = 12
"""The number of tokens of an example that are shown, and of names of inputs."""
MAX_LISTED = 16
"""The number of outputs that are listed; `softmachine.json` has all."""

SPACES_REQUIRED = "Separate symbols by spaces."
_SPACES_OPTIONAL = "Spaces between symbols are optional."


@dataclass(frozen=True)
class CardTexts:
    """The texts of a model card that depend on the format.

    Args:
        library: ``library_name`` of the Hugging Face hub.
        kind: The kind of model, after "The model is".
        usage_template: Template of the code that runs the model. Its fields: the input as a quoted ``{word}``, or as a
            ``{prompt}`` and its ``{ids}``; the ``{length}``, and the number of tokens ``{left}`` after the prompt; the
            expression that splits the input into ``{texts}``, and the id of the ``{unknown}`` token; the ``{shown}``
            output; and, in code with a list of ``answers``, the lines ``{prints}`` that print it with the ``{imports}``
            and ``{facts}`` that they need.
        is_autoregressive: Whether the shown output is generated autoregressively.
        special_tokens_intro: The beginning of the sentence about the special tokens around an input.
        notes: Further notes about inputs.
        dtypes_note: A pointer to the list of correct number formats, appended to a sentence.
        internals_template: Template of the code that reads and patches activations. Its fields: the ``{blocks}`` that
            read the stream, a note about the ``{storage}`` of signals and the line that writes the ``{mirrored}`` copy,
            the ``{auto_class}`` that loads the model, an expression for the text of ``{label}`` k, and an
            ``{example}``.
    """

    library: str
    kind: str
    usage_template: str
    is_autoregressive: bool
    special_tokens_intro: str
    notes: str = ""
    dtypes_note: str = ""
    internals_template: str = ""


def format_usage(texts: CardTexts, model: LoweredTransformer, prompt_format: PromptFormat, length: int) -> str:
    """The text of the section: an example, the input format, and the meaning of outputs."""
    spelled, sample = model.spelling_of, choose_example(prompt_format)
    prints, printed = _print_code(prompt_format.interface, sample)
    code = texts.usage_template.format(
        word=json.dumps(
            " ".join(spelled[token] for token in prompt_format.strip_affixes(sample.prompt)), ensure_ascii=False
        ),
        prompt=" ".join(spelled[token] for token in sample.prompt),
        ids=", ".join(str(model.index[token]) for token in sample.prompt),
        length=length,
        left=length - len(sample.prompt) if prompt_format.is_decoder else 1,
        texts='"".join(word.split())' if prompt_format.unspaced_alphabet(spelled) else "word.split()",
        unknown=model.unknown_id,
        shown=_format_run(prompt_format, sample, spelled) if texts.is_autoregressive else "",
        prints="\n".join([*prints, *(f"# {line}" for line in printed)]),
        imports=_FACTS_IMPORTS if prompt_format.interface and prompt_format.interface.outputs else "",
        facts=_FACTS_CODE if prompt_format.interface and prompt_format.interface.outputs else "",
    )
    output = _format_output(texts, prompt_format, length, spelled)
    return f"{code}\n{_format_input(texts, prompt_format, spelled)}\n\n{output}\n"


_ESCAPED_BAR = r"\|"
"""A vertical bar in a Markdown table."""
_FACTS_IMPORTS = "import json\nfrom pathlib import Path\n\n"
_FACTS_CODE = 'facts = json.loads(Path("softmachine.json").read_text(encoding="utf-8"))\n'


def choose_example(prompt_format: PromptFormat) -> TestInput:
    """The sample to show: the one with the longest prompt whose run fits on a line, if there is one."""
    short = [sample for sample in prompt_format.samples if len(sample.expected) <= MAX_SHOWN and sample.is_complete]
    return max(short or prompt_format.samples, key=lambda sample: len(sample.prompt))


def _format_run(prompt_format: PromptFormat, sample: TestInput, spelled: Mapping[str, str]) -> str:
    """A prompt and the output after it."""
    output = [spelled[token] for token in sample.expected if token is not None]
    output = output if prompt_format.is_decoder else output[-1:]
    more = " …" if len(output) > MAX_SHOWN else ""
    return " ".join([*(spelled[token] for token in sample.prompt), *output[:MAX_SHOWN]]) + more


def _print_code(interface: Interface | None, sample: TestInput) -> tuple[list[str], list[str]]:
    """Code that prints a list of answers, and its output."""
    if interface is None:
        return [], []
    if interface.outputs:
        code = [
            'for output in facts["interface"]["outputs"]:',
            '    print(output["name"], answers[output["position"]])',
        ]
        printed = [f"{name} {sample.expected[position]}" for name, position in interface.outputs]
        printed[MAX_LISTED:] = ["…"] if len(printed) > MAX_LISTED else []
    else:
        code, printed = ["print(*answers)"], [" ".join(answer or "·" for answer in sample.expected)]
    if interface.verdict is not None:
        code.append(f'print("accept" if answers[{interface.verdict}] == "true" else "reject")')
        printed.append("accept" if sample.expected[interface.verdict] == "true" else "reject")
    return code, printed


def _format_input(texts: CardTexts, prompt_format: PromptFormat, spelled: Mapping[str, str]) -> str:
    """The paragraph about inputs and the special tokens around them."""
    interface = prompt_format.interface
    parts = []
    if interface is not None and interface.symbols:
        symbols = [spelled[symbol] for symbol in interface.symbols]
        parts.append(f"The input consists of the symbols {_format_list(symbols, 'and')}.")
    if prompt_format.fixed_length is not None:
        names = _format_symbol_names(interface.inputs if interface else ())
        parts.append(f"It has exactly {pluralize(prompt_format.fixed_length, 'symbol')}{names}.")
    marks = [
        *_format_special_tokens(prompt_format.prefix, "before", spelled),
        *_format_special_tokens(prompt_format.suffix, "after", spelled),
    ]
    if marks:
        parts.append(f"{texts.special_tokens_intro} {' and '.join(marks)}.")
    notes = (
        texts.notes.replace(SPACES_REQUIRED, _SPACES_OPTIONAL)
        if prompt_format.unspaced_alphabet(spelled)
        else texts.notes
    )
    return f"**Input.** {' '.join([*parts, notes]).strip()}"


def _format_output(texts: CardTexts, prompt_format: PromptFormat, length: int, spelled: Mapping[str, str]) -> str:
    """The paragraph about the positions and the meaning of outputs."""
    interface = prompt_format.interface
    stops = _format_list([spelled[token] for token in prompt_format.stop_tokens]) if texts.is_autoregressive else ""
    if interface is None:
        cut = f"A run that does not end within {pluralize(length, 'position')} is cut off and has no verdict."
        ends = f"a run ends with {stops}" if stops else "no token ends a run"
        return f"**Output.** The model continues the input token by token; {ends}. {cut}"
    last = f" to {length - 1:,}" if interface.inputs else ""
    where = f"The model gives an answer at every position, counted from 0{last}."
    if texts.is_autoregressive:
        where = f"The model computes an answer at every position; the generated token is the last one: {stops}."
    parts = ["**Output.**", where, interface.meaning]
    if not (texts.is_autoregressive or interface.outputs or all(choose_example(prompt_format).expected)):
        parts.append("Answers shown as `·` are arbitrary.")
    if interface.verdict is not None:
        which = "the last answer" if interface.verdict == -1 else f"the answer at position {interface.verdict}"
        parts.append(f"An input is accepted if {which} is `true`.")
    if not interface.outputs:
        return " ".join(parts)
    cells = [
        (quote_code(name).replace("|", _ESCAPED_BAR), str(position))
        for name, position in interface.outputs[:MAX_LISTED]
    ]
    if len(interface.outputs) > MAX_LISTED:
        cells.append(("…", "see `interface` in `softmachine.json`"))
    rows = [f"| {name} | {position} |" for name, position in cells]
    return "\n".join([" ".join([*parts, "The outputs are:"]), "", "| output | position |", "|---|---|", *rows])


def _format_symbol_names(inputs: Sequence[str]) -> str:
    """The names of the symbols of an input, as the end of a sentence."""
    if len(inputs) > MAX_SHOWN:
        first, last = quote_code(inputs[0]), quote_code(inputs[-1])
        return f", from {first} to {last}; `softmachine.json` lists their names under `interface`"
    return f": {_format_list(inputs, 'and')}, in this order" if inputs else ""


def _format_special_tokens(tokens: Sequence[str], side: str, spelled: Mapping[str, str]) -> Iterator[str]:
    """The tokens added on one side, with the number of repetitions."""
    groups = [(token, len(list(same))) for token, same in groupby(tokens)]
    if len(groups) > MAX_SHOWN:
        yield f"{pluralize(len(tokens), 'token')} {side} the input (`{side}_input` in `softmachine.json`)"
        return
    for token, count in groups:
        yield f"{quote_code(spelled[token])}{f' × {count}' if count > 1 else ''} {side} the input"


def _format_list(names: Sequence[str], last: str = "or") -> str:
    """Names as a list in a sentence."""
    texts = [quote_code(name) for name in names]
    return f" {last} ".join(part for part in (", ".join(texts[:-1]), *texts[-1:]) if part)


def quote_code(name: str) -> str:
    """A name as inline code in Markdown."""
    return f"`` {name} ``" if "`" in name else f"`{name}`"


MAX_PATCHES = 200
"""The number of patches to try; if none of them works, the model card has no example."""
MIN_MARGIN = 0.5
"""The smallest margin between the two largest logits that counts as an answer; exact arithmetic has at least 1."""


@dataclass(frozen=True)
class Patch:
    """Values written to coordinates at one position, and the answer before and after.

    Args:
        layer: The layer before which they are written; the number of layers means after the last one.
        position: The position of both the patch and the answer.
        values: A value for each coordinate, by name.
        old_value: The value of the first coordinate without the patch.
        before: The label of the answer without the patch.
        after: The label of the answer with the patch.
    """

    layer: int
    position: int
    values: Mapping[str, int]
    old_value: int
    before: int
    after: int


def find_flipping_patch(model: LoweredTransformer, ids: Sequence[int], position: int) -> Patch | None:
    """Find a patch that changes the answer at a position; None if none of :data:`MAX_PATCHES` does.

    Tries the last layer first, then earlier ones, and finally the stream after the last layer.
    """
    stages = [*residual_streams(model, ids)]
    before, tried = _decided_label(model, stages[-1][position]), 0
    last = len(model.layers)
    for layer in (*reversed(range(last)), last) if before is not None else ():
        for values in _candidate_patches(model, stages[layer][position]):
            tried += 1
            if tried > MAX_PATCHES:
                return None
            after = _decided_label(model, run_patched(model, stages[layer], layer, position, values)[position])
            if before is not None and after not in (None, before):
                return Patch(layer, position, values, 1 - next(iter(values.values())), before, after)
    return None


def run_patched(
    model: LoweredTransformer, stream: Array, layer: int, position: int, values: Mapping[str, int]
) -> Array:
    """The stream after the last layer when these values are written to the stream before a layer."""
    stream = stream.copy()
    for name, value in values.items():
        c = model.coordinates.index(name)
        stream[position, c] = value * model.scales[c]
    for each in model.layers[layer:]:
        stream = _apply_layer(each, stream, causal=model.causal)
    return stream


def residual_streams(model: LoweredTransformer, ids: Sequence[int]) -> Iterator[Array]:
    """The residual stream before each layer, and after the last one: (position, coordinate), in float64."""
    stream = model.embedding[list(ids)] + model.positions[: len(ids)]
    yield stream
    for layer in model.layers:
        stream = _apply_layer(layer, stream, causal=model.causal)
        yield stream


def attention_weights(head: LoweredHead, stream: Array, *, causal: bool) -> Array:
    """The attention weights: (query position, key position)."""
    scores = head.query.apply(stream) @ head.key.apply(stream).T
    if causal:
        scores = np.where(np.tri(len(stream), dtype=bool), scores, -np.inf)
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights: Array = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return weights


def _apply_layer(layer: LoweredLayer, stream: Array, *, causal: bool) -> Array:
    found = [
        attention_weights(head, stream, causal=causal) @ head.value.apply(stream) @ head.output.T
        for head in layer.heads
    ]
    stream = stream + sum(found)
    return stream + layer.second.apply(np.maximum(layer.first.apply(stream), 0))


def _candidate_patches(model: LoweredTransformer, row: Array) -> Iterator[dict[str, int]]:
    """Candidate patches: move the 1 of a one-hot vector, set a 1 to 0, set a 0 to 1."""
    values, names = np.round(row / model.scales, 6), model.coordinates
    ones = np.flatnonzero(values == 1).tolist()
    vectors: dict[str, list[int]] = {}
    for c, name in enumerate(names):
        vectors.setdefault(vector_name(name), []).append(c)
    for c in ones:
        others = [d for d in vectors[vector_name(names[c])] if d != c]
        if not values[others].any():
            yield from ({names[c]: 0, names[d]: 1} for d in others)
    yield from ({names[c]: 0} for c in ones)
    yield from ({names[c]: 1} for c in np.flatnonzero(values == 0))


def _decided_label(model: LoweredTransformer, row: Array) -> int | None:
    """The label with the largest logit, if its margin is at least :data:`MIN_MARGIN`."""
    logits = model.unembedding.apply(row)
    first = int(logits.argmax())
    rest = np.delete(logits, first)
    return first if logits[first] - rest.max(initial=-np.inf) >= MIN_MARGIN else None


_MIRROR_NOTE = """Each signal is stored twice, and the model reads half of
the difference: if you write only one of the two, it computes with the mean of the old and the new value."""
MAX_LINES = 24
"""The number of layers and of signals that are listed; `softmachine.json` has all."""


def format_sizes(placed: ArchitectureTensors) -> str:
    """Layers, heads and width, as in the configuration."""
    layers, heads = pluralize(len(placed.model.layers), "layer"), pluralize(placed.heads, "head")
    return f"{layers}, {heads} per layer, width {placed.width:,}"


def describe_internals(placed: ArchitectureTensors, code: str, prompt_format: PromptFormat) -> str:
    """The text of the section; with ``code``, a template, also the code and an example."""
    mirrored = (
        "" if placed.mirror_offset is None else f" and, negated, at `mirror` (`index` + {placed.mirror_offset:,})"
    )
    about = (
        "`softmachine.json` names every coordinate of the residual stream, every head and every feed-forward unit. The "
        f"stream has width\n{placed.width:,} and holds {pluralize(placed.model.width, 'signal')}, each at its "
        f"`index`{mirrored}. The value of a signal is `residual[..., index] / scale`."
    )
    parts = [
        about,
        f"Signals: {_format_signals(placed.model)}.",
        _format_heads(placed),
    ]
    return "\n\n".join([*parts, *([_fill_template(placed, code, prompt_format)] if code else [])])


def _format_signals(model: LoweredTransformer) -> str:
    """The names of the signals, one per vector; long names are cut."""
    names = [*dict.fromkeys(shorten_middle(vector_name(name)) for name in model.coordinates)]
    more = f" and {len(names) - MAX_LINES:,} more" if len(names) > MAX_LINES else ""
    return ", ".join(map(quote_code, names[:MAX_LINES])) + more


def _format_heads(placed: ArchitectureTensors) -> str:
    """The table of heads, layer by layer."""
    lines = ["| layer | heads | idle heads |", "|---|---|---|"]
    for k, layer in enumerate(placed.model.layers[:MAX_LINES]):
        names = [f"{h}: {quote_code(head.name)}" for h, head in enumerate(layer.heads[:MAX_SHOWN])]
        names += ["…"] if len(layer.heads) > MAX_SHOWN else []
        row = (str(k), ", ".join(names) or "none", format_range(placed.idle_heads(k)))
        lines.append(f"| {' | '.join(cell.replace('|', '&#124;') for cell in row)} |")
    if len(placed.model.layers) > MAX_LINES:
        lines.append("| … | see `softmachine.json` | |")
    if any(placed.idle_heads(k) for k in range(len(placed.model.layers))):
        lines += ["", "All weights of an idle head are 0: it attends to all positions uniformly and writes nothing."]
    return "\n".join(lines)


def _fill_template(placed: ArchitectureTensors, code: str, prompt_format: PromptFormat) -> str:
    model, prompt = placed.model, choose_example(prompt_format).prompt
    patch = find_flipping_patch(model, [model.index[token] for token in prompt], _answer_position(prompt_format))
    return code.format(
        blocks=placed.blocks,
        storage="" if placed.mirror_offset is None else _MIRROR_NOTE,
        mirrored="" if placed.mirror_offset is None else '\n    stream[..., c["mirror"]] = -value * c["scale"]',
        auto_class=placed.auto_class,
        label="tokenizer.decode([k])" if model.causal else "model.config.id2label[k]",
        example="" if patch is None else _format_example(model, patch),
    )


def _answer_position(prompt_format: PromptFormat) -> int:
    """The position of the answer that the example changes."""
    interface = prompt_format.interface
    if interface is None or prompt_format.is_decoder:
        return -1
    if interface.verdict is None and interface.outputs:
        return interface.outputs[0][1]
    return -1 if interface.verdict is None else interface.verdict


def _format_example(model: LoweredTransformer, patch: Patch) -> str:
    name, texts = next(iter(patch.values)), model.spellings if model.causal else model.labels
    return f"""
plain = run()
print(round(read(plain.hidden_states[{patch.layer}][0, {patch.position}], {_literal(name)}).item()))
# {patch.old_value}
print(answer(plain, {patch.position}))
# {texts[patch.before]}
print(answer(run({patch.layer}, {patch.position}, {_literal(patch.values)}), {patch.position}))
# {texts[patch.after]}"""


def _literal(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
