"""Model: exact weights with their codec and theorem; returned by ``compile`` and taken by every public function.

And `CompileOptions`, from which a source is compiled to one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING

from softmachine.compiler import CompiledProgram, compile_with_nodes
from softmachine.languages.source import Source
from softmachine.theorems.codec import Codec
from softmachine.theorems.theorem import Theorem
from softmachine.transformer.weights import Transformer

if TYPE_CHECKING:
    from softmachine.certify import Certificate


@dataclass(frozen=True)
class CompileOptions:
    """How a source is loaded and compiled; see :func:`softmachine.compile`."""

    theorem: str | Theorem | None = None
    attention: str | None = None
    context: int | None = None
    length: int | None = None
    alphabet: str | Iterable[str] | None = None
    format: str | None = None


@dataclass(frozen=True, repr=False)
class Model:
    """A transformer compiled from a source by a theorem.

    Args:
        weights: The transformer.
        codec: Converts words to prompts and outputs to results.
        theorem: The theorem that built it.
        context: The length that the weights were built for, if they depend on one; for a decoder, the number of
            positions of prompt and output together.
        certificate: The certificate that softmax computes the same as hard attention, if it was softened with one.
        notes: Notes to print with every answer of this model.
    """

    weights: Transformer
    codec: Codec[Source]
    theorem: Theorem
    context: int | None = None
    certificate: Certificate | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()

    @cached_property
    def valid_certificate(self) -> Certificate | None:
        """The certificate, if it applies to these weights; None if they were changed since."""
        if self.certificate is None:
            return None
        from softmachine.transformer.weights import compute_digest

        return self.certificate if self.certificate.soft_digest == compute_digest(self.weights) else None

    @cached_property
    def compiled_program(self) -> CompiledProgram:
        """The theorem's program, compiled again: the explanations of the heads and the rules of the units, by name.

        The weights of the model may be others: certified for softmax, or edited.
        """
        theorem = self.theorem
        if self.certificate is not None:
            attention = theorem.certified_variant
        else:
            attention = self.attention if self.attention in theorem.attentions else theorem.attentions[0]
        return compile_with_nodes(theorem.signals(self.codec, attention))

    def __getstate__(self) -> dict[str, object]:
        """The fields; what is computed from them is not copied."""
        return {item.name: getattr(self, item.name) for item in fields(self)}

    @property
    def certified_length(self) -> int | None:
        """The n that softmax is certified for: the length of an input, or the last position of a decoder."""
        return None if self.valid_certificate is None else self.valid_certificate.length

    @property
    def name(self) -> str:
        """The name of the model."""
        return self.weights.name

    @property
    def source(self) -> Source:
        """The source that the model was compiled from."""
        return self.codec.source

    @property
    def attention(self) -> str:
        """The attention of the model: "soft" if some head applies softmax to scores that differ, else "hard"."""
        return self.weights.attention

    def notes_at(self, length: int) -> tuple[str, ...]:
        """Return the notes to print with an answer for this n."""
        if self.certified_length is None or length <= self.certified_length:
            return self.notes
        return (
            *self.notes,
            f"beyond the certified length: n is {length:,}, softmax certified to {self.certified_length:,}",
        )

    def __str__(self) -> str:
        return str(self.weights)

    def __repr__(self) -> str:
        made_for = "" if self.context is None else f" for length {self.context}"
        return f"<Model of {self.name} by {self.theorem.name}{made_for}: {self.attention} attention>"

    def _repr_html_(self) -> str:
        return self.weights._repr_html_()
