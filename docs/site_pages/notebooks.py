"""One page per notebook of ``examples/``: text, code, and recorded output."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from site_pages.markdown import fenced, join_parts, table

FOLDER = Path(__file__).parents[2] / "examples"


@cache
def pages() -> dict[str, str]:
    """Return the list of all notebooks, and a page for each, as name → Markdown."""
    notebooks = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.ipynb"))}
    rows = [(f"[{_title(book)}]({name}.md)", f"`examples/{name}.ipynb`") for name, book in notebooks.items()]
    index = [
        "# Notebooks",
        "They are in `examples/`. A test runs every cell and compares the output.",
        table(("notebook", "file"), rows),
    ]
    return {"index": join_parts(index), **{name: _page(name, book) for name, book in notebooks.items()}}


def _title(notebook: Any) -> str:
    return "".join(notebook["cells"][0]["source"]).splitlines()[0].removeprefix("# ")


def _page(name: str, notebook: Any) -> str:
    first, *rest = [part for cell in notebook["cells"] for part in _cell(cell)]
    title, _, text = first.partition("\n")
    note = f"*This page is the notebook `examples/{name}.ipynb`.*"
    return join_parts([title, text.strip(), note, *rest])


def _cell(cell: Any) -> list[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return [source]
    return [fenced(source, "python"), *(fenced(_text(output)) for output in cell["outputs"])]


def _text(output: Any) -> str:
    """Return the printed text of a cell, or the value of its last line."""
    return "".join(output["text"] if output["output_type"] == "stream" else output["data"]["text/plain"])
