"""All public functions in one place; each module of them is about one thing that can be done."""

from __future__ import annotations

from softmachine.collecting import dataset
from softmachine.compiling import certificate, compile, compile_for, soften  # noqa: A004
from softmachine.loading import extended, load
from softmachine.running import check, run
from softmachine.saving import export, load_weights, save
from softmachine.showing import gallery, inspect, page, picture

__all__ = [
    "certificate",
    "check",
    "compile",
    "compile_for",
    "dataset",
    "export",
    "extended",
    "gallery",
    "inspect",
    "load",
    "load_weights",
    "page",
    "picture",
    "run",
    "save",
    "soften",
]
