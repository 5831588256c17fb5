"""Softmax for average-hard attention in fixed point (Lemma 3.1): the same residual streams, number by number."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from itertools import count, product
from math import log

import pytest

import softmachine as sm
from softmachine.compiler.model import Model
from softmachine.compiler.rewrites.fixed_point_softmax import min_attention_bits, min_scale, soften_in_fixed_point
from softmachine.engines.dense.engine import DenseEngine
from softmachine.studies.measure.rewrite_cost import RewriteComparison, RewriteForm, TransformerCost, choose_fixed_point
from softmachine.support.errors import ConstructionError, PrecisionError, UsageError
from softmachine.transformer.attention import AVERAGE_HARD, LEFTMOST_HARD, RIGHTMOST_HARD, Weighting, softmax_weighting
from softmachine.transformer.weights import Block, Transformer
from tests.arithmetic.fixed_reference import Reference
from tests.arithmetic.test_hard_by_softmax import least_scale as searched_scale
from tests.sources.transformers import VOCABULARY, RandomTransformer, random_word


def drawn(seed: int, *weightings: Weighting) -> Transformer:
    """A random transformer with at least one head."""
    source = RandomTransformer(seed, weightings=weightings or (AVERAGE_HARD,), denominators=(1, 1, 2))
    return next(found for found in (source.transformer() for _ in count()) if found.heads)


def prefixes(transformer: Transformer) -> list[Transformer]:
    """The transformer up to each of its layers, loops unrolled."""
    layers = list(transformer.iterate_layers(None))
    return [replace(transformer, blocks=(Block(tuple(layers[:k])),)) for k in range(1, len(layers) + 1)]


def streams(transformer: Transformer, word: list[str], numbers: str) -> list[object]:
    found: list[object] = DenseEngine(transformer, numbers).residual_stream([word]).value.tolist()
    return found


@pytest.mark.parametrize("bits", [2, 3, 6, 17])
@pytest.mark.parametrize("seed", range(6))
def test_random_transformers_have_the_same_numbers_after_every_layer(bits: int, seed: int) -> None:
    """On every word up to length 3 and some longer ones; F_17 has numbers of two words."""
    hard = drawn(seed)
    inner = min_attention_bits(bits, 12)
    soft = soften_in_fixed_point(hard, bits, inner)
    words = [list(word) for n in range(1, 4) for word in product(VOCABULARY, repeat=n)]
    for word in (*words[:: 1 if bits == 3 else 5], random_word(seed, 7), random_word(seed, 12)):
        for one, other in zip(prefixes(hard), prefixes(soft), strict=True):
            assert streams(one, word, f"fixed:{bits}:{inner}") == streams(other, word, f"fixed:{bits}:{inner}")


def test_only_the_weighting_of_average_hard_heads_changes() -> None:
    """It costs no layer, head, coordinate or parameter; heads that are soft already stay as they are."""
    for seed in range(12):
        given = drawn(seed, AVERAGE_HARD, softmax_weighting(3))
        after = soften_in_fixed_point(given, 4, 9)
        assert TransformerCost.from_transformer(after, 5, 5) == TransformerCost.from_transformer(given, 5, 5)
        assert after.parameter_count == given.parameter_count
        assert [replace(head, weighting=AVERAGE_HARD) for head in after.heads] == [
            replace(head, weighting=AVERAGE_HARD) for head in given.heads
        ]
        for old, new in zip(given.heads, after.heads, strict=True):
            assert new.weighting == (
                softmax_weighting(min_scale(4, 9)) if old.weighting.is_hard else softmax_weighting(3)
            )


@pytest.mark.parametrize("bits", range(1, 12))
@pytest.mark.parametrize("positions", [1, 2, 3, 4, 7, 64, 65, 1000])
def test_the_precision_inside_attention_is_the_stated_one(bits: int, positions: int) -> None:
    """b' is least with b' ≥ b + ⌈log₂ N⌉ and 2^(b' - b - 1) > ln 2 · (b' + 1): the cost that the docstring states."""

    def stated(inner: int) -> bool:
        return 2**inner >= 2**bits * positions and 2.0 ** (inner - bits - 1) > log(2) * (inner + 1)

    inner = min_attention_bits(bits, positions)
    assert inner == next(each for each in count(bits + 1) if stated(each))
    scale = min_scale(bits, inner)
    assert scale == searched_scale(bits, inner)
    assert scale <= Reference(inner).largest
    assert positions * Reference(bits).largest <= Reference(inner).largest
    assert all(searched_scale(bits, each) > Reference(each).largest for each in range(bits, min_attention_bits(bits)))


def test_the_precision_inside_attention_is_linear_in_b_if_b_is_logarithmic() -> None:
    """For N = 2^b positions it is 2b from b = 5 on."""
    assert [min_attention_bits(b, 2**b) for b in range(5, 40)] == [2 * b for b in range(5, 40)]


@pytest.mark.parametrize("bits", range(1, 9))
def test_one_bit_less_inside_attention_is_refused_since_keys_below_the_maximum_keep_weight(bits: int) -> None:
    """At the largest power of two of F_(b'-1), the exponential of the least difference of scores is not 0."""
    inner = min_attention_bits(bits) - 1
    with pytest.raises(ConstructionError, match=f"do not suffice .* F_{bits}: keys below the maximum") as refused:
        soften_in_fixed_point(drawn(0), bits, inner)
    assert str(refused.value.hint) == f"the lowest sufficient precision is fixed:{bits}:{inner + 1}"
    assert Reference(inner).exp(-(Fraction(2) ** (inner - 1 - bits))) > 0
    assert Reference(inner + 1).exp(-Fraction(min_scale(bits, inner + 1), 2**bits)) == 0


def compared(model: Model, longest: int, more: int, numbers: str | None = None) -> RewriteComparison:
    """A model rewritten, and compared on every input up to a length and on random ones of twenty to sixty symbols."""
    codec, chooser = model.codec, random.Random(1)
    words = [word for n in range(longest + 1) for word in codec.words(n)]
    words += [codec.random_word(chooser, chooser.randrange(20, 60)) for _ in range(more)]
    prompts = [codec.prompt(word) for word in words]
    chosen = choose_fixed_point(model.weights, max(len(prompt.tokens) for prompt in prompts), numbers)
    rewriting = RewriteComparison(model.weights, RewriteForm.SOFTMAX, chosen)
    assert all(rewriting.find_difference(prompt.tokens, prompt.length) is None for prompt in prompts)
    assert rewriting.inputs == len(words)
    return rewriting


@pytest.mark.parametrize(
    ("source", "longest", "numbers"),
    [
        ("Q_a since Q_b", 5, None),
        ("prev Q_a", 4, "fixed:8"),
        ("#<[Q_a] = #<[Q_b]", 4, "fixed:8"),
        ("dyck-2-program", 3, "fixed:12"),
        ("palindrome", 3, "fixed:6"),
    ],
)
def test_compiled_models_on_every_small_input_and_random_larger_ones(
    source: str, longest: int, numbers: str | None
) -> None:
    compared(sm.compile(source, attention="hard"), longest, 5, numbers)


def test_circuits_and_graphs_with_padding_and_loops() -> None:
    """Average-hard models of constant precision, on all inputs."""
    assert compared(sm.compile("full-adder"), 3, 0).arithmetic == "fixed:2:8"
    graph = sm.compile("one-way-streets")
    assert any(block.iterations(None) > 1 for block in graph.weights.blocks)
    assert compared(graph, 2, 0).inputs == 25


def test_the_rewritten_model_runs_and_is_right() -> None:
    hard = sm.compile("#<[Q_a] = #<[Q_b]", attention="hard")
    soft = replace(hard, weights=soften_in_fixed_point(hard.weights, 8, min_attention_bits(8, 7)))
    assert soft.weights.attention == "soft"
    assert sm.check(soft, up_to=6, arithmetic="fixed:8:13").holds


def test_a_difference_is_found() -> None:
    """Rewriting.difference compares residual streams, not only answers: one number that no output reads is enough."""
    hard = drawn(3)
    rewriting = RewriteComparison(hard, RewriteForm.SOFTMAX, "fixed:6:12")
    word = random_word(3, 6)
    assert rewriting.find_difference(word, None) is None
    shifted = replace(hard, embedding=replace(hard.embedding, rows=(((0, Fraction(5)),),) * len(hard.vocabulary)))
    rewriting.given = shifted
    assert rewriting.find_difference(word, None) == 0


@pytest.mark.parametrize("weighting", [LEFTMOST_HARD, RIGHTMOST_HARD])
def test_heads_that_prefer_one_of_tied_keys_are_refused_by_name(weighting: Weighting) -> None:
    given = drawn(7, weighting)
    with pytest.raises(ConstructionError, match=f"head '{given.heads[0].name}' is {weighting}, and softmax gives"):
        soften_in_fixed_point(given, 4, 9)


def test_other_arithmetics_and_weights_that_no_fixed_point_has_are_refused() -> None:
    given = drawn(3)
    for name in ("exact", "float64", "ball"):
        with pytest.raises(UsageError, match=f"in fixed point, not in {name}"):
            choose_fixed_point(given, 8, name)
    third = replace(given, unembedding=replace(given.unembedding, bias=(Fraction(1, 3),) * len(given.outputs)))
    with pytest.raises(
        PrecisionError, match=r"the unembedding: the constant .* is 1/3, which is not a number of any F_b"
    ):
        choose_fixed_point(third, 8)


@pytest.mark.parametrize("bits", [0, -1])
def test_a_precision_without_bits_is_refused(bits: int) -> None:
    with pytest.raises(UsageError, match=f"fixed point cannot have {bits} bits"):
        soften_in_fixed_point(drawn(3), bits, 8)


def test_a_given_precision_inside_attention_is_kept() -> None:
    assert choose_fixed_point(drawn(3), 1000, "fixed:4:9") == "fixed:4:9"
    assert choose_fixed_point(drawn(3), 1000, "fixed:4") == f"fixed:4:{min_attention_bits(4, 1000)}" == "fixed:4:14"
