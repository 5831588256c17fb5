"""What the papers print and where it goes wrong: counterexamples of ``docs/errata.md`` that need no transformer.

Each computes what is printed, shows where it fails, and computes the repair beside it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise, product
from math import ceil, exp, log, sqrt
from pathlib import Path

import numpy as np
import pytest

import softmachine as sm
from softmachine.compiler.rewrites.fixed_point_softmax import min_attention_bits, min_scale
from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.numerics import Tensor, find_arithmetic
from softmachine.engines.numerics.fixed_point_array import FixedPointFormat
from softmachine.support.errors import AmbiguousTokenError

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "errata.md"


# Chapter 8, "Transformers with intermediate steps"


def symbols_under_the_head(prompt: list[str], actions: list[tuple[str, int]], *, leftmost: bool) -> list[str]:
    """Step 3 for every row of a table; the test for ⊥ reads b⁽ʲ⁾ at j*, or at the leftmost j with the same cell.

    Args:
        prompt: The input symbols and BOS.
        actions: What the later rows hold: b⁽ⁱ⁻¹⁾ and m⁽ⁱ⁻¹⁾.
        leftmost: Which j is tested.
    """
    moves = [0] * len(prompt) + [move for _, move in actions]
    written = [None] * (len(prompt) - 1) + [symbol for symbol, _ in actions]
    cells = [sum(moves[: i + 1]) for i in range(len(moves))]
    under = []
    for i, cell in enumerate(cells):
        same = [j for j in range(i) if cells[j] == cell]
        tested = written[same[0 if leftmost else -1]] if same else None
        found = written[same[-1]] if tested is not None else prompt[cell] if prompt[cell] != "BOS" else "_"
        under.append(found or "⊥")
    return under


def test_step_3_must_test_the_write_that_it_returns() -> None:
    """Printed: "if j* exists and b⁽ʲ⁾ ≠ ⊥"; only b at j* gives the column a⁽ⁱ⁾ of the table for Example 4.10."""
    actions = [("1", 0), ("_", 1), ("x", 1), ("_", -1), ("x", -1), ("_", 1)]
    assert symbols_under_the_head(["1", "1", "BOS"], actions, leftmost=False) == list("11111_x_x")
    assert symbols_under_the_head(["1", "1", "BOS"], actions, leftmost=True) != list("11111_x_x")


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


def retrieved(count: int, visible: int, gamma: float) -> float:
    """What the lookup of Lemma 7 returns for a count among positions 1, …, visible."""
    weights = [exp(-gamma * (j - count) ** 2) for j in range(1, visible + 1)]
    return sum(j * weight for j, weight in enumerate(weights, 1)) / sum(weights)


def test_the_error_bound_of_theorem_20_needs_absolute_values() -> None:
    """#[φ₁] - #[φ₂] with counts 1 and 4 at i = n = 4: printed, the bound |Σ c_k|/(4C) is 0, and the error is not."""
    counts, factors = (1, 4), (1, -1)
    total = sum(map(abs, factors))
    found = [retrieved(count, 4, 3 * total) for count in counts]
    error = abs(sum(factor * (h - count) for factor, h, count in zip(factors, found, counts, strict=True)))
    assert abs(sum(factors)) / (4 * total) == 0 < error <= total / (4 * total)


def test_the_error_bound_of_theorem_20_adds_right_counts() -> None:
    """Left and right count 1 at i = 2 of n = 3: H is near their sum, as the formula asks, not near the difference."""
    left, right = (retrieved(1, 3, 3 * 2 * 3 / 2) for _ in range(2))
    assert abs(left + right - (1 + 1)) <= 1 / 4 < abs(left + right - (1 - 1))


def test_a_masked_lookup_does_not_find_right_counts() -> None:
    """n = 6: count 1 at i = 6 is not visible with past masking, count 5 at i = 1 not with future masking."""

    def found(count: int, visible: range) -> int:
        return max(visible, key=lambda j: 2 * count * j - j * j)

    assert found(1, range(6, 7)) == 6
    assert found(5, range(1, 2)) == 1
    assert [found(count, range(1, 7)) for count in range(1, 7)] == [1, 2, 3, 4, 5, 6]


