"""What a theorem is: from an object of a source language to signals, and how to talk to what they become."""

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
from softmachine.transformer.column import Column
from softmachine.transformer.features import Feature, Relation
from softmachine.transformer.sight import Sight

API = 1
"""The version of what a theorem is; other people's theorems say which one they were written for."""
MOST_CONTEXT = 1 << 16
"""Weights are not made for a longer context unasked."""


@dataclass(frozen=True)
class Stock:
    """What kind of stock checkpoint a theorem is made for.

    Args:
        dtypes: The floating-point formats in which it is exact; any if there are none.
        positions: Whether the architecture has an embedding of positions; None if that does not matter.
        ahead: Whether it is also the one for architectures whose positions see those behind them.
    """

    dtypes: tuple[str, ...] = ()
    positions: bool | None = None
    ahead: bool = True


@dataclass(frozen=True)
class Guide:
    """A step of a guided walk through one token of a run: a question that the model answers on its way.

    Args:
        title: The question, in a few words: "Where is the head?".
        text: How it is answered, with the lemma that says so.
        shows: Names of the heads, units and coordinates that answer it, as the board has them; a name that ends with
            "…" stands for all that begin so.
    """

    title: str
    text: str
    shows: tuple[str, ...] = ()

    def covers(self, name: str) -> bool:
        """Whether it shows the head, unit or coordinate of this name; a vector's name stands for its components."""
        own = {name, family(name), family(name.split(":", maxsplit=1)[0])}
        return any(
            name.startswith(shown.removesuffix("…")) if shown.endswith("…") else shown in own for shown in self.shows
        )


@dataclass(frozen=True)
class Needs:
    """What the weights must be given; as text, in a line.

    Args:
        positions: The position encoding.
        scale: By what scores are multiplied before softmax, 1/τ for a temperature τ; empty if attention is hard only.
        first: What is said before: of the length.
        also: What is said after.
    """

    positions: str
    scale: str = ""
    first: str = ""
    also: str = ""

    def __str__(self) -> str:
        scale = self.scale and f"scale {self.scale}"
        return "; ".join(filter(None, (self.first, self.positions, scale, self.also)))

    def and_also(self, more: str) -> Needs:
        """The same, and something more."""
        return replace(self, also="; ".join(filter(None, (self.also, more))))


@dataclass(frozen=True)
class Theorem:
    """A theorem that can be run.

    Args:
        name: What the command line calls it.
        statement: What it is, in a line.
        reference: The paper, and the number that the theorem has there.
        needs: What the weights must be given: position features, knowledge of the length, and the scale of softmax; as
            a text, or in parts, which have a place in the table of all theorems.
        cost: Layers, heads, width and tokens: as expressions, which are printed and tested, or as a text.
        source: The type of the objects it applies to, or the one object that it is about.
        attentions: The kinds of attention it can use, "hard" or "soft"; the first is the default.
        codec: From such an object and (if weights depend on one) a length to how words become prompts.
        signals: From the codec and the kind of attention to the signals: the proof.
        steps: The proof in a few sentences.
        guide: The same at one token of a run: what is asked, and which heads answer it.
        tells: From the codec and what a head saw to what that means, as a clause; None where it has no words for it.
        encoding: From the source and a position feature of its model to what the paper calls that feature; None if the
            paper does without it. A theorem that has no such function says nothing of that.
        columns: From the codec to the columns of the worked table of a run; None if it has no table.
        length: If the weights depend on a length: what it bounds. Empty if one model serves every length.
        bounded: For which sources a length may be given that the weights are then made for, though for others, or
            without one, a model serves every length.
        certified: The variant that is certified for soft attention, if it is not the one for hard attention.
        features: Position features and relations of its own.
        stock: The stock checkpoints that it is made for.
        rank: Where it stands among those for its source; the first is the default.
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
        """Whether it is about such an object."""
        return isinstance(item, self.source) if isinstance(self.source, type) else item == self.source

    @property
    def is_bundled(self) -> bool:
        """Whether it comes with softmachine, whose test suite tests its promises; else it is a plug-in."""
        return (self.signals.__module__ or "").startswith("softmachine.")

    @property
    def language(self) -> str:
        """The name of the source language."""
        return self.source.language

    @property
    def text(self) -> str:
        """What its folder says of it: the docstring of the module of its signals."""
        return cleandoc(sys.modules[self.signals.__module__].__doc__ or "")

    def attention(self, wanted: str | None) -> str:
        """The kind of attention to use.

        Raises:
            ConstructionError: If the theorem does not have the one that is wanted.
        """
        if wanted not in (None, *self.attentions):
            known = " or ".join(self.attentions)
            more = "; soft attention certified for a length is made of it, see `certify`" if wanted == "soft" else ""
            raise ConstructionError(
                f"the theorem {self.name} has no {wanted} attention of its own", hint=f"it has {known}{more}"
            )
        return wanted or self.attentions[0]

    def context_for(self, source: Source, word: str | Iterable[str], max_steps: int) -> int | None:
        """A length to make weights for, so that a run on a word fits: doubled until it does; None if it never does."""
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
        """How to talk to the model of an object.

        Raises:
            ConstructionError: If the weights depend on a length, and none is given, or one that none can have.
        """
        if length is not None and length < 0:
            raise ConstructionError(f"there are no weights for a length of {length}", hint="a length is 0 or more")
        if self.length and length is None:
            raise ConstructionError(
                f"the weights of the theorem {self.name} depend on a length: {self.length}",
                hint=Remedy("say which, for example {}", context=256),
            )
        return self.codec(source, length if self.takes_length(source) else None)

    def takes_length(self, source: Source) -> bool:
        """Whether weights can be made for a length: they have to be, or this source is one for which they may."""
        return bool(self.length) or (self.bounded is not None and self.bounded(source))

    def wants_length(self, source: Source, word: str | tuple[str, ...], max_steps: int) -> bool:
        """Whether a run on a word needs weights that are made for a length."""
        if self.length or not self.takes_length(source):
            return bool(self.length)
        return not self.codec(source, None).fits(word, len(source.word(word)), max_steps)
