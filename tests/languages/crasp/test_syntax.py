from __future__ import annotations

import pytest

from softmachine.languages.crasp import (
    Conditional,
    Count,
    CraspProgram,
    Maximum,
    Minimum,
    NamedFormula,
    NamedTerm,
    Rule,
    Term,
    TermComparison,
    as_term,
    make_comparison,
    parse,
    to_text,
)
from softmachine.languages.formats import format_by_name
from softmachine.languages.linear import LinearExpression
from softmachine.languages.temporal import TRUE, And, Formula, Not, Once, Or, Symbol
from softmachine.support.errors import InvalidError, SourceError, UsageError
from softmachine.testing.crasp import random_program

CONTRACT = """
    alphabet a b                    # input letters
    P := #[Q_a] - 2*#[Q_t]          # named term or formula; #[p] counts the past, this position included; #R[p] counts through the relation R
    ACC <- P = 0                    # rules of chain of thought, in order: the first body that holds at the last position gives the next token
    REJ <- P = 1
    t   <- P >= 2
"""  # noqa: E501 - verbatim
A, B = Symbol("a"), Symbol("b")


def body(text: str, before: str = "") -> Formula | Term:
    return parse(f"alphabet a b\n{before}\nx := {text}\naccept true")["x"]


def refusal(text: str) -> str:
    with pytest.raises((SourceError, InvalidError)) as caught:
        parse(text, source="x.crasp")
    return str(caught.value)


def test_all_forms_are_parsed() -> None:
    program = parse(CONTRACT)
    assert program.alphabet == ("a", "b")
    assert program["P"] == LinearExpression(((1, Count(A)), (-2, Count(Symbol("t")))))
    p = as_term(NamedTerm("P"))
    assert program.rules == (
        Rule("ACC", make_comparison(p, "=", 0)),
        Rule("REJ", make_comparison(p, "=", 1)),
        Rule("t", make_comparison(p, ">=", 2)),
    )
    assert program.tokens == ("a", "b", "ACC", "REJ", "t")
    ends = parse("alphabet ( )\naccept #[ #[')'] > #['('] ] = 0 and #['('] = #[')']")
    assert not ends.rules
    assert isinstance(ends.accept, And)


def test_terms_are_sums_of_numbers() -> None:
    assert body("-#[Q_a] + 3*(#R[Q_b] - 2) - -1".replace("- -1", "+ 1")) == LinearExpression(
        ((-1, Count(A)), (3, Count(B, "R"))), -5
    )
    assert body("Q_a ? 1 : Q_b ? #[Q_a] : 3") == as_term(
        Conditional(A, as_term(1), as_term(Conditional(B, as_term(Count(A)), as_term(3))))
    )
    assert body("2*(Q_a ? 1 : 0) - max(1, #[Q_a])") == LinearExpression(
        ((2, Conditional(A, as_term(1), as_term(0))), (-1, Maximum((as_term(1), as_term(Count(A))))))
    )
    assert body("min((1), Q_a ? 1 : 2)") == as_term(
        Minimum((as_term(1), as_term(Conditional(A, as_term(1), as_term(2)))))
    )


def test_a_name_stands_for_its_definition() -> None:
    assert body("y and not (y)", "y := Q_a") == And((NamedFormula("y"), Not(NamedFormula("y"))))
    assert body("(y) + 1", "y := #[Q_a]") == LinearExpression(((1, NamedTerm("y")),), 1)
    assert body("((y)) = 1 or Q_a", "y := (#[Q_a])") == Or((make_comparison(as_term(NamedTerm("y")), "=", 1), A))


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("not Q_a and Q_b or Q_a", "((not Q_a) and Q_b) or Q_a"),
        ("Q_a -> Q_b -> Q_a <-> Q_b", "(Q_a -> (Q_b -> Q_a)) <-> Q_b"),
        ("!Q_a && Q_b || Q_a", "¬Q_a ∧ Q_b ∨ Q_a"),
        ("#[Q_a] ≤ 2", "#[Q_a] <= 2"),
        ("#[Q_a] == 2", "#[Q_a] = 2"),
        ("#[Q_a] <-1", "#[Q_a] < -1"),
        ("'a' and \"b\"", "Q_a and Q_b"),
        ("#[true] = 1  # Q_b", "#[true] = 1"),
        ("#[true]\n    = 1", "#[true] = 1"),
        ("not #[Q_a] = 1", "not (#[Q_a] = 1)"),
    ],
)
def test_alternative_notations_are_equivalent(one: str, two: str) -> None:
    assert body(one) == body(two)


def test_lines_may_be_indented_split_and_commented() -> None:
    text = "\ufeff# x\r\n\r\n  program 'my name'\r\n  alphabet a # '(' \t# y\r\n"
    text += "  P :=  #[Q_a] +\r\n\r\n      2*#['#']\r\n  accept P=0"
    program = parse(text)
    assert program.name == "my name"
    assert program.alphabet == ("a", "#", "(")
    assert program["P"] == LinearExpression(((1, Count(A)), (2, Count(Symbol("#")))))


