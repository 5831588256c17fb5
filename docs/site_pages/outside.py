"""What pages link to outside of ``docs``: it gets pages of its own, since a site has nothing outside of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from posixpath import dirname, join, normpath, relpath

from site_pages.markdown import fenced, joined

ROOT = Path(__file__).parents[2]
FOLDER = "repository"
"""The folder of the site that holds such pages; no menu has them."""
LINK = re.compile(r"(?<=\]\()([^)#\s:]+)(?=[)#])")


@cache
def pages() -> dict[str, str]:
    """The pages, by path: of all that is linked to, also from one another."""
    found: dict[str, str] = {}
    waiting = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs").rglob("*.md"))]
    while waiting:
        origin = waiting.pop()
        for target in _targets((ROOT / origin).read_text(encoding="utf-8"), dirname(origin)):
            home = _home(target)
            if home is not None and home not in found:
                found[home] = _page(ROOT / target)
                waiting.append(_readme(target))
    return found


def inward(markdown: str, page: str) -> str:
    """A page whose links stay in the site: those to the repository lead to the pages that are made of it."""
    origin = page.removeprefix(f"{FOLDER}/") if page.startswith(f"{FOLDER}/") else join("docs", page)

    def led(link: re.Match[str]) -> str:
        target = normpath(join(dirname(origin), link[1]))
        home = target.removeprefix("docs/") if page.startswith(FOLDER) and target.startswith("docs/") else _home(target)
        return link[1] if home is None else relpath(home, dirname(page) or ".")

    return LINK.sub(led, markdown)


def _targets(markdown: str, folder: str) -> Iterator[str]:
    return (normpath(join(folder, link)) for link in LINK.findall(markdown))


def _home(target: str) -> str | None:
    """The page of something in the repository; None if it is in ``docs`` or not there, which MkDocs complains of."""
    path = ROOT / target
    if target.startswith(("docs/", "..")) or not path.exists():
        return None
    if path.is_dir():
        return f"{FOLDER}/{target}/README.md"
    return f"{FOLDER}/{target}" if path.suffix == ".md" else f"{FOLDER}/{target}.md"


def _readme(target: str) -> str:
    return f"{target}/README.md" if (ROOT / target).is_dir() else target


def _page(path: Path) -> str:
    """A page as it is, a file as code; a folder with what it says of itself, and its files."""
    if path.suffix == ".md":
        return path.read_text(encoding="utf-8")
    if path.is_file():
        name = path.relative_to(ROOT).as_posix()
        return joined([f"# `{name}`", fenced(path.read_text(encoding="utf-8"), path.suffix[1:])])
    parts = [(path / "README.md").read_text(encoding="utf-8")]
    for file in (path / "pyproject.toml", *sorted((path / "src").rglob("*.py"))):
        text = file.read_text(encoding="utf-8")
        if text.count("\n") > 1:
            parts += [f"## `{file.relative_to(path).as_posix()}`", fenced(text, file.suffix[1:])]
    return joined(parts)
