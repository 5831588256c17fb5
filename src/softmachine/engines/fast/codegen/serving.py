"""Code that serves a head by its plan: keep the position's key and value, find the best keys, name what they hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from softmachine.engines.fast.analysis.forms import Form
from softmachine.engines.fast.analysis.grids import Number
from softmachine.engines.fast.analysis.plans import Plan
from softmachine.engines.fast.analysis.tabulated import width
from softmachine.engines.fast.codegen.writing import HERE, Place, Writer
from softmachine.transformer.features import Feature


@dataclass(frozen=True)
class Storage:
    """What a head keeps between positions.

    Args:
        kind: "rows" (a row a position), "table" (a parabola's), "groups", "forest" (groups with trees over them), or
            "dense" (every key); "feature" (values of a position feature).
        name: The stem of the arrays' names.
        plan: What it is for: a head's plan, or a position feature.
        width: The integers of a row of values.
        key_width: The integers of a key.
        may_be_empty: Whether nothing may have been put into it, however long the run.
    """

    kind: str
    name: str
    plan: Plan | Feature
    width: int
    key_width: int = 0
    may_be_empty: bool = False

    @property
    def arrays(self) -> tuple[str, ...]:
        """The names of the arrays that the code is given."""
        groups = ("keys", "places", "values", "slots", "meta", "box", "key", "value", "query", "out")
        parts = {
            "rows": ("rows",),
            "table": ("there", "values", "meta"),
            "groups": groups,
            "feature": ("values",),
            "dense": ("keys", "values", "biases", "meta", "query", "out"),
            "forest": (*groups, "near", "order", "boxes", "marks", "rest", "stack"),
        }[self.kind]
        return tuple(f"{self.name}_{part}" for part in parts)


class Serving:
    """Writes the code of heads, one after the other.

    Args:
        writer: Where the code goes.
    """

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self.scalars: list[str] = []
        """Numbers that are kept from position to position."""
        self.commits: list[tuple[str, str]] = []
        """(scalar, expression): what they become at the end of a step."""
        self.storages: list[Storage] = []
        self.early: list[str] = []
        """Lines that come before everything else in a step: keys that only later positions see."""

    def scalar(self, name: str, becomes: str) -> str:
        """A number that is kept from position to position, and what it becomes at the end of a step."""
        self.scalars.append(name)
        self.commits.append((name, becomes))
        return name

    def store(self, kind: str, name: str, plan: Plan, key_width: int = 0, *, may_be_empty: bool = False) -> Storage:
        """Arrays for a head."""
        width = len(plan.results) * (1 if plan.whole else 2)
        self.storages.append(Storage(kind, name, plan, width, key_width, may_be_empty))
        return self.storages[-1]

    def tabulate(self, features: Sequence[Feature]) -> None:
        """Arrays for position features, that reach to the present position."""
        checks = []
        for number, item in enumerate(features):
            size = width(item)
            self.storages.append(Storage("feature", f"feature{number}", item, size))
            checks += [
                f"        if feature{number}_values.size < s * {size}:",
                f"            status = FULL + {len(self.storages) - 1}",
                "            break",
            ]
        self.early = checks + self.early

    def name_whole(self, number: int, expression: str) -> None:
        """Name an atom that is kept as its numerator."""
        self.writer.write(f"a{number} = {expression}")

    def name_fraction(self, number: int, n: str, d: str) -> None:
        """Name an atom that is kept as a fraction."""
        self.writer.write(f"a{number}, a{number}d = lowest({n}, {d})")

    def over(self, value: Number) -> int:
        """The constant that a value is over."""
        assert value.grid is not None
        return value.grid.over

    def value(self, form: Form, value: Number, whole: bool, place: Place = HERE) -> list[str]:
        """The integers that a value is kept as: its numerator, or that and the denominator."""
        if not whole:
            return list(self.writer.fraction(form, place))
        linear = self.writer.numbers.linear([form])
        assert linear is not None
        del value
        name = self.writer.fresh("v")
        self.writer.write(f"{name} = {self.writer.numerator(linear[0], place)}")
        return [name]

    def values(self, plan: Plan, place: Place = HERE) -> list[str]:
        """The integers that a head's value is kept as."""
        pairs = zip(plan.results, plan.values, strict=True)
        return [x for (_, c), value in pairs for x in self.value(plan.head.value[c], value, plan.whole, place)]

    def name_found(self, plan: Plan, found: Sequence[str], count: str = "1") -> None:
        """Name what a head retrieves: so many values, added up as they are kept."""
        for index, ((number, _), value, known) in enumerate(zip(plan.results, plan.values, plan.numbers, strict=True)):
            if known.grid is not None and not plan.whole:
                self.writer.settle()
                # Kept in lowest terms, because other components are fractions; the denominator divides the grid's.
                self.name_whole(number, f"{found[2 * index]} * ({self.over(value)} // {found[2 * index + 1]})")
            elif known.grid is not None and plan.evenly:
                self.name_whole(number, f"{found[index]} // {count}")
                self.writer.write(f"uneven |= a{number} * {count} != {found[index]}")
            elif known.grid is not None:
                self.name_whole(number, found[index])
            elif plan.whole:
                self.name_fraction(number, found[index], f"{self.over(value)} * {count}")
            else:
                self.writer.write(
                    f"a{number}, a{number}d, bad = times(1, {count}, {found[2 * index]}, {found[2 * index + 1]})"
                )
                self.writer.doubt("bad")

    def name_single(self, number: int, value: Number, found: Sequence[str]) -> None:
        """Name a single value, as it is kept; a denominator of 0 stands for nothing seen."""
        if value.steady:
            self.name_whole(number, found[0])
        else:
            self.writer.write(f"a{number}, a{number}d = {found[0]}, {found[1]} if {found[1]} else 1")
