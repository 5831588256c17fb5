"""The first difference, independent of the chunks of both sides."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softmachine.support.compare import Comparison, Difference, first_difference, split_into_chunks
from softmachine.support.token_array import CodeArray


def coded(tokens: str, names: str = "cabx") -> CodeArray[str]:
    return CodeArray(np.array([names.index(token) for token in tokens], dtype=np.uint8), names)


@given(st.text("abc", max_size=12), st.text("abc", max_size=12), st.integers(1, 5), st.integers(1, 5), st.booleans())
def test_pieces_and_numbers_change_nothing(right: str, said: str, one: int, other: int, numbers: bool) -> None:
    def cut(text: str, size: int, names: str) -> list[CodeArray[str] | str]:
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        return [coded(piece, names) if numbers else piece for piece in pieces]

    comparison = Comparison(cut(right, one, "abc"))
    for piece in cut(said, other, "cxba"):
        comparison.feed(piece)
    comparison.close()
    place = next((at for at, (x, y) in enumerate(zip(right, said, strict=False)) if x != y), min(len(right), len(said)))
    if right == said:
        assert comparison.difference is None
        assert comparison.compared_count == len(said)
    else:
        parts = [text[place] if place < len(text) else None for text in (said, right)]
        assert comparison.difference == Difference(place, *parts)


def test_a_token_that_the_other_side_has_no_number_for_is_a_difference() -> None:
    comparison = Comparison([coded("aab", "ab")])
    comparison.feed(coded("aax", "ax"))
    assert comparison.difference == Difference(2, "x", "b")


def test_where_anything_will_do_nothing_is_counted() -> None:
    assert first_difference([None, "b", None], ["a", "b", "c"]) is None
    assert first_difference([None, "b"], ["a"]) == Difference(1, None, "b")
    comparison = Comparison([[None, "b", None]])
    comparison.feed(["a", "b", "c"])
    assert (comparison.prefix_length, comparison.compared_count) == (3, 1)


def test_what_comes_before_an_error_is_compared_first() -> None:
    def failing() -> Iterator[str]:
        yield "a"
        raise ValueError("no more")

    comparison = Comparison(split_into_chunks(failing()))
    comparison.feed("a")
    with pytest.raises(ValueError, match="no more"):
        comparison.feed("b")
    comparison = Comparison(split_into_chunks(failing()))
    comparison.feed("b")
    assert comparison.difference == Difference(0, "b", "a")


def test_a_difference_is_told_in_words() -> None:
    assert str(Difference(1234, "x", "y")) == "token 1,234 is x, but should be y"
    assert str(Difference(3, "x", None)) == "token 3 is x, but there should be none"
    assert str(Difference(3, None, "y")) == "there is no token 3; it should be y"
