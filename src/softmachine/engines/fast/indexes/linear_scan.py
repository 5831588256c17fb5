"""Linear scan over all keys, for heads whose bias is an arbitrary function of the two positions.

That function is Python, so its values for one query position and all keys are tabulated before the step, exactly, as
integers over a common denominator.
"""

from __future__ import annotations

from math import lcm

from softmachine.engines.fast.analysis.grids import OVERFLOW_LIMIT
from softmachine.engines.fast.indexes.groups import AVERAGE, LEFTMOST, add_to_sum, compared, runtime_int, score_group
from softmachine.engines.fast.indexes.kernels import LIMIT, Integers, kernel
from softmachine.support.errors import FixHint, PrecisionError
from softmachine.transformer.features import Relation

TABULATED, NEEDED, DENOMINATOR = 0, 1, 2
"""Fields of ``meta``: the position whose biases are tabulated (plus 1), the one needed next, and the denominator."""


def tabulate_bias(bias: Relation, query: int, into: Integers) -> int:
    """Tabulate the biases of all keys up to a query's position, as integers; returns their common denominator.

    Raises:
        PrecisionError: If they do not fit.
    """
    values = [bias.at(key, query) for key in range(query + 1)]
    over = lcm(*(value.denominator for value in values))
    integers = [int(value * over) for value in values]
    if max(over, *map(abs, integers)) >= OVERFLOW_LIMIT:
        raise PrecisionError(
            f"the bias {bias} at position {query} is not a row of 62-bit integers over a common denominator",
            hint=FixHint("use {}", engine="dense"),
        )
    into[: query + 1] = integers
    return over


@kernel
def search_all(
    keys: Integers,
    values: Integers,
    biases: Integers,
    meta: Integers,
    query: Integers,
    time: int,
    over: int,
    visible: int,
    choice: int,
    fractional_keys: bool,
    fractions: bool,
    out: Integers,
) -> tuple[int, bool]:
    """The sum of the values of the best of the first keys, their number, and whether an overflow occurred.

    The score is (query · key + time · position) / over + bias.
    """
    best, n, d, count, fits = -1, runtime_int(0), runtime_int(1), 0, True
    for j in range(visible):
        a, b, bad = score_group(keys, j, query, j, time, fractional_keys)
        if bad or abs(float(a)) * float(meta[DENOMINATOR]) + abs(float(biases[j]) * float(over)) * float(b) >= LIMIT:
            return 0, True
        a = a * meta[DENOMINATOR] + biases[j] * over * b
        sign, bad = compared(a, b, n, d) if best >= 0 else (1, False)
        if bad:
            return 0, True
        if sign < 0 or (sign == 0 and choice == LEFTMOST):
            continue
        if sign > 0 or choice != AVERAGE:
            best, n, d, count, fits = j, a, b, 1, True
            for k in range(out.size):
                out[k] = values[j, k]
            continue
        count += 1
        fits = fits and add_to_sum(out, values[j], fractions)
    return count, not fits
