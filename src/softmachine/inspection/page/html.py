"""Page as one HTML document with inline style, script and data, and a policy that forbids everything else.

The gallery has a page for each of some runs of the zoo, and their index.
"""

from __future__ import annotations

import base64
import hashlib
import json
import shlex
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from importlib.resources import files

from softmachine.engines.result import Run
from softmachine.inspection.inspection import Inspection
from softmachine.inspection.page.run_json import build_page_data

SCRIPTS = (
    "fractions.js",
    "model.js",
    "exact.js",
    "soft.js",
    "text.js",
    "pictures.js",
    "drawings.js",
    "strip.js",
    "panels.js",
    "head.js",
    "logits.js",
    "stream.js",
    "softpanel.js",
    "page.js",
)
"""The scripts, in order of their dependencies."""


def render_html(run: Run, command: str | None = None, position: int | None = None) -> str:
    """The page of a run, which opens at a position, if one is given.

    Args:
        run: The run.
        command: The command that makes this page, shown on it; by default a line of Python.
        position: The position at which it opens, and the centre of the window if the run is long.
    """
    found = build_page_data(Inspection(run), position, _python_command(run) if command is None else command)
    data = json.dumps(found, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    title = f"{run.model.source.name} on {run.model.codec.format_input(run.outcome.word) or 'the empty word'}"
    return render_document(title, "page.html", data)


def render_document(title: str, body: str, data: str = "") -> str:
    """A document with the style and, if there is data, the script of all pages."""
    style = _read_resource("page.css")
    script = "(() => {\n'use strict';\n" + "\n".join(map(_read_resource, SCRIPTS)) + "})();\n" if data else ""
    policy = (
        f"default-src 'none'; style-src '{_hash_source(style)}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    parts = {
        "TITLE": escape(_printable(title)[:200]),
        "POLICY": policy + (f"; script-src '{_hash_source(script)}'" if script else ""),
        "STYLE": style,
        "BODY": _read_resource(body) if body.endswith(".html") else body,
        "SCRIPTS": f"{_encode_data(data)}\n<script>{script}</script>\n" if script else "",
    }
    pieces = _read_resource("frame.html").split("@@")
    return "".join(parts[piece] if place % 2 else piece for place, piece in enumerate(pieces))


def _encode_data(data: str) -> str:
    """The data as a script element, compressed and in base64, so that nothing needs escaping."""
    letters = base64.b64encode(zlib.compress(data.encode(), 9)).decode("ascii")
    return f'<script type="application/octet-stream" id="data">{letters}</script>'


def render_frame(run: Run) -> str:
    """The page in a sandboxed frame, for notebooks."""
    inner = escape(render_html(run), quote=True)
    size = "width:100%;height:860px;border:0"
    return f'<iframe sandbox="allow-scripts" style="{size}" title="inspection of a run" srcdoc="{inner}"></iframe>'


def _python_command(run: Run) -> str:
    """Python code that makes the page of a run."""
    word = run.model.codec.format_input(run.outcome.word)
    made = f"{run.model.source.name!r}, {word!r}, theorem={run.model.theorem.name!r}"
    return f"sm.page(sm.run({made if run.checked else f'model, {word!r}, checked=False'}), 'run.html')"


def _read_resource(name: str) -> str:
    return files("softmachine.inspection.page").joinpath("web", name).read_text(encoding="utf-8")


def _hash_source(text: str) -> str:
    """The hash source of an inline text in the content security policy."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}"


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else "�" for character in text)


@dataclass(frozen=True)
class GalleryItem:
    """A run of the gallery.

    Args:
        source: The name of its source in the zoo.
        input: The input.
        description: A one-sentence description.
        theorem: The theorem to compile by; by default the first that applies.
        attention: Hard or soft; by default that of the theorem.
    """

    source: str
    input: str
    description: str
    theorem: str | None = None
    attention: str | None = None

    @property
    def title(self) -> str:
        """Its title in the index."""
        how = [item for item in (self.theorem, f"{self.attention} attention" if self.attention else None) if item]
        return f"{self.source} on {self.input or 'the empty word'}" + (f" ({', '.join(how)})" if how else "")

    @property
    def command(self) -> str:
        """The command that makes its page."""
        how = {"theorem": self.theorem, "attention": self.attention}
        given = [f"--{name}={value}" for name, value in how.items() if value is not None]
        return shlex.join(["softmachine", "run", self.source, self.input, *given, "--html", "run.html"])

    @property
    def file(self) -> str:
        """The name of its page."""
        return "-".join(filter(None, (self.source, self.theorem, self.attention))) + ".html"


GALLERY_ITEMS = (
    GalleryItem("palindrome", "abba", "A Turing machine: five layers find the head and the symbol last written there."),
    GalleryItem("palindrome", "abba", "The same with softmax: see where its decisions break.", attention="soft"),
    GalleryItem("busy-beaver-4", "", "107 steps of a busy beaver: only attention to past tokens stores the tape."),
    GalleryItem("two-tape-palindrome", "abba", "Two tapes: each tape head has its own attention heads."),
    GalleryItem(
        "palindrome", "abba", "Ternary weights: head positions are written in binary.", theorem="turing-ternary"
    ),
    GalleryItem("response-formula", "rwgrwg", "Temporal logic: until and since look up the nearest deciding position."),
    GalleryItem("dyck-1-formula", "(()())", "A formula that counts: a lookup converts means to integers."),
    GalleryItem("dyck-2-program", "([])()", "S-RASP: each bracket finds its partner with one attention head."),
    GalleryItem("induction-head", "abcab", "S-RASP: the induction head, exactly."),
    GalleryItem("double-histogram-rasp", "abacab", "RASP: how many letters occur equally often, by looking up means."),
    GalleryItem("gcd-counter", "aaaabbbbbbcc", "A counter machine: uniform attention suffices."),
    GalleryItem("dyck-1-crasp", "(()())", "C-RASP: counting with uniform attention."),
    GalleryItem("palindrome-relative", "aba", "C-RASP with a relative bias: the softmax has to be sharp."),
    GalleryItem("full-adder", "101", "A circuit: two layers per layer of gates, in a loop."),
    GalleryItem("one-way-streets", "home station", "A graph: path lengths double with every iteration of the loop."),
)
"""The runs of the gallery: every language, hard and soft attention, loops."""


def render_index(gallery_items: Iterable[tuple[GalleryItem, str, str]]) -> str:
    """The index page, from the runs with their languages and verdicts."""
    items = "\n".join(
        f'<li><a href="{escape(item.file)}">{escape(item.title)}</a><p class="quiet">{escape(language)} · '
        f"{escape(verdict)}</p><p>{escape(item.description)}</p></li>"
        for item, language, verdict in gallery_items
    )
    body = (
        '<header><div class="titles"><h1>softmachine: inside the runs</h1><p>Exact transformers, compiled from '
        "programs. Every page is one file that computes all its numbers itself, offline.</p></div></header>"
        f'<main class="index"><ul class="gallery">{items}</ul></main>'
    )
    return render_document("softmachine: inside the runs", body)
