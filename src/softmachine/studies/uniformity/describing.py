"""Textual description of a transformer that a machine can print: its weights one by one, and its position features.

Definition A.5 of "Revisiting Padded Transformer Expressivity" requires machines that print "a description of T_N" and
the position encoding p(n, N). This is the description: one line per nonzero weight, all numbers in binary, rows and
columns counted from 0. Names of coordinates are omitted, as they do not affect the computation.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from softmachine.support.errors import UsageError
from softmachine.transformer.features import Feature
from softmachine.transformer.weights import AffineMap, FeedForward, Head, Matrix, Transformer


def description(transformer: Transformer) -> Iterator[str]:
    """Yield the lines that describe the weights of a transformer: the output of machine M₁ of Definition A.5."""
    yield _line("width", transformer.width)
    yield _line("tokens", len(transformer.vocabulary))
    yield from _matrix("embedding", transformer.embedding)
    yield _line("features", len(transformer.features))
    yield from _matrix("positions", transformer.position_embedding)
    for block in transformer.blocks:
        if isinstance(block.repeats, Feature):
            raise UsageError(
                f"the number of iterations of {block.name!r} depends on the input length; T_N needs a constant"
            )
        yield _line("block", block.repeats)
        for layer in block.layers:
            yield "layer"
            for head in layer.heads:
                yield from _head(head)
            yield from _feed_forward(layer.feed_forward)
    yield _line("outputs", len(transformer.outputs))
    yield from _affine("unembedding", transformer.unembedding)


def features(transformer: Transformer, i: int) -> Iterator[str]:
    """Yield the lines with the position features of position i: the output of machine M₂ of Definition A.5."""
    for feature in transformer.features:
        yield binary(Fraction(feature.at(i, None)))


def binary(number: Fraction | int) -> str:
    """Format a number in binary, a fraction in lowest terms."""
    number = Fraction(number)
    over = "" if number.denominator == 1 else f"/{number.denominator:b}"
    return f"{number.numerator:b}{over}"


def _line(word: str, *numbers: Fraction | int) -> str:
    return " ".join([word, *map(binary, numbers)])


def _matrix(name: str, matrix: Matrix) -> Iterator[str]:
    for row, column, weight in matrix.entries():
        yield _line(name, row, column, weight)


def _affine(name: str, affine: AffineMap) -> Iterator[str]:
    """Yield the lines of each row: its weights, then its bias if it is not 0."""
    for row, (weights, bias) in enumerate(zip(affine.weight.rows, affine.bias, strict=True)):
        for column, weight in weights:
            yield _line(name, row, column, weight)
        if bias:
            yield _line(f"{name}+", row, bias)


def _head(head: Head) -> Iterator[str]:
    if head.bias is not None or not head.weighting.hard:
        raise UsageError(
            f"head {head.name!r} is soft or has a bias; descriptions support hard heads without a bias only"
        )
    yield f"head {head.mask} {head.weighting}"
    yield from _affine("query", head.query)
    yield from _affine("key", head.key)
    yield from _affine("value", head.value)
    yield from _matrix("output", head.output)


def _feed_forward(feed_forward: FeedForward) -> Iterator[str]:
    if set(feed_forward.activations) - {"relu"}:
        raise UsageError("descriptions support hidden units with the activation relu only")
    yield _line("units", len(feed_forward.units))
    yield from _affine("first", feed_forward.first)
    yield from _affine("second", feed_forward.second)
