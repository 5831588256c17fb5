from __future__ import annotations

import random
import subprocess
import sys

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from softmachine.languages.formats import format_by_name
from softmachine.languages.temporal import Formula, Specification, Symbol, parse, parse_formula, to_text
from softmachine.support.errors import InvalidError, SoftmachineError, SourceError
from softmachine.testing.temporal import random_formula

NAMES = ["a", "b", "10", "it's", "long symbol", "(", "\\", "\n", '"', "é_1", " ", "#", "x\ty", "Q_a", "\r", "\u2028"]


@given(st.integers(0, 10**9), st.booleans())
@settings(max_examples=300, deadline=None)
def test_what_is_printed_is_read_back(seed: int, unicode: bool) -> None:
    formula = random_formula(random.Random(seed), 5, NAMES)
    assert parse_formula(to_text(formula, unicode=unicode)) == formula


@given(st.text(min_size=1))
def test_any_text_can_be_a_symbol(symbol: str) -> None:
    assert parse_formula(to_text(Symbol(symbol))) == Symbol(symbol)
    specification = Specification(name="x", formula=parse_formula("odd(i)"), alphabet=(symbol, symbol + "x"))
    assert parse(to_text(specification), name="x") == specification


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("not Q_a and Q_b", "(not Q_a) and Q_b"),
        ("not Q_a since Q_b", "(not Q_a) since Q_b"),
        ("Q_a since not Q_b and Q_c", "(Q_a since (not Q_b)) and Q_c"),
        ("prev once Q_a since Q_b", "(prev (once Q_a)) since Q_b"),
        ("Q_a since Q_b since Q_c", "Q_a since (Q_b since Q_c)"),
        ("Q_a since Q_b until Q_c", "Q_a since (Q_b until Q_c)"),
        ("Q_a and Q_b since Q_c", "Q_a and (Q_b since Q_c)"),
        ("Q_a or Q_b and Q_c", "Q_a or (Q_b and Q_c)"),
        ("Q_a and Q_b or Q_c", "(Q_a and Q_b) or Q_c"),
        ("Q_a or Q_b -> Q_c", "(Q_a or Q_b) -> Q_c"),
        ("Q_a -> Q_b -> Q_c", "Q_a -> (Q_b -> Q_c)"),
        ("Q_a -> Q_b <-> Q_c", "(Q_a -> Q_b) <-> Q_c"),
        ("Q_a <-> Q_b -> Q_c", "Q_a <-> (Q_b -> Q_c)"),
        ("Q_a <-> Q_b <-> Q_c", "Q_a <-> (Q_b <-> Q_c)"),
        ("not #<[Q_a] > 1", "not (#<[Q_a] > 1)"),
        ("prev #<[Q_a] > 1 since Q_b", "(prev (#<[Q_a] > 1)) since Q_b"),
        ("Q_a U!Q_b", "Q_a until (not Q_b)"),
    ],
)
def test_operators_bind_as_in_the_table_of_precedence(text: str, meant: str) -> None:
    assert parse_formula(text) == parse_formula(meant)


@pytest.mark.parametrize(
    "text",
    [
        "not (Q_a and Q_b)",
        "(Q_a since Q_b) since Q_c",
        "(Q_a -> Q_b) -> Q_c",
        "(Q_a <-> Q_b) -> Q_c",
        "(Q_a and Q_b) and Q_c",
        "Q_a and (Q_b and Q_c)",
        "(Q_a or Q_b) and Q_c",
        "Q_a since (Q_b and Q_c)",
        "not prev (Q_a since! Q_b)",
        "Q_a and Q_b or not Q_c since Q_a -> once Q_b <-> #<[Q_a -> Q_b] + 1 <= -2*#>[first] - 3",
        "0*#<[Q_a] = 0",
        "-#<[Q_a] - 1 != 0",
        "mod(#<[Q_a or Q_b],3,0)",
    ],
)
def test_there_are_no_more_parentheses_than_needed(text: str) -> None:
    assert to_text(parse_formula(text)) == text


