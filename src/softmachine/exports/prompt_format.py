"""Test inputs and expected outputs of a model: the source language as an exporter sees it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from softmachine.compiler.model import Model
from softmachine.exports.sequence_length import iterate_fitting_inputs, make_no_input_fits_error
from softmachine.languages.source import Source
from softmachine.support.errors import InputError, UsageError
from softmachine.theorems.codec import AnsweringCodec, Codec, DecoderCodec, Interface

MAX_COMPARED_TOKENS = 2048
"""Longer runs are compared up to this many tokens."""
MIN_COMPARED_TOKENS = 4096
"""Samples are added until this many tokens are to be compared."""


@dataclass(frozen=True)
class TestInput:
    """A prompt with its expected output.

    Args:
        input: The input, as text.
        prompt: The tokens of the prompt.
        expected: A decoder's tokens; for a model that answers at every position, its outputs, None where the output is
            unconstrained.
        is_complete: Whether the run ends with the last of them.
    """

    input: str
    prompt: tuple[str, ...]
    expected: tuple[str | None, ...]
    is_complete: bool


@dataclass(frozen=True)
class PromptFormat:
    """Prompt format of a model, with test inputs.

    Args:
        prefix: Tokens before the input's symbols.
        suffix: Tokens after them.
        stop_tokens: Tokens that end a run.
        is_decoder: Whether the model is autoregressive, instead of answering at every position of its prompt.
        samples: Prompts with expected outputs.
        alphabet: The symbols of inputs.
        fixed_length: The length of all inputs, if it is fixed.
        interface: The inputs and outputs by position, if the model answers at every position.
    """

    prefix: tuple[str, ...]
    suffix: tuple[str, ...]
    stop_tokens: tuple[str, ...]
    is_decoder: bool
    samples: tuple[TestInput, ...]
    alphabet: tuple[str, ...]
    fixed_length: int | None = None
    interface: Interface | None = None

    def strip_affixes(self, prompt: Sequence[str]) -> tuple[str, ...]:
        """The prompt without prefix and suffix."""
        return tuple(prompt[len(self.prefix) : len(prompt) - len(self.suffix)])

    def unspaced_alphabet(self, spelled: Mapping[str, str]) -> str:
        """The concatenated spellings of all symbols if inputs can be written without spaces, else "".

        This needs symbols of one character each, and no other token spelled with only these characters.
        """
        texts = [spelled[symbol] for symbol in self.alphabet]
        inputs = {symbol for sample in self.samples for symbol in self.strip_affixes(sample.prompt)}
        single = inputs <= {*self.alphabet} and all(len(text) == 1 for text in texts)
        unique = not any(len(text) > 1 and {*text} <= {*texts} for text in spelled.values())
        return "".join(texts) if single and unique else ""


def build_prompt_format(model: Model, inputs: Iterable[Sequence[str]], length: int) -> PromptFormat:
    """The prompt format and the samples of a model; words that do not fit in ``length`` positions are left out."""
    codec, outputs = model.codec, model.weights.outputs
    if not isinstance(codec, AnsweringCodec | DecoderCodec):
        raise UsageError(f"{model.name!r} cannot be exported: its codec does not define expected outputs")
    decodes = isinstance(codec, DecoderCodec)
    if isinstance(codec, DecoderCodec):
        stops, interface = tuple(token for token in outputs if codec.is_stop_token(token)), None
    else:
        stops, interface = outputs, codec.interface()
    named = len(interface.inputs) if interface else 0
    prefix, suffix = _find_affixes(codec, length, named)
    samples: list[TestInput] = []
    for sample in (_sample(codec, tuple(word), length) for word in inputs):
        if sample is not None:
            samples.append(sample)
        if sum(len(sample.expected) for sample in samples) > MIN_COMPARED_TOKENS:
            break
    if not samples:
        raise make_no_input_fits_error(model.name, codec, length)
    lengths = [len(word) for word in islice(iterate_fitting_inputs(codec, length), 2)]
    only = named or (lengths[0] if codec.alphabet and len(lengths) == 1 else None)
    alphabet = codec.alphabet if interface is None else interface.symbols
    return PromptFormat(prefix, suffix, stops, decodes, tuple(samples), alphabet, only, interface)


def _find_affixes(codec: Codec[Source], length: int, named: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The prefix and the suffix of every prompt; empty if they depend on the input.

    If inputs are ``named``, every prompt begins with that many symbols.
    """
    words = list(islice(iterate_fitting_inputs(codec, length), 3))
    if not words:
        return (), ()
    if named:
        return (), codec.prompt(words[0]).tokens[named:]
    word = next((word for word in words if word), ())
    if not word:
        return codec.prompt(word).tokens, ()
    # Two words that differ everywhere; for an alphabet of one symbol, the empty word and another.
    other = codec.alphabet[1:2] * len(word) if len(codec.alphabet) > 1 else words[0]
    one, two = codec.prompt(word).tokens, codec.prompt(other).tokens
    before = _common_prefix_length(one, two)
    after = _common_prefix_length(one[before:][::-1], two[before:][::-1])
    prefix, suffix = one[:before], one[len(one) - after :]
    prompts = [(word, codec.prompt(word).tokens) for word in (other, *words)]
    if any(prompt != (*prefix, *prompt[before : before + len(word)], *suffix) for word, prompt in prompts):
        return (), ()
    return prefix, suffix


def _common_prefix_length(one: Sequence[str], two: Sequence[str]) -> int:
    """The length of the longest common prefix."""
    return next((k for k, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))


def _sample(codec: Codec[Source], word: tuple[str, ...], length: int) -> TestInput | None:
    try:
        prompt = codec.prompt(word).tokens
    except InputError:
        return None
    if len(prompt) > length:
        return None
    text, expected = codec.format_input(word), codec.expected(word, MAX_COMPARED_TOKENS)
    if not isinstance(codec, DecoderCodec):
        return TestInput(text, prompt, tuple(expected), is_complete=True)
    output = tuple(islice(expected, max(length - len(prompt), 0)))  # the run may be infinite
    ends = bool(output) and output[-1] is not None and codec.is_stop_token(output[-1])
    return TestInput(text, prompt, output, ends)
