"""Page as one HTML document with inline style, script and data, and a policy that forbids everything else."""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from html import escape
from importlib.resources import files

from softmachine.engines.result import Run
from softmachine.inspection.inspection import Inspection
from softmachine.inspection.page.data import page_data

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


def html(run: Run, command: str | None = None, position: int | None = None) -> str:
    """The page of a run, which opens at a position, if one is given.

    Args:
        run: The run.
        command: The command that makes this page, shown on it; by default a line of Python.
        position: The position at which it opens, and the centre of the window if the run is long.
    """
    found = page_data(Inspection(run), position, _making(run) if command is None else command)
    data = json.dumps(found, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    title = f"{run.model.source.name} on {run.model.codec.text_of(run.outcome.word) or 'the empty word'}"
    return document(title, "page.html", data)


def document(title: str, body: str, data: str = "") -> str:
    """A document with the style and, if there is data, the script of all pages."""
    style = _file("page.css")
    script = "(() => {\n'use strict';\n" + "\n".join(map(_file, SCRIPTS)) + "})();\n" if data else ""
    policy = f"default-src 'none'; style-src '{_digest(style)}'; img-src data:; base-uri 'none'; form-action 'none'"
    parts = {
        "TITLE": escape(_printable(title)[:200]),
        "POLICY": policy + (f"; script-src '{_digest(script)}'" if script else ""),
        "STYLE": style,
        "BODY": _file(body) if body.endswith(".html") else body,
        "SCRIPTS": f"{_packed(data)}\n<script>{script}</script>\n" if script else "",
    }
    pieces = _file("frame.html").split("@@")
    return "".join(parts[piece] if place % 2 else piece for place, piece in enumerate(pieces))


def _packed(data: str) -> str:
    """The data as a script element, compressed and in base64, so that nothing needs escaping."""
    letters = base64.b64encode(zlib.compress(data.encode(), 9)).decode("ascii")
    return f'<script type="application/octet-stream" id="data">{letters}</script>'


def frame(run: Run) -> str:
    """The page in a sandboxed frame, for notebooks."""
    inner = escape(html(run), quote=True)
    size = "width:100%;height:860px;border:0"
    return f'<iframe sandbox="allow-scripts" style="{size}" title="inspection of a run" srcdoc="{inner}"></iframe>'


def _making(run: Run) -> str:
    """Python code that makes the page of a run."""
    word = run.model.codec.text_of(run.outcome.word)
    made = f"{run.model.source.name!r}, {word!r}, theorem={run.model.theorem.name!r}"
    return f"sm.page(sm.run({made if run.checked else f'model, {word!r}, checked=False'}), 'run.html')"


def _file(name: str) -> str:
    return files("softmachine.inspection.page").joinpath("web", name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    """The hash source of an inline text in the content security policy."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}"


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else "�" for character in text)
