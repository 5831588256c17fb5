"""Codecs of C-RASP programs: with chain of thought, and with a verdict on every prefix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from softmachine.languages.crasp import Evaluation, Program, generate
from softmachine.languages.crasp.streaming_interpreter import VERDICTS, prefixes
from softmachine.languages.run_view import Rows, Scene, Stretch
from softmachine.support.errors import ConstructionError, OutgrownError
from softmachine.theorems.codec import Codec, DecoderCodec, Outcome, Prompt, Word
from softmachine.theorems.shared.recogniser_codec import START, StartedCodec, unused

STUCK = "<stuck>"
MOST_EVALUATED = 400
"""Longer sequences are displayed without values, since the evaluator takes quadratic time."""
T = TypeVar("T")


def special_tokens(program: Program) -> tuple[str, str]:
    """The token of position 0, and the one for "no rule applies"; neither is a token of the program."""
    return unused(START, program.tokens), unused(STUCK, program.tokens)


@dataclass(frozen=True)
class OfProgram(Codec[Program]):
    """Base class of the codecs of C-RASP programs.

    Args:
        source: The program.
        length: The number of positions that the weights are built for; None if they serve every length.
    """

    length: int | None = None

    @property
    def program(self) -> Program:
        """The program."""
        return self.source

    def prompt(self, word: Word) -> Prompt:
        """The start token and the word.

        Raises:
            OutgrownError: If it takes more positions than the weights are built for.
        """
        letters = self.program.word(word)
        if self.length is not None and len(letters) >= self.length:
            raise OutgrownError(
                f"an input of {len(letters)} symbols takes {len(letters) + 1} positions, but the weights are built for "
                f"{self.length}",
                context=len(letters) + 1,
            )
        return Prompt((special_tokens(self.program)[0], *letters))

    def scene(self, word: Word, shown: Stretch) -> Scene:
        """The tokens, with the named terms and formulas below them and the rule that applies at every position.

        Evaluation takes quadratic time, so that only short sequences have values.
        """
        program, lines = self.program, self.lines
        defined = [entry.name for entry in program.definitions]
        names = [None, None, *defined, *[None] * (len(program.rules) + (program.accept is not None))]
        emitted = [*shown.before, *shown.tokens[len(shown.tokens) - shown.said :]]
        tokens = [*program.word(word), *(token for token in emitted if token in program.tokens)]
        if len(tokens) > MOST_EVALUATED:
            return Scene(lines, names=names)
        evaluation = Evaluation(program)
        values: list[list[bool | int]] = [[] for _ in defined]
        rules: list[int | None] = []
        for position in range(len(tokens) + 1):
            if position:
                evaluation.append(tokens[position - 1])
            for name, row in zip(defined, values, strict=True):
                row.append(evaluation.value(name, position))
            holds = (k for k, rule in enumerate(program.rules) if evaluation.holds(rule.body))
            rules.append(next(holds, None) if position >= len(program.word(word)) else None)
        first, end = shown.first, shown.first + len(shown.tokens)
        offset = 2 + len(defined)
        rows = [(name, _stretched(row, first, end)) for name, row in zip(defined, values, strict=True)]
        active = [None if rule is None else offset + rule for rule in _stretched(rules, first, end)]
        return Scene(lines, active, names, Rows(first=first, word=shown.tokens, rows=rows))


def _stretched(values: Sequence[T], first: int, end: int) -> list[T | None]:
    """The values from position ``first`` to ``end``; None where there is none."""
    found = values[first:end]
    return [*found, *[None] * (end - first - len(found))]


@dataclass(frozen=True)
class CraspCodec(OfProgram, DecoderCodec[Program]):
    """Codec with context "start token, word, chain of thought up to ACC or REJ"."""

    def stops(self, token: str) -> bool:
        """Whether the token is a verdict, or the one for "no rule applies"."""
        return token in VERDICTS or token == special_tokens(self.program)[1]

    def expected(self, word: Word, max_steps: int) -> Iterator[str]:
        """The chain of thought of the reference evaluator; after the limit only a verdict."""
        for count, token in enumerate(generate(self.program, word)):
            if count < max_steps or token in VERDICTS:
                yield token
            if count >= max_steps:
                return

    @property
    def chain(self) -> Program:
        return self.source

    def outcome(self, word: Word, said: Sequence[str]) -> Outcome:
        """The result of a chain of thought; no verdict if no rule applied in the end."""
        letters = self.program.word(word)
        verdict = VERDICTS.get(said[-1]) if len(said) else None
        thought = said[:-1] if len(said) and self.stops(said[-1]) else said
        return CraspOutcome(
            verdict=verdict, steps=len(thought), program=self.program, word=letters, thought=tuple(thought)
        )


@dataclass(frozen=True)
class CraspAnswersCodec(OfProgram, StartedCodec[Program]):
    """Codec with prompt "start token, word"; the output at each position is whether the prefix is accepted."""

    def expected(self, word: Word, max_steps: int) -> Iterator[str | None]:
        """Whether each prefix is accepted, the empty one first."""
        try:
            accepted = tuple(prefixes(self.program, word))
        except ConstructionError:  # a term has too many cases for the fast evaluator
            accepted = self._by_definition(self.program.word(word))
        return (str(answer).lower() for answer in accepted)

    def _by_definition(self, letters: tuple[str, ...]) -> tuple[bool, ...]:
        assert self.program.accept is not None
        evaluation = Evaluation(self.program, letters)
        return tuple(evaluation.holds(self.program.accept, position) for position in range(len(letters) + 1))


@dataclass(frozen=True, kw_only=True)
class CraspOutcome(Outcome):
    """The result of a chain of thought."""

    program: Program
    thought: tuple[str, ...]

    def trace(self) -> Iterator[str]:
        """The input, then each token with the values of the named terms after it."""
        evaluation = Evaluation(self.program, self.word)
        names = [definition.name for definition in self.program.definitions]
        lines = [self.program.spell(self.word) or "(empty word)", *self.thought]
        width = max(map(len, islice(lines, 200)))
        for step, line in enumerate(lines):
            if step:
                evaluation.append(line)
            position = len(evaluation.tokens)
            values = (f"{name} = {str(evaluation.value(name, position)).lower()}" for name in names)
            yield f"{step:>5}  {line:<{width}}  {', '.join(values)}".rstrip()
