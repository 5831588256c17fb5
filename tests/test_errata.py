"""What the papers print and where it goes wrong: counterexamples of ``docs/errata.md`` that need no transformer.

Each computes what is printed, shows where it fails, and computes the repair beside it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise, product
from math import exp, log, sqrt
from pathlib import Path

import numpy as np
import pytest

import softmachine as sm
from softmachine.arithmetic import Tensor, arithmetic
from softmachine.arithmetic.fixed_point import FixedPoint

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "errata.md"


# "Simulating Hard Attention Using Soft Attention"

LEFT, RIGHT = "([", ")]"


def dyck_by_appendix_e(word: str, read: Callable[[int, int], int]) -> bool:
    """The program for Dyck-2; ``read`` says which symbol the prefix sums over j ≤ i add up, given i and j."""
    d: list[int] = []
    good = verdict = True
    for i, symbol in enumerate(word):
        lefts = sum(word[read(i, j)] in LEFT for j in range(i + 1))
        rights = sum(word[read(i, j)] in RIGHT for j in range(i + 1))
        d.append(lefts - rights + (symbol in RIGHT))
        partner = next((word[j] for j in reversed(range(i)) if d[j] == d[i]), "?")
        mismatch = symbol in RIGHT and partner + symbol not in ("()", "[]")
        good = good and not (rights > lefts or mismatch)
        verdict = good and lefts == rights
    return verdict


def nested(word: str) -> bool:
    before = None
    while before != word:
        before, word = word, word.replace("()", "").replace("[]", "")
    return not word


def test_the_prefix_sums_of_appendix_e_must_read_at_j() -> None:
    """As printed they add up left(in(i)), so that even () is rejected; with left(in(j)) every word is right."""
    assert not dyck_by_appendix_e("()", lambda i, j: i)
    words = ["".join(letters) for n in range(1, 7) for letters in product("()[]", repeat=n)]
    assert [word for word in words if dyck_by_appendix_e(word, lambda i, j: j) != nested(word)] == []


def test_the_proof_of_lemma_27_needs_two_preimages_of_every_output() -> None:
    """Rounding 3 bits to 2, ties to even: 1 has one preimage, and one affine piece serves two consecutive outputs."""
    points = [Fraction(k, 2) for k in range(8)]
    rounded = {x: min(round(x), 3) for x in points}
    first = {y: min(x for x in points if rounded[x] == y) for y in range(4)}
    empty = [(y, z) for y, z in pairwise(range(4)) if not any(first[y] < x < first[z] for x in points)]
    assert empty == [(1, 2)]
    # The printed proof puts these two in different pieces. They are in the same one, x ↦ 2x - 1.
    assert all(rounded[x] == 2 * x - 1 for x in (first[1], first[2]))
    # Every other output has several preimages, so that half as many pieces are needed for sure.
    assert all(len([x for x in points if rounded[x] == y]) > 1 for y in (0, 2))


def test_parity_is_odd_in_one_paper_and_even_in_the_others() -> None:
    """Both formulas of 003 say "odd"; the chain of thought of the C-RASP paper says "even"; ours are named by it."""
    formulas = [sm.compile(text, alphabet="01") for text in ("odd(#<[Q_1])", "#<[#<[prev Q_1] = #>[Q_1]] = 0")]
    thinks = sm.compile("parity-crasp")
    for word in ("".join(letters) for n in range(1, 5) for letters in product("01", repeat=n)):
        odd = word.count("1") % 2 == 1
        assert [sm.run(model, word).accepted for model in formulas] == [odd, odd]
        assert sm.run(thinks, word.replace("1", "a").replace("0", "b")).accepted == (not odd)
    for name, one, two in [("parity", "1", "11"), ("parity-formula", "1", "11"), ("parity-counter", "a", "aa")]:
        assert (sm.run(name, one).accepted, sm.run(name, two).accepted) == (True, False)
    assert [sm.run("parity-8", bits).output for bits in ("10000000", "11000000")] == ["1", "0"]


# "Revisiting Padded Transformer Expressivity"


def signed_bits(number: int, width: int) -> list[int]:
    return [1 if number >> k & 1 else -1 for k in range(width)]


def score(target: int, key: int, width: int, step: int, numbers: FixedPoint) -> int:
    """Lemma B.3's score in units, terms interleaved; every addition saturates."""
    total = 0
    for wanted, bit in zip(signed_bits(target, width), signed_bits(key, width), strict=True):
        for term in (step * wanted * bit, -step):
            total = max(-numbers.limit, min(numbers.limit, total + term))
    return total


