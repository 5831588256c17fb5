"""Soft attention in the page: the slider, and the scale at which decisions break, which is below the certified one."""

from __future__ import annotations

import pytest

import softmachine as sm
from softmachine.engines.dense.engine import DenseEngine
from tests.page.conftest import Open
from tests.page.runs import run_of

CERTIFIED = ("turing", "srasp", "circuit")


@pytest.mark.parametrize("kind", CERTIFIED)
def test_decisions_break_only_below_the_certified_scale(open_kind: Open, kind: str) -> None:
    opened = open_kind(kind)
    opened.page.wait_for_selector("#breaks[data-done=true]")
    found = opened.page.locator("#breaks")
    breaks, certified = found.get_attribute("data-breaks"), found.get_attribute("data-certified")
    assert certified
    assert not breaks or float(breaks) < float(certified)
    assert opened.page.locator("#soft .certified").count() == 1


def test_nothing_is_said_of_scales_that_were_not_tried(open_kind: Open) -> None:
    opened = open_kind("turing")
    opened.page.wait_for_selector("#breaks[data-done=true]")
    soft = "softmachine.page.soft"
    assert opened.value(f"() => {{ {soft}.wrong.fill(0); {soft}.draw(); }}") is None
    assert "No decision was found to break" in opened.text("#breaks")
    assert opened.value(f"() => {{ {soft}.wrong[3] = null; {soft}.draw(); }}") is None
    assert "No decision" not in opened.text("#breaks")
    assert "40 of 41 scales tried" in opened.text("#breaks")
    assert opened.page.locator("#breaks").get_attribute("data-done") == "false"


def test_the_slider_makes_attention_soft_and_breaks_a_decision(open_kind: Open) -> None:
    opened = open_kind("turing", "#step=9&head=3.1")
    opened.page.check("#softly")
    assert "every decision is right" in opened.text("#soft-summary")
    assert "%" in opened.text("#why")
    opened.page.locator("#sharpness").fill("150")
    assert "break" in opened.text("#soft-summary")
    opened.page.uncheck("#softly")
    assert "Hard attention" in opened.text("#soft-summary")


def test_the_scale_of_the_certificate_is_that_of_soften(open_kind: Open) -> None:
    run = run_of("turing")
    proof = sm.certificate(run.model, length=len(run.prompt.tokens) + len(run.tokens) - 2)
    opened = open_kind("turing")
    assert opened.value("softmachine.page.soft.certified") == proof.sharpness


@pytest.mark.parametrize(
    ("name", "word", "options"), [("palindrome", "abba", {"attention": "soft"}), ("ends-in-b-relative", "ab", {})]
)
def test_a_soft_model_is_computed_as_the_dense_engine_does(
    open_run: Open, name: str, word: str, options: dict[str, str]
) -> None:
    run = sm.run(name, word, **options)  # type: ignore[arg-type]
    opened = open_run(run)
    tokens = [*run.prompt.tokens, *run.tokens][:-1]
    streams = DenseEngine(run.model.weights).residual_stream([tokens]).value[0]
    for position in (0, 3, len(tokens) - 1):
        found = opened.value(
            "([position]) => [...softmachine.page.soft.soft.activations(1, { position }).streams.at(-1)]", position
        )
        assert found == pytest.approx([float(value) for value in streams[position]], abs=1e-9)
    assert "every decision is right" in opened.text("#soft-summary")


def test_a_run_of_500_positions_is_made_soft(open_run: Open) -> None:
    run = sm.run("binary-counter", max_steps=498)
    opened = open_run(run)
    assert opened.value("softmachine.page.model.count") == 499
    opened.page.wait_for_selector("#breaks[data-done=true]", timeout=60_000)
    breaks = opened.page.locator("#breaks").get_attribute("data-breaks")
    assert breaks
    assert float(breaks) < opened.value("softmachine.page.soft.certified")


def test_why_there_is_no_slider_is_said(open_kind: Open, open_run: Open) -> None:
    assert "uniform" in open_kind("counter").text("#soft")
    assert "up to 500 positions" in open_run(sm.run("binary-counter", max_steps=510)).text("#soft")
