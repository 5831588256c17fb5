"""Memoised blocks: groups of rows that are a function of a few earlier numbers, evaluated once per input.

Between the heads of one layer and those of the next, rows read one another. Rows connected in this way form a block,
whose inputs are registers of other stages. A block whose inputs are a subset of another block's is merged into that
one, and blocks with few inputs are merged. No block reads another one of its stage.

The results of a block are in a hash table whose keys are its input words, compared word by word, so a lookup never
returns another input's result. Blocks that are the same function share one table.

Blocks that read only -1, 0 and 1 and whose weights are integers, so that no number can overflow, are evaluated
incrementally. Few of their inputs change from one evaluation to the next: two bits of a position, on average. Rows keep
their sums. A change is pushed to the rows that read it, and only rows whose result may have changed are evaluated, in
order. Most units are 0 and stay 0: their sums change, but they are not evaluated.

Kernels must not index outside of an array, whatever the numbers: compiled code does not check bounds. Reader lists are
traversed by ``while``: numba unrolls ``for`` loops by four, and most lists are shorter.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from softmachine.engines.fast import status
from softmachine.engines.fast.analysis.grids import OVERFLOW_LIMIT
from softmachine.engines.fast.bytecode import layout as of
from softmachine.engines.fast.bytecode.hash_tables import entry_address, find, insert
from softmachine.engines.fast.bytecode.intrinsics import count_trailing_zeros, inline_kernel
from softmachine.engines.fast.bytecode.packed_trits import LANES, gather, nonzero_lanes, read_trit
from softmachine.engines.fast.bytecode.program import ProgramRow, RegisterProgram
from softmachine.engines.fast.bytecode.rows import IDENTITY, RELU, STEP, activate, evaluate_block
from softmachine.engines.fast.indexes.groups import compared, runtime_int
from softmachine.engines.fast.indexes.kernels import Integers, kernel

MAX_MERGED_INPUTS = 8
"""Blocks with at most this many inputs together are merged: a memo lookup costs about as much as computing them."""


@dataclass(frozen=True)
class RowBlock:
    """Rows that are computed and memoised together.

    Args:
        stage: The number of layers with heads before them.
        inputs: The registers that they read and do not compute.
        rows: The rows, in order of evaluation.
        has_logits: Whether the logits are among them.
    """

    stage: int
    inputs: tuple[int, ...]
    rows: tuple[ProgramRow, ...]
    has_logits: bool


def partition_rows(program: RegisterProgram) -> list[RowBlock]:
    """The blocks of a program, stage by stage."""
    kept = _needed_rows(program)
    maker = {row.register: row for row in kept}
    part = {row.register: row.register for row in kept}

    def root(place: int) -> int:
        while part[place] != place:
            part[place] = part[part[place]]
            place = part[place]
        return place

    for row in kept:
        for place in row.sum.terms:
            if place in maker and maker[place].stage == row.stage:
                part[root(row.register)] = root(place)
    for logit in program.logits:
        part[root(logit)] = root(program.logits[0])
    connected: dict[int, list[ProgramRow]] = {}
    for row in kept:
        connected.setdefault(root(row.register), []).append(row)
    answers = root(program.logits[0]) if program.logits else -1
    parts = [
        _PartialBlock(rows[0].stage, set(_find_inputs(rows)), rows, at == answers) for at, rows in connected.items()
    ]
    return _merge(program, parts)


def _needed_rows(program: RegisterProgram) -> list[ProgramRow]:
    """The rows that the output depends on, and constant units, whose values may be requested too."""
    needed = {*program.logits, *(row.register for row in program.rows if not row.sum.terms)}
    for lookup in program.lookups:
        needed |= {*lookup.values, *program.indexes[lookup.index].registers}
        needed |= {place for item in program.queries[lookup.query].factors for place in item.terms}
    kept = []
    for row in reversed(program.rows):
        if row.register in needed:
            needed |= set(row.sum.terms)
            kept.append(row)
    return kept[::-1]


def _find_inputs(rows: Sequence[ProgramRow]) -> set[int]:
    made = {row.register for row in rows}
    return {place for row in rows for place in row.sum.terms if place not in made}


@dataclass
class _PartialBlock:
    """A block that may still be merged into another one."""

    stage: int
    inputs: set[int]
    rows: list[ProgramRow]
    answers: bool


def _merge(program: RegisterProgram, parts: Sequence[_PartialBlock]) -> list[RowBlock]:
    """Merge blocks of a stage whose inputs are few, or a subset of another's; the block with the logits stays separate.

    Blocks whose inputs all have the same source (one block, one lookup, the token, or the position) are merged too:
    together they have no more different inputs than the source has values.
    """
    order = {row.register: k for k, row in enumerate(program.rows)}
    source: dict[int, object] = dict.fromkeys(program.embedding[0] if program.embedding else (), "token")
    source |= {place: "position" for *_, place in program.features}
    source |= {place: lookup for lookup in program.lookups for place in lookup.results}
    found: list[_PartialBlock] = []
    for stage in range(max((part.stage for part in parts), default=0) + 1):
        here: list[_PartialBlock] = []
        now = [part for part in parts if part.stage == stage]
        for part in sorted(now, key=lambda part: (part.answers, -len(part.inputs), order[part.rows[0].register])):
            sources = {source[place] for place in part.inputs}
            for other in () if part.answers else here:
                same = sources == {source[place] for place in other.inputs}
                if same or part.inputs <= other.inputs or len(part.inputs | other.inputs) <= MAX_MERGED_INPUTS:
                    other.rows += part.rows
                    other.inputs |= part.inputs
                    break
            else:
                here.append(part)
        here.sort(key=lambda part: (part.answers, min(order[row.register] for row in part.rows)))
        source |= {row.register: len(found) + k for k, part in enumerate(here) for row in part.rows}
        found += here
    return [
        RowBlock(
            part.stage,
            tuple(sorted(part.inputs)),
            tuple(sorted(part.rows, key=lambda row: order[row.register])),
            part.answers,
        )
        for part in found
    ]


DIRTY_BITS = 5
DIRTY_MASK = (1 << DIRTY_BITS) - 1
"""The low bits of a row's number select the bit in a word of the dirty set, the others select the word."""
ACT, WORD, SHIFT, READERS, READERS_END = range(5)
ROW_SIZE = 5
"""A row record: activation; output word, and shift there or one of the constants below; readers. A reader of a row:
row number, weight, and the row's floor. A reader of a lane: row number, contributions for -1, 0 and 1, and the
floor."""
FLOORS = {IDENTITY: -OVERFLOW_LIMIT, RELU: 0, STEP: -1}
"""Sums up to these all give the same result of the activation."""
UNREAD, AS_NUMBER = -1, -2
"""The shift of a row that is not written, and of one that is written as a number."""


