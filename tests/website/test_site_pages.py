"""Pages and pictures of the site are made from the code, and say what the code says."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from site_pages import commands, notebooks, outside, pictures, tapes, theorems
from site_pages.heads import look
from site_pages.markdown import fenced, said, table
from softmachine.cli.app import COMMANDS, command
from softmachine.theorems import Theorem, all_theorems, theorem_named
from softmachine.theorems.theorem import Guide


def named(name: str) -> Theorem:
    theorem = theorem_named(name)
    assert theorem is not None
    return theorem


def test_the_list_of_theorems_links_to_all() -> None:
    listed = theorems._index()
    for theorem in all_theorems():
        assert f"[{theorem.name}]({theorem.name}.md) | {theorem.statement.replace('|', '&#124;')} |" in listed


def test_the_page_of_a_theorem_has_statement_steps_cost_and_a_run() -> None:
    theorem = named("circuit-binary")
    page = theorems._page(theorem)
    assert theorem.statement in page
    assert str(theorem.cost).replace("|", "&#124;") in page
    assert all(f"{k}. {step}" in page for k, step in enumerate(theorem.steps, 1))
    assert "--theorem circuit-binary\n" in page
    assert "in one pass over" in page
    assert "Transformer  and-or" in page


def test_the_guide_of_a_theorem_is_on_its_page() -> None:
    step = Guide("Which gate am I?", "The address says it.", ("wire", "decides…"))
    page = theorems._page(replace(named("circuit-binary"), guide=(step,)))
    assert "**Which gate am I?** The address says it. *In the weights:* `wire`, `decides…`." in page


def test_the_page_of_a_command_has_all_of_its_options() -> None:
    pages = commands.pages()
    assert [*pages] == ["index", *COMMANDS]
    for name in COMMANDS:
        for parameter in command().commands[name].params:
            assert all(f"`{option}`" in pages[name] for option in parameter.opts if option.startswith("--"))
    assert "[bold]" not in "".join(pages.values())


def test_the_page_of_a_notebook_has_its_code_and_what_it_printed() -> None:
    page = notebooks.pages()["4-own-theorem"]
    assert page.startswith("# Write your own theorem\n")
    assert "```python\nmodel = sm.compile(LANGUAGE, theorem=BOTH)" in page
    assert "```text\nTransformer  both-letters" in page


def test_links_that_leave_the_pages_lead_back_into_the_site() -> None:
    page = "repository/examples/own-theorem/README.md"
    assert "## `src/own_theorem/majority.py`" in outside.pages()[page]
    assert outside.inward("[x](../examples/own-theorem)", "own-theorem.md") == f"[x]({page})"
    assert outside.inward("[x](../../pyproject.toml)", "api/index.md") == "[x](../repository/pyproject.toml.md)"
    assert outside.inward("[x](../../docs/zoo.md#a)", page) == "[x](../../../zoo.md#a)"
    unchanged = "[x](zoo.md), [y](https://elsewhere.org), [z](#here)"
    assert outside.inward(unchanged, "index.md") == unchanged


@pytest.mark.parametrize(
    "draw", [pictures.heads, pictures.gap, pictures.temperature, pictures.engines, tapes.space_time]
)
def test_a_picture_is_drawn_alike_each_time_and_is_svg(draw: object) -> None:
    assert callable(draw)
    once = draw().svg
    pictures._look.cache_clear()
    assert draw().svg == once
    assert ElementTree.fromstring(once).tag.endswith("svg")


def test_what_a_head_looks_at_is_what_hard_attention_gives() -> None:
    seen = look("palindrome", "ab", "last write")
    for i, row in enumerate(seen.scores):
        assert len(row) == i + 1
        assert sum(seen.hard(i)) == pytest.approx(1)
        assert seen.soft(i, 1000) == pytest.approx(seen.hard(i))


def test_markup_of_others_stays_text() -> None:
    assert table(("a",), [("x|y",)]).endswith("| x&#124;y |")
    assert fenced("```").startswith("````")


def test_only_commands_that_succeed_are_shown() -> None:
    shown = said(["run", "parity", "11", "--quiet"])
    assert shown is not None
    assert shown.startswith("$ softmachine run parity 11 --quiet\n")
    assert said(["run", "no-such-machine"]) is None


def test_menus_have_what_is_made_and_what_nobody_named() -> None:
    hook = pytest.importorskip("hook", reason="needs mkdocs", exc_type=ImportError)
    nav = [{"Start": ["index.md"]}, {"Commands": "commands/"}, {"More": "*"}]
    assert [*hook._named(nav)] == ["index.md", "commands/", "*"]
    expanded = hook._expanded(nav, ["new.md"])
    assert expanded[0] == {"Start": ["index.md"]}
    assert expanded[1]["Commands"][:2] == ["commands/index.md", "commands/zoo.md"]
    assert expanded[2] == {"More": ["new.md"]}
    assert hook._expanded(nav, []) == expanded[:2]
