"""Constructions: one module a theorem, from an object of a source language to signals; and the list of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from softmachine.codec import Codec
from softmachine.errors import ConstructionError, SourceError
from softmachine.languages.temporal import Specification
from softmachine.languages.turing import TuringMachine
from softmachine.theorems.chapter_8_summary.tokens import SummaryCodec
from softmachine.theorems.circuit.tokens import CircuitCodec
from softmachine.theorems.circuit_evaluator.tokens import EvaluatorCodec
from softmachine.theorems.configuration_graph.tokens import ConfigurationCodec
from softmachine.theorems.connectivity.tokens import GraphCodec
from softmachine.theorems.counter.tokens import CounterCodec
from softmachine.theorems.crasp import tokens as crasp_words
from softmachine.theorems.shared.stream_tokens import StreamCodec
from softmachine.theorems.shared.turing_tokens import TuringCodec
from softmachine.theorems.srasp.tokens import SraspCodec
from softmachine.theorems.temporal.tokens import TemporalCodec
from softmachine.theorems.ternary.tokens import TernaryCodec
from softmachine.theorems.theorem import Construction
from softmachine.theorems.theorems_circuits import CIRCUITS
from softmachine.theorems.theorems_counting import COUNTING
from softmachine.theorems.theorems_logic import LOGIC
from softmachine.theorems.theorems_turing import TURING
from softmachine.theorems.turing.theorem import CountingCodec

__all__ = ["CONSTRUCTIONS", "Construction", "codec_from_json", "construction_for", "stock_construction"]

CONSTRUCTIONS: tuple[Construction, ...] = (*TURING, *LOGIC, *COUNTING, *CIRCUITS)
"""All constructions; of those that apply to an object, the first is the one that is used if none is named."""

_CODECS: dict[str, Callable[[dict[str, Any]], Codec]] = {
    "turing": TuringCodec.from_json,
    "summary": SummaryCodec.from_json,
    "ternary": TernaryCodec.from_json,
    "stream": StreamCodec.from_json,
    "counting": CountingCodec.from_json,
    "temporal": TemporalCodec.from_json,
    "srasp": SraspCodec.from_json,
    "crasp": crasp_words.codec_from_json,
    "counter": CounterCodec.from_json,
    "circuit": CircuitCodec.from_json,
    "evaluator": EvaluatorCodec.from_json,
    "graph": GraphCodec.from_json,
    "configurations": ConfigurationCodec.from_json,
}


def construction_for(source: object, name: str | None = None) -> Construction:
    """The construction of this name, or the default one, for an object of a source language.

    Raises:
        ConstructionError: If there is none, or it does not apply.
    """
    fitting = [item for item in CONSTRUCTIONS if isinstance(source, item.source)]
    for item in fitting:
        if name in (None, item.name):
            return item
    known = ", ".join(item.name for item in fitting) or "none yet"
    if name is None:
        raise ConstructionError(f"there is no construction for {type(source).__name__}")
    raise ConstructionError(
        f"there is no construction {name!r} for {type(source).__name__}", hint=f"those that apply: {known}"
    )


def stock_construction(source: object, dtype: str, *, positions: bool) -> str | None:
    """The name of the construction for a stock checkpoint in a floating-point format; None for the default one.

    Args:
        source: What is compiled.
        dtype: The format, e.g. "float32".
        positions: Whether the architecture has an embedding of positions.
    """
    if isinstance(source, TuringMachine):
        if not positions:
            return "residues-without-positions"
        return "address-bits" if dtype in ("float32", "float64") else "residues"
    return "temporal-masked" if isinstance(source, Specification) else None


def codec_from_json(data: dict[str, Any]) -> Codec:
    """The codec of a saved model: what its data call a codec, or the one for its source language."""
    name = data.get("codec", data.get("kind"))
    if name not in _CODECS:
        raise SourceError(f"a codec of kind {name!r} is not known to this version")
    return _CODECS[name](data)
