"""Checking a model against the reference interpreter of its source language."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby, islice

import numpy as np
from numpy.typing import NDArray

from softmachine.compiler.model import Model
from softmachine.engines.dense.decode import continuation
from softmachine.engines.dense.effort import allow_pass
from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.inputs import Word
from softmachine.engines.numerics import Arithmetic
from softmachine.languages.source import Source
from softmachine.support.compare import Comparison, Difference, first_difference, in_pieces
from softmachine.support.errors import SoftmachineError
from softmachine.support.notebook_html import html_table
from softmachine.support.text import many
from softmachine.theorems.codec import AnsweringCodec, Codec, DecoderCodec, Prompt, SegmentedCodec

BATCH = 2048
"""So many words go through an encoder at a time."""
MOST_SCORES = 2**22
"""So many scores of a head are computed at a time, at most."""
LONGEST = 60
"""So many characters of an input are shown."""
LISTED = 20
"""So many disagreements are listed in notebooks."""
_ANYTHING, _UNSAID = -1, -2
PIECE = 256
"""So many tokens are read at a time."""


@dataclass(frozen=True)
class Disagreement:
    """An input on which the model and the interpreter part.

    Args:
        word: The input.
        step: The number of the first token that differs.
        expected: The interpreter's token there, None if its run has ended, or if the model gave no answer at all.
        found: The model's token, None if it could not go on.
        before: The tokens that both agree on.
        reason: Why the model could not go on, if it could not.
        names: What the symbols of the input are called, if they have names.
        place: What the first difference is about, if not a token of a run.
        text: The input as it is written at the command line.
    """

    word: Word
    step: int
    expected: str | None
    found: str | None
    before: tuple[str, ...]
    reason: str | None = None
    names: tuple[str, ...] = ()
    place: str | None = None
    text: str = ""

    def to_json(self) -> dict[str, object]:
        """As plain data."""
        return {
            "word": self.text,
            "step": self.step,
            "expected": self.expected,
            "found": self.found,
            "reason": self.reason,
        }

    def __str__(self) -> str:
        return f"input {self._input()}: {self._difference()}"

    def _input(self) -> str:
        symbols = self.word
        if len(self.names) == len(self.word):
            symbols = tuple(f"{name}={symbol}" for name, symbol in zip(self.names, self.word, strict=True))
        word = " ".join(symbols) or "(empty)"
        return word if len(word) <= LONGEST else f"{word[:LONGEST]} …"

    def _difference(self) -> str:
        what = self.place or f"token {self.step}"
        if self.expected is None and self.found is None:
            return f"the model cannot answer: {self.reason}"
        if self.expected is None:
            return f"the run should end before {what}, but goes on with {self.found}"
        found = f"but is {self.found}" if self.found else f"but the model cannot go on: {self.reason}"
        return f"{what} should be {self.expected}, {found}"


@dataclass(frozen=True)
class Report:
    """What a check found.

    Args:
        inputs: How many inputs were tried.
        tokens: How many tokens were compared.
        disagreements: The inputs on which the model is wrong.
        seconds: How long it took.
        notes: What every answer from the model has to say.
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
        """Whether the model agreed on every input, and no promise was found broken."""
        return not self.disagreements and self.broken_promise is None

    def __bool__(self) -> bool:
        return self.holds

    def to_json(self, most: int | None = None) -> dict[str, object]:
        """As plain data, with all disagreements or the first so many."""
        return {
            "holds": self.holds,
            "inputs": self.inputs,
            "tokens": self.tokens,
            "disagreement_count": len(self.disagreements),
            "disagreements": [problem.to_json() for problem in self.disagreements[:most]],
            **({"notes": list(self.notes)} if self.notes else {}),
            **({"broken_promise": self.broken_promise} if self.broken_promise else {}),
            "seconds": round(self.seconds, 6),
        }

    def joined(self, other: Report) -> Report:
        """What was found on these inputs and on those that came after them."""
        return replace(
            self,
            inputs=self.inputs + other.inputs,
            tokens=self.tokens + other.tokens,
            disagreements=self.disagreements + other.disagreements,
            seconds=self.seconds + other.seconds,
        )

    def _repr_html_(self) -> str:
        rows = [
            [problem.text, str(problem.step), problem.expected or "", problem.found or "", problem.reason or ""]
            for problem in self.disagreements[:LISTED]
        ]
        return html_table(rows, str(self), head=["input", "token", "interpreter", "model", "why"] if rows else [])

    def __str__(self) -> str:
        found = many(len(self.disagreements), "disagreement") if self.disagreements else "no disagreement"
        said = "".join(f"; {note}" for note in self.notes)
        if self.broken_promise:
            said += f"\nbroken promise: {self.broken_promise}"
        return f"{many(self.inputs, 'input')}, {many(self.tokens, 'token')}, {found} ({self.seconds:.1f} s){said}"


