"""Families of transformers: padding, several loops, tables of positions, and how they grow."""

from __future__ import annotations

from fractions import Fraction

import pytest

from softmachine.compiler import compile_program
from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.dense.weight_names import min_fixed_point_bits
from softmachine.ir import Signal, attend, constant, loop, named, position, recogniser, relu, stack
from softmachine.ir.gadgets import all_of
from softmachine.ir.primitives import token
from softmachine.ir.ranges import BIT
from softmachine.studies.measure.growth import measure_family
from softmachine.studies.measure.growth_laws import find_closed_form
from softmachine.support.errors import UsageError
from softmachine.theorems.codec import Prompt
from softmachine.transformer.attention import Mask
from softmachine.transformer.features import Logarithm, ceil_log2
from softmachine.transformer.table_features import TableFeature
from softmachine.transformer.weights import Transformer

PAD = "□"
TOKENS = ("0", "1", PAD)


def palindromes(n: int) -> Transformer:
    """Palindromes of n bits, for one length: each padding token compares a pair of bits given by a table.

    The padding token of a pair reads both bits by binary pointers and computes whether they differ; the last position
    computes whether some pair differs.
    """
    bits = max(1, ceil_log2(n))
    symbol = token("symbol", {t: (int(t == "1"), int(t == PAD)) for t in TOKENS}, labels=("one", "pad"))
    pairs = [(i, n - 1 - i) for i in range(n)]

    def pointer(name: str, places: list[int]) -> Signal:
        bit = [[2 * (place >> k & 1) - 1 for place in places] for k in range(bits)]
        return stack(
            *(position(TableFeature(f"{name} {k}", tuple(map(Fraction, column)))) for k, column in enumerate(bit))
        )

    own, target = pointer("own", [*range(n), *range(n)]), pointer("target", [*range(n), *(j for _, j in pairs)])
    key = stack(own, -4 * bits * symbol["pad"])
    one = constant(1)
    there = attend("partner", query=stack(target, one), key=key, value=symbol["one"], mask=Mask.ALL, single_key=True)
    here = attend("own bit", query=stack(own, one), key=key, value=symbol["one"], mask=Mask.ALL, single_key=True)
    differ = (relu("more", here - there) + relu("less", there - here)).with_range(BIT)
    found = attend("some differ", value=all_of("pad differs", symbol["pad"], differ), mask=Mask.ALL)
    same = named("same", relu("none differ", 1 - 64 * found).with_range(BIT))
    return compile_program(recogniser(f"palindromes {n}", TOKENS, same))


def prompt(word: str) -> Prompt:
    return Prompt((*word, *[PAD] * len(word)), len(word))


def accepts(transformer: Transformer, word: str, arithmetic: str) -> bool:
    given = prompt(word)
    return DenseEngine(transformer, arithmetic).predict([given.tokens], given.length)[0][-1] == "true"


@pytest.mark.parametrize("arithmetic", ["exact", "fixed:8", "fixed:8:16"])
def test_a_padded_family_with_tables_recognises_palindromes(arithmetic: str) -> None:
    for n in (1, 2, 3, 4, 5, 6):
        transformer = palindromes(n)
        for number in range(2**n):
            word = f"{number:0{n}b}"
            assert accepts(transformer, word, arithmetic) == (word == word[::-1]), word


def doubling(n: int) -> Transformer:
    """Two loops, each with its own number of iterations."""
    del n
    bit = token("symbol", {t: (int(t == "1"),) for t in TOKENS})
    spread = loop(
        "spread",
        iterations=Logarithm(of_length=True),
        initial=named("bit", bit),
        body=lambda x: attend("see", value=x, mask=Mask.ALL, single_key=True),
    )
    again = loop("again", iterations=3, initial=spread, body=lambda x: relu("keep", x).with_range(BIT))
    return compile_program(recogniser("doubling", TOKENS, again))


