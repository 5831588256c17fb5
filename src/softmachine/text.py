"""Small matters of wording."""

from __future__ import annotations


def many(count: int, what: str) -> str:
    """A number of things: "1 token", "2,000 tokens"."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"
