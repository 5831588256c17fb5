"""Guards: what is known of finite variables together, or in a row of a table, besides the values of each.

Only sums of which something is likely to be known are tried: of bits that one head retrieves, of components of one
named vector, of units that read the same variables, of two opposite lookups.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations
from math import lcm
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from softmachine.ir.facts import INFINITY, ONE, ZERO, Fact
from softmachine.ir.function_tables import Column, FunctionTables, sum_columns
from softmachine.ir.piecewise import Guard
from softmachine.ir.primitives import Attention, Named, Token, Unit
from softmachine.ir.signal import Affine, Atom, Node, topological_order
from softmachine.transformer.attention import Mask

if TYPE_CHECKING:
    from softmachine.ir.analysis import Analysis


class RowBounds(NamedTuple):
    """The smallest and the largest value of a variable in each row, and guards where these are narrower than in all."""

    low: Column
    high: Column
    guards: list[Guard]


def find_guards(analysis: Analysis, variables: Sequence[Atom], tables: FunctionTables) -> list[Guard]:
    """Return bounds of sums of some variables, and of variables in the rows of a table."""
    found = []
    bits = [atom for atom in variables if analysis.facts[atom].is_bit]
    for atoms in _group(bits):
        fact = _fact_of_sum(analysis, atoms)
        if fact.high < len(atoms) or fact.low > 0:
            found.append(Guard(frozenset(atoms), fact.low, fact.high))
    lookups = [atom for atom in bits if isinstance(atom[0], Attention) and analysis.heads[atom[0]].index is not None]
    pairs = (pair for pair in combinations(lookups, 2) if _are_exclusive(analysis, *pair))
    found += [Guard(frozenset(pair), ZERO, ONE) for pair in pairs]
    bounds = (bounds_in_rows(analysis, tables, atom) for atom in variables)
    return [*found, *(guard for bound in bounds if bound is not None for guard in bound.guards)]


def _group(bits: Iterable[Atom]) -> list[list[Atom]]:
    """Groups of bits of whose sum something may be known."""
    groups: defaultdict[object, list[Atom]] = defaultdict(list)
    for node, k in bits:
        match node:
            case Attention():
                groups[node].append((node, k))
            case Named() if "[" in node.name:
                groups[node.name.rpartition("[")[0]].append((node, k))
            case Unit():
                groups[frozenset(a for a in node.forms[k].terms if not isinstance(a[0], Token))].append((node, k))
    return [atoms for atoms in groups.values() if len(atoms) > 1]


def _fact_of_sum(analysis: Analysis, atoms: Sequence[Atom]) -> Fact:
    """What is known of a sum: for a head, of that of its values; for named numbers, of that of their forms."""
    node = atoms[0][0]
    if isinstance(node, Attention):
        fact = analysis.of(Affine.sum(node.value[k] for _, k in atoms))
        return fact.join(Fact.of([ZERO])) if node.mask in (Mask.PAST, Mask.FUTURE) else fact
    if isinstance(node, Named):
        named = [node for node, _ in atoms if isinstance(node, Named)]
        form = Affine.sum(node.forms[k] for node, (_, k) in zip(named, atoms, strict=True))
        return analysis.of(form, min(named, key=analysis.order.__getitem__))
    return analysis.of(Affine(dict.fromkeys(atoms, ONE)))


def _are_exclusive(analysis: Analysis, one: Atom, other: Atom) -> bool:
    """Whether the lemma of opposite lookups shows that at most one of two bits is 1.

    **Lemma (opposite lookups).** Let two lookups ask for the positions X and -cX, with c > 0. One of these is at most
    0, so that the lookup retrieves the value of position 0. If that is 0 for both, at most one value is not 0.
    """
    (first, k), (second, m) = one, other
    if not isinstance(first, Attention) or not isinstance(second, Attention):
        return False
    index, opposite = analysis.heads[first].index, analysis.heads[second].index
    if index is None or opposite is None or not index.terms:
        return False
    atom = next(iter(index.terms))
    factor = opposite.terms.get(atom, ZERO) / index.terms[atom]
    starts = all(
        node.mask in (Mask.CAUSAL, Mask.ALL, Mask.PAST) and analysis.first.split(value) == (ZERO, Affine({}))
        for node, value in ((first, first.value[k]), (second, second.value[m]))
    )
    return starts and factor < 0 and index * factor == opposite


def bounds_in_rows(analysis: Analysis, tables: FunctionTables, atom: Atom) -> RowBounds | None:
    """Return the bounds of an atom in each row of a table; None if these are the same in all rows."""
    known = _known_bounds(analysis, tables)

    def inputs(node: Node) -> Iterable[Affine]:
        return node.inputs() if _is_piecewise(node) and not tables.has(node) else ()

    for node in topological_order([Affine({atom: ONE})], inputs, known):
        forms = node.forms if isinstance(node, Unit | Named) and _is_piecewise(node) and not tables.has(node) else ()
        known[node] = [_bounds_of_form(analysis, tables, (node, k), form) for k, form in enumerate(forms)]
    return known[atom[0]][atom[1]] if known[atom[0]] else None


def _known_bounds(analysis: Analysis, tables: FunctionTables) -> dict[Node, list[RowBounds | None]]:
    return analysis.bounds_by_place if tables.has_positions else analysis.bounds_by_token


def _is_piecewise(node: Node) -> bool:
    return isinstance(node, Named) or (isinstance(node, Unit) and node.activation == "relu")


def _bounds_of_form(analysis: Analysis, tables: FunctionTables, own: Atom, form: Affine) -> RowBounds | None:
    """The bounds of an atom that has the value of a form, or its positive part."""
    known, fact = _known_bounds(analysis, tables), analysis.facts[own]
    local = Affine({atom: factor for atom, factor in form.terms.items() if tables.has(atom[0])}, form.constant)
    lows, highs = ([(ONE, tables.column(local))] if local.terms else [] for _ in range(2))
    low = high = ZERO if local.terms else form.constant
    for (node, k), factor in form.terms.items():
        if (node, k) in local.terms:
            continue
        bounds, inner = known[node][k] if known[node] else None, analysis.facts[node, k]
        if bounds is None:
            ends = factor * inner.low, factor * inner.high
            low, high = low + min(ends), high + max(ends)
        else:
            lows.append((factor, bounds[factor < 0]))
            highs.append((factor, bounds[factor > 0]))
    if not lows or INFINITY in (abs(low), abs(high), fact.size):
        return None
    rows = len(tables.rows)
    least, most = _clip(sum_columns(lows, low, rows), fact), _clip(sum_columns(highs, high, rows), fact)
    ends = (least, ZERO, 2 * fact.size, fact.low), (most, -2 * fact.size, ZERO, fact.high)
    guards = [
        Guard(frozenset([own]), below, above, Column(-column.numerators, column.denominator))
        for column, below, above, end in ends
        if (column.numerators * end.denominator != end.numerator * column.denominator).any()
    ]
    return RowBounds(least, most, guards)


def _clip(column: Column, fact: Fact) -> Column:
    """A column, between the bounds of a fact."""
    over = lcm(column.denominator, fact.low.denominator, fact.high.denominator)
    numerators = column.numerators * (over // column.denominator)
    return Column(np.clip(numerators, int(fact.low * over), int(fact.high * over)), over)
