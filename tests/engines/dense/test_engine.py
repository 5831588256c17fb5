"""The dense engine: parts and whole sequences give the same numbers; invalid sequences are rejected."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from softmachine.engines.dense.decoding import decode, predict_teacher_forced
from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.numerics import Tensor
from softmachine.support.errors import (
    AmbiguousTokenError,
    ConstructionError,
    InputError,
    PrecisionError,
    SoftmachineError,
    UsageError,
)
from softmachine.theorems.codec import Prompt
from softmachine.transformer.attention import AVERAGE_HARD, Mask, softmax_weighting
from softmachine.transformer.features import RECIPROCAL, Distance, Feature, I, Last, N
from softmachine.transformer.weights import AffineMap, Block, FeedForward, Head, Layer, Matrix, Transformer
from tests.sources.transformers import CAUSAL, HARD, RandomTransformer, random_word

SOFT = (softmax_weighting(), softmax_weighting(Fraction(1, 2)), softmax_weighting(RECIPROCAL))
NOTHING = FeedForward(AffineMap(Matrix((), 1), ()), (), AffineMap(Matrix(((),), 0), (Fraction(0),)), ())


def matrix(rows: list[list[int | Fraction]]) -> Matrix:
    return Matrix.of([dict(enumerate(map(Fraction, row))) for row in rows], len(rows[0]) if rows else 0)


def affine(rows: list[list[int | Fraction]], bias: list[int | Fraction]) -> AffineMap:
    return AffineMap(matrix(rows), tuple(map(Fraction, bias)))


def small(**changes: Any) -> Transformer:
    """Tokens a and b are 0 and 1 in the only coordinate; the outputs are 0 and 1."""
    plain = Transformer(
        name="small",
        vocabulary=("a", "b"),
        coordinates=("x",),
        embedding=matrix([[0], [1]]),
        features=(),
        position_embedding=Matrix((), 1),
        blocks=(),
        outputs=("0", "1"),
        unembedding=affine([[-1], [1]], [Fraction(1, 2), Fraction(-1, 2)]),
    )
    return replace(plain, **changes)


def head(mask: Mask = Mask.CAUSAL, *, score: Fraction | int = 0, **changes: Any) -> Head:
    """Adds what it retrieves of the coordinate; the score is a multiple of the key's coordinate."""
    plain = Head("h", affine([[0]], [1]), affine([[score]], [0]), affine([[1]], [0]), matrix([[1]]), mask, AVERAGE_HARD)
    return replace(plain, **changes)


def with_layers(*layers: Layer, repeats: int | Feature = 1) -> Transformer:
    return small(blocks=(Block(layers, repeats, "" if repeats == 1 else "loop"),))


def values(tensor: Tensor) -> list[Any]:
    found: list[Any] = tensor.value.tolist()
    return found


def same(one: Tensor, other: Tensor, *, near: bool = False) -> bool:
    if near:
        return bool((np.abs(one.value - other.value) <= 1e-9 * (1 + np.abs(one.value))).all())
    return bool((one.value == other.value).all())


# Reading a sequence in one pass or in parts


def in_pieces(engine: DenseEngine, words: list[list[str]], sizes: list[int]) -> Tensor:
    run, parts, start = engine.start(len(words)), [], 0
    for size in sizes:
        parts.append(run.extend([word[start : start + size] for word in words]).value)
        start += size
    return Tensor(np.concatenate(parts, axis=1))


@pytest.mark.parametrize("arithmetic", ["exact", "float64"])
@pytest.mark.parametrize("sizes", [[1] * 7, [3, 1, 3], [7], [0, 4, 0, 3]])
def test_reading_in_pieces_gives_what_reading_at_once_gives(arithmetic: str, sizes: list[int]) -> None:
    read = 0
    for seed in range(40):
        engine = DenseEngine(RandomTransformer(seed, CAUSAL).transformer(), arithmetic)
        words = [random_word(seed, 7)]
        try:
            whole = engine.residual_stream(words)
        except PrecisionError:
            continue
        assert same(in_pieces(engine, words, sizes), whole, near=arithmetic == "float64"), seed
        read += 1
    assert read > 20


