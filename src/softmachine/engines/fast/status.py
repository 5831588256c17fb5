"""Status codes that the compiled code returns to the engine, and the layout of `info`."""

from __future__ import annotations

CODES = {
    "RUNNING": 0,
    "STOPPED": 1,
    "TIE": 2,
    "STRANGER": 3,
    "TOO_LARGE": 4,
    "FULL": 1000,
    "REPLAN": 1_000_000,
    "UNEVEN": 1_000_000_000,
}
"""Why the code returned.

Position limit reached, stop token, equal logits, output that is not an input token, overflow; an array that is full or
whose plan is invalid (plus the storage's number); a mean of integers that is not one (plus the plan's number)."""
RUNNING, STOPPED, TIE, STRANGER, TOO_LARGE, FULL, REPLAN, UNEVEN = CODES.values()
POSITION, TOKEN_COUNT, STATUS, LAST_OUTPUT, WINDOW_BASE = 0, 1, 2, 3, 4
"""Fields of `info`: next position, known tokens, status, last output, position of the window's first token."""
