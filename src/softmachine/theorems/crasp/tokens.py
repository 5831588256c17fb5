"""How words are put to a transformer for C-RASP, and how its chain of thought, or its answers, are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from softmachine.codec import Codec, Interface, Outcome, Prompt
from softmachine.errors import InputError, SourceError
from softmachine.languages.crasp import ACCEPT, REJECT, Evaluation, Program, generate, parse, to_text
from softmachine.languages.crasp.evaluate import stuck
from softmachine.theorems.crasp.theorem import special_tokens
from softmachine.theorems.crasp.truth import Sign
from softmachine.theorems.crasp.variant import Variant

VERDICTS = {ACCEPT: "accept", REJECT: "reject"}


@dataclass(frozen=True)
class _OfProgram:
    """What all codecs of C-RASP programs have."""

    program: Program
    variant: Variant
    kind: str = "crasp"

    @property
    def source(self) -> Program:
        """The program."""
        return self.program

    @property
    def alphabet(self) -> tuple[str, ...]:
        """The letters of input words."""
        return self.program.alphabet

    def prompt(self, word: str | Iterable[str]) -> Prompt:
        """The start token and the word."""
        return _prompt(self.program, self.variant, word)

    def to_json(self) -> dict[str, object]:
        """The program and the variant."""
        return {"kind": self.kind, **_to_json(self.program, self.variant)}


@dataclass(frozen=True)
class CraspCodec(_OfProgram):
    """A start token, then the word, then the chain of thought up to ACC or REJ."""

    def stops(self, token: str) -> bool:
        """Whether the token is a verdict, or says that no rule applies."""
        return token in VERDICTS or token == special_tokens(self.program)[1]

    def token_limit(self, max_steps: int) -> int:
        """One token a step."""
        return max_steps

    def expected(self, word: str | Iterable[str], max_steps: int) -> Iterator[str]:
        """The chain of thought, as the evaluator has it; after the limit only a verdict."""
        for count, token in enumerate(generate(self.program, word)):
            if count < max_steps or token in VERDICTS:
                yield token
            if count >= max_steps:
                return

    def read(self, word: str | Iterable[str], tokens: Sequence[str]) -> Outcome:
        """What a chain of thought comes to.

        Raises:
            StuckError: If no rule applied in the end.
        """
        letters = self.program.word(word)
        if tokens and tokens[-1] == special_tokens(self.program)[1]:
            before = (*letters, *tokens[:-1])
            raise stuck(self.program, len(before), before[-1] if before else None)
        verdict = VERDICTS.get(tokens[-1]) if tokens else None
        thought = tokens[:-1] if verdict else tokens
        return CraspOutcome(
            verdict=verdict, steps=len(thought), output="", program=self.program, word=letters, thought=tuple(thought)
        )


@dataclass(frozen=True)
class CraspAnswersCodec(_OfProgram):
    """A start token, then the word; the answer at each position is whether the prefix up to there is accepted."""

    def interface(self) -> Interface:
        """Whether each prefix is accepted; the last one is the whole word."""
        meaning = "It is whether the word up to there is accepted; at the start token, whether the empty word is."
        return Interface(symbols=self.alphabet, meaning=meaning, verdict=-1)

    def expected(self, word: str | Iterable[str], max_steps: int) -> Iterator[str | None]:
        """Whether each prefix is accepted, the empty one first."""
        del max_steps
        assert self.program.accept is not None
        letters = self.program.word(word)
        evaluation = Evaluation(self.program, letters)
        for position in range(len(letters) + 1):
            yield str(evaluation.holds(self.program.accept, position)).lower()

    def read(self, word: str | Iterable[str], said: Sequence[str]) -> Outcome:
        """A word is accepted if the formula holds at its last position."""
        return AnswersOutcome(
            verdict="accept" if said[-1] == "true" else "reject",
            steps=0,
            output="",
            word=self.program.word(word),
            values=tuple(answer == "true" for answer in said[1:]),
        )


@dataclass(frozen=True, kw_only=True)
class CraspOutcome(Outcome):
    """What a chain of thought came to."""

    program: Program
    word: tuple[str, ...]
    thought: tuple[str, ...]

    def trace(self) -> Iterator[str]:
        """The input, and then each token with the named terms after it."""
        evaluation = Evaluation(self.program, self.word)
        names = [definition.name for definition in self.program.definitions]
        yield from self._lines(evaluation, names)

    def _lines(self, evaluation: Evaluation, names: list[str]) -> Iterator[str]:
        said = [self.program.spell(self.word) or "(empty word)", *self.thought]
        width = max(map(len, islice(said, 200)))
        for step, what in enumerate(said):
            if step:
                evaluation.append(what)
            position = len(evaluation.tokens)
            values = (f"{name} = {str(evaluation.value(name, position)).lower()}" for name in names)
            yield f"{step:>5}  {what:<{width}}  {', '.join(values)}".rstrip()


@dataclass(frozen=True, kw_only=True)
class AnswersOutcome(Outcome):
    """Whether each prefix of the word is accepted."""

    word: tuple[str, ...]
    values: tuple[bool, ...]

    def trace(self) -> Iterator[str]:
        """The word, and below each letter 1 or 0."""
        widths = [len(letter) for letter in self.word]
        yield "  ".join(self.word)
        yield "  ".join(str(int(value)).ljust(width) for value, width in zip(self.values, widths, strict=True)).rstrip()


def codec_of_program(program: Program, variant: Variant) -> Codec:
    """The codec of a program with rules, or without."""
    return CraspCodec(program, variant) if program.thinks else CraspAnswersCodec(program, variant)


def codec_from_json(data: dict[str, Any]) -> Codec:
    """The codec that :meth:`CraspCodec.to_json` described."""
    try:
        text, name = str(data["program"]), str(data["name"])
    except (KeyError, TypeError) as error:
        raise SourceError(f"this is not a C-RASP program in JSON: {error!r}") from None
    return codec_of_program(parse(text, name=name), variant_from_json(data))


def variant_from_json(data: dict[str, Any]) -> Variant:
    """The variant that :func:`variant_to_json` described."""
    try:
        length = data["length"]
        return Variant(Sign(data["sign"]), bool(data["soft"]), None if length is None else int(length))
    except (KeyError, TypeError, ValueError) as error:
        raise SourceError(f"this is not a variant of a C-RASP transformer in JSON: {error!r}") from None


def variant_to_json(variant: Variant) -> dict[str, object]:
    """A variant as plain data."""
    return {"sign": str(variant.sign), "soft": variant.soft, "length": variant.length}


def _prompt(program: Program, variant: Variant, word: str | Iterable[str]) -> Prompt:
    letters = program.word(word)
    if variant.length is not None and len(letters) >= variant.length:
        raise InputError(
            f"an input of {len(letters)} symbols takes {len(letters) + 1} positions, and the weights are made for "
            f"{variant.length}",
            hint=f"compile for a length of {len(letters) + 1} or more",
        )
    return Prompt((special_tokens(program)[0], *letters))


def _to_json(program: Program, variant: Variant) -> dict[str, object]:
    return {"name": program.name, "program": to_text(program), **variant_to_json(variant)}
