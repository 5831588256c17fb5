"""Generated code of the tests goes to a folder of their own, which later sessions find again."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

from softmachine.engines.fast import store


@pytest.fixture(scope="session", autouse=True)
def own_cache(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Compiling takes a minute, so that it is worth keeping; what was not made in the last weeks is not kept."""
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
    """The generated code as plain Python: of a short run, compiling it would take nearly all the time."""
    monkeypatch.setattr("softmachine.engines.fast.engine.compiled", store.uncompiled)
    monkeypatch.setattr("softmachine.engines.fast.engine.is_compiled", lambda _: True)


@pytest.fixture(autouse=True)
def no_rehearsal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short runs are not left to plain Python, so that it is machine code that is tested."""
    monkeypatch.setattr("softmachine.engines.fast.engine.REHEARSED", 0)
