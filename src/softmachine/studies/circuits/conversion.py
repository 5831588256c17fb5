"""Conversion of a fixed-point transformer to an explicit threshold circuit, for one input length.

Lemmas 4.2 and 5.1 of "Revisiting Padded Transformer Expressivity": a transformer of constant depth in F_b is a circuit
of constant depth, with gates AND, OR, NOT and THR, whose size is polynomial in 2ᵇ, the width and the length; a looped
block becomes one stacked copy per iteration. Every operation is that of F_b: saturating sums from left to right,
products rounded one by one, one division in attention. The paper states that counting the maximal keys is in AC⁰; it
is not, and threshold gates count them here.

Requirements: every weight is a number of F_b, and the prompts of the codec have one token per symbol.
Cost: see :class:`TransformerCircuit`; numbers with few values, as most in compiled models, are cheap.

The cost is estimated in advance, extrapolated from circuits for shorter words by a power of the length. The power is
estimated from two lengths: how many values a number takes depends on the model. Process time is measured, so the load
of the machine does not distort the estimate.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice, product

import numpy as np
from numpy.typing import NDArray

from softmachine.compiler.model import Model
from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.numerics import find_arithmetic
from softmachine.engines.numerics.base import Array
from softmachine.engines.numerics.fixed_point import FixedPointArithmetic
from softmachine.languages.circuit import Basis, Circuit, Gate, GateKind, evaluate_many, simplify
from softmachine.languages.source import Source
from softmachine.studies.circuits.layers import TokenWires, WireForwardPass
from softmachine.studies.circuits.wires import TRUE, CircuitBuilder
from softmachine.support.errors import ConstructionError, SoftmachineError, UsageError
from softmachine.support.progress import ProgressCallback, ignore_progress
from softmachine.support.resources import Estimate, allow_expensive, require_affordable
from softmachine.support.text import pluralize
from softmachine.theorems.codec import Codec, DecoderCodec, Prompt
from softmachine.transformer.features import ceil_log2
from softmachine.transformer.weights import Transformer

MAX_UNESTIMATED_LENGTH = 8
"""Circuits for words up to this length are built without an estimate."""
MIN_TRIAL_SECONDS = 0.04
"""Build time in seconds from which a circuit is large enough to extrapolate from."""
MIN_POWER, MAX_POWER = 2.0, 5.0
"""Bounds of the power: attention compares all pairs of positions."""
SECONDS_PER_LAYER, BYTES_PER_LAYER = 1e-3, 1_000
"""Approximate minimum cost of a layer: seconds and bytes."""
BYTES_PER_WIRE = 200


def require_affordable_circuit(transformer: Transformer, length: int, wires: Callable[[int], int]) -> None:
    """Require that the circuit of a transformer for words of length n is affordable.

    Args:
        transformer: The weights.
        length: The length.
        wires: Builds a circuit for words of a given length and returns its number of wires.

    Raises:
        TooExpensiveError: If the estimate exceeds ten minutes or half of the free memory, without consent.
    """
    depth = transformer.depth(length)
    require_affordable(
        Estimate(f"a circuit of {pluralize(depth, 'layer')}", depth * SECONDS_PER_LAYER, depth * BYTES_PER_LAYER)
    )
    if length <= MAX_UNESTIMATED_LENGTH:
        return
    try:
        size, seconds, found, power = _measure_growth(wires, length // 2)
    except SoftmachineError:  # such as a model that accepts words of one length only
        return
    more = (length / size) ** power
    estimate = Estimate(
        f"a circuit for words of {pluralize(length, 'symbol')}", seconds * more, found * more * BYTES_PER_WIRE
    )
    require_affordable(estimate, hint="build the circuit for shorter words")


def _measure_growth(wires: Callable[[int], int], most: int) -> tuple[int, float, int, float]:
    """Double the length until the circuit is large enough; return the length, the seconds, the wires and the power."""
    size, before, power = 1, 0.0, MIN_POWER
    while True:
        began = time.process_time()
        found = wires(size)
        seconds = time.process_time() - began
        if before:
            power = min(max(math.log2(seconds / before), MIN_POWER), MAX_POWER)
        if seconds > MIN_TRIAL_SECONDS or 2 * size > most:
            return size, seconds, found, power
        size, before = 2 * size, seconds


Bits = NDArray[np.bool_]
BATCH_SIZE = 512
"""Words per batch of a comparison."""


@dataclass(frozen=True)
class TransformerCircuit:
    """The circuit of a transformer for words of one length.

    Its inputs are the symbols of the word in binary, ⌈log₂ |Σ|⌉ bits each, the highest first; an unused code represents
    the last symbol. It has one output per requested position and output token of the transformer: whether the
    transformer predicts that token. No output of a position is true if its largest logits are equal.

    Args:
        circuit: The gates.
        model: The model.
        arithmetic: The F_b of the computation.
        length: The length of the words.
        positions: The positions whose predictions are outputs.
    """

    circuit: Circuit
    model: Model
    arithmetic: FixedPointArithmetic
    length: int
    positions: tuple[int, ...]

    @property
    def depth(self) -> int:
        """The length of the longest path from an input to an output, without the buffers that name the outputs."""
        return self.circuit.depth - 1

    @property
    def size(self) -> int:
        """The number of gates, without the buffers that name the outputs."""
        return self.circuit.size - len(self.circuit.outputs)

    @property
    def wires(self) -> int:
        """The total number of arguments of all gates."""
        return sum(len(gate.inputs) for gate in self.circuit.gates) - len(self.circuit.outputs)

    def with_basis(self, basis: Basis) -> TransformerCircuit:
        """Rewrite the circuit with the gates of a basis; the outputs keep their names.

        In constant precision sums saturate, so thresholds are bounded, and AC0 counts them in constant depth: a
        transformer of constant depth becomes a circuit whose depth is independent of the length (Lemma 4.2 of
        "Revisiting Padded Transformer Expressivity"). AC counts by adders, whose depth grows with the logarithm of the
        fan-in.
        """
        made = simplify(self.circuit, basis)
        pairs = zip(self.circuit.outputs, made.outputs, strict=True)
        named = tuple(Gate(given, GateKind.BUF, (wire,)) for given, wire in pairs)
        return replace(self, circuit=replace(made, gates=(*made.gates, *named), outputs=self.circuit.outputs))

    @cached_property
    def codec(self) -> Codec[Source]:
        """The codec of the model."""
        return self.model.codec

    def encode(self, word: Sequence[str]) -> list[bool]:
        """Encode a word as an input of the circuit."""
        return [bool(bit) for symbol in word for bit in _code(self.codec.alphabet, symbol)]

    def predict(self, words: Sequence[Sequence[str]]) -> list[tuple[str | None, ...]]:
        """Evaluate the circuit: its prediction at every requested position; None where logits are equal."""
        inputs = np.array([self.encode(word) for word in words], dtype=bool).reshape(len(words), self.circuit.width)
        outputs = evaluate_many(self.circuit, inputs).reshape(len(words), len(self.positions), -1)
        return [tuple(map(self._answer, row)) for row in outputs]

    def _answer(self, flags: Bits) -> str | None:
        predicted = [output for output, flag in zip(self.model.weights.outputs, flags, strict=True) if flag]
        return predicted[0] if len(predicted) == 1 else None

    def predict_with_engine(self, words: Sequence[Sequence[str]]) -> list[tuple[str | None, ...]]:
        """Run the transformer on the dense engine: its prediction at every requested position."""
        engine = DenseEngine(self.model.weights, self.arithmetic)
        prompts = [self.codec.prompt(word) for word in words]
        stream = engine.residual_stream([prompt.tokens for prompt in prompts], prompts[0].length)
        logits = engine.unembedding(stream[:, np.array(self.positions, dtype=np.intp)]).value
        return [tuple(map(self._largest, row)) for row in logits]

    def _largest(self, logits: Array) -> str | None:
        best = np.flatnonzero(logits == logits.max())
        return self.model.weights.outputs[int(best[0])] if len(best) == 1 else None

    def find_disagreements(self, words: Iterable[Sequence[str]] | None = None) -> Iterator[tuple[str, ...]]:
        """Yield the words on which the circuit and the transformer differ, among all words or the given ones."""
        every = product(self.codec.alphabet, repeat=self.length) if words is None else map(tuple, words)
        for batch in _batches(every):
            pairs = zip(batch, self.predict(batch), self.predict_with_engine(batch), strict=True)
            yield from (word for word, found, expected in pairs if found != expected)

    def __str__(self) -> str:
        return (
            f"{self.model.name} in {self.arithmetic.name} on words of length {self.length}: {self.size:,} gates, "
            f"{self.wires:,} wires, depth {self.depth}"
        )


def to_circuit(
    model: Model,
    length: int,
    numbers: str | FixedPointArithmetic = "fixed:8",
    *,
    positions: Sequence[int] | None = None,
    progress: ProgressCallback = ignore_progress,
    yes: bool = False,
) -> TransformerCircuit:
    """Convert a transformer to the threshold circuit that computes its predictions on words of length n.

    Args:
        model: The model.
        length: The length of the words.
        numbers: The fixed-point arithmetic, "fixed:B" or "fixed:B:C".
        positions: Positions of the prompt whose predictions are outputs; -1 is the last one. Default: all.
        progress: Progress callback.
        yes: Whether to proceed even if the estimate exceeds ten minutes or half of the free memory.

    Raises:
        UsageError: If the model is autoregressive, or the arithmetic is not fixed point.
        ConstructionError: If a token of the prompt depends on several symbols, or the circuit becomes too large.
        PrecisionError: If a weight is not in F_b.
        TooExpensiveError: If the estimate exceeds ten minutes or half of the free memory and ``yes`` is False.
    """
    if isinstance(model.codec, DecoderCodec):
        raise UsageError(
            f"{model.name!r} is autoregressive; a circuit is one forward pass and computes only the first token",
            hint="use a source whose model is an encoder: a formula, a program without rules, a circuit or a graph",
        )
    model.weights.require_single_norms("fixed point does not define it: a root is rounded before or after the division")
    fixed = find_arithmetic(numbers)
    if not isinstance(fixed, FixedPointArithmetic):
        raise UsageError(f"a circuit computes in fixed point, not in {fixed.name}", hint="for example fixed:8")
    DenseEngine(model.weights, fixed)  # raises PrecisionError if a weight is not in F_b
    with allow_expensive(yes):
        require_affordable_circuit(
            model.weights, length, lambda size: _build(model, size, fixed, None, ignore_progress).wires
        )
        return _build(model, length, fixed, positions, progress)


def _build(
    model: Model, n: int, fixed: FixedPointArithmetic, positions: Sequence[int] | None, progress: ProgressCallback
) -> TransformerCircuit:
    """Build the circuit, without an estimate."""
    prompt, choices = _find_token_choices(model.codec, n)
    alphabet = model.codec.alphabet
    wide = ceil_log2(len(alphabet))
    wires = CircuitBuilder([f"x{i}" if wide == 1 else f"x{i}_{k}" for i in range(n) for k in range(wide)])
    slots = [_build_token_wires(wires, alphabet, choice) for choice in choices]
    unrolled = WireForwardPass(model.weights, wires, fixed.arrays.bits, fixed.attention_arrays.bits, prompt.length)
    logits = unrolled.compute_logits(slots, progress)
    places = tuple(range(len(slots))) if positions is None else tuple(range(len(slots))[place] for place in positions)
    outputs = [
        (f"y{place}_{k}", wire) for place in places for k, wire in enumerate(unrolled.unique_argmax(logits[place]))
    ]
    name = f"{model.name}, n = {n}"
    return TransformerCircuit(wires.build(name, outputs), model, fixed, n, places)


TokenChoice = str | tuple[int, dict[str, str]]
"""The constant token of a position; or the index of the symbol that determines it, and the token for each symbol."""


def _find_token_choices(codec: Codec[Source], n: int) -> tuple[Prompt, list[TokenChoice]]:
    """Find the tokens of every position of a prompt by changing a word symbol by symbol."""
    first = codec.alphabet[0]
    prompt = codec.prompt((first,) * n)
    choices: list[TokenChoice] = list(prompt.tokens)
    for i in range(n):
        for symbol in codec.alphabet[1:]:
            changed = codec.prompt((*(first,) * i, symbol, *(first,) * (n - 1 - i)))
            if len(changed.tokens) != len(prompt.tokens) or changed.length != prompt.length:
                raise ConstructionError(f"prompts of {codec.source.name!r} for words of length {n} differ in length")
            for place, token in enumerate(changed.tokens):
                if token != prompt.tokens[place]:
                    old = choices[place]
                    known = (i, {first: prompt.tokens[place]}) if isinstance(old, str) else old
                    if known[0] != i:
                        raise ConstructionError(
                            f"the token at position {place} of a prompt of {codec.source.name!r} depends on two "
                            f"symbols of the word, {known[0]} and {i}"
                        )
                    choices[place] = (i, {**known[1], symbol: token})
    return prompt, choices


def _build_token_wires(wires: CircuitBuilder, alphabet: Sequence[str], choice: TokenChoice) -> TokenWires:
    """Build the wires that indicate which token is at a position."""
    if isinstance(choice, str):
        return {choice: TRUE}
    i, tokens = choice
    wide = ceil_log2(len(alphabet))
    which: dict[str, list[int]] = {}
    for index, symbol in enumerate(alphabet):
        codes = range(index, 1 << wide) if index == len(alphabet) - 1 else [index]
        literals = [wires.conjunction(_literals(wires, i * wide, wide, code)) for code in codes]
        which.setdefault(tokens.get(symbol, tokens[alphabet[0]]), []).append(wires.disjunction(literals))
    return {token: wires.disjunction(found) for token, found in which.items()}


def _literals(wires: CircuitBuilder, start: int, wide: int, code: int) -> Iterator[int]:
    """Yield the literals whose conjunction recognises a code."""
    for k in range(wide):
        wire = wires.input_wire(start + k)
        yield wire if code >> wide - 1 - k & 1 else wires.negate(wire)


def _code(alphabet: Sequence[str], symbol: str) -> list[int]:
    wide, index = ceil_log2(len(alphabet)), alphabet.index(symbol)
    return [index >> wide - 1 - k & 1 for k in range(wide)]


def _batches(words: Iterable[tuple[str, ...]]) -> Iterator[list[tuple[str, ...]]]:
    waiting = iter(words)
    while batch := list(islice(waiting, BATCH_SIZE)):
        yield batch
