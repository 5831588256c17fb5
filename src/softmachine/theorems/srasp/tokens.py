"""How words are put to a transformer for an S-RASP program, and how its answers are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from softmachine.codec import Interface, Outcome, Prompt
from softmachine.errors import SourceError
from softmachine.languages.srasp import Program, evaluate, parse, to_text
from softmachine.languages.srasp.expressions import Value
from softmachine.theorems.srasp.theorem import start_token


@dataclass(frozen=True)
class SraspCodec:
    """A start token, then the word; the answer at each position is the program's output there."""

    program: Program
    soft: bool
    kind: str = "srasp"

    @property
    def source(self) -> Program:
        """The program."""
        return self.program

    @property
    def alphabet(self) -> tuple[str, ...]:
        """The letters of input words."""
        return self.program.alphabet

    def prompt(self, word: str | Iterable[str]) -> Prompt:
        """The start token and the word, with its length."""
        letters = self.program.word(word)
        return Prompt((start_token(self.program), *letters), len(letters))

    def interface(self) -> Interface:
        """An output at every letter; of a program that decides, the last one is the verdict."""
        meaning = "At a letter it is the program's output there; at the start token it means nothing."
        if not self.program.decides:
            return Interface(symbols=self.alphabet, meaning=meaning)
        return Interface(symbols=self.alphabet, meaning=f"{meaning} The empty word is rejected.", verdict=-1)

    def expected(self, word: str | Iterable[str], max_steps: int) -> Iterator[str | None]:
        """The output at every position; nobody cares for the start token's."""
        del max_steps
        yield None
        yield from map(_said, evaluate(self.program, word)[self.program.output])

    def read(self, word: str | Iterable[str], said: Sequence[str]) -> SraspOutcome:
        """A word is accepted if the output is true at its last position; symbols are what is left."""
        answers = tuple(said[1:])
        verdict = "halt"
        if self.program.decides:
            verdict = "accept" if answers[-1:] == ("true",) else "reject"
        return SraspOutcome(
            verdict=verdict,
            steps=0,
            output="" if self.program.decides else self.program.spell(answers),
            word=self.program.word(word),
            answers=answers,
        )

    def to_json(self) -> dict[str, object]:
        """The program and the kind of attention."""
        return {"kind": self.kind, "name": self.program.name, "program": to_text(self.program), "soft": self.soft}

    @staticmethod
    def from_json(data: dict[str, Any]) -> SraspCodec:
        """The codec that :meth:`to_json` described."""
        try:
            text, name, soft = str(data["program"]), str(data["name"]), bool(data["soft"])
        except (KeyError, TypeError) as error:
            raise SourceError(f"this is not an S-RASP program in JSON: {error!r}") from None
        return SraspCodec(parse(text, name=name), soft)


@dataclass(frozen=True, kw_only=True)
class SraspOutcome(Outcome):
    """The output at every position of the word: true or false, or a symbol."""

    word: tuple[str, ...]
    answers: tuple[str, ...]

    def trace(self) -> Iterator[str]:
        """The word, and below each letter the output there, of Booleans 1 or 0."""
        bits = {"true": "1", "false": "0"} if self.verdict != "halt" else {}
        shown = [bits.get(answer, answer) for answer in self.answers]
        widths = [max(map(len, pair)) for pair in zip(self.word, shown, strict=True)]
        for line in (self.word, shown):
            yield "  ".join(item.ljust(width) for item, width in zip(line, widths, strict=True)).rstrip()


def _said(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