class IncrementalRows:
    """The rows of a block for incremental evaluation, and their reader lists.

    A row that depends on a single number, which is -1, 0 or 1, is eliminated unless it is written: its readers read
    that number directly.

    Args:
        block: The block.
        written: The registers that are written.
    """

    def __init__(self, block: RowBlock, written: Collection[int]) -> None:
        of_one = {place: (place, (-1, 0, 1)) for place in block.inputs}
        for item in block.rows:
            sources = {of_one[place][0] if place in of_one else None for place in item.sum.terms}
            if len(sources) == 1 and None not in sources:
                parts = [(weight, of_one[place][1]) for place, weight in item.sum.terms.items()]
                sums = (item.sum.bias + sum(weight * values[k] for weight, values in parts) for k in range(3))
                minus, zero, plus = (int(activate(total, item.activation)) for total in sums)
                of_one[item.register] = next(place for place in sources if place is not None), (minus, zero, plus)
        self.rows = [item for item in block.rows if item.register in written or item.register not in of_one]
        self.initial_sums: list[int] = []
        """The sums while all inputs are 0."""
        self._inputs: dict[int, dict[int, list[int]]] = {place: {} for place in block.inputs}
        self._rows: dict[int, list[tuple[int, int]]] = {item.register: [] for item in self.rows}
        for number, item in enumerate(self.rows):
            self.initial_sums.append(int(item.sum.bias))
            for place, weight in item.sum.terms.items():
                if place in of_one:
                    source, values = of_one[place]
                    added = self._inputs[source].setdefault(number, [0, 0, 0])
                    added[:] = [old + int(weight) * new for old, new in zip(added, values, strict=True)]
                    self.initial_sums[-1] += int(weight) * values[1]
                else:
                    self._rows[place].append((number, int(weight)))

    def readers_of_input(self, place: int) -> list[tuple[int, ...]]:
        """The readers of an input of the block."""
        readers = [(number, added) for number, added in self._inputs[place].items() if len(set(added)) > 1]
        return [(number, *added, self._floor(number)) for number, added in readers]

    def readers_of_row(self, place: int) -> list[tuple[int, ...]]:
        """The readers of a row."""
        return [(number, weight, self._floor(number)) for number, weight in self._rows[place]]

    def _floor(self, number: int) -> int:
        return FLOORS[self.rows[number].activation]


@inline_kernel
def push_delta(row: int, more: int, floor: int, sums: int, changes: int, heap: Integers) -> None:
    """Add to the sum of a row, and mark it dirty unless its sum was and stays at or below its floor."""
    before = heap[sums + row]
    after = before + more
    heap[sums + row] = after
    heap[changes + (row >> DIRTY_BITS)] |= int(max(before, after) > floor) << (row & DIRTY_MASK)


