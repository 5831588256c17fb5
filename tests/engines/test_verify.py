"""Verified runs: every token is compared, on every engine, and an error is found at any position."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import softmachine as sm
from softmachine.compiler.model import Model
from softmachine.engines.run import RunSession
from softmachine.languages.turing import TuringMachine
from softmachine.support.compare import Difference
from softmachine.support.errors import DivergedError
from softmachine.theorems.codec import DecoderCodec
from tests.cases import CASES, Case
from tests.models import model_of

MANY = 40_000
"""Steps: more than the interpreter makes one by one."""
FEW = (
    "turing-configuration-graph",
    "turing-counter-relative-bias",
    "turing-counter",
    "circuit-evaluator",
    "uniform-circuits",
    "uniform-circuits-threshold",
    "circuit-evaluator-threshold",
    "odd-walks",
    "nl-configuration-graph",
)
"""Theorems whose models take long to make."""


def verified(model: Model, word: str, **options: object) -> sm.Run:
    return sm.run(model, word, verify=True, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("case", [case for case in CASES if case.theorem not in FEW], ids=str)
def test_runs_of_every_theorem_are_the_interpreters(case: Case) -> None:
    model = case.model
    for word, _ in case.examples[:2]:
        run = verified(model, word)
        wanted = [token for token in model.codec.expected(word, 10_000) if token is not None]
        assert (run.verified_count, run.differs, run.difference) == (len(wanted), False, None)
        assert f"verified: all {len(wanted)} token" in run.notes[-1]
        assert run.outcome == sm.run(model, word).outcome


@pytest.mark.parametrize("theorem", ["turing-average-hard", "turing-average-hard-summary"])
@pytest.mark.parametrize("engine", ["fast", "auto"])
def test_long_runs_are_compared_in_pieces(theorem: str, engine: str) -> None:
    run = verified(model_of("binary-counter", theorem), "", engine=engine, max_steps=MANY)
    assert (run.engine, run.verified_count, run.differs) == ("fast", len(run.tokens), False)


def impostor(theorem: str) -> Model:
    """A model with the weights of another machine, which differs at the first long carry."""
    right = sm.compile("binary-counter", theorem)
    machine = right.source
    assert isinstance(machine, TuringMachine)
    rule = next(rule for rule in machine.rules if rule.write != rule.read)
    wrong = replace(rule, write=("_",) if rule.write != ("_",) else ("0",))
    rules = tuple(wrong if each is rule else each for each in machine.rules)
    return replace(sm.compile(replace(machine, rules=rules), theorem), codec=right.codec)


def test_a_wrong_token_is_found_and_without_verify_the_run_is_an_error() -> None:
    model = impostor("turing-average-hard")
    run = verified(model, "0", max_steps=50)
    assert run.differs
    assert run.difference is not None
    assert run.verified_count == run.difference.position
    said, right = run.tokens, [*model.codec.expected("0", 50)]
    at = run.difference.position
    assert said[:at] == tuple(right[:at])
    assert run.difference == Difference(at, said[at], right[at])
    assert any("differs from the interpreter" in note for note in run.notes)
    with pytest.raises(
        DivergedError, match=rf"the output of the model is not a run of 'binary-counter': token {at} is"
    ):
        sm.run(model, "0", max_steps=50)


class Liar:
    """An engine run with one wrong token."""

    def __init__(self, running: RunSession, at: int, lie: str) -> None:
        self._of, self._at, self._lie = running._now, at, lie

    def __getattr__(self, name: str) -> object:
        return getattr(self._of, name)

    def chunks(self) -> Iterator[Sequence[str]]:
        before = len(self._of.tokens)
        for piece in self._of.chunks():
            told = list(piece)
            if before <= self._at < before + len(told):
                told[self._at - before] = self._lie
            before += len(told)
            yield told


@pytest.mark.parametrize("theorem", ["turing-average-hard", "turing-average-hard-summary"])
@pytest.mark.parametrize("at", [0, 7, 4_096, 20_001, 33_333])
def test_a_lie_is_found_wherever_it_is(theorem: str, at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    running = RunSession(model_of("binary-counter", theorem), "", engine="fast", max_steps=MANY, verify=True)
    right = [*running.model.codec.expected("", MANY)][at]
    lie = next(token for token in running.model.weights.outputs if token != right)
    monkeypatch.setattr(running, "_now", Liar(running, at, lie))
    for _ in running.chunks():
        pass
    assert running.verifier is not None
    assert running.verifier.difference == Difference(at, lie, right)


def test_the_tokens_before_a_resume_are_compared_as_well(tmp_path: Path) -> None:
    model, file = model_of("binary-counter"), tmp_path / "run"
    sm.run(model, "", engine="fast", max_steps=5_000, checkpoint=file)
    run = sm.run(model, "", resume=file, max_steps=MANY, verify=True)
    assert (run.verified_count, run.differs) == (MANY + 1, False)
    wrong, file = impostor("turing-average-hard"), tmp_path / "wrong"
    sm.run(wrong, "0", engine="fast", max_steps=5_000, checkpoint=file, verify=True)
    again = sm.run(wrong, "0", resume=file, max_steps=MANY, verify=True)
    assert again.difference is not None
    assert again.difference.position < 5_000


def test_a_limit_that_hides_an_end_is_a_difference() -> None:
    """The interpreter stops within the limit, the model does not."""
    model = sm.compile("palindrome")
    assert isinstance(model.codec, DecoderCodec)
    running = RunSession(model, "", max_steps=1, verify=True)
    verifier = running.verifier
    assert verifier is not None
    verifier.update([token for token in model.codec.expected("", 1) if token is not None][:-1])
    verifier.finish()
    assert verifier.difference == Difference(2, None, "ACC")


def test_fixed_point_that_is_too_small_is_told_and_what_would_do() -> None:
    run = sm.run("palindrome", "ab", arithmetic="fixed:3")
    assert (run.verdict, run.differs) == ("accept", True)
    assert run.difference == Difference(3, "(after a,b,R)", "(want a,_,L)")
    assert run.notes[-1] == "fixed:4 agrees on this input"
    enough = sm.run("palindrome", "ab", arithmetic="fixed:4")
    assert (enough.verdict, enough.differs, enough.verified_count) == ("reject", False, len(enough.tokens))
    assert not enough.notes


@pytest.mark.parametrize(("name", "compared"), [("float32:plain", True), ("float32", False), ("exact", False)])
def test_only_arithmetics_that_round_by_definition_are_always_compared(name: str, compared: bool) -> None:
    assert (sm.run("palindrome", "ab", arithmetic=name).verified_count is not None) == compared
