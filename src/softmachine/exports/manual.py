"""How a model is used, in code and in words: what of a model card its reader tries first."""

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
"""So many tokens of an example are shown, and so many names of inputs."""
MOST_LISTED = 16
"""So many outputs are listed; `softmachine.json` has all."""

SEPARATED = "In text, symbols are separated by spaces."
_UNSEPARATED = "In text, symbols may be separated by spaces, or not."


@dataclass(frozen=True)
class Manual:
    """What the cards of one format say.

    Args:
        library: What loads the files, as the hub calls it.
        form: What they are, after "It is".
        sample: How to run them, with places for an input, ``{word}`` in quotes or ``{prompt}`` and its ``{ids}``; for
            the ``{length}``, and how many tokens may follow the prompt, ``{left}``; for what splits the input into
            ``{texts}``, and the number of the ``{unknown}`` token; for what is ``{shown}`` in the end; and in code that
            has made a list of ``answers``, for the lines that print it, ``{prints}``, and for the ``{imports}`` and
            ``{facts}`` that these need.
        generates: Whether what it shows is generated, token by token.
        adds: What adds the marks around an input.
        notes: What else there is to say of inputs.
        holding: Where else to find which formats hold.
        inside: Code that looks inside, with places for the ``{blocks}`` that read the stream, for how the ``{storage}``
            is to be written and what writes what is ``{mirrored}``, for the ``{auto_class}`` that loads the model, for
            the text of ``{label}`` k, and for an ``{example}``.
    """

    library: str
    form: str
    sample: str
    generates: bool
    adds: str
    notes: str = ""
    holding: str = ""
    inside: str = ""


def usage(manual: Manual, model: Lowered, dialogue: Dialogue, length: int) -> str:
    """An example, what an input is, and what the answers mean."""
    spelled, sample = model.spelled, example(dialogue)
    prints, printed = _printing(dialogue.interface, sample)
    code = manual.sample.format(
        word=json.dumps(" ".join(spelled[token] for token in dialogue.symbols(sample.prompt)), ensure_ascii=False),
        prompt=" ".join(spelled[token] for token in sample.prompt),
        ids=", ".join(str(model.index[token]) for token in sample.prompt),
        length=length,
        left=length - len(sample.prompt) if dialogue.decodes else 1,
        texts='"".join(word.split())' if dialogue.letters(spelled) else "word.split()",
        unknown=model.unknown,
        shown=_said(dialogue, sample, spelled) if manual.generates else "",
        prints="\n".join([*prints, *(f"# {line}" for line in printed)]),
        imports=_IMPORTS if dialogue.interface and dialogue.interface.outputs else "",
        facts=_FACTS if dialogue.interface and dialogue.interface.outputs else "",
    )
    return f"{code}\n{_input(manual, dialogue, spelled)}\n\n{_answers(manual, dialogue, length, spelled)}\n"


_BAR = r"\|"
"""How tables of Markdown write a bar."""
_IMPORTS = "import json\nfrom pathlib import Path\n\n"
_FACTS = 'facts = json.loads(Path("softmachine.json").read_text(encoding="utf-8"))\n'


def example(dialogue: Dialogue) -> Sample:
    """A sample that is worth showing: the longest input with a run that fits on a line, if there is one."""
    short = [sample for sample in dialogue.samples if len(sample.expected) <= MOST_SHOWN and sample.ends]
    return max(short or dialogue.samples, key=lambda sample: len(sample.prompt))


def _said(dialogue: Dialogue, sample: Sample, spelled: Mapping[str, str]) -> str:
    """A prompt and what a decoder makes of it."""
    said = [spelled[token] for token in sample.expected if token is not None]
    said = said if dialogue.decodes else said[-1:]
    more = " …" if len(said) > MOST_SHOWN else ""
    return " ".join([*(spelled[token] for token in sample.prompt), *said[:MOST_SHOWN]]) + more