def fewest_pieces(points: list[tuple[Fraction, int]]) -> int:
    """How many affine pieces a function through points has at least, continuous or not: runs of points on a line."""
    pieces, first = 0, 0
    while first < len(points):
        (x, y), last = points[first], first + 1
        while last < len(points):
            (u, v), (s, t) = points[first + 1], points[last]
            if (t - y) * (u - x) != (v - y) * (s - x):
                break
            last += 1
        pieces, first = pieces + 1, last
    return pieces


def test_the_proof_of_lemma_27_finds_no_number_between_two_least_preimages() -> None:
    """Rounding 3 bits to 2, ties to even: the least preimages of 1 and 2 are neighbours and lie in one piece."""
    points = [Fraction(k, 2) for k in range(8)]
    rounded = {x: min(round(x), 3) for x in points}
    least = {y: min(x for x in points if rounded[x] == y) for y in range(4)}
    empty = [(y, z) for y, z in pairwise(range(4)) if not any(least[y] < x < least[z] for x in points)]
    assert empty == [(1, 2)]
    assert fewest_pieces([(x, rounded[x]) for x in points if least[1] <= x <= least[2]]) == 1


@pytest.mark.parametrize("bits", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("more", [1, 2])
def test_rounding_fixed_point_numbers_takes_as_many_pieces_as_lemma_27_claims(bits: int, more: int) -> None:
    """2^p, because y, y + 1/2 and y + 1 are never on one line."""
    points = [(x := Fraction(k, 1 << more), min(round(x), (1 << bits) - 1)) for k in range(1 << bits + more)]
    assert fewest_pieces(points) == 1 << bits
    at = dict(points)
    assert all(2 * at[y + Fraction(1, 2)] != at[y] + at[y + 1] for y in map(Fraction, range((1 << bits) - 1)))


def test_lemma_27_fails_where_no_number_lies_between_two_outputs() -> None:
    """64 inputs (6 bits) to 0, …, 31 (5 bits): two units in one hidden layer round them, and (2·2)² < 2⁵."""
    inputs = [Fraction(k) for k in range(32)] + [Fraction(k, 128) for k in range(1, 33)]
    assert len(set(inputs)) == 64

    def network(x: Fraction) -> Fraction:
        return Fraction(4, 3) * max(x - Fraction(1, 4), Fraction(0)) - Fraction(1, 3) * max(x - 1, Fraction(0))

    assert all(network(x) == round(x) for x in inputs)


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


def score(target: int, key: int, width: int, step: int, numbers: FixedPointFormat) -> int:
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
    numbers = FixedPointFormat(bits)
    step = numbers.round(numbers.largest / m)
    scores = [score(3, key, 3, step, numbers) for key in range(8)]
    assert scores[3] == 0
    powers = [numbers.round(Fraction(exp(units * numbers.unit))) for units in scores]
    assert all(power == 0 for key, power in enumerate(powers) if key != 3) == one_hot
    assert one_hot == (2 * step * numbers.unit > log(2) * (bits + 1))


def test_the_bound_of_lemma_b_3_is_false_for_m_1() -> None:
    """No number of F_b is as small as -2 B_F."""
    numbers = FixedPointFormat(3)
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
    largest, count = float(FixedPointFormat(30).largest), 16
    mu = [(sqrt(1 / n), sqrt(1 - 1 / n)) for n in range(1, count + 1)]
    for t in mu:
        products = [t[0] * k[0] + t[1] * k[1] for k in mu]
        assert min(products) * largest / m > log(largest)
        offset = [(x - 1) * largest / m for x in products]
        assert sorted(offset)[-1] == pytest.approx(0, abs=1e-6)
        assert m > 1 or all(value < -log(2) * 31 for value in sorted(offset)[:-1])


def test_an_average_that_counts_all_keys_is_not_of_constant_depth_one_that_saturates_is() -> None:
    """Lemma 4.2: rounded once, k/n is 1/2 or more iff k ≥ 3n/8, a threshold. Ours depends on a few keys only."""
    numbers, here = FixedPointFormat(2), find_arithmetic("fixed:2")
    for n in (16, 64):
        exact = [numbers.round_quotient(k, n) * numbers.unit >= Fraction(1, 2) for k in range(n + 1)]
        assert exact == [8 * k >= 3 * n for k in range(n + 1)]
        ours = []
        for k in range(n + 1):
            values = here.convert([[Fraction(int(j < k))] for j in range(n)])
            chosen = np.ones((1, 1, n), dtype=bool)
            ours.append(here.average(chosen, Tensor(values.value[None])).value.ravel()[0])
        assert ours == [ours[min(k, 4)] for k in range(n + 1)]


def test_the_constants_of_corollary_b_1_fail_for_3_to_9_positions() -> None:
    """With the factor N⁵ and b = ⌈6 log₂ N⌉ the second best score is above -ln 2 · (b + 1), where exp rounds to 0."""
    failing = []
    for count in range(2, 20):
        mu = [(sqrt(1 / n), sqrt(1 - 1 / n)) for n in range(1, count + 1)]
        second = max(count**5 * (s[0] * t[0] + s[1] * t[1] - 1) for s in mu for t in mu if s != t)
        if second > -log(2) * (ceil(6 * log(count, 2)) + 1):
            failing.append(count)
    assert failing == [3, 4, 5, 6, 7, 8, 9]


@pytest.mark.parametrize("count", [16, 64])
def test_the_weights_of_lemma_4_1_grow_with_the_length(count: int) -> None:
    """Section 6: only activations need growing precision. With weights of F_4, softmax hardly prefers the target."""
    largest = float(FixedPointFormat(4).largest)
    mu = [(sqrt(1 / n), sqrt(1 - 1 / n)) for n in range(1, count + 1)]
    target, other = mu[-1], mu[-2]
    nearness = 1 - (target[0] * other[0] + target[1] * other[1])
    assert exp(-largest * largest * nearness) > 0.9  # The largest weights of F_4 in queries and in keys.
    assert exp(-(count**5) * nearness) < 2 ** -(6 * log(count, 2) + 1)  # The factor N⁵ of Corollary B.1.
    assert count**5 > largest


def test_lemma_25_does_not_hold_for_tied_keys_with_errors_and_does_without() -> None:
    """Two tied keys with values 0 and 1: any error ε ≫ τ of a score moves the average 1/2 to 0; no error keeps it."""
    for k in range(2, 8):
        error, temperature = 10.0**-k, 10.0 ** -(2 * k)
        weight = exp(-error / temperature) / (1 + exp(-error / temperature))
        bound = 10 * (error + 2 * exp((-1 + 2 * 10 * error) / temperature))  # K₁ = K₂ = 10, γ = 1
        assert abs(weight - 1 / 2) > 0.49 > bound
    weights = [exp(score / 0.01) for score in (0, 0, -1)]
    assert abs(weights[0] / sum(weights) - 1 / 2) <= 2 * 3 * exp(-1 / 0.01)


def least_inverse_temperature(bits: int, count: int, x_max: Fraction) -> float:
    """The right-hand side of (34) in Lemma 3.1 for the least gap γ = 2⁻ᵇ and K₁ = K₂ = 1."""
    return float(2**bits * log(2 ** (bits + 2) * x_max * count))


@pytest.mark.parametrize("bits", range(1, 13))
@pytest.mark.parametrize("count", [1, 2, 16, 1024])
def test_the_temperature_of_lemma_3_1_is_not_in_f_b(bits: int, count: int) -> None:
    """By (34), 1/τ > 2ᵇ even for the smallest x_max: τ is below 2⁻ᵇ, and 1/τ is above B_F. F_b' has both of ours."""
    numbers = FixedPointFormat(bits)
    for x_max in (numbers.unit, Fraction(1), numbers.largest):
        inverse = least_inverse_temperature(bits, count, x_max)
        assert inverse > 2**bits > numbers.largest
        power = Fraction(1 << ceil(log(inverse, 2)))
        assert not numbers.contains(power)
        assert not numbers.contains(1 / power)
    inside = min_attention_bits(bits, count)
    ours = Fraction(min_scale(bits, inside))
    assert FixedPointFormat(inside).contains(ours)
    assert FixedPointFormat(inside).contains(1 / ours)


@pytest.mark.parametrize("bits", [1, 2, 4, 8])
def test_no_temperature_rounds_an_average_at_a_midpoint_as_lemma_3_1_claims(bits: int) -> None:
    """Tied values 1 and 0, a value below the maximum by 2⁻ᵇ: the average is 1/2 unit, and softmax is beside it."""
    numbers = FixedPointFormat(bits)

    def rounded(weight: Fraction, third: int) -> int:
        """The average of 1 unit and 0 with weight 1 and of a third value, in units."""
        return numbers.round((1 + weight * third) / (2 + weight) * numbers.unit)

    half = numbers.unit / 2
    assert not numbers.contains(half)
    hard = [rounded(Fraction(0), third) for third in (0, 1)]
    assert hard == [1, 1]
    inverse = 1 << ceil(log(least_inverse_temperature(bits, 3, numbers.largest), 2))
    for times in (1, 2, 4, 8):
        weight = Fraction(exp(-times * inverse / 2**bits))
        error = half - numbers.unit / (2 + weight)
        assert 0 < error < numbers.unit / 4  # As step 3 asks.
        assert [rounded(weight, third) for third in (0, 1)] == [0, 1]
    inside = min_attention_bits(bits, 3)
    weight = Fraction(exp(-min_scale(bits, inside) / 2**bits))
    assert weight > 0
    assert FixedPointFormat(inside).round(weight) == 0  # The repair: both models average with weight 0.


@pytest.mark.parametrize("bits", range(3, 20))
def test_layer_norm_amplifies_the_rounding_error_of_lemma_3_1_beyond_half_a_unit(bits: int) -> None:
    """ε = 2⁻ᵇ: the slope of the layer norm of (x, -x) at 0 is 2^(b/2), and 2^-(b+2) from (ii) rounds to more than 0.

    An error of 2^-(b+2) / K₂ stays below 2^-(b+1), for K₂ = 2^(b/2).
    """

    def norm(x: float) -> float:
        return x / sqrt(x * x + 2.0**-bits)

    lipschitz = 2 ** (bits / 2)
    tiny = 2.0**-60
    assert norm(tiny) / tiny == pytest.approx(lipschitz)
    allowed = 2.0 ** -(bits + 2)
    numbers = FixedPointFormat(bits)
    assert norm(allowed) > 2.0 ** -(bits + 1)
    assert numbers.round(Fraction(norm(allowed))) != numbers.round(Fraction(norm(0))) == 0
    assert norm(allowed / lipschitz) < 2.0 ** -(bits + 1)
    assert numbers.round(Fraction(norm(allowed / lipschitz))) == 0


@pytest.mark.parametrize("count", [2, 8, 30, 60])
def test_attention_bits_stay_linear_for_polynomial_precision(count: int) -> None:
    """b = N and b = N²: keys below the maximum vanish, sums do not saturate, and b' - b is about log₂ b or log₂ N."""
    for bits in (count, count**2):
        inside = min_attention_bits(bits, count)
        scale = min_scale(bits, inside)
        assert Fraction(scale, 1 << bits) > log(2) * (inside + 1)
        assert FixedPointFormat(inside).contains(Fraction(scale))
        assert count * FixedPointFormat(bits).largest <= FixedPointFormat(inside).largest
        assert inside <= bits + max(ceil(log(count, 2)), ceil(log(bits, 2)) + 3) <= 3 * bits


PRINTED_EXAMPLE = "X X X AND &000 #010 &001 #010 OR &011 #100 &010 #100"
"""Example C.1, (x₁ ∧ x₂) ∨ x₃, equation (44)."""


def arguments_of_the_printed_example() -> list[tuple[int, int]]:
    """The pairs (address of the argument, address of the gate)."""
    return [(int(source, 2), int(gate, 2)) for source, gate in re.findall(r"&(\d+) #(\d+)", PRINTED_EXAMPLE)]


def test_example_c_1_gives_one_address_to_two_nodes_and_another_to_none() -> None:
    """010 is x₃ and AND, 011 is nothing: whichever of the two 010 is read as, the circuit is another one."""
    inputs = range(PRINTED_EXAMPLE.count("X"))
    both, either = dict.fromkeys(gate for _, gate in arguments_of_the_printed_example())
    assert [address for address in (both, either) if address in inputs] == [both] == [0b010]
    pointed = {source for source, _ in arguments_of_the_printed_example()}
    assert pointed - {*inputs, both, either} == {0b011}
    wrong: dict[str, list[str]] = {"x3": [], "AND": []}
    for bits in product("01", repeat=3):
        one, two, three = (bit == "1" for bit in bits)
        for reading, value in (("x3", three), ("AND", one and two)):
            if value != ((one and two) or three):
                wrong[reading].append("".join(bits))
    assert wrong == {"x3": ["110"], "AND": ["001", "011", "101"]}


def test_the_evaluator_on_example_c_1_as_printed() -> None:
    """In exact arithmetic it is undecided on 001 and 101, wrong on 110, and right on the other inputs."""
    length, width = 61, 6
    engine = DenseEngine(
        sm.compile("and-or", theorem="circuit-evaluator", attention="hard", length=length).weights, "exact"
    )
    pairs = [
        ["&", *format(source, f"0{width}b"), "#", *format(gate, f"0{width}b")]
        for source, gate in arguments_of_the_printed_example()
    ]
    found = {}
    for word in map("".join, product("01", repeat=3)):
        tokens = [*(f"x={bit}" for bit in word), "AND", *pairs[0], *pairs[1], "OR", *pairs[2], *pairs[3]]
        try:
            said = engine.predict([[*tokens, *["□"] * (length - len(tokens))]], length)[0]
            found[word] = said[tokens.index("OR")]
        except AmbiguousTokenError:
            found[word] = "undecided"
    assert [word for word, value in found.items() if value == "undecided"] == ["001", "101"]
    right = {word: "true" if "11" in word[:2] or word[2] == "1" else "false" for word in found}
    assert [word for word, value in found.items() if value not in (right[word], "undecided")] == ["110"]


def fields_of_41(n: int, count: int) -> tuple[int, ...]:
    """The numbers whose bits are the position encoding (41), with as many bits as they need."""
    padding = max(0, n - count**2)
    return n, n % count, n // count, padding, padding % count, padding // count**2


@pytest.mark.parametrize("count", [3, 5, 7, 9])
def test_no_field_of_41_holds_the_middle_vertex(count: int) -> None:
    """At the padding position of (i, k, j), no field is k; for odd N, no bit of a field is a bit of k either."""
    triples = list(product(range(count), repeat=3))
    rows = [fields_of_41(count**2 + (i * count + k) * count + j, count) for i, k, j in triples]
    columns = list(zip(*rows, strict=True))
    middle, first, last = ([triple[place] for triple in triples] for place in (1, 0, 2))
    assert list(columns[5]) == first
    assert list(columns[4]) == last
    assert middle not in [list(column) for column in columns]
    bits = {tuple(number >> b & 1 for number in column) for column in columns for b in range(3 * count)}
    for b in range((count - 1).bit_length()):
        wanted = tuple(k >> b & 1 for k in middle)
        assert not bits & {wanted, tuple(1 - bit for bit in wanted)}


def test_the_padding_fields_of_41_match_inputs_as_well() -> None:
    """n′ is 0 at all inputs and at the padding position of (0, 0, 0): its three fields are equal there."""
    count = 4
    assert {fields_of_41(n, count)[3:] for n in range(count**2 + 1)} == {(0, 0, 0)}


def test_the_largest_number_less_nothing_is_the_largest_number() -> None:
    """A.1 says B_F - x ≠ B_F for x that are not negative; 0 is not."""
    for bits in range(1, 6):
        numbers = FixedPointFormat(bits)
        assert numbers.round(numbers.largest - 0) * numbers.unit == numbers.largest
        assert numbers.round(numbers.largest - numbers.unit) * numbers.unit != numbers.largest


def test_one_coordinate_does_not_count_turns_in_constant_precision() -> None:
    """Theorem C.1 counts iterations in a coordinate: in F_2 it stops at 15/4, so that from turn 4 on all look alike."""
    numbers = FixedPointFormat(2)
    counter, seen = Fraction(0), []
    for _ in range(8):
        counter = numbers.round(counter + 1) * numbers.unit
        seen.append(counter)
    assert seen[:4] == [1, 2, 3, Fraction(15, 4)]
    assert set(seen[3:]) == {Fraction(15, 4)}


# The page


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
