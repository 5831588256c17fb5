from __future__ import annotations

import pytest

from softmachine.languages.crasp import parse
from softmachine.studies.measure.cot_length import CotLengths, fit_cot_growth, measure_cot_lengths
from softmachine.studies.measure.growth_laws import GrowthLaw
from softmachine.support.errors import UsageError

PARITY = parse("alphabet a b\nP := #[Q_a] - 2*#[Q_t]\nACC <- P = 0\nREJ <- P = 1\nt <- P >= 2")
ORDERED = parse(
    "alphabet a b\nREJ <- #[Q_a and #[Q_b] > 0] > 0\nx <- #[Q_x] < #[Q_a]\ny <- #[Q_y] < 2*#[Q_b]\nACC <- true"
)


def test_chains_of_thought_are_measured() -> None:
    found = list(measure_cot_lengths(PARITY, range(7)))
    assert found[4] == CotLengths(4, 16, True, 1, 3, (5 * 1 + 10 * 2 + 1 * 3) / 16, 0, 0)
    assert [each.longest for each in found] == [1, 1, 2, 2, 3, 3, 4]
    assert found[6].all_inputs
    assert not next(measure_cot_lengths(PARITY, [7])).all_inputs


def test_samples_have_letters_in_order_too() -> None:
    (found,) = measure_cot_lengths(ORDERED, [30], samples=40)
    assert found.inputs == 40
    assert found.shortest == 1
    assert found.longest is not None
    assert found.longest > 30


def test_growth_is_fitted() -> None:
    found = fit_cot_growth(measure_cot_lengths(PARITY, range(2, 60, 4)))
    assert found is not None
    assert found.law is GrowthLaw.POLYNOMIAL
    assert found.degree == pytest.approx(1, abs=0.1)
    doubling = parse("alphabet a\nn := #[Q_a]\nx <- #R[true] < n - 1 or #R[true] = 0 and #[Q_x] < n\nACC <- true")
    grown = fit_cot_growth(measure_cot_lengths(doubling, range(3, 11)))
    assert grown is not None
    assert grown.law is GrowthLaw.EXPONENTIAL
    assert fit_cot_growth(measure_cot_lengths(PARITY, range(3))) is None


def test_infinite_and_stuck_runs_are_reported() -> None:
    program = parse("alphabet a b\nt <- Q_a or Q_t\nACC <- #[Q_b] > 1 and #[Q_t] = 0")
    found = list(measure_cot_lengths(program, [1, 2], max_tokens=20))
    assert (found[0].nonterminating, found[0].stuck, found[0].longest) == (1, 1, None)
    assert (found[1].nonterminating, found[1].stuck, found[1].longest) == (2, 1, 1)


def test_only_programs_with_rules_can_be_measured() -> None:
    with pytest.raises(UsageError, match="has no rules"):
        next(measure_cot_lengths(parse("alphabet a\naccept true"), [1]))
    with pytest.raises(UsageError, match="at least one sample"):
        next(measure_cot_lengths(PARITY, [1], samples=0))
