from __future__ import annotations

from itertools import product

import pytest

from softmachine.languages.crasp import RelativeEncoding, beta, decode_word, encode_word
from softmachine.languages.crasp.relations import MAX_RELATED_POSITION, related_positions
from softmachine.support.errors import InputError, UsageError
from softmachine.testing import strings

TABLE = {
    1: None, 2: "", 3: None, 4: "0", 5: "1", 6: "", 7: None, 8: "00", 9: "01", 10: "10",
    11: "11", 12: "0", 13: "1", 14: "", 15: None, 16: "000", 17: "001", 18: "010", 19: "011", 20: "100",
}  # fmt: skip
ROWS = {5: (1,), 9: (2,), 10: (1,), 11: (1, 2), 13: (1,), 17: (3,), 18: (2,), 19: (2, 3), 20: (1,)}
ALL = [RelativeEncoding.EXACT, RelativeEncoding.LITERAL, RelativeEncoding.MARKED]


def test_beta_is_what_follows_the_first_zero() -> None:
    assert {x: beta(x) for x in TABLE} == TABLE
    assert {x: related_positions(x) for x in TABLE} == {x: ROWS.get(x, ()) for x in TABLE}
    with pytest.raises(UsageError, match="positive numbers, not for 0"):
        beta(0)


def test_every_bit_string_is_beta_of_infinitely_many_numbers() -> None:
    for length in range(5):
        for bits in map("".join, product("01", repeat=length)):
            found = [(2**k - 1) * 2 ** (length + 1) + int(bits or "0", 2) for k in range(1, 5)]
            assert found == [x for x in range(1, found[-1] + 1) if beta(x) == bits]


def test_a_row_ends_long_before_its_position() -> None:
    for x in range(1, 5000):
        assert all(1 <= i < x.bit_length() - 1 for i in related_positions(x)) or not related_positions(x)
    assert related_positions(2**61 + 2**60 - 1) == tuple(range(1, 61))
    assert MAX_RELATED_POSITION >= 60


FIGURES = {
    ("ab", RelativeEncoding.EXACT): ((10, 25), 26),
    ("ab", RelativeEncoding.LITERAL): ((5, 9), 10),
    ("ab", RelativeEncoding.MARKED): ((21, 38), 39),
    ("bb", RelativeEncoding.EXACT): ((8, 11), 12),
    ("bb", RelativeEncoding.LITERAL): ((2, 11), 12),
    ("bb", RelativeEncoding.MARKED): ((17, 23), 24),
    ("aba", RelativeEncoding.EXACT): ((21, 50), 51),
    ("aba", RelativeEncoding.LITERAL): ((21, 25), 26),
    ("aba", RelativeEncoding.MARKED): ((43, 74), 75),
}


@pytest.mark.parametrize(("word", "encoding"), FIGURES)
def test_the_figures_of_phase_one(word: str, encoding: RelativeEncoding) -> None:
    assert encode_word(word, "ab", encoding) == FIGURES[word, encoding]


def test_decoding_inverts_encoding() -> None:
    for word in strings("ab", 6):
        for encoding in ALL:
            lengths, _ = encode_word(word, "ab", encoding)
            assert "".join(decode_word(lengths, "ab", encoding)) == word
    for word in map("".join, product("abc", repeat=3)):
        assert "".join(decode_word(encode_word(word, "abc")[0], "abc")) == word


def test_different_words_have_different_lengths() -> None:
    for encoding in ALL:
        found = [encode_word(word, "ab", encoding)[0] for word in strings("ab", 6)]
        assert len(set(found)) == len(found)


def test_the_closed_form_for_two_letters() -> None:
    for length in range(1, 8):
        for bits in product("01", repeat=length):
            word = "".join("a" if bit == "1" else "b" for bit in bits)
            first = int("".join(bits), 2)
            second = 2**length - 1 - first
            (one, two), total = encode_word(word, "ab", RelativeEncoding.EXACT)
            assert one == 2 ** (length + 1) + first
            assert two == (1 if second > first else 3) * 2 ** (length + 1) + second
            assert total == two + 1
            assert 5 * 2 ** (length - 1) + 1 <= total <= 13 * 2 ** (length - 1)


def test_with_the_end_marker_the_first_length_is_the_word_itself() -> None:
    for word in strings("ab", 8):
        bits = "".join("1" if letter == "a" else "0" for letter in word)
        assert encode_word(word, "ab")[0][0] == int(f"10{bits}1", 2)


@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        ((21,), "1 lengths are given for 2 letters"),
        ((2, 38), "no end marker"),
        ((21, 21), "2 letters, not one"),
        ((17, 17), "0 letters, not one"),
        ((21, 23), "2 letters, not one"),
        ((21, 74), "different lengths"),
        ((0, 38), "no end marker"),
    ],
)
def test_lengths_that_stand_for_no_word_are_refused(lengths: tuple[int, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        decode_word(lengths, "ab")


def test_unknown_letters_are_refused() -> None:
    with pytest.raises(InputError, match="symbol 'c' is not in the alphabet a b"):
        encode_word("abc", "ab")
