"""Audits: which steps are drawn, block-wise recomputation, and every score against plain fractions."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import softmachine as sm
from softmachine.engines.fast import Audit, FastEngine, FastPass, UnsupportedModel, audit
from softmachine.engines.fast.analysis.unrolled_program import UnrolledHead
from softmachine.engines.fast.audit import replay
from softmachine.engines.fast.exact_attention import (
    AtomColumn,
    ColumnName,
    ColumnSum,
    ExactQuery,
    FeatureColumn,
    HeadSearch,
    PositionBlock,
    TokenColumn,
)
from softmachine.engines.run import RunSession
from softmachine.ir.ranges import REALS
from softmachine.ir.signal import Node
from softmachine.support.errors import AmbiguousTokenError
from softmachine.transformer.attention import AttentionKind
from softmachine.transformer.features import I_SQUARED, RECIPROCAL, I
from tests.sources.transformers import CAUSAL, RandomTransformer, random_word

MODEL = sm.compile("busy-beaver-5")


@pytest.fixture
def run() -> FastPass:
    started = FastEngine(MODEL.weights, plain=True).start(MODEL.codec.prompt("").tokens)
    started.run_until(120)
    return started


def test_steps_are_drawn_from_all_positions_by_a_seed(run: FastPass) -> None:
    whole = audit(run, 10**6, seed=1)
    assert whole.steps == tuple(run.output_positions)
    assert (whole.positions, whole.seed, whole.holds) == (len(run.output_positions), 1, True)
    assert f"{len(run.output_positions)} of {len(run.output_positions)} steps (seed 1)" in str(whole)
    assert audit(run, 5, seed=2).steps == audit(run, 5, seed=2).steps != audit(run, 5, seed=3).steps


def test_steps_beyond_the_first_blocks_are_recomputed(run: FastPass, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory does not grow with the run, so no step is left out."""
    whole = audit(run, 10**6)
    monkeypatch.setitem(audit.__globals__, "BLOCK", 7)
    assert audit(run, 10**6) == whole
    run.tokens.write(110, (run.tokens[110] + 1) % len(MODEL.weights.vocabulary))
    assert 109 in {difference.position for difference in audit(run, 10**6).differences}


