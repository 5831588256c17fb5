"""How words become prompts and how what a model says is read: the codec of a theorem, and what it speaks of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True)
class Prompt:
    """What a model is started on: the tokens, and the length n of the input word in them (None if it may not know)."""

    tokens: tuple[str, ...]
    length: int | None = None


@dataclass(frozen=True)
class Interface:
    """What goes into a model that answers at once, and what it says where; positions count the tokens of its prompt.

    Args:
        symbols: The tokens that an input is made of.
        meaning: What an answer says, in sentences.
        inputs: What each symbol of an input is, if all inputs have the same; they are the first tokens of the prompt.
        outputs: The name and the position of each output; none if every symbol has an answer of its own.
        verdict: Where "true" means that the input is accepted, -1 for the last position; None if there is no verdict.
    """

    symbols: tuple[str, ...]
    meaning: str
    inputs: tuple[str, ...] = ()
    outputs: tuple[tuple[str, int], ...] = ()
    verdict: int | None = None


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a run came to.

    Args:
        verdict: "accept", "reject" or "halt"; None if it did not end.
        steps: How many steps of the source language were made.
        output: What is left, as text.
    """

    verdict: str | None
    steps: int
    output: str

    @property
    def halted(self) -> bool:
        """Whether the run ended by itself."""
        return self.verdict is not None

    @property
    def accepted(self) -> bool:
        """Whether the run ended with "accept"."""
        return self.verdict == "accept"

    def trace(self) -> Iterator[str]:
        """What happened: one text for the start and one for each step; empty if there is nothing to show."""
        return iter(())


class Codec(Protocol):
    """How words become prompts and how what a model says is read. Constructions provide it."""

    @property
    def kind(self) -> str:
        """The source language."""

    @property
    def source(self) -> object:
        """The object of the source language that the model computes."""

    @property
    def alphabet(self) -> tuple[str, ...]:
        """The symbols of input words."""

    def prompt(self, word: str | Iterable[str]) -> Prompt:
        """The sequence that the model is started on."""

    def expected(self, word: str | Iterable[str], max_steps: int) -> Iterable[str | None]:
        """What the reference interpreter says that the model should say.

        Of a decoder, the tokens that follow the prompt; of an encoder, the output at every position of the prompt, None
        where nobody cares.
        """

    def read(self, word: str | Iterable[str], said: Sequence[str]) -> Outcome:
        """What it means that the model said this."""

    def to_json(self) -> dict[str, object]:
        """Everything that is needed to make the codec again."""


@runtime_checkable
class AnsweringCodec(Codec, Protocol):
    """The codec of a model that answers at once, at the positions of its prompt."""

    def interface(self) -> Interface:
        """What goes in, and what is said where."""


@runtime_checkable
class DecoderCodec(Codec, Protocol):
    """The codec of a model that goes on from its prompt, token by token, until a token stops it."""

    def stops(self, token: str) -> bool:
        """Whether the run is over with this token."""

    def token_limit(self, max_steps: int) -> int:
        """How many tokens a run of so many steps has at most, when it has not ended."""


@runtime_checkable
class SegmentedCodec(DecoderCodec, Protocol):
    """The codec of a model that may write summaries, each the prompt of a segment that goes on from it alone."""

    def is_step(self, token: str) -> bool:
        """Whether the token is a step of the source language."""

    def segment_begins(self, token: str) -> bool:
        """Whether a summary begins with this token."""

    def segment_ends(self, token: str) -> bool:
        """Whether a summary ends with this token."""

    def expected_segments(self, word: str | Iterable[str], max_steps: int) -> Iterable[tuple[Prompt, tuple[str, ...]]]:
        """What the reference interpreter says that the model should say, segment by segment, with their prompts."""

    def longest(self, word: str | Iterable[str], max_steps: int, *, to_the_end: bool) -> int | None:
        """The length for which every context of so many steps fits; None if the run must end by then and does not."""
