"""How words are put to a transformer for an S-RASP program, and how its answers are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from softmachine.codec import AnsweringCodec, Interface, Outcome, Prompt, Word
from softmachine.languages.srasp import Program, evaluate
from softmachine.languages.srasp.expressions import Value
from softmachine.theorems.shared.special_tokens import START, unused


def start_token(program: Program) -> str:
    """The token of position 0, which is not a letter of the alphabet."""
    return unused(START, program.alphabet)


@dataclass(frozen=True)
class SraspCodec(AnsweringCodec[Program]):
    """A start token, then the word; the answer at each position is the program's output there."""

    @property
    def program(self) -> Program:
        """The program."""
        return self.source

    def prompt(self, word: Word) -> Prompt:
        """The start token and the word, with its length."""
        letters = self.program.word(word)
        return Prompt((start_token(self.program), *letters), len(letters))

    def interface(self) -> Interface:
        """An output at every letter; of a program that decides, the last one is the verdict."""
        meaning = "At a letter it is the program's output there; at the start token it means nothing."
        if not self.program.decides:
            return Interface(symbols=self.alphabet, meaning=meaning)
        return Interface(symbols=self.alphabet, meaning=f"{meaning} The empty word is rejected.", verdict=-1)

    def expected(self, word: Word, max_steps: int) -> Iterator[str | None]:
        """The output at every position; nobody cares for the start token's."""
        del max_steps
        yield None
        yield from map(_said, evaluate(self.program, word)[self.program.output])

    def read(self, word: Word, said: Sequence[str]) -> Outcome:
        """A word is accepted if the output is true at its last position; symbols are what is left."""
        answers, letters = tuple(said[1:]), self.program.word(word)
        if not self.program.decides:
            return Outcome(verdict="halt", output=self.program.spell(answers), word=letters, values=answers)
        values = tuple(answer == "true" for answer in answers)
        return Outcome(verdict="accept" if values[-1:] == (True,) else "reject", word=letters, values=values)


def _said(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
