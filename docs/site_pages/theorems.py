"""One page a theorem: what it says, its steps, needs and cost, and a run by it that is made while the site is built."""

from __future__ import annotations

import re
from functools import cache
from itertools import groupby

from site_pages.markdown import fenced, joined, said, section, table
from softmachine import zoo
from softmachine.api import compile_for
from softmachine.theorems import Theorem, all_theorems
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
        "needs": theorem.needs,
        "cost": theorem.cost,
        "length": theorem.length,
    }
    steps = "\n".join(f"{k}. {step}" for k, step in enumerate(theorem.steps, 1))
    parts = [
        f"# {theorem.name}",
        f"*{theorem.statement}*",
        table(("", ""), [(f"**{name}**", text) for name, text in facts.items() if text]),
        section("The proof in steps", steps),
        section("What happens at one token", "\n\n".join(map(_guide, theorem.guide))),
        *_witness(theorem),
        section("The whole statement", _docstring(theorem.text)),
    ]
    return joined(parts)


def _guide(step: Guide) -> str:
    shown = ", ".join(f"`{name}`" for name in step.shows)
    return f"**{step.title}** {step.text}" + (f" *In the weights:* {shown}." if shown else "")


def _docstring(text: str) -> str:
    """A docstring as Markdown: code instead of roles, and lists that stand alone."""
    text = re.sub(r":\w+:(?=`)", "", text)
    return re.sub(r"(?<=[^\n])\n(?=(?:- |\d+\. ))", "\n\n", re.sub(r"\n(?=(Needs|Costs?|Gaps?): )", "\n\n", text))


def _witness(theorem: Theorem) -> list[str]:
    """A run by the theorem of something in the zoo, and what its weights look like."""
    runs = sorted(
        (
            (sample.verdict == "reject", sample.steps < FEWEST, sample.steps, place, sample.input)
            for place, entry in enumerate(zoo.entries())
            for sample in entry.samples
            if sample.verdict and 1 < len(sample.input) <= LONGEST
        ),
    )
    for *_, place, word in runs:
        entry = zoo.entries()[place]
        if theorem.applies_to(_source(entry)) and (shown := said(["run", entry.name, word, "--theorem", theorem.name])):
            return [section("A run", fenced(shown, "console")), section("The weights", _board(theorem, entry, word))]
    return []


@cache
def _source(entry: zoo.Entry) -> object:
    return entry.load()


def _board(theorem: Theorem, entry: zoo.Entry, word: str) -> str:
    board = str(compile_for(entry.name, word, theorem)).splitlines()
    more = [f"… and {len(board) - LONGEST:,} lines more"] if len(board) > LONGEST else []
    about = f"`softmachine show {entry.name} --theorem {theorem.name}` draws the weights"
    about += " for a context that you choose:" if theorem.length else ":"
    return f"{about}\n\n{fenced(chr(10).join([*board[:LONGEST], *more]))}"
