"""Theorem: a construction that maps sources to signals and codecs, with its statement, requirements and cost."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from inspect import cleandoc
from typing import Any

from softmachine.ir import Program
from softmachine.languages.source import Source
from softmachine.support.errors import ConstructionError, ContextTooShortError, FixHint
from softmachine.support.text import vector_name
from softmachine.theorems.codec import Codec
from softmachine.theorems.cost import Cost
from softmachine.transformer.features import Feature, Relation
from softmachine.transformer.trace_column import TraceColumn

API_VERSION = 1
"""Version of the plug-in interface of theorems."""
MAX_AUTOMATIC_CONTEXT = 1 << 16
"""Longest context that is chosen automatically."""


@dataclass(frozen=True)
class CheckpointSupport:
    """The third-party checkpoints that a theorem supports.

    Args:
        dtypes: The floating-point formats in which it is exact; empty if it is exact in all of them.
        has_position_embeddings: Whether the architecture has position embeddings; None if either is supported.
        bidirectional: Whether it also supports bidirectional architectures.
    """

    dtypes: tuple[str, ...] = ()
    has_position_embeddings: bool | None = None
    bidirectional: bool = True


@dataclass(frozen=True)
class TourStep:
    """A step of a guided tour of the computation at one token: a question, and the heads and units that answer it.

    Args:
        title: The question, in a few words: "Where is the head?".
        text: The answer, with the lemma it is based on.
        highlights: The names of the heads, units and coordinates of this step, as in the architecture diagram; a name
            that ends with "…" is a prefix.
    """

    title: str
    text: str
    highlights: tuple[str, ...] = ()

    def covers(self, name: str) -> bool:
        """Whether the step shows the head, unit or coordinate of this name; a vector's name includes its components."""
        own = {name, vector_name(name), vector_name(name.split(":", maxsplit=1)[0])}
        return any(
            name.startswith(shown.removesuffix("…")) if shown.endswith("…") else shown in own
            for shown in self.highlights
        )


@dataclass(frozen=True)
class Requirements:
    """Requirements of a construction; prints as one line.

    Args:
        positions: The position encoding.
        scale: The factor of the scores before softmax, 1/τ for a temperature τ; empty for hard attention only.
        length_note: A remark printed first, on the length.
        remark: A remark printed last.
    """

    positions: str
    scale: str = ""
    length_note: str = ""
    remark: str = ""

    def __str__(self) -> str:
        scale = self.scale and f"scale {self.scale}"
        return "; ".join(filter(None, (self.length_note, self.positions, scale, self.remark)))

    def with_remark(self, more: str) -> Requirements:
        """Return the requirements with another remark."""
        return replace(self, remark="; ".join(filter(None, (self.remark, more))))


