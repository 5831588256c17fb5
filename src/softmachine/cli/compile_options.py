"""Compile options: how commands load and compile SOURCE."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from softmachine.cli import options
from softmachine.cli.options import OptionGroup
from softmachine.cli.output import Output
from softmachine.compiler.model import CompileOptions, Model
from softmachine.support.errors import UsageError
from softmachine.support.text import pluralize

if TYPE_CHECKING:
    from softmachine.cli.tape_view import TapeView
    from softmachine.languages.source import Source
    from softmachine.theorems.codec import Codec
    from softmachine.transformer.weights import Transformer


@dataclass(frozen=True)
class CompileOptionGroup(OptionGroup):
    """The options of commands that take all of them."""

    theorem: options.TheoremName = None
    causal: options.Causal = False
    attention: options.AttentionName = None
    context: options.Context = None
    length: options.CertifiedLength = None
    alphabet: options.Alphabet = None
    format_name: options.Format = None

    @property
    def options(self) -> CompileOptions:
        """The options as one value."""
        theorem = choose_rasp_theorem(self.theorem, causal=self.causal)
        return CompileOptions(theorem, self.attention, self.context, self.length, self.alphabet, self.format_name)


def choose_rasp_theorem(theorem: str | None, *, causal: bool, generate: bool = False) -> str | None:
    """Return the theorem that --causal, --generate or --theorem names.

    Raises:
        UsageError: If they name different ones.
    """
    named = [name for name, given in (("rasp-causal", causal), ("rasp-generate", generate)) if given]
    if len({*named, *([theorem] if theorem else [])}) > 1:
        raise UsageError("--causal, --generate and --theorem each choose a theorem", hint="use only one of them")
    return named[0] if named else theorem


def load_model(
    source: str, options: CompileOptions, output: Output, *, two_letters: bool = False, any_length: bool = False
) -> Model:
    """Compile a source, or load a saved model.

    Args:
        source: SOURCE, as given.
        options: How to compile it.
        output: Where progress and notes are printed.
        two_letters: Whether to extend a formula to at least two letters, unless its alphabet is given.
        any_length: Whether to choose a context if the weights depend on one and none is given.
    """
    from softmachine import api
    from softmachine.api import load_with_two_letters
    from softmachine.cli.output import spinner

    loaded = load_with_two_letters if two_letters else api.load
    item = loaded(source, options.format, alphabet=options.alphabet)
    if any_length and not isinstance(item, Model):
        options = _with_context(item, options, output)
    with spinner("compiling", output):
        return api.compile_item(item, options)


def _with_context(item: Source, wanted: CompileOptions, output: Output) -> CompileOptions:
    """Choose a context if the weights depend on one and none is given: that of the input that the source suggests."""
    from softmachine.api import MAX_STEPS
    from softmachine.theorems import find_theorem

    theorem = find_theorem(item, wanted.theorem)
    if not theorem.length or (wanted.context, wanted.length) != (None, None):
        return wanted
    context = theorem.find_context(item, default_input(item), MAX_STEPS)
    if context is not None:
        output.warn(f"the weights of {theorem.name} are built for {context:,} positions; to change it: --context N")
    return replace(wanted, context=context)


def load_model_for_run(
    source: str, word: str | None, options: CompileOptions, max_steps: int | None, output: Output
) -> tuple[Model, str]:
    """Compile a source for a run; return the model, and the input, by default the one that the source suggests."""
    from softmachine import api
    from softmachine.api import source_of
    from softmachine.cli.output import spinner

    item = api.load(source, options.format, alphabet=options.alphabet)
    text = default_input(source_of(item)) if word is None else word
    with spinner("compiling", output):
        model = api.compile_for(item, text, options, max_steps)
    warn_if_no_effect(options, model, output)
    return model, text


def warn_if_no_effect(options: CompileOptions, model: Model, output: Output) -> None:
    """Warn that --context and --length had no effect."""
    length = options.length if options.context is None else options.context
    if length is not None and model.context is None and model.certified_length is None:
        weights = f"the weights of {model.theorem.name} with {model.attention} attention are valid for every length"
        output.warn(f"{weights}: {length:,} has no effect")


def format_alphabet(source: Source) -> str:
    """Describe the alphabet of a formula, and how to extend it; "" for other sources."""
    from softmachine.languages.source import ExtensibleSource

    if not isinstance(source, ExtensibleSource):
        return ""
    return f"alphabet: {' '.join(source.alphabet)} (others: --alphabet SYMBOLS)"


def notes_json(notes: Sequence[str]) -> dict[str, object]:
    """Return the notes of a model as JSON data."""
    return {"notes": list(notes)} if notes else {}


def print_notes(notes: Sequence[str], output: Output) -> None:
    """Print the notes of a model below an answer."""
    for note in notes:
        output.print(f"  note: {note}")


def default_input(source: Source) -> str:
    """Return the input that the source suggests, or else the empty word, as text."""
    from softmachine.languages.source import format_word

    return format_word(source.default_input, source.alphabet)


def tape_view(codec: Codec[Source], word: str, remember: int) -> TapeView | None:
    """Return a view of a run that keeps ``remember`` past steps; None if a run has nothing to show but tokens."""
    if not codec.live_view:
        return None
    from softmachine.cli.tape_view import TapeCodec, TapeView

    return TapeView(codec, word, remember) if isinstance(codec, TapeCodec) else None


def format_model(weights: Transformer) -> str:
    """Summarise the weights in one line."""
    return ", ".join(
        [
            pluralize(len(weights.layers), "layer"),
            pluralize(len(weights.heads), "head"),
            f"width {weights.width}",
            pluralize(len(weights.vocabulary), "token"),
            pluralize(weights.parameter_count, "parameter"),
        ]
    )
