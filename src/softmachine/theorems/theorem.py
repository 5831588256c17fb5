"""Theorem: a construction that maps sources to signals and codecs, with its statement, requirements and cost."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from inspect import cleandoc
from typing import Any

from softmachine.ir import Program
from softmachine.languages.source import Source
from softmachine.support.errors import ConstructionError, OutgrownError, Remedy
from softmachine.support.text import family
from softmachine.theorems.codec import Codec
from softmachine.theorems.cost import Cost
from softmachine.transformer.features import Feature, Relation
from softmachine.transformer.head_view import Sight
from softmachine.transformer.trace_column import Column

API = 1
"""Version of the plug-in interface of theorems."""
MOST_CONTEXT = 1 << 16
"""Longest context that is chosen automatically."""


@dataclass(frozen=True)
class Stock:
    """The third-party checkpoints that a theorem supports.

    Args:
        dtypes: The floating-point formats in which it is exact; empty if it is exact in all of them.
        positions: Whether the architecture has position embeddings; None if either is supported.
        ahead: Whether it also supports bidirectional architectures.
    """

    dtypes: tuple[str, ...] = ()
    positions: bool | None = None
    ahead: bool = True


@dataclass(frozen=True)
class Guide:
    """A step of a guided tour of the computation at one token: a question, and the heads and units that answer it.

    Args:
        title: The question, in a few words: "Where is the head?".
        text: The answer, with the lemma it is based on.
        shows: The names of the heads, units and coordinates of this step, as in the architecture diagram; a name that
            ends with "…" is a prefix.
    """

    title: str
    text: str
    shows: tuple[str, ...] = ()

    def covers(self, name: str) -> bool:
        """Whether the step shows the head, unit or coordinate of this name; a vector's name includes its components."""
        own = {name, family(name), family(name.split(":", maxsplit=1)[0])}
        return any(
            name.startswith(shown.removesuffix("…")) if shown.endswith("…") else shown in own for shown in self.shows
        )


@dataclass(frozen=True)
class Needs:
    """Requirements of a construction; prints as one line.

    Args:
        positions: The position encoding.
        scale: The factor of the scores before softmax, 1/τ for a temperature τ; empty for hard attention only.
        first: A remark printed first, on the length.
        also: A remark printed last.
    """

    positions: str
    scale: str = ""
    first: str = ""
    also: str = ""

    def __str__(self) -> str:
        scale = self.scale and f"scale {self.scale}"
        return "; ".join(filter(None, (self.first, self.positions, scale, self.also)))

    def and_also(self, more: str) -> Needs:
        """Return the requirements with another remark."""
        return replace(self, also="; ".join(filter(None, (self.also, more))))


@dataclass(frozen=True)
class Theorem:
    """A constructive theorem that compiles sources to transformers.

    Args:
        name: The name on the command line.
        statement: The statement, in one line.
        reference: The paper, and the number of the theorem in it.
        needs: The requirements: position features, dependence on the length, and the scale of softmax; as text, or in
            parts, which are columns of the table of all theorems.
        cost: Layers, heads, width and tokens: as expressions, which are printed and tested, or as text.
        source: The type of the sources it applies to, or the single source it applies to.
        attentions: The supported kinds of attention, "hard" or "soft"; the first is the default.
        codec: Maps a source and (if the weights depend on one) a length to the codec.
        signals: Maps the codec and the kind of attention to the signals: the construction of the proof.
        steps: The proof in a few sentences.
        guide: A tour of the proof at one token of a run: questions, and the heads that answer them.
        tells: Maps the codec and an observation of a head to an explanation, as a clause; None if there is none.
        encoding: Maps the source and a position feature of its model to the paper's name of that feature; None if the
            paper does not use it. Omitted if the theorem does not document this.
        columns: Maps the codec to the columns of the table of a run; None if there is no table.
        length: If the weights depend on a length, what it bounds. Empty if one model serves every length.
        bounded: The sources for which a length may be given, although one model serves every length without it.
        certified: The variant that is certified for soft attention, if it differs from the one for hard attention.
        features: The theorem's own classes of position features and relations.
        stock: The supported third-party checkpoints.
        rank: The rank among the theorems for its source; the first is the default.
        api: The version of this interface that it was written for.
    """

    name: str
    statement: str
    reference: str
    needs: str | Needs
    cost: str | Cost
    source: type[Source] | Source
    attentions: tuple[str, ...]
    codec: Callable[[Any, Any], Codec[Source]]
    signals: Callable[[Any, str], Program]
    steps: tuple[str, ...] = ()
    guide: tuple[Guide, ...] = ()
    tells: Callable[[Any, Sight], str | None] | None = None
    encoding: Callable[[Any, Feature], str | None] | None = None
    columns: Callable[[Any], Iterable[Column]] | None = None
    length: str = ""
    bounded: Callable[[Any], bool] | None = None
    certified: str = "hard"
    features: tuple[type[Feature | Relation], ...] = ()
    stock: Stock | None = None
    rank: int = 1000
    api: int = API

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
    def text(self) -> str:
        """The documentation of the theorem: the docstring of the module of its signals."""
        return cleandoc(sys.modules[self.signals.__module__].__doc__ or "")

    def attention(self, wanted: str | None) -> str:
        """Return the kind of attention to use.

        Raises:
            ConstructionError: If the theorem does not support the requested one.
        """
        if wanted not in (None, *self.attentions):
            known = " or ".join(self.attentions)
            more = "; `certify` converts it to soft attention for a given length" if wanted == "soft" else ""
            raise ConstructionError(
                f"the theorem {self.name} does not define {wanted} attention", hint=f"it defines {known}{more}"
            )
        return wanted or self.attentions[0]

    def context_for(self, source: Source, word: str | Iterable[str], max_steps: int) -> int | None:
        """Find a length in which a run on a word fits, by doubling; None if there is none up to the maximal context."""
        word = word if isinstance(word, str) else tuple(word)
        length = max(1, len(source.word(word)))
        while length <= MOST_CONTEXT:
            more = 2 * length
            try:
                if self.codec_for(source, length).fits(word, length, max_steps):
                    return length
            except OutgrownError as reason:
                more = more if reason.context is None else reason.context
            length = more
        return None

    def codec_for(self, source: Source, length: int | None) -> Codec[Source]:
        """Build the codec of a source.

        Raises:
            ConstructionError: If the weights depend on a length, and none or an invalid one is given.
        """
        if length is not None and length < 0:
            raise ConstructionError(f"invalid length {length}", hint="a length is 0 or more")
        if self.length and length is None:
            raise ConstructionError(
                f"the weights of the theorem {self.name} depend on a length: {self.length}",
                hint=Remedy("give one, for example {}", context=256),
            )
        return self.codec(source, length if self.takes_length(source) else None)

    def takes_length(self, source: Source) -> bool:
        """Whether weights for this source can depend on a length: always, or optionally for this source."""
        return bool(self.length) or (self.bounded is not None and self.bounded(source))

    def wants_length(self, source: Source, word: str | tuple[str, ...], max_steps: int) -> bool:
        """Whether a run on a word requires weights for a specific length."""
        if self.length or not self.takes_length(source):
            return bool(self.length)
        return not self.codec(source, None).fits(word, len(source.word(word)), max_steps)
