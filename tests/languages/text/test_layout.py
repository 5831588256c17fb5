from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from softmachine.languages.text.statements import quote, unquote


@given(st.text(), st.sampled_from("'\""))
@example("\\'\"\n\r\t\0\x85\u2028\U000e0001", "'")
def test_what_is_put_in_quotes_is_one_line_that_is_read_back(symbol: str, mark: str) -> None:
    quoted = quote(symbol, mark)
    assert unquote(quoted) == symbol
    assert quoted.isprintable()
