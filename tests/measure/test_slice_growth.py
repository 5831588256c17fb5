from __future__ import annotations

from collections.abc import Callable

import pytest

from softmachine.studies.measure.growth_laws import GrowthLaw, fit_growth


def over(function: Callable[[int], float], last: int = 14) -> dict[int, float]:
    return {n: function(n) for n in range(1, last + 1)}


@pytest.mark.parametrize(
    ("function", "law"),
    [
        (lambda n: 7.0, GrowthLaw.CONSTANT),
        (lambda n: 3.0 * n, GrowthLaw.POLYNOMIAL),
        (lambda n: n * n + 3.0 * n + 1, GrowthLaw.POLYNOMIAL),
        (lambda n: (n + 1) * (n + 2) / 2, GrowthLaw.POLYNOMIAL),
        (lambda n: 2.0**n, GrowthLaw.EXPONENTIAL),
        (lambda n: 2.0 ** (n // 2), GrowthLaw.EXPONENTIAL),
        (lambda n: 3.0 * 1.5**n + 5, GrowthLaw.EXPONENTIAL),
    ],
)
def test_the_law_is_told(function: Callable[[int], float], law: GrowthLaw) -> None:
    found = fit_growth(over(function, 20))
    assert found is not None
    assert found.law is law
    assert str(found).startswith(str(law))


def test_a_power_and_an_exponential_are_found_exactly() -> None:
    power, exponential = fit_growth(over(lambda n: 5 * n**3)), fit_growth(over(lambda n: 5 * 3**n))
    assert power is not None
    assert exponential is not None
    assert power.degree == pytest.approx(3)
    assert power.power_error == pytest.approx(0)
    assert exponential.base == pytest.approx(3)
    assert exponential.exponential_error == pytest.approx(0)
    assert (power.first, power.last) == (8, 14)
    assert str(power) == "polynomial: like n^3.00 to 0.0% for n = 8 … 14 (like 1.32^n only to 3.3%)"


def test_what_is_not_clear_is_said_to_be_unclear() -> None:
    found = fit_growth(dict(enumerate([1, 1, 5, 6, 6, 7, 12, 13, 13, 14, 30, 31], start=1)))
    assert found is not None
    assert found.law is GrowthLaw.UNCLEAR
    assert str(found).startswith("unclear: like n^")


def test_small_numbers_in_between_do_not_matter() -> None:
    steady, broken = fit_growth(over(lambda n: n**2)), fit_growth(over(lambda n: n**2 if n % 2 else 1))
    assert steady is not None
    assert broken is not None
    assert steady.law is broken.law is GrowthLaw.POLYNOMIAL
    assert broken.degree == pytest.approx(steady.degree, abs=0.3)


def test_a_few_numbers_say_nothing() -> None:
    assert fit_growth({1: 2, 2: 4, 3: 8, 4: 16}) is None
    assert fit_growth({0: 1, 1: 2, 2: 4, 3: 8, 4: 16}) is None
    assert fit_growth({1: 0, 2: 4, 3: 8, 4: 16, 5: 32}) is None
