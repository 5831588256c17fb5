"""Check of a model against the reference interpreter of its source language.

Inputs are enumerated or sampled at random; their number and the duration are estimated in advance.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby, islice

import numpy as np
from numpy.typing import NDArray

from softmachine.compiler.model import Model
from softmachine.engines.dense.cost_estimate import require_affordable_pass
from softmachine.engines.dense.decoding import predict_teacher_forced
from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.inputs import (
    Word,
    count_words,
    iterate_words,
    lengths_up_to,
    require_one_choice,
    resolve_length,
    sample_words,
)
from softmachine.engines.numerics import Arithmetic
from softmachine.languages.source import Source
from softmachine.support.compare import Comparison, Difference, first_difference, split_into_chunks
from softmachine.support.errors import SoftmachineError
from softmachine.support.notebook_html import html_table
from softmachine.support.resources import CostForecast, Estimate, require_affordable
from softmachine.support.text import pluralize
from softmachine.theorems.codec import AnsweringCodec, Codec, DecoderCodec, Prompt, SegmentedCodec

MAX_BATCH = 2048
"""Words per batch of an encoder."""
MAX_SCORES = 2**22
"""Upper limit of the scores of a head per batch."""
MAX_INPUT_CHARACTERS = 60
"""Characters of an input in messages."""
MAX_LISTED = 20
"""Disagreements listed in notebooks."""
_UNCONSTRAINED, _NOT_AN_OUTPUT = -1, -2
DECODER_CHUNK = 256
"""Tokens per pass of a decoder."""


@dataclass(frozen=True)
class Disagreement:
    """An input on which the model and the reference interpreter disagree.

    Args:
        word: The input.
        step: The index of the first token that differs.
        expected: The interpreter's token there; None if its run has ended or the model gave no answer at all.
        found: The model's token; None if the model raised an error.
        before: The tokens before, which agree.
        reason: The error of the model, if any.
        names: The names of the input symbols, if they have names.
        position_text: A description of the position of the first difference, if it is not a token of a run.
        input_text: The input as written on the command line.
    """

    word: Word
    step: int
    expected: str | None
    found: str | None
    before: tuple[str, ...]
    reason: str | None = None
    names: tuple[str, ...] = ()
    position_text: str | None = None
    input_text: str = ""

    def to_json(self) -> dict[str, object]:
        """Convert to plain data."""
        return {
            "word": self.input_text,
            "step": self.step,
            "expected": self.expected,
            "found": self.found,
            "reason": self.reason,
        }

    def __str__(self) -> str:
        return f"input {self._format_input()}: {self._format_difference()}"

    def _format_input(self) -> str:
        symbols = self.word
        if len(self.names) == len(self.word):
            symbols = tuple(f"{name}={symbol}" for name, symbol in zip(self.names, self.word, strict=True))
        word = " ".join(symbols) or "(empty)"
        return word if len(word) <= MAX_INPUT_CHARACTERS else f"{word[:MAX_INPUT_CHARACTERS]} …"

    def _format_difference(self) -> str:
        what = self.position_text or f"token {self.step}"
        if self.expected is None and self.found is None:
            return f"the model cannot answer: {self.reason}"
        if self.expected is None:
            return f"the run should end before {what}, but continues with {self.found}"
        found = f"but is {self.found}" if self.found else f"but the model cannot continue: {self.reason}"
        return f"{what} should be {self.expected}, {found}"


@dataclass(frozen=True)
class Report:
    """The result of a check.

    Args:
        inputs: The number of inputs.
        tokens: The number of compared tokens.
        disagreements: The inputs on which the model is wrong.
        seconds: The duration.
        notes: The model's notes.
        broken_promise: The promise of the theorem about its signals that does not hold, with the input.
    """

    inputs: int
    tokens: int
    disagreements: tuple[Disagreement, ...]
    seconds: float
    notes: tuple[str, ...] = ()
    broken_promise: str | None = None

    @property
    def holds(self) -> bool:
        """Whether the model agreed on every input and no broken promise was found."""
        return not self.disagreements and self.broken_promise is None

    def __bool__(self) -> bool:
        return self.holds

    def to_json(self, limit: int | None = None) -> dict[str, object]:
        """Convert to plain data, with all disagreements or the first ``limit``."""
        return {
            "holds": self.holds,
            "inputs": self.inputs,
            "tokens": self.tokens,
            "disagreement_count": len(self.disagreements),
            "disagreements": [problem.to_json() for problem in self.disagreements[:limit]],
            **({"notes": list(self.notes)} if self.notes else {}),
            **({"broken_promise": self.broken_promise} if self.broken_promise else {}),
            "seconds": round(self.seconds, 6),
        }

    def merge(self, other: Report) -> Report:
        """Combine this report with that of further inputs."""
        return replace(
            self,
            inputs=self.inputs + other.inputs,
            tokens=self.tokens + other.tokens,
            disagreements=self.disagreements + other.disagreements,
            seconds=self.seconds + other.seconds,
        )

    def _repr_html_(self) -> str:
        rows = [
            [problem.input_text, str(problem.step), problem.expected or "", problem.found or "", problem.reason or ""]
            for problem in self.disagreements[:MAX_LISTED]
        ]
        return html_table(rows, str(self), head=["input", "token", "interpreter", "model", "why"] if rows else [])

    def __str__(self) -> str:
        found = pluralize(len(self.disagreements), "disagreement") if self.disagreements else "no disagreement"
        notes = "".join(f"; {note}" for note in self.notes)
        if self.broken_promise:
            notes += f"\nbroken promise: {self.broken_promise}"
        tried = f"{pluralize(self.inputs, 'input')}, {pluralize(self.tokens, 'token')}"
        return f"{tried}, {found} ({self.seconds:.1f} s){notes}"


def check_inputs(
    model: Model,
    words: Iterable[Sequence[str]],
    *,
    arithmetic: str | Arithmetic | DenseEngine = "float64",
    max_steps: int = 10_000,
) -> Report:
    """Compare the model's output with the reference interpreter's, token for token; runs are cut at ``max_steps``.

    The model reads the interpreter's tokens and must predict each of them from those before (teacher forcing), which
    holds if and only if it generates them by itself. To check repeatedly, pass an engine with prepared weights in place
    of the arithmetic.
    """
    codec = model.codec
    engine = arithmetic if isinstance(arithmetic, DenseEngine) else DenseEngine(model.weights, arithmetic)
    decodes = isinstance(codec, DecoderCodec)
    began = time.perf_counter()
    inputs = tokens = 0
    wrong: list[Disagreement] = []
    for batch in _iterate_batches(words, lambda word: 1 if decodes else _batch_size(len(codec.prompt(word).tokens))):
        prompt = codec.prompt(batch[0])
        require_affordable_pass(engine, prompt.tokens, prompt.length, len(batch))
        expected = codec.expected_batch(batch, max_steps)
        inputs += len(batch)
        tokens += sum(map(len, expected))
        if isinstance(codec, SegmentedCodec):
            problem = _compare_segments(engine, codec, batch[0], max_steps, model.context)
            wrong += [problem] if problem else []
        elif decodes:
            problem = _compare_run(engine, batch[0], prompt, expected[0])
            wrong += [problem] if problem else []
        else:
            wrong += _compare_answers(engine, codec, batch, expected)
    found = tuple(replace(problem, input_text=codec.format_input(problem.word)) for problem in wrong)
    return Report(inputs, tokens, found, time.perf_counter() - began, model.notes)


def _batch_size(positions: int) -> int:
    """Return the batch size for sequences of this many positions."""
    return max(1, min(MAX_BATCH, MAX_SCORES // max(1, positions) ** 2))


def _iterate_batches(words: Iterable[Sequence[str]], batch_size: Callable[[Word], int]) -> Iterator[list[Word]]:
    """Batch consecutive words of one length, in the given order; ``batch_size`` returns the batch size for a word."""
    for _, alike in groupby(map(tuple, words), len):
        rest = iter(alike)
        for word in rest:
            yield [word, *islice(rest, batch_size(word) - 1)]


def _compare_run(
    engine: DenseEngine,
    word: Word,
    prompt: Prompt,
    expected: Sequence[str | None],
    single_from: int | None = None,
) -> Disagreement | None:
    """Return the first token that differs, if any; tokens from index ``single_from`` are read one by one."""
    comparison = Comparison(split_into_chunks(expected))
    try:
        for token in predict_teacher_forced(
            engine, prompt, _drop_unconstrained(expected[:-1]), DECODER_CHUNK, single_from
        ):
            comparison.feed((token,))
            if comparison.difference:
                return _make_disagreement(word, comparison.difference, expected)
    except SoftmachineError as error:
        agreed = comparison.prefix_length
        if single_from is None:  # A whole piece failed: repeat it token by token to locate the error.
            return _compare_run(engine, word, prompt, expected, single_from=agreed)
        return Disagreement(word, agreed, expected[agreed], None, _drop_unconstrained(expected[:agreed]), str(error))
    return None


def _make_disagreement(word: Word, found: Difference, before: Sequence[str | None]) -> Disagreement:
    known = _drop_unconstrained(before[: found.position])
    return Disagreement(word, found.position, found.expected, found.emitted, known)


def _compare_segments(
    engine: DenseEngine, codec: SegmentedCodec[Source], word: Word, max_steps: int, positions: int | None
) -> Disagreement | None:
    """Return the first token that differs in any segment, if any; a segment that exceeds the context differs, too."""
    before: list[str] = []
    for prompt, expected in codec.expected_segments(word, max_steps):
        fits = expected if positions is None else expected[: max(positions - len(prompt.tokens), 0)]
        problem = _compare_run(engine, word, prompt, fits) if fits else None
        if problem is None and len(fits) < len(expected):
            reason = f"the run does not fit into the {positions} positions that the model was compiled for"
            problem = Disagreement(word, len(fits), expected[len(fits)], None, fits, reason)
        if problem is not None:
            return replace(problem, step=len(before) + problem.step, before=(*before, *problem.before))
        before += expected
    return None


def _compare_answers(
    engine: DenseEngine, codec: Codec[Source], batch: list[Word], expected: Sequence[Sequence[str | None]]
) -> Iterator[Disagreement]:
    """Yield the first wrong position of each word on which an encoder is wrong."""
    prompts = codec.prompt_batch(batch)
    outputs = engine.transformer.outputs
    try:
        found = engine.predict_indices([prompt.tokens for prompt in prompts], prompts[0].length)
    except SoftmachineError as error:
        if len(batch) == 1:
            yield Disagreement(batch[0], 0, None, None, (), str(error), _input_names(codec))
        else:  # The output on some word of the batch is undecided: find which.
            for word, answers in zip(batch, expected, strict=True):
                yield from _compare_answers(engine, codec, [word], [answers])
        return
    for k in _differing_sequences(outputs, expected, found):
        word, emitted = batch[k], [outputs[output] for output in found[k]]
        difference = first_difference(expected[k], emitted)
        if difference:
            place = difference.position
            what = _describe_position(codec, place, codec.prompt(word).tokens[place])
            yield replace(_make_disagreement(word, difference, emitted), names=_input_names(codec), position_text=what)


def _differing_sequences(
    outputs: Sequence[str], expected: Sequence[Sequence[str | None]], found: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Return the sequences whose output differs from a constrained expected output at some position."""
    if any(len(answers) != found.shape[1] for answers in expected):
        return np.arange(len(found))
    number = _OutputIndex({output: k for k, output in enumerate(outputs)} | {None: _UNCONSTRAINED})
    codes = np.fromiter(map(number.__getitem__, chain.from_iterable(expected)), dtype=np.intp, count=found.size)
    codes = codes.reshape(found.shape)
    return np.flatnonzero(((codes != found) & (codes != _UNCONSTRAINED)).any(axis=1))


