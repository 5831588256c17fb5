"""A browser for the tests of pages: Debian's chromium, driven by Playwright; without either, they are skipped."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import softmachine as sm
from softmachine.engines.result import Run
from tests.page.runs import run_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One browser for all tests of a worker."""
    api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install '.[page]'")
    chromium = next(filter(None, map(shutil.which, BROWSERS)), None)
    if chromium is None:
        pytest.skip("needs a browser: apt-get install chromium")
    with api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS), headless=True)
        yield launched
        launched.close()


@pytest.fixture
def short_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages with a low position limit, so that short runs have windows."""
    monkeypatch.setattr("softmachine.inspection.page.window.MAX_POSITIONS", 200)
    monkeypatch.setattr("softmachine.inspection.page.window.WINDOW_SIZE", 60)


@dataclass
class Opened:
    """A page in the browser, with its console messages and requests."""

    page: Page
    file: Path
    messages: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def text(self, selector: str) -> str:
        return self.page.locator(selector).inner_text()

    def value(self, script: str, *arguments: Any) -> Any:
        return self.page.evaluate(script, list(arguments))

    def step(self) -> str:
        return str(self.value("location.hash"))

    def require_quiet(self) -> None:
        """The console is empty, and there were no requests."""
        assert self.messages == []
        assert [url for url in self.requests if not url.startswith(("file:", "data:", "blob:"))] == []


Open = Callable[..., Opened]


@pytest.fixture
def open_file(browser: Browser) -> Iterator[Open]:
    """Opens a file in a browser without a network, and finally checks that it was quiet."""
    contexts, opened = [], list[Opened]()

    def open_it(file: Path, address: str = "", *, width: int = 1280, scheme: str = "light") -> Opened:
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if scheme == "dark" else "light",
            offline=True,
        )
        contexts.append(context)
        made = Opened(context.new_page(), file)
        opened.append(made)
        made.page.on("console", lambda message: made.messages.append(message.text))
        made.page.on("pageerror", lambda error: made.messages.append(str(error)))
        made.page.on("request", lambda request: made.requests.append(request.url))
        made.page.goto(f"file://{file}{address}")
        return made

    yield open_it
    for each in opened:
        each.require_quiet()
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The pages of runs by kind, each rendered once."""
    folder = tmp_path_factory.mktemp("pages")

    def file_of(kind: str) -> Path:
        file = folder / f"{kind}.html"
        if not file.exists():
            sm.page(run_of(kind), file)
        return file

    return file_of


@pytest.fixture
def open_kind(open_file: Open, files: Callable[[str], Path]) -> Open:
    """Opens the page of such a run, and waits until it is ready."""

    def open_it(kind: str, address: str = "", **how: Any) -> Opened:
        opened = open_file(files(kind), address, **how)
        opened.page.wait_for_selector("body[data-ready]")
        return opened

    return open_it


@pytest.fixture
def open_run(open_file: Open, tmp_path: Path) -> Open:
    """Writes the page of a run, opens it, and waits until it is ready."""

    def open_it(run: Run, address: str = "", *, step: int | None = None, **how: Any) -> Opened:
        file = tmp_path / f"{len(list(tmp_path.iterdir()))}.html"
        sm.page(run, file, step=step)
        opened = open_file(file, address, **how)
        opened.page.wait_for_selector("body[data-ready]")
        return opened

    return open_it
