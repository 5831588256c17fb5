"""What pages link to outside of ``docs``: it gets pages of its own, since a site has nothing outside of it."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from posixpath import dirname, join, normpath, relpath

from site_pages.markdown import fenced, joined

ROOT = Path(__file__).parents[2]
ORIGINS = {
    "fast-engine-inside.md": "src/softmachine/engines/fast/README.md",
    "examples/own-theorem.md": "examples/own-theorem/README.md",
}
"""Pages, and the files of the repository that they are made of."""
LINK = re.compile(r"(?<=\]\()([^)#\s:]+)(?=[)#])")


@cache
def pages() -> dict[str, str]:
    """The pages, by path."""
    return {page: _page(ROOT / origin) for page, origin in ORIGINS.items()}


def inward(markdown: str, page: str) -> str:
    """A page whose links stay in the site: those to the repository lead to the pages that are made of it."""
    here = dirname(ORIGINS.get(page, join("docs", page)))
    homes = {path: home for home, origin in ORIGINS.items() for path in (origin, dirname(origin))}

    def led(link: re.Match[str]) -> str:
        target = normpath(join(here, link[1]))
        home = homes.get(target, target.removeprefix("docs/"))
        return link[1] if home == target else relpath(home, dirname(page) or ".")

    return LINK.sub(led, markdown)


def _page(readme: Path) -> str:
    """What a folder says of itself; if it is a package of its own, its files too."""
    parts, folder = [readme.read_text(encoding="utf-8")], readme.parent
    project = folder / "pyproject.toml"
    for path in (project, *sorted((folder / "src").rglob("*.py"))) if project.exists() else ():
        text = path.read_text(encoding="utf-8")
        if text.count("\n") > 1:
            parts += [f"## `{path.relative_to(folder).as_posix()}`", fenced(text, path.suffix[1:])]
    return joined(parts)
