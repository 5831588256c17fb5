"""Certificates of models, and the tests of what they assume: gaps, ties and margins that are declared, not derived.

The program is evaluated exactly, with all declarations, on every short input and on random longer ones.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

from softmachine.certify.certificate import Certificate, certify, certify_weights, harden_heads
from softmachine.compiler import compile_program
from softmachine.compiler.model import Model
from softmachine.engines.inputs import Word, iterate_words
from softmachine.ir.interpreter import evaluate
from softmachine.ir.primitives import Attention
from softmachine.ir.program import Program
from softmachine.ir.signal import topological_order
from softmachine.support.errors import BrokenPromiseError, ConstructionError, ContextTooShortError
from softmachine.support.text import pluralize
from softmachine.theorems.codec import Codec, DecoderCodec, Prompt, SegmentedCodec
from softmachine.transformer.weights import compute_digest

MAX_WORK = 200_000
"""Scores and terms of forms that are evaluated on all short inputs, and as many on random ones: half a second each."""
MAX_SHORT, MAX_RANDOM = 4, 64
"""The longest of the short inputs, which are all evaluated, and of the random ones."""
MAX_SAMPLE = 200
"""The number of random inputs, if the work allows."""


@dataclass(frozen=True)
class PromiseTest:
    """The inputs on which all promises of a program hold.

    Args:
        short: The number of inputs that were enumerated.
        complete: All inputs up to this length are among them; -1 if none.
        sampled: The number of random inputs.
        longest: The length of the longest input.
    """

    short: int
    complete: int
    sampled: int
    longest: int

    def to_json(self) -> dict[str, int]:
        """As plain data."""
        return dict(vars(self))

    def __str__(self) -> str:
        every = f"all up to length {self.complete}, " if self.complete >= 0 else ""
        tried = pluralize(self.short + self.sampled, "input")
        return f"promises evaluated exactly on {tried}: {every}{self.sampled} at random up to length {self.longest}"


def certify_model(model: Model, length: int, sharpness: int | None = None) -> Certificate:
    """The certificate of the weights of a model with hard attention.

    If they are those that its theorem compiles, the theorem's declarations are hints; else everything is derived.

    Raises:
        BrokenPromiseError: If an assumption does not hold on an input that is tried.
        ConstructionError: If no sharpness is certified.
    """
    if has_theorem_weights(model):
        return certify_theorem_program(model, length, sharpness)
    count = model.theorem.signals(model.codec, model.theorem.certified_variant).position_count
    last, domain = _last_position(model, length), model.codec.domain(model.weights.vocabulary)
    return replace(certify_weights(model.weights, last, sharpness, domain, count), length=length)


def certify_theorem_program(model: Model, length: int, sharpness: int | None = None) -> Certificate:
    """The certificate of what a model's theorem compiles its source to, whatever the weights of the model are.

    Raises:
        BrokenPromiseError: If an assumption does not hold on an input that is tried.
        ConstructionError: If no sharpness is certified.
    """
    program = model.theorem.signals(model.codec, model.theorem.certified_variant)
    domain, assumable = model.codec.domain(program.vocabulary), ("gap", "decay", "single key")
    last = _last_position(model, length)
    found = certify(program, last, sharpness, domain, assumable if model.theorem.is_bundled else assumable[2:])
    if found.assumptions:
        found = replace(found, promises=check_promises(program, model.codec, last))
    return replace(found, length=length)


def _last_position(model: Model, length: int) -> int:
    """The n of the longest inputs: a decoder that was built for a context has no position beyond it."""
    limited = model.context is not None and isinstance(model.codec, DecoderCodec)
    return min(length, cast(int, model.context) - 1) if limited else length


def recompute_certificate(model: Model, length: int, sharpness: int | None) -> Certificate:
    """The certificate of a model with softmax attention: of its theorem's program, or of its weights made hard.

    Raises:
        ConstructionError: If no sharpness is certified.
    """
    found = certify_theorem_program(model, length, sharpness)
    if found.soft_digest == compute_digest(model.weights):
        return found
    return certify_model(replace(model, weights=harden_heads(model.weights)), length, sharpness)


def check_plugin_promises(model: Model, length: int) -> PromiseTest | None:
    """Check the declarations of a theorem that is a plug-in and has hard attention; None for others.

    Raises:
        BrokenPromiseError: If a declaration does not hold.
    """
    theorem = model.theorem
    if theorem.is_bundled or "hard" not in theorem.attentions:
        return None
    return check_promises(theorem.signals(model.codec, theorem.certified_variant), model.codec, length)


def has_theorem_weights(model: Model) -> bool:
    """Whether the weights are those that a model's theorem compiles its source to, with hard attention."""
    theorem, found = model.theorem, compute_digest(model.weights)
    for attention in dict.fromkeys((*theorem.attentions, theorem.certified_variant)):
        weights = compile_program(theorem.signals(model.codec, attention))
        if weights.attention == "hard" and compute_digest(weights) == found:
            return True
    return False