@pytest.mark.parametrize("sizes", [[1] * 7, [2, 5]])
def test_reading_a_softmax_model_in_pieces_gives_what_reading_at_once_gives(sizes: list[int]) -> None:
    for seed in range(40):
        engine = DenseEngine(RandomTransformer(seed, CAUSAL, SOFT).transformer(), "float64")
        words = [random_word(seed, 7)]
        try:
            whole = engine.residual_stream(words)
        except PrecisionError:
            continue
        assert same(in_pieces(engine, words, sizes), whole, near=True), seed


@pytest.mark.parametrize("arithmetic", ["exact", "float64"])
def test_a_batch_gives_what_its_sequences_give_alone(arithmetic: str) -> None:
    for seed in range(30):
        engine = DenseEngine(RandomTransformer(seed).transformer(), arithmetic)
        words = [random_word(100 * seed + k, 5) for k in range(4)]
        try:
            alone = [engine.residual_stream([word]) for word in words]
        except PrecisionError:
            continue
        together = engine.residual_stream(words)
        for k, one in enumerate(alone):
            assert same(together[k : k + 1], one, near=arithmetic == "float64"), seed


@pytest.mark.parametrize("arithmetic", ["exact", "float64"])
def test_a_long_word_read_token_by_token_grows_the_cache_without_a_trace(arithmetic: str) -> None:
    transformer = with_layers(Layer((head(),), NOTHING))
    word = [random_word(1, 1)[0] if k % 3 else "b" for k in range(150)]
    word = ["a" if token == "c" else token for token in word]
    engine = DenseEngine(transformer, arithmetic)
    assert same(in_pieces(engine, [word], [1] * 150), engine.residual_stream([word]), near=arithmetic == "float64")


def test_continuation_is_what_decoding_says_step_by_step() -> None:
    flip = small(vocabulary=("0", "1"), unembedding=affine([[1], [-1]], [Fraction(-1, 2), Fraction(1, 2)]))
    engine = DenseEngine(flip)
    decoded = list(islice(decode(engine, Prompt(("0",)), lambda _: False), 6))
    assert decoded == ["1", "0", "1", "0", "1", "0"]
    for piece in (1, 2, 100):
        assert list(predict_teacher_forced(engine, Prompt(("0",)), decoded[:-1], piece)) == decoded


def test_decoding_ends_with_the_token_that_stops_it() -> None:
    flip = small(vocabulary=("0", "1"), unembedding=affine([[1], [-1]], [Fraction(-1, 2), Fraction(1, 2)]))
    assert list(decode(DenseEngine(flip), Prompt(("0",)), lambda token: token == "0")) == ["1", "0"]


# What a head means


@pytest.mark.parametrize(
    ("mask", "expected"),
    [
        (Mask.ALL, ["1/2", "3/2", "1/2", "3/2"]),
        (Mask.CAUSAL, ["0", "3/2", "1/3", "3/2"]),
        (Mask.PAST, ["0", "1", "1/2", "4/3"]),
        (Mask.ANTICAUSAL, ["1/2", "5/3", "1/2", "2"]),
        (Mask.FUTURE, ["2/3", "3/2", "1", "1"]),
    ],
)
@pytest.mark.parametrize("arithmetic", ["exact", "float64", "float32"])
def test_masks_say_what_is_visible_and_nothing_visible_adds_nothing(
    mask: Mask, expected: list[str], arithmetic: str
) -> None:
    found = DenseEngine(with_layers(Layer((head(mask),), NOTHING)), arithmetic).residual_stream([list("abab")])
    expected_numbers = [float(Fraction(number)) for number in expected]
    assert [float(Fraction(str(row[0]))) for row in found.value[0]] == pytest.approx(expected_numbers)
    if mask is Mask.PAST and found.error is not None:
        assert found.error[0, 0, 0] == 0


