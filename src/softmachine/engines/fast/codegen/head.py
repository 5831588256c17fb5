"""Common parts of the code of all heads: storing the position's key and value, naming the retrieved values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from softmachine.engines.fast.analysis.grids import NumberRange
from softmachine.engines.fast.analysis.plans import IndexPlan
from softmachine.engines.fast.codegen.expressions import CURRENT, PositionNames, Writer
from softmachine.engines.fast.indexes.arrays import FeatureTable, Storage
from softmachine.ir.signal import Affine, Atom

AnyStorage = TypeVar("AnyStorage", bound=Storage)


@dataclass
class HeadWriter(Writer):
    """Emits the code of heads, one after the other.

    Args:
        scalars: Variables kept between positions.
        commits: (scalar, expression): their values at the end of a step.
        storages: Arrays kept between positions.
        prologue: Lines at the start of a step: insertion of keys that only later positions see.
        forms_elsewhere: Forms evaluated on the tokens of other positions.
        head_count: The number of heads emitted.
    """

    scalars: list[str] = field(default_factory=list)
    commits: list[tuple[str, str]] = field(default_factory=list)
    storages: list[Storage] = field(default_factory=list)
    prologue: list[str] = field(default_factory=list)
    forms_elsewhere: list[Affine] = field(default_factory=list)
    head_count: int = 0

    def declare_scalar(self, name: str, becomes: str) -> str:
        """Declare a variable kept between positions, and the expression for its value at the end of a step."""
        self.scalars.append(name)
        self.commits.append((name, becomes))
        return name

    def declare_storage(self, storage: AnyStorage) -> tuple[AnyStorage, int]:
        """Declare arrays kept between positions; returns them and their number."""
        self.storages.append(storage)
        return storage, len(self.storages) - 1

    @contextmanager
    def indented(self, opening: str) -> Iterator[None]:
        """Emit a line and indent those after it."""
        self.write(opening)
        self.indent += 1
        yield
        self.indent -= 1

    @contextmanager
    def at_next_position(self) -> Iterator[None]:
        """Emit lines at the start of the next position: what they store is not visible to the current one."""
        after, self.lines = self.lines, []
        with self.indented("if i > 0:"):
            yield
        self.prologue += self.lines
        self.lines = after

    def declare_features(self) -> None:
        """Tabulate the position features without a formula, up to the current position."""
        checks = []
        for number, item in enumerate(self.features):
            storage, place = self.declare_storage(FeatureTable.for_feature(f"feature{number}", item))
            checks += [
                f"        if {storage.name}_values.size < s * {storage.width}:",
                f"            status = FULL + {place}",
                "            break",
            ]
        self.prologue = checks + self.prologue

    def emit_value(self, form: Affine, whole: bool, place: PositionNames = CURRENT) -> list[str]:
        """The integers a value is stored as: its numerator, or numerator and denominator."""
        if not whole:
            return list(self.fraction(form, place))
        linear = self.numbers.linear([form])
        assert linear is not None
        name = self.new_name("v")
        self.write(f"{name} = {self.numerator(linear[0], place)}")
        return [name]

    def emit_values(self, plan: IndexPlan, place: PositionNames = CURRENT) -> list[str]:
        """The integers a head's value is stored as."""
        return [x for c in plan.components for x in self.emit_value(plan.head.value[c], plan.whole, place)]

    def name_numerator(self, atom: Atom, expression: str) -> None:
        """Name an atom stored as its numerator."""
        self.write(f"{self.name(atom)} = {expression}")

    def name_fraction(self, atom: Atom, n: str, d: str) -> None:
        """Name an atom stored as a fraction."""
        self.write(f"{self.name(atom)}, {self.name(atom)}d = lowest({n}, {d})")

    def name_results(self, plan: IndexPlan, found: Sequence[str], count: str = "1") -> None:
        """Name the atoms of a head: the sum ``found`` of ``count`` values, in their stored form."""
        for index, (c, value, known) in enumerate(zip(plan.components, plan.values, plan.numbers, strict=True)):
            atom = plan.head, c
            name = self.name(atom)
            if known.grid is not None and not plan.whole:
                self.stop_on_overflow()
                # Stored in lowest terms, because other components are fractions; the denominator divides the grid's.
                self.name_numerator(atom, f"{found[2 * index]} * ({value.over} // {found[2 * index + 1]})")
            elif known.grid is not None and plan.assumes_integer_means:
                self.name_numerator(atom, f"{found[index]} // {count}")
                # After the first failure the results of later heads are meaningless, so only the first counts.
                self.write(f"if uneven < 0 and {name} * {count} != {found[index]}:")
                self.write(f"    uneven = {self.head_count}")
            elif known.grid is not None:
                self.name_numerator(atom, found[index])
            elif plan.whole:
                self.name_fraction(atom, found[index], f"{value.over} * {count}")
            else:
                n, d = found[2 * index : 2 * index + 2]
                self.write(f"{name}, {name}d, bad = times(1, {count}, {n}, {d})")
                self.flag_overflow_if("bad")

    def name_single(self, atom: Atom, value: NumberRange, found: Sequence[str]) -> None:
        """Name a single value in its stored form; a denominator of 0 means that no key was visible."""
        if value.steady:
            self.name_numerator(atom, found[0])
        else:
            name = self.name(atom)
            self.write(f"{name}, {name}d = {found[0]}, {found[1]} if {found[1]} else 1")


def zero_unless_visible(plan: IndexPlan, found: Sequence[str], visible: str) -> list[str]:
    """The retrieved values in their stored form; 0 if no key was visible."""
    blank = ["1" if not plan.whole and k % 2 else "0" for k in range(len(found))]
    return [f"({part} if {visible} else {none})" for part, none in zip(found, blank, strict=True)]
