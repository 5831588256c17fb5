"""Models that several tests use: compiled once a process."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import softmachine as sm
from softmachine.compiler import compile_program
from softmachine.compiler.model import Model
from softmachine.exports.manifest import MARK, digest
from softmachine.ir import Program
from softmachine.languages.source import Source
from softmachine.theorems import theorem_for
from softmachine.theorems.codec import Codec
from softmachine.transformer.weights import Transformer


@cache
def model_of(
    source: str | Source, theorem: str | None = None, attention: str | None = None, length: int | None = None
) -> Model:
    """What ``compile`` returns."""
    return sm.compile(source, theorem, attention=attention, length=length)


def signals_of(
    source: Source, theorem: str | None = None, attention: str | None = None, length: int | None = None
) -> tuple[Program, Codec[Source]]:
    """The signals that a theorem makes of a source, and how to talk to what they become."""
    chosen = theorem_for(source, theorem)
    codec = chosen.codec_for(source, length)
    return chosen.signals(codec, attention or chosen.attentions[0]), codec


def with_codec(program: Program, codec: Codec[Source], theorem: str, length: int | None = None) -> Model:
    """The model of signals that no theorem makes by itself: with parameters that it would choose otherwise."""
    return Model(compile_program(program), codec, theorem_for(codec.source, theorem), length)


def with_weights(weights: Transformer) -> Model:
    """A model of weights that no theorem has made; it is talked to as one of a formula."""
    return replace(model_of("Q_a"), weights=weights)


def rewrite(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change what a saved model says of itself, with digests that do not tell."""
    data = json.loads((folder / MARK).read_text(encoding="utf-8"))
    digests = data.pop("digests")
    change(data)
    digests[MARK] = digest(data)
    (folder / MARK).write_text(json.dumps({**data, "digests": digests}), encoding="utf-8")
