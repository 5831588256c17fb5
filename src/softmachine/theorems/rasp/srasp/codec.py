"""Codec of S-RASP programs: prompts from words, and verdicts or symbols from outputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from softmachine.languages.run_view import RowsPicture, RunView, TokenWindow
from softmachine.languages.srasp import SraspProgram, evaluate
from softmachine.languages.srasp.ast import Value
from softmachine.theorems.codec import Interface, Outcome, Word
from softmachine.theorems.shared.recogniser_codec import StartTokenCodec


@dataclass(frozen=True)
class SraspCodec(StartTokenCodec[SraspProgram]):
    """Codec with prompt "start token, word"; the output at each position is the program's output there."""

    answers_empty_word: ClassVar[bool] = False

    def interface(self) -> Interface:
        """An output at every symbol; if the program decides a language, the last one is the verdict."""
        meaning = "At a symbol it is the program's output there; at the start token it means nothing."
        if not self.source.has_verdict:
            return Interface(symbols=self.alphabet, meaning=meaning)
        return Interface(symbols=self.alphabet, meaning=f"{meaning} The empty word is rejected.", verdict=-1)

    def expected(self, word: Word, max_steps: int) -> Iterator[str | None]:
        """The output at every position; None at the start token, whose output is unconstrained."""
        yield None
        yield from map(_format_value, evaluate(self.source, word)[self.source.output])

    def run_view(self, word: Word, window: TokenWindow) -> RunView:
        """The word, with all vectors below it."""
        vectors = evaluate(self.source, word)
        rows = [(name, [None, *values]) for name, values in vectors.items()]
        names = [None, None, *vectors, None]
        return RunView(self.source_lines, (), names, RowsPicture(first=window.first, word=window.tokens, rows=rows))

    def parse_output(self, word: Word, emitted: Sequence[str]) -> Outcome:
        """The verdict, true at the last position, if the program decides a language; otherwise the output symbols."""
        if self.source.has_verdict:
            return super().parse_output(word, emitted)
        answers = tuple(emitted[1:])
        text = self.source.format_values(answers)
        return Outcome(verdict="halt", output=text, word=self.source.word(word), values=answers)


def _format_value(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
