"""The check of the built site finds problems."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / ".ci" / "crawl.py"


@pytest.fixture
def crawl(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("crawl", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "crawl", module)  # needed by dataclasses
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "guides").mkdir()
    (tmp_path / "a.css").write_text("")
    start = '<link rel="stylesheet" href="a.css"><a href="guides/one.html#there">one</a><a href="https://elsewhere.org">x</a>'
    (tmp_path / "index.html").write_text(start)
    (tmp_path / "guides" / "one.html").write_text(
        '<h1 id="there">One</h1><a href="../index.html">back</a><a href="#there">up</a>'
    )
    return tmp_path


def test_a_correct_site_has_no_problems(crawl: ModuleType, site: Path) -> None:
    assert crawl.problems(site) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('<a href="two.html">', "guides/one.html: guides/two.html does not exist"),
        ('<img src="../a.svg">', "guides/one.html: a.svg does not exist"),
        ('<a href="../index.html#here">', "guides/one.html: index.html has no anchor 'here'"),
        ('<script src="https://elsewhere.org/x.js">', "guides/one.html loads https://elsewhere.org/x.js"),
        ('<link href="//fonts.org/a.css" rel="stylesheet">', "guides/one.html loads //fonts.org/a.css"),
    ],
)
def test_a_problem_in_a_page_is_found(crawl: ModuleType, site: Path, text: str, problem: str) -> None:
    page = site / "guides" / "one.html"
    page.write_text(page.read_text() + text)
    assert crawl.problems(site) == [problem]


def test_a_page_that_nothing_links_to_is_found(crawl: ModuleType, site: Path) -> None:
    (site / "lost.html").write_text("")
    assert crawl.problems(site) == ["lost.html cannot be reached from index.html"]


@pytest.mark.slow
@pytest.mark.skipif(not any(map(shutil.which, ("chromium", "google-chrome"))), reason="needs a browser")
def test_a_page_that_is_too_wide_is_found(crawl: ModuleType, site: Path) -> None:
    browser = next(filter(None, map(shutil.which, crawl.BROWSERS)))
    (site / "index.html").write_text("<body><article><p style='width: 700px'>wide</p></article>")
    found = crawl.check_in_browser(site, browser)
    assert any(problem.startswith("index.html is ") and problem.endswith("on a screen of 400") for problem in found)
    assert not any("1280" in problem for problem in found)
