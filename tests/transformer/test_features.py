"""Position features and relations: values, bounds, denominators, names, and serialisation."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from fractions import Fraction

import pytest

from softmachine.support.errors import ConstructionError
from softmachine.support.polynomial import Polynomial
from softmachine.theorems import all_theorems
from softmachine.theorems.counting.crasp.counts import InRelation
from softmachine.theorems.logic.temporal.induction import PositionPredicate
from softmachine.theorems.rasp.layout import AtInputPositions
from softmachine.theorems.rasp.srasp.integers import ShareAfterStart
from softmachine.transformer.features import (
    HALF_RECIPROCAL,
    I_PLUS_ONE,
    I_SQUARED,
    N_PLUS_ONE,
    RECIPROCAL,
    REMAINING,
    Alternating,
    Bit,
    Constant,
    Distance,
    Feature,
    I,
    Last,
    Logarithm,
    Monomial,
    N,
    PowerOfTwo,
    PredecessorShare,
    Prime,
    Relation,
    Residue,
    ceil_log2,
)
from softmachine.transformer.saved_features import STANDARD_FEATURES, feature_from_json, feature_to_json
from softmachine.transformer.table_features import (
    NO_ADDRESS,
    AddressBit,
    AddressVector,
    BlockFeature,
    OffsetFeature,
    TableFeature,
)

HALF = Fraction(1, 2)
NAMED: list[tuple[Feature, str]] = [
    (Constant(7), "7"),
    (Constant(-2), "-2"),
    (I, "i"),
    (I_SQUARED, "i²"),
    (RECIPROCAL, "1/(i+1)"),
    (HALF_RECIPROCAL, "1/(2i+2)"),
    (N, "n"),
    (1 / N_PLUS_ONE, "1/(n+1)"),
    (I * N_PLUS_ONE**-1, "i/(n+1)"),
    (1 / REMAINING, "1/(n-i+1)"),
    (HALF / N_PLUS_ONE, "1/(2n+2)"),
    (1 / I_PLUS_ONE**2, "1/(i+1)²"),
    (3 * I * N_PLUS_ONE, "3i(n+1)"),
    (3 * I_SQUARED * N_PLUS_ONE, "3i²(n+1)"),
    (2 * N_PLUS_ONE, "2(n+1)"),
    (4 * N_PLUS_ONE**2, "4(n+1)²"),
    (1 * N_PLUS_ONE, "n+1"),
    (5 * I_PLUS_ONE, "5(i+1)"),
    (5 * I_PLUS_ONE**2, "5(i+1)²"),
    (3 * REMAINING, "3(n-i+1)"),
    (I * Fraction(1, 4), "i/4"),
    (I * N, "i·n"),
    (PredecessorShare(), "(i-1)/(i+1)"),
    (Alternating(), "(-1)^i"),
    (Bit(0), "bit 0 of i"),
    (Bit(5), "bit 5 of i"),
    (Bit(0, signed=True), "±bit 0 of i"),
    (Bit(3, signed=True), "±bit 3 of i"),
    (Bit(1, cells=3, offset=2), "bit 1 of ⌊(i-1)/3⌋+2"),
    (Residue(1, 0), "i ≡ 0 mod 1"),
    (Residue(5, 3), "i ≡ 3 mod 5"),
    (Prime(), "prime"),
    (PowerOfTwo(), "power of two"),
    (Last(), "last"),
    (Logarithm(of_length=True), "⌈log₂ n⌉"),
    (Logarithm(3, of_length=True), "3⌈log₂ n⌉"),
    (Logarithm(4), "4⌈log₂(i+1)⌉"),
    (TableFeature("column", tuple(map(Fraction, (0, 3, -5, 1)))), "column"),
    (TableFeature("ratio", (HALF, Fraction(-3, 7))), "ratio"),
    (TableFeature("empty", ()), "empty"),
    (AddressBit("sought", 1, (3, NO_ADDRESS, 0)), "sought[1]"),
    (AddressVector("own", 1, 6, (0, NO_ADDRESS, 5)), "own[1]"),
    (OffsetFeature(3, Bit(1, signed=True)), "±bit 1 of i"),
    (OffsetFeature(2, 5 * I_PLUS_ONE), "5(i+1)"),
    (BlockFeature(2, Bit(1), 3, 4), "bit 1 of i"),
    (ShareAfterStart(), "[i>0]/(n+1)"),
    (AtInputPositions(I * N), "[i>0]·i·n"),
    (PositionPredicate("odd", ()), "predicate(odd)"),
    (PositionPredicate("mod", (3, 1)), "predicate(mod,3,1)"),
]
"""Features of every class, with the names that boards show."""
OURS = [item for item, _ in NAMED]
every_feature = pytest.mark.parametrize("item", OURS, ids=repr)
KNOWN = (*STANDARD_FEATURES, *(item for theorem in all_theorems() for item in theorem.features))


def test_there_is_a_feature_of_every_class() -> None:
    relations = {Distance, InRelation}
    assert {type(item) for item in OURS} | relations == set(KNOWN)


STORED_NAMES = {
    *("Constant", "Monomial", "Predecessor", "Alternating", "Bit", "Residue", "Prime", "PowerOfTwo", "Last"),
    *("Logarithm", "Table", "AddressBit", "AddressVector", "Shifted", "InBlocks", "Distance"),
    *("AtLetters", "InRelation", "PositionPredicate", "ShareAfterStart"),
}


def test_names_in_saved_models_do_not_change() -> None:
    """They are part of the file format and of digests, independent of the names of the classes."""
    assert {item.stored_name for item in KNOWN} == STORED_NAMES
    assert all(feature_to_json(item)["is"] == type(item).stored_name for item in OURS)


@pytest.mark.parametrize(("item", "name"), NAMED, ids=lambda item: None)
def test_a_feature_prints_as_a_mathematician_writes(item: Feature, name: str) -> None:
    assert str(item) == item.name == name


@every_feature
def test_the_values_of_a_feature_are_within_its_bounds_and_on_its_grid(item: Feature) -> None:
    for n in range(40):
        for i in range(n + 1):
            value = item.at(i, n)
            positions = n + 1
            assert item.low.at(positions) <= value <= item.high.at(positions), (i, n)
            grid = {"1": 1, "i+1": i + 1}.get(item.denominator or "")
            assert grid is None or (value * grid).denominator == 1, (i, n)


@every_feature
def test_a_feature_depends_on_the_length_only_if_it_says_so(item: Feature) -> None:
    if item.needs_length:
        with pytest.raises(ConstructionError, match="depends on the length, which is not available in a decoder"):
            item.at(1)
    else:
        assert all(item.at(i) == item.at(i, n) for i in range(20) for n in range(i, 25))


@every_feature
def test_an_expansion_is_the_feature(item: Feature) -> None:
    terms, constant = item.affine_expansion
    for n in range(20):
        for i in range(n + 1):
            assert item.at(i, n) == constant + sum(factor * plain.at(i, n) for factor, plain in terms)
    for _, plain in terms:
        assert plain.affine_expansion == (((Fraction(1), plain),), Fraction(0))


@every_feature
def test_a_numerator_is_an_expression_for_the_numerator(item: Feature) -> None:
    text = item.numerator_expression("(j - 1)")
    if text is None:
        return
    for i in range(60):
        found = eval(text, {"is_prime": lambda k: int(Prime().at(k))}, {"j": i + 1})
        power = item.reciprocal_power if isinstance(item, Monomial) else int(item.denominator == "i+1")
        assert Fraction(found, (i + 1) ** power) == item.at(i, i), (i, text)


@every_feature
def test_a_feature_comes_back_from_a_file(item: Feature) -> None:
    written = json.loads(json.dumps(feature_to_json(item)))
    assert written["is"] == type(item).stored_name
    again = feature_from_json(written, KNOWN)
    assert again == item
    assert hash(again) == hash(item)
    assert [type(getattr(again, part.name)) for part in fields(item)] == [
        type(getattr(item, part.name)) for part in fields(item)
    ]


@pytest.mark.parametrize("item", [Distance(), InRelation()], ids=str)
def test_a_relation_comes_back_from_a_file(item: Relation) -> None:
    assert feature_from_json(json.loads(json.dumps(feature_to_json(item))), KNOWN) == item


BIT = {"is": "Bit", "k": 1, "signed": False, "cells": 0, "offset": 0}


@pytest.mark.parametrize(
    ("data", "error", "words"),
    [
        ({"is": "Cube"}, ValueError, "unknown feature 'Cube'"),
        ({"is": "Shifted", "offset": 1, "of": {"is": "Distance"}}, TypeError, "is not of type"),
        ({"is": 5}, TypeError, "is not a feature"),
        ("i", TypeError, "is not a feature"),
        (None, TypeError, "is not a feature"),
        ({"is": "Bit", "k": 1}, ValueError, "the parameters of a Bit are not k"),
        ({**BIT, "more": 1}, ValueError, "the parameters of a Bit are not"),
        ({**BIT, "k": "1"}, TypeError, "is not of type"),
        ({**BIT, "k": True}, TypeError, "is not of type"),
        ({**BIT, "signed": 0}, TypeError, "is not of type"),
        ({"is": "Table", "title": "t", "values": ["1", 2]}, TypeError, "is not of type"),
        ({"is": "Table", "title": "t", "values": ["9" * 5000]}, TypeError, "is not of type"),
        ({"is": "Table", "title": "t", "values": "1"}, TypeError, "is not of type"),
        ({"is": "Shifted", "offset": 1, "of": {"is": "Cube"}}, ValueError, "unknown feature 'Cube'"),
        ({"is": "Shifted", "offset": 1, "of": 3}, TypeError, "is not a feature"),
    ],
)
def test_what_is_no_feature_is_refused(data: object, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        feature_from_json(data, KNOWN)


@dataclass(frozen=True)
class Cube(Feature):
    factor: int

    @property
    def name(self) -> str:
        return f"{self.factor}i³"

    def value(self, i: int, n: int) -> int:
        return self.factor * i**3


def test_a_feature_of_ones_own_is_a_class_that_files_have_to_know() -> None:
    assert Cube(2).at(3) == 54
    assert str(Cube(2)) == "2i³"
    assert feature_from_json(feature_to_json(Cube(2)), (*KNOWN, Cube)) == Cube(2)
    with pytest.raises(ValueError, match="unknown feature 'Cube'"):
        feature_from_json(feature_to_json(Cube(2)), KNOWN)


@pytest.mark.parametrize(
    ("item", "values"),
    [
        (I, [0, 1, 2, 3, 4]),
        (I_SQUARED, [0, 1, 4, 9, 16]),
        (RECIPROCAL, [1, HALF, Fraction(1, 3), Fraction(1, 4), Fraction(1, 5)]),
        (PredecessorShare(), [0, 0, Fraction(1, 3), HALF, Fraction(3, 5)]),
        (Alternating(), [1, -1, 1, -1, 1]),
        (Bit(1), [0, 0, 1, 1, 0]),
        (Bit(0, signed=True), [-1, 1, -1, 1, -1]),
        (Bit(0, cells=2, offset=1), [1, 1, 1, 0, 0]),
        (Residue(3, 1), [0, 1, 0, 0, 1]),
        (Prime(), [0, 0, 1, 1, 0]),
        (PowerOfTwo(), [0, 1, 1, 0, 1]),
        (Last(), [0, 0, 0, 0, 1]),
        (N, [4, 4, 4, 4, 4]),
        (I * N_PLUS_ONE**-1, [0, Fraction(1, 5), Fraction(2, 5), Fraction(3, 5), Fraction(4, 5)]),
        (2 * REMAINING, [10, 8, 6, 4, 2]),
        (Logarithm(2), [0, 2, 4, 4, 6]),
        (TableFeature("w", (Fraction(0), Fraction(1), Fraction(0), HALF)), [0, 1, 0, HALF, 0]),
        (AddressBit("w", 1, (2, 1, NO_ADDRESS, 3)), [1, -1, 0, 1, 0]),
        (AddressVector("w", 0, 4, (0, 3, NO_ADDRESS)), [1, HALF, 0, 0, 0]),
        (AddressVector("w", 1, 4, (0, 3, NO_ADDRESS)), [0, Fraction(14, 16), 0, 0, 0]),
        (OffsetFeature(2, I), [0, 0, 0, 1, 2]),
        (OffsetFeature(1, Bit(0, signed=True)), [0, -1, 1, -1, 1]),
        (ShareAfterStart(), [0, Fraction(1, 5), Fraction(1, 5), Fraction(1, 5), Fraction(1, 5)]),
    ],
    ids=repr,
)
def test_features_have_the_values_that_their_names_say(item: Feature, values: list[Fraction]) -> None:
    assert [item.at(i, 4) for i in range(5)] == values


def test_products_and_powers_of_monomials_are_those_of_their_values() -> None:
    for i, n in ((1, 3), (2, 7), (5, 5)):
        for one in (I, I_PLUS_ONE, N, N_PLUS_ONE, REMAINING):
            for other in (3 * I, HALF * I_PLUS_ONE, 1 / N_PLUS_ONE):
                assert (one * other).at(i, n) == one.at(i, n) * other.at(i, n)
            assert (one**3).at(i, n) == one.at(i, n) ** 3
            assert (5 / one).at(i, n) == 5 / one.at(i, n)


def test_a_feature_without_a_value_says_so() -> None:
    """Padding stands beyond position n, where 1/(n-i+1) has a pole."""
    with pytest.raises(ConstructionError, match=r"1/\(n-i\+1\) has no value at i = 5, n = 4"):
        (1 / REMAINING).at(5, 4)


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


# Bounds


def test_bounds_are_polynomials_that_add_multiply_and_print() -> None:
    n = Polynomial(0, 1)
    square = n * n + Polynomial(2)
    assert [square.at(k) for k in range(4)] == [2, 3, 6, 11]
    assert str(square) == "n^2+2"
    assert str(n * 3) == "3n"
    assert str(Polynomial(0)) == "0"
    assert str(n * n * n) == "n^3"
    assert n.is_coefficientwise_at_most(square + n)
    assert not n.is_coefficientwise_at_most(square)


def test_a_join_is_above_and_a_meet_is_below_both() -> None:
    one, other = Polynomial(3, -1), Polynomial(-2, 2, 1)
    for n in range(20):
        assert one.upper_bound(other).at(n) >= max(one.at(n), other.at(n))
        assert one.lower_bound(other).at(n) <= min(one.at(n), other.at(n))
