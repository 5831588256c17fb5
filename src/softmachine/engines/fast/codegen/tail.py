"""Logits: the last hidden units, the logits, and their argmax.

The next token is a function of the token and a few numbers, so it is memoised; see `remembering`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd

import numpy as np

from softmachine.engines.fast.analysis.flow import Flow, FlowHead, Unit
from softmachine.engines.fast.analysis.grids import ONE, SAFE, Linear, Numbers
from softmachine.engines.fast.codegen.remembering import Direct, Hashed, remembering
from softmachine.engines.fast.indexes.kernels import Integers, kernel

Direction = tuple[tuple[int, int], ...]
TIED = -2
RELU, STEP, IDENTITY = range(3)
FUNCTION = {"relu": RELU, "step": STEP, "identity": IDENTITY}


@dataclass(frozen=True)
class Tail:
    """The last units and the logits as data.

    Args:
        units: The atoms that are computed here, in order.
        directions: The integer combinations of other atoms that units and logits depend on.
        independent: The directions that determine the others.
        data: The arrays for `decide`.
        memory: The memoisation of the output.
    """

    units: frozenset[int]
    directions: tuple[Direction, ...]
    independent: tuple[int, ...]
    data: tuple[Integers, ...]
    memory: Direct | Hashed


def tail_of(flow: Flow, numbers: Numbers) -> Tail | None:
    """The last units and logits of a graph as data; None if they are not integers without overflow."""
    units = _last_units(flow)
    found = [numbers.linear([unit.form]) for unit in units.values()]
    logits = numbers.linear(list(flow.logits))
    if logits is None or any(part is None for part in found):
        return None
    first = [part[0] for part in found if part]
    if any(part.grid.power or part.size >= SAFE for part in (*first, *logits)):
        return None
    directions: dict[Direction, int] = {}
    columns = {number: column for column, number in enumerate(units)}
    unit_rows = [_row(part, directions, columns) for part in first]
    logit_rows = [_row(part, directions, columns) for part in logits]
    functions = [FUNCTION[unit.function] for unit in units.values()]
    data = (
        _tables(first, flow.vocabulary),
        *_sparse(unit_rows),
        np.array(functions, dtype=np.int64),
        _tables(logits, flow.vocabulary),
        *_sparse(logit_rows),
    )
    independent = _independent(list(directions))
    return Tail(frozenset(units), tuple(directions), independent, data, remembering(flow.vocabulary, len(independent)))


def _last_units(flow: Flow) -> dict[int, Unit]:
    """The units that only the logits read, and the sums shared by logits."""
    sums = {n: item for n, item in enumerate(flow.atoms) if isinstance(item, Unit) and item.function == "identity"}
    read = {n for k, item in enumerate(flow.atoms) if isinstance(item, Unit) and k not in sums for n in item.form.terms}
    for item in flow.order:
        if isinstance(item, FlowHead):
            read |= {n for form in (*item.query, *item.key, *item.value) for n in form.terms}
    units = {n: unit for n in flow.order if isinstance(n, int) and isinstance(unit := flow.atoms[n], Unit)}
    return {n: unit for n, unit in units.items() if n not in read}


def _row(part: Linear, directions: dict[Direction, int], units: Mapping[int, int]) -> list[tuple[int, int]]:
    """A numerator as (column, coefficient): first the units, one column each, then the directions."""
    rest = tuple(
        (number, coefficient) for coefficient, _, number in part.terms if number != ONE and number not in units
    )
    row = [(units[number], coefficient) for coefficient, _, number in part.terms if number in units]
    if rest:
        common = gcd(*(coefficient for _, coefficient in rest)) * (1 if rest[0][1] > 0 else -1)
        direction = tuple((number, coefficient // common) for number, coefficient in rest)
        row.append((len(units) + directions.setdefault(direction, len(directions)), common))
    return row


def _tables(parts: Sequence[Linear], vocabulary: int) -> Integers:
    """For each token, the part of each sum determined by the token and the constants."""
    found = np.zeros((vocabulary, len(parts)), dtype=np.int64)
    for column, part in enumerate(parts):
        found[:, column] = part.table or 0
        found[:, column] += sum(coefficient for coefficient, _, number in part.terms if number == ONE)
    return found


def _sparse(rows: Sequence[Sequence[tuple[int, int]]]) -> tuple[Integers, ...]:
    """Sparse rows in CSR form: row starts, columns, coefficients."""
    starts = np.cumsum([0, *map(len, rows)])
    flat = [entry for row in rows for entry in row]
    columns, values = ([entry[k] for entry in flat] for k in (0, 1))
    return tuple(np.array(part, dtype=np.int64) for part in (starts, columns, values))


def _independent(directions: Sequence[Direction]) -> tuple[int, ...]:
    """The directions that are not linear combinations of earlier ones."""
    basis: dict[int, dict[int, Fraction]] = {}
    found = []
    for index, direction in enumerate(directions):
        row = {number: Fraction(coefficient) for number, coefficient in direction}
        while row:
            lead = min(row)
            if lead not in basis:
                basis[lead] = {number: value / row[lead] for number, value in row.items()}
                found.append(index)
                break
            factor = row[lead]
            for number, value in basis[lead].items():
                row[number] = row.get(number, Fraction(0)) - factor * value
            row = {number: value for number, value in row.items() if value}
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
