"""A construction: a theorem that can be run, from an object of a source language to signals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from softmachine.codec import Codec
from softmachine.errors import ConstructionError
from softmachine.signals import Program

Made: TypeAlias = tuple[Program, Codec]
"""Signals, and how to talk to what they become."""


@dataclass(frozen=True)
class Construction:
    """A theorem that can be run.

    Args:
        name: What the command line calls it.
        theorem: What it is, for people.
        needs: What the weights must be given: position features, knowledge of the length, and the scale of softmax.
        source: The type of the objects it applies to.
        attentions: The kinds of attention it can use, "hard" or "soft"; the first is the default.
        build: From such an object, a kind of attention and (for a family) a length to the program and its codec.
        family: If the weights depend on a length: what it bounds. Empty if one model serves every length.
        softened: The variant that is certified for soft attention, if it is not the one for hard attention.
    """

    name: str
    theorem: str
    needs: str
    source: type
    attentions: tuple[str, ...]
    build: Callable[[Any, str, int | None], Made]
    family: str = ""
    softened: str = "hard"

    def attention(self, wanted: str | None) -> str:
        """The kind of attention to use.

        Raises:
            ConstructionError: If the construction does not have the one that is wanted.
        """
        if wanted not in (None, *self.attentions):
            known = " or ".join(self.attentions)
            more = "; soft attention certified for a length is made of it, see `certify`" if wanted == "soft" else ""
            raise ConstructionError(
                f"the construction {self.name} has no {wanted} attention of its own", hint=f"it has {known}{more}"
            )
        return wanted or self.attentions[0]

    def program(self, source: object, attention: str, length: int | None) -> Made:
        """The program for an object, and how to talk to it.

        Raises:
            ConstructionError: If the weights depend on a length, and none is given.
        """
        if self.family and length is None:
            raise ConstructionError(
                f"the weights of the construction {self.name} depend on a length: {self.family}",
                hint="say which: --length N, or length=N",
            )
        return self.build(source, attention, length)