def _printing(interface: Interface | None, sample: Sample) -> tuple[list[str], list[str]]:
    """Code that prints what a list of answers says, and what it prints."""
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


def _input(manual: Manual, dialogue: Dialogue, spelled: Mapping[str, str]) -> str:
    """What an input is, and what stands around it."""
    interface = dialogue.interface
    parts = []
    if interface is not None and interface.symbols:
        parts.append(f"Its symbols are {_listed([spelled[symbol] for symbol in interface.symbols])}.")
    if dialogue.only is not None:
        names = _named(interface.inputs if interface else ())
        parts.append(f"It has exactly {many(dialogue.only, 'symbol')}{names}.")
    marks = [*_marks(dialogue.prefix, "before", spelled), *_marks(dialogue.suffix, "after", spelled)]
    if marks:
        parts.append(f"{manual.adds} {' and '.join(marks)}.")
    notes = manual.notes.replace(SEPARATED, _UNSEPARATED) if dialogue.letters(spelled) else manual.notes
    return f"**Input.** {' '.join([*parts, notes]).strip()}"


def _answers(manual: Manual, dialogue: Dialogue, length: int, spelled: Mapping[str, str]) -> str:
    """Where the answers are, and what they mean."""
    interface = dialogue.interface
    stops = _listed([spelled[token] for token in dialogue.stops]) if manual.generates else ""
    if interface is None:
        cut = f"A run that does not end within {many(length, 'position')} is cut off and has no verdict."
        return f"**Answers.** The run goes on from the input, token by token, and ends with {stops or 'nothing'}. {cut}"
    where = f"There is one at every position, counted from 0{f' to {length - 1:,}' if interface.inputs else ''}."
    if manual.generates:
        where = f"There is one at every position, and what is generated is the last: {stops}."
    parts = ["**Answers.**", where, interface.meaning]
    if not (manual.generates or interface.outputs or all(example(dialogue).expected)):
        parts.append("Where `·` is shown, it means nothing.")
    if interface.verdict is not None:
        which = "the last answer" if interface.verdict == -1 else f"the answer at position {interface.verdict}"
        parts.append(f"An input is accepted if {which} is `true`.")
    if not interface.outputs:
        return " ".join(parts)
    cells = [(quoted(name).replace("|", _BAR), str(position)) for name, position in interface.outputs[:MOST_LISTED]]
    if len(interface.outputs) > MOST_LISTED:
        cells.append(("…", "see `softmachine.json`, under `interface`"))
    rows = [f"| {name} | {position} |" for name, position in cells]
    return "\n".join([" ".join([*parts, "The outputs are:"]), "", "| output | position |", "|---|---|", *rows])


def _named(inputs: Sequence[str]) -> str:
    """What the symbols of an input are, as the end of a sentence."""
    if len(inputs) > MOST_SHOWN:
        first, last = quoted(inputs[0]), quoted(inputs[-1])
        return f", from {first} to {last}; `softmachine.json` names each of them, under `interface`"
    return f": {_listed(inputs, 'and')}, in this order" if inputs else ""


def _marks(tokens: Sequence[str], side: str, spelled: Mapping[str, str]) -> Iterator[str]:
    """What is added on one side, and how often if more than once."""
    groups = [(token, len(list(same))) for token, same in groupby(tokens)]
    if len(groups) > MOST_SHOWN:
        yield f"{many(len(tokens), 'token')} {side} it (`{side}_input` in `softmachine.json`)"
        return
    for token, count in groups:
        yield f"{quoted(spelled[token])}{f' × {count}' if count > 1 else ''} {side} it"


def _listed(names: Sequence[str], last: str = "or") -> str:
    """Names in a sentence."""
    texts = [quoted(name) for name in names]
    return f" {last} ".join(part for part in (", ".join(texts[:-1]), *texts[-1:]) if part)


def quoted(name: str) -> str:
    """A name as code."""
    return f"`` {name} ``" if "`" in name else f"`{name}`"
