"""Generated code of the tests goes to a folder of their own."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


def lower_thresholds(patch: pytest.MonkeyPatch) -> None:
    """Make the trees of the forest so small that short sequences have many of them; plain Python only."""
    from softmachine.engines.fast import descent, forest, index, planner

    for module, name, value in (
        (forest, "BLOCK", 4),
        (descent, "BLOCK", 4),
        (forest, "LEAF", 2),
        (descent, "LEAF", 2),
        (index, "LEAF", 2),
        (descent, "MANY", 4),
        (planner, "MANY", 4),
    ):
        patch.setattr(module, name, value)