@pytest.mark.parametrize("arithmetic", ["exact", "float64", "float32"])
def test_softmax_with_nothing_visible_adds_nothing(arithmetic: str) -> None:
    transformer = with_layers(Layer((head(Mask.PAST, weighting=softmax_weighting()),), NOTHING))
    found = DenseEngine(transformer, arithmetic).residual_stream([list("bb")])
    assert [float(Fraction(str(row[0]))) for row in found.value[0]] == [1, 2]


def test_a_relative_bias_moves_the_choice() -> None:
    far = with_layers(Layer((head(bias=Distance()),), NOTHING))
    assert values(DenseEngine(far, "float64").residual_stream([list("baaa")])) == [[[2], [1], [1], [1]]]


def reference(transformer: Transformer, word: list[str]) -> NDArray[np.float64]:
    """A softmax transformer in a few lines of numpy."""

    def dense(m: Matrix) -> NDArray[np.float64]:
        result = np.zeros(m.shape)
        for r, c, weight in m.entries():
            result[r, c] = float(weight)
        return result

    def mapped(a: AffineMap, x: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(x @ dense(a.weight).T + np.array([float(b) for b in a.bias]))

    n = len(word)
    features = np.array([[float(feature.at(i)) for feature in transformer.features] for i in range(n)]).reshape(n, -1)
    x = dense(transformer.embedding)[[transformer.vocabulary.index(token) for token in word]]
    x = x + features @ dense(transformer.position_embedding)
    for block in transformer.blocks:
        for layer in block.layers * block.iterations(None):
            added = np.zeros_like(x)
            for h in layer.heads:
                scores = mapped(h.query, x) @ mapped(h.key, x).T
                if h.bias:
                    scores = scores + np.array([[float(h.bias.at(j, i)) for j in range(n)] for i in range(n)])
                scale = h.weighting.scale
                scales = [float(scale.at(i)) if isinstance(scale, Feature) else float(scale) for i in range(n)]
                seen = np.array([[h.mask.is_visible(j, i) for j in range(n)] for i in range(n)])
                scaled = np.where(seen, scores * np.array(scales)[:, None], -np.inf)
                scaled = scaled - np.where(seen.any(1), scaled.max(1), 0)[:, None]
                weights = np.exp(scaled)
                total = weights.sum(1, keepdims=True)
                added += (weights / np.where(total > 0, total, 1)) @ mapped(h.value, x) @ dense(h.output).T
            x += added
            forward = layer.feed_forward
            hidden = mapped(forward.first, x)
            steps = np.array([activation == "step" for activation in forward.activations], dtype=bool)
            hidden = np.where(steps, hidden >= 0, np.maximum(hidden, 0))
            x += mapped(forward.second, hidden)
    return x


@pytest.mark.parametrize("arithmetic", ["float64", "float32"])
def test_softmax_models_compute_what_a_few_lines_of_numpy_do(arithmetic: str) -> None:
    compared = 0
    for seed in range(150):
        transformer = RandomTransformer(seed, weightings=SOFT).transformer()
        word = random_word(seed, 1 + seed % 6)
        try:
            found = DenseEngine(transformer, arithmetic).residual_stream([word])
        except PrecisionError:
            continue
        expected = reference(transformer, word)
        assert found.error is not None
        limit = found.error[0] + 1e-9 * (1 + np.abs(expected))
        assert (np.abs(found.value[0] - expected) <= limit).all(), seed
        compared += 1
    assert compared > 100


def test_heads_that_share_their_keys_find_what_they_find_alone() -> None:
    for seed in range(40):
        drawn = RandomTransformer(seed).transformer()
        if not drawn.heads:
            continue
        first = replace(drawn.heads[0], output=drawn.heads[0].output)
        query = replace(first.query, bias=tuple(-constant for constant in first.query.bias))
        second = replace(first, name="other", query=query)
        word = random_word(seed, 5)

        def stream(*heads: Head, drawn: Transformer = drawn, word: list[str] = word) -> NDArray[Any]:
            empty = replace(drawn.layers[0].feed_forward, units=(), activations=())
            nothing = AffineMap(Matrix(((),) * drawn.width, 0), (Fraction(0),) * drawn.width)
            forward = replace(empty, first=AffineMap(Matrix((), drawn.width), ()), second=nothing)
            model = replace(drawn, blocks=(Block((Layer(heads, forward),)),))
            return DenseEngine(model, "exact").residual_stream([word]).value

        alone = stream(first) + stream(second) - stream()
        assert (stream(first, second) == alone).all(), seed


# Models with little in them


@pytest.mark.parametrize("arithmetic", ["exact", "float64", "float32"])
def test_a_model_without_layers_and_features_is_its_embedding(arithmetic: str) -> None:
    engine = DenseEngine(small(), arithmetic)
    assert engine.predict([list("aba")]) == [["0", "1", "0"]]


@pytest.mark.parametrize("arithmetic", ["exact", "float64"])
def test_an_empty_sequence_has_no_answers(arithmetic: str) -> None:
    transformer = with_layers(Layer((head(bias=Distance()), head(weighting=softmax_weighting())), NOTHING))
    for model in (
        small(),
        transformer,
        replace(transformer, features=(I,), position_embedding=matrix([[1]])),
    ):
        assert DenseEngine(model, arithmetic).predict([[]]) == [[]]
        assert DenseEngine(model, arithmetic).predict([]) == []


@pytest.mark.parametrize("arithmetic", ["exact", "float64"])
def test_a_feed_forward_without_units_adds_its_constant(arithmetic: str) -> None:
    counting = FeedForward(AffineMap(Matrix((), 1), ()), (), AffineMap(Matrix(((),), 0), (Fraction(3),)), ())
    found = DenseEngine(with_layers(Layer((), counting), repeats=2), arithmetic).residual_stream([["a", "b"]])
    assert values(found) == [[[6], [7]]]


def test_a_loop_runs_as_often_as_the_length_says() -> None:
    counting = FeedForward(AffineMap(Matrix((), 1), ()), (), AffineMap(Matrix(((),), 0), (Fraction(1),)), ())
    engine = DenseEngine(with_layers(Layer((), counting), repeats=N))
    assert values(engine.residual_stream([list("aab")], 5)) == [[[5], [5], [6]]]
    with pytest.raises(ConstructionError, match="depends on the length"):
        engine.residual_stream([list("aab")])


def test_features_of_the_length_are_computed_for_any_number_of_positions() -> None:
    model = small(features=(Last(),), position_embedding=matrix([[1]]))
    for n in (1, 63, 64, 65, 200):
        found = DenseEngine(model).residual_stream([["a"] * (n + 1)], n).value[0, :, 0].tolist()
        assert found == [0.0] * n + [1.0]


# What is refused


def test_an_unknown_token_is_an_input_error() -> None:
    with pytest.raises(InputError, match="'z' is not a token of 'small'"):
        DenseEngine(small()).predict([["a", "z"]])


def test_the_sequences_of_a_batch_have_the_same_length() -> None:
    with pytest.raises(UsageError, match="same length"):
        DenseEngine(small()).predict([["a"], ["a", "b"]])


@pytest.mark.parametrize(("batch", "given"), [(2, 1), (1, 2), (2, 3)])
def test_a_pass_goes_on_with_as_many_sequences_as_it_was_started_for(batch: int, given: int) -> None:
    run = DenseEngine(with_layers(Layer((head(),), NOTHING))).start(batch)
    run.extend([["a"]] * batch)
    with pytest.raises(UsageError, match=f"{batch} sequences, not {given}"):
        run.extend([["b"]] * given)


@pytest.mark.parametrize("mask", [Mask.ALL, Mask.ANTICAUSAL, Mask.FUTURE])
def test_a_model_that_looks_ahead_cannot_read_piece_by_piece_or_decode(mask: Mask) -> None:
    engine = DenseEngine(with_layers(Layer((head(mask),), NOTHING)))
    run = engine.start()
    run.extend([["a"]])
    with pytest.raises(UsageError, match="'small' looks ahead"):
        run.extend([["b"]])
    with pytest.raises(UsageError, match="cannot decode token by token"):
        next(decode(engine, Prompt(("a",)), lambda _: True))


def test_a_model_that_needs_the_length_cannot_decode() -> None:
    model = small(features=(N,), position_embedding=matrix([[1]]))
    with pytest.raises(UsageError, match="needs the length"):
        next(decode(DenseEngine(model), Prompt(("a",)), lambda _: True))


@pytest.mark.parametrize("arithmetic", ["exact", "float64", "float32"])
def test_equal_logits_are_ambiguous(arithmetic: str) -> None:
    model = small(
        vocabulary=("b", "c"),
        embedding=matrix([[1], [-1]]),
        unembedding=affine([[1], [-1], [1]], [0, 0, 0]),
        outputs=("x", "y", "z"),
    )
    with pytest.raises(AmbiguousTokenError, match="at position 1 the next token is undecided among 'x', 'z'"):
        DenseEngine(model, arithmetic).predict([["c", "b"]])


@pytest.mark.parametrize("arithmetic", ["float64", "float32"])
def test_logits_that_may_be_equal_are_a_matter_of_precision(arithmetic: str) -> None:
    model = small(unembedding=affine([[Fraction(1, 3)], [Fraction(1, 3)]], [0, Fraction(1, 10**40)]))
    with pytest.raises(PrecisionError, match="cannot distinguish the logits"):
        DenseEngine(model, arithmetic).predict([["b"]])
    assert DenseEngine(model, "exact").predict([["b"]]) == [["1"]]


def test_a_choice_that_a_format_cannot_make_says_which_head_and_where() -> None:
    model = small(
        embedding=matrix([[Fraction(1, 3)], [Fraction(1, 3) + Fraction(1, 10**30)]]),
        blocks=(Block((Layer((head(score=1),), NOTHING),)),),
    )
    with pytest.raises(
        PrecisionError, match=r"head 'h' at position 1 cannot choose between the positions 0, 1: float64"
    ):
        DenseEngine(model).predict([["a", "b"]])


def test_a_step_at_a_doubtful_zero_says_where() -> None:
    forward = FeedForward(affine([[3]], [-1]), ("step",), AffineMap(matrix([[1]]), (Fraction(0),)), ("sign",))
    model = replace(with_layers(Layer((), forward)), embedding=matrix([[0], [Fraction(1, 3)]]))
    assert DenseEngine(model, "exact").predict([["b"]]) == [["1"]]
    with pytest.raises(PrecisionError, match="at position 2: the sign of a step's argument is undecided"):
        DenseEngine(model).predict([["a", "a", "b"]])


def test_a_number_that_leaves_the_range_of_its_format_stops_the_run() -> None:
    """2¹⁵⁰ is in the range of float64 but not of float32, and 2¹²⁰⁰ of neither."""
    doubling = FeedForward(affine([[1]], [0]), ("relu",), AffineMap(matrix([[1]]), (Fraction(0),)), ("x",))
    for times, reached in ((100, ("float32", "float64")), (150, ("float64",)), (1200, ())):
        model = with_layers(Layer((), doubling), repeats=times)
        for arithmetic in ("float32", "float64"):
            engine = DenseEngine(model, arithmetic)
            if arithmetic in reached:
                assert engine.predict([["b"]]) == [["1"]]
            else:
                with pytest.raises(PrecisionError, match=f"a number is outside the range of {arithmetic}"):
                    engine.predict([["b"]])


def test_an_unknown_arithmetic_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="unknown arithmetic 'float128'"):
        DenseEngine(small(), "float128")


def test_random_models_with_any_weighting_end_in_the_same_numbers_or_in_our_errors() -> None:
    answered = 0
    for seed in range(150):
        transformer = RandomTransformer(seed, weightings=(*HARD, *SOFT)).transformer()
        answers = []
        for arithmetic in ("exact", "float64"):
            with contextlib.suppress(SoftmachineError):
                answers.append(DenseEngine(transformer, arithmetic).predict([random_word(seed, 1 + seed % 5)]))
        assert all(answer == answers[0] for answer in answers)
        answered += len(answers)
    assert answered > 200
