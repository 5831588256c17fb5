"""Logits: the last hidden units, the logits, and their argmax.

The next token is a function of the token and a few numbers. If these are integers, it is memoised (see `choose_memo`):
small ones index a table. Where that table would be too large, a direct-mapped hash table holds the full key with each
answer and compares it: on a mismatch the answer is computed and replaces the entry.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd

import numpy as np

from softmachine.engines.fast.analysis.grids import OVERFLOW_LIMIT, LinearNumerator, NumberRanges
from softmachine.engines.fast.analysis.unrolled_program import UnrolledHead, UnrolledProgram
from softmachine.engines.fast.indexes.kernels import Integers, kernel
from softmachine.ir.primitives import Named, Unit
from softmachine.ir.signal import Atom, Node

UNKNOWN = -1
MAX_TABLE = 1 << 20
"""Maximum number of entries of a table."""
MIN_REACH, MAX_REACH = 1, 7
"""A table covers at least the integers from -1 to 2, and at most those from -7 to 8."""
SLOTS = 1 << 15
"""Slots of a hash table: a power of two, small enough for a core's cache together with the other data of a run."""
SPREAD, GOLDEN = 0x5BD1E995, 0x9E3779B1
"""Multiplicative hashing (Knuth, volume 3, section 6.4), on 31 bits at a time to avoid overflow."""
LOW = (1 << 31) - 1


@dataclass(frozen=True)
class TableMemo:
    """Memoisation in a table indexed by the integers.

    Args:
        vocabulary: The number of tokens.
        count: The number of integers.
        reach: The table covers integers from -reach to reach + 1.
    """

    vocabulary: int
    count: int
    reach: int

    @property
    def span(self) -> int:
        """The number of values per integer."""
        return 2 * self.reach + 2

    def empty_array(self) -> Integers:
        """An empty table."""
        return np.full(self.vocabulary * self.span**self.count, UNKNOWN, dtype=np.int64)

    def emit_lookup(self, names: Sequence[str]) -> Iterator[str]:
        """Lines that look up the answer: ``out``, negative if it is not stored."""
        within = " and ".join(f"{-self.reach} <= {name} <= {self.reach + 1}" for name in names) or "True"
        index = f"token * {self.span**self.count}"
        for k, name in enumerate(names):
            index += f" + ({name} + {self.reach}) * {self.span**k}"
        yield "at, out = -1, -1"
        yield f"if {within}:"
        yield f"    at = {index}"
        yield "    out = memory[at]"

    def emit_store(self, names: Sequence[str]) -> Iterator[str]:
        """Lines that store an answer."""
        del names
        yield "if at >= 0 and out >= 0:"
        yield "    memory[at] = out"

    def __str__(self) -> str:
        return "memoised for small values"


@dataclass(frozen=True)
class HashMemo:
    """Memoisation in a hash table; a slot holds the token, the integers and the answer.

    Args:
        count: The number of integers.
    """

    count: int

    @property
    def stride(self) -> int:
        """The number of integers per slot."""
        return self.count + 2

    def empty_array(self) -> Integers:
        """An empty hash table."""
        return np.full(SLOTS * self.stride, UNKNOWN, dtype=np.int64)

    def emit_lookup(self, names: Sequence[str]) -> Iterator[str]:
        """Lines that look up the answer: ``out``, negative if it is not stored."""
        yield "at = token"
        for name in names:
            yield f"at = (at * {SPREAD} + {name}) & {LOW}"
        yield f"at = (at * {GOLDEN} >> 16 & {SLOTS - 1}) * {self.stride}"
        same = [f"memory[at + {k}] == {name}" for k, name in enumerate(("token", *names))]
        yield f"out = memory[at + {self.stride - 1}] if {' and '.join(same)} else {UNKNOWN}"

    def emit_store(self, names: Sequence[str]) -> Iterator[str]:
        """Lines that store an answer."""
        yield "if out >= 0:"
        for k, name in enumerate(("token", *names, "out")):
            yield f"    memory[at + {k}] = {name}"

    def __str__(self) -> str:
        return f"memoised in {SLOTS:,} slots"


def choose_memo(vocabulary: int, count: int) -> TableMemo | HashMemo:
    """Choose the memoisation for answers that depend on the token and ``count`` integers."""
    reach = -1
    while reach < MAX_REACH and vocabulary * (2 * (reach + 1) + 2) ** count <= MAX_TABLE:
        reach += 1
    return TableMemo(vocabulary, count, reach) if reach >= MIN_REACH else HashMemo(count)


Direction = tuple[tuple[Atom, int], ...]
"""An integer combination of atoms."""
TIED = -2
RELU, STEP, IDENTITY = range(3)


@dataclass(frozen=True)
class LogitCode:
    """The last units and the logits as data.

    Args:
        units: The atoms that are computed here, in order.
        directions: The integer combinations of other atoms that units and logits depend on.
        independent: The directions that determine the others.
        data: The arrays for `decide`.
        memo: The memoisation of the output.
    """

    units: frozenset[Atom]
    directions: tuple[Direction, ...]
    independent: tuple[int, ...]
    data: tuple[Integers, ...]
    memo: TableMemo | HashMemo


