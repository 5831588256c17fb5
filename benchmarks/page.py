"""Time of the page's script for one step, in a browser: the median should be below 16 ms, a frame at 60 Hz.

python benchmarks/page.py            # needs playwright and chromium, see CONTRIBUTING.md
"""

from __future__ import annotations

import one_core  # noqa: F401

# isort: split

import shutil
import statistics
import tempfile
import time
from pathlib import Path

import softmachine as sm

CASES: tuple[tuple[str, str | None, dict[str, object]], ...] = (
    ("palindrome", "abba", {}),
    ("busy-beaver-5", None, {"max_steps": 10_000}),
    ("universal", None, {"max_steps": 1_000}),
    ("palindrome", "abba", {"theorem": "turing-ternary"}),
    ("dyck-2-program", "([])([()])", {}),
    ("gcd-counter", "aaaabbbbbbcc", {}),
    ("interrupt-controller", "0" * 36, {}),
    ("one-way-streets", "home station", {}),
    ("palindrome-relative", "aba", {}),
    ("palindrome", "abba", {"attention": "soft"}),
)
STEPS = 120
BUDGET = 16.0
"""Milliseconds."""
STEPPED = """(count) => {
  const { page } = softmachine, times = [];
  for (let k = 0; k < count; k++) {
    page.choose({ position: (page.state.position + 1) % page.model.count });
    times.push(page.took);
  }
  return times;
}"""


def main() -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        print(f"{'page':<34}{'kB':>6}{'built in':>10}{'ready':>9}{'median':>10}{'worst':>9}")
        for number, (name, word, options) in enumerate(CASES):
            run = sm.run(name, word, **options)  # type: ignore[arg-type]
            file, began = Path(folder) / f"{number}.html", time.perf_counter()
            sm.page(run, file)
            made = time.perf_counter() - began
            page = browser.new_page()
            page.goto(f"file://{file}#head=3.1")
            page.wait_for_selector("body[data-ready]")
            ready = page.evaluate("softmachine.ready")
            page.wait_for_timeout(1000)  # the search for broken decisions runs in the background
            times = page.evaluate(STEPPED, STEPS)
            how = str(options.get("theorem") or options.get("attention") or "")
            title = f"{name}{how and f' ({how})'}, {len(run.tokens):,} tokens"
            median, worst = statistics.median(times), max(times)
            warning = "" if median < BUDGET else f"  over {BUDGET:.0f} ms"
            kilobytes = file.stat().st_size / 1000
            print(
                f"{title:<34}{kilobytes:>6.0f}{made:>8.1f} s{ready:>6.0f} ms{median:>7.1f} ms{worst:>6.0f} ms{warning}"
            )
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