@pytest.mark.parametrize(
    ("ascii_form", "others"),
    [
        ("not Q_a", ["!Q_a", "¬Q_a", "~ Q_a", "(not(Q_a))"]),
        ("Q_a and Q_b", ["Q_a & Q_b", "Q_a&&Q_b", "Q_a∧Q_b", "  (Q_a)\n and\n Q_b  # why"]),
        ("Q_a or Q_b", ["Q_a | Q_b", "Q_a||Q_b", "Q_a ∨ Q_b"]),
        ("Q_a -> Q_b", ["Q_a→Q_b", "Q_a => Q_b", "# implication\nQ_a->Q_b"]),
        ("Q_a <-> Q_b", ["Q_a↔Q_b", "Q_a <=> Q_b"]),
        ("prev Q_a", ["Y Q_a", "⊖Q_a", "prev(Q_a)"]),
        ("next Q_a", ["X Q_a", "⊕Q_a"]),
        ("Q_a since Q_b", ["Q_a S Q_b", "'a' since \"b\""]),
        ("Q_a until Q_b", ["Q_a U Q_b"]),
        ("Q_a since! Q_b", ["Q_a since!Q_b"]),
        ("once Q_a", ["O Q_a"]),
        ("historically Q_a", ["H Q_a"]),
        ("eventually Q_a", ["F Q_a"]),
        ("always Q_a", ["G Q_a"]),
        ("true or false", ["⊤ or ⊥"]),
        ("#<[Q_a] >= #>[Q_b]", ["←#[Q_a] ≥ →#[Q_b]", "#< [Q_a]>=#> [Q_b]", "(#<[Q_a]) >= #>[Q_b]"]),
        ("first -> #>[Q_a] <= 1", ["first→→#[Q_a]≤1", "first → #>[Q_a] <= 1"]),
        ("#<[Q_a] - 1 != 0", ["#<[Q_a] − 1 ≠ 0", "-1 + #<[Q_a] != 0", "+#<[Q_a]+2-3 != 0"]),
        ("6*#<[Q_a] - 2*#>[Q_b] - 8 = 4", ["2*(3*#<[Q_a] - #>[Q_b] - 4) == 2*2", "#<[Q_a]*6-(#>[Q_b]+4)*2=4"]),
        ("mod(i,3,1)", ["mod ( i , 3 , 01 )"]),
    ],
)
def test_other_ways_to_write_mean_the_same(ascii_form: str, others: list[str]) -> None:
    formula = parse_formula(ascii_form)
    assert to_text(formula) == ascii_form
    for text in others:
        assert parse_formula(text) == formula, text


def test_formulas_are_printed_in_unicode() -> None:
    text = "not Q_a and prev next Q_b or #<[Q_a] != 1 -> #>[Q_b] <= 2*#<[true] <-> Q_a since Q_b"
    unicode = "¬Q_a ∧ ⊖⊕Q_b ∨ ←#[Q_a] ≠ 1 → →#[Q_b] ≤ 2*←#[true] ↔ Q_a since Q_b"
    assert to_text(parse_formula(text), unicode=True) == unicode


@pytest.mark.parametrize(
    "text",
    [
        "# a comment\nQ_a",
        " # a comment\nQ_a",
        "Q_a  # a comment",
        "Q_a\t# a comment",
        "Q_a\n#\n#< and so on\n",
        "Q_a\r\n# windows\r\n",
        "\ufeffQ_a",
        "#<- look\n  # [x]\n Q_a",
    ],
)
def test_comments_and_blanks_are_skipped(text: str) -> None:
    assert parse_formula(text) == Symbol("a")


def test_a_hash_that_can_be_a_count_is_one() -> None:
    for text in ("#<[Q_a] > 0", "not  #<[Q_a] > 0", "not\n#>[Q_a] > 0", "'  # no comment'"):
        assert parse_formula(text) == parse_formula(to_text(parse_formula(text)))
    assert parse_formula("'  # no comment'") == Symbol("  # no comment")
    with pytest.raises(SourceError, match="a comment begins at the start of a line or after two spaces"):
        parse_formula("Q_a # one blank")
    with pytest.raises(SourceError, match="write a count as"):
        parse_formula("#[Q_a] > 0")


def test_a_source_gives_name_formula_and_alphabet() -> None:
    specification = parse("Q_b since Q_a", source="logic/latest.ltl")
    assert specification.name == "latest"
    assert specification.alphabet == ("b", "a")
    assert parse("Q_b since Q_a", source="logic/latest.ltl", name="mine").name == "mine"
    assert parse(" Q_b  since Q_a\n").name == "Q_b since Q_a"
    assert len(parse(" and ".join(["Q_a"] * 100)).name) == 60
    assert parse("Q_b", alphabet="ab").alphabet == ("b", "a")


