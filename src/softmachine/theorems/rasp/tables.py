"""Functions of categorical values as tables: sums of bits, or one unit per row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod

from softmachine.ir import Signal, named
from softmachine.ir.gadgets import all_of
from softmachine.ir.ranges import BIT
from softmachine.ir.signal import Affine
from softmachine.languages.rasp import ir
from softmachine.languages.rasp.ir import UNDEFINED, Undefined
from softmachine.languages.rasp.values import PartialValue, identity_key
from softmachine.support.errors import ConstructionError, FixHint
from softmachine.theorems.rasp.integers import IntegerGadgets
from softmachine.theorems.rasp.values import Categorical, format_label, one_hot

MAX_ROWS = 1 << 14
"""The largest number of rows of a table."""


@dataclass(frozen=True)
class TableGadgets:
    """Builds the signals of tables.

    Args:
        integers: Gadgets for integers.
        length: The maximal length of words, up to which functions of two integers are tables; None to reject them.
    """

    integers: IntegerGadgets
    length: int | None = None

    @property
    def input_bit(self) -> Signal:
        """The bit that is 1 at input positions."""
        return self.integers.layout.input_bit

    def tabulate(
        self, name: str, operands: Sequence[Categorical], function: Callable[..., PartialValue]
    ) -> Categorical:
        """A function of categories: one unit per row; no unit if all operands are functions of one category."""
        varying = [operand for operand in operands if not operand.is_constant]
        roots = list({id(operand.root_or_self): operand.root_or_self for operand in varying}.values())
        if len(roots) == 1 and (len(varying) > 1 or varying[0].root is not None):
            (root,) = roots
            return self._from_root(root, [self._compose(root, operands, k, function) for k in range(len(root.values))])
        if len(varying) == 1:
            (root,) = varying
            place = next(k for k, operand in enumerate(operands) if operand is root)
            results = [
                function(*(value if k == place else operand.values[0] for k, operand in enumerate(operands)))
                for value in root.values
            ]
            return self._from_root(root, results)
        rows: dict[tuple[int, ...], PartialValue] = {
            indices: function(*(operand.values[k] for operand, k in zip(operands, indices, strict=True)))
            for indices in product(*(range(len(operand.values)) for operand in operands))
        }
        values = _distinct_values(rows.values())
        places = [k for k, operand in enumerate(operands) if not operand.is_constant]
        partial = any(operand.may_be_undefined for operand in varying) or UNDEFINED in rows.values()
        if not varying:
            bits = [self.input_bit.forms[0]] * len(values)
        else:
            bits = self._unit_per_row(name, operands, places, rows, values, partial)
        return Categorical(tuple(values), named(name, one_hot(values, bits)) if values else Signal((), ()), partial)

    @staticmethod
    def _compose(
        root: Categorical, operands: Sequence[Categorical], k: int, function: Callable[..., PartialValue]
    ) -> PartialValue:
        """The value of a composed function at the k-th value of the root category."""
        given: list[ir.Value] = []
        for operand in operands:
            place = 0 if operand.is_constant else k if operand is root else operand.root_image[k]
            if place < 0:
                return UNDEFINED
            given.append(operand.values[place])
        return function(*given)

    def _from_root(self, root: Categorical, results: Sequence[PartialValue]) -> Categorical:
        """A function of one category: sums of its bits; no unit."""
        values = _distinct_values(results)
        places = {identity_key(value): k for k, value in enumerate(values)}
        image = tuple(-1 if result is UNDEFINED else places[identity_key(result)] for result in results)
        forms = [
            Affine.sum(form for form, place in zip(root.bits.forms, image, strict=True) if place == k)
            for k in range(len(values))
        ]
        bits = one_hot(values, forms) if values else Signal((), ())
        return Categorical(tuple(values), bits, root.may_be_undefined or -1 in image, root, image)

    def _unit_per_row(
        self,
        name: str,
        operands: Sequence[Categorical],
        varying: Sequence[int],
        rows: dict[tuple[int, ...], PartialValue],
        values: Sequence[PartialValue],
        partial: bool,
    ) -> list[Affine]:
        """One unit per value and group of rows that differ in the last operand; the most frequent value is the rest."""
        *front, last = varying
        cases: dict[tuple[int, ...], dict[object, list[int]]] = {}
        for indices, value in rows.items():
            if value is not UNDEFINED:
                case = cases.setdefault(tuple(indices[k] for k in front), {})
                case.setdefault(identity_key(value), []).append(indices[last])
        grouped: dict[object, tuple[dict[object, list[int]], list[tuple[int, ...]]]] = {}
        for place, case in cases.items():
            shape = tuple((key, tuple(entries)) for key, entries in case.items())
            grouped.setdefault(shape if len(front) == 1 else place, (case, []))[1].append(place)
        forms: dict[object, list[Affine]] = {identity_key(value): [] for value in values}
        rest = None
        if not partial:
            sizes = {key: sum(len(case.get(key, ())) > 0 for case, _ in grouped.values()) for key in forms}
            rest = max(sizes, key=lambda key: sizes[key])
        for number, (case, places) in enumerate(grouped.values()):
            conditions = [_bits_at(operands[k], {place[m] for place in places}) for m, k in enumerate(front)]
            for key, entries in case.items():
                if key != rest:
                    bits = [*conditions, _bits_at(operands[last], set(entries))]
                    forms[key].append(all_of(f"{name}: row {number}", *bits).forms[0])
        sums = {key: Affine.sum(parts) for key, parts in forms.items()}
        if rest is not None:
            others = [form * Fraction(-1) for key, form in sums.items() if key != rest]
            sums[rest] = Affine.sum([self.input_bit.forms[0], *others])
        return list(sums.values())

    def table_of(
        self, name: str, operands: Sequence[Categorical], function: Callable[..., PartialValue]
    ) -> Categorical:
        """The table of a function.

        Raises:
            ConstructionError: If it has too many rows.
        """
        rows = prod(len(item.values) for item in operands)
        if rows > MAX_ROWS:
            raise ConstructionError(
                f"the table of a function of integers has {rows:,} rows; the limit is {MAX_ROWS:,}",
                hint=FixHint("choose a smaller length, for example {}", context=32),
            )
        return self.tabulate(name, operands, function)

    def choose_category(self, name: str, options: Sequence[tuple[Signal, Categorical]], partial: bool) -> Categorical:
        """The category whose bit is 1; zeros where no bit is."""
        values = list({identity_key(value): value for _, item in options for value in item.values}.values())
        sums: dict[object, list[Affine]] = {identity_key(value): [] for value in values}
        for k, (bit, item) in enumerate(options):
            for value in item.values:
                taken = (
                    bit if item.is_constant else all_of(f"{name}: {format_label(value)}, {k}", bit, item.bit_of(value))
                )
                sums[identity_key(value)].append(taken.forms[0])
        forms = [Affine.sum(parts) for parts in sums.values()]
        any_partial = partial or any(item.may_be_undefined for _, item in options)
        return Categorical(tuple(values), named(name, one_hot(values, forms)), any_partial)


def _distinct_values(results: Iterable[PartialValue]) -> list[ir.Value]:
    """The distinct defined values."""
    return list({identity_key(value): value for value in results if not isinstance(value, Undefined)}.values())


def _bits_at(category: Categorical, indices: set[int]) -> Signal:
    return Signal((Affine.sum(category.bits.forms[k] for k in sorted(indices)),), (BIT,))
