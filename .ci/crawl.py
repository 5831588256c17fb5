"""Check the built site: broken links, unreachable pages, pages that are too wide, and external resources.

``python .ci/crawl.py site``. Links are followed in the files; widths are measured in Chromium, if it is installed.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlparse

START = "index.html"
UNLINKED = {"404.html"}
"""Pages without a link to them."""
WIDTHS = (400, 1280)
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--no-first-run",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
)
TIMEOUT = 300
"""Seconds for all pages in the browser."""
PROBE = """<!doctype html><body><script>
const [pages, widths] = [PAGES, WIDTHS], found = [];
const scrolls = (e) => e && (getComputedStyle(e).overflowX !== "visible" || scrolls(e.parentElement));
async function look(frame, page) {
  await new Promise((done) => { frame.onload = done; frame.src = "/" + page; });
  const inside = frame.contentDocument, root = inside.documentElement;
  for (const width of widths) {
    frame.style.cssText = `width: ${width}px; height: 900px; border: 0`;
    for (let k = 0; k < 2 || (k < 40 && root.scrollWidth > width); k++)  // wait until menus are hidden
      await new Promise((done) => setTimeout(done, 25));
    if (root.scrollWidth > width) found.push(`${page} is ${root.scrollWidth} wide on a screen of ${width}`);
    for (const each of inside.querySelectorAll("article *")) {
      const box = each.getBoundingClientRect();
      if (box.width && box.right > width + 1 && !scrolls(each))
        { found.push(`${page}: ${each.tagName} "${each.textContent.slice(0, 40)}" is cut at ${width}`); break; }
    }
  }
  for (const entry of frame.contentWindow.performance.getEntriesByType("resource"))
    if (!entry.name.startsWith(location.origin)) found.push(`${page} loads ${entry.name}`);
}
async function work() {
  const frame = document.body.appendChild(document.createElement("iframe"));
  while (pages.length) await look(frame, pages.shift()).catch((error) => found.push(String(error)));
}
Promise.all(Array.from({ length: 4 }, work)).then(() =>
  fetch("/__found", { method: "POST", body: JSON.stringify(found) }));
</script>"""


@dataclass
class Page(HTMLParser):
    """The references of a page: links, resources that are loaded with it, and anchors."""

    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect the references of a tag."""
        given = {name: value for name, value in attrs if value}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag in ("img", "script", "iframe", "source") and "src" in given:
            self.loaded.append(given["src"])
        elif tag == "link" and "href" in given and given.get("rel") not in ("canonical", "next", "prev"):
            self.loaded.append(given["href"])


def problems(site: Path) -> list[str]:
    """Return the problems with the links of a site."""
    pages = {path.relative_to(site).as_posix(): _read(path) for path in sorted(site.rglob("*.html"))}
    found: list[str] = []
    reached, waiting = {START}, [START]
    while waiting:
        page = waiting.pop()
        for target, anchor in _targets(page, pages[page], found):
            if not (site / target).is_file():
                found.append(f"{page}: {target} does not exist")
            elif target in pages:
                if anchor and anchor not in pages[target].anchors:
                    found.append(f"{page}: {target} has no anchor {anchor!r}")
                if target not in reached:
                    reached.add(target)
                    waiting.append(target)
    return found + [f"{page} cannot be reached from {START}" for page in pages if page not in reached | UNLINKED]


def _targets(name: str, page: Page, found: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the files of the site that a page refers to, with anchors; loading an external resource is a problem."""
    for reference in (*page.links, *page.loaded):
        parts = urlparse(reference)
        if parts.scheme or parts.netloc:
            if reference in page.loaded and parts.scheme != "data":
                found.append(f"{name} loads {reference}")
            continue
        path, anchor = urldefrag(urljoin(name, reference))
        target = path + "index.html" if path.endswith("/") or not path else path
        yield unquote(target.lstrip("/")) if path else name, unquote(anchor)


def _read(path: Path) -> Page:
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


class _Server(SimpleHTTPRequestHandler):
    """Serve the site and the probe page, which loads all pages and posts the problems."""

    found: list[str] | None = None
    done = threading.Event()
    probe = b""

    def do_GET(self) -> None:
        if self.path != "/__probe" and not self.path.startswith("/search/"):
            super().do_GET()
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        # Search is not used here, and loading its index would take longer than all pages.
        self.wfile.write(self.probe if self.path == "/__probe" else b"")

    def do_POST(self) -> None:
        _Server.found = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(204)
        self.end_headers()
        self.done.set()

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@contextmanager
def _served(site: Path) -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Server, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


def check_in_browser(site: Path, browser: str) -> list[str]:
    """Return the problems of the pages in a browser: too wide, cut off, or loading external resources."""
    pages = [path.relative_to(site).as_posix() for path in sorted(site.rglob("*.html"))]
    _Server.probe = PROBE.replace("PAGES", json.dumps(pages)).replace("WIDTHS", json.dumps(WIDTHS)).encode()
    with _served(site) as port, tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [browser, *FLAGS, f"--user-data-dir={profile}", "--window-size=1400,1000"]
        address = f"http://127.0.0.1:{port}/__probe"
        process = subprocess.Popen(
            [*command, "--remote-debugging-port=0", address], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            if not _Server.done.wait(TIMEOUT):
                return [f"{browser} did not load all pages within {TIMEOUT} seconds"]
        finally:
            process.terminate()
            process.wait()
    return _Server.found or []


def main() -> int:
    """Check a site and print the problems."""
    site = Path(sys.argv[1])
    found = problems(site)
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser:
        found += check_in_browser(site, browser)
    pages = len([*site.rglob("*.html")])
    widths = f"checked in {Path(browser).name} at {WIDTHS}" if browser else "no browser found: widths are NOT checked"
    print("\n".join([*found, f"{pages} pages, {len(found)} problems; {widths}"]))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
