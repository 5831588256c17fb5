"""Expression writer: code for forms, with overflow checks where a number might not fit."""

from __future__ import annotations

from dataclasses import dataclass, field

from softmachine.engines.fast.analysis.grids import OVERFLOW_LIMIT, LinearNumerator, NumberRanges, UnsupportedModel
from softmachine.ir.primitives import Position
from softmachine.ir.signal import Affine, Atom
from softmachine.transformer.features import Feature


@dataclass(frozen=True)
class PositionNames:
    """The variable names of a position: its index, the index plus one, and the offset of its token's tables."""

    index: str = "i"
    next: str = "s"
    base: str = "b"


CURRENT = PositionNames()


@dataclass
class Writer:
    """Lines of code, and the tables that they read.

    Args:
        numbers: The proved ranges of all atoms.
        lines: The lines so far.
        tables: One tuple per table: an integer for each token.
        features: The position features that are tabulated.
    """

    numbers: NumberRanges
    lines: list[str] = field(default_factory=list)
    tables: list[tuple[int, ...]] = field(default_factory=list)
    features: list[Feature] = field(default_factory=list)
    indent: int = 2
    _names: int = 0
    _has_overflow_flag: bool = False

    def write(self, line: str) -> None:
        """Add a line."""
        self.lines.append("    " * self.indent + line)

    def new_name(self, stem: str = "x") -> str:
        """A new variable name."""
        self._names += 1
        return f"{stem}_{self._names}"

    def table(self, entries: tuple[int, ...], place: PositionNames) -> str:
        """The expression for a table's entry for the token at a place."""
        if entries not in self.tables:
            self.tables.append(entries)
        return f"T[{place.base} + {self.tables.index(entries)}]"

    def flag_overflow_if(self, condition: str) -> None:
        """Flag an overflow if a condition holds; results computed from such a number are discarded."""
        self.write(f"wrong |= {condition}")
        self._has_overflow_flag = True

    def stop_on_overflow(self) -> None:
        """Stop if an overflow was flagged: before anything that depends on the number is stored or decided."""
        if self._has_overflow_flag:
            self.stop_if("wrong", "TOO_LARGE")
            self._has_overflow_flag = False

    def stop_if(self, condition: str, status: str) -> None:
        """Stop if a condition holds. Use sparingly: numba compiles functions with hundreds of exits slowly."""
        self.write(f"if {condition}:")
        self.write(f"    status = {status}")
        self.write("    break")

    def name(self, atom: Atom) -> str:
        """The variable of an atom at the current position."""
        return f"a{self.numbers.program.numbers[atom]}"

    def atom(self, atom: Atom, place: PositionNames) -> str:
        """The numerator of an atom; at other positions only position features have one."""
        if isinstance(atom[0], Position):
            feature = atom[0].feature
            return feature.numerator_expression(place.index) or f"{self.feature_table(feature)}[{place.index}]"
        assert place == CURRENT
        return self.name(atom)

    def feature_table(self, item: Feature) -> str:
        """The array with the values of a position feature."""
        if item not in self.features:
            self.features.append(item)
        return f"feature{self.features.index(item)}_values"

    def numerator(self, linear: LinearNumerator, place: PositionNames = CURRENT) -> str:
        """An expression for a numerator, preceded by a check if it might not fit."""
        products = [self._product(*term, place) for term in linear.terms]
        if linear.table:
            stretch = _power(place.next, linear.grid.power)
            products.append([self.table(linear.table, place), *stretch])
        if linear.size >= OVERFLOW_LIMIT:
            sizes = " + ".join(f"abs({' * '.join(f'float({factor})' for factor in product)})" for product in products)
            self.flag_overflow_if(f"{sizes} >= LIMIT")
        return " + ".join(" * ".join(product) for product in products) or "0"

    def _product(self, coefficient: int, power: int, atom: Atom | None, place: PositionNames) -> list[str]:
        factors = _power(place.next, power)
        if atom:
            factors.insert(0, self.atom(atom, place))
        return [str(coefficient), *factors] if coefficient != 1 or not factors else factors

    def denominator(self, linear: LinearNumerator, place: PositionNames = CURRENT) -> str:
        """An expression for a denominator, preceded by a check if it might not fit."""
        if linear.grid.over * self.numbers.horizon**linear.grid.power >= OVERFLOW_LIMIT:
            sizes = [str(float(linear.grid.over)), *_power(f"float({place.next})", linear.grid.power)]
            self.flag_overflow_if(f"{' * '.join(sizes)} >= LIMIT")
        return " * ".join([str(linear.grid.over), *_power(place.next, linear.grid.power)])

    def fraction(self, form: Affine, place: PositionNames = CURRENT) -> tuple[str, str]:
        """The variables of a numerator and a denominator, in lowest terms."""
        n, d = self.new_name("n"), self.new_name("d")
        rest = {atom: weight for atom, weight in form.other_terms.items() if self.numbers.atoms[atom].grid is None}
        known = {atom: weight for atom, weight in form.terms.items() if atom not in rest}
        linear = self.numbers.linear([Affine(known, form.constant)])
        assert linear is not None
        self.write(f"{n}, {d} = lowest({self.numerator(linear[0], place)}, {self.denominator(linear[0], place)})")
        for atom, weight in rest.items():
            assert place == CURRENT
            name = self.name(atom)
            if max(abs(weight.numerator), weight.denominator) >= OVERFLOW_LIMIT:
                raise UnsupportedModel("its weights are not fractions of 62-bit integers")
            self.write(f"p, q, bad = times({weight.numerator}, {weight.denominator}, {name}, {name}d)")
            self.flag_overflow_if("bad")
            self.write(f"{n}, {d}, bad = added({n}, {d}, p, q)")
            self.flag_overflow_if("bad")
        return n, d


def _power(name: str, power: int) -> list[str]:
    return [name] * power
