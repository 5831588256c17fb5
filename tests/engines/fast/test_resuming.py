"""Long runs that are saved and resumed: which file is written, ended runs, limits below the saved length."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

import softmachine as sm
from softmachine.compiler.model import Model
from softmachine.engines.fast import FastPass, checkpoint, status
from softmachine.engines.fast.run import FastRun
from softmachine.engines.run import RunSession
from softmachine.support.errors import PrecisionError, SourceError, TooExpensiveError

pytestmark = pytest.mark.usefixtures("uncompiled")
STEPS = 107
"""The steps of busy beaver 4."""
TO_THE_RIGHT = "1RA1RZ_------"
"""A machine that writes 1 forever."""
THEOREMS = ["turing-average-hard", "turing-average-hard-summary"]


@pytest.fixture(scope="module", params=THEOREMS)
def model(request: pytest.FixtureRequest) -> Model:
    return sm.compile("busy-beaver-4", theorem=request.param)


@pytest.fixture(scope="module")
def literal() -> Model:
    return sm.compile("busy-beaver-4")


def made(model: Model, path: Path, max_steps: int | None = None) -> RunSession:
    """A fast run that was saved."""
    running = RunSession(model, "", engine="fast", checkpoint=path, max_steps=max_steps)
    for _ in running.chunks():
        pass
    return running


def resumed(model: Model, path: Path, max_steps: int | None = None) -> RunSession:
    running = RunSession(model, "", resume=path, max_steps=max_steps)
    for _ in running.chunks():
        pass
    return running


def test_a_resumed_run_continues_saving_to_the_same_file(model: Model, tmp_path: Path) -> None:
    path = tmp_path / "run"
    made(model, path, max_steps=30)
    resumed(model, path, max_steps=60)
    third = resumed(model, path, max_steps=60)
    assert third.resumed_count >= 60
    assert third.result().steps == 60


@pytest.mark.parametrize("steps", [0, 1, 30, STEPS - 1, STEPS])
def test_a_resumed_run_has_as_many_tokens_from_the_saved_run_as_that_reported(
    model: Model, tmp_path: Path, steps: int
) -> None:
    first = made(model, tmp_path / "run", max_steps=steps).result()
    running = RunSession(model, "", resume=tmp_path / "run", max_steps=200, verify=True)
    assert running.resumed_count == len(first.tokens) - first.halted  # the last decision is made again
    pieces = [token for piece in running.chunks() for token in piece]
    found = running.result()
    assert found.resumed_count + len(pieces) == len(found.tokens)
    assert found.tokens == sm.run(model, engine="fast").tokens
    assert found.verified_count == len(found.tokens)


def test_another_file_can_be_named(model: Model, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    made(model, first, max_steps=30)
    before = first.read_bytes()
    running = RunSession(model, "", resume=first, checkpoint=second, max_steps=60)
    list(running)
    assert first.read_bytes() == before
    assert resumed(model, second, max_steps=60).resumed_count >= 60


def test_a_halted_run_is_saved_and_ends_at_once_when_resumed(model: Model, tmp_path: Path) -> None:
    path = tmp_path / "run"
    first = made(model, path).result()
    assert first.halted
    again = resumed(model, path)
    assert again.result().tokens == first.tokens
    assert again.result().verdict == first.verdict
    assert again.result().steps == STEPS
    assert again.resumed_count == len(first.tokens) - 1  # the last decision is made again
    assert again.resumed_count == resumed(model, path).resumed_count  # repeatedly


def test_a_forged_verdict_is_ignored(literal: Model, tmp_path: Path) -> None:
    """A checkpoint holds no verdict: the model decides again, or continues."""
    path = tmp_path / "run"
    made(literal, path, max_steps=50)
    with safe_open(str(path), framework="numpy") as file:
        header = file.metadata()
    arrays = load_file(str(path))
    arrays["info"][status.STATUS] = status.STOPPED
    header["checksum"] = checkpoint._checksum(arrays)
    save_file(arrays, str(path), header)
    with pytest.raises(SourceError, match="does not fit"):
        RunSession(literal, "", resume=path)


@pytest.mark.parametrize("ended", [False, True])
@pytest.mark.parametrize("limit", [0, 1, 40])
def test_a_limit_below_the_saved_length_cuts_the_run(model: Model, tmp_path: Path, ended: bool, limit: int) -> None:
    path = tmp_path / "run"
    made(model, path, max_steps=1000 if ended else 80)
    before = path.read_bytes()
    running = resumed(model, path, max_steps=limit)
    found, fresh = running.result(), sm.run(model, engine="fast", max_steps=limit)
    assert found.tokens == fresh.tokens
    assert found.steps == limit
    assert not found.halted
    assert found.segments == fresh.segments
    assert "tokens/s" not in found.format_summary()
    assert found.tokens_per_second == 0
    assert path.read_bytes() == before  # the longer run is kept


def test_speed_is_that_of_the_tokens_that_were_computed(model: Model, tmp_path: Path) -> None:
    made(model, tmp_path / "run", max_steps=90)
    found = resumed(model, tmp_path / "run").result()
    computed = len(found.tokens) - found.resumed_count
    assert 0 < computed < 40
    assert found.tokens_per_second == pytest.approx(computed / found.seconds)
    assert f"{found.resumed_count} of them from the saved run" in found.format_summary()


def test_a_resumed_run_keeps_its_step_limit(model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("softmachine.engines.fast.run.MAX_STEPS", 50)
    made(model, tmp_path / "run", max_steps=200)
    assert resumed(model, tmp_path / "run").result().halted
    made(model, tmp_path / "shorter", max_steps=20)
    assert resumed(model, tmp_path / "shorter").result().steps == 50


@pytest.mark.parametrize("steps", ["", "-5", "1e9", "²", "9" * 10_000])
def test_a_malformed_step_limit_is_ignored(literal: Model, tmp_path: Path, steps: str) -> None:
    path = tmp_path / "run"
    made(literal, path, max_steps=20)
    with safe_open(str(path), framework="numpy") as file:
        header = file.metadata()
    save_file(load_file(str(path)), str(path), header | {"steps": steps})
    assert resumed(literal, path).result().halted


def test_a_file_that_cannot_be_resumed_is_not_overwritten(literal: Model, tmp_path: Path) -> None:
    path = tmp_path / "thesis.tex"
    path.write_text("years of work")
    with pytest.raises(SourceError, match="cannot be read"):
        RunSession(literal, "", resume=path)
    made(literal, tmp_path / "run", max_steps=20)
    running = RunSession(literal, "", resume=tmp_path / "run")
    (tmp_path / "run").write_text("years of work")  # while it runs
    list(running)
    assert "is not a checkpoint" in str(running.checkpoint and running.checkpoint.error)
    assert (tmp_path / "run").read_text() == path.read_text() == "years of work"


LIMIT = 6
"""The index of the argument of the generated code that is the position limit."""


class Interrupting:
    """The code of a model, with Ctrl-C as soon as it returns, before anything else happens in Python."""

    def __init__(self, run: FastPass) -> None:
        self.run, self.advance = run, run.engine.advance

    def __call__(self, *arguments: object) -> None:
        self.advance(*arguments)
        if arguments[LIMIT]:
            assert self.run.info[status.STATUS] != status.RUNNING
            raise KeyboardInterrupt


@pytest.mark.parametrize(("source", "calls"), [("busy-beaver-4", 1), (TO_THE_RIGHT, 1), (TO_THE_RIGHT, 3)])
def test_a_run_interrupted_when_code_returns_can_be_resumed(source: str, calls: int, tmp_path: Path) -> None:
    """At its end, or because an array is full: the checkpoint can be resumed."""
    model = sm.compile(source)
    running = RunSession(model, "", engine="fast", checkpoint=tmp_path / "run", max_steps=1000)
    assert isinstance(running._now, FastRun)
    run = running._now.run
    assert isinstance(run, FastPass)
    run.engine.__dict__["advance"] = Interrupting(run)
    for _ in range(calls):
        with pytest.raises(KeyboardInterrupt):
            list(running)
    assert running.checkpoint
    assert running.checkpoint.save()
    again = resumed(model, tmp_path / "run", max_steps=1000)
    assert again.result().tokens == sm.run(model, engine="fast", max_steps=1000).tokens


def test_what_is_written_is_a_safetensors_file(model: Model, tmp_path: Path) -> None:
    made(model, tmp_path / "run", max_steps=40)
    arrays = load_file(str(tmp_path / "run"))
    with safe_open(str(tmp_path / "run"), framework="numpy") as file:
        assert file.metadata()["checksum"] == checkpoint._checksum(arrays)
    assert all(array.dtype in (np.uint8, np.int8, np.int16, np.int32, np.int64) for array in arrays.values())


def test_a_run_without_memory_stops_and_is_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free, what = 5000, "the state of its heads"
    model = sm.compile(TO_THE_RIGHT)
    with monkeypatch.context() as patch:
        patch.setattr("softmachine.support.resources.MIN_CHECKED_BYTES", 0)
        patch.setattr("softmachine.engines.fast.analysis.unrolled_program.require_affordable", lambda *_: None)
        patch.setattr("softmachine.support.resources.free_memory", lambda: free)
        running = RunSession(model, "", engine="fast", checkpoint=tmp_path / "run", max_steps=3000)
        with pytest.raises(
            TooExpensiveError, match=rf"after \d+ tokens?: {what} would take .* but only {free / 1000} kB is free"
        ):
            list(running)
    again = resumed(model, tmp_path / "run", max_steps=3000)
    assert again.resumed_count == len(running.tokens)
    assert again.result().output == "1" * 3000


def test_a_checkpoint_is_not_read_without_memory(
    literal: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(literal, tmp_path / "run", max_steps=40)
    monkeypatch.setattr("softmachine.support.resources.MIN_CHECKED_BYTES", 0)
    monkeypatch.setattr("softmachine.engines.fast.analysis.unrolled_program.require_affordable", lambda *_: None)
    monkeypatch.setattr("softmachine.support.resources.free_memory", lambda: 500)
    with pytest.raises(
        TooExpensiveError, match=r"run cannot be read: its arrays would take .*, but only 500 B is free"
    ):
        RunSession(literal, "", resume=tmp_path / "run")


def test_beyond_the_longest_context_a_run_stops_and_is_saved(
    literal: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even `auto` does not let the dense engine read a billion tokens again."""
    monkeypatch.setattr("softmachine.engines.fast.codegen.emitter.GeneratedCode.max_positions", 50)
    monkeypatch.setattr("softmachine.engines.run.MAX_FALLBACK_TOKENS", 20)
    monkeypatch.setattr("softmachine.engines.run.MAX_DENSE_TOKENS", 0)
    with pytest.raises(PrecisionError, match="a context of more than 50 positions exceeds the range") as caught:
        list(RunSession(literal, ""))
    assert "summaries" in str(caught.value.hint)
    running = RunSession(literal, "", checkpoint=tmp_path / "run")
    with pytest.raises(PrecisionError):
        list(running)
    assert len(running.result().tokens) == 50 - len(running.request.prompt.tokens) + 1
    monkeypatch.setattr("softmachine.engines.fast.codegen.emitter.GeneratedCode.max_positions", 1000)
    assert resumed(literal, tmp_path / "run").result().halted


def test_a_run_continues_without_memory_to_save(
    literal: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> bool:
        raise MemoryError

    monkeypatch.setattr(checkpoint, "save", full)
    running = RunSession(literal, "", engine="fast", checkpoint=tmp_path / "run")
    list(running)
    assert running.result().halted
    assert running.checkpoint
    assert running.checkpoint.error == "there is not enough memory to write the checkpoint"
    assert json.dumps(list(tmp_path.iterdir())) == "[]"
