"""What notebooks show: one style, no scripts, and names stay text."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import softmachine as sm
from softmachine import rasp
from softmachine.support.notebook_html import html_card, html_table, html_text

ALLOWED = {"div", "pre", "table", "thead", "tbody", "tr", "th", "td"}


class Tags(HTMLParser):
    """The tags of a text, and its style."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags, self.styles, self.open = set[str](), list[str](), list[str]()
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.open.append(tag)
        assert {name for name, _ in attrs} <= {"style"}
        self.styles += [value or "" for _, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_all_objects_have_views_of_one_style() -> None:
    sources = ("palindrome", "Q_a since Q_b", "dyck-1-crasp", "parity-counter", "reverse-program", "full-adder")
    things = [sm.load(source) for source in (*sources, "koenigsberg")]
    things += [sm.compile("palindrome"), sm.certificate("Q_a since Q_b", length=4)]  # type: ignore[list-item]
    things.append(sm.check("parity", up_to=2))  # type: ignore[arg-type]
    styles = set()
    for thing in things:
        found = Tags(thing._repr_html_())  # type: ignore[union-attr]
        assert found.tags <= ALLOWED
        styles.add(found.styles[0])
    assert len(styles) == 1


def test_colours_are_those_of_the_page_around() -> None:
    (style, *_) = Tags(html_table([["a"]], "b", head=["c"])).styles
    assert "color:" not in style.replace("background-color", "")
    assert "background" not in style


def test_everything_is_text() -> None:
    bad = "<script>'\"&\x1b[0m\u202e"
    for html in (html_text(bad, bad), html_table([[bad]], bad, head=[bad])):
        assert "<script" not in html
        assert "\x1b" not in html
        assert "\u202e" not in html
        assert "&lt;script&gt;" in html
    assert html_card("", "<b>x</b>").count("<div") == 1


def test_control_characters_are_escaped_in_the_text_of_a_run() -> None:
    symbols = ("a", "\x1b", "\n", "\t")
    table = "".join(f"    {json.dumps(symbol)}: R\n" for symbol in symbols)
    machine = sm.load(f"blank: ' '\nstart state: s\ntable:\n  s:\n{table}", "turingmachine.io")
    copy = rasp.program(rasp.tokens, symbols, name="copy\x1b\n")
    first = {machine: "     0  s          [a] \\x1b  \\n  \\t", copy: "a  \\x1b  \\n  \\t"}
    for source, line in first.items():
        run = sm.run(source, symbols)
        assert run.format().splitlines()[0] == line
        for text in (*run.format().splitlines(), repr(run)):
            assert text.isprintable()
