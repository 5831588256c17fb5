"""SVG pictures: well-formed, small, deterministic, and hostile names are escaped."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import softmachine as sm
from softmachine.inspection.svg.canvas import Drawing, Picture, text_width
from softmachine.inspection.svg.step import choose_columns
from softmachine.support.errors import UsageError
from tests.cases import CASES, Case

NAMESPACE = "{http://www.w3.org/2000/svg}"
HOSTILE = ("</text><script>alert(1)</script>", 'a"onload="x', "\u202eevil", "\x07", "&amp;", "x" * 10_000)


def shapes(picture: Picture) -> list[ElementTree.Element]:
    """The shapes of a picture, parsed as XML; all are of passive kinds."""
    root = ElementTree.fromstring(picture.svg)
    assert root.tag == f"{NAMESPACE}svg"
    assert {shape.tag.removeprefix(NAMESPACE) for shape in root} <= {"title", "rect", "path", "text"}
    assert not [name for shape in root.iter() for name in shape.attrib if name.startswith("on") or "href" in name]
    return list(root)


def words(picture: Picture) -> str:
    """All text of a picture."""
    return "\n".join((shape.text or "").replace("\u00a0", " ") for shape in shapes(picture))


def test_a_step_has_tokens_arcs_sentences_and_the_tape() -> None:
    run = sm.run("palindrome", "abba")
    picture = sm.picture(run, step=8)
    text = words(picture)
    assert "palindrome on abba, step 8" in text
    assert "last write: cell 1 was last written at step 2 (position 7), with b" in text
    assert "emits (back,b,L)" in text
    assert "     8  back" in text
    assert sum(shape.tag == f"{NAMESPACE}path" for shape in shapes(picture)) > 10
    assert len(picture.svg) < 12_000


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if case.theorem in ("turing-average-hard", "temporal-encoder", "srasp", "crasp", "counter")]
    + [case for case in CASES if case.theorem in ("circuit-and-or-not", "connectivity", "turing-ternary")],
    ids=str,
)
def test_every_language_can_be_drawn(case: Case) -> None:
    run = sm.run(case.model, case.examples[-1][0])
    for picture in (sm.picture(run), sm.picture(run, attention=True), sm.picture(run.model)):
        assert shapes(picture)
        assert len(picture.svg) < 150_000


def test_a_pattern_has_a_square_where_a_head_looked() -> None:
    run = sm.run("palindrome", "ab")
    picture = sm.picture(run, attention="last write", position=4)
    dark = [shape for shape in shapes(picture) if shape.get("fill") == "#0f0f0f"]
    chosen = [moment.head("last write").chosen for moment in sm.inspect(run).at_positions(range(5))]
    rows = sorted((float(shape.get("y", 0)), float(shape.get("x", 0))) for shape in dark)
    assert [len(row) for row in chosen] == [1] * 5 == [1] * len(rows)
    side = rows[1][0] - rows[0][0]
    assert [round((x - rows[0][1]) / side) + chosen[0][0] for _, x in rows] == [row[0] for row in chosen]


def test_soft_attention_is_drawn_in_shades() -> None:
    run = sm.run("Q_a since Q_b", "abaab", attention="soft")
    fills = {shape.get("fill") for shape in shapes(sm.picture(run, attention=True))}
    assert len(fills) > 4


def test_the_board_has_every_line_of_the_board() -> None:
    model = sm.compile("full-adder")
    text = words(sm.picture(model)).replace("\n", " ")
    for name in (*(head.name for head in model.weights.heads), "loop layers of gates, 6 times", "2 outputs"):
        assert name in text


def test_a_long_run_shows_what_matters_and_says_that_there_is_more() -> None:
    run = sm.run("palindrome", "ab" * 10 + "ba" * 10)
    picture = sm.picture(run, step=700)
    width = float(ElementTree.fromstring(picture.svg).get("width", 0))
    assert width < 1_000
    assert "…" in words(picture)


def test_the_same_run_gives_the_same_bytes() -> None:
    run = sm.run("increment", "101")
    assert len({sm.picture(run, step=3).svg for _ in range(2)}) == 1
    assert len({sm.picture(run, attention=True).svg for _ in range(2)}) == 1


def test_hostile_names_are_text() -> None:
    bad, odd, mark, bell, amp, long = HOSTILE
    machine = sm.TuringMachine(
        name=bad,
        states=(long, "halt"),
        alphabet=(odd, mark),
        symbols=("_", odd, mark, bell, amp),
        blank="_",
        rules=(sm.Rule(long, (odd,), (bell,), ("R",), long), sm.Rule(long, (mark,), (amp,), ("R",), "halt")),
        start=long,
        accept=("halt",),
    )
    run = sm.run(machine, (odd, odd, mark))
    for picture in (sm.picture(run), sm.picture(run, attention=True), sm.picture(run.model)):
        text = words(picture)
        assert "\u202e" not in text
        assert "\x07" not in text
        assert "<script" not in picture.svg
    assert bad[:10] in words(sm.picture(run))


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "board.svg"
    picture = sm.picture(sm.compile("increment"))
    picture.save(file)
    assert file.read_text(encoding="utf-8") == picture.svg == picture._repr_svg_()
    with pytest.raises(UsageError, match="exists already"):
        picture.save(file)


def test_a_head_that_is_not_there_is_refused() -> None:
    with pytest.raises(UsageError, match="there is no head 'nobody'") as caught:
        sm.picture(sm.run("increment", "1"), attention="nobody")
    assert "last write" in str(caught.value.hint)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 400), st.data())
def test_columns_have_what_matters_and_fit_otherwise(count: int, data: st.DataObject) -> None:
    here = data.draw(st.integers(0, count - 1))
    matter = data.draw(st.lists(st.integers(0, count - 1), max_size=12))
    shown = choose_columns(count, here, matter, lambda _: 10.0, 300.0)
    assert {here, *matter} <= set(shown) <= set(range(count))
    assert all(a < b for a, b in pairwise(shown))
    assert len(shown) <= 30
    assert count > 30 or shown == list(range(count))


def test_wide_letters_take_two_columns() -> None:
    assert text_width("漢") == 2 * text_width("a")
    drawing = Drawing("title")
    drawing.text(0, 10, "a  b")
    assert "a\u00a0\u00a0b" in drawing.to_picture().svg
