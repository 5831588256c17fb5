"""Pages and pictures of the site are generated from the code and agree with it."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from site_pages import commands, notebooks, outside, pictures, tapes, theorems
from site_pages.heads import compute_scores
from site_pages.markdown import fenced, run_command, table
from softmachine.cli.app import COMMANDS, command
from softmachine.theorems import Theorem, all_theorems, get_theorem
from softmachine.theorems.theorem import TourStep


def named(name: str) -> Theorem:
    theorem = get_theorem(name)
    assert theorem is not None
    return theorem


def test_the_list_of_theorems_links_to_all() -> None:
    listed = theorems._index()
    for theorem in all_theorems():
        assert f"[{theorem.name}]({theorem.name}.md) | {theorem.statement.replace('|', '&#124;')} |" in listed


def test_the_page_of_a_theorem_has_statement_steps_cost_and_a_run() -> None:
    theorem = named("circuit-and-or-not")
    page = theorems._page(theorem)
    assert theorem.statement in page
    assert str(theorem.cost).replace("|", "&#124;") in page
    assert all(f"{k}. {step}" in page for k, step in enumerate(theorem.steps, 1))
    assert "--theorem circuit-and-or-not\n" in page
    assert "in one pass over" in page
    assert "Transformer  and-or" in page


def test_the_guide_of_a_theorem_is_on_its_page() -> None:
    step = TourStep("Which gate am I?", "The address says it.", ("wire", "decides…"))
    page = theorems._page(replace(named("circuit-and-or-not"), tour=(step,)))
    assert "**Which gate am I?** The address says it. *In the weights:* `wire`, `decides…`." in page


def test_the_page_of_a_command_has_all_of_its_options() -> None:
    pages = commands.pages()
    assert [*pages] == ["index", *COMMANDS]
    for name in COMMANDS:
        for parameter in command().commands[name].params:
            assert all(f"`{option}`" in pages[name] for option in parameter.opts if option.startswith("--"))
    assert "[bold]" not in "".join(pages.values())


def test_the_page_of_a_notebook_has_its_code_and_output() -> None:
    page = notebooks.pages()["4-own-theorem"]
    assert page.startswith("# Write your own theorem\n")
    assert "```python\nmodel = sm.compile(LANGUAGE, theorem=BOTH)" in page
    assert "```text\nTransformer  both-letters" in page


def test_links_outside_of_docs_are_redirected() -> None:
    page = "repository/examples/own-theorem/README.md"
    assert "## `src/own_theorem/majority.py`" in outside.pages()[page]
    assert outside.rewrite_links("[x](../examples/own-theorem)", "own-theorem.md") == f"[x]({page})"
    assert outside.rewrite_links("[x](../../pyproject.toml)", "api/index.md") == "[x](../repository/pyproject.toml.md)"
    assert outside.rewrite_links("[x](../../docs/zoo.md#a)", page) == "[x](../../../zoo.md#a)"
    unchanged = "[x](zoo.md), [y](https://elsewhere.org), [z](#here)"
    assert outside.rewrite_links(unchanged, "index.md") == unchanged


@pytest.mark.parametrize(
    "draw",
    [pictures.draw_heads, pictures.draw_gap, pictures.draw_temperature, pictures.draw_engines, tapes.draw_space_time],
)
def test_a_picture_is_deterministic_and_valid_svg(draw: object) -> None:
    assert callable(draw)
    once = draw().svg
    pictures._scores.cache_clear()
    assert draw().svg == once
    assert ElementTree.fromstring(once).tag.endswith("svg")


def test_the_weights_of_a_head_are_those_of_hard_attention() -> None:
    scores = compute_scores("palindrome", "ab", "last write")
    for i, row in enumerate(scores.scores):
        assert len(row) == i + 1
        assert sum(scores.hard_weights(i)) == pytest.approx(1)
        assert scores.softmax_weights(i, 1000) == pytest.approx(scores.hard_weights(i))


def test_markup_in_text_is_escaped() -> None:
    assert table(("a",), [("x|y",)]).endswith("| x&#124;y |")
    assert fenced("```").startswith("````")


def test_only_commands_that_succeed_are_shown() -> None:
    shown = run_command(["run", "parity", "11", "--quiet"])
    assert shown is not None
    assert shown.startswith("$ softmachine run parity 11 --quiet\n")
    assert run_command(["run", "no-such-machine"]) is None


def test_menus_have_generated_pages_and_pages_without_menu_entry() -> None:
    hook = pytest.importorskip("hook", reason="needs mkdocs", exc_type=ImportError)
    nav = [{"Start": ["index.md"]}, {"Commands": "commands/"}, {"More": "*"}]
    assert [*hook._named(nav)] == ["index.md", "commands/", "*"]
    expanded = hook._expanded(nav, ["new.md"])
    assert expanded[0] == {"Start": ["index.md"]}
    assert expanded[1]["Commands"][:2] == ["commands/index.md", "commands/zoo.md"]
    assert expanded[2] == {"More": ["new.md"]}
    assert hook._expanded(nav, []) == expanded[:2]
