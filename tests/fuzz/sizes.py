"""How much is tried. ``OPENBLAS_NUM_THREADS=1 pytest -m slow -n 2 tests/fuzz`` takes an hour on two cores at most.

``SOFTMACHINE_FUZZ=0.01`` tries a hundredth, which takes about a minute; larger numbers try more. The seeds are part of
the names of the tests, so that a part is a part of the whole, and what fails, fails again.

============================== ==================== =====================================================
what                           whole size           of what kind
============================== ==================== =====================================================
Turing machines, by a theorem  100 to 400 for each  1 to 3 tapes, of three conventions; words up to 4 long
                               attention
formulas, programs, machines   200 to 400 for each  words up to 6 long
that count, circuits, graphs   theorem and attention
damaged folders                3,000                bits, bytes, JSON values, lengths
hostile files                  2,500                every format, and 10 MB of each
============================== ==================== =====================================================
"""

from __future__ import annotations

import os

FACTOR = float(os.environ.get("SOFTMACHINE_FUZZ", "1"))
BATCHES = 10
"""Each count is divided into so many tests, which may run side by side."""

COUNTS = {
    "turing-average-hard": 400,
    "turing-average-hard-summary": 200,
    "turing-ternary": 100,
    "turing-ternary-summary": 100,
    "turing-binary-address": 300,
    "turing-residue-address": 150,
    "turing-residue-address-no-positions": 150,
    "turing-counter": 200,
    "turing-counter-relative-bias": 100,
    "turing-configuration-graph": 100,
    "automaton-layer-norm": 100,
    "circuit-evaluator": 200,
    "circuit-evaluator-threshold": 100,
    "uniform-circuits": 50,
    "uniform-circuits-threshold": 50,
    "nl-configuration-graph": 100,
    "nl-configuration-graph-unpruned": 50,
    "odd-walks": 50,
}
"""How many sources a theorem gets, for each attention."""
OTHERS = 300
"""How many the others get."""
DAMAGED = 3_000
HOSTILE = 2_500


def batch(number: int, whole: int) -> range:
    """The seeds of a batch: the first ones of it if only a part is wanted, and at least one of the first batch."""
    size = whole // BATCHES
    wanted = max(round(size * FACTOR), 0 if number else 1)
    return range(number * size, number * size + wanted)
