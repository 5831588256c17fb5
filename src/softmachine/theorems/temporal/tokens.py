"""How words are put to a transformer for temporal logic, and how its answers are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from softmachine.codec import Interface, Outcome, Prompt
from softmachine.errors import SourceError
from softmachine.languages.temporal import Specification, parse_formula, to_text, truth
from softmachine.theorems.temporal.theorem import Variant, Vision, start_token


@dataclass(frozen=True)
class TemporalCodec:
    """A start token, then the word; the answer at each position is whether the formula holds there."""

    specification: Specification
    variant: Variant
    kind: str = "temporal"

    @property
    def source(self) -> Specification:
        """The formula and its alphabet."""
        return self.specification

    @property
    def alphabet(self) -> tuple[str, ...]:
        """The symbols of input words."""
        return self.specification.alphabet

    def prompt(self, word: str | Iterable[str]) -> Prompt:
        """The start token and the word; encoders are told its length."""
        symbols = self.specification.word(word)
        known = self.variant.vision is Vision.ENCODER
        return Prompt((start_token(self.specification), *symbols), len(symbols) if known else None)

    def interface(self) -> Interface:
        """A truth value at every symbol, and the last one is the verdict."""
        return Interface(
            symbols=self.alphabet,
            meaning="At a symbol it is whether the formula holds there; at the start token it means nothing. "
            "The empty word is rejected.",
            verdict=-1,
        )

    def expected(self, word: str | Iterable[str], max_steps: int) -> Iterator[str | None]:
        """The truth value at every position; nobody cares for the start token's."""
        del max_steps
        yield None
        for value in truth(self.specification, word):
            yield "true" if value else "false"

    def read(self, word: str | Iterable[str], said: Sequence[str]) -> TemporalOutcome:
        """A word is accepted if the formula holds at its last position."""
        values = tuple(answer == "true" for answer in said[1:])
        accepted = bool(values) and values[-1]
        return TemporalOutcome(
            verdict="accept" if accepted else "reject",
            steps=0,
            output="",
            word=self.specification.word(word),
            values=values,
        )

    def to_json(self) -> dict[str, object]:
        """The formula, its alphabet and the variant."""
        return {
            "kind": self.kind,
            "name": self.specification.name,
            "formula": to_text(self.specification.formula),
            "alphabet": list(self.specification.alphabet),
            "vision": str(self.variant.vision),
            "soft": self.variant.soft,
            "unbounded": self.variant.unbounded,
        }

    @staticmethod
    def from_json(data: dict[str, Any]) -> TemporalCodec:
        """The codec that :meth:`to_json` described."""
        try:
            name, alphabet = str(data["name"]), tuple(map(str, data["alphabet"]))
            formula = parse_formula(str(data["formula"]))
            variant = Variant(Vision(data["vision"]), bool(data["soft"]), bool(data["unbounded"]))
        except (KeyError, TypeError, ValueError) as error:
            raise SourceError(f"this is not a formula in JSON: {error!r}") from None
        return TemporalCodec(Specification(name=name, formula=formula, alphabet=alphabet), variant)


@dataclass(frozen=True, kw_only=True)
class TemporalOutcome(Outcome):
    """The truth value at every position of the word."""

    word: tuple[str, ...]
    values: tuple[bool, ...]

    def trace(self) -> Iterator[str]:
        """The word, and below each symbol whether the formula holds there."""
        widths = [max(len(symbol), 1) for symbol in self.word]
        pairs = list(zip(self.word, self.values, widths, strict=True))
        yield "  ".join(symbol.ljust(width) for symbol, _, width in pairs).rstrip()
        yield "  ".join(("1" if value else "0").ljust(width) for _, value, width in pairs).rstrip()
