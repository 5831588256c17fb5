"""The next token, foreseen: a processor goes on with it, while the chain that decides it is still being computed.

Each token waits for the one before. A branch does not wait: processors guess where it goes, and go on. So what came
after the last few tokens before is kept, and compared with what is decided now. If they are equal, the next step starts
from the one that was kept, which is there early; if not, from the other, and what was begun meanwhile is thrown away by
the processor. What is said is what was decided in both cases: only the time differs.

Where tokens come in no order that this finds, wrong branches would cost more than waiting. So a place is trusted only
after it was right some times in a row.
"""

from __future__ import annotations

import numpy as np

from softmachine.engines.fast.indexes.kernels import Integers

PLACES = 1 << 10
"""One for each number that the last ten tokens make; those of different ones may be the same."""
SURE, BITS = 4, 3
"""So often a place must have been right; and how often it was are its lowest bits, before them is the token."""


def fresh() -> Integers:
    """Nothing is foreseen yet."""
    return np.zeros(PLACES, dtype=np.int64)


FORESEE = (
    f"        past = (2 * past + token) & {PLACES - 1}",
    f"        guess, right = foreseen[past] >> {BITS}, foreseen[past] & {(1 << BITS) - 1}",
)
"""What the last tokens were followed by before."""
COME = (
    f"                if right < {SURE}:",
    f"                    foreseen[past] = (after << {BITS}) + (right + 1 if after == guess else 0)",
    "                    coming = after",
    "                elif after != guess:",
    f"                    foreseen[past] = after << {BITS}",
    "                    coming = after",
    "                else:",
    "                    coming = guess  # the same number, but it is there earlier",
)
"""What comes is what was decided, ``after``."""
