"""A forward pass of saved models, written from the definitions: it imports nothing of softmachine.

A folder has ``softmachine.json`` (names, structure, features) and ``model.safetensors`` (for each matrix its shape, the
places of its non-zeros, and their numerators and denominators). From these alone, :func:`computed` gives the residual
stream and the logits at every position of a sequence of tokens:

- in real arithmetic (:class:`Reals`): numbers are exact rationals as long as they can be, and balls of many bits where
  a softmax of different scores or the root of a layer norm makes them irrational;
- in fixed point (:class:`FixedPointFormat`), rounded after every operation as ``docs/fixed-point.md`` defines it.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from pathlib import Path
from typing import Any

from flint import arb, ctx, fmpq
from safetensors.numpy import load_file

Json = dict[str, Any]
Number = Any
"""A number of an arithmetic: a rational or a ball, or the integer a of a · 2^-b."""
Vector = list[Number]
Row = list[tuple[int, Fraction]]


# Position features and relations, by their names in files


def is_prime(number: int) -> bool:
    """Whether a number has exactly two divisors."""
    return sum(number % divisor == 0 for divisor in range(1, number + 1)) == 2


def is_power_of_two(number: int) -> bool:
    """Whether a number is 1, 2, 4 and so on."""
    return number > 0 and f"{number:b}".count("1") == 1


def binary_logarithm(number: int) -> int:
    """⌈log₂ number⌉; 0 for 0."""
    exponent = 0
    while 2**exponent < number:
        exponent += 1
    return exponent


def nearest_root(square: Fraction) -> int:
    """The integer nearest to a square root, the larger of two."""
    root = isqrt(square.numerator // square.denominator)
    return root + 1 if (2 * root + 1) ** 2 <= 4 * square else root


def monomial(data: Json, i: int, n: int) -> Fraction:
    """factor · i^a · (i+1)^b · n^c · (n+1)^d · (n-i+1)^e."""
    value = Fraction(data["factor"])
    for base, name in ((i, "i"), (i + 1, "next"), (n, "n"), (n + 1, "length"), (n - i + 1, "rest")):
        value *= Fraction(base) ** data[name]
    return value


def bit(data: Json, i: int) -> int:
    """Bit k of ⌊(i-1)/cells⌋ + offset, or of i if there are no cells; as ±1 if it is signed."""
    number = max(i - 1, 0) // data["cells"] + data["offset"] if data["cells"] else i
    value: int = number >> data["k"] & 1
    return 2 * value - 1 if data["signed"] else value


def address_at(data: Json, i: int) -> int | None:
    """The entry of a table of addresses; -1 stands for none."""
    inside = 0 <= i < len(data["addresses"]) and data["addresses"][i] != -1
    return data["addresses"][i] if inside else None


def address_bit(data: Json, i: int) -> int:
    """Bit k of an address, as ±1."""
    address = address_at(data, i)
    return 0 if address is None else (1 if address // 2 ** data["k"] % 2 else -1)


def address_vector(data: Json, i: int) -> Fraction:
    """√(1/k) or √(1 - 1/k) for k = address + 1, to the nearest multiple of 2^-bits."""
    address = address_at(data, i)
    if address is None:
        return Fraction(0)
    share = Fraction(1, address + 1)
    unit = 2 ** data["bits"]
    return Fraction(nearest_root((1 - share if data["component"] else share) * unit**2), unit)


def in_blocks(data: Json, i: int, n: int) -> Fraction:
    """Number k stands at the last position of block k; after the last block, one number per position."""
    start, length, count = data["offset"], data["block"], data["blocks"]
    end = start + length * count
    if i >= end:
        return feature(data["of"], count + i - end, n)
    if i >= start and (i - start) % length == length - 1:
        return feature(data["of"], (i - start) // length, n)
    return Fraction(0)


def predicate(data: Json, i: int, n: int) -> bool:
    """The unary predicates of temporal logic."""
    parameters = data["parameters"]
    match data["predicate"]:
        case "odd":
            return i % 2 == 1
        case "prime":
            return is_prime(i)
        case "power2":
            return is_power_of_two(i)
        case "mod":
            return bool(i % parameters[0] == parameters[1])
        case "half":
            return 2 * i <= n
        case "middle":
            return i == (n + 1) // 2
        case "divides":
            return i > 0 and n % i == 0
        case "upto":
            return bool(parameters[1] * i <= parameters[0] * n)
    raise ValueError(f"unknown predicate {data['predicate']!r}")


FEATURES: dict[str, Callable[[Json, int, int], Fraction | int]] = {
    "Constant": lambda data, i, n: data["number"],
    "Monomial": monomial,
    "Predecessor": lambda data, i, n: Fraction(i - 1, i + 1) if i else 0,
    "Alternating": lambda data, i, n: (-1) ** i,
    "Bit": lambda data, i, n: bit(data, i),
    "Residue": lambda data, i, n: int(i % data["modulus"] == data["remainder"]),
    "Prime": lambda data, i, n: int(is_prime(i)),
    "PowerOfTwo": lambda data, i, n: int(is_power_of_two(i)),
    "Last": lambda data, i, n: int(i == n),
    "Logarithm": lambda data, i, n: data["factor"] * binary_logarithm(n if data["of_length"] else i + 1),
    "Table": lambda data, i, n: Fraction(data["values"][i]) if 0 <= i < len(data["values"]) else 0,
    "AddressBit": lambda data, i, n: address_bit(data, i),
    "AddressVector": lambda data, i, n: address_vector(data, i),
    "Shifted": lambda data, i, n: feature(data["of"], i - data["offset"], n) if i >= data["offset"] else 0,
    "InBlocks": in_blocks,
    "ShareAfterStart": lambda data, i, n: Fraction(1, n + 1) if i else 0,
    "AtLetters": lambda data, i, n: feature(data["of"], i, n) if i else 0,
    "PositionPredicate": lambda data, i, n: int(predicate(data, i, n)),
}  # fmt: skip
"""Functions of the position i and the length n of the input."""


def feature(data: Json, i: int, n: int) -> Fraction:
    """The value of a feature at position i of an input of length n."""
    return Fraction(FEATURES[data["is"]](data, i, n))


def in_relation(key: int, query: int) -> int:
    """1 if bit number ``key`` is 1 among the binary digits of ``query`` that follow its first 0."""
    _, _, digits = f"{query:b}".partition("0") if query else ("", "", "")
    return int(1 <= key <= len(digits) and digits[key - 1] == "1")


RELATIONS: dict[str, Callable[[int, int], int]] = {
    "Distance": lambda key, query: query - key,
    "InRelation": in_relation,
}
"""Functions of the positions of a key and a query."""

MASKS: dict[str, Callable[[int, int], bool]] = {
    "all j": lambda key, query: True,
    "j ≤ i": lambda key, query: key <= query,
    "j < i": lambda key, query: key < query,
    "j ≥ i": lambda key, query: key >= query,
    "j > i": lambda key, query: key > query,
}
"""Whether a query sees a key."""


# Arithmetics


class UndecidedError(Exception):
    """The sign of a ball that contains 0 decides something: more bits are needed."""


class Arithmetic(ABC):
    """A kind of numbers, and the operations of a transformer on them."""

    zero: Number

    @abstractmethod
    def number(self, exact: Fraction) -> Number:
        """The number nearest to a rational."""

    @abstractmethod
    def add(self, x: Number, y: Number) -> Number:
        """x + y."""

    @abstractmethod
    def multiply(self, x: Number, y: Number) -> Number:
        """x · y."""

    @abstractmethod
    def sign(self, x: Number) -> int:
        """-1, 0 or 1."""

    @abstractmethod
    def relu(self, x: Number) -> Number:
        """The larger of x and 0."""

    @abstractmethod
    def norm(self, numbers: Vector) -> Vector:
        """Numbers over the root of the mean of their squares; 0 if all are 0."""

    @abstractmethod
    def mean(self, values: list[Vector], width: int) -> Vector:
        """The mean of some vectors; zero if there are none."""

    @abstractmethod
    def softmax(self, scores: Vector, scale: Fraction, values: list[Vector], width: int) -> Vector:
        """The mean of vectors in proportion to exp(scale · score)."""

    def inner_product(self, x: Vector, y: Vector) -> Number:
        """Σ x_k · y_k, from left to right; a product with 0 is 0 and changes no sum."""
        total = self.zero
        for left, right in zip(x, y, strict=True):
            if not (left == 0 or right == 0):
                total = self.add(total, self.multiply(left, right))
        return total

    def best(self, scores: Vector) -> list[int]:
        """The places of the largest scores."""
        places: list[int] = []
        for place, score in enumerate(scores):
            compared = self.sign(self.add(score, self.negative(scores[places[0]]))) if places else 1
            places = [place] if compared > 0 else [*places, place] if compared == 0 else places
        return places

    def negative(self, x: Number) -> Number:
        """-x."""
        return -x


class Reals(Arithmetic):
    """Real numbers: rationals, and balls where they are irrational."""

    zero = fmpq(0)

    def number(self, exact: Fraction) -> Number:
        return fmpq(exact.numerator, exact.denominator)

    def add(self, x: Number, y: Number) -> Number:
        return x + y

    def multiply(self, x: Number, y: Number) -> Number:
        return fmpq(0) if x == 0 or y == 0 else x * y

    def sign(self, x: Number) -> int:
        if x > 0 or x < 0:
            return 1 if x > 0 else -1
        if x == 0:
            return 0
        raise UndecidedError(f"the sign of {x}")

    def relu(self, x: Number) -> Number:
        if isinstance(x, fmpq) or x > 0 or x < 0:
            return x if x > 0 else fmpq(0)
        return x.max(arb(0))

    def norm(self, numbers: Vector) -> Vector:
        if all(number == 0 for number in numbers):
            return [fmpq(0)] * len(numbers)
        if len(numbers) == 1:
            return [fmpq(self.sign(numbers[0]))]
        root = arb(sum((number * number for number in numbers), fmpq(0)) / len(numbers)).sqrt()
        return [number / root for number in numbers]

    def mean(self, values: list[Vector], width: int) -> Vector:
        count = fmpq(max(1, len(values)))
        return [sum((value[k] for value in values), fmpq(0)) / count for k in range(width)]

    def softmax(self, scores: Vector, scale: Fraction, values: list[Vector], width: int) -> Vector:
        if all(isinstance(score, fmpq) and score == scores[0] for score in scores):
            return self.mean(values, width)
        exponents = [self.number(scale) * score for score in scores]
        top = max((arb(exponent).mid() for exponent in exponents), key=float)
        weights = [arb(exponent - top).exp() for exponent in exponents]
        total = sum(weights, arb(0))
        return [
            sum((self.multiply(w, value[k]) for w, value in zip(weights, values, strict=True)), fmpq(0)) / total
            for k in range(width)
        ]


class FixedPoint(Arithmetic):
    """The numbers a · 2^-b with |a| < 4^b; inside attention, more bits.

    Args:
        bits: b.
        inner_bits: The b inside attention.
    """

    zero = 0

    def __init__(self, bits: int, inner_bits: int) -> None:
        self.bits, self.inner_bits = bits, inner_bits
        self.largest = {b: (1 << 2 * b) - 1 for b in (bits, inner_bits)}

    def rounded(self, value: Fraction, bits: int) -> int:
        """The nearest number, a tie away from zero; beyond the largest number, that one."""
        return self.ratio(value.numerator << bits, value.denominator, bits)

    def saturated(self, units: int, bits: int) -> int:
        """The number itself, or the largest."""
        largest = self.largest[bits]
        return largest if units > largest else -largest if units < -largest else units

    def number(self, exact: Fraction) -> Number:
        return self.rounded(exact, self.bits)

    def add(self, x: Number, y: Number) -> Number:
        return self.saturated(x + y, self.bits)

    def multiply(self, x: Number, y: Number) -> Number:
        return self.product(x, y, self.bits)

    def product(self, x: int, y: int, bits: int) -> int:
        """The product of two numbers with b bits, rounded."""
        return self.ratio(x * y, 1 << bits, bits)

    def ratio(self, above: int, below: int, bits: int) -> int:
        """The integer nearest to a quotient, a tie away from zero; beyond the largest number, that one."""
        size = min((2 * abs(above) + below) // (2 * below), self.largest[bits])
        return -size if above < 0 else size

    def sign(self, x: Number) -> int:
        return int(x > 0) - int(x < 0)

    def relu(self, x: Number) -> Number:
        return max(x, 0)

    def norm(self, numbers: Vector) -> Vector:
        if len(numbers) > 1:
            raise NotImplementedError("the layer norm of several numbers is not defined in fixed point")
        return [self.sign(numbers[0]) * 2**self.bits]

    def best(self, scores: Vector) -> list[int]:
        return [place for place, score in enumerate(scores) if score == max(scores)]

    def mean(self, values: list[Vector], width: int) -> Vector:
        return self.weighted([2**self.inner_bits] * len(values), values, width)

    def softmax(self, scores: Vector, scale: Fraction, values: list[Vector], width: int) -> Vector:
        factor, inner = self.rounded(scale, self.inner_bits), self.inner_bits
        below = [self.saturated((score - max(scores)) << (inner - self.bits), inner) for score in scores]
        return self.weighted([self.exponential(self.product(x, factor, inner)) for x in below], values, width)

    def weighted(self, weights: list[int], values: list[Vector], width: int) -> Vector:
        """Σ w v / Σ w: both sums with the bits of attention, one division."""
        inner, total, found = self.inner_bits, 0, [0] * width
        for weight, value in zip(weights, values, strict=True):
            total = self.saturated(total + weight, inner)
            for k in range(width):
                if weight == 0 or value[k] == 0:
                    continue
                term = self.product(weight, value[k] << (inner - self.bits), inner)
                found[k] = self.saturated(found[k] + term, inner)
        return [self.ratio(number << self.bits, total or 1, self.bits) for number in found]

    def exponential(self, units: int) -> int:
        """The exponential of a number with the bits of attention, rounded; only 0 has a rational one."""
        inner = self.inner_bits
        if units == 0:
            return 1 << inner
        if units > inner * 2**inner:
            return self.largest[inner]
        for precision in (64 + 4 * inner, 256 + 16 * inner):
            with ctx.workprec(precision):
                floor = (arb(fmpq(units, 2**inner)).exp() * 2**inner + fmpq(1, 2)).floor().unique_fmpz()
            if floor is not None:
                return min(int(floor), self.largest[inner])
        raise UndecidedError(f"the exponential of {units}")


# Saved models


@dataclass(frozen=True)
class Affine:
    """x ↦ W x + b in an arithmetic; of each row the non-zeros, in the order of columns."""

    rows: list[tuple[list[int], Vector]]
    bias: Vector

    @staticmethod
    def of(rows: list[Row], bias: list[Fraction], numbers: Arithmetic) -> Affine:
        """An affine map of rationals, each as the nearest number."""
        sparse = [([column for column, _ in row], [numbers.number(weight) for _, weight in row]) for row in rows]
        return Affine(sparse, [*map(numbers.number, bias)])


class SavedModel:
    """The weights of a folder.

    Args:
        folder: The folder.
    """

    def __init__(self, folder: Path) -> None:
        self.data: Json = json.loads((folder / "softmachine.json").read_text(encoding="utf-8"))["weights"]
        self.tensors = {name: tensor.tolist() for name, tensor in load_file(folder / "model.safetensors").items()}
        self.width = len(self.data["coordinates"])

    def numbers(self, name: str) -> list[Fraction]:
        """A list of rationals."""
        return [*map(Fraction, self.tensors[f"{name}.numerator"], self.tensors[f"{name}.denominator"])]

    def matrix(self, name: str) -> list[Row]:
        """A matrix as one sparse row for each row, in the order of columns."""
        rows: list[Row] = [[] for _ in range(self.tensors[f"{name}.shape"][0])]
        for (row, column), value in zip(self.tensors[f"{name}.index"], self.numbers(name), strict=True):
            rows[row].append((column, value))
        return [sorted(row) for row in rows]


class ForwardPass:
    """The forward pass of a model over one sequence.

    Args:
        model: The model.
        numbers: The arithmetic.
        length: n, the length of the input, if the model uses it.
    """

    def __init__(self, model: SavedModel, numbers: Arithmetic, length: int | None) -> None:
        self.model, self.numbers, self.n = model, numbers, length or 0
        self.maps: dict[str, Affine] = {}

    def affine(self, name: str) -> Affine:
        """An affine map of the model."""
        if name not in self.maps:
            rows, bias = self.model.matrix(f"{name}.weight"), self.model.numbers(f"{name}.bias")
            self.maps[name] = Affine.of(rows, bias, self.numbers)
        return self.maps[name]

    def outputs(self, at: str, heads: int) -> Affine:
        """From what all heads of a layer retrieve to the residual stream."""
        if at not in self.maps:
            rows: list[Row] = [[] for _ in range(self.model.width)]
            offset = 0
            for h in range(heads):
                for row, own in zip(rows, self.model.matrix(f"{at}.heads.{h}.output"), strict=True):
                    row.extend((offset + column, weight) for column, weight in own)
                offset += self.model.tensors[f"{at}.heads.{h}.output.shape"][1]
            self.maps[at] = Affine.of(rows, [Fraction(0)] * self.model.width, self.numbers)
        return self.maps[at]

    def applied(self, affine: Affine, x: Vector) -> Vector:
        """W x + b, from left to right, the constant last."""
        found = []
        for (columns, weights), constant in zip(affine.rows, affine.bias, strict=True):
            total = self.numbers.inner_product(weights, [x[column] for column in columns])
            found.append(self.numbers.add(total, constant))
        return found

    def sum(self, x: Vector, y: Vector) -> Vector:
        """x + y."""
        return [*map(self.numbers.add, x, y)]

    def computed(self, tokens: Sequence[str]) -> list[Vector]:
        """At every position the residual stream after the last layer, then the logits."""
        stream = self.embedded(tokens)
        for b, block in enumerate(self.model.data["blocks"]):
            repeats = block["repeats"]
            turns = repeats if isinstance(repeats, int) else int(feature(repeats, 0, self.n))
            for _ in range(turns):
                for d, layer in enumerate(block["layers"]):
                    stream = self.layer(f"blocks.{b}.layers.{d}", layer, stream)
        return [[*x, *self.applied(self.affine("unembedding"), x)] for x in stream]

    def embedded(self, tokens: Sequence[str]) -> list[Vector]:
        """The embedding of each token plus that of its position."""
        model, zero = self.model, self.numbers.zero
        embedding, places = model.matrix("embedding"), model.matrix("position_embedding")
        into: list[Row] = [[] for _ in range(model.width)]
        for number, row in enumerate(places):
            for column, weight in row:
                into[column].append((number, weight))
        positions = Affine.of(into, [Fraction(0)] * model.width, self.numbers)
        stream = []
        for i, token in enumerate(tokens):
            x = [zero] * model.width
            for column, weight in embedding[model.data["vocabulary"].index(token)]:
                x[column] = self.numbers.number(weight)
            values = [self.numbers.number(feature(data, i, self.n)) for data in model.data["features"]]
            stream.append(self.sum(x, self.applied(positions, values)))
        return stream

    def layer(self, at: str, layer: Json, stream: list[Vector]) -> list[Vector]:
        """x + heads(x), then x + feed-forward(x)."""
        if heads := layer["heads"]:
            found = [self.head(f"{at}.heads.{h}", head, stream) for h, head in enumerate(heads)]
            output = self.outputs(at, len(heads))
            retrieved = [[number for part in parts for number in part] for parts in zip(*found, strict=True)]
            stream = [self.sum(x, self.applied(output, own)) for x, own in zip(stream, retrieved, strict=True)]
        first, second = self.affine(f"{at}.first"), self.affine(f"{at}.second")
        return [self.sum(x, self.applied(second, self.hidden(layer, self.applied(first, x)))) for x in stream]

    def hidden(self, layer: Json, before: Vector) -> Vector:
        """The hidden units of a feed-forward sublayer."""
        one, zero = self.numbers.number(Fraction(1)), self.numbers.zero
        after: Vector = []
        for x, activation in zip(before, layer["activations"], strict=True):
            if activation == "step":
                after.append(one if self.numbers.sign(x) >= 0 else zero)
            else:
                after.append(self.numbers.relu(x) if activation == "relu" else None)
        for group in layer.get("norms", []):
            for unit, value in zip(group, self.numbers.norm([before[unit] for unit in group]), strict=True):
                after[unit] = value
        return after

    def head(self, at: str, head: Json, stream: list[Vector]) -> list[Vector]:
        """What a head retrieves at every position."""
        query, key, value = (
            [self.applied(self.affine(f"{at}.{part}"), x) for x in stream] for part in ("query", "key", "value")
        )
        width = len(self.model.tensors[f"{at}.value.bias.numerator"])
        found = []
        for i, asked in enumerate(query):
            seen = [j for j in range(len(stream)) if MASKS[head["mask"]](j, i)]
            scores = [self.numbers.inner_product(asked, key[j]) for j in seen]
            if head["bias"] is not None:
                relation = RELATIONS[head["bias"]["is"]]
                scores = self.sum(scores, [self.numbers.number(Fraction(relation(j, i))) for j in seen])
            found.append(self.retrieved(head, i, scores, [value[j] for j in seen], width))
        return found

    def retrieved(self, head: Json, i: int, scores: Vector, values: list[Vector], width: int) -> Vector:
        """What a head retrieves at position i."""
        kind = head["weighting"]
        if kind == "softmax" and values:
            scale = head["scale"]
            number = Fraction(scale) if isinstance(scale, str) else feature(scale, i, self.n)
            return self.numbers.softmax(scores, number, values, width)
        best = self.numbers.best(scores)
        kept = {"average-hard": best, "leftmost-hard": best[:1], "rightmost-hard": best[-1:], "softmax": []}[kind]
        return self.numbers.mean([values[place] for place in kept], width)


def computed(
    folder: Path, tokens: Sequence[str], length: int | None, numbers: Arithmetic, bits: int = 256
) -> list[Vector]:
    """What a saved model computes at every position: the residual stream after the last layer, then the logits.

    Args:
        folder: The model.
        tokens: The sequence.
        length: n, the length of the input, if the model uses it.
        numbers: The arithmetic.
        bits: The precision of balls.
    """
    with ctx.workprec(bits):
        return ForwardPass(SavedModel(folder), numbers, length).computed(tokens)
