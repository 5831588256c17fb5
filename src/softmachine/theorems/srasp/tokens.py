"""How words are put to a transformer for an S-RASP program, and how its answers are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from softmachine.languages.scene import Rows, Scene, Stretch
from softmachine.languages.srasp import Program, evaluate
from softmachine.languages.srasp.expressions import Value
from softmachine.theorems.codec import Interface, Outcome, Word
from softmachine.theorems.shared.recogniser import StartedCodec


@dataclass(frozen=True)
class SraspCodec(StartedCodec[Program]):
    """A start token, then the word; the answer at each position is the program's output there."""

    speaks_of_empty_word: ClassVar[bool] = False

    def interface(self) -> Interface:
        """An output at every letter; of a program that decides, the last one is the verdict."""
        meaning = "At a letter it is the program's output there; at the start token it means nothing."
        if not self.source.decides:
            return Interface(symbols=self.alphabet, meaning=meaning)
        return Interface(symbols=self.alphabet, meaning=f"{meaning} The empty word is rejected.", verdict=-1)

    def expected(self, word: Word, max_steps: int) -> Iterator[str | None]:
        """The output at every position; nobody cares for the start token's."""
        yield None
        yield from map(_said, evaluate(self.source, word)[self.source.output])

    def scene(self, word: Word, shown: Stretch) -> Scene:
        """The word with all vectors under it."""
        vectors = evaluate(self.source, word)
        rows = [(name, [None, *values]) for name, values in vectors.items()]
        names = [None, None, *vectors, None]
        return Scene(self.lines, (), names, Rows(first=shown.first, word=shown.tokens, rows=rows))

    def outcome(self, word: Word, said: Sequence[str]) -> Outcome:
        """A word is accepted if the output is true at its last position; symbols are what is left."""
        if self.source.decides:
            return super().outcome(word, said)
        answers = tuple(said[1:])
        output = self.source.spell(answers)
        return Outcome(verdict="halt", output=output, word=self.source.word(word), values=answers)


def _said(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
