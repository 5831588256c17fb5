"""Runs that continue from summaries, on the fast engine: the same tokens, the same contexts, little memory."""

from __future__ import annotations

from itertools import zip_longest
from pathlib import Path

import pytest

import softmachine as sm
from softmachine.compiler.model import Model
from softmachine.engines.fast import FastEngine, FastPass, SegmentedPass
from softmachine.engines.fast.audit import Audit
from softmachine.engines.fast.run import FastRun
from softmachine.engines.run import RunSession
from softmachine.support.errors import PrecisionError, SourceError, UsageError
from softmachine.support.token_array import CompressedSequence
from softmachine.theorems.codec import SegmentedCodec


@pytest.fixture(scope="module")
def model() -> Model:
    return sm.compile("busy-beaver-5", theorem="turing-average-hard-summary")


@pytest.fixture(scope="module")
def ternary() -> Model:
    return sm.compile("binary-counter", theorem="turing-ternary-summary", length=128)


def as_expected(model: Model, word: str, steps: int) -> bool:
    """Whether a run on the fast engine is the interpreter's, token for token, context for context."""
    codec = model.codec
    assert isinstance(codec, SegmentedCodec)
    run = sm.run(model, word, engine="fast", max_steps=steps)
    contexts = tuple(
        len(prompt.tokens) + len(output) for prompt, output in codec.expected_segments(word, steps) if output
    )
    assert all(found == right for found, right in zip_longest(run.tokens, codec.expected(word, steps)))
    return run.segments == contexts


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("steps", [0, 1, 5, 60, 61, 62, 63, 64])
def test_chapter_8_with_summaries(model: Model, steps: int) -> None:
    assert as_expected(model, "", steps)


def test_chapter_8_with_summaries_as_machine_code(model: Model) -> None:
    assert as_expected(model, "", 3000)


@pytest.mark.parametrize(("name", "word"), [("increment", "1011"), ("palindrome", "abba"), ("palindrome", "ab")])
def test_machines_with_summaries(name: str, word: str) -> None:
    model = sm.compile(name, theorem="turing-average-hard-summary")
    codec = model.codec
    assert isinstance(codec, SegmentedCodec)
    engine = FastEngine(model.weights, plain=True)
    run = SegmentedPass(engine, codec, codec.prompt(word).tokens, max_steps=1000)
    while not run.has_ended:
        run.advance(7)
    assert list(run.output_tokens) == list(codec.expected(word, 1000))


@pytest.mark.parametrize("steps", [0, 7, 40, 300])
def test_ternary_machines_with_summaries(ternary: Model, steps: int) -> None:
    assert as_expected(ternary, "", steps)


def test_fast_and_dense_runs_are_the_same(ternary: Model) -> None:
    fast, dense = (sm.run(ternary, "", engine=engine, max_steps=60) for engine in ("fast", "dense"))
    assert fast.tokens == dense.tokens
    assert (fast.segments, fast.steps, fast.output) == (dense.segments, dense.steps, dense.output)
    assert (fast.engine, dense.engine) == ("fast", "dense")


