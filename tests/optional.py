"""Optional packages that tests need: found without importing them, which would take a second of every collection."""

from __future__ import annotations

import importlib.util

import pytest


def require(*packages: str, reason: str = "") -> None:
    """Skip the test module unless all packages are installed."""
    for package in packages:
        if importlib.util.find_spec(package) is None:
            pytest.skip(reason or f"{package} is not installed", allow_module_level=True)
