"""Every element of the page, stepping, jumping, the address: in a real browser, from a file, without a network."""

from __future__ import annotations

from pathlib import Path

import pytest

import softmachine as sm
from tests.page.conftest import Open
from tests.page.runs import LANGUAGES, run_of

SECTIONS = (
    "header",
    "controls",
    "strip",
    "picture",
    "source",
    "guide",
    "architecture",
    "head",
    "soft",
    "logits",
    "stream",
)
TITLES = {
    "turing": "tape",
    "temporal": "word with values",
    "srasp": "word with values",
    "counter": "counters",
    "crasp": "word with values",
    "circuit": "circuit",
    "graph": "graph",
}


@pytest.mark.parametrize("kind", LANGUAGES)
def test_every_language_has_all_elements_and_a_picture_of_its_own(open_kind: Open, kind: str) -> None:
    opened = open_kind(kind)
    for section in SECTIONS:
        assert opened.page.locator(f"#{section}").is_visible(), section
    assert opened.page.locator("#picture-title").text_content() == TITLES[kind]
    assert opened.page.locator("#picture-body").inner_text().strip()
    assert opened.page.locator("#lines li").count() == len(run_of(kind).model.codec.source_lines)
    assert opened.text("#verdict") == run_of(kind).verdict
    assert opened.page.locator("#architecture .chip").count() > 0
    assert opened.page.locator("#stream td.changed").count() > 0
    assert "margin" in opened.text("#logits-summary")
    assert opened.page.locator(".problem:visible").count() == 0
    for _ in range(3):
        opened.page.keyboard.press("ArrowLeft")


def test_keys_and_buttons_step_and_the_address_keeps_the_place(open_kind: Open) -> None:
    opened = open_kind("turing", "#step=3&head=3.1")
    page = opened.page
    assert "step 3" in opened.text("#where")
    assert opened.text("#architecture .chip[aria-pressed=true]") == "last write"
    page.keyboard.press("ArrowRight")
    assert opened.step() == "#step=4&head=3.1"
    page.click("#next")
    assert opened.step() == "#step=5&head=3.1"
    page.keyboard.press("ArrowLeft")
    page.click("#back")
    assert opened.step() == "#step=3&head=3.1"
    page.keyboard.press("ArrowUp")
    assert opened.step() == "#step=3&head=2.4"
    page.click("#last")
    assert "accept" in opened.text("#verdict")
    assert opened.step().startswith("#step=@20")  # the verdict is decided there, which is not a step
    page.keyboard.press("Home")
    assert opened.step().startswith("#step=@0")


def test_a_token_a_number_and_a_text_are_jumped_to(open_kind: Open) -> None:
    opened = open_kind("turing")
    page = opened.page
    page.keyboard.press("/")
    page.keyboard.type("7")
    page.keyboard.press("Enter")
    assert "step=7" in opened.step()
    page.locator("#seek").fill("@2")
    page.keyboard.press("Enter")
    assert "position 2 of" in opened.text("#where")
    page.locator("#seek").fill("back")
    page.keyboard.press("Enter")
    assert "(back," in opened.text("#where")
    page.keyboard.press("Escape")
    box = page.locator("#slider").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 20, box["y"] + 110)
    assert opened.value("softmachine.page.state.position") < 20
    opened.value("() => { location.hash = '#step=2&head=1.1' }")
    page.wait_for_timeout(100)
    assert "step 2 " in opened.text("#where")
    assert opened.text("#architecture .chip[aria-pressed=true]") == "mean of moves"


def test_space_plays_until_it_is_pressed_again(open_kind: Open) -> None:
    opened = open_kind("turing", "#step=1")
    opened.page.keyboard.press(" ")
    opened.page.wait_for_timeout(1_500)
    assert opened.text("#play") == "❚❚ pause"
    opened.page.keyboard.press(" ")
    here = opened.value("softmachine.page.state.position")
    assert here > 6
    opened.page.wait_for_timeout(600)
    assert opened.value("softmachine.page.state.position") == here


