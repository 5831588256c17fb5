"""Printer of weights: the description of a transformer that a machine can print, and routines that all families share.

Definition A.5 of "Revisiting Padded Transformer Expressivity" requires machines that print "a description of T_N" and
the position encoding p(n, N). This is the description: the weights one by one, then the position features, one line per
nonzero weight, all numbers in binary, rows and columns counted from 0. Names of coordinates are omitted, as they do not
affect the computation.

The shared routines print flags, addresses, fractions, rounding and clearing.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from softmachine.studies.uniformity.stdlib import TapeIO, gcd
from softmachine.support.errors import UsageError
from softmachine.transformer.features import Feature
from softmachine.transformer.weights import AffineMap, FeedForward, Head, Matrix, Transformer


def print_signed_bits(tape: TapeIO, address: int, width: int) -> None:
    """Print an address as signed bits, the lowest first, one per line."""
    for _ in range(width):
        if address % 2 == 1:
            tape.put("1\n")
        else:
            tape.put("-1\n")
        address //= 2


def print_zeros(tape: TapeIO, count: int) -> None:
    """Print ``count`` lines with a 0."""
    for _ in range(count):
        tape.put("0\n")


def print_fraction(tape: TapeIO, numerator: int, denominator: int) -> None:
    """Print a line with a fraction in lowest terms."""
    divisor = gcd(numerator, denominator)
    tape.put(f"{numerator // divisor:b}")
    if divisor < denominator:
        tape.put(f"/{denominator // divisor:b}")
    tape.put("\n")


def print_address_query(tape: TapeIO, row: int, first: int, width: int) -> None:
    """Print query rows that match signed bits, stored from coordinate ``first`` (Lemma B.3 of Svete et al. 2026)."""
    for k in range(width):
        tape.put(f"query {row + k + k:b} {first + k:b} 10\nquery+ {row + k + k + 1:b} 10\n")


def print_address_keys(tape: TapeIO, row: int, first: int, width: int) -> None:
    """Print key rows of signed bits, stored from coordinate ``first`` (Lemma B.3 of Svete et al. 2026)."""
    for k in range(width):
        tape.put(f"key {row + k + k:b} {first + k:b} 1\nkey+ {row + k + k + 1:b} -1\n")


def print_round_to_bit(tape: TapeIO, unit: int, number: int, where: int) -> None:
    """Print two hidden units that round a number to a bit where another is 1; the knees are at 5/4 and 7/4."""
    tape.put(
        f"first {unit:b} {number:b} 1\n"
        f"first {unit:b} {where:b} 1\n"
        f"first+ {unit:b} -101/100\n"
        f"first {unit + 1:b} {number:b} 1\n"
        f"first {unit + 1:b} {where:b} 1\n"
        f"first+ {unit + 1:b} -111/100\n"
    )


def print_both_signs(tape: TapeIO, unit: int, coordinate: int) -> None:
    """Print two hidden units that represent a number: ReLU(x) and ReLU(-x)."""
    tape.put(f"first {unit:b} {coordinate:b} 1\nfirst {unit + 1:b} {coordinate:b} -1\n")


def print_clear(tape: TapeIO, unit: int, coordinate: int) -> None:
    """Print the weights that subtract the two units of a coordinate from it, which sets it to 0."""
    tape.put(f"second {coordinate:b} {unit:b} -1\nsecond {coordinate:b} {unit + 1:b} 1\n")


def print_identity(tape: TapeIO, first: int, count: int, coordinate: int) -> None:
    """Print the embedding of ``count`` features, starting at ``first``, into coordinates starting at ``coordinate``."""
    for k in range(count):
        tape.put(f"positions {first + k:b} {coordinate + k:b} 1\n")


def print_bit_outputs(tape: TapeIO, coordinate: int) -> None:
    """Print the unembedding to two outputs: whether a bit is 0, and whether it is 1."""
    tape.put(
        "outputs 10\n"
        f"unembedding 0 {coordinate:b} -1\n"
        "unembedding+ 0 1/10\n"
        f"unembedding 1 {coordinate:b} 1\n"
        "unembedding+ 1 -1/10\n"
    )


def describe_weights(transformer: Transformer) -> Iterator[str]:
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


def describe_features(transformer: Transformer, i: int) -> Iterator[str]:
    """Yield the lines with the position features of position i: the output of machine M₂ of Definition A.5."""
    for feature in transformer.features:
        yield format_binary(Fraction(feature.at(i, None)))


def format_binary(number: Fraction | int) -> str:
    """Format a number in binary, a fraction in lowest terms."""
    number = Fraction(number)
    over = "" if number.denominator == 1 else f"/{number.denominator:b}"
    return f"{number.numerator:b}{over}"


def _line(word: str, *numbers: Fraction | int) -> str:
    return " ".join([word, *map(format_binary, numbers)])


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
    if head.bias is not None or not head.weighting.is_hard:
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
