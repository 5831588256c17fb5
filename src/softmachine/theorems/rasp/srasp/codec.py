"""Codec of S-RASP programs: prompts from words, and verdicts or symbols from outputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from softmachine.languages.run_view import Rows, Scene, Stretch
from softmachine.languages.srasp import Program, evaluate
from softmachine.languages.srasp.ast import Value
from softmachine.theorems.codec import Interface, Outcome, Word
from softmachine.theorems.shared.recogniser_codec import StartedCodec


@dataclass(frozen=True)
class SraspCodec(StartedCodec[Program]):
    """Codec with prompt "start token, word"; the output at each position is the program's output there."""

    speaks_of_empty_word: ClassVar[bool] = False

    def interface(self) -> Interface:
        """An output at every symbol; if the program decides a language, the last one is the verdict."""
        meaning = "At a symbol it is the program's output there; at the start token it means nothing."
        if not self.source.decides:
            return Interface(symbols=self.alphabet, meaning=meaning)
        return Interface(symbols=self.alphabet, meaning=f"{meaning} The empty word is rejected.", verdict=-1)

    def expected(self, word: Word, max_steps: int) -> Iterator[str | None]:
        """The output at every position; None at the start token, whose output is unconstrained."""
        yield None
        yield from map(_format_value, evaluate(self.source, word)[self.source.output])

    def scene(self, word: Word, shown: Stretch) -> Scene:
        """The word, with all vectors below it."""
        vectors = evaluate(self.source, word)
        rows = [(name, [None, *values]) for name, values in vectors.items()]
        names = [None, None, *vectors, None]
        return Scene(self.lines, (), names, Rows(first=shown.first, word=shown.tokens, rows=rows))

    def outcome(self, word: Word, said: Sequence[str]) -> Outcome:
        """The verdict, true at the last position, if the program decides a language; otherwise the output symbols."""
        if self.source.decides:
            return super().outcome(word, said)
        answers = tuple(said[1:])
        text = self.source.spell(answers)
        return Outcome(verdict="halt", output=text, word=self.source.word(word), values=answers)


def _format_value(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
