"""The code of all large models: one compiled function that interprets a model's tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from softmachine.engines.fast.indexes.groups import compared
from softmachine.engines.fast.indexes.kernels import kernel
from softmachine.engines.fast.tables.groups import (
    CAUSAL,
    FITS,
    FULL,
    INDEX,
    KEY,
    MEMO,
    TOO_LARGE,
    VALUE,
    insert_key,
    insert_value,
    search,
)
from softmachine.engines.fast.tables.rows import feature, put, rows

ROWS, HEAD = 0, 1
STREAM, OUTPUTS, FIRST_LOGIT, FIRST_ROW, LAST_ROW = range(5)
"""What the numbers in ``sizes`` are: the stream's width, the number of outputs, where the logits go, their rows."""
ODD_HEAD = 500_000
"""A head whose values are not small integers is said by its number and this."""


@kernel
def advance_tables(
    tokens: Any, said: Any, follow: Any, info: Any, limit: int, first_answer: int, running: int, stopped: int, tie: int,
    stranger: int, too_large: int, full: int, replan: int, n: Any, d: Any, odd: Any, embedding: Any, overs: Any,
    features: Any, ops: Any, starts: Any, where: Any, acts: Any, biases: Any, row_overs: Any, large: Any, columns: Any,
    weights: Any, heads: Any, past: Any, sizes: Any, indexes: Any, state: Any, done: Any, keys: Any, slots: Any,
    places: Any, values: Any, boxes: Any, key: Any, query: Any, memo: Any,
) -> None:  # fmt: skip
    """Read or append tokens, position after position, until the limit or until something has to be seen to."""
    i, known, status = info[0], info[1], running
    while i < limit:
        token = np.int64(tokens[i])
        state[:, MEMO] = -1
        if i > 0:
            # What was computed at the position before is still there.
            for k in range(past.size):
                h = past[k]
                x = heads[h, INDEX]
                begin = indexes[x, KEY]
                wrong = insert_key(x, i - 1, n, d, odd, begin, indexes, state, keys, slots, places, boxes, key)
                if wrong == FITS:
                    wrong = insert_value(
                        h, i - 1, n, d, odd, heads[h, VALUE], heads, indexes, state, done, places, values
                    )
                    if wrong != FITS:
                        status = too_large if wrong == TOO_LARGE else replan + ODD_HEAD + h
                else:
                    status = full + x if wrong == FULL else replan + x
                if status != running:
                    break
            if status != running:
                break
        for c in range(sizes[STREAM]):
            put(n, d, odd, c, embedding[token, c], overs[token, c])
        for f in range(features.shape[0]):
            p, q = feature(features[f, 0], features[f, 1], features[f, 2], i)
            put(n, d, odd, features[f, 3], p, q)
        for o in range(ops.shape[0]):
            if ops[o, 0] == ROWS:
                if rows(
                    ops[o, 1], ops[o, 2], n, d, odd, starts, where, acts, biases, row_overs, large, columns, weights
                ):
                    status = too_large
                    break
                continue
            h = ops[o, 1]
            if heads[h, CAUSAL]:
                x = heads[h, INDEX]
                wrong = insert_key(x, i, n, d, odd, indexes[x, KEY], indexes, state, keys, slots, places, boxes, key)
                if wrong != FITS:
                    status = full + x if wrong == FULL else replan + x
                    break
                wrong = insert_value(h, i, n, d, odd, heads[h, VALUE], heads, indexes, state, done, places, values)
                if wrong != FITS:
                    status = too_large if wrong == TOO_LARGE else replan + ODD_HEAD + h
                    break
            if search(h, n, d, odd, heads, indexes, state, keys, slots, places, values, boxes, key, query, memo):
                status = too_large
                break
        if status != running:
            break
        if i >= first_answer:
            if rows(
                sizes[FIRST_ROW], sizes[LAST_ROW], n, d, odd, starts, where, acts, biases, row_overs, large, columns,
                weights,
            ):  # fmt: skip
                status = too_large
                break
            out, ties, at = 0, 1, sizes[FIRST_LOGIT]
            for o in range(1, sizes[OUTPUTS]):
                sign, bad = compared(n[at + o], d[at + o], n[at + out], d[at + out])
                if bad:
                    status = too_large
                    break
                if sign > 0:
                    out, ties = o, 1
                elif sign == 0:
                    ties += 1
            if status == running and ties > 1:
                status = tie
            if status != running:
                break
            if i + 1 < known:
                said[i] = out
            else:
                after = follow[out]
                info[3] = out
                if after < 0:
                    status = stopped if after == -1 else stranger
                else:
                    tokens[i + 1] = after
                    known = i + 2
        i += 1
        if status != running:
            break
    info[0], info[1], info[2] = i, known, status
