from __future__ import annotations

import pytest

from softmachine.languages.temporal import parse, parse_formula
from softmachine.support.errors import SourceError
from softmachine.theorems.read_source import read_source


def message(text: str) -> str:
    with pytest.raises(SourceError) as caught:
        parse(text, source="f.ltl")
    return str(caught.value)


def test_the_line_is_shown_with_a_caret_under_the_place() -> None:
    assert message("Q_a since\n  (Q_b or and Q_c)") == (
        "f.ltl:2:11: unexpected 'and'; expected a formula\n      (Q_b or and Q_c)\n              ^"
    )


@pytest.mark.parametrize(
    ("text", "what", "where"),
    [
        ("", "expected a formula", "1:1"),
        ("# only a comment", "expected a formula", "1:1"),
        ("alphabet a b", "expected a formula", "1:1"),
        ("Q_a and", "unexpected end of the formula; expected a formula", "1:8"),
        ("Q_a and  # and what?\n", "unexpected end of the formula; expected a formula", "1:8"),
        ("Q_a Q_b", "unexpected 'Q_b'; expected an operator such as 'and' or the end", "1:5"),
        ("(Q_a or Q_b", "this bracket is never closed", "1:1"),
        ("#<[Q_a > 1", "unexpected '", "1:8"),
        ("2 > #<[Q_a", "this bracket is never closed", "1:7"),
        ("Q_a)", "this bracket closes no open bracket", "1:4"),
        ("(Q_a]", "expected ')'", "1:5"),
        ("#<[Q_a]", "expected a comparison such as '<='", "1:8"),
        ("#<[Q_a] >", "expected a count or a number", "1:10"),
        ("1 < #<[Q_a] < 3", "join two comparisons with and", "1:13"),
        ("Q_a = 3", "compare counts and numbers", "1:5"),
        ("#<[Q_a] => 3", "write >= for 'at least'", "1:9"),
        ("2 #<[Q_a] > 3", "write a product with *", "1:3"),
        ("#<[Q_a]*#>[Q_a] > 3", "a product of two counts is not linear", "1:8"),
        ("a and b", "write Q_a", "1:1"),
        ("Q_a AND Q_b", "did you mean and?", "1:5"),
        ("Q_a snce Q_b", "did you mean since?", "1:5"),
        ("GF Q_a", "put spaces between operators: G F", "1:1"),
        ("Q_a xor Q_b", "not (p <-> q)", "1:5"),
        ("i > 3", "the position i occurs only in predicates", "1:1"),
        ("odd and Q_a", "as in odd(i)", "1:1"),
        ("odd(j)", "invalid argument 'j'", "1:5"),
        ("odd(2)", "expected i or a count", "1:5"),
        ("odd(#<[Q_a]+1)", "expected ',' or ')'", "1:12"),
        ("square(i)", "unknown predicate; the predicates are odd, prime, power2, mod, half, middle", "1:1"),
        ("mod(i,3)", "write mod(i,m,r)", "1:1"),
        ("true or mod(i,0,0)", "the modulus is 0", "1:9"),
        ("mod(i,3,-1)", "write one from 0 to 2", "1:1"),
        ("Q_( and Q_)", "expected a symbol after Q_", "1:1"),
        ("not Q_", "expected a symbol after Q_", "1:5"),
        ("not 'abc", "unterminated quote", "1:5"),
        ("''", "empty symbol in quotes", "1:1"),
        ("'a\\q'", "unknown escape", "1:3"),
        ("Q_a @ Q_b", "unexpected character '@'", "1:5"),
        ("12345678901234567890 > 1", "too large", "1:1"),
        ("999999999*999999999*(9*9) > #<[Q_a]", "too large", "1:20"),
    ],
)
def test_syntax_errors_have_a_place_and_a_hint(text: str, what: str, where: str) -> None:
    found = message(text)
    assert found.startswith(f"f.ltl:{where}: ")
    assert what in found


def test_carets_stay_under_their_place_after_tabs_and_wide_characters() -> None:
    assert message("Q_中\t@").splitlines()[1:3] == ["    Q_中 @", "         ^"]


def test_a_long_line_is_clipped_around_the_error() -> None:
    _, line, caret, *_ = message("Q_a and " * 100 + "@" + " and Q_a" * 100).splitlines()
    assert line.startswith("    …")
    assert line.endswith("…")
    assert line[caret.index("^")] == "@"
    assert len(line) < 140
    assert len(message("x" * 100_000)) < 400


def test_control_characters_do_not_reach_the_terminal() -> None:
    assert "\x1b" not in message("Q_a \x1b[31m")


def test_long_sources_are_refused() -> None:
    with pytest.raises(SourceError, match="1,048,577 characters long"):
        parse(" " * (1 << 20) + "x")
    with pytest.raises(SourceError, match="at most 1,048,576"):
        parse_formula(" " * (1 << 20) + "x")


@pytest.mark.parametrize(
    ("before", "after"),
    [("not ", ""), ("Q_a -> ", ""), ("Q_a since (", ")"), ("#<[", "] > 1"), ("odd(#>[", "])")],
)
def test_deep_nesting_is_refused_and_parentheses_are_not_nesting(before: str, after: str) -> None:
    assert parse_formula(before * 200 + "Q_a" + after * 200).depth == 200
    for times in (201, 5_000):
        with pytest.raises(SourceError, match="operators are nested more than 200 deep"):
            parse_formula(before * times + "Q_a" + after * times)


def test_chains_of_and_and_or_are_not_nesting() -> None:
    assert parse_formula(" and ".join(["Q_a"] * 3_000)).depth == 1
    assert parse_formula("(" * 3_000 + "Q_a" + ")" * 3_000).depth == 0


@pytest.mark.parametrize("text", ["G(a -> F b)", "F a", "a U b", "!a", "a -> b", "a && b", "G(F(a))", "a since b"])
def test_bare_symbols_get_a_hint(text: str) -> None:
    with pytest.raises(SourceError) as caught:
        read_source(text)
    assert caught.value.hint == "write Q_a for the symbol a"


@pytest.mark.parametrize("text", ["palindrom", "busy beaver", "F", "1RB1LB|1LA1RZ", "a b", "notes/G(1).txt"])
def test_names_are_not_taken_for_formulas(text: str) -> None:
    with pytest.raises(SourceError, match="is not in the zoo, not a file"):
        read_source(text)
