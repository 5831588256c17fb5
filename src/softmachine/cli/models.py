"""What every command does with SOURCE, and what is particular to a source language."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from softmachine.cli import options
from softmachine.cli.groups import Group
from softmachine.cli.output import Output
from softmachine.compiler.model import Model
from softmachine.support.errors import UsageError
from softmachine.support.text import many

if TYPE_CHECKING:
    from softmachine.cli.tapes import TapeView
    from softmachine.languages.source import Source
    from softmachine.theorems.codec import Codec
    from softmachine.transformer.weights import Transformer


@dataclass(frozen=True)
class Wanted:
    """How a source is to be compiled, as the options say.

    Args:
        theorem: The theorem.
        attention: Hard or soft.
        context: The length to make the weights for, if they depend on one.
        length: The length up to which soft attention is certified. Of the two, one stands for both.
        alphabet: More symbols for a formula.
        format: The format of the source.
    """

    theorem: str | None
    attention: str | None = None
    context: int | None = None
    length: int | None = None
    alphabet: str | None = None
    format: str | None = None


@dataclass(frozen=True)
class Compilation(Group):
    """The options that say so, of commands that take all of them."""

    theorem: options.TheoremName = None
    causal: options.Causal = False
    attention: options.AttentionName = None
    context: options.Context = None
    length: options.CertifiedLength = None
    alphabet: options.Alphabet = None
    format_name: options.Format = None

    @property
    def wanted(self) -> Wanted:
        """What they say."""
        theorem = rasp_theorem(self.theorem, causal=self.causal)
        return Wanted(theorem, self.attention, self.context, self.length, self.alphabet, self.format_name)


def rasp_theorem(theorem: str | None, *, causal: bool, generate: bool = False) -> str | None:
    """The theorem that --causal or --generate stands for; else the one that is named.

    Raises:
        UsageError: If they say different things.
    """
    named = [name for name, given in (("rasp-causal", causal), ("rasp-generate", generate)) if given]
    if len({*named, *([theorem] if theorem else [])}) > 1:
        raise UsageError("--causal, --generate and --theorem each name a theorem", hint="give one of them")
    return named[0] if named else theorem


def open_model(
    source: str, wanted: Wanted, output: Output, *, two_letters: bool = False, any_length: bool = False
) -> Model:
    """The model of a source: compiled, or read from the folder where it was saved.

    Args:
        source: What the command was given.
        wanted: How to compile it.
        output: Who is told.
        two_letters: Whether a formula is to have at least two letters, if nothing is said about its alphabet.
        any_length: Whether weights that depend on a length may be made for any, if none is said.
    """
    from softmachine import api
    from softmachine.api import load_for_many_words
    from softmachine.cli.progress import working

    loaded = load_for_many_words if two_letters else api.load
    item = loaded(source, wanted.format, alphabet=wanted.alphabet)
    if any_length and not isinstance(item, Model):
        wanted = _suggested(item, wanted, output)
    with working("compiling", output):
        return api.compile(
            item, wanted.theorem, attention=wanted.attention, context=wanted.context, length=wanted.length
        )


def _suggested(item: Source, wanted: Wanted, output: Output) -> Wanted:
    """A length for weights that depend on one, if none is said: that of the input which the source suggests."""
    from softmachine.api import MOST_STEPS
    from softmachine.theorems import theorem_for

    theorem = theorem_for(item, wanted.theorem)
    if not theorem.length or (wanted.context, wanted.length) != (None, None):
        return wanted
    context = theorem.context_for(item, default_input(item), MOST_STEPS)
    if context is not None:
        output.warn(f"these are the weights of {theorem.name} for length {context:,}; for another: --context N")
    return replace(wanted, context=context)


def open_for(source: str, word: str | None, wanted: Wanted, max_steps: int | None, output: Output) -> tuple[Model, str]:
    """The model of a source, made for a run on an input, and the input: if none is given, what the source suggests."""
    from softmachine import api
    from softmachine.api import source_of
    from softmachine.cli.progress import working

    item = api.load(source, wanted.format, alphabet=wanted.alphabet)
    text = default_input(source_of(item)) if word is None else word
    with working("compiling", output):
        lengths = {"context": wanted.context, "length": wanted.length, "max_steps": max_steps}
        model = api.compile_for(item, text, wanted.theorem, attention=wanted.attention, **lengths)
    warn_if_unused(wanted, model, output)
    return model, text


def warn_if_unused(wanted: Wanted, model: Model, output: Output) -> None:
    """A length that nothing was made or certified for is not meant to be."""
    length = wanted.length if wanted.context is None else wanted.context
    if length is not None and model.length is None and model.certified is None:
        what = f"the weights of {model.theorem.name} with {model.attention} attention serve every length"
        output.warn(f"{what}: nothing was made or certified for {length:,}")


def alphabet_line(source: Source) -> str:
    """The letters of a formula, and how to have others."""
    from softmachine.languages.source import Extensible

    if not isinstance(source, Extensible):
        return ""
    return f"alphabet: {' '.join(source.alphabet)} (others: --alphabet SYMBOLS)"


def noted(notes: Sequence[str]) -> dict[str, object]:
    """What every answer from a model has to say, as JSON has it."""
    return {"notes": list(notes)} if notes else {}


def say_notes(notes: Sequence[str], output: Output) -> None:
    """The same below an answer for people."""
    for note in notes:
        output.say(f"  note: {note}")


def default_input(source: Source) -> str:
    """The input that the source suggests, or else the empty word."""
    from softmachine.languages.source import spelled

    return spelled(source.default_input, source.alphabet)


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