@pytest.mark.usefixtures("uncompiled")
def test_a_run_in_segments_switches_to_the_fast_engine(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("softmachine.engines.run.MAX_DENSE_TOKENS", 50)
    run = sm.run(model, "", max_steps=400)
    assert run.engine == "fast"
    assert list(run.tokens) == list(model.codec.expected("", 400))
    assert run.segments == sm.run(model, "", max_steps=400, engine="fast").segments


def test_too_short_a_length_is_named() -> None:
    model = sm.compile("busy-beaver-4", theorem="turing-ternary-summary", length=64)
    for engine in ("fast", "dense"):
        with pytest.raises(UsageError, match="64 positions"):
            sm.run(model, "", engine=engine)


def test_a_run_in_segments_resumes_from_its_checkpoint(model: Model, tmp_path: Path) -> None:
    file = tmp_path / "run"
    first = RunSession(model, "", engine="fast", max_steps=700, checkpoint=file)
    list(first)
    again = RunSession(model, "", max_steps=2000, resume=file)
    list(again)
    whole = sm.run(model, "", engine="fast", max_steps=2000)
    assert again.result().tokens == whole.tokens
    assert again.result().segments == whole.segments
    with pytest.raises(SourceError, match="another input"):
        RunSession(model, "1", resume=file)
    with pytest.raises(SourceError, match="another model"):
        RunSession(sm.compile("busy-beaver-5"), "", resume=file)
    damaged = bytearray(file.read_bytes())
    damaged[-3] ^= 1
    file.write_bytes(damaged)
    with pytest.raises(SourceError, match="damaged"):
        RunSession(model, "", resume=file)


@pytest.mark.parametrize("which", ["model", "ternary"])
def test_audits_of_segments_pass_and_find_a_wrong_token(which: str, request: pytest.FixtureRequest) -> None:
    if which == "model":  # the replay of an audit uses other code
        request.getfixturevalue("uncompiled")
    running = RunSession(request.getfixturevalue(which), "", engine="fast", max_steps=60 if which == "model" else 25)
    output = list(running)
    assert running.audit(12, seed=1).holds
    assert isinstance(running._now, FastRun)
    run = running._now.run
    assert isinstance(run, SegmentedPass)
    codes = run.output_tokens[:].codes.copy()
    steps = [k for k, token in enumerate(output) if run.codec.is_step(token)]
    codes[steps[5]] = next(codes[k] for k in steps if codes[k] != codes[steps[5]])
    run.output_tokens = CompressedSequence(run.output_tokens.names)
    run.output_tokens.extend(codes)
    found = running.audit(len(output), seed=2)
    assert len(found.steps) == len(output)
    assert isinstance(found, Audit)
    assert found.differences


@pytest.mark.usefixtures("uncompiled")
def test_auto_leaves_long_inputs_to_the_fast_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The dense engine would compare every position of the input with every other before the first step."""
    model = sm.compile("parity")
    right = sm.run(model, "1" * 30, engine="dense")
    monkeypatch.setattr("softmachine.engines.run.MAX_DENSE_TOKENS", 20)
    monkeypatch.setattr("softmachine.engines.dense.run.decode", None)
    run = sm.run(model, "1" * 30)
    assert (run.engine, list(run.tokens)) == ("fast", list(right.tokens))


@pytest.mark.usefixtures("uncompiled")
def test_auto_falls_back_to_the_dense_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """When a number exceeds the range of the fast engine, the run continues and reports it."""
    model = sm.compile("busy-beaver-4")
    monkeypatch.setattr("softmachine.engines.run.MAX_DENSE_TOKENS", 20)
    right = sm.run(model, "", engine="dense")
    go = FastPass.run_until

    def stops(run: FastPass, limit: int) -> bool:
        go(run, min(limit, 60))
        raise PrecisionError("a number does not fit")

    monkeypatch.setattr(FastPass, "run_until", stops)
    run = sm.run(model, "")
    assert run.tokens == right.tokens
    assert (run.engine, run.verdict) == ("dense", "halt")
    assert run.notes == ("the fast engine stopped after 60 tokens: a number does not fit",)
    assert run.notes[0] in run.format_summary()
    with pytest.raises(PrecisionError):
        sm.run(model, "", engine="fast")


@pytest.mark.usefixtures("uncompiled")
def test_auto_falls_back_in_segments_too(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("softmachine.engines.run.MAX_DENSE_TOKENS", 20)
    go, calls = FastPass.run_until, []

    def stops(run: FastPass, limit: int) -> bool:
        calls.append(limit)
        if len(calls) > 4:
            raise PrecisionError("a number does not fit")
        return go(run, limit)

    monkeypatch.setattr(FastPass, "run_until", stops)
    run = sm.run(model, "", max_steps=150)
    assert list(run.tokens) == list(model.codec.expected("", 150))
    assert run.engine == "dense"
    assert "does not fit" in run.notes[0]
    monkeypatch.undo()
    assert run.segments == sm.run(model, "", max_steps=150, engine="fast").segments


@pytest.mark.slow
def test_all_of_busy_beaver_5_in_segments(model: Model) -> None:
    run = sm.run(model, "", engine="fast")
    assert (run.steps, run.output.count("1"), run.verdict) == (47_176_870, 4_098, "halt")
    assert max(run.segments) < 5 * 12_300
    codec = model.codec
    assert all(a == b for a, b in zip(codec.expected("", 2_000_000), run.tokens, strict=False))


@pytest.mark.slow
def test_a_hundred_thousand_ternary_steps_in_segments() -> None:
    model = sm.compile("binary-counter", theorem="turing-ternary-summary", length=4096)
    assert as_expected(model, "", 100_000)
