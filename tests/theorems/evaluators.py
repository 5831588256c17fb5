"""Inputs and common tests of the circuit evaluators."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count, islice, product

from softmachine import api
from softmachine.engines.dense.engine import DenseEngine
from softmachine.languages.circuit import Circuit, evaluate
from softmachine.support.errors import ContextTooShortError
from softmachine.theorems.circuits.evaluator import EvaluatorCodec


def fitting(
    codec: type[EvaluatorCodec], circuit: Callable[[int], Circuit], length: int, number: int, depth: int
) -> list[Circuit]:
    """Random circuits, each of a seed, of one depth, whose description fits into a length."""

    def fits(source: Circuit) -> bool:
        try:
            return codec(source, length).computed_circuit.depth == depth
        except ContextTooShortError:
            return False

    return list(islice(filter(fits, map(circuit, count(1))), number))


def wrong(
    theorem: str, codec_of: type[EvaluatorCodec], sources: list[Circuit], length: int, attention: str, arithmetic: str
) -> list[str]:
    """The circuits that one model gets wrong, on some input."""
    model = api.compile(sources[0], theorem, attention=attention, length=length)
    engine = DenseEngine(model.weights, arithmetic)
    bad = []
    for source in sources:
        codec = codec_of(source, length)
        words = list(product("01", repeat=source.width))
        said = engine.predict([codec.prompt(word).tokens for word in words], length)
        outputs = [codec.parse_run(word, row).output for word, row in zip(words, said, strict=True)]
        if outputs != [evaluate(source, word) for word in words]:
            bad.append(source.name)
    return bad