def test_the_rule_the_tape_and_the_sentence_are_those_of_the_step(open_kind: Open) -> None:
    opened = open_kind("turing", "#step=9&head=3.1")
    machine = run_of("turing").model.source
    from softmachine.languages.turing import Configuration, TuringMachine, next_action

    assert isinstance(machine, TuringMachine)
    now = Configuration.initial(machine, "abba")
    for _ in range(8):
        action = next_action(machine, now)
        assert not isinstance(action, str)
        now.apply(action)
    rule = machine.find_rule(now.state, now.read_symbols())
    assert opened.text("#lines .active") == str(rule)
    assert opened.text(".tape .under bdi") == now.read_symbols()[0]
    assert now.state in opened.text("#picture .state")
    computed = sm.inspect(run_of("turing")).at(sm.inspect(run_of("turing")).position_of_step(9))
    assert opened.text("#why").startswith("last write cell")
    number = machine.rules.index(rule) + 1 if rule else 0
    assert opened.text("#decision").startswith(f"rule {number}: ({now.state}, {now.read_symbols()[0]}) → (")
    assert (
        computed.head("last write").chosen[0]
        == opened.value("softmachine.page.exact.keys(2, 0, softmachine.page.state.position)")[0]
    )


def test_heads_of_loops_are_looked_at_turn_by_turn(open_kind: Open) -> None:
    opened = open_kind("circuit", "#step=30&head=2.1&iteration=2")
    assert opened.text("#architecture .iterations span") == "2"
    opened.page.get_by_label("next iteration").click()
    assert opened.step() == "#step=30&head=2.1&iteration=3"
    assert opened.page.locator("#picture .gate.live").count() > 0
    assert opened.page.locator("#picture .wire.live").count() > 0


def test_pointing_at_a_number_tells_it_exactly(open_kind: Open) -> None:
    opened = open_kind("turing", "#step=5")
    cell = opened.page.locator("#stream tr", has_text="1/(i+1)").last.locator("td").first
    cell.hover()
    assert "1/(i+1) after the embedding = 1/10 ≈ 0.1" in opened.text("#exact")


def test_guides_are_walked_through_and_show_their_heads(open_run: Open) -> None:
    from dataclasses import replace

    from softmachine.theorems.theorem import TourStep

    run = run_of("turing")
    guide = (
        TourStep("Where is the head?", "By (8.13).", ("recover…", "head")),
        TourStep("And then?", "By 8.2.", ("last write",)),
    )
    guided = replace(run, model=replace(run.model, theorem=replace(run.model.theorem, tour=guide)))
    opened = open_run(guided, "#step=4")
    opened.page.get_by_role("button", name="And then?").click()
    assert "By 8.2." in opened.text("#guide")
    assert opened.page.locator("#architecture .chip.shows").all_inner_texts() == ["last write"]
    assert "guide=2" in opened.step()
    opened.page.get_by_role("button", name="Where is the head?").click()
    assert opened.page.locator("#architecture button.shows").count() == 4
    assert opened.page.locator("#stream tr.shows").count() > 0


def test_a_page_is_small_and_there_within_a_second(open_kind: Open) -> None:
    opened = open_kind("turing")
    assert opened.file.stat().st_size < 300_000
    assert opened.value("softmachine.ready") < 1_000


def test_a_notebook_shows_the_page_in_a_sandboxed_frame(open_file: Open, tmp_path: Path) -> None:
    cell = tmp_path / "notebook.html"
    cell.write_text(f"<!doctype html><title>cell</title>{run_of('turing')._repr_html_()}", encoding="utf-8")
    opened = open_file(cell)
    inner = opened.page.frame_locator("iframe")
    inner.locator("body[data-ready]").wait_for()
    inner.locator("#next").click()
    assert "step 1" in inner.locator("#where").inner_text()
    inner.locator("body").press("ArrowRight")
    assert "step 2" in inner.locator("#where").inner_text()
