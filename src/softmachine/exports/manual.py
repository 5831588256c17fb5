"""Usage section of the model card: example code, inputs and outputs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from softmachine.exports.dialogue import Dialogue, Sample
from softmachine.exports.lowered import Lowered
from softmachine.support.text import many
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
