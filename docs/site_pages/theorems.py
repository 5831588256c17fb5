"""One page per theorem: statement, steps, needs, cost, and a run, which is executed at build time."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from itertools import groupby

import softmachine as sm
from site_pages.markdown import fenced, join_parts, run_command, section, table
from softmachine.api import compile_for, load
from softmachine.compiler.model import CompileOptions
from softmachine.languages import zoo
from softmachine.theorems import Theorem, all_theorems, get_theorem
from softmachine.theorems.codec import DecoderCodec
from softmachine.theorems.theorem import TourStep

MAX_LINES = 40
"""Lines of the architecture diagram that are shown, and symbols of an input."""
MIN_STEPS = 3
"""Runs with fewer steps are shown only if there is no other."""
LANGUAGES = {
    "turing": "Turing machines",
    "temporal": "Formulas of temporal logic",
    "srasp": "S-RASP programs",
    "crasp": "C-RASP programs",
    "counter": "Counter machines",
    "circuit": "Circuits",
    "graph": "Graphs",
}
"""Titles of source languages; the default is the name of the language."""


@cache
def pages() -> dict[str, str]:
    """Return the list of all theorems, and a page for each, as name → Markdown."""
    return {"index": _index(), **{theorem.name: _page(theorem) for theorem in all_theorems()}}


def _index() -> str:
    parts = [
        "# Theorems",
        "Each is a constructive proof that runs. Its page has the statement, the proof in steps, needs, cost, a run.",
        "Where several apply, the first is the default; `--theorem NAME` selects another.",
    ]
    for language, some in groupby(all_theorems(), key=lambda theorem: theorem.language):
        rows = [(f"[{theorem.name}]({theorem.name}.md)", theorem.statement) for theorem in some]
        parts += [f"## {LANGUAGES.get(language, language)}", table(("theorem", "statement"), rows)]
    return join_parts([*parts, "A theorem of your own is a page of Python: [write one](../own-theorem.md)."])


def _page(theorem: Theorem) -> str:
    facts = {
        "source": LANGUAGES.get(theorem.language, theorem.language),
        "paper": theorem.reference,
        "attention": " or ".join(theorem.attentions),
        "needs": str(theorem.requirements),
        "cost": str(theorem.cost),
        "length": theorem.length,
    }
    steps = "\n".join(f"{k}. {step}" for k, step in enumerate(theorem.steps, 1))
    parts = [
        f"# {theorem.name}",
        f"*{theorem.statement}*",
        table(("", ""), [(f"**{name}**", text) for name, text in facts.items() if text]),
        section("The proof in steps", steps),
        section("The computation at one token", "\n\n".join(map(_guide, theorem.tour))),
        *_example_sections(theorem),
        section("The whole statement", _docstring(theorem.documentation)),
    ]
    return join_parts(parts)


def _guide(step: TourStep) -> str:
    shown = ", ".join(f"`{name}`" for name in step.highlights)
    title = step.title if step.title.endswith("?") else f"{step.title}:"
    return f"**{title}** {step.text}" + (f" *In the weights:* {shown}." if shown else "")


def _docstring(text: str) -> str:
    """Convert a docstring to Markdown: code instead of roles, and blank lines before lists."""
    text = re.sub(r":\w+:(?=`)", "", text)
    return re.sub(r"(?<=[^\n])\n(?=(?:- |\d+\. ))", "\n\n", re.sub(r"\n(?=(Needs|Costs?|Gaps?): )", "\n\n", text))


@dataclass(frozen=True)
class ExampleRun:
    """A run of a zoo entry by a theorem: the name, the input, and the printed output."""

    name: str
    word: str
    printed: str


@cache
def _example(name: str) -> ExampleRun | None:
    """Find a short run of a zoo entry by a theorem; None if there is none."""
    theorem = get_theorem(name)
    runs = sorted(
        (sample.verdict == "reject", sample.steps < MIN_STEPS, sample.steps, place, sample.input)
        for place, entry in enumerate(zoo.list_entries())
        for sample in entry.samples
        if sample.verdict and 1 < len(sample.input) <= MAX_LINES
    )
    for *_, place, word in runs:
        entry = zoo.list_entries()[place]
        if theorem is not None and theorem.applies_to(_source(entry)):
            printed = run_command(["run", entry.name, word, "--theorem", name])
            if printed:
                return ExampleRun(entry.name, word, printed)
    return None


@cache
def _source(entry: zoo.ZooEntry) -> object:
    return entry.load()


def _example_sections(theorem: Theorem) -> list[str]:
    """Return the sections with a run by a theorem, a picture of one step, and the architecture."""
    example = _example(theorem.name)
    if example is None:
        return []
    drawn = f"![One step of that run](../pictures/theorem-{theorem.name}.svg)" if theorem.tour else ""
    return [
        section("A run", fenced(example.printed, "console")),
        section("One step of it", drawn),
        section("The weights", _architecture(theorem, example)),
    ]


def _architecture(theorem: Theorem, example: ExampleRun) -> str:
    lines = str(compile_for(load(example.name), example.word, CompileOptions(theorem))).splitlines()
    more = [f"… and {len(lines) - MAX_LINES:,} more lines"] if len(lines) > MAX_LINES else []
    about = f"`softmachine show {example.name} --theorem {theorem.name}` draws the weights"
    about += " for a given context:" if theorem.length else ":"
    return f"{about}\n\n{fenced(chr(10).join([*lines[:MAX_LINES], *more]))}"


def pictures() -> dict[str, str]:
    """Draw one step of a run for each theorem with a tour."""
    runs = {theorem.name: _example(theorem.name) for theorem in all_theorems() if theorem.tour}
    return {f"theorem-{name}": _step(name, example) for name, example in runs.items() if example}


def _step(name: str, example: ExampleRun) -> str:
    """Draw the middle step of a run, or the last answer of a model that answers in one pass."""
    run = sm.run(example.name, example.word, theorem=name)
    decodes = isinstance(run.model.codec, DecoderCodec)
    return sm.picture(run, step=max(1, run.steps // 2) if decodes else None).svg