def check_words(
    model: Model,
    words: Iterable[Sequence[str]],
    *,
    arithmetic: str | Arithmetic | DenseEngine = "float64",
    max_steps: int = 10_000,
) -> Report:
    """Compare, token for token, with what the reference interpreter says; runs longer than ``max_steps`` up to there.

    The model reads the interpreter's tokens and must predict each of them from those before, which holds exactly if it
    produces them by itself. Who checks often gives an engine that has its weights, in place of the arithmetic.
    """
    codec = model.codec
    engine = arithmetic if isinstance(arithmetic, DenseEngine) else DenseEngine(model.weights, arithmetic)
    decodes = isinstance(codec, DecoderCodec)
    began = time.perf_counter()
    inputs = tokens = 0
    wrong: list[Disagreement] = []
    for batch in _batches(words, lambda word: 1 if decodes else _together(len(codec.prompt(word).tokens))):
        prompt = codec.prompt(batch[0])
        allow_pass(engine, prompt.tokens, prompt.length, len(batch))
        expected = codec.expected_together(batch, max_steps)
        inputs += len(batch)
        tokens += sum(map(len, expected))
        if isinstance(codec, SegmentedCodec):
            problem = _compare_segments(engine, codec, batch[0], max_steps, model.length)
            wrong += [problem] if problem else []
        elif decodes:
            problem = _compare_run(engine, batch[0], prompt, expected[0])
            wrong += [problem] if problem else []
        else:
            wrong += _compare_answers(engine, codec, batch, expected)
    found = tuple(replace(problem, text=codec.text_of(problem.word)) for problem in wrong)
    return Report(inputs, tokens, found, time.perf_counter() - began, model.notes)