def check_promises(program: Program, codec: Codec[Any], length: int) -> PromiseTest:
    """Evaluate a program exactly, with all promises, on inputs up to a length, for about two seconds.

    The margin is checked at the outputs that the codec expects. Inputs that outgrow the model are not counted.

    Raises:
        BrokenPromiseError: If a promise does not hold; the message has the head, the input and the true value.
    """
    only = codec.input_length
    sizes = range(min(MAX_SHORT, length) + 1) if only is None else range(only, only + 1)
    nodes = list(topological_order(program.logits.forms))
    heads = sum(isinstance(node, Attention) for node in nodes)
    terms = sum(len(form.terms) + 1 for node in nodes for form in node.inputs())
    longest = 0
    counts = []
    for words in (iterate_words(codec, sizes), _random_words(codec, min(length, MAX_RANDOM) if only is None else only)):
        work, count = 0, 0
        for word in words:
            positions = _check_word(program, codec, word, length)
            if positions:
                count, longest = count + 1, max(longest, len(word))
            work += positions * (positions * heads + terms)
            if work > MAX_WORK:
                break
        counts.append(count)
    totals = {size: sum(map(codec.word_count, range(sizes.start, size + 1))) for size in sizes}
    complete = max((size for size, total in totals.items() if total <= counts[0]), default=-1)
    return PromiseTest(counts[0], complete, counts[1], longest)


def _random_words(codec: Codec[Any], longest: int) -> Iterator[Word]:
    """Random words, short ones first."""
    chooser = random.Random(0)
    for k in range(MAX_SAMPLE):
        yield codec.random_word(chooser, longest if codec.input_length is not None else 1 + k * longest // MAX_SAMPLE)


def _check_word(program: Program, codec: Codec[Any], word: Word, length: int) -> int:
    """Check an input, and return the number of positions that were evaluated: 0 if it outgrows the model."""
    positions = 0
    try:
        for tokens, n, expected in _sequences(codec, word, length):
            positions += len(tokens)
            logits = evaluate(program.logits, tokens, n)
            for i, wanted in expected.items():
                _check_margin(program, i, wanted, logits[i])
    except ContextTooShortError:
        return 0
    except ConstructionError as error:
        hint = "a certificate would be false: state what holds, or change the signals so that it does"
        raise BrokenPromiseError(f"on the input {codec.format_input(word)!r}: {error.message}", hint=hint) from None
    return positions


def _sequences(
    codec: Codec[Any], word: Word, length: int
) -> Iterator[tuple[tuple[str, ...], int | None, dict[int, str]]]:
    """What a model reads for an input, with n, and the expected output at each position that has one."""
    if isinstance(codec, SegmentedCodec):
        segments: Iterable[tuple[Prompt, tuple[str | None, ...]]] = codec.expected_segments(word, length)
    else:
        segments = [(codec.prompt(word), tuple(codec.expected(word, length)))]
    for prompt, outputs in segments:
        begin, tokens = 0, prompt.tokens
        if isinstance(codec, DecoderCodec):
            begin, tokens = len(tokens) - 1, (*tokens, *(output or "" for output in outputs[:-1]))[: length + 1]
        expected = {i: output for i, output in enumerate(outputs, begin) if output is not None and i < len(tokens)}
        yield tokens, prompt.length, expected


def _check_margin(program: Program, i: int, wanted: str, logits: tuple[Any, ...]) -> None:
    right = program.outputs.index(wanted)
    margin = min((logits[right] - other for k, other in enumerate(logits) if k != right), default=None)
    if margin is not None and program.margin is not None and margin < program.margin:
        raise ConstructionError(
            f"the logit of {wanted!r} at position {i} exceeds the others by {margin}, less than the promised "
            f"margin {program.margin}"
        )