@pytest.mark.parametrize(
    ("bits", "m", "one_hot"), [(4, 2, True), (4, 8, True), (4, 16, False), (2, 3, True), (2, 8, False)]
)
def test_lemma_b_3_does_not_say_what_m_is_and_not_all_serve(bits: int, m: int, one_hot: bool) -> None:
    """With B_F/m too small the exponential of a mismatch is not rounded to 0, so that attention is not one-hot."""
    numbers = FixedPoint(bits)
    step = numbers.units(numbers.largest / m)
    scores = [score(3, key, 3, step, numbers) for key in range(8)]
    assert scores[3] == 0
    powers = [numbers.units(Fraction(exp(units * numbers.unit))) for units in scores]
    assert all(power == 0 for key, power in enumerate(powers) if key != 3) == one_hot
    assert one_hot == (2 * step * numbers.unit > log(2) * (bits + 1))


def test_the_bound_of_lemma_b_3_is_false_for_m_1() -> None:
    """No number of F_b is as small as -2 B_F."""
    numbers = FixedPoint(3)
    worst = min(score(3, key, 3, numbers.limit, numbers) for key in range(8))
    assert worst == -numbers.limit > -2 * numbers.limit


def test_lemma_b_7_needs_the_address_of_the_position_before_not_of_the_last_but_one() -> None:
    """By B(N-1) all positions look at the same one; by B(n-1) each looks at the one before it."""
    count, width = 8, 3

    def seen_by(address: Callable[[int], int]) -> list[int]:
        queries = [signed_bits(address(n), width) for n in range(1, count)]
        keys = [signed_bits(j, width) for j in range(count)]
        return [int(np.argmax(np.dot(keys, query))) for query in queries]

    before = list(range(count - 1))
    assert seen_by(lambda n: n - 1) == before
    assert sum(x == y for x, y in zip(seen_by(lambda n: count - 1), before, strict=True)) == 0


@pytest.mark.parametrize("m", [1, 1 << 10, 1 << 20])
def test_without_the_offset_coordinate_of_lemma_4_1_every_exponential_saturates(m: int) -> None:
    """q = (B_F/m) μ(t), k = μ(n), N = 16, b = 30: all weights are equal. With the offset only the target is at 0."""
    largest, count = float(FixedPoint(30).largest), 16
    mu = [(sqrt(1 / n), sqrt(1 - 1 / n)) for n in range(1, count + 1)]
    for t in mu:
        products = [t[0] * k[0] + t[1] * k[1] for k in mu]
        assert min(products) * largest / m > log(largest)
        offset = [(x - 1) * largest / m for x in products]
        assert sorted(offset)[-1] == pytest.approx(0, abs=1e-6)
        assert m > 1 or all(value < -log(2) * 31 for value in sorted(offset)[:-1])


def test_an_average_that_counts_all_keys_is_not_of_constant_depth_one_that_saturates_is() -> None:
    """Lemma 4.2: rounded once, k/n is 1/2 or more iff k ≥ 3n/8, a threshold. Ours depends on a few keys only."""
    numbers, here = FixedPoint(2), arithmetic("fixed:2")
    for n in (16, 64):
        exact = [numbers.quotient(k, n) * numbers.unit >= Fraction(1, 2) for k in range(n + 1)]
        assert exact == [8 * k >= 3 * n for k in range(n + 1)]
        ours = []
        for k in range(n + 1):
            values = here.numbers([[Fraction(int(j < k))] for j in range(n)])
            chosen = np.ones((1, 1, n), dtype=bool)
            ours.append(here.mean(chosen, Tensor(values.value[None])).value.ravel()[0])
        assert ours == [ours[min(k, 4)] for k in range(n + 1)]


