"""Pages for files outside of ``docs`` that pages link to, since a site cannot link outside of itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from posixpath import dirname, join, normpath, relpath

from site_pages.markdown import fenced, join_parts

ROOT = Path(__file__).parents[2]
FOLDER = "repository"
"""The folder of the site for these pages, which are not in the menu."""
LINK = re.compile(r"(?<=\]\()([^)#\s:]+)(?=[)#])")


@cache
def pages() -> dict[str, str]:
    """Return the pages by path: all link targets, including those that only these pages link to."""
    found: dict[str, str] = {}
    waiting = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs").rglob("*.md"))]
    while waiting:
        origin = waiting.pop()
        for target in _targets((ROOT / origin).read_text(encoding="utf-8"), dirname(origin)):
            home = _page_path(target)
            if home is not None and home not in found:
                found[home] = _page(ROOT / target)
                waiting.append(_readme(target))
    return found


def rewrite_links(markdown: str, page: str) -> str:
    """Redirect links from a page to files of the repository to the generated pages."""
    origin = page.removeprefix(f"{FOLDER}/") if page.startswith(f"{FOLDER}/") else join("docs", page)

    def redirect(link: re.Match[str]) -> str:
        target = normpath(join(dirname(origin), link[1]))
        home = (
            target.removeprefix("docs/")
            if page.startswith(FOLDER) and target.startswith("docs/")
            else _page_path(target)
        )
        return link[1] if home is None else relpath(home, dirname(page) or ".")

    return LINK.sub(redirect, markdown)


def _targets(markdown: str, folder: str) -> Iterator[str]:
    return (normpath(join(folder, link)) for link in LINK.findall(markdown))


def _page_path(target: str) -> str | None:
    """Return the page for a path in the repository; None if it is in ``docs`` or missing, which MkDocs reports."""
    path = ROOT / target
    if target.startswith(("docs/", "..")) or not path.exists():
        return None
    if path.is_dir():
        return f"{FOLDER}/{target}/README.md"
    return f"{FOLDER}/{target}" if path.suffix == ".md" else f"{FOLDER}/{target}.md"


def _readme(target: str) -> str:
    return f"{target}/README.md" if (ROOT / target).is_dir() else target


def _page(path: Path) -> str:
    """Return a Markdown file as it is, another file as code, and a folder as its README with its files."""
    if path.suffix == ".md":
        return path.read_text(encoding="utf-8")
    if path.is_file():
        name = path.relative_to(ROOT).as_posix()
        return join_parts([f"# `{name}`", fenced(path.read_text(encoding="utf-8"), path.suffix[1:])])
    parts = [(path / "README.md").read_text(encoding="utf-8")]
    for file in (path / "pyproject.toml", *sorted((path / "src").rglob("*.py"))):
        text = file.read_text(encoding="utf-8")
        if text.count("\n") > 1:
            parts += [f"## `{file.relative_to(path).as_posix()}`", fenced(text, file.suffix[1:])]
    return join_parts(parts)