class _OutputIndex(dict[str | None, int]):
    """Indices of outputs; a token that is not an output has an index that no output has."""

    def __missing__(self, token: str | None) -> int:
        return _NOT_AN_OUTPUT


def _input_names(codec: Codec[Source]) -> tuple[str, ...]:
    """Return the names of the input symbols, if they have names."""
    return codec.interface().inputs if isinstance(codec, AnsweringCodec) else ()


def _describe_position(codec: Codec[Source], position: int, token: str) -> str:
    """Describe the position of an answer: an output, an input, or a symbol."""
    interface = codec.interface() if isinstance(codec, AnsweringCodec) else None
    outputs = {place: name for name, place in interface.outputs} if interface else {}
    if position in outputs:
        return f"output {outputs[position]} (the answer at position {position})"
    return f"the answer at position {position} ({token})"


def _drop_unconstrained(tokens: Sequence[str | None]) -> tuple[str, ...]:
    return tuple(token for token in tokens if token is not None)


SYMBOL_COST = 1e-6, 100
"""Estimated seconds and bytes per symbol of a word."""
MIN_TRIAL_SECONDS = 0.1
"""Seconds of a trial that suffice for an estimate."""


@dataclass(frozen=True)
class InputSelection:
    """The inputs that a model is checked on.

    Args:
        model: The model.
        max_length: The largest length, which most of the words have.
        total: The number of words; infinite if it exceeds 10^30.
        iterate_from: Iterates over the words from a given index, counted from 0.
    """

    model: Model
    max_length: int
    total: int | float
    iterate_from: Callable[[int], Iterator[Word]]

    @property
    def count_text(self) -> str:
        """The number of words as text."""
        return pluralize(self.total, "input") if isinstance(self.total, int) else "more than 10^30 inputs"

    def slice(self, start: int, stop: int) -> Iterator[Word]:
        """Iterate over the words with indices from ``start`` up to, but not including, ``stop``."""
        return islice(self.iterate_from(start), stop - start)

    @staticmethod
    def choose(
        model: Model, *, up_to: int | None, sample: int | None, length: int | None, seed: int = 0
    ) -> InputSelection:
        """Choose all words up to a length, or ``sample`` random words of a length.

        If all inputs of the source have one length, the default is that length and, if they are few, all inputs.

        Raises:
            UsageError: If the arguments do not determine the words, or there are none.
        """
        require_one_choice(up_to=up_to, sample=sample, length=length)
        return (
            InputSelection.all_up_to(model, up_to)
            if sample is None
            else InputSelection.random_of_length(model, sample, length, seed)
        )

    @staticmethod
    def all_up_to(model: Model, up_to: int | None) -> InputSelection:
        """Choose all words up to a length; without a length, all words of a source with inputs of one length."""
        lengths = lengths_up_to(model.codec, up_to)
        _require_affordable_length(lengths[-1])
        total = count_words(model.codec, lengths)
        return InputSelection(model, lengths[-1], total, lambda start: iterate_words(model.codec, lengths, start))

    @staticmethod
    def random_of_length(model: Model, count: int, requested: int | None, seed: int = 0) -> InputSelection:
        """Choose random words of a length; by default, the one length of all inputs."""
        length = resolve_length(model.codec, requested)
        _require_affordable_length(length)
        return InputSelection(model, length, count, lambda start: sample_words(model.codec, count, length, seed, start))

    def forecast_cost(
        self, arithmetic: str | Arithmetic, max_steps: int, workers: int = 1, finished: int = 0
    ) -> CostForecast:
        """Return the cost forecast of the words not checked before, evaluated soon after the check has begun."""
        return CostForecast(
            self.total - finished,
            f"checking {self.count_text}",
            lambda: self._estimate_seconds(arithmetic, max_steps),
            hint="check shorter inputs, or fewer of them at random",
            workers=workers,
        )

    def _estimate_seconds(self, arithmetic: str | Arithmetic, max_steps: int) -> float:
        """Estimate the seconds for a word of the largest length, by extrapolation if a trial would take too long."""
        length, engine = min(self.max_length, 16), DenseEngine(self.model.weights, arithmetic)
        while True:
            try:
                seconds = self._time_trial(length, engine, max_steps)
            except SoftmachineError:  # for example, a random word that the source rejects as input
                return 0.0
            if length == self.max_length or seconds > MIN_TRIAL_SECONDS:
                return seconds * (self.max_length / max(length, 1)) ** 2
            length = min(self.max_length, 2 * length)

    def _time_trial(self, length: int, engine: DenseEngine, max_steps: int) -> float:
        """Measure the seconds per random word of a length, at the usual batch size.

        The minimum of two trials excludes one-time preparation.
        """
        count, least = 1, min(MAX_BATCH, self.total)
        while True:
            words = list(sample_words(self.model.codec, count, length, seed=count))
            trials = (check_inputs(self.model, words, arithmetic=engine, max_steps=max_steps) for _ in range(2))
            seconds = min(report.seconds for report in trials)
            if seconds > MIN_TRIAL_SECONDS or count >= least:
                return seconds / count
            count = min(4 * count, int(least))


def _require_affordable_length(longest: int) -> None:
    """Require that words of this length fit in memory."""
    seconds, memory = (each * longest for each in SYMBOL_COST)
    require_affordable(Estimate(f"a word of {pluralize(longest, 'symbol')}", seconds, memory))