@pytest.mark.parametrize("tables", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_audits_in_blocks_agree_on_random_transformers(
    seed: int, tables: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fractions, ties, leftmost and rightmost choices, biases; as generated code and as bytecode."""
    monkeypatch.setitem(audit.__globals__, "BLOCK", 4)
    transformer = RandomTransformer(seed, masks=CAUSAL).transformer()
    transformer = replace(transformer, outputs=("a", "b", "c", "d")[: len(transformer.outputs)])
    try:
        started = FastEngine(transformer, plain=True, tables=tables).start(random_word(seed, 6), "d".__eq__)
        started.run_until(20)
    except (AmbiguousTokenError, UnsupportedModel):
        return
    assert audit(started, 20, seed=seed).holds
    last = started.token_count - 1
    started.tokens.write(last, (started.tokens[last] + 1) % len(transformer.vocabulary))
    wrong = {difference.position for difference in audit(started, 20, seed=seed).differences}
    assert last - 1 in wrong or last < started.prompt_length


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("theorem", ["turing-average-hard", "turing-average-hard-summary"])
def test_a_run_that_ended_is_audited_to_its_end(theorem: str) -> None:
    running = RunSession(sm.compile("busy-beaver-3", theorem=theorem), "", engine="fast")
    output = list(running)
    found = running.audit(10**6)
    assert isinstance(found, Audit)
    assert found.steps[-1] - found.steps[0] + 1 == len(found.steps) == found.positions == len(output)
    assert found.holds
    assert found.seed == 0


@pytest.mark.usefixtures("uncompiled")
def test_an_audit_stays_within_the_limit_of_steps() -> None:
    running = RunSession(MODEL, "", engine="fast", max_steps=30)
    list(running)
    found = running.audit(10**6)
    assert found.positions == len(running.tokens)


def test_a_change_of_plan_during_a_replay_restarts_it(run: FastPass) -> None:
    """Another plan means other code; the numbers recorded before must come out the same."""
    atoms = [atom for atom in run.engine.program.atoms if isinstance(atom[0], UnrolledHead)][:2]
    whole = replay(run.engine, run.tokens, 50, atoms, 16)
    before = [part.record.copy() for part in whole if part.record is not None]
    parts = []
    for number, part in enumerate(replay(run.engine, run.tokens, 50, atoms, 16)):
        assert part.record is not None
        parts.append(part.record.copy())
        if number == 1:
            run.engine.set_assumptions(frozenset({"last write"}), frozenset())
    for old, new in zip(before, parts, strict=True):
        assert [Fraction(*map(int, pair)) for pair in old.reshape(-1, 2)] == [
            Fraction(*map(int, pair)) for pair in new.reshape(-1, 2)
        ]


RECORDED = Node("recorded", (REALS,)), 0


class Case:
    """Random columns for keys and values, and a query."""

    def __init__(self, seed: int, size: int = 60) -> None:
        chance = random.Random(seed)
        large = chance.choice([3, 10**6, 2**40, 2**61])
        self.tokens = np.array([chance.randrange(4) for _ in range(size)], dtype=np.uint8)
        over = chance.choice([[1], [6], [1, 2, 3], [2**50 + 1, 2**50 + 3]])
        pairs = [(chance.randint(-large, large), chance.choice(over)) for _ in range(size)]
        self.record = np.array(pairs, dtype=np.int64)
        repeated = [Fraction(chance.randint(-large, large), chance.choice([1, 5])) for _ in range(4)]
        self.token, self.atom = TokenColumn(repeated), AtomColumn(RECORDED)
        names: list[ColumnName] = [
            self.token,
            self.atom,
            FeatureColumn(I),
            FeatureColumn(I_SQUARED),
            FeatureColumn(RECIPROCAL),
        ]
        some = chance.sample(names, chance.randint(0, 3))
        weights = {name: Fraction(chance.randint(-large, large), chance.choice([1, 7])) for name in some}
        self.score = ColumnSum({name: weight for name, weight in weights.items() if weight}, Fraction(1, 3))
        self.values = [ColumnSum({name: Fraction(2, 3)}, Fraction(1)) for name in names]
        self.choice = chance.choice([AttentionKind.AVERAGE, AttentionKind.LEFTMOST, AttentionKind.RIGHTMOST])
        self.position = chance.randint(1, size)

    def blocks(self, size: int) -> list[PositionBlock]:
        starts = range(0, len(self.tokens), size)
        return [PositionBlock(k, self.tokens[k : k + size], self.record[k : k + size], {RECORDED: 0}) for k in starts]

    def number(self, part: ColumnSum, j: int) -> Fraction:
        """A sum at a position, by definition."""
        known: dict[ColumnName, Fraction] = {
            self.token: self.token.values[self.tokens[j]],
            self.atom: Fraction(*map(int, self.record[j])),
            FeatureColumn(I): Fraction(j),
            FeatureColumn(I_SQUARED): Fraction(j * j),
            FeatureColumn(RECIPROCAL): Fraction(1, j + 1),
        }
        return sum((weight * known[name] for name, weight in part.weights.items()), part.constant)

    def expected(self) -> tuple[Fraction, int, list[Fraction]]:
        scores = [self.number(self.score, j) for j in range(self.position)]
        best = [j for j, score in enumerate(scores) if score == max(scores)]
        cut = {AttentionKind.LEFTMOST: slice(0, 1), AttentionKind.RIGHTMOST: slice(-1, None)}.get(
            self.choice, slice(None)
        )
        chosen = best[cut]
        return max(scores), len(chosen), [sum((self.number(v, j) for j in chosen), Fraction(0)) for v in self.values]


@pytest.mark.parametrize("seed", range(300))
def test_every_score_agrees_with_fractions(seed: int) -> None:
    """Products beyond 2^53 and 2^62, keys of many denominators, ties within blocks and between them."""
    case = Case(seed)
    for size in (1, 13, 64):
        others = [ExactQuery(p, case.score, case.values, case.choice) for p in (1, 30, 60)]
        question = ExactQuery(case.position, case.score, case.values, case.choice)
        search = HeadSearch([*others, question])
        for block in case.blocks(size):
            search.process(block)
        assert (question.best, question.count, question.totals) == case.expected()
