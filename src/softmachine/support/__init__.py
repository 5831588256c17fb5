"""Utilities independent of transformers: errors, text, plug-ins, files, resources, parallel map, JIT; the version."""

from __future__ import annotations

__version__ = "0.2.0"
