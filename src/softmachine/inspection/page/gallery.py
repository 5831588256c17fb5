"""Gallery: runs of the zoo, one page each, and their index."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

from softmachine.inspection.page.document import document


@dataclass(frozen=True)
class Exhibit:
    """A run of the gallery.

    Args:
        source: The name of its source in the zoo.
        word: The input.
        about: A one-sentence description.
        theorem: The theorem to compile by; by default the first that applies.
        attention: Hard or soft; by default that of the theorem.
    """

    source: str
    word: str
    about: str
    theorem: str | None = None
    attention: str | None = None

    @property
    def title(self) -> str:
        """Its title in the index."""
        how = [item for item in (self.theorem, f"{self.attention} attention" if self.attention else None) if item]
        return f"{self.source} on {self.word or 'the empty word'}" + (f" ({', '.join(how)})" if how else "")

    @property
    def command(self) -> str:
        """The command that makes its page."""
        how = {"theorem": self.theorem, "attention": self.attention}
        given = [f"--{name}={value}" for name, value in how.items() if value is not None]
        return shlex.join(["softmachine", "run", self.source, self.word, *given, "--html", "run.html"])

    @property
    def file(self) -> str:
        """The name of its page."""
        return "-".join(filter(None, (self.source, self.theorem, self.attention))) + ".html"


EXHIBITS = (
    Exhibit("palindrome", "abba", "A Turing machine: five layers find the head and the symbol last written there."),
    Exhibit("palindrome", "abba", "The same with softmax: see where its decisions break.", attention="soft"),
    Exhibit("busy-beaver-4", "", "107 steps of a busy beaver: only attention to past tokens stores the tape."),
    Exhibit("two-tape-palindrome", "abba", "Two tapes: each tape head has its own attention heads."),
    Exhibit("palindrome", "abba", "Ternary weights: head positions are written in binary.", theorem="turing-ternary"),
    Exhibit("response-formula", "rwgrwg", "Temporal logic: until and since look up the nearest deciding position."),
    Exhibit("dyck-1-formula", "(()())", "A formula that counts: a lookup converts means to integers."),
    Exhibit("dyck-2-program", "([])()", "S-RASP: each bracket finds its partner with one attention head."),
    Exhibit("induction-head", "abcab", "S-RASP: the induction head, exactly."),
    Exhibit("double-histogram-rasp", "abacab", "RASP: how many letters occur equally often, by looking up means."),
    Exhibit("gcd-counter", "aaaabbbbbbcc", "A counter machine: uniform attention suffices."),
    Exhibit("dyck-1-crasp", "(()())", "C-RASP: counting with uniform attention."),
    Exhibit("palindrome-relative", "aba", "C-RASP with a relative bias: the softmax has to be sharp."),
    Exhibit("full-adder", "101", "A circuit: two layers per layer of gates, in a loop."),
    Exhibit("one-way-streets", "home station", "A graph: path lengths double with every iteration of the loop."),
)
"""The runs of the gallery: every language, hard and soft attention, loops."""


def index(exhibits: Iterable[tuple[Exhibit, str, str]]) -> str:
    """The index page, from the runs with their languages and verdicts."""
    items = "\n".join(
        f'<li><a href="{escape(item.file)}">{escape(item.title)}</a><p class="quiet">{escape(language)} · '
        f"{escape(verdict)}</p><p>{escape(item.about)}</p></li>"
        for item, language, verdict in exhibits
    )
    body = (
        '<header><div class="titles"><h1>softmachine: inside the runs</h1><p>Exact transformers, compiled from '
        "programs. Every page is one file that computes all its numbers itself, offline.</p></div></header>"
        f'<main class="index"><ul class="gallery">{items}</ul></main>'
    )
    return document("softmachine: inside the runs", body)
