"""The page on narrow and wide screens, light and dark; hostile symbols; accessibility and keyboard operation."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

import pytest

import softmachine as sm
from softmachine.engines.result import Run
from softmachine.languages.turing import Rule, TuringMachine
from tests.page.conftest import Open
from tests.page.runs import LANGUAGES

ROOT = Path(__file__).parents[2]
FEW = ("turing", "srasp", "graph")
"""Kinds of pages that axe checks in every run of the suite."""
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
FAULTS = "async () => (await axe.run()).violations.map((one) => [one.id, one.nodes.map((node) => node.html)])"


@pytest.mark.parametrize("kind", LANGUAGES)
def test_the_page_does_not_scroll_sideways(open_kind: Open, kind: str) -> None:
    opened = open_kind(kind)
    for width in (1280, 400):
        opened.page.set_viewport_size({"width": width, "height": 900})
        for scheme in SCHEMES:
            opened.page.emulate_media(color_scheme=scheme)
            assert opened.value("document.documentElement.scrollWidth") <= width
            paper = opened.value("getComputedStyle(document.body).backgroundColor")
            assert (paper == "rgb(20, 24, 27)") == (scheme == "dark")


HOSTILE = (
    "</script><script>alert(1)</script>",
    "\"'`<b>",
    "\u202eabc\u200f",
    "x" * 10_000,
    "&amp;",
    "__proto__",
    "constructor",
)


def hostile_run() -> Run:
    symbols = (*HOSTILE, "_")
    rules = [Rule(HOSTILE[0], (symbol,), (symbol,), ("R",), HOSTILE[0]) for symbol in HOSTILE]
    rules.append(Rule(HOSTILE[0], ("_",), (HOSTILE[2],), ("L",), HOSTILE[3]))
    machine = TuringMachine(
        name="</title><img src=x onerror=alert(1)>",
        states=(HOSTILE[0], HOSTILE[3]),
        alphabet=HOSTILE,
        symbols=symbols,
        blank="_",
        rules=tuple(rules),
        start=HOSTILE[0],
        accept=(HOSTILE[3],),
    )
    return sm.run(machine, HOSTILE)


@pytest.mark.parametrize("width", [1280, 400])
def test_hostile_symbols_are_text(open_run: Open, width: int) -> None:
    opened = open_run(hostile_run(), "#step=3", width=width)
    assert opened.text("#name") == "</title><img src=x onerror=alert(1)>"
    assert opened.page.locator("img").count() == 0
    assert opened.page.locator("script").count() == 2
    assert "</script><script>" in opened.text("#picture")
    body = opened.text("body")
    assert "\u202e" not in body
    assert "⟨U+202E⟩abc⟨U+200F⟩" in body
    assert opened.value("document.documentElement.scrollWidth") <= width


def test_the_policy_lets_nothing_in(open_kind: Open) -> None:
    text = open_kind("turing").file.read_text(encoding="utf-8")
    policy = text.split('http-equiv="Content-Security-Policy" content="', 1)[1].split('"', 1)[0]
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert "http" not in policy
    assert "src=" not in text.split("<body>")[1].split('id="data"')[0]


def axe() -> str:
    folders = [Path(os.environ["AXE_CORE"])] if "AXE_CORE" in os.environ else [ROOT / "node_modules" / "axe-core"]
    for folder in folders:
        if (folder / "axe.min.js").is_file():
            return (folder / "axe.min.js").read_text(encoding="utf-8")
    pytest.skip("needs axe-core: npm install --no-save axe-core, or AXE_CORE=its folder")


@pytest.mark.parametrize(
    "kind", [kind if kind in FEW else pytest.param(kind, marks=pytest.mark.slow) for kind in LANGUAGES]
)
def test_axe_finds_no_fault(open_kind: Open, kind: str) -> None:
    script = axe()
    opened = open_kind(kind)
    opened.value(f"() => {{ {script} }}")
    for scheme in SCHEMES:
        opened.page.emulate_media(color_scheme=scheme)
        assert opened.value(FAULTS) == []


def test_all_is_reached_by_the_keyboard_in_order(open_kind: Open) -> None:
    opened = open_kind("turing")
    reached = []
    for _ in range(40):
        opened.page.keyboard.press("Tab")
        reached.append(opened.value("() => document.activeElement.id || document.activeElement.className"))
    for wanted in ("first", "play", "seek", "slider", "chip", "softly", "sharpness", "zeros"):
        assert wanted in reached, (wanted, reached)
    assert reached.index("first") < reached.index("slider") < reached.index("chip") < reached.index("zeros")
