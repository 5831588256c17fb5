"""Codecs of C-RASP programs: with chain of thought, and with a verdict on every prefix."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from softmachine.ir.domain import Domain
from softmachine.languages.crasp import CraspProgram, Evaluation, generate
from softmachine.languages.crasp.streaming_interpreter import VERDICTS, accept_prefixes
from softmachine.languages.run_view import RowsPicture, RunView, TokenWindow
from softmachine.support.errors import ConstructionError, ContextTooShortError
from softmachine.theorems.codec import Codec, DecoderCodec, Outcome, Prompt, Word
from softmachine.theorems.shared.recogniser_codec import START_TOKEN, StartTokenCodec, unused_token

STUCK_TOKEN = "<stuck>"
MAX_PREFIXES_BY_DEFINITION = 400
"""Longer sequences are displayed without values, since the evaluator takes quadratic time."""
T = TypeVar("T")


def special_tokens(program: CraspProgram) -> tuple[str, str]:
    """The token of position 0, and the one for "no rule applies"; neither is a token of the program."""
    return unused_token(START_TOKEN, program.tokens), unused_token(STUCK_TOKEN, program.tokens)


@dataclass(frozen=True)
class CraspCodecBase(Codec[CraspProgram]):
    """Base class of the codecs of C-RASP programs.

    Args:
        source: The program.
        length: The number of positions that the weights are built for; None if they serve every length.
    """

    length: int | None = None

    @property
    def program(self) -> CraspProgram:
        """The program."""
        return self.source

    def prompt(self, word: Word) -> Prompt:
        """The start token and the word.

        Raises:
            ContextTooShortError: If it takes more positions than the weights are built for.
        """
        letters = self.program.word(word)
        if self.length is not None and len(letters) >= self.length:
            raise ContextTooShortError(
                f"an input of {len(letters)} symbols takes {len(letters) + 1} positions, but the weights are built for "
                f"{self.length}",
                context=len(letters) + 1,
            )
        return Prompt((special_tokens(self.program)[0], *letters))

    def run_view(self, word: Word, window: TokenWindow) -> RunView:
        """The tokens, with the named terms and formulas below them and the rule that applies at every position.

        Evaluation takes quadratic time, so that only short sequences have values.
        """
        program, lines = self.program, self.source_lines
        defined = [entry.name for entry in program.definitions]
        names = [None, None, *defined, *[None] * (len(program.rules) + (program.accept is not None))]
        emitted = [*window.generated_before, *window.tokens[len(window.tokens) - window.generated :]]
        tokens = [*program.word(word), *(token for token in emitted if token in program.tokens)]
        if len(tokens) > MAX_PREFIXES_BY_DEFINITION:
            return RunView(lines, line_names=names)
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
        first, end = window.first, window.first + len(window.tokens)
        offset = 2 + len(defined)
        rows = [(name, _pad_window(row, first, end)) for name, row in zip(defined, values, strict=True)]
        active = [None if rule is None else offset + rule for rule in _pad_window(rules, first, end)]
        return RunView(lines, active, names, RowsPicture(first=first, word=window.tokens, rows=rows))


def _pad_window(values: Sequence[T], first: int, end: int) -> list[T | None]:
    """The values from position ``first`` to ``end``; None where there is none."""
    found = values[first:end]
    return [*found, *[None] * (end - first - len(found))]


@dataclass(frozen=True)
class CraspCodec(CraspCodecBase, DecoderCodec[CraspProgram]):
    """Codec with context "start token, word, chain of thought up to ACC or REJ"."""

    def domain(self, vocabulary: Iterable[str]) -> Domain:
        """Return the sequences of the start token, letters, and tokens of rules that are no verdicts."""
        thought = (token for token in self.program.tokens if not self.is_stop_token(token))
        return Domain(frozenset(special_tokens(self.program)[:1]), frozenset((*self.alphabet, *thought)))

    def is_stop_token(self, token: str) -> bool:
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
    def chain_program(self) -> CraspProgram:
        return self.source

    def parse_output(self, word: Word, emitted: Sequence[str]) -> Outcome:
        """The result of a chain of thought; no verdict if no rule applied in the end."""
        letters = self.program.word(word)
        verdict = VERDICTS.get(emitted[-1]) if len(emitted) else None
        thought = emitted[:-1] if len(emitted) and self.is_stop_token(emitted[-1]) else emitted
        return CraspOutcome(
            verdict=verdict, steps=len(thought), program=self.program, word=letters, chain_of_thought=tuple(thought)
        )


@dataclass(frozen=True)
class CraspAnswersCodec(CraspCodecBase, StartTokenCodec[CraspProgram]):
    """Codec with prompt "start token, word"; the output at each position is whether the prefix is accepted."""

    def expected(self, word: Word, max_steps: int) -> Iterator[str | None]:
        """Whether each prefix is accepted, the empty one first."""
        try:
            accepted = tuple(accept_prefixes(self.program, word))
        except ConstructionError:  # a term has too many cases for the fast evaluator
            accepted = self._evaluate_by_definition(self.program.word(word))
        return (str(answer).lower() for answer in accepted)

    def _evaluate_by_definition(self, letters: tuple[str, ...]) -> tuple[bool, ...]:
        assert self.program.accept is not None
        evaluation = Evaluation(self.program, letters)
        return tuple(evaluation.holds(self.program.accept, position) for position in range(len(letters) + 1))


@dataclass(frozen=True, kw_only=True)
class CraspOutcome(Outcome):
    """The result of a chain of thought."""

    program: CraspProgram
    chain_of_thought: tuple[str, ...]

    def format_trace(self) -> Iterator[str]:
        """The input, then each token with the values of the named terms after it."""
        evaluation = Evaluation(self.program, self.word)
        names = [definition.name for definition in self.program.definitions]
        lines = [self.program.format_tokens(self.word) or "(empty word)", *self.chain_of_thought]
        width = max(map(len, islice(lines, 200)))
        for step, line in enumerate(lines):
            if step:
                evaluation.append(line)
            position = len(evaluation.tokens)
            values = (f"{name} = {str(evaluation.value(name, position)).lower()}" for name in names)
            yield f"{step:>5}  {line:<{width}}  {', '.join(values)}".rstrip()
