"""Files of the fast engine: the code cache, and checkpoints."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import softmachine as sm
from softmachine.compiler.model import Model
from softmachine.engines.fast import FastEngine, FastPass, code_cache
from softmachine.engines.fast import checkpoint as saved_run
from softmachine.engines.run import RunSession
from softmachine.support.errors import SourceError, UsageError
from softmachine.theorems.codec import DecoderCodec


@pytest.fixture(scope="module")
def model() -> Model:
    return sm.compile("busy-beaver-5")


def fresh(model: Model, *, plain: bool = True) -> FastPass:
    codec = model.codec
    assert isinstance(codec, DecoderCodec)
    return FastEngine(model.weights, plain=plain).start(codec.prompt("").tokens, codec.is_stop_token)


def test_generated_code_is_cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    text = "def advance(x):\n    x[0] = 7\n"
    box = np.zeros(1, dtype=np.int64)
    for _ in range(2):
        code_cache.compile_code(text)(box)
    assert box[0] == 7
    folder = code_cache.cache_folder()
    assert folder is not None
    (source,) = folder.glob("*.py")
    assert source.read_text() == text
    assert list((folder / "__pycache__").glob("*.nbc"))


def test_a_file_with_another_text_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    text = "def advance(x):\n    x[0] = 8\n"
    box = np.zeros(1, dtype=np.int64)
    code_cache.compile_code(text)(box)
    folder = code_cache.cache_folder()
    assert folder is not None
    (source,) = folder.glob("*.py")
    source.write_text("def advance(x):\n    x[0] = 666\n")
    code_cache.compile_code(text)(box)
    assert box[0] == 8
    assert source.read_text() == text


def test_damaged_machine_code_is_compiled_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    text = "def advance(x):\n    x[0] = 9\n"
    box = np.zeros(1, dtype=np.int64)
    code_cache.compile_code(text)(box)
    folder = code_cache.cache_folder()
    assert folder is not None
    for file in (folder / "__pycache__").glob("*.nbc"):
        file.write_bytes(b"rubbish")
    box[0] = 0
    code_cache.compile_code(text)(box)
    assert box[0] == 9


def test_machine_code_below_numba_cache_dir_is_found_and_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "ours"))
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path / "numba"))
    text = "def advance(x):\n    x[0] = 11\n"
    box = np.zeros(1, dtype=np.int64)
    assert not code_cache.is_compiled(text)
    code_cache.compile_code(text)(box)
    assert code_cache.is_compiled(text)
    for file in (tmp_path / "numba").rglob("*.nbc"):
        file.write_bytes(b"rubbish")
    code_cache.compile_code(text)(box)
    assert box[0] == 11
    assert not code_cache.is_compiled(text)


@pytest.mark.skipif(os.name == "nt", reason="permissions are another matter there")
def test_a_folder_that_others_can_write_to_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = code_cache.cache_folder()
    assert folder is not None
    folder.chmod(0o777)
    assert code_cache.cache_folder() is None
    box = np.zeros(1, dtype=np.int64)
    code_cache.compile_code("def advance(x):\n    x[0] = 3\n")(box)
    assert box[0] == 3
    assert not list(folder.iterdir())


def test_a_run_resumes_from_its_checkpoint(model: Model, tmp_path: Path) -> None:
    straight = fresh(model)
    straight.run_until(700)
    first = fresh(model)
    first.run_until(300)
    saved_run.save(first, tmp_path / "run")
    second = fresh(model)
    saved_run.load(second, tmp_path / "run")
    second.run_until(700)
    assert list(second.output(10**6)) == list(straight.output(10**6))


def test_the_general_index_is_saved_in_checkpoints(model: Model, tmp_path: Path) -> None:
    straight, first, second = fresh(model), fresh(model), fresh(model)
    straight.run_until(260)
    first.engine.set_assumptions(frozenset({"last write"}), frozenset())
    first = first.engine.start(model.codec.prompt("").tokens)
    first.run_until(130)
    saved_run.save(first, tmp_path / "run")
    saved_run.load(second, tmp_path / "run")
    second.run_until(260)
    assert list(second.output(10**6)) == list(straight.output(10**6))


@pytest.mark.parametrize("cut", [0, 7, 100, 1000])
def test_a_checkpoint_that_is_cut_is_refused(model: Model, tmp_path: Path, cut: int) -> None:
    run = fresh(model)
    run.run_until(300)
    saved_run.save(run, tmp_path / "run")
    whole = (tmp_path / "run").read_bytes()
    (tmp_path / "run").write_bytes(whole[:cut])
    with pytest.raises(SourceError, match="cannot be read"):
        saved_run.load(fresh(model), tmp_path / "run")


def test_a_checkpoint_with_a_changed_byte_is_refused(model: Model, tmp_path: Path) -> None:
    run = fresh(model)
    run.run_until(300)
    saved_run.save(run, tmp_path / "run")
    data = bytearray((tmp_path / "run").read_bytes())
    data[-5] ^= 1
    (tmp_path / "run").write_bytes(bytes(data))
    with pytest.raises(SourceError, match="damaged"):
        saved_run.load(fresh(model), tmp_path / "run")


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("_meta", (0, 10**6)),
        ("_meta", (1, -(10**6))),
        ("_meta", (2, 10**6)),
        ("info", (0, 10**6)),
        ("tokens 0", (5, 255)),
    ],
)
def test_a_forged_checkpoint_cannot_point_outside(
    model: Model, tmp_path: Path, part: str, change: tuple[int, int]
) -> None:
    run = fresh(model)
    run.run_until(300)
    path = tmp_path / "run"
    saved_run.save(run, path)
    from safetensors import safe_open

    with safe_open(str(path), framework="numpy") as file:
        header = file.metadata()
    arrays = load_file(str(path))
    name = next(name for name in arrays if name.endswith(part))
    arrays[name][change[0]] = change[1]
    header["checksum"] = saved_run._checksum(arrays)
    save_file(arrays, str(path), header)
    with pytest.raises(SourceError, match="does not fit"):
        saved_run.load(fresh(model), path)


def test_a_checkpoint_of_another_model_or_input_is_refused(model: Model, tmp_path: Path) -> None:
    run = fresh(model)
    run.run_until(300)
    saved_run.save(run, tmp_path / "run")
    with pytest.raises(SourceError, match="another model"):
        saved_run.load(fresh(sm.compile("binary-counter")), tmp_path / "run")
    increment = sm.compile("increment")
    first = FastEngine(increment.weights, plain=True).start(increment.codec.prompt("10").tokens)
    first.run_until(4)
    saved_run.save(first, tmp_path / "other")
    second = FastEngine(increment.weights, plain=True).start(increment.codec.prompt("11").tokens)
    with pytest.raises(SourceError, match="another input"):
        saved_run.load(second, tmp_path / "other")


def test_a_disk_that_is_full_leaves_run_and_old_checkpoint(
    model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run"
    running = RunSession(model, "", engine="fast", max_steps=100, checkpoint=path)
    list(running.chunks())
    before = path.read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    again = RunSession(model, "", max_steps=200, checkpoint=path, resume=path)
    list(again.chunks())
    assert "No space left" in error_of(again)
    assert len(again.tokens) == 201
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["run"]


FOREIGN = [b"", b"\\documentclass{thesis}\n" * 50, b"\x02\0\0\0\0\0\0\0{}", b"\x02\0\0\0\0\0\0\0[]", b"\xff" * 99]


@pytest.mark.parametrize("content", FOREIGN)
def test_only_a_checkpoint_is_overwritten(
    model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    path = tmp_path / "thesis.tex"
    running = RunSession(model, "", engine="fast", max_steps=100, checkpoint=path)
    path.write_bytes(content)  # while it runs
    list(running.chunks())
    assert "is not a checkpoint" in error_of(running)
    monkeypatch.setattr(RunSession, "_start", lambda *_: pytest.fail("nothing is done for nothing"))
    with pytest.raises(UsageError, match=r"thesis.tex exists already, and is not a checkpoint"):
        sm.run(model, checkpoint=path)
    assert path.read_bytes() == content
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_file_of_weights_is_not_a_checkpoint(model: Model, tmp_path: Path) -> None:
    sm.save(model, tmp_path / "model")
    before = (tmp_path / "model" / "model.safetensors").read_bytes()
    with pytest.raises(UsageError, match="is not a checkpoint"):
        sm.run(model, checkpoint=tmp_path / "model" / "model.safetensors")
    assert (tmp_path / "model" / "model.safetensors").read_bytes() == before


def test_a_checkpoint_behind_a_link_is_written_where_the_link_points(model: Model, tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "link").symlink_to("deep/run")
    for steps in (100, 200):
        running = RunSession(model, "", engine="fast", max_steps=steps, checkpoint=tmp_path / "link")
        list(running.chunks())
        assert not error_of(running)
        assert (tmp_path / "link").is_symlink()
        again = RunSession(model, "", max_steps=steps, resume=tmp_path / "deep" / "run")
        assert len(again.tokens) == steps + 1


def error_of(running: RunSession) -> str:
    """The reason why the last checkpoint was not written."""
    assert running.checkpoint
    return running.checkpoint.error or ""


def checkpoint(model: Model, path: Path, word: str = "", steps: int | None = 100) -> RunSession:
    """A checkpoint; skipped if the run could not be saved."""
    running = RunSession(model, word, max_steps=steps, checkpoint=path)
    list(running.chunks())
    return running


def test_the_checkpoint_of_another_model_or_input_is_not_replaced(model: Model, tmp_path: Path) -> None:
    increment, path = sm.compile("increment"), tmp_path / "run"
    checkpoint(model, path)
    before = path.read_bytes()
    with pytest.raises(UsageError, match=r"run is the checkpoint of a run of another model\n.*choose another name"):
        checkpoint(increment, path, "101")
    assert path.read_bytes() == before
    checkpoint(increment, tmp_path / "other", "101")
    before = (tmp_path / "other").read_bytes()
    with pytest.raises(UsageError, match="other is the checkpoint of a run on another input"):
        checkpoint(increment, tmp_path / "other", "100")
    assert (tmp_path / "other").read_bytes() == before


@pytest.mark.parametrize("theorem", ["turing-average-hard", "turing-average-hard-summary"])
def test_the_checkpoint_of_a_longer_run_is_not_replaced(theorem: str, tmp_path: Path) -> None:
    """Neither at the start, if fewer steps are allowed, nor while the run is still the shorter one."""
    model, path = sm.compile("busy-beaver-4", theorem), tmp_path / "run"
    longer = checkpoint(model, path)
    before = path.read_bytes()
    with pytest.raises(UsageError, match=r"a run of up to 100 steps, and this one is of up to 99") as refused:
        checkpoint(model, path, steps=99)
    assert f"to continue that run: --resume {path};" in str(refused.value)
    shorter = RunSession(model, "", max_steps=100, checkpoint=path)
    assert shorter.checkpoint
    assert shorter.checkpoint.save()
    assert path.read_bytes() == before
    again = RunSession(model, "", max_steps=100, resume=path)
    assert len(again.tokens) >= len(longer.tokens) - 1
    checkpoint(model, path, steps=105)
    assert path.read_bytes() != before


def test_a_checkpoint_that_appears_during_a_run_is_not_replaced(model: Model, tmp_path: Path) -> None:
    path = tmp_path / "run"
    running = RunSession(model, "", max_steps=100, checkpoint=path)
    checkpoint(sm.compile("increment"), path, "101")
    before = path.read_bytes()
    list(running.chunks())
    assert "is the checkpoint of a run of another model" in error_of(running)
    assert path.read_bytes() == before


def test_a_run_that_changed_its_plan_is_still_of_the_same_model(model: Model, tmp_path: Path) -> None:
    path, run = tmp_path / "run", fresh(model)
    run.engine.set_assumptions(frozenset({"last write"}), frozenset())
    run = run.engine.start(model.codec.prompt("").tokens)
    run.run_until(130)
    saved_run.save(run, path)
    saved_run.require_replaceable(path, fresh(model))


def test_checkpoints_need_the_fast_engine_and_a_folder(model: Model, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="only the fast engine"):
        sm.run(model, engine="dense", checkpoint=tmp_path / "run")
    with pytest.raises(UsageError, match="no folder"):
        sm.run(model, checkpoint=tmp_path / "nowhere" / "run")
    with pytest.raises(SourceError, match="cannot be read"):
        sm.run(model, resume=tmp_path / "run")


def test_weights_for_another_length_are_named(tmp_path: Path) -> None:
    """A higher step limit builds weights for a longer context; the message names the earlier one."""
    path = tmp_path / "run"
    short, longer = (sm.compile("busy-beaver-4", "turing-ternary-summary", context=context) for context in (128, 256))
    sm.run(short, max_steps=20, engine="fast", checkpoint=path)
    with pytest.raises(SourceError, match="is of weights built for 128 positions, not 256") as refused:
        sm.run(longer, max_steps=200, resume=path)
    assert "--context 128" in str(refused.value.hint)
    assert sm.run(short, max_steps=200, resume=path).halted


DIGESTS = {
    None: "57ad32aa22272e5e559f24eab7463485e6e188f6b697ccafd0a94d5f88d000db",
    True: "4d14e0f3507e6276214e9d4720af8d5fa5085867f1cdf3920d8e8a3160de83d8",
}
"""As of checkpoint format 2, of busy beaver 4 as generated code and as bytecode."""


@pytest.mark.parametrize("tables", DIGESTS)
def test_checkpoints_written_earlier_are_of_the_same_model(tables: bool | None) -> None:
    """If names of modules or heads in generated code change, a digest is still computed from the former ones."""
    weights = sm.compile("busy-beaver-4").weights
    assert DIGESTS[tables] in FastEngine(weights, tables=tables).digests
