"""The colours of the site's pictures."""

from __future__ import annotations

INK, GREY, PALE, PAPER = "#1f2937", "#6b7280", "#e5e7eb", "#ffffff"
TEAL, AMBER, RED = "#0f766e", "#b45309", "#b91c1c"


def shade(weight: float) -> str:
    """Return a colour between paper (0) and teal (1)."""
    return "#" + "".join(f"{round(255 + (part - 255) * weight):02x}" for part in bytes.fromhex(TEAL[1:]))
