"""A gallery: some runs of the zoo, one page each, and an index of them."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

from softmachine.inspection.page.document import document


@dataclass(frozen=True)
class Exhibit:
    """A run that is shown.

    Args:
        source: The name of its source in the zoo.
        word: The input.
        about: What there is to see, in a sentence.
        theorem: The theorem to compile by; by default the first that applies.
        attention: Hard or soft; by default what the theorem prefers.
    """

    source: str
    word: str
    about: str
    theorem: str | None = None
    attention: str | None = None

    @property
    def title(self) -> str:
        """What it is called in the index."""
        how = [item for item in (self.theorem, f"{self.attention} attention" if self.attention else None) if item]
        return f"{self.source} on {self.word or 'the empty word'}" + (f" ({', '.join(how)})" if how else "")

    @property
    def command(self) -> str:
        """What makes its page."""
        how = {"theorem": self.theorem, "attention": self.attention}
        given = [f"--{name}={value}" for name, value in how.items() if value is not None]
        return shlex.join(["softmachine", "run", self.source, self.word, *given, "--html", "run.html"])

    @property
    def file(self) -> str:
        """The name of its page."""
        return "-".join(filter(None, (self.source, self.theorem, self.attention))) + ".html"


EXHIBITS = (
    Exhibit("palindrome", "abba", "A Turing machine: five layers find the head, and what was last written under it."),
    Exhibit("palindrome", "abba", "The same by softmax: see where its decisions break.", attention="soft"),
    Exhibit("busy-beaver-4", "", "107 steps of a busy beaver: the tape is nowhere but in attention."),
    Exhibit("two-tape-palindrome", "abba", "Two tapes: every head of the machine has heads of its own."),
    Exhibit("palindrome", "abba", "Ternary weights: the positions of heads are spelled in bits.", theorem="ternary"),
    Exhibit("response-formula", "rwgrwg", "Temporal logic: until and since are nearest positions that decide."),
    Exhibit("dyck-1-formula", "(()())", "A formula that counts: means become numbers by a lookup."),
    Exhibit("dyck-2-program", "([])()", "S-RASP: every bracket finds its partner by one attention."),
    Exhibit("induction-head", "abcab", "S-RASP: the induction head, exactly."),
    Exhibit("double-histogram-rasp", "abacab", "RASP: how many letters occur as often, by means that are looked up."),
    Exhibit("gcd-counter", "aaaabbbbbbcc", "A counter machine: uniform attention is all it takes."),
    Exhibit("dyck-1-crasp", "(()())", "C-RASP: counting with uniform attention."),
    Exhibit("palindrome-relative", "aba", "C-RASP through a relative bias: softmax that has to be sharp."),
    Exhibit("full-adder", "101", "A circuit: two layers a layer of gates, in a loop."),
    Exhibit("one-way-streets", "home station", "A graph: paths double in length with every turn of the loop."),
)
"""What the gallery shows: every language, hard and soft attention, loops."""


def index(exhibits: Iterable[tuple[Exhibit, str, str]]) -> str:
    """The index of a gallery, from each exhibit with its language and its verdict."""
    items = "\n".join(
        f'<li><a href="{escape(item.file)}">{escape(item.title)}</a><p class="quiet">{escape(language)} · '
        f"{escape(verdict)}</p><p>{escape(item.about)}</p></li>"
        for item, language, verdict in exhibits
    )
    body = (
        '<header><div class="titles"><h1>softmachine: runs from the inside</h1><p>Exact transformers, compiled from '
        "programs. Every page is one file that computes all its numbers itself, and asks nobody.</p></div></header>"
        f'<main class="index"><ul class="gallery">{items}</ul></main>'
    )
    return document("softmachine: runs from the inside", body)
