from __future__ import annotations

import pytest

from softmachine.languages.temporal import Specification, parse, parse_formula
from softmachine.support.errors import InputError, InvalidError

FORMULA = parse_formula("Q_a since Q_b")


def test_words_are_read_by_character_or_split_at_blanks_when_symbols_are_longer() -> None:
    short, long = parse("Q_a since Q_b"), parse("Q_up since Q_b")
    assert short.word("aba") == ("a", "b", "a")
    assert long.word(" up  b ") == ("up", "b")
    assert short.word(["a", "b"]) == ("a", "b")
    assert short.word("") == ()
    assert parse("'x y' or Q_b").word(["x y", "b"]) == ("x y", "b")


def test_symbols_outside_the_alphabet_are_refused() -> None:
    with pytest.raises(InputError, match=r"symbol 'c' at position 3 of the input .*\n.*the alphabet is a b"):
        parse("Q_a since Q_b").word("abc")
    with pytest.raises(InputError, match="alphabet is empty; list its symbols"):
        parse("odd(i)").word("a")


def test_an_alphabet_can_be_extended() -> None:
    assert parse("Q_a").with_symbols(["b", "a", "c"]).alphabet == ("a", "b", "c")


def test_all_problems_of_an_alphabet_are_reported_at_once() -> None:
    with pytest.raises(InvalidError) as caught:
        Specification(name="x", formula=FORMULA, alphabet=("a", "a", ""))
    assert len(caught.value.problems) == 3


def test_specifications_show_themselves() -> None:
    assert str(parse("Q_a -> prev Q_b")) == "temporal formula: Q_a → ⊖Q_b, over a b"
    assert str(parse("Q_a", name="mine")) == "temporal formula mine: Q_a, over a"
    html = parse("#<['<'] > 2", name="<x>")._repr_html_()
    assert "<td>←#[&#x27;&lt;&#x27;] &gt; 2</td>" in html
    assert "temporal formula &lt;x&gt;" in html
    assert "TL[#←, +]" in html
