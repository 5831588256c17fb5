"""Special tokens: the start token at position 0 and padding, distinct from the tokens of the source."""

from __future__ import annotations

from collections.abc import Container

START, PAD = "<s>", "□"


def unused(text: str, taken: Container[str]) -> str:
    """Return the text, wrapped in angle brackets until it is not a token of the source."""
    while text in taken:
        text = f"<{text}>"
    return text
