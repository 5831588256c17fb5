"""The public functions that make models: compile and soften; and the certificate of a softmax model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, overload

from softmachine.compiler import compile_program
from softmachine.compiler.model import Model
from softmachine.languages.source import Source, with_letters_of
from softmachine.loading import load
from softmachine.support.arguments import validated
from softmachine.support.errors import OutgrownError, Remedy, UsageError
from softmachine.support.estimates import consent
from softmachine.theorems import Theorem, theorem_for
from softmachine.theorems.theorem import MOST_CONTEXT
from softmachine.transformer.weights import Transformer

if TYPE_CHECKING:
    from softmachine.certify import Certificate, WeightCertificate

MOST_STEPS = 100_000_000
"""As many as the fast engine makes unasked."""


@validated
def compile(  # noqa: A001
    source: str | Path | Source | Model,
    theorem: str | Theorem | None = None,
    *,
    attention: str | None = None,
    context: int | None = None,
    length: int | None = None,
    alphabet: str | Iterable[str] | None = None,
    format: str | None = None,  # noqa: A002
    construction: str | None = None,
) -> Model:
    """The model of a source.

    Args:
        source: What to compile; a model is taken as it is.
        theorem: The theorem to compile by, or its name; by default the first that applies.
        attention: "hard" or "soft"; by default the one that the theorem prefers.
        context: The length to make the weights for, if they depend on one.
        length: With soft attention: certified for every input up to this length (see :func:`soften`). Where only one of
            the two is given, it stands for both.
        alphabet: For a formula: more symbols that words may have.
        format: The format of the source; by default it is recognised.
        construction: An older name of ``theorem``.
    """
    item = load(source, format, alphabet=alphabet)
    theorem = theorem or construction
    if isinstance(item, Model):
        _require_as_compiled(item, theorem, attention, max(context or 0, length or 0))
        return item
    chosen = theorem_for(item, theorem)
    context, length = length if context is None else context, context if length is None else length
    own = chosen.length and "soft" in chosen.attentions
    if length is not None and attention == "soft" and not own:
        return soften(compile(item, chosen, attention="hard", context=context), length=length)[0]
    attention, made_for = chosen.attention(attention), context if chosen.takes_length(item) else None
    codec = chosen.codec_for(item, made_for)
    return Model(compile_program(chosen.signals(codec, attention)), codec, chosen, made_for, notes=codec.notes)


def _require_as_compiled(model: Model, theorem: str | Theorem | None, attention: str | None, length: int) -> None:
    """Complain if a model is wanted as it was not compiled."""
    if not compiled_by(model, theorem) or attention not in (None, model.attention):
        raise UsageError(f"{model.name!r} is already compiled, by {model.theorem.name}, {model.attention} attention")
    if model.length is not None and length > model.length:
        raise UsageError(f"{model.name!r} was made for length {model.length}, not {length}")


def compiled_by(model: Model, theorem: str | Theorem | None) -> bool:
    """Whether a model was compiled by this theorem, if one is named."""
    return theorem is None or model.theorem.name == (theorem.name if isinstance(theorem, Theorem) else theorem)


@validated
def compile_for(
    source: str | Path | Source | Model,
    word: str | Iterable[str],
    theorem: str | Theorem | None = None,
    *,
    attention: str | None = None,
    context: int | None = None,
    length: int | None = None,
    max_steps: int | None = None,
) -> Model:
    """The model of a source for one run: made, and with soft attention certified, for as long as the run takes.

    Args:
        source: What to compile; a model is taken as it is. A formula gets the letters of the input.
        word: The input.
        theorem: The theorem to compile by, or its name; by default the first that applies.
        attention: "hard" or "soft"; by default the one that the theorem prefers.
        context: The length to make the weights for; by default they are made for the input, and that is doubled until
            the run fits.
        length: The length that softmax is certified for; by default what the run needs.
        max_steps: How many steps are allowed.

    Raises:
        OutgrownError: If the run does not end in a context that anyone would make weights for unasked.
    """
    word = word if isinstance(word, str) else tuple(word)
    item = load(source)
    if isinstance(item, Model):
        return compile(item, theorem, attention=attention, context=context, length=length)
    item = with_letters_of(item, word)
    chosen = theorem_for(item, theorem)
    notes: tuple[str, ...] = ()
    steps = MOST_STEPS if max_steps is None else max_steps
    if context is None and length is None and chosen.wants_length(item, word, steps):
        context = chosen.context_for(item, word, steps)
        if context is None:
            raise OutgrownError(
                f"the run takes more than {MOST_CONTEXT:,} positions, and the weights of {chosen.name} depend on it",
                hint=Remedy("limit the steps, for example {}, or say --context N", max_steps=1000),
            )
        notes = (f"made for {context:,} positions, which the run fits in",)
    if attention == "soft" and "soft" not in chosen.attentions and length is None:
        length = context or chosen.codec_for(item, None).positions(word, steps)
        notes = (*notes, f"softmax certified for {length:,} positions")
    model = compile(item, chosen, attention=attention, context=context, length=length)
    return replace(model, notes=(*model.notes, *notes))


@overload
def soften(
    model: Transformer, *, length: int, sharpness: int | None = ..., yes: bool = ...
) -> tuple[Transformer, WeightCertificate]: ...
@overload
def soften(
    model: Model | Source | str | Path, *, length: int, sharpness: int | None = ..., yes: bool = ...
) -> tuple[Model, Certificate]: ...
@validated
def soften(
    model: Model | Source | str | Path | Transformer, *, length: int, sharpness: int | None = None, yes: bool = False
) -> tuple[Model, Certificate] | tuple[Transformer, WeightCertificate]:
    """The softmax model that gives what the hard one gives, on every input up to a length, and the proof.

    Args:
        model: A model with hard attention, or a source; or bare weights, built by hand or read by
            :func:`load_weights`, of which every sequence of up to n+1 tokens is an input.
        length: Inputs (of a decoder: input and run together) have at most so many symbols.
        sharpness: The scaled gap of every head; by default the smallest that is certified.
        yes: Whether to go on, even if it takes more than ten minutes or half of the free memory.

    Raises:
        ConstructionError: If no temperature, or not this one, is certified, or if the weights of a model are not those
            that its theorem compiles; the message gives the reason.
    """
    from softmachine.certify import certify_model, soften_weights

    with consent(yes):
        if isinstance(model, Transformer):
            return soften_weights(model, length, sharpness)
        hard = model if isinstance(model, Model) else compile(model, attention="hard", length=length)
        proof = certify_model(hard, length, sharpness)
    return replace(hard, weights=proof.softened, certificate=proof), proof


@overload
def certificate(
    model: Transformer, *, length: int, sharpness: int | None = ..., yes: bool = ...
) -> WeightCertificate: ...
@overload
def certificate(
    model: Model | Source | str | Path, *, length: int, sharpness: int | None = ..., yes: bool = ...
) -> Certificate: ...
@validated
def certificate(
    model: Model | Source | str | Path | Transformer, *, length: int, sharpness: int | None = None, yes: bool = False
) -> Certificate | WeightCertificate:
    """The certificate of :func:`soften`; it may say that it does not hold."""
    from softmachine.certify import certify_model, certify_weights

    with consent(yes):
        if isinstance(model, Transformer):
            return certify_weights(model, length, sharpness)
        return certify_model(compile(model, attention="hard", length=length), length, sharpness)
