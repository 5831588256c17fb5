"""Detection of the input length n in exported encoders, for features that depend on it.

An additional first layer computes them: a head attends to the last position, which determines n, and for each length
units hold the values of a position feature at all positions. The units for the right n have exactly 0 as their other
input, so the feature is as exact as a table of it; the others are off.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from softmachine.compiler.model import Model
from softmachine.exports.lowered_model import Array, DenseAffine, LoweredHead, LoweredLayer, ReluUnit
from softmachine.languages.source import Source
from softmachine.support.errors import ConstructionError, InputError, UsageError
from softmachine.theorems.codec import Codec, Prompt
from softmachine.transformer.features import Feature

LENGTH_HEAD_GAP = 128.0
"""The score gap between the last position and the one before: e⁻¹²⁸ is 0 in float32."""


@dataclass(frozen=True)
class InputLengths:
    """The possible input lengths, each with the number of positions of its prompt.

    A decoder has one entry, without n and with all positions.
    """

    pairs: tuple[tuple[int | None, int], ...]

    @property
    def max_positions(self) -> int:
        """The largest number of positions."""
        return max(positions for _, positions in self.pairs)

    def feature_values(self, feature: Feature) -> Iterator[float]:
        """All values of a feature, over all positions and lengths."""
        for n, positions in self.pairs:
            yield from (float(feature.at(i, n)) for i in range(positions))


def iterate_fitting_inputs(codec: Codec[Source], max_positions: int, step: int = 1) -> Iterator[tuple[str, ...]]:
    """A word of each length, or each multiple of a step, whose prompt has at most ``max_positions`` positions."""
    for word, prompt in _prompts(codec, max_positions, step):
        if len(prompt.tokens) <= max_positions:
            yield word


def find_input_lengths(model: Model, max_positions: int) -> InputLengths:
    """The lengths of the inputs of an encoder whose prompts have at most ``max_positions`` positions.

    Raises:
        UsageError: If there are none.
        ConstructionError: If the length of a prompt does not determine that of its input.
    """
    prompts = [prompt for _, prompt in _prompts(model.codec, max_positions)]
    pairs = [(prompt.length, len(prompt.tokens)) for prompt in prompts if 0 < len(prompt.tokens) <= max_positions]
    if not pairs:
        raise make_no_input_fits_error(model.name, model.codec, max_positions)
    if len({positions for _, positions in pairs}) < len(pairs):
        raise ConstructionError(f"inputs of {model.name!r} that differ in length have prompts of the same length")
    return InputLengths(tuple(pairs))


def make_no_input_fits_error(name: str, codec: Codec[Source], most: int) -> UsageError:
    """The error that no input fits in ``most`` positions."""
    needed = min((len(prompt.tokens) for _, prompt in _prompts(codec, most)), default=None)
    hint = "give a larger --context"
    if needed is not None:
        hint = f"its shortest input takes {needed:,} positions: --context {needed}"
    return UsageError(f"no input of {name!r} fits in {most:,} positions", hint=hint)


def _prompts(codec: Codec[Source], most: int, step: int = 1) -> Iterator[tuple[tuple[str, ...], Prompt]]:
    """For each length up to ``most`` that the codec accepts, a word and its prompt."""
    for count in range(0, most + 1 if codec.alphabet else 1, step):
        word = codec.alphabet[:1] * count
        try:
            yield word, codec.prompt(word)
        except InputError:
            continue


def build_length_layer(
    features: Sequence[Feature], embedding: Array, lengths: InputLengths, *, first: int, flags: int
) -> LoweredLayer:
    """The layer that writes features of the length.

    Args:
        features: The features to write.
        embedding: (features, width): the rows of the position embedding.
        lengths: The lengths of inputs.
        first: The first coordinate of the one-hot encoding of the position.
        flags: The first of the coordinates for "the length is not n", one per length.
    """
    width, count = embedding.shape[1], len(lengths.pairs)
    ends = np.array([first + positions - 1 for _, positions in lengths.pairs])
    values, output = np.zeros((count, width)), np.zeros((width, count))
    values[np.arange(count), ends] = -1
    output[np.arange(flags, flags + count), np.arange(count)] = 1
    found, written = [(values, np.ones(count))], [output]
    units: list[ReluUnit] = []
    constant = np.zeros(width)
    for feature, row in zip(features, embedding, strict=True):
        table = [[float(feature.at(i, n)) for i in range(positions)] for n, positions in lengths.pairs]
        if all(len(set(entries)) == 1 for entries in table):  # depends on the length only
            value = np.zeros((1, width))
            value[0, ends] = [entries[0] for entries in table]
            found.append((value, np.zeros(1)))
            written.append(row[:, None])
            continue
        low = min(0.0, *(min(entries) for entries in table))
        high = max(max(entries) for entries in table)
        constant += low * row
        for k, ((n, _), entries) in enumerate(zip(lengths.pairs, table, strict=True)):
            weight = np.zeros(width)
            weight[first : first + len(entries)] = np.array(entries) - low
            weight[flags + k] = -(2.0 ** np.ceil(np.log2(max(high - low, 1.0))))
            units.append(ReluUnit(weight, 0.0, row, f"{feature}: n = {n}"))
    ramp = np.zeros((1, width))
    ramp[0, first : first + lengths.max_positions] = np.arange(lengths.max_positions)
    head = LoweredHead(
        "last position",
        query=DenseAffine(np.zeros((1, width)), np.array([LENGTH_HEAD_GAP])),
        key=DenseAffine(ramp, np.zeros(1)),
        value=DenseAffine(np.vstack([rows for rows, _ in found]), np.concatenate([bias for _, bias in found])),
        output=np.hstack(written),
    )
    return LoweredLayer.from_units((head,), units, constant)
