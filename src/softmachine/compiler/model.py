"""A model: exact weights, and how to talk to them. It is what ``compile`` returns and every public function takes."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from softmachine.languages.source import Source
from softmachine.theorems.codec import Codec
from softmachine.theorems.theorem import Theorem
from softmachine.transformer.weights import Transformer

if TYPE_CHECKING:
    from softmachine.certify import Certificate


@dataclass(frozen=True, repr=False)
class Model:
    """What a theorem makes of a source.

    Args:
        weights: The transformer.
        codec: How words become prompts and runs are read.
        theorem: What made it.
        length: The length that the weights were made for, if they depend on one; of a decoder, the number of
            positions, for the prompt and what follows it.
        certificate: The certificate that softmax does what hard attention does, if it was softened with one.
        notes: What every answer from this model has to say.
    """

    weights: Transformer
    codec: Codec[Source]
    theorem: Theorem
    length: int | None = None
    certificate: Certificate | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()

    @cached_property
    def proof(self) -> Certificate | None:
        """The certificate, if it is about these weights: None if they were changed since."""
        if self.certificate is None:
            return None
        from softmachine.transformer.digest import digest

        return self.certificate if self.certificate.soft == digest(self.weights) else None

    @property
    def certified(self) -> int | None:
        """The n that softmax is certified for: the length of an input, or the last position that a decoder reads."""
        return None if self.proof is None else self.proof.length

    @property
    def name(self) -> str:
        """What it is called."""
        return self.weights.name

    @property
    def source(self) -> Source:
        """The object of the source language that it computes."""
        return self.codec.source

    @property
    def attention(self) -> str:
        """Soft if some head uses softmax of scores that differ, else hard."""
        return self.weights.attention

    def notes_at(self, length: int) -> tuple[str, ...]:
        """What an answer has to say for which n had this value."""
        if self.certified is None or length <= self.certified:
            return self.notes
        return (*self.notes, f"beyond the certified length: n is {length:,}, softmax certified to {self.certified:,}")

    def __str__(self) -> str:
        return str(self.weights)

    def __repr__(self) -> str:
        made_for = "" if self.length is None else f" for length {self.length}"
        return f"<Model of {self.name} by {self.theorem.name}{made_for}: {self.attention} attention>"

    def _repr_html_(self) -> str:
        return self.weights._repr_html_()