def logit_code(program: UnrolledProgram, numbers: NumberRanges) -> LogitCode | None:
    """The last units and logits of a program as data; None if they are not integers without overflow."""
    units = _last_units(program)
    found = [numbers.linear(node.forms) for node in units.values()]
    logits = numbers.linear(list(program.logits))
    if logits is None or any(part is None for part in found):
        return None
    first = [part[0] for part in found if part]
    if any(part.grid.power or part.size >= OVERFLOW_LIMIT for part in (*first, *logits)):
        return None
    directions: dict[Direction, int] = {}
    columns = {atom: column for column, atom in enumerate(units)}
    unit_rows = [_row(part, directions, columns) for part in first]
    logit_rows = [_row(part, directions, columns) for part in logits]
    functions = [
        IDENTITY if isinstance(node, Named) else STEP if node.activation == "step" else RELU for node in units.values()
    ]
    vocabulary = program.vocabulary_size
    data = (
        _tables(first, vocabulary),
        *_sparse(unit_rows),
        np.array(functions, dtype=np.int64),
        _tables(logits, vocabulary),
        *_sparse(logit_rows),
    )
    independent = _independent(list(directions))
    memo = choose_memo(vocabulary, len(independent))
    return LogitCode(frozenset(units), tuple(directions), independent, data, memo)


def _last_units(program: UnrolledProgram) -> dict[Atom, Unit | Named]:
    """The units that only the logits read, and the sums shared by logits."""
    readers: list[Node] = [node for node, _ in program.atoms if isinstance(node, Unit)]
    readers += [item for item in program.order if isinstance(item, UnrolledHead)]
    read = {atom for node in readers for form in node.inputs() for atom in form.terms}
    units = {item: item[0] for item in program.order if not isinstance(item, UnrolledHead) and item not in read}
    return {atom: node for atom, node in units.items() if isinstance(node, Unit | Named)}


def _row(part: LinearNumerator, directions: dict[Direction, int], units: Mapping[Atom, int]) -> list[tuple[int, int]]:
    """A numerator as (column, coefficient): first the units, one column each, then the directions."""
    rest = tuple((atom, coefficient) for coefficient, _, atom in part.terms if atom and atom not in units)
    row = [(units[atom], coefficient) for coefficient, _, atom in part.terms if atom and atom in units]
    if rest:
        common = gcd(*(coefficient for _, coefficient in rest)) * (1 if rest[0][1] > 0 else -1)
        direction = tuple((atom, coefficient // common) for atom, coefficient in rest)
        row.append((len(units) + directions.setdefault(direction, len(directions)), common))
    return row


def _tables(parts: Sequence[LinearNumerator], vocabulary: int) -> Integers:
    """For each token, the part of each sum determined by the token and the constants."""
    found = np.zeros((vocabulary, len(parts)), dtype=np.int64)
    for column, part in enumerate(parts):
        found[:, column] = part.table or 0
        found[:, column] += sum(coefficient for coefficient, _, atom in part.terms if atom is None)
    return found


def _sparse(rows: Sequence[Sequence[tuple[int, int]]]) -> tuple[Integers, ...]:
    """Sparse rows in CSR form: row starts, columns, coefficients."""
    starts = np.cumsum([0, *map(len, rows)])
    flat = [entry for row in rows for entry in row]
    columns, values = ([entry[k] for entry in flat] for k in (0, 1))
    return tuple(np.array(part, dtype=np.int64) for part in (starts, columns, values))


def _independent(directions: Sequence[Direction]) -> tuple[int, ...]:
    """The directions that are not linear combinations of earlier ones."""
    columns: dict[Atom, int] = {}
    basis: dict[int, dict[int, Fraction]] = {}
    found = []
    for index, direction in enumerate(directions):
        row = {columns.setdefault(atom, len(columns)): Fraction(coefficient) for atom, coefficient in direction}
        while row:
            lead = min(row)
            if lead not in basis:
                basis[lead] = {column: value / row[lead] for column, value in row.items()}
                found.append(index)
                break
            factor = row[lead]
            for column, value in basis[lead].items():
                row[column] = row.get(column, Fraction(0)) - factor * value
            row = {column: value for column, value in row.items() if value}
    return tuple(found)


@kernel
def decide(
    token: int,
    directions: Integers,
    hidden: Integers,
    logits: Integers,
    unit_tables: Integers,
    unit_starts: Integers,
    unit_columns: Integers,
    unit_values: Integers,
    functions: Integers,
    logit_tables: Integers,
    logit_starts: Integers,
    logit_columns: Integers,
    logit_values: Integers,
) -> int:
    """The output of the largest logit; `TIED` if there are several."""
    units = functions.size
    for u in range(units):
        total = unit_tables[token, u]
        for k in range(unit_starts[u], unit_starts[u + 1]):
            column = unit_columns[k]
            total += unit_values[k] * (hidden[column] if column < units else directions[column - units])
        if functions[u] == STEP:
            hidden[u] = 1 if total >= 0 else 0
        else:
            hidden[u] = max(total, 0) if functions[u] == RELU else total
    best, ties = 0, 1
    for o in range(logits.size):
        total = logit_tables[token, o]
        for k in range(logit_starts[o], logit_starts[o + 1]):
            column = logit_columns[k]
            total += logit_values[k] * (hidden[column] if column < units else directions[column - units])
        logits[o] = total
        if o > 0:
            if total > logits[best]:
                best, ties = o, 1
            elif total == logits[best]:
                ties += 1
    return best if ties == 1 else TIED
