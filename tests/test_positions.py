"""Position features and relations: their values, their bounds and their grids."""

from __future__ import annotations

from fractions import Fraction
from inspect import signature

import pytest

from softmachine.errors import ConstructionError
from softmachine.transformer.bounds import Bound
from softmachine.transformer.features import (
    I_SQUARED,
    INVERSE,
    LENGTH,
    REST,
    Alternating,
    Bit,
    Distance,
    Feature,
    I,
    Last,
    Logarithm,
    N,
    PowerOfTwo,
    Prime,
    Relation,
    Residue,
    ceil_log2,
)
from softmachine.transformer.weights import features as positions

PARAMETERS: dict[str, list[tuple[int | str | tuple[int, ...], ...]]] = {
    "bit": [(0,), (1,), (5,)],
    "±bit": [(0,), (3,)],
    "mod": [(1, 0), (2, 1), (5, 3)],
    "wiring": [("table", (4, 1, 1), (4, 2, -1)), ("large", (4, 1, 7), (5, 2, -9)), ("positive", (3, 0, 2))],
    "table": [("column", 4, (0, 3, -5, 1))],
    "rational table": [("column", 4, (1, -3), (2, 7))],
}


def features() -> list[Feature]:
    """Every kind of feature that is always there, with the parameters above or ones for as many as it takes."""
    found = []
    for kind, known in _FEATURES.items():
        if known.value.__module__ != positions.__name__:
            continue
        ones = (1,) * (len(signature(known.value).parameters) - 2)
        found += [Feature(kind, parameters) for parameters in PARAMETERS.get(kind, [ones])]
    return found


FEATURES = features()


@pytest.mark.parametrize("item", FEATURES, ids=str)
def test_the_values_of_a_feature_are_within_its_bounds_and_on_its_grid(item: Feature) -> None:
    for n in range(40):
        for i in range(n + 1):
            value = item.at(i, n)
            positions = n + 1
            assert item.low.at(positions) <= value <= item.high.at(positions), (i, n)
            grid = {"1": 1, "i+1": i + 1}.get(item.over or "")
            assert grid is None or (value * grid).denominator == 1, (i, n)


@pytest.mark.parametrize("item", FEATURES, ids=str)
def test_a_feature_depends_on_the_length_only_if_it_says_so(item: Feature) -> None:
    if item.needs_length:
        with pytest.raises(ConstructionError, match="depends on the length, which a decoder lacks"):
            item.at(1)
    else:
        assert all(item.at(i) == item.at(i, n) for i in range(20) for n in range(i, 25))


@pytest.mark.parametrize(
    ("item", "values"),
    [
        (I, [0, 1, 2, 3, 4]),
        (I_SQUARED, [0, 1, 4, 9, 16]),
        (INVERSE, [1, Fraction(1, 2), Fraction(1, 3), Fraction(1, 4), Fraction(1, 5)]),
        (Alternating(), [1, -1, 1, -1, 1]),
        (Bit(1), [0, 0, 1, 1, 0]),
        (Bit(0, signed=True), [-1, 1, -1, 1, -1]),
        (Residue(3, 1), [0, 1, 0, 0, 1]),
        (Prime(), [0, 0, 1, 1, 0]),
        (PowerOfTwo(), [0, 1, 1, 0, 1]),
        (Last(), [0, 0, 0, 0, 1]),
        (N, [4, 4, 4, 4, 4]),
        (I * LENGTH**-1, [0, Fraction(1, 5), Fraction(2, 5), Fraction(3, 5), Fraction(4, 5)]),
        (Feature("wiring", ("w", (4, 1, 1), (3, 0, 1), (4, 4, -1))), [0, 1, 0, 0, -1]),
    ],
    ids=str,
)
def test_features_have_the_values_that_their_names_say(item: Feature, values: list[Fraction]) -> None:
    assert [item.at(i, 4) for i in range(5)] == values


def test_a_table_is_for_one_length() -> None:
    column = table("column", 3, [1, Fraction(1, 2), -2])
    assert [column.at(i, 3) for i in range(4)] == [1, Fraction(1, 2), -2, 0]
    assert [column.at(i, 4) for i in range(4)] == [0, 0, 0, 0]
    assert column.name == "column"
    assert column.over is None
    assert table("column", 3, [1, 2]).over == "1"


def test_a_feature_without_a_value_says_so() -> None:
    """Padding stands beyond position n, where 1/(n-i+1) has a pole."""
    with pytest.raises(ConstructionError, match=r"1/\(n-i\+1\) has no value at i = 5, n = 4"):
        1 / REST.at(5, 4)


def test_primes_are_prime() -> None:
    sieve = [n for n in range(2, 400) if all(n % d for d in range(2, n))]
    assert [i for i in range(400) if Prime().at(i)] == sieve


@pytest.mark.parametrize(
    ("n", "expected"), [(0, 0), (1, 0), (2, 1), (3, 2), (4, 2), (5, 3), (8, 3), (9, 4), (1025, 11)]
)
def test_the_logarithm_is_rounded_up(n: int, expected: int) -> None:
    assert ceil_log2(n) == expected
    assert Logarithm(of_length=True).at(0, n) == expected


def test_the_distance_is_from_the_key_to_the_query() -> None:
    assert Distance().at(key=2, query=5) == 3
    assert str(Distance()) == "distance"


def test_unknown_kinds_are_refused_with_the_known_ones() -> None:
    with pytest.raises(ConstructionError, match=r"no position feature 'j'\n  the known ones are i, i²"):
        Feature("j")
    with pytest.raises(ConstructionError, match=r"no relation 'ALiBi'\n  the known ones are distance"):
        Relation("ALiBi")


def test_features_are_data_that_print_as_a_mathematician_writes() -> None:
    assert Bit(3) == Bit(3)
    assert hash(Bit(3)) == hash(Bit(3))
    assert [str(item) for item in (Bit(3), Residue(5, 2), Feature("wiring", ("w", (1, 2, 3))))] == [
        "bit 3 of i",
        "i ≡ 2 mod 5",
        "w",
    ]


def test_a_new_kind_of_feature_can_be_added(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("softmachine.transformer.features._FEATURES", dict(_FEATURES))
    feature("cube", lambda i, _, k: k * i**3, high=Bound.length() * Bound.length() * Bound.length())
    assert Feature("cube", (2,)).at(3) == 54
    assert str(Feature("cube", (2,))) == "cube(2)"


# Bounds


def test_bounds_are_polynomials_that_add_multiply_and_print() -> None:
    n = Bound.length()
    square = n * n + Bound.of(2)
    assert [square.at(k) for k in range(4)] == [2, 3, 6, 11]
    assert str(square) == "n² + 2"
    assert str(n * 3) == "3n"
    assert str(Bound.of(0)) == "0"
    assert str(n * n * n) == "n^3"
    assert n.surely_at_most(square + n)
    assert not n.surely_at_most(square)


def test_a_join_is_above_and_a_meet_is_below_both() -> None:
    one, other = Bound((Fraction(3), Fraction(-1))), Bound((Fraction(-2), Fraction(2), Fraction(1)))
    for n in range(20):
        assert one.join(other).at(n) >= max(one.at(n), other.at(n))
        assert one.meet(other).at(n) <= min(one.at(n), other.at(n))