def test_loops_are_measured_each_by_itself() -> None:
    growth = measure_family(doubling, [2, 3, 4, 8, 16, 17, 32], padding=lambda n: n * n)
    assert str(growth["iterations of spread"]) == "⌈log₂ n⌉"
    assert str(growth["iterations of again"]) == "3"
    assert len(set(growth["width"].values)) == 1
    assert str(growth["padding"]) == "n²"
    layers = {block.name: len(block.layers) for block in doubling(1).blocks}
    for n, depth in zip(growth["depth"].lengths, growth["depth"].values, strict=True):
        assert depth == layers.get("", 0) + layers["spread"] * ceil_log2(n) + layers["again"] * 3


def test_a_family_is_measured_as_it_is() -> None:
    growth = measure_family(palindromes, range(2, 20), padding=lambda n: n, precision=lambda _: 8)
    width = growth["width"]
    for n, value in zip(width.lengths, width.values, strict=True):
        assert value == palindromes(n).width
        assert width.formula is not None
        assert width.formula.evaluate(n) == value
    assert "⌈log₂ n⌉" in str(width)
    assert len(set(growth["depth"].values)) == 1
    assert str(growth["padding"]) == "n"
    assert [q.name for q in growth.quantities] == ["depth", "layers", "width", "precision", "volume", "padding"]
    assert growth["volume"].values == tuple(8 * value for value in width.values)
    assert str(growth).endswith("measured for n = 2, 3, …, 19")


def test_weights_have_a_least_precision() -> None:
    transformer = palindromes(4)
    bits = min_fixed_point_bits(transformer)
    assert bits == 7  # the weight 64
    DenseEngine(transformer, f"fixed:{bits}")
    with pytest.raises(Exception, match="64"):
        DenseEngine(transformer, f"fixed:{bits - 1}")


def test_a_growth_needs_a_length() -> None:
    with pytest.raises(UsageError):
        measure_family(doubling, [])


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda n: 7, "7"),
        (lambda n: 0, "0"),
        (lambda n: 3 * n - 2, "3n - 2"),
        (lambda n: n * (n - 1) // 2, "(1/2)n² - (1/2)n"),
        (lambda n: n**3 + n, "n³ + n"),
        (lambda n: 2 * ceil_log2(n) + 5, "2⌈log₂ n⌉ + 5"),
        (lambda n: ceil_log2(n + 1), "⌈log₂(n+1)⌉"),
        (lambda n: n.bit_length() - 1, "⌈log₂(n+1)⌉ - 1"),
        (lambda n: n * ceil_log2(n) + 1, "n⌈log₂ n⌉ + 1"),
        (lambda n: ceil_log2(n) ** 2, "⌈log₂ n⌉²"),
    ],
)
def test_formulas_are_found(function: object, text: str) -> None:
    found = find_closed_form({n: function(n) for n in range(1, 40)})  # type: ignore[operator]
    assert str(found) == text


def test_no_formula_is_guessed() -> None:
    assert find_closed_form({n: n % 3 for n in range(1, 20)}) is None
    assert find_closed_form({n: 2**n for n in range(1, 20)}) is None
    assert str(find_closed_form({n: 2 * n + 3 for n in range(1, 6)})) == "2n + 3"


@pytest.mark.parametrize(
    "points",
    [
        {8: 5},  # one size does not confirm a formula
        {8: 5, 16: 5},  # two points determine one coefficient and hold out one, which is too few
        {2: 9, 4: 10, 8: 12},  # ⌈log₂ T⌉ of uniform-circuits, which a line fits
        {5: 3, 6: 3, 7: 3, 8: 3},  # ⌈log₂ n⌉, where it is constant
        {n: ceil_log2(n) for n in (16, 17, 18, 19, 20)},  # …, where it is constant but for one
        {2**k: k + 3 for k in range(1, 9)},  # ⌈log₂ n⌉ + 3 or ⌈log₂(n+1)⌉ + 2
    ],
)
def test_sizes_that_do_not_confirm_a_formula_give_none(points: dict[int, int]) -> None:
    assert find_closed_form(points) is None