def test_tokens_may_have_any_characters() -> None:
    text = "alphabet '\\'' 'x y' → <-\n'<- :=' <- '\\'' or 'x y' or '→' or '<-'\nACC <- true"
    program = parse(text)
    assert program.tokens == ("'", "x y", "→", "<-", "<- :=", "ACC")
    assert parse(to_text(program)) == program


def test_a_program_is_named_by_its_text_or_its_file() -> None:
    text = "alphabet a\naccept true"
    assert parse(text).name == "program"
    assert parse(text, source="dir/majority.crasp").name == "majority"
    assert parse(f"program p\n{text}", source="dir/majority.crasp").name == "p"
    assert parse(f"program p\n{text}", name="q").name == "q"


@pytest.mark.parametrize("with_rules", [True, False])
def test_a_written_program_is_read_back(with_rules: bool) -> None:
    for seed in range(150):
        program = random_program(seed, with_rules=with_rules, depth=5)
        again = parse(to_text(program))
        assert again == program
        assert hash(again) == hash(program)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("accept true", "it has no alphabet; add a line such as: alphabet a b"),
        ("alphabet a a b\naccept true", "letter 'a' is listed 2 times"),
        ("alphabet a REJ\naccept true", "REJ ends a run, so it cannot be a letter"),
        ("alphabet a", "it has neither rules nor accept; end with rules"),
        ("alphabet a\nACC <- true\naccept true", "x.crasp:3:1: it has both rules and accept"),
        ("alphabet a\naccept Q_b", "x.crasp:2:1: accept: 'b' is neither a letter nor the token of a rule"),
        ("alphabet a\nx := Q_b and Q_c\naccept x", "'x': 'c' is neither"),
        ("alphabet a\nand := true\naccept true", "'and' is a keyword"),
        ("alphabet a\nx-y := true\naccept true", "'x-y' is not a valid name"),
        ("alphabet a\nQ_x := true\naccept true", "no prefix Q_"),
        ("alphabet a\nx := true\nx := #[Q_a]\naccept x", "'x' is defined twice"),
        ("alphabet a\naccept x", "undefined name 'x'; define it in an earlier line, as in x := #[Q_a]"),
        ("alphabet a\naccept a", "undefined name 'a'; write Q_a for the symbol a"),
        ("alphabet a\naccept t\nt <- true", "write Q_t"),
        ("alphabet a\ncount := #[Q_a]\naccept cuont = 0", "did you mean count?"),
        ("alphabet a\naccept y = 0\ny := #[Q_a]", "undefined name 'y'"),
        ("alphabet a\ny := #[Q_a]\naccept y", "expected a formula after 'accept', not a term"),
        ("alphabet a\ny := #[Q_a]\nACC <- y", "the body of the rule for 'ACC' is a term"),
        (
            "alphabet a\ny := #[Q_a]\naccept y and true",
            "unexpected 'and'; expected a comparison such as '<=' or the end; compare counts and numbers",
        ),
        ("alphabet a\ny := Q_a\naccept y = 1", "unexpected '='"),
        ("alphabet a\ny := Q_a\naccept 1 + y = 1", "write (y ? 1 : 0) for a number"),
        ("alphabet a\naccept #S[Q_a] = 0", "unknown relation 'S' in a count; the relations are R"),
        ("alphabet a\naccept # [Q_a] = 0", "write a count as #[Q_a]"),
        ("alphabet a\naccept #[#[Q_a]] = 0", "unexpected ']'"),
        ("alphabet a\naccept #[Q_a] * #[Q_a] = 0", "a product of two counts is not linear; multiply"),
        ("alphabet a\naccept 2 #[Q_a] = 0", "write a product with *, as in 2*#[Q_a]"),
        ("alphabet a\naccept #[Q_a] = 1 = 1", "join two comparisons with and"),
        ("alphabet a\naccept #[Q_a] => 1", "write >= for 'at least'"),
        ("alphabet a\naccept (Q_a or", "unexpected end of the statement; expected a formula or a term"),
        ("alphabet a\naccept (Q_a", "this bracket is never closed; close it with )"),
        ("alphabet a\naccept Q_a)", "no open bracket"),
        ("alphabet a\naccept Q_", "expected a symbol after Q_"),
        ("alphabet a\naccept 'a", "unterminated quote"),
        ("alphabet a\naccept ''", "empty symbol in quotes"),
        ("alphabet a\naccept", "unexpected end of the statement; expected a formula or a term"),
        ("alphabet a\nx :=\naccept true", "unexpected end of the statement"),
        ("alphabet a\naccept #[Q_a] = 1000000000000000000001", "number too large"),
        ("alphabet a\nx := 10 * 1000000000000000000\naccept true", "number too large"),
        ("alphabet a\nACC = true", "unknown statement; write, for example, P := #[Q_a]"),
        ("alphabet a\nalphabet b\naccept true", "duplicate line 'alphabet'"),
        ("program a b\nalphabet a\naccept true", "expected one name after 'program'"),
        ("alphabet a\nprev := Q_a\naccept prev Q_a", "unexpected 'Q_a'; expected an operator such as 'and'"),
        ("alphabet a\naccept Q_a since Q_a", "undefined name 'since'"),
        ("alphabet a\n'' <- true", "invalid quotes: expected a symbol"),
    ],
)
def test_syntax_errors_have_hints(text: str, expected: str) -> None:
    assert expected in refusal(text)


