"""What MkDocs calls while it builds the site: pages and pictures that are made from the code are added to it.

A folder in ``nav`` of ``mkdocs.yml`` that ends with a slash (``theorems/``) stands for the pages that are made in it,
and a star for all pages of ``docs/`` itself that no menu names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from site_pages import commands, gallery, notebooks, outside, pictures, theorems

FOLDERS: dict[str, Callable[[], dict[str, str]]] = {
    "theorems/": theorems.pages,
    "commands/": commands.pages,
    "notebooks/": notebooks.pages,
}
"""For each folder, what makes its pages: their names, the first of them ``index``, and their Markdown."""
ROLE = re.compile(r":(?:func|class|mod|meth|attr|data):(?=`|<code>)")
"""How docstrings refer to other things; Markdown has the code alone."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the pages of folders, and those that nobody thought of, into the navigation."""
    nav: list[Any] = config.nav or []
    unnamed = [path.name for path in sorted(Path(config.docs_dir).glob("*.md")) if path.name not in {*_named(nav)}]
    config.nav = _expanded(nav, unnamed)
    return config


def _named(items: list[Any]) -> Iterator[str]:
    """All pages that menus name."""
    for item in items:
        value = next(iter(item.values())) if isinstance(item, dict) else item
        yield from _named(value) if isinstance(value, list) else [value]


def _expanded(items: list[Any], unnamed: list[str]) -> list[Any]:
    found: list[Any] = []
    for item in items:
        title, value = next(iter(item.items())) if isinstance(item, dict) else (None, item)
        if isinstance(value, list):
            found.append({title: _expanded(value, unnamed)})
        elif value == "*":
            found += [{title: unnamed}] if unnamed else []
        elif value in FOLDERS:
            pages: list[Any] = [f"{value}{name}.md" for name in FOLDERS[value]()]
            found += pages if title is None else [{title: pages}]
        else:
            found.append(item)
    return found


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what is made from the code."""
    for folder, pages in FOLDERS.items():
        for name, text in pages().items():
            files.append(File.generated(config, f"{folder}{name}.md", content=text))
    for name, text in outside.pages().items():
        files.append(File.generated(config, name, content=text))
    for name, html in gallery.pages().items():
        files.append(File.generated(config, f"gallery/{name}", content=html))
    for name, drawing in pictures.pictures().items():
        files.append(File.generated(config, f"pictures/{name}.svg", content=drawing))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Lead links that leave the folder of the pages to pages that say what is there."""
    return outside.inward(markdown, page.file.src_uri)


def on_page_content(html: str, **_: object) -> str:
    """Take away what only Sphinx reads in a docstring."""
    return ROLE.sub("", html)
