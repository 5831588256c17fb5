"""Replay: reads a run's tokens again and records some of its numbers, position by position.

Audits and inspections of long runs take the values at earlier positions from here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from softmachine.engines.fast.analysis.flow import Position
from softmachine.engines.fast.codegen.emitted import Emitted
from softmachine.engines.fast.columns import Block
from softmachine.engines.fast.indexes.memory import Memory
from softmachine.engines.fast.tables.interpreted import Interpreted
from softmachine.engines.fast.tables.memory import TableMemory
from softmachine.engines.fast.tokens import Tokens

if TYPE_CHECKING:
    from softmachine.engines.fast.engine import FastEngine, FastPass

Record = NDArray[np.int64]


def read_again(engine: FastEngine, tokens: Tokens, count: int, atoms: Sequence[int], size: int) -> Iterator[Block]:
    """Read tokens again in blocks of ``size`` positions, recording some atoms.

    Memory is that of the run's own arrays and of one block. A block is valid until the next one is requested.

    Args:
        engine: The engine.
        tokens: The tokens.
        count: How many of them to read.
        atoms: The numbers of units and of retrieved values.
        size: The positions per block.
    """
    records = _record_blocks(engine, tokens, count, atoms, size) if atoms else None
    places = {number: 2 * k for k, number in enumerate(atoms)}
    for first in range(0, count, size):
        here = tokens.between(first, min(first + size, count))
        yield Block(first, here, next(records) if records else None, places)


def _record_blocks(engine: FastEngine, tokens: Tokens, count: int, atoms: Sequence[int], size: int) -> Iterator[Record]:
    """The numerators and denominators of the atoms, block by block."""
    record: Record = np.zeros((min(size, count), 2 * len(atoms)), dtype=np.int64)
    run, code = None, engine.code
    for start in range(0, count, size):
        stop = min(start + size, count)
        while run is None or run.read < stop:
            if run is None or code is not engine.code:  # the plan changed: restart; only the last block is kept
                run, code = engine.reading(tokens, count), engine.code
            if isinstance(code, Emitted):
                _run_recording_code(engine, run, atoms, record, stop)
            else:
                _record_position(engine, run, code, atoms, record)
        yield record[: stop - start]


def _run_recording_code(engine: FastEngine, run: FastPass, atoms: Sequence[int], record: Record, stop: int) -> None:
    """Read on with code that records."""
    code, advance = engine.recording(tuple(atoms))
    if not isinstance(run.memory, Memory) or run.memory.code is not code:
        run.memory = Memory(code, record)
    run.call(advance, stop)


def _record_position(
    engine: FastEngine, run: FastPass, code: Interpreted, atoms: Sequence[int], record: Record
) -> None:
    """Read one position of a large model, in which every number has a register."""
    items = [item for number in atoms if not isinstance(item := engine.flow.atoms[number], Position)]
    places, here = [code.program.place(item) for item in items], run.read
    if not (isinstance(run.memory, TableMemory) and run.memory.everything):
        run.memory = TableMemory(code, everything=True)
    run.call(engine.advance, here + 1)
    if run.read == here + 1 and isinstance(run.memory, TableMemory):
        record[here % len(record)] = [part for place in places for part in run.memory.number(place)]