def test_a_first_line_may_name_the_alphabet() -> None:
    specification = parse("# which letters\nalphabet a 'b c' (  # these\n\nQ_a or 'b c'")
    assert specification.alphabet == ("a", "b c", "(")
    assert to_text(specification) == "alphabet a 'b c' '('\nQ_a or 'b c'"
    assert to_text(parse("alphabet a b\nQ_a or Q_b")) == "Q_a or Q_b"
    with pytest.raises(InvalidError, match="symbol 'c' of the formula is not in the alphabet"):
        parse("alphabet a b\nQ_c")
    with pytest.raises(SourceError, match="symbol 'a' is already in the alphabet"):
        parse("alphabet a b a\nQ_a")
    with pytest.raises(SourceError, match="unterminated quote"):
        parse("alphabet 'a\nQ_a")


@pytest.mark.parametrize(
    "text",
    [
        "Q_a", "Q_a and", "'x y' or Q_b", "#<[Q_a] > 0", "odd(i)", "¬first", "true", " last\n", "historically (first)",
        "←#[true] > 2", "alphabet a b\nodd(i)", "# notes: of mine\nQ_a", "once first", "':' or Q_b",
        "#<[Q_a] <-3", "square(i)",
    ],
)  # fmt: skip
def test_formulas_look_like_formulas(text: str) -> None:
    assert format_by_name("temporal").looks_like(text)


@pytest.mark.parametrize(
    "text",
    [
        "", "palindrome", "first-machine", "dir/Q_a.ltl", "missing.ltl", "1RB1LB_1LA0LC_1RZ1LD_1RD0RA", "next",
        "blank: ' '\nstart state: Q_a\ntable:\n  Q_a:\n    'x': {R: once}\n", "<structure>'a'</structure>",
        "alphabet a b\nP := #[Q_a]\nACC <- P = 0", "alphabet ( )\nopen(i) = in(i) in { '(' }", "a -- b", "x >= 3",
    ],
)  # fmt: skip
def test_other_texts_do_not(text: str) -> None:
    assert not format_by_name("temporal").looks_like(text)


def test_the_parser_is_loaded_when_it_is_used() -> None:
    code = "import sys, softmachine.languages.temporal; sys.exit('lark' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def only_known_errors(text: str) -> Formula | None:
    format_by_name("temporal").looks_like(text)
    try:
        return parse(text).formula
    except SoftmachineError as error:
        if not str(error).startswith("<string>"):
            raise AssertionError(f"{error} does not say where") from error
        return None


@given(st.text(max_size=40))
@example("Q_\x00")
@example("\x00")
@example("alphabet")
@example("alphabet '")
@example("²(i)")
@example("mod(i,²,1)")
def test_any_text_is_read_or_refused(text: str) -> None:
    formula = only_known_errors(text)
    assert formula is None or parse_formula(to_text(formula)) == formula


TOKENS = [
    "Q_a", "'b'", "not", "!", "and", "or", "->", "<->", "since", "until!", "(", ")", "[", "]", "#<[", "#>[", "#", "<=",
    "=", "+", "-", "*", "2", "0", "odd", "mod", "i", ",", "(i)", "Q_", "'", "  # x", "\n", "true", "prime(i)", "x",
    "alphabet a\n", "é", "→", "→#", "=>",
]  # fmt: skip


@given(st.lists(st.sampled_from(TOKENS), max_size=14), st.sampled_from(["", " "]))
@settings(max_examples=1000, deadline=None)
def test_any_mixture_of_tokens_is_read_or_refused(tokens: list[str], between: str) -> None:
    formula = only_known_errors(between.join(tokens))
    if formula is not None:
        assert parse_formula(to_text(formula)) == formula


@given(st.integers(0, 10**9), st.data())
@settings(max_examples=200, deadline=None)
def test_a_formula_with_a_piece_cut_out_is_read_or_refused(seed: int, data: st.DataObject) -> None:
    text = to_text(random_formula(random.Random(seed), 4, NAMES))
    start = data.draw(st.integers(0, len(text)))
    only_known_errors(text[:start] + text[start + data.draw(st.integers(1, 5)) :])