def test_a_syntax_error_shows_its_place() -> None:
    message = refusal("alphabet a\nP := #[Q_a]\nACC <- P = 0 and\n    P = P = 2\nREJ <- Q_a Q_a")
    first, *rest = message.splitlines()
    assert first.startswith("x.crasp:4:11: unexpected '='; expected an operator such as 'and' or the end; ")
    assert rest == [
        "        P = P = 2",
        "              ^",
        "x.crasp:5:12: unexpected 'Q_a'; expected an operator such as 'and' or the end",
        "    REJ <- Q_a Q_a",
        "               ^",
    ]


def test_errors_that_follow_from_others_are_not_reported() -> None:
    message = refusal("alphabet a\nx := Q_a Q_a\ny := x and Q_a\nACC <- y")
    assert message.count("x.crasp:") == 1


def test_deep_and_long_texts_are_refused_and_break_nothing() -> None:
    for text in ("(" * 5000 + "Q_a" + ")" * 5000, " and ".join(["Q_a"] * 5000)):
        assert parse(f"alphabet a\naccept {text}")
    for deep in (
        "not " * 300 + "Q_a",
        "#[" * 300 + "Q_a" + "] = 0" * 300,
        "min(" * 300 + "1" + ")" * 300 + " = 1",
        "(Q_a ? " * 300 + "1" + " : 2)" * 300 + " = 1",
    ):
        assert "nested more than 200 deep" in refusal(f"alphabet a\naccept {deep}")
    assert "1,048,576" in refusal("#" * (1 << 20) + "##")
    names = "\n".join(f"x{n + 1} := not x{n}" for n in range(3000))
    program = parse(f"alphabet a\nx0 := Q_a\n{names}\naccept x3000")
    assert parse(to_text(program)) == program


def test_the_language_is_recognised_by_its_lines() -> None:
    assert format_by_name("crasp").looks_like(CONTRACT)
    assert format_by_name("crasp").looks_like("alphabet a\naccept #[Q_a] = 0")
    assert format_by_name("crasp").looks_like("alphabet a\n'x y' <- foo")
    assert not format_by_name("crasp").looks_like("alphabet a\nQ_a since Q_a")
    assert not format_by_name("crasp").looks_like("alphabet a b\nx(i) = in(i) = 'a'\noutput x")
    assert not format_by_name("crasp").looks_like("input a\nstart q\naccept yes\nq: a >= 1 -> q: a -= 1")


def test_formulas_made_by_hand_print_and_compare() -> None:
    formula = TermComparison(
        as_term(Count(A)) - as_term(Conditional(B, as_term(1), as_term(0))),
        make_comparison(0, "<", 1).relation,
        as_term(3),
    )
    assert str(And((formula, TRUE))) == "#[Q_a] - (Q_b ? 1 : 0) < 3 and true"
    assert formula == body("#[Q_a] - (Q_b ? 1 : 0) < 3")
    assert formula != body("#[Q_a] - (Q_b ? 1 : 1) < 3")
    assert formula != body("#R[Q_a] - (Q_b ? 1 : 0) < 3")
    assert repr(formula) == "<TermComparison: #[Q_a] - (Q_b ? 1 : 0) < 3>"


def test_a_program_by_hand_is_checked_as_well() -> None:
    rules = (
        Rule("", NamedFormula("x")),
        Rule("b", make_comparison(as_term(NamedTerm("y")), "=", 1)),
        Rule("c", Once(A)),
        Rule("d", make_comparison(as_term(Count(TRUE, "S")), "=", 1)),
    )
    with pytest.raises(InvalidError) as caught:
        CraspProgram(name="p", alphabet=("a", ""), rules=rules)
    assert list(caught.value.problems) == [
        "the alphabet has an empty symbol; a symbol has at least one character",
        "a rule has an empty token",
        "rule for '': 'x' is not defined before its use",
        "rule for 'b': 'y' is not defined before its use",
        "rule for 'c': C-RASP has no Once, only not, and, or, ->, <-> and comparisons of counts",
        "rule for 'd': unknown relation 'S'; the relations are R",
    ]
    with pytest.raises(InvalidError, match="larger than 10\\^18"):
        make_comparison(as_term(Conditional(A, as_term(10**19), as_term(0))), "=", 0)
    with pytest.raises(UsageError, match="one or more terms"):
        Minimum(())
