"""Means over keys that match in integers: the plan is the one made for them, and every token is the dense engine's."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from softmachine.compiler import compile_program
from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.fast import FastEngine, saved_run
from softmachine.engines.fast.analysis.plans import ByPosition, Groups, Matched, Plan
from softmachine.engines.fast.audit import audit
from softmachine.engines.fast.codegen.emitted import Emitted
from softmachine.transformer.attention import Mask
from softmachine.transformer.weights import Transformer
from tests.sources.selectors import SINK, Number, Selectors, random_number

LARGEST = 9
"""Larger numbers are said to be this."""
CAUSAL = Selectors(Mask.CAUSAL)


def weights_of(number: Number, selectors: Selectors = CAUSAL) -> Transformer:
    return compile_program(selectors.says(number, LARGEST))


def plans_of(engine: FastEngine) -> dict[str, type[Plan]]:
    assert isinstance(engine.code, Emitted)
    return {plan.head.name: type(plan) for plan in engine.code.plans}


def expected(number: Number, word: Sequence[str]) -> list[str]:
    return [str(min(x, LARGEST)) for x in number.of(word)]


def word_of(seed: int, length: int) -> list[str]:
    return random.Random(seed).choices("abc", k=length)


def test_a_double_histogram_is_served_by_groups_found_by_their_integers() -> None:
    number, word = CAUSAL.double_histogram(), word_of(1, 200)
    engine = FastEngine(weights_of(number), plain=True)
    assert engine.answers([SINK, *word])[1:] == expected(number, word)
    served = {"1/(1+count)": Groups, "undo count": ByPosition, "1/(1+as often)": Matched, "undo as often": ByPosition}
    assert plans_of(engine) == served
    assert engine.general == frozenset(), "what the plans assumed does hold"
    assert engine.uneven == {"1/(1+count)", "1/(1+as often)"}, "what is looked up is an integer"


@pytest.mark.parametrize("seed", range(40))
def test_random_selectors_say_what_dense_attention_says(seed: int) -> None:
    selectors, number = random_number(seed, Mask.CAUSAL, 1 + seed % 3)
    transformer, word = weights_of(number, selectors), word_of(seed, 30)
    engine = FastEngine(transformer, plain=True)
    said = engine.answers([SINK, *word])
    assert said == DenseEngine(transformer, "exact").answers([[SINK, *word]])[0]
    assert said[1:] == expected(number, word)
    assert engine.general == frozenset()
    selecting = [kind for name, kind in plans_of(engine).items() if name.startswith(("1/(1+width", "total"))]
    assert selecting
    assert set(selecting) == {Matched}
