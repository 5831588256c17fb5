"""MkDocs hook: adds the pages and pictures that are generated from the code.

A folder in ``nav`` of ``mkdocs.yml`` that ends with a slash (``theorems/``) stands for the pages generated in it, and a
star for all pages of ``docs/`` that are not in the menu.
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
"""Folder → function that returns its pages: name (the first is ``index``) → Markdown."""
ROLE = re.compile(r":(?:func|class|mod|meth|attr|data):(?=`|<code>)")
"""Sphinx roles in docstrings; Markdown has only the code."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Add the pages of folders, and those that are not in the menu, to the navigation."""
    nav: list[Any] = config.nav or []
    unnamed = [path.name for path in sorted(Path(config.docs_dir).glob("*.md")) if path.name not in {*_named(nav)}]
    config.nav = _expanded(nav, unnamed)
    return config


def _named(items: list[Any]) -> Iterator[str]:
    """Yield all pages in the menu."""
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
    """Add the generated files."""
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
    """Redirect links to files outside of ``docs`` to the generated pages."""
    return outside.rewrite_links(markdown, page.file.src_uri)


def on_page_content(html: str, **_: object) -> str:
    """Remove Sphinx roles from docstrings."""
    return ROLE.sub("", html)
