"""Branch hint: predicts the next token, so that the processor starts the next step before this one is decided.

Each token depends on the previous one, but a branch does not wait: processors predict its direction and execute
speculatively. The token that last followed the same recent tokens is kept and compared with the decided one. If they
are equal, the next step starts from the stored token, which is available early; if not, from the decided one, and the
processor discards its speculative work. The output is the decided token in both cases: only the time differs.

Where the sequence is not predictable, mispredicted branches would cost more than waiting. So an entry is trusted only
after several correct predictions in a row.
"""

from __future__ import annotations

import numpy as np

from softmachine.engines.fast.indexes.kernels import Integers

ENTRIES = 1 << 10
"""Entries, indexed by a hash of the last ten tokens; collisions are harmless."""
MIN_TRUST, COUNTER_BITS = 4, 3
"""Correct predictions before an entry is trusted; the bits of their counter, above which an entry has the token."""


def empty_table() -> Integers:
    """An empty prediction table."""
    return np.zeros(ENTRIES, dtype=np.int64)


PREDICT_LINES = (
    f"        past = (2 * past + token) & {ENTRIES - 1}",
    f"        guess, right = foreseen[past] >> {COUNTER_BITS}, foreseen[past] & {(1 << COUNTER_BITS) - 1}",
)
"""Lines that look up the prediction."""
UPDATE_LINES = (
    f"                if right < {MIN_TRUST}:",
    f"                    foreseen[past] = (after << {COUNTER_BITS}) + (right + 1 if after == guess else 0)",
    "                    coming = after",
    "                elif after != guess:",
    f"                    foreseen[past] = after << {COUNTER_BITS}",
    "                    coming = after",
    "                else:",
    "                    coming = guess  # the same number, but it is there earlier",
)
"""Lines that set the next token to the decided one, ``after``, and update the prediction."""
