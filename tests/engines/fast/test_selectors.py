"""Means over keys that match in integers: the matching index is planned, and every token is the dense engine's."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path

import pytest

from softmachine.compiler import compile_program
from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.fast import FastEngine, checkpoint, code_cache
from softmachine.engines.fast.analysis.plans import GroupsPlan, IndexPlan, MatchingPlan, PositionPlan
from softmachine.engines.fast.audit import audit
from softmachine.engines.fast.codegen.emitter import GeneratedCode
from softmachine.ir import Program, attend, constant, stack
from softmachine.transformer.attention import Mask
from softmachine.transformer.weights import Transformer
from tests.sources.selectors import SINK, Number, Selectors, random_number

LARGEST = 9
"""Larger numbers are reported as this."""
CAUSAL = Selectors(Mask.CAUSAL)


def weights_of(number: Number, selectors: Selectors = CAUSAL) -> Transformer:
    return compile_program(selectors.output_program(number, LARGEST))


def plans_of(engine: FastEngine) -> dict[str, type[IndexPlan]]:
    assert isinstance(engine.code, GeneratedCode)
    return {plan.head.name: type(plan) for plan in engine.code.plans}


def expected(number: Number, word: Sequence[str]) -> list[str]:
    return [str(min(x, LARGEST)) for x in number.of(word)]


def word_of(seed: int, length: int) -> list[str]:
    return random.Random(seed).choices("abc", k=length)


def test_a_double_histogram_is_served_by_groups_found_by_their_integers() -> None:
    number, word = CAUSAL.double_histogram(), word_of(1, 200)
    engine = FastEngine(weights_of(number), plain=True)
    assert engine.argmax_outputs([SINK, *word])[1:] == expected(number, word)
    served = {
        "1/(1+count)": GroupsPlan,
        "undo count": PositionPlan,
        "1/(1+as often)": MatchingPlan,
        "undo as often": PositionPlan,
    }
    assert plans_of(engine) == served
    assert engine.general_heads == frozenset(), "what the plans assumed does hold"
    assert engine.fractional_heads == {"1/(1+count)", "1/(1+as often)"}, "what is looked up is an integer"


@pytest.mark.parametrize("seed", range(40))
def test_random_selectors_agree_with_dense_attention(seed: int) -> None:
    agree_by_the_right_plan(seed, 30)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_many_random_selectors_agree_with_dense_attention(block: int) -> None:
    for seed in range(100 + 20 * block, 120 + 20 * block):
        agree_by_the_right_plan(seed, 40 + seed % 50)


def agree_by_the_right_plan(seed: int, length: int) -> None:
    selectors, number = random_number(seed, Mask.CAUSAL, 1 + seed % 3)
    transformer, word = weights_of(number, selectors), word_of(seed, length)
    engine = FastEngine(transformer, plain=True)
    output = engine.argmax_outputs([SINK, *word])
    assert output == DenseEngine(transformer, "exact").predict([[SINK, *word]])[0]
    assert output[1:] == expected(number, word)
    assert engine.general_heads == frozenset(), seed
    selecting = [kind for name, kind in plans_of(engine).items() if name.startswith(("1/(1+width", "total"))]
    assert selecting
    assert set(selecting) == {MatchingPlan}, seed


@pytest.mark.parametrize("program", ["pairs", "rank"])
def test_other_programs_agree_with_dense_attention(program: str) -> None:
    number, word = getattr(CAUSAL, program)(), word_of(3, 60)
    transformer = weights_of(number)
    output = FastEngine(transformer, plain=True).argmax_outputs([SINK, *word])
    assert output == DenseEngine(transformer, "exact").predict([[SINK, *word]])[0]
    assert output[1:] == expected(number, word)


def counted_so_far(word: Sequence[str]) -> list[int]:
    """Evaluating the double histogram of 10⁵ letters by definition takes hours."""
    letters: Counter[str] = Counter()
    numbers: Counter[int] = Counter()
    found = []
    for letter in word:
        letters[letter] += 1
        numbers[letters[letter]] += 1
        found.append(numbers[letters[letter]])
    return found


def test_100000_letters_as_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("softmachine.engines.fast.engine.REHEARSAL_POSITIONS", 64)  # compiled once, not twice
    word = word_of(5, 100_000)
    engine = FastEngine(weights_of(CAUSAL.double_histogram()))
    assert engine.argmax_outputs([SINK, *word])[1:] == [str(min(x, LARGEST)) for x in counted_so_far(word)]
    assert MatchingPlan in plans_of(engine).values()


def test_a_decoder_of_selectors_agrees_with_dense_attention(tmp_path: Path) -> None:
    """Token by token, also after a checkpoint; and recomputing random steps with every score agrees."""
    transformer = compile_program(CAUSAL.decoder(CAUSAL.double_histogram()))
    runs = [FastEngine(transformer, plain=True).start([SINK, "a", "c"]) for _ in range(3)]
    runs[0].run_until(400)
    runs[1].run_until(300)
    checkpoint.save(runs[1], tmp_path / "run")
    checkpoint.load(runs[2], tmp_path / "run")
    assert (runs[2].engine.general_heads, runs[2].engine.fractional_heads) == (
        frozenset(),
        runs[0].engine.fractional_heads,
    )
    runs[2].run_until(400)
    output = list(runs[0].output(1000))
    assert list(runs[2].output(1000)) == output
    tokens = [SINK, "a", "c", *output]
    assert DenseEngine(transformer, "float64").predict([tokens[:-1]])[0][2:] == output
    assert set(output) == {"a", "b", "c"}
    assert audit(runs[0], 10).holds


def test_strict_masks_are_supported() -> None:
    """With a strict mask, and values that are fractions."""
    count = CAUSAL.histogram().signal
    share = attend("share", value=CAUSAL.letter.signal["a"])
    sink = CAUSAL.sink
    query, key = stack(2 * count.value, constant(-1), count.square), stack(count.value, count.square, sink)
    found = attend("mean share", query=query, key=key, value=share, mask=Mask.PAST, gap=1)
    logits = stack(*(2 * Fraction(v, 7) * found - Fraction(v * v, 49) - Fraction(v, 1009) for v in range(8)))
    transformer = compile_program(Program("past", (SINK, *"abc"), tuple(map(str, range(8))), logits))
    word = word_of(8, 80)
    engine = FastEngine(transformer, plain=True)
    assert engine.argmax_outputs([SINK, *word]) == DenseEngine(transformer, "exact").predict([[SINK, *word]])[0]
    assert plans_of(engine)["mean share"] is MatchingPlan
    assert engine.general_heads == frozenset()


def test_a_component_that_is_not_a_square_changes_the_plan() -> None:
    """The plan assumes that a component of the key is a square; where it is not, a more general plan is used."""
    count = CAUSAL.histogram().signal
    query = stack(2 * count.value, constant(-1), count.square)
    key = stack(count.value, count.square + 3 * CAUSAL.letter.signal["b"], CAUSAL.sink)
    u = attend("odd", query=query, key=key, value=CAUSAL.sink)
    number = Number(CAUSAL.recover_count("few", 1 - u, u), lambda word: [])
    transformer, word = weights_of(number), word_of(9, 60)
    engine = FastEngine(transformer, plain=True)
    assert plans_of(engine)["odd"] is MatchingPlan
    assert engine.argmax_outputs([SINK, *word]) == DenseEngine(transformer, "exact").predict([[SINK, *word]])[0]
    assert plans_of(engine)["odd"] is GroupsPlan
    assert engine.general_heads == {"odd"}


def test_unused_sums_of_all_positions_may_overflow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lookup of a count keeps the sum of all positions, in case all keys tie, which never happens."""
    monkeypatch.setattr("softmachine.engines.fast.indexes.kernels.LIMIT", 1.0e6)
    selectors = Selectors(Mask.CAUSAL, tuple("abcdefghijklmnop"))
    number, word = selectors.histogram(), random.Random(12).choices(selectors.alphabet, k=1600)
    assert sum(range(1600)) > 1.0e6
    engine = FastEngine(weights_of(number, selectors), plain=True)
    assert engine.argmax_outputs([SINK, *word])[1:] == expected(number, word)


def test_assumptions_of_a_plan_are_tried_before_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    """Means that are not integers show at once; so one version of the code is compiled, or none for a short word."""
    compiled: list[str] = []

    def instead(text: str) -> Callable[..., None]:
        compiled.append(text)
        return code_cache.define_plain(text)

    monkeypatch.setattr("softmachine.engines.fast.engine.REHEARSAL_POSITIONS", 20)
    monkeypatch.setattr("softmachine.engines.fast.engine.compile_code", instead)
    number = CAUSAL.double_histogram()
    transformer = weights_of(number)
    for length, versions in ((19, 0), (70, 1)):
        word, engine = word_of(11, length), FastEngine(transformer)
        assert engine.argmax_outputs([SINK, *word])[1:] == expected(number, word)
        assert len(compiled) == versions
