from __future__ import annotations

import pytest

from softmachine.languages.crasp import TermComparison, desugar, linear_counts, parse, run
from softmachine.languages.linear import LinearExpression
from softmachine.languages.temporal import FALSE, TRUE, And, BooleanConstant, Formula, Not, Or, Symbol, subformulas
from softmachine.support.errors import ConstructionError
from softmachine.testing.crasp import random_program


def accepted(text: str) -> Formula:
    formula = desugar(parse(f"alphabet a b\n{text}")).accept
    assert formula is not None
    return formula


def same(one: str, two: str) -> bool:
    return accepted(one) == accepted(two)


def test_a_core_has_no_abbreviations() -> None:
    for seed in range(200):
        program = random_program(seed, with_rules=seed % 2 == 0, depth=5)
        essence = desugar(program)
        bodies = [body for _, body in essence.rules] + ([essence.accept] if essence.accept is not None else [])
        assert [token for token, _ in essence.rules] == [rule.token for rule in program.rules]
        for body in bodies:
            for part in subformulas(body):
                assert isinstance(part, Symbol | BooleanConstant | Not | And | Or | TermComparison)
                if isinstance(part, TermComparison):
                    terms, _ = linear_counts(part)
                    assert terms
                    assert len({count for _, count in terms}) == len(terms)
                    assert all(coefficient for coefficient, _ in terms)
                    assert part.right == LinearExpression()


def test_names_are_replaced() -> None:
    assert same("P := #[Q_a] + 1\nq := P > 2\naccept q or Q_b", "accept #[Q_a] > 1 or Q_b")


def test_conditional_terms_become_cases() -> None:
    assert same(
        "accept (Q_a ? #[Q_a] : 3) >= 2",
        "accept (Q_a and #[Q_a] >= 2) or (not Q_a and 3 >= 2)".replace(" and 3 >= 2", ""),
    )
    assert same(
        "accept min(#[Q_a], #[Q_b]) = 1",
        "accept #[Q_a] - #[Q_b] <= 0 and #[Q_a] = 1 or not (#[Q_a] - #[Q_b] <= 0) and #[Q_b] = 1",
    )
    assert same("accept max(3, 5) = #[Q_a]", "accept 5 = #[Q_a]")


def test_what_is_always_so_is_left_out() -> None:
    assert accepted("accept #[Q_a] - #[Q_a] = 0") == TRUE
    assert accepted("accept 1 > 2 or false") == FALSE
    assert accepted("accept Q_a and (true and Q_a)") == Symbol("a")
    assert accepted("accept not not not Q_a") == Not(Symbol("a"))
    assert accepted("accept true -> Q_a") == Symbol("a")


def test_the_same_condition_is_not_tried_twice() -> None:
    twenty = " + ".join(["x", "2*y"] * 20)
    program = parse(f"alphabet a b\nx := Q_a ? 1 : #[Q_b]\ny := Q_a ? 0 : 2\naccept {twenty} = 20")
    assert len(subformulas(desugar(program).accept or TRUE)) < 20
    for word in ("a", "ab", "abb", "bba", "bb"):
        assert run(program, word).accepted == (word[-1] == "a")
    assert accepted("x := Q_a ? 1 : 2\ny := Q_a ? #[Q_b] : 1\naccept x = y") == accepted("accept Q_a and 1 = #[Q_b]")


def test_too_many_cases_are_refused() -> None:
    definitions = "\n".join(f"x{n + 1} := max(x{n}, #[Q_a] - {n}, #[Q_b] + {n})" for n in range(12))
    with pytest.raises(ConstructionError, match="more than 1,024 cases"):
        desugar(parse(f"alphabet a b\nx0 := 1\n{definitions}\naccept x12 = 0"))
    nested = "\n".join(f"x{n + 1} := #[x{n} = 0] = 0 ? x{n} : x{n} + 1" for n in range(11))
    with pytest.raises(ConstructionError, match="cases"):
        desugar(parse(f"alphabet a b\nx0 := #[Q_a]\n{nested}\naccept x11 = 0"))
