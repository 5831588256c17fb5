"""Models for tests, compiled once per process, and models with other signals, weights or manifests."""

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
from softmachine.exports.manifest import MANIFEST_FILE, compute_digest
from softmachine.ir import Program
from softmachine.languages.source import Source
from softmachine.theorems import find_theorem
from softmachine.theorems.codec import Codec
from softmachine.transformer.weights import Transformer


@cache
def model_of(
    source: str | Source, theorem: str | None = None, attention: str | None = None, length: int | None = None
) -> Model:
    """The model that ``compile`` returns; the same arguments return the same object."""
    return sm.compile(source, theorem, attention=attention, length=length)


def signals_of(
    source: Source, theorem: str | None = None, attention: str | None = None, length: int | None = None
) -> tuple[Program, Codec[Source]]:
    """The signals to which a theorem compiles a source, and the codec."""
    chosen = find_theorem(source, theorem)
    codec = chosen.build_codec(source, length)
    return chosen.signals(codec, attention or chosen.attentions[0]), codec


def with_codec(program: Program, codec: Codec[Source], theorem: str, length: int | None = None) -> Model:
    """The model of signals with parameters that the theorem would not choose itself."""
    return Model(compile_program(program), codec, find_theorem(codec.source, theorem), length)


def with_weights(weights: Transformer) -> Model:
    """A model with the given weights and the codec of a formula."""
    return replace(model_of("Q_a"), weights=weights)


def rewrite(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the manifest of a saved model and recompute its digests, so that the change is not detected by them."""
    data = json.loads((folder / MANIFEST_FILE).read_text(encoding="utf-8"))
    digests = data.pop("digests")
    change(data)
    digests[MANIFEST_FILE] = compute_digest(data)
    (folder / MANIFEST_FILE).write_text(json.dumps({**data, "digests": digests}), encoding="utf-8")
