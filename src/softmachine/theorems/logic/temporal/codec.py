"""Codec of temporal logic: prompts from words, and truth values from outputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar

import numpy as np

from softmachine.languages.run_view import RowsPicture, RunView, TokenWindow
from softmachine.languages.temporal import Specification
from softmachine.languages.temporal.batch_interpreter import evaluate_batch, evaluate_subformulas
from softmachine.languages.temporal.formula import format_formula
from softmachine.theorems.codec import Interface, Prompt, Word
from softmachine.theorems.shared.recogniser_codec import StartTokenCodec


@dataclass(frozen=True)
class TemporalCodec(StartTokenCodec[Specification]):
    """Codec with prompt "start token, word"; the output at each position is whether the formula holds there.

    Args:
        source: The formula and its alphabet.
        receives_length: Whether the model is given the length of the word, as encoders are.
    """

    receives_length: bool = True
    answers_empty_word: ClassVar[bool] = False

    def prompt_batch(self, words: Sequence[tuple[str, ...]]) -> list[Prompt]:
        if not frozenset(self.alphabet).issuperset(chain.from_iterable(words)):
            return super().prompt_batch(words)  # raises the error of the first invalid word
        start, gives_length = self.start, self.receives_length
        return [Prompt((start, *word), len(word) if gives_length else None) for word in words]

    def interface(self) -> Interface:
        return Interface(
            symbols=self.alphabet,
            meaning="At a symbol it is whether the formula holds there; at the start token it means nothing. "
            "The empty word is rejected.",
            verdict=-1,
        )

    def expected(self, word: Word, max_steps: int) -> Iterator[str | None]:
        """The truth value at every position; None at the start token, whose output is unconstrained."""
        yield from self.expected_batch([self.source.word(word)], max_steps)[0]

    def expected_batch(self, words: Sequence[tuple[str, ...]], max_steps: int) -> list[Sequence[str | None]]:
        truth = evaluate_batch(self.source, words)
        outputs = np.full((len(words), 1 + truth.shape[1]), None, dtype=object)
        outputs[:, 1:] = np.array(["false", "true"], dtype=object)[truth.astype(np.intp)]
        return list(map(tuple, outputs.tolist()))

    def run_view(self, word: Word, window: TokenWindow) -> RunView:
        """The word, with the truth values of all subformulas below it."""
        values = evaluate_subformulas(self.source, [self.source.word(word)])
        rows = [(format_formula(part, unicode=True), [None, *row[0].tolist()]) for part, row in values.items()]
        return RunView(self.source_lines, picture=RowsPicture(first=window.first, word=window.tokens, rows=rows))
