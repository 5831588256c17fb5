"""Tokens of a construction's own, which no source has: the start token at position 0, padding, and others."""

from __future__ import annotations

from collections.abc import Container

START, PAD = "<s>", "□"


def unused(text: str, taken: Container[str]) -> str:
    """The text, in as many angle brackets as it takes to be no token of the source."""
    while text in taken:
        text = f"<{text}>"
    return text
