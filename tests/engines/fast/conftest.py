"""Generated code of the tests goes to a separate cache folder, which later sessions reuse."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

from softmachine.engines.fast import code_cache


@pytest.fixture(scope="session", autouse=True)
def own_cache(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Compiling takes a minute, so the cache is kept; entries unused for weeks are deleted."""
    kept = getattr(request.config, "cache", None)
    folder = kept.mkdir("softmachine-code") if kept else tmp_path_factory.mktemp("cache")
    for file in folder.rglob("*.*"):
        with suppress(OSError):
            if file.is_file() and file.stat().st_mtime < time.time() - 14 * 24 * 3600:
                file.unlink()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        yield


@pytest.fixture
def uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """The generated code as plain Python: compiling it would dominate a short run."""
    monkeypatch.setattr("softmachine.engines.fast.engine.compile_code", code_cache.define_plain)
    monkeypatch.setattr("softmachine.engines.fast.engine.is_compiled", lambda _: True)


@pytest.fixture(autouse=True)
def no_rehearsal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disables the rehearsal in plain Python, so that short runs test machine code."""
    monkeypatch.setattr("softmachine.engines.fast.engine.REHEARSAL_POSITIONS", 0)
