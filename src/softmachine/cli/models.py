"""What every command does with SOURCE, and what is particular to a source language."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from softmachine.cli.output import Output
from softmachine.errors import UsageError
from softmachine.languages.source import Source
from softmachine.text import many

if TYPE_CHECKING:
    from rich.text import Text

    from softmachine.codec import Codec, Outcome
    from softmachine.languages.temporal import Specification
    from softmachine.transformer.weights import Transformer

ATTENTIONS = ("hard", "soft")


class View(Protocol):
    """A run as people see it, while it goes on."""

    def follow(self, token: str) -> bool:
        """Take note of one more token; whether it is a step, and so there is something new to see."""

    def follow_all(self, tokens: Sequence[str]) -> None:
        """Take note of many tokens; of what happened between them, only the end need be remembered."""

    def rows(self, width: int, height: int) -> Sequence[Text]:
        """The last steps, one below the other, in so many lines at most."""

    def line(self, width: int) -> Text:
        """The last step in one line."""


@dataclass(frozen=True)
class Wanted:
    """How a source is to be compiled, as the options say.

    Args:
        format_name: The format of the source.
        construction: The theorem.
        attention: Hard or soft.
        alphabet: More symbols for a formula.
        certified: The length up to which soft attention is certified.
        length: The length to make the weights for, if they depend on one.
    """

    format_name: str | None
    construction: str | None
    attention: str | None = None
    alphabet: str | None = None
    certified: int | None = None
    length: int | None = None


def open_model(source: str, wanted: Wanted, output: Output) -> Transformer:
    """The transformer of a source: compiled, or read from the folder where it was saved."""
    from softmachine import api
    from softmachine.cli.progress import working

    if wanted.attention not in (None, *ATTENTIONS):
        raise UsageError(f"there is no attention {wanted.attention!r}", hint=f"choose {' or '.join(ATTENTIONS)}")
    if wanted.certified is not None and wanted.attention != "soft":
        raise UsageError("--certified is for soft attention", hint="add --attention soft")
    if None not in (wanted.certified, wanted.length) and wanted.certified != wanted.length:
        raise UsageError("--certified and --length name different lengths", hint="the weights are made for one length")
    item = opened(source, wanted.format_name, wanted.alphabet)
    with working("compiling", output):
        length = wanted.length if wanted.certified is None else wanted.certified
        return api.compile(item, wanted.construction, attention=wanted.attention, length=length)


def opened(source: str, format_name: str | None, alphabet: str | None) -> Source | Transformer:
    """What a source describes, or the model that was saved there; a formula may get more symbols."""
    from softmachine import api

    item = api.load(source, format_name)
    return item if alphabet is None else extended(item, alphabet)


def extended(item: object, alphabet: str) -> Specification:
    """A formula over more symbols."""
    from softmachine.languages.temporal import Specification

    if not isinstance(item, Specification):
        raise UsageError("--alphabet is for formulas; other sources say themselves what an input may have")
    return item.extended(alphabet.split() if " " in alphabet.strip() else alphabet.strip())


def default_input(codec: Codec) -> str:
    """The input that the source suggests, or else the empty word."""
    return spelled(codec, codec.source.default_input if isinstance(codec.source, Source) else ())


def spelled(codec: Codec, word: Sequence[str]) -> str:
    """A word as it is written at the command line."""
    return ("" if all(len(symbol) == 1 for symbol in codec.alphabet) else " ").join(word)


def language(codec: Codec | None) -> str | None:
    """The name of the source language."""
    return getattr(codec, "kind", None)


def headline(codec: Codec | None) -> str | None:
    """One line about the object that was compiled."""
    return str(codec.source) if codec else None


def values_of(outcome: Outcome) -> dict[str, list[bool | str]]:
    """The value at every position, for the languages that have one."""
    from softmachine.theorems.crasp.tokens import AnswersOutcome
    from softmachine.theorems.srasp.tokens import SraspOutcome
    from softmachine.theorems.temporal.tokens import TemporalOutcome

    if isinstance(outcome, TemporalOutcome | AnswersOutcome):
        return {"values": list(outcome.values)}
    if isinstance(outcome, SraspOutcome):
        truths = {"true": True, "false": False} if outcome.verdict != "halt" else {}
        return {"values": [truths.get(answer, answer) for answer in outcome.answers]}
    return {}


def view_of(codec: Codec, word: str, remember: int) -> View | None:
    """How to show a run on a word, with so many steps of the past; None if there is nothing to see but tokens."""
    from softmachine.cli.tapes import TapeView
    from softmachine.theorems.chapter_8_summary.tokens import SummaryCodec
    from softmachine.theorems.shared.turing_tokens import TuringCodec
    from softmachine.theorems.ternary.tokens import TernaryCodec

    if not isinstance(codec, TuringCodec | TernaryCodec | SummaryCodec):
        return None
    return TapeView(codec, word, remember)


def model_line(transformer: Transformer) -> str:
    """One line about the weights."""
    return ", ".join(
        [
            many(len(transformer.layers), "layer"),
            many(len(transformer.heads), "head"),
            f"width {transformer.width}",
            many(len(transformer.vocabulary), "token"),
            many(transformer.parameters, "parameter"),
        ]
    )