# The page


def test_lemma_29_forgets_biases() -> None:
    """d = 1, weights and biases at most 1/2, x_max = 1: after a layer (dp)³dx = 1/8 at most; a bias alone gives 1/2."""
    largest, first, second, bias = Fraction(1, 2), Fraction(0), Fraction(0), Fraction(1, 2)
    for x in (Fraction(0), Fraction(1)):
        after = second * max(first * x + bias, Fraction(0)) + bias
        assert abs(after) > (1 * largest) ** 3 * 1 * 1


def softmax_error(scores: list[float], temperature: float) -> float:
    """‖t - softmax(s)‖₁, where t is 1 at the first score."""
    weights = [exp((score - scores[0]) / temperature) for score in scores]
    return 2 * sum(weights[1:]) / sum(weights)


def test_the_exponent_of_d_4_has_the_wrong_sign() -> None:
    """γ = 1 and scores off by 2/5, τ = 1/10: the error is above 2n e^(-(γ + 2ε)/τ), below 2n e^((-γ + 2ε)/τ)."""
    gap, off, temperature = 1.0, 0.4, 0.1
    error = softmax_error([-off, -gap + off], temperature)
    assert 2 * 2 * exp(-(gap + 2 * off) / temperature) < error <= 2 * 2 * exp((-gap + 2 * off) / temperature)


def test_with_the_factor_that_proofs_drop_a_temperature_is_too_high() -> None:
    """n = 4 keys, a gap of 1, an error of 1/100 at most by Lemma 33; scores over √d_k for d_k = 4 have half the gap."""
    temperature = 1 / log(2 * 4 / 0.01)
    assert softmax_error([0, -1, -1, -1], temperature) <= 0.01 < softmax_error([0, -0.5, -0.5, -0.5], temperature)


def test_the_largest_number_less_nothing_is_the_largest_number() -> None:
    """A.1 says B_F - x ≠ B_F for x that are not negative; 0 is not."""
    for bits in range(1, 6):
        numbers = FixedPoint(bits)
        assert numbers.units(numbers.largest - 0) * numbers.unit == numbers.largest
        assert numbers.units(numbers.largest - numbers.unit) * numbers.unit != numbers.largest


def test_one_coordinate_does_not_count_turns_in_constant_precision() -> None:
    """Theorem C.1 counts iterations in a coordinate: in F_2 it stops at 15/4, so that from turn 4 on all look alike."""
    numbers = FixedPoint(2)
    counter, seen = Fraction(0), []
    for _ in range(8):
        counter = numbers.units(counter + 1) * numbers.unit
        seen.append(counter)
    assert seen[:4] == [1, 2, 3, Fraction(15, 4)]
    assert set(seen[3:]) == {Fraction(15, 4)}


def test_every_test_that_the_page_names_is_there() -> None:
    page = PAGE.read_text(encoding="utf-8")
    sources = "\n".join(file.read_text(encoding="utf-8") for file in HERE.rglob("test_*.py"))
    named = set(re.findall(r"`(test_\w+)`", page))
    assert len(named) > 15
    assert {name for name in named if f"def {name}(" not in sources} == set()
    paths = re.findall(r"`(tests/[\w/.]+)`", page)
    assert [path for path in paths if not (HERE.parent / path).exists()] == []


def test_every_row_says_what_is_done_and_what_tests_it() -> None:
    rows = [line.split(" | ") for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    told = [row for row in rows if row[0] != "| where"]
    assert len(told) > 40
    for row in told:
        assert len(row) == 4, row
        assert all(cell.strip("| ") not in ("", "–") for cell in row[2:]), row