@kernel
def apply_deltas(block: int, code: Integers, heap: Integers) -> int:
    """Evaluate a block incrementally and write its output words; returns a status."""
    last, before, changes = code[block + of.LAST_READ], code[block + of.LAST_INPUT], code[block + of.DIRTY]
    rows, sums, results = code[block + of.ROWS], code[block + of.SUMS], code[block + of.RESULTS]
    for k in range(code[block + of.WIDTH]):
        old, new = heap[before + k], heap[last + k]
        changed, readers = nonzero_lanes(old ^ new), code[block + of.READERS] + 2 * LANES * k
        heap[before + k] = new
        while changed:
            shift = count_trailing_zeros(changed)
            changed &= changed - 1
            one, other = read_trit(new, shift) + 2, read_trit(old, shift) + 2
            reader, end = code[readers + shift], code[readers + shift + 1]
            while reader < end:
                push_delta(
                    code[reader], code[reader + one] - code[reader + other], code[reader + 4], sums, changes, heap
                )
                reader += 5
    for k in range(code[block + of.DIRTY_WORDS]):
        while heap[changes + k]:
            number = (k << DIRTY_BITS) + count_trailing_zeros(heap[changes + k])
            heap[changes + k] &= heap[changes + k] - 1
            row = rows + ROW_SIZE * number
            new, old, act, shift = heap[sums + number], heap[results + number], code[row + ACT], code[row + SHIFT]
            if act == RELU:
                new = max(new, 0)
            elif act == STEP:
                new = 1 if new >= 0 else 0
            if new != old:
                heap[results + number] = new
                reader, end = code[row + READERS], code[row + READERS_END]
                while reader < end:
                    push_delta(code[reader], code[reader + 1] * (new - old), code[reader + 2], sums, changes, heap)
                    reader += 3
                if shift >= 0:
                    if new < -1 or new > 1:
                        return int(status.REPLAN + code[block + of.BLOCK_NUMBER])
                    heap[code[row + WORD]] ^= ((new ^ old) & 3) << shift
                elif shift == AS_NUMBER:
                    heap[code[row + WORD]] = new
    for k in range(code[block + of.WORDS]):
        heap[code[block + of.WORD] + k] = heap[code[block + of.DRAFT] + k]
    return status.RUNNING


TIED, TOO_LARGE = -1, -2


@inline_kernel
def memo_lookup(block: int, code: Integers, heap: Integers) -> int:
    """Write the output words of a block, from its memo table if possible; returns a status."""
    known, new = code[block + of.LAST_RESULT], gather(block, code, heap)
    if code[of.COMPUTE_ALL]:
        return compute_block(block, code, heap)
    if not new and heap[known] >= 0:
        return status.RUNNING
    first, count = code[block + of.WORD], code[block + of.WORDS]
    number = find(code[block + of.MEMO], heap[known] + 1, code[block + of.LAST_READ], code, heap)
    heap[known] = number
    if number < 0:
        return memo_insert(block, number, code, heap)
    answer = entry_address(code[block + of.MEMO], number, code, heap)
    for k in range(count):
        heap[first + k] = heap[answer + k]
    return status.RUNNING


@kernel
def memo_insert(block: int, missing: int, code: Integers, heap: Integers) -> int:
    """Compute a block and store its result in the memo table; returns a status."""
    outcome, store = compute_block(block, code, heap), code[block + of.MEMO]
    if outcome != status.RUNNING:
        return outcome
    number = insert(store, missing, code[block + of.LAST_READ], code, heap)
    if number < 0:
        return status.FULL
    answer = entry_address(store, number, code, heap)
    for k in range(code[block + of.WORDS]):
        heap[answer + k] = heap[code[block + of.WORD] + k]
    heap[code[block + of.LAST_RESULT]] = number
    return status.RUNNING


@kernel
def compute_block(block: int, code: Integers, heap: Integers) -> int:
    """Compute a block; returns a status."""
    outcome = apply_deltas(block, code, heap) if code[block + of.IS_INCREMENTAL] else evaluate_block(block, code, heap)
    if code[block + of.HAS_LOGITS]:
        heap[code[block + of.WORD]] = TOO_LARGE if outcome == status.TOO_LARGE else largest_logit(code, heap)
        return status.RUNNING
    return outcome


@kernel
def largest_logit(code: Integers, heap: Integers) -> int:
    """The argmax of the logits; TIED if there are several, TOO_LARGE if they cannot be compared without overflow."""
    first, out, ties = code[of.LOGITS], runtime_int(0), runtime_int(1)
    n, d = heap[first], heap[first + 1]
    for o in range(1, code[of.OUTPUTS]):
        p, q = heap[first + 2 * o], heap[first + 2 * o + 1]
        sign, bad = compared(p, q, n, d)
        if bad:
            return TOO_LARGE
        if sign > 0:
            out, ties, n, d = runtime_int(o), runtime_int(1), p, q
        elif sign == 0:
            ties += 1
    return out if ties == 1 else TIED
