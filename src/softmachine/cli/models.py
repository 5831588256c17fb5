"""What every command does with SOURCE, and what is particular to a source language."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from softmachine.cli.output import Output, many

if TYPE_CHECKING:
    from rich.text import Text

    from softmachine.transformer import Codec, Transformer


class View(Protocol):
    """A run as people see it, while it goes on."""

    def follow(self, token: str) -> bool:
        """Take note of one more token; whether it is a step, and so there is something new to see."""

    def rows(self, width: int, height: int) -> Sequence[Text]:
        """The last steps, one below the other, in so many lines at most."""

    def line(self, width: int) -> Text:
        """The last step in one line."""


def open_model(source: str, format_name: str | None, construction: str | None, output: Output) -> Transformer:
    """The transformer of a source: compiled, or read from the folder where it was saved."""
    from softmachine import api
    from softmachine.cli.progress import working

    item = api.load(source, format_name)
    with working("compiling", output):
        return api.compile(item, construction)


def default_input(codec: Codec) -> str:
    """The input that the source suggests, or else the empty word."""
    from softmachine.constructions.turing_tokens import TuringCodec

    word = codec.machine.default_input if isinstance(codec, TuringCodec) else None
    return spelled(codec, word or ())


def spelled(codec: Codec, word: Sequence[str]) -> str:
    """A word as it is written at the command line."""
    return ("" if all(len(symbol) == 1 for symbol in codec.alphabet) else " ").join(word)


def language(codec: Codec | None) -> str | None:
    """The name of the source language."""
    return getattr(codec, "kind", None)


def headline(codec: Codec | None) -> str | None:
    """One line about the object that was compiled."""
    from softmachine.constructions.turing_tokens import TuringCodec

    return str(codec.machine) if isinstance(codec, TuringCodec) else None


def view_of(codec: Codec, word: str, remember: int) -> View | None:
    """How to show a run on a word, with so many steps of the past; None if there is nothing to see but tokens."""
    from softmachine.cli.tapes import TapeView
    from softmachine.constructions.turing_tokens import TuringCodec

    return TapeView(codec, word, remember) if isinstance(codec, TuringCodec) else None


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
