"""One page a theorem: what it says, its steps, needs and cost, and a run by it that is made while the site is built."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from itertools import groupby

import softmachine as sm
from site_pages.markdown import fenced, joined, said, section, table
from softmachine.api import compile_for
from softmachine.languages import zoo
from softmachine.theorems import Theorem, all_theorems, theorem_named
from softmachine.theorems.codec import DecoderCodec
from softmachine.theorems.theorem import Guide

LONGEST = 40
"""So many lines of a picture of the weights are shown."""
FEWEST = 3
"""A run of so many steps is worth showing; shorter ones are taken if there is no other."""
LANGUAGES = {
    "turing": "Turing machines",
    "temporal": "Formulas of temporal logic",
    "srasp": "S-RASP programs",
    "crasp": "C-RASP programs",
    "counter": "Counter machines",
    "circuit": "Circuits",
    "graph": "Graphs",
}
"""What readers call the sources; a language that is not here is called by its name."""


@cache
def pages() -> dict[str, str]:
    """The list of all theorems, and a page for each."""
    return {"index": _index(), **{theorem.name: _page(theorem) for theorem in all_theorems()}}


def _index() -> str:
    parts = [
        "# Theorems",
        "Each is a constructive proof that runs. Its page has the statement, the proof in steps, needs, cost, a run.",
        "Where several apply, the first is the default; `--theorem NAME` chooses another.",
    ]
    for language, some in groupby(all_theorems(), key=lambda theorem: theorem.language):
        rows = [(f"[{theorem.name}]({theorem.name}.md)", theorem.statement) for theorem in some]
        parts += [f"## {LANGUAGES.get(language, language)}", table(("theorem", "says"), rows)]
    return joined([*parts, "A theorem of your own is a page of Python: [write one](../own-theorem.md)."])


def _page(theorem: Theorem) -> str:
    facts = {
        "source": LANGUAGES.get(theorem.language, theorem.language),
        "paper": theorem.reference,
        "attention": " or ".join(theorem.attentions),
        "needs": str(theorem.needs),
        "cost": str(theorem.cost),
        "length": theorem.length,
    }
    steps = "\n".join(f"{k}. {step}" for k, step in enumerate(theorem.steps, 1))
    parts = [
        f"# {theorem.name}",
        f"*{theorem.statement}*",
        table(("", ""), [(f"**{name}**", text) for name, text in facts.items() if text]),
        section("The proof in steps", steps),
        section("What happens at one token", "\n\n".join(map(_guide, theorem.guide))),
        *_shown(theorem),
        section("The whole statement", _docstring(theorem.text)),
    ]
    return joined(parts)


def _guide(step: Guide) -> str:
    shown = ", ".join(f"`{name}`" for name in step.shows)
    title = step.title if step.title.endswith("?") else f"{step.title}:"
    return f"**{title}** {step.text}" + (f" *In the weights:* {shown}." if shown else "")


def _docstring(text: str) -> str:
    """A docstring as Markdown: code instead of roles, and lists that stand alone."""
    text = re.sub(r":\w+:(?=`)", "", text)
    return re.sub(r"(?<=[^\n])\n(?=(?:- |\d+\. ))", "\n\n", re.sub(r"\n(?=(Needs|Costs?|Gaps?): )", "\n\n", text))


@dataclass(frozen=True)
class Witness:
    """Something in the zoo that a theorem runs: its name, a word, and what the command prints."""

    name: str
    word: str
    printed: str


@cache
def _witness(name: str) -> Witness | None:
    """A short run by a theorem of something in the zoo; None if there is none."""
    theorem = theorem_named(name)
    runs = sorted(
        (sample.verdict == "reject", sample.steps < FEWEST, sample.steps, place, sample.input)
        for place, entry in enumerate(zoo.entries())
        for sample in entry.samples
        if sample.verdict and 1 < len(sample.input) <= LONGEST
    )
    for *_, place, word in runs:
        entry = zoo.entries()[place]
        if theorem is not None and theorem.applies_to(_source(entry)):
            printed = said(["run", entry.name, word, "--theorem", name])
            if printed:
                return Witness(entry.name, word, printed)
    return None


@cache
def _source(entry: zoo.Entry) -> object:
    return entry.load()


def _shown(theorem: Theorem) -> list[str]:
    """A run by a theorem, one step of it as a picture, and what its weights look like."""
    witness = _witness(theorem.name)
    if witness is None:
        return []
    drawn = f"![One step of that run](../pictures/theorem-{theorem.name}.svg)" if theorem.tells else ""
    return [
        section("A run", fenced(witness.printed, "console")),
        section("One step of it", drawn),
        section("The weights", _board(theorem, witness)),
    ]


def _board(theorem: Theorem, witness: Witness) -> str:
    board = str(compile_for(witness.name, witness.word, theorem)).splitlines()
    more = [f"… and {len(board) - LONGEST:,} lines more"] if len(board) > LONGEST else []
    about = f"`softmachine show {witness.name} --theorem {theorem.name}` draws the weights"
    about += " for a context that you choose:" if theorem.length else ":"
    return f"{about}\n\n{fenced(chr(10).join([*board[:LONGEST], *more]))}"


def pictures() -> dict[str, str]:
    """One step of a run for each theorem that has words for what its heads see."""
    told = {theorem.name: _witness(theorem.name) for theorem in all_theorems() if theorem.tells}
    return {f"theorem-{name}": _step(name, witness) for name, witness in told.items() if witness}


def _step(name: str, witness: Witness) -> str:
    """The step in the middle of a run; of a model that answers at once, its last answer."""
    run = sm.run(witness.name, witness.word, theorem=name)
    decodes = isinstance(run.model.codec, DecoderCodec)
    return sm.picture(run, step=max(1, run.steps // 2) if decodes else None).svg
