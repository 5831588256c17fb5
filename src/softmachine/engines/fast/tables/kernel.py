"""The code of all large models: one compiled function that interprets a model's tables."""

from __future__ import annotations

from typing import NamedTuple

from softmachine.engines.fast import status
from softmachine.engines.fast.indexes.groups import compared
from softmachine.engines.fast.indexes.kernels import Integers, kernel
from softmachine.engines.fast.tables.heads import CAUSAL, Kept, keep, retrieve
from softmachine.engines.fast.tables.rows import Rows, Vector, compute, feature, put

ROWS, HEAD = 0, 1
TIED, TOO_LARGE = -1, -2


class Weights(NamedTuple):
    """The weights of a model as data.

    Args:
        rows: The maps of heads, of units, and to the logits.
        embedding: [token, coordinate], numerators, and
        overs: their denominators.
        features: For each feature its kind, two parameters, and its place.
        ops: What to do at a position, in this order: the rows of a level, or a head.
        past: The heads that do not see their own position.
        logits: The place of the first logit, how many there are, and the level of their rows.
    """

    rows: Rows
    embedding: Integers
    overs: Integers
    features: Integers
    ops: Integers
    past: Integers
    logits: Integers


class Tables(NamedTuple):
    """A model and what a run keeps: the numbers of the present position, and keys and values of all."""

    weights: Weights
    vector: Vector
    kept: Kept


@kernel
def advance_tables(
    tokens: Integers, said: Integers, follow: Integers, info: Integers, limit: int, first_answer: int, tables: Tables
) -> None:
    """Read or append tokens, position after position, until the limit or until something has to be seen to."""
    i, known, base, found = info[status.AT], info[status.KNOWN], info[status.BASE], status.RUNNING
    while i < limit and found == status.RUNNING:
        found = computed(i, int(tokens[i - base]), tables)
        if found != status.RUNNING:
            break
        if i >= first_answer:
            out = largest_logit(tables)
            if out < 0:
                found = status.TIE if out == TIED else status.TOO_LARGE
                break
            if i + 1 < known:
                said[i] = out
            else:
                after = follow[out]
                info[status.SAID] = out
                if after < 0:
                    found = status.STOPPED if after == -1 else status.STRANGER
                    break
                tokens[i + 1 - base] = after
                known = i + 2
        i += 1
    info[status.AT], info[status.KNOWN], info[status.STATUS] = i, known, found


@kernel
def computed(i: int, token: int, tables: Tables) -> int:
    """Compute what there is to compute at a position, but for the logits; the status that this leads to."""
    weights, vector, kept = tables.weights, tables.vector, tables.kept
    rows = weights.rows
    if i > 0:
        # What was computed at the position before is still there.
        for h in weights.past:
            found = keep(h, i - 1, vector, kept)
            if found != status.RUNNING:
                return found
    for c in range(weights.embedding.shape[1]):
        put(rows, vector, c, weights.embedding[token, c], weights.overs[token, c])
    for f in range(weights.features.shape[0]):
        item = weights.features[f]
        p, q = feature(item[0], item[1], item[2], i)
        put(rows, vector, item[3], p, q)
    for o in range(weights.ops.shape[0]):
        number = weights.ops[o, 1]
        if weights.ops[o, 0] == ROWS:
            if compute(rows, number, vector):
                return status.TOO_LARGE
            continue
        if kept.heads[number, CAUSAL]:
            found = keep(number, i, vector, kept)
            if found != status.RUNNING:
                return found
        if retrieve(number, i, rows, vector, kept):
            return status.TOO_LARGE
    return status.RUNNING


@kernel
def largest_logit(tables: Tables) -> int:
    """The output of the largest logit; TIED if there are several, TOO_LARGE if that cannot be said."""
    weights = tables.weights
    at, count = weights.logits[0], weights.logits[1]
    n, d = tables.vector.n, tables.vector.d
    if compute(weights.rows, weights.logits[2], tables.vector):
        return TOO_LARGE
    out, ties = 0, 1
    for o in range(1, count):
        sign, bad = compared(n[at + o], d[at + o], n[at + out], d[at + out])
        if bad:
            return TOO_LARGE
        if sign > 0:
            out, ties = o, 1
        elif sign == 0:
            ties += 1
    return out if ties == 1 else TIED
