"""The interpreter of large models: one compiled function that executes a model's records."""

from __future__ import annotations

from softmachine.engines.fast import status
from softmachine.engines.fast.indexes.kernels import Integers, kernel
from softmachine.engines.fast.tables import records as of
from softmachine.engines.fast.tables.asking import ask
from softmachine.engines.fast.tables.lookups import keep_key, keep_value, retrieve
from softmachine.engines.fast.tables.recalling import TIED, recall, worked_out
from softmachine.engines.fast.tables.rows import feature
from softmachine.engines.fast.tables.words import number_at


@kernel
def advance_tables(
    tokens: Integers,
    outputs: Integers,
    follow: Integers,
    info: Integers,
    limit: int,
    first_answer: int,
    code: Integers,
    heap: Integers,
) -> None:
    """Read or append tokens, position after position, until the limit or a status that the engine has to handle."""
    i, known, base, outcome = info[status.AT], info[status.KNOWN], info[status.BASE], status.RUNNING
    answer = code[of.ANSWER]
    while i < limit:
        outcome = computed(i, int(tokens[i - base]), i >= first_answer, code, heap)
        if outcome != status.RUNNING:
            break
        if i >= first_answer:
            out = heap[code[answer + of.WORD]]
            if out < 0:
                outcome = status.TIE if out == TIED else status.TOO_LARGE
                worked_out(answer, code, heap)
                break
            if i + 1 < known:
                outputs[i] = out
            else:
                after = follow[out]
                info[status.SAID] = out
                if after < 0:
                    outcome = status.STOPPED if after == -1 else status.STRANGER
                    break
                tokens[i + 1 - base] = after
                known = i + 2
        i += 1
    info[status.AT], info[status.KNOWN], info[status.STATUS] = i, known, outcome


@kernel
def computed(i: int, token: int, answered: bool, code: Integers, heap: Integers) -> int:
    """Compute a position, with or without its output; returns a status."""
    outcome = status.RUNNING
    if i > 0:  # the words of the previous position are still there
        outcome = work_through(code[of.PAST], code[of.PAST_END], i - 1, code, heap)
    if outcome != status.RUNNING:
        return outcome
    count = code[of.TOKEN_WORDS]
    for k in range(count):
        heap[k] = code[code[of.TOKENS] + token * count + k]
    for k in range(code[of.FEATURES], code[of.FEATURES_END], 5):
        read_feature(k, i, code, heap)
    ops = of.OPS if answered else of.UNANSWERED
    return work_through(code[ops], code[ops + 1], i, code, heap)


@kernel
def work_through(first: int, end: int, i: int, code: Integers, heap: Integers) -> int:
    """Execute a list of operations for position i; returns a status."""
    for k in range(first, end, 2):
        opcode, record, outcome = code[k], code[k + 1], status.RUNNING
        if opcode == of.BLOCK:
            outcome = recall(record, code, heap)
        elif opcode == of.KEEP_KEY:
            outcome = keep_key(record, i, code, heap)
        elif opcode == of.ASK:
            ask(record, code, heap)
        else:
            if opcode != of.FIND:
                outcome = keep_value(record, i, code, heap)
            if opcode != of.KEEP_VALUE and outcome == status.RUNNING:
                outcome = retrieve(record, code, heap)
                if code[of.EVERYTHING]:
                    write_down(record, code, heap)
        if outcome != status.RUNNING:
            return outcome
    return status.RUNNING


@kernel
def read_feature(k: int, i: int, code: Integers, heap: Integers) -> None:
    """Write a feature of the current position to its address."""
    word, shift = code[k + 3], code[k + 4]
    p, q = feature(code[k], code[k + 1], code[k + 2], i)
    if shift < 0:
        heap[word], heap[word + 1] = p, q
    else:
        heap[word] = (heap[word] & ~(3 << shift)) | (p << shift)


@kernel
def write_down(lookup: int, code: Integers, heap: Integers) -> None:
    """Also write the results of a lookup as fractions."""
    for k in range(code[lookup + of.FOUND], code[lookup + of.FOUND_END], 3):
        heap[code[k]], heap[code[k] + 1] = number_at(heap, code[k + 1], code[k + 2])
