"""Compiled baseline of trained models: exact traces on the same words, and probes for its named variables.

Both models use the same tokens. The compiled model therefore runs on the test words of the trained one, and the value
of each named coordinate, at every position, is a variable that the trained one may represent there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from softmachine.compiler.model import Model
from softmachine.engines.dense.engine import DenseEngine
from softmachine.studies.learn.data import Corpus, Example, Segment
from softmachine.studies.learn.probes import ProbeResult, fit_probe
from softmachine.studies.learn.report import align_columns
from softmachine.support.text import shorten_middle

if TYPE_CHECKING:
    from softmachine.studies.learn.model import Decoder

Array = NDArray[np.float64]
MAX_PROBE_POSITIONS = 4_000
"""Maximum number of positions that a probe is fitted on, and evaluated on."""


def check_compiled_traces(model: Model, examples: Sequence[Example]) -> list[bool]:
    """Return for each example whether the compiled model emits the whole trace, on the dense engine in float64.

    The dense engine tracks error bounds and refuses undecided comparisons, so its output equals that of exact
    arithmetic.
    """
    engine = DenseEngine(model.weights)
    return [all(_emits(engine, model, each, segment) for segment in each.segments) for each in examples]


def _emits(engine: DenseEngine, model: Model, example: Example, segment: Segment) -> bool:
    prompt, trace = segment
    length = model.codec.prompt(example.input).length
    (answers,) = engine.predict([[*prompt, *trace[:-1]]], length)
    return tuple(answers[len(prompt) - 1 :]) == trace


@dataclass(frozen=True)
class CompiledBaseline:
    """Results of the compiled model, for comparison with trained ones.

    Args:
        theorem: The theorem that it was compiled with.
        exact_shares: For each bin the share of words whose whole trace it emits.
        probes: R² of probes for its variables in a trained model; empty if not requested.
    """

    theorem: str
    exact_shares: dict[str, float]
    probes: list[ProbeResult]

    def to_json(self) -> dict[str, object]:
        """Return the results as JSON-serialisable data."""
        return {"theorem": self.theorem, "exact": self.exact_shares, "probes": [each.to_json() for each in self.probes]}

    def __str__(self) -> str:
        shares = ", ".join(f"{name} {100 * share:.4g} %" for name, share in self.exact_shares.items())
        lines = [f"compiled with {self.theorem}, on the same words: {shares} of traces exact"]
        if self.probes:
            lines += ["", "R² of linear maps from the trained model's layers to the compiled model's variables", ""]
            heads = ["variable", "embedding", *(f"layer {k}" for k in range(1, len(self.probes[0].trained)))]
            rows = [[shorten_middle(each.name), *(_format_pair(*pair) for pair in each.pairs)] for each in self.probes]
            lines += [align_columns([heads, *rows]), "in parentheses: a model with random weights"]
        return "\n".join(lines)


def _format_pair(trained: float, control: float) -> str:
    return f"{trained:.2f} ({control:.2f})"


def evaluate_baseline(model: Model, corpus: Corpus, decoder: Decoder | None = None) -> CompiledBaseline:
    """Run the compiled model on the words of all bins; if a trained model is given, probe it for the variables."""
    shares = {name: fmean(check_compiled_traces(model, bin_)) for name, bin_ in corpus.tests.items()}
    return CompiledBaseline(model.theorem.name, shares, fit_probes(model, decoder, corpus) if decoder else [])


@dataclass(frozen=True)
class PairedActivations:
    """Activations of both models at the same positions.

    Args:
        names: The names of the compiled model's variables.
        variables: Their values: positions × variables.
        layers: The trained model's residual stream after the embedding and after every layer.
    """

    names: tuple[str, ...]
    variables: Array
    layers: tuple[Array, ...]


def record_activations(
    model: Model, decoder: Decoder, corpus: Corpus, examples: Sequence[Example]
) -> PairedActivations:
    """Record the activations of both models on the same words, up to a maximum number of positions."""
    import torch

    engine = DenseEngine(model.weights)
    compiled: list[Array] = []
    layers: list[list[Array]] = [[] for _ in range(decoder.shape.layers + 1)]
    count = 0
    for example in examples:
        for prompt, trace in example.segments:
            tokens, own = [*prompt, *trace[:-1]], slice(len(prompt) - 1, None)
            length = model.codec.prompt(example.input).length
            compiled.append(np.asarray(engine.residual_stream([tokens], length).value[0, own], dtype=np.float64))
            numbers = torch.tensor([[corpus.index[token] for token in tokens]])
            with torch.no_grad():
                for found, stream in zip(layers, decoder.residual_streams(numbers), strict=True):
                    found.append(stream[0, own].double().numpy())
            count += len(trace)
        if count >= MAX_PROBE_POSITIONS:
            break
    names = tuple(str(name) for name in model.weights.coordinates)
    return PairedActivations(names, np.concatenate(compiled), tuple(np.concatenate(each) for each in layers))


def fit_probes(model: Model, decoder: Decoder, corpus: Corpus) -> list[ProbeResult]:
    """Fit linear probes for the compiled model's variables on each layer of a trained model.

    Probes are fitted on training words and evaluated on words of the first bin. The control is a model with random
    weights, since many random features also predict a variable to some extent.
    """
    from softmachine.studies.learn.model import Decoder
    from softmachine.studies.learn.training import isolated

    with isolated(0):
        random = Decoder(decoder.shape, len(corpus.vocabulary), corpus.context)
    fitted = [record_activations(model, each, corpus, corpus.train) for each in (decoder, random)]
    judged = [record_activations(model, each, corpus, corpus.tests["test0"]) for each in (decoder, random)]
    found = []
    for k, name in enumerate(fitted[0].names):
        wanted, tried = fitted[0].variables[:, k], judged[0].variables[:, k]
        if np.ptp(wanted) < 1e-12 or np.ptp(tried) < 1e-12:
            continue  # a constant needs no probe
        trained, control = (
            tuple(fit_probe(fit, wanted, judge, tried) for fit, judge in zip(one.layers, other.layers, strict=True))
            for one, other in zip(fitted, judged, strict=True)
        )
        found.append(ProbeResult(name, trained, control))
    return found
