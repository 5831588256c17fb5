"""The page as a file: deterministic, in a frame, and refusals. No browser is needed."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
import zlib
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import softmachine as sm
from softmachine.inspection.numbers import encode_differences
from softmachine.inspection.numbers import encode_number as number
from softmachine.inspection.page import GALLERY_ITEMS, render_html
from softmachine.inspection.page.html import SCRIPTS
from softmachine.support.errors import UsageError
from tests.page.runs import LANGUAGES, run_of

ROOT = Path(__file__).parents[2]


def data_of(page: str) -> Any:
    packed = re.search(r'id="data">([^<]*)<', page)
    assert packed
    return json.loads(zlib.decompress(base64.b64decode(packed[1])))


def test_the_script_has_the_types_that_it_says(tmp_path: Path) -> None:
    checker = ROOT / "node_modules" / ".bin" / "tsc"
    if not checker.exists():
        pytest.skip("needs TypeScript: npm install --no-save typescript")
    web = ROOT / "src" / "softmachine" / "inspection" / "page" / "web"
    how = ["--allowJs", "--checkJs", "--noEmit", "--target", "es2023", "--strict", "false"]
    found = subprocess.run(
        [checker, *how, *(web / name for name in SCRIPTS)], capture_output=True, text=True, check=False
    )
    assert found.stdout == ""


def test_all_scripts_are_in_the_page() -> None:
    web = ROOT / "src" / "softmachine" / "inspection" / "page" / "web"
    assert {file.name for file in web.glob("*.js")} == set(SCRIPTS)


@pytest.mark.parametrize("kind", ["turing", "srasp", "circuit"])
def test_the_same_run_gives_the_same_bytes(kind: str) -> None:
    name, word, options = LANGUAGES[kind]
    again = sm.run(name, word, **options)
    assert render_html(run_of(kind), "x") == render_html(again, "x")


def test_another_process_gives_the_same_bytes(tmp_path: Path) -> None:
    for seed, name in (("1", "one.html"), ("2", "two.html")):
        subprocess.run(
            [sys.executable, "-m", "softmachine", "run", "palindrome", "abba", "--html", str(tmp_path / name)],
            check=True,
            capture_output=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
        )
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()


def test_a_page_is_never_written_over_a_file(tmp_path: Path) -> None:
    file = tmp_path / "run.html"
    sm.page(run_of("turing"), file)
    with pytest.raises(UsageError, match="exists already"):
        sm.page(run_of("turing"), file)


def test_a_notebook_shows_the_page_in_a_frame_that_touches_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = run_of("turing")._repr_html_()
    assert shown.startswith('<iframe sandbox="allow-scripts" ')
    assert shown.count("<") == 2
    monkeypatch.setattr("softmachine.api.MAX_PAGE_POSITIONS", 10)
    assert "<iframe" not in run_of("turing")._repr_html_()
    assert "after 15 steps" in run_of("turing")._repr_html_()


def test_the_scene_at_a_window_is_the_one_of_the_whole_run(short_pages: None) -> None:
    run = sm.run("binary-counter", max_steps=400)
    data = data_of(render_html(run, "x", sm.inspect(run).position_of_step(300)))
    picture, active = data["scene"]["picture"], data["scene"]["active"]
    first = data["context"]["first"]
    assert first == 270
    assert picture["steps"] == first - 2  # BOS is at position 0, and at 1 the start is announced
    from softmachine.languages.turing import Configuration, TuringMachine, next_action

    machine = run.model.source
    assert isinstance(machine, TuringMachine)
    now = Configuration.initial(machine, ())
    while now.steps < first - 2:
        action = next_action(machine, now)
        assert not isinstance(action, str)
        now.apply(action)
    assert {int(cell): symbol for cell, symbol in picture["cells"][0].items()} == now.cells[0]
    assert len(active) == len(data["context"]["tokens"])


@given(st.lists(st.integers(-(10**18), 10**18), max_size=40))
def test_differences_lose_nothing(values: list[int]) -> None:
    order, firsts, count, computed = encode_differences(values)  # type: ignore[misc,str-unpack]
    assert isinstance(count, int)
    assert isinstance(order, int)
    rest = [int(value) for value in computed] * (count if len(computed) == 1 else 1)  # type: ignore[union-attr,arg-type]
    for first in reversed([int(value) for value in firsts]):  # type: ignore[union-attr,arg-type]
        total = [first]
        for value in rest:
            total.append(total[-1] + value)
        rest = total
    assert rest == values


@given(st.fractions())
def test_numbers_are_exact(value: Fraction) -> None:
    assert Fraction(number(value)) == value


def test_a_gallery_has_an_index_of_its_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "softmachine.inspection.page.GALLERY_ITEMS",
        [item for item in GALLERY_ITEMS if item.source.startswith("dyck-1")],
    )
    pages = sm.gallery(tmp_path / "gallery")
    text = (tmp_path / "gallery" / "index.html").read_text(encoding="utf-8")
    for page in pages:
        assert page.is_file()
        assert f'href="{page.name}"' in text
    assert "<script" not in text


@pytest.mark.slow
def test_the_gallery_shows_all_languages(tmp_path: Path) -> None:
    pages = sm.gallery(tmp_path / "gallery")
    assert len(pages) >= 12
    languages = {data_of(page.read_text(encoding="utf-8"))["about"]["language"] for page in pages}
    assert languages == {"turing", "temporal", "srasp", "counter", "crasp", "rasp", "circuit", "graph"}