@dataclass(frozen=True)
class Theorem:
    """A constructive theorem that compiles sources to transformers.

    Args:
        name: The name on the command line.
        statement: The statement, in one line.
        reference: The paper, and the number of the theorem in it.
        requirements: The requirements: position features, dependence on the length, and the scale of softmax; as text,
            or in parts, which are columns of the table of all theorems.
        cost: Layers, heads, width and tokens: as expressions, which are printed and tested, or as text.
        source: The type of the sources it applies to, or the single source it applies to.
        attentions: The supported kinds of attention, "hard" or "soft"; the first is the default.
        codec: Maps a source and (if the weights depend on one) a length to the codec.
        signals: Maps the codec and the kind of attention to the signals: the construction of the proof.
        steps: The proof in a few sentences.
        tour: A tour of the proof at one token of a run: questions, and the heads that answer them.
        paper_feature_name: Maps the source and a position feature of its model to the paper's name of that feature;
            None if the paper does not use it. Omitted if the theorem does not document this.
        columns: Maps the codec to the columns of the table of a run; None if there is no table.
        length: If the weights depend on a length, what it bounds. Empty if one model serves every length.
        accepts_length: The sources for which a length may be given, although one model serves every length without it.
        certified_variant: The variant that is certified for soft attention, if it differs from the one for hard
            attention.
        features: The theorem's own classes of position features and relations.
        checkpoints: The supported third-party checkpoints.
        rank: The rank among the theorems for its source; the first is the default.
        api: The version of this interface that it was written for.
    """

    name: str
    statement: str
    reference: str
    requirements: str | Requirements
    cost: str | Cost
    source: type[Source] | Source
    attentions: tuple[str, ...]
    codec: Callable[[Any, Any], Codec[Source]]
    signals: Callable[[Any, str], Program]
    steps: tuple[str, ...] = ()
    tour: tuple[TourStep, ...] = ()
    paper_feature_name: Callable[[Any, Feature], str | None] | None = None
    columns: Callable[[Any], Iterable[TraceColumn]] | None = None
    length: str = ""
    accepts_length: Callable[[Any], bool] | None = None
    certified_variant: str = "hard"
    features: tuple[type[Feature | Relation], ...] = ()
    checkpoints: CheckpointSupport | None = None
    rank: int = 1000
    api: int = API_VERSION

    def applies_to(self, item: object) -> bool:
        """Whether the theorem applies to an object."""
        return isinstance(item, self.source) if isinstance(self.source, type) else item == self.source

    @property
    def is_bundled(self) -> bool:
        """Whether the theorem is part of softmachine, whose test suite tests its claims; else it is a plug-in."""
        return (self.signals.__module__ or "").startswith("softmachine.")

    @property
    def language(self) -> str:
        """The name of the source language."""
        return self.source.language

    @property
    def documentation(self) -> str:
        """The documentation of the theorem: the docstring of the module of its signals."""
        return cleandoc(sys.modules[self.signals.__module__].__doc__ or "")

    def choose_attention(self, requested: str | None) -> str:
        """Return the kind of attention to use.

        Raises:
            ConstructionError: If the theorem does not support the requested one.
        """
        if requested not in (None, *self.attentions):
            known = " or ".join(self.attentions)
            more = "; `certify` converts it to soft attention for a given length" if requested == "soft" else ""
            raise ConstructionError(
                f"the theorem {self.name} does not define {requested} attention", hint=f"it defines {known}{more}"
            )
        return requested or self.attentions[0]

    def find_context(self, source: Source, word: str | Iterable[str], max_steps: int) -> int | None:
        """Find a length in which a run on a word fits, by doubling; None if there is none up to the maximal context."""
        word = word if isinstance(word, str) else tuple(word)
        length = max(1, len(source.word(word)))
        while length <= MAX_AUTOMATIC_CONTEXT:
            more = 2 * length
            try:
                if self.build_codec(source, length).fits_in(word, length, max_steps):
                    return length
            except ContextTooShortError as reason:
                more = more if reason.context is None else reason.context
            length = more
        return None

    def build_codec(self, source: Source, context: int | None) -> Codec[Source]:
        """Build the codec of a source.

        Raises:
            ConstructionError: If the weights depend on a length, and none or an invalid one is given.
        """
        if context is not None and context < 0:
            raise ConstructionError(f"invalid length {context}", hint="a length is 0 or more")
        if self.length and context is None:
            raise ConstructionError(
                f"the weights of the theorem {self.name} depend on a length: {self.length}",
                hint=FixHint("give one, for example {}", context=256),
            )
        return self.codec(source, context if self.takes_context(source) else None)

    def takes_context(self, source: Source) -> bool:
        """Whether weights for this source can depend on a length: always, or optionally for this source."""
        return bool(self.length) or (self.accepts_length is not None and self.accepts_length(source))

    def needs_context(self, source: Source, word: str | tuple[str, ...], max_steps: int) -> bool:
        """Whether a run on a word requires weights for a specific length."""
        if self.length or not self.takes_context(source):
            return bool(self.length)
        return not self.codec(source, None).fits_in(word, len(source.word(word)), max_steps)
