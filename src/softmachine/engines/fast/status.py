"""What the compiled code tells the engine: why it returned, and how far it is."""

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
"""Why the code returned: the limit, a stop, equal logits, an output that is no token, overflow; a storage that is full,
or that the plan is wrong for (plus the storage's number); a mean of integers that is none (plus the plan's number)."""
RUNNING, STOPPED, TIE, STRANGER, TOO_LARGE, FULL, REPLAN, UNEVEN = CODES.values()
AT, KNOWN, STATUS, SAID, BASE = 0, 1, 2, 3, 4
"""What the numbers in `info` are: the next position, how many tokens are known, the status, the last output; and which
position the first token of the array that the code is given has."""
