"""What every command does with SOURCE, and what is particular to a source language."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from softmachine.cli.output import Output
from softmachine.errors import UsageError
from softmachine.text import many

if TYPE_CHECKING:
    from softmachine.cli.tapes import TapeView
    from softmachine.codec import Codec
    from softmachine.languages.source import Source
    from softmachine.model import Model
    from softmachine.transformer.weights import Transformer

ATTENTIONS = ("hard", "soft")


@dataclass(frozen=True)
class Wanted:
    """How a source is to be compiled, as the options say.

    Args:
        format_name: The format of the source.
        theorem: The theorem.
        attention: Hard or soft.
        alphabet: More symbols for a formula.
        certified: The length up to which soft attention is certified.
        length: The length to make the weights for, if they depend on one.
    """

    format_name: str | None
    theorem: str | None
    attention: str | None = None
    alphabet: str | None = None
    certified: int | None = None
    length: int | None = None


def open_model(source: str, wanted: Wanted, output: Output) -> Model:
    """The model of a source: compiled, or read from the folder where it was saved."""
    from softmachine import api
    from softmachine.cli.progress import working

    if wanted.attention not in (None, *ATTENTIONS):
        raise UsageError(f"there is no attention {wanted.attention!r}", hint=f"choose {' or '.join(ATTENTIONS)}")
    if wanted.certified is not None and wanted.attention != "soft":
        raise UsageError("--certified is for soft attention", hint="add --attention soft")
    if None not in (wanted.certified, wanted.length) and wanted.certified != wanted.length:
        raise UsageError("--certified and --length name different lengths", hint="the weights are made for one length")
    item = api.load(source, wanted.format_name, alphabet=wanted.alphabet)
    with working("compiling", output):
        length = wanted.length if wanted.certified is None else wanted.certified
        return api.compile(item, wanted.theorem, attention=wanted.attention, length=length)


def noted(notes: Sequence[str]) -> dict[str, object]:
    """What every answer from a model has to say, as JSON has it."""
    return {"notes": list(notes)} if notes else {}


def say_notes(notes: Sequence[str], output: Output) -> None:
    """The same below an answer for people."""
    for note in notes:
        output.say(f"  note: {note}")


def default_input(codec: Codec[Source]) -> str:
    """The input that the source suggests, or else the empty word."""
    return codec.spell(codec.source.default_input)


def view_of(codec: Codec[Source], word: str, remember: int) -> TapeView | None:
    """How to show a run on a word, with so many steps of the past; None if there is nothing to see but tokens."""
    if not codec.view:
        return None
    from softmachine.cli.tapes import TapeCodec, TapeView

    return TapeView(codec, word, remember) if isinstance(codec, TapeCodec) else None


def model_line(weights: Transformer) -> str:
    """One line about the weights."""
    return ", ".join(
        [
            many(len(weights.layers), "layer"),
            many(len(weights.heads), "head"),
            f"width {weights.width}",
            many(len(weights.vocabulary), "token"),
            many(weights.parameters, "parameter"),
        ]
    )