def _together(positions: int) -> int:
    """How many sequences of so many positions are read at once."""
    return max(1, min(BATCH, MOST_SCORES // max(1, positions) ** 2))


def _batches(words: Iterable[Sequence[str]], most: Callable[[Word], int]) -> Iterator[list[Word]]:
    """The words in batches of one length each, without changing their order; ``most`` says how many go together."""
    for _, alike in groupby(map(tuple, words), len):
        rest = iter(alike)
        for word in rest:
            yield [word, *islice(rest, most(word) - 1)]


def _compare_run(
    engine: DenseEngine,
    word: Word,
    prompt: Prompt,
    expected: Sequence[str | None],
    careful_from: int | None = None,
) -> Disagreement | None:
    """The first token that differs, if any; from ``careful_from`` on the tokens are read one by one."""
    comparison = Comparison(in_pieces(expected))
    try:
        for token in continuation(engine, prompt, _known(expected[:-1]), PIECE, careful_from):
            comparison.see((token,))
            if comparison.difference:
                return _disagreement(word, comparison.difference, expected)
    except SoftmachineError as error:
        agreed = comparison.agreed
        if careful_from is None:  # A whole piece failed: go through it again, to say where.
            return _compare_run(engine, word, prompt, expected, careful_from=agreed)
        return Disagreement(word, agreed, expected[agreed], None, _known(expected[:agreed]), str(error))
    return None


def _disagreement(word: Word, found: Difference, before: Sequence[str | None]) -> Disagreement:
    known = _known(before[: found.position])
    return Disagreement(word, found.position, found.expected, found.said, known)


def _compare_segments(
    engine: DenseEngine, codec: SegmentedCodec[Source], word: Word, max_steps: int, positions: int | None
) -> Disagreement | None:
    """The first token that differs, if any, in any segment; a segment that does not fit its positions is one too."""
    before: list[str] = []
    for prompt, said in codec.expected_segments(word, max_steps):
        fits = said if positions is None else said[: max(positions - len(prompt.tokens), 0)]
        problem = _compare_run(engine, word, prompt, fits) if fits else None
        if problem is None and len(fits) < len(said):
            reason = f"the run does not fit into the {positions} positions that the model was made for"
            problem = Disagreement(word, len(fits), said[len(fits)], None, fits, reason)
        if problem is not None:
            return replace(problem, step=len(before) + problem.step, before=(*before, *problem.before))
        before += said
    return None


def _compare_answers(
    engine: DenseEngine, codec: Codec[Source], batch: list[Word], expected: Sequence[Sequence[str | None]]
) -> Iterator[Disagreement]:
    """For each word that an encoder gets wrong, the first position where it does."""
    prompts = codec.prompts_together(batch)
    outputs = engine.transformer.outputs
    try:
        found = engine.decided([prompt.tokens for prompt in prompts], prompts[0].length)
    except SoftmachineError as error:
        if len(batch) == 1:
            yield Disagreement(batch[0], 0, None, None, (), str(error), _names(codec))
        else:  # Some word of the batch cannot be decided: say which.
            for word, wanted in zip(batch, expected, strict=True):
                yield from _compare_answers(engine, codec, [word], [wanted])
        return
    for k in _differing(outputs, expected, found):
        word, answers = batch[k], [outputs[said] for said in found[k]]
        difference = first_difference(expected[k], answers)
        if difference:
            place = difference.position
            what = _answer_at(codec, place, codec.prompt(word).tokens[place])
            yield replace(_disagreement(word, difference, answers), names=_names(codec), place=what)


def _differing(
    outputs: Sequence[str], expected: Sequence[Sequence[str | None]], found: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Which sequences said something else than is expected, somewhere where it matters."""
    if any(len(wanted) != found.shape[1] for wanted in expected):
        return np.arange(len(found))
    number = _Numbers({output: k for k, output in enumerate(outputs)} | {None: _ANYTHING})
    codes = np.fromiter(map(number.__getitem__, chain.from_iterable(expected)), dtype=np.intp, count=found.size)
    codes = codes.reshape(found.shape)
    return np.flatnonzero(((codes != found) & (codes != _ANYTHING)).any(axis=1))


class _Numbers(dict[str | None, int]):
    """The numbers of outputs; of what no output is, one that nothing has."""

    def __missing__(self, token: str | None) -> int:
        return _UNSAID


def _names(codec: Codec[Source]) -> tuple[str, ...]:
    """What the symbols of an input are called, if they have names."""
    return codec.interface().inputs if isinstance(codec, AnsweringCodec) else ()


def _answer_at(codec: Codec[Source], position: int, token: str) -> str:
    """What an answer is about: an output, an input, or a symbol."""
    interface = codec.interface() if isinstance(codec, AnsweringCodec) else None
    outputs = {place: name for name, place in interface.outputs} if interface else {}
    if position in outputs:
        return f"output {outputs[position]} (the answer at position {position})"
    return f"the answer at position {position} ({token})"


def _known(tokens: Sequence[str | None]) -> tuple[str, ...]:
    return tuple(token for token in tokens if token is not None)
