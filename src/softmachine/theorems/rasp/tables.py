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
from softmachine.languages.rasp.values import Result, identity
from softmachine.support.errors import ConstructionError, Remedy
from softmachine.theorems.rasp.integers import Finder
from softmachine.theorems.rasp.values import Category, one_hot, shown

MOST_ROWS = 1 << 14
"""The largest number of rows of a table."""


@dataclass(frozen=True)
class Tables:
    """Builds the signals of tables.

    Args:
        finder: Gadgets for integers.
        length: The maximal length of words, up to which functions of two integers are tables; None to reject them.
    """

    finder: Finder
    length: int | None = None

    @property
    def letter(self) -> Signal:
        """The bit that is 1 at input positions."""
        return self.finder.frame.letter

    def tabulated(self, name: str, operands: Sequence[Category], function: Callable[..., Result]) -> Category:
        """A function of categories: one unit per row; no unit if all operands are functions of one category."""
        varying = [operand for operand in operands if not operand.constant]
        roots = list({id(operand.source): operand.source for operand in varying}.values())
        if len(roots) == 1 and (len(varying) > 1 or varying[0].root is not None):
            (root,) = roots
            return self._of_root(root, [self._through(root, operands, k, function) for k in range(len(root.values))])
        if len(varying) == 1:
            (root,) = varying
            place = next(k for k, operand in enumerate(operands) if operand is root)
            results = [
                function(*(value if k == place else operand.values[0] for k, operand in enumerate(operands)))
                for value in root.values
            ]
            return self._of_root(root, results)
        rows: dict[tuple[int, ...], Result] = {
            indices: function(*(operand.values[k] for operand, k in zip(operands, indices, strict=True)))
            for indices in product(*(range(len(operand.values)) for operand in operands))
        }
        values = _distinct(rows.values())
        places = [k for k, operand in enumerate(operands) if not operand.constant]
        partial = any(operand.partial for operand in varying) or UNDEFINED in rows.values()
        if not varying:
            bits = [self.letter.forms[0]] * len(values)
        else:
            bits = self._units(name, operands, places, rows, values, partial)
        return Category(tuple(values), named(name, one_hot(values, bits)) if values else Signal((), ()), partial)

    @staticmethod
    def _through(root: Category, operands: Sequence[Category], k: int, function: Callable[..., Result]) -> Result:
        """The value of a composed function at the k-th value of the root category."""
        given: list[ir.Value] = []
        for operand in operands:
            place = 0 if operand.constant else k if operand is root else operand.image[k]
            if place < 0:
                return UNDEFINED
            given.append(operand.values[place])
        return function(*given)

    def _of_root(self, root: Category, results: Sequence[Result]) -> Category:
        """A function of one category: sums of its bits; no unit."""
        values = _distinct(results)
        places = {identity(value): k for k, value in enumerate(values)}
        image = tuple(-1 if result is UNDEFINED else places[identity(result)] for result in results)
        forms = [
            Affine.sum(form for form, place in zip(root.bits.forms, image, strict=True) if place == k)
            for k in range(len(values))
        ]
        bits = one_hot(values, forms) if values else Signal((), ())
        return Category(tuple(values), bits, root.partial or -1 in image, root, image)

    def _units(
        self,
        name: str,
        operands: Sequence[Category],
        varying: Sequence[int],
        rows: dict[tuple[int, ...], Result],
        values: Sequence[Result],
        partial: bool,
    ) -> list[Affine]:
        """One unit per value and group of rows that differ in the last operand; the most frequent value is the rest."""
        *front, last = varying
        cases: dict[tuple[int, ...], dict[object, list[int]]] = {}
        for indices, value in rows.items():
            if value is not UNDEFINED:
                case = cases.setdefault(tuple(indices[k] for k in front), {})
                case.setdefault(identity(value), []).append(indices[last])
        grouped: dict[object, tuple[dict[object, list[int]], list[tuple[int, ...]]]] = {}
        for place, case in cases.items():
            shape = tuple((key, tuple(entries)) for key, entries in case.items())
            grouped.setdefault(shape if len(front) == 1 else place, (case, []))[1].append(place)
        forms: dict[object, list[Affine]] = {identity(value): [] for value in values}
        rest = None
        if not partial:
            sizes = {key: sum(len(case.get(key, ())) > 0 for case, _ in grouped.values()) for key in forms}
            rest = max(sizes, key=lambda key: sizes[key])
        for number, (case, places) in enumerate(grouped.values()):
            conditions = [_among(operands[k], {place[m] for place in places}) for m, k in enumerate(front)]
            for key, entries in case.items():
                if key != rest:
                    bits = [*conditions, _among(operands[last], set(entries))]
                    forms[key].append(all_of(f"{name}: row {number}", *bits).forms[0])
        sums = {key: Affine.sum(parts) for key, parts in forms.items()}
        if rest is not None:
            others = [form * Fraction(-1) for key, form in sums.items() if key != rest]
            sums[rest] = Affine.sum([self.letter.forms[0], *others])
        return list(sums.values())

    def table_of(self, name: str, operands: Sequence[Category], function: Callable[..., Result]) -> Category:
        """The table of a function.

        Raises:
            ConstructionError: If it has too many rows.
        """
        rows = prod(len(item.values) for item in operands)
        if rows > MOST_ROWS:
            raise ConstructionError(
                f"the table of a function of integers has {rows:,} rows; the limit is {MOST_ROWS:,}",
                hint=Remedy("choose a smaller length, for example {}", context=32),
            )
        return self.tabulated(name, operands, function)

    def chosen_category(self, name: str, options: Sequence[tuple[Signal, Category]], partial: bool) -> Category:
        """The category whose bit is 1; zeros where no bit is."""
        values = list({identity(value): value for _, item in options for value in item.values}.values())
        sums: dict[object, list[Affine]] = {identity(value): [] for value in values}
        for k, (bit, item) in enumerate(options):
            for value in item.values:
                taken = bit if item.constant else all_of(f"{name}: {shown(value)}, {k}", bit, item.bit(value))
                sums[identity(value)].append(taken.forms[0])
        forms = [Affine.sum(parts) for parts in sums.values()]
        any_partial = partial or any(item.partial for _, item in options)
        return Category(tuple(values), named(name, one_hot(values, forms)), any_partial)


def _distinct(results: Iterable[Result]) -> list[ir.Value]:
    """The distinct defined values."""
    return list({identity(value): value for value in results if not isinstance(value, Undefined)}.values())


def _among(category: Category, indices: set[int]) -> Signal:
    return Signal((Affine.sum(category.bits.forms[k] for k in sorted(indices)),), (BIT,))
