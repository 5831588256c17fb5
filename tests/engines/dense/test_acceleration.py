"""The accelerated dense engine has the outputs, the choices and the residual streams of the plain one.

Every zoo entry and every theorem, with every kind of attention, in several arithmetics. The thresholds from which
accelerators pay off are lowered, so that all of them are used on short inputs.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
import pytest
from flint import arb

import softmachine as sm
from softmachine.compiler.model import Model
from softmachine.engines.dense import acceleration
from softmachine.engines.dense.acceleration import AcceleratedPass, caches, incremental_attention
from softmachine.engines.dense.attention import AttentionRecord, LayerIndex
from softmachine.engines.dense.decoding import decode
from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.dense.forward_pass import Pass
from softmachine.engines.numerics import Arithmetic, Tensor
from softmachine.engines.numerics.fixed_point import FixedPointArithmetic
from softmachine.support.errors import SoftmachineError
from softmachine.theorems.codec import DecoderCodec, Prompt
from tests.digests.cases import Case
from tests.digests.record import recorded
from tests.test_forward_pass import STEPS, arithmetic_of, models, sample, sequences

SLACK = 1 + 2.0**-30
"""Covers the rounding of sums of error bounds."""


@pytest.fixture(autouse=True)
def accelerated_from_the_first_position(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acceleration, "MIN_DEDUPLICATED_POSITIONS", 1)
    monkeypatch.setattr(acceleration, "MAX_SCORES", 1)
    monkeypatch.setattr(acceleration, "QUERY_BLOCK", 3)
    monkeypatch.setattr(acceleration, "MIN_SHARED_BATCH", 1)
    monkeypatch.setattr(acceleration, "MIN_TOKENS_BEFORE_DRAFTS", 0)
    monkeypatch.setattr(caches, "MIN_REUSED_POSITIONS", 1)
    monkeypatch.setattr(incremental_attention, "MIN_QUERIES", 3)
    monkeypatch.setattr(incremental_attention, "MAX_SCORES", 1)


class Activations:
    """A hook that keeps all activations, position by position."""

    def __init__(self) -> None:
        self.rows: dict[tuple[Any, ...], Tensor] = {}
        self.chosen: dict[tuple[Any, ...], list[int]] = {}
        self._searched: list[tuple[int, AttentionRecord]] = []

    def embedded(self, stream: Tensor, positions: range) -> None:
        self._keep(("embedding",), stream, positions)

    def searched(self, group: int, search: AttentionRecord) -> None:
        self._searched.append((group, search))

    def attended(self, where: LayerIndex, stream: Tensor, positions: range) -> None:
        for group, search in self._searched:
            for head, retrieved in enumerate(search.retrieved):
                self._keep((where, group, head), retrieved, search.positions)
            for head, flags in enumerate(search.chosen):
                for row, position in zip(flags[0], search.positions, strict=True):
                    self.chosen[where, group, head, position] = np.flatnonzero(row).tolist()
        self._searched.clear()
        self._keep((where, "attention"), stream, positions)

    def fed_forward(self, where: LayerIndex, stream: Tensor, positions: range) -> None:
        self._keep((where, "network"), stream, positions)

    def _keep(self, stage: tuple[Any, ...], stream: Tensor, positions: range) -> None:
        for k, position in enumerate(positions):
            self.rows[*stage, position] = stream[0, k]


def activations(engine: DenseEngine, tokens: Sequence[str], length: int | None) -> Activations | str:
    """All activations of a pass, which reads the sequence in two parts if it can; or the error."""
    run = engine.start(length=length)
    run.hook = hook = Activations()
    middle = len(tokens) // 2 if engine.is_extendable else 0
    try:
        for part in filter(None, (tokens[:middle], tokens[middle:])):
            run.extend([part])
    except SoftmachineError as error:
        return type(error).__name__
    return hook


def outputs(engine: DenseEngine, model: Model, tokens: Sequence[str], length: int | None) -> list[str]:
    """The outputs of a run of a few tokens, without hook; an error is the last one."""
    found: list[str] = []
    try:
        if isinstance(model.codec, DecoderCodec):
            found += islice(decode(engine, Prompt(tuple(tokens)), model.codec.is_stop_token), STEPS)
        else:
            found += engine.predict([tokens], length)[0]
    except SoftmachineError as error:
        found.append(type(error).__name__)
    return found


def is_same(x: Tensor, y: Tensor) -> bool:
    """Whether two approximations of the same numbers are equal, or agree within their bounds."""
    if x.value.dtype == object:
        return all(
            arb(a).overlaps(arb(b)) if isinstance(a, arb) or isinstance(b, arb) else a == b
            for a, b in zip(x.value, y.value, strict=True)
        )
    errors = [np.zeros(part.shape) if part.error is None else part.error for part in (x, y)]
    return bool((np.abs(x.value - y.value) <= (errors[0] + errors[1]) * SLACK).all())


def arithmetics(model: Model) -> Iterator[str | Arithmetic]:
    yield arithmetic_of(model)
    yield "float64"
    if model.weights.first_group_normalised_unit is None:
        yield FixedPointArithmetic(8, 16, round_weights=True)


def cases() -> list[Any]:
    """The quickest case of every theorem and attention; slow, the quickest of every entry and attention."""
    record, keys = recorded(), models()
    fast, first = sample(keys), dict[tuple[str, str], str]()
    for key in sorted(keys.values(), key=lambda key: (record[key].seconds, key)):
        first.setdefault((Case.read(key).entry, Case.read(key).attention), key)
    return [*sorted(fast), *(pytest.param(key, marks=pytest.mark.slow) for key in sorted({*first.values()} - fast))]


@pytest.mark.parametrize("key", cases())
def test_both_engines_have_the_same_activations_and_outputs(key: str) -> None:
    model = Case.read(key).compiled()
    compared = 0
    for numbers in arithmetics(model):
        plain, fast = (DenseEngine(model.weights, numbers, accelerated=accelerated) for accelerated in (False, True))
        assert type(plain.start()) is Pass
        assert type(fast.start()) is AcceleratedPass
        for tokens, length in sequences(model):
            expected, found = (activations(engine, tokens, length) for engine in (plain, fast))
            if isinstance(expected, str) or isinstance(found, str):
                assert expected == found
                continue
            assert expected.rows.keys() == found.rows.keys()
            assert [place for place, row in expected.rows.items() if not is_same(row, found.rows[place])] == []
            assert expected.chosen == found.chosen
            assert outputs(plain, model, tokens, length) == outputs(fast, model, tokens, length)
            compared += len(expected.rows)
    assert compared > 0


def reuse_everything(patch: pytest.MonkeyPatch) -> None:
    """Results of the previous iteration are reused whatever has changed."""
    patch.setattr(caches, "is_equal", lambda x, y: x.shape == y.shape)
    patch.setattr(incremental_attention, "changed_positions", lambda x, _: np.zeros(x.shape[1], dtype=bool))


def reverse_positions(patch: pytest.MonkeyPatch) -> None:
    """New keys and values are cached in the wrong order."""
    append = caches.AppendableTensor.append
    patch.setattr(caches.AppendableTensor, "append", lambda tensor, new: append(tensor, new[:, ::-1]))


@pytest.mark.parametrize(("source", "mistake"), [("majority-7", reuse_everything), ("palindrome", reverse_positions)])
def test_mistakes_of_an_accelerator_are_noticed(
    source: str, mistake: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = sm.compile(source)
    (tokens, length), *_ = sequences(model)
    plain, fast = (DenseEngine(model.weights, "exact", accelerated=accelerated) for accelerated in (False, True))
    expected = activations(plain, tokens, length)
    assert isinstance(expected, Activations)
    for is_wrong in (False, True):
        if is_wrong:
            mistake(monkeypatch)
        found = activations(fast, tokens, length)
        same = isinstance(found, Activations) and all(
            is_same(row, found.rows[place]) for place, row in expected.rows.items()
        )
        assert same is not is_wrong


PLAIN = """
import sys
import softmachine as sm
from softmachine.engines.dense.decoding import decode
from softmachine.engines.dense.engine import DenseEngine

model = sm.compile("palindrome")
engine = DenseEngine(model.weights, accelerated=False)
print(*decode(engine, model.codec.prompt("abba"), model.codec.is_stop_token))
print(*(name for name in sys.modules if name.startswith("softmachine.engines.dense.")))
"""


def test_the_plain_engine_imports_no_accelerator() -> None:
    printed = subprocess.run([sys.executable, "-c", PLAIN], capture_output=True, text=True, check=True).stdout
    tokens, modules = printed.splitlines()
    assert tokens == " ".join(sm.run("palindrome", "abba", engine="dense").tokens)
    assert {name.rpartition("dense.")[2] for name in modules.split()} == {
        "attention",
        "decoding",
        "engine",
        "forward_pass",
    }
