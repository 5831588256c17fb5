"""Lowering of RASP programs to signals, definition by definition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction

from softmachine.ir import Signal, stack
from softmachine.ir.ranges import BIT, integer
from softmachine.ir.signal import Affine
from softmachine.languages.rasp import ir
from softmachine.languages.rasp.counts import counted
from softmachine.languages.rasp.ir import UNDEFINED, Definition, Operator
from softmachine.languages.rasp.program import Program
from softmachine.languages.rasp.types import Finite as FiniteType
from softmachine.languages.rasp.types import Integer as IntegerType
from softmachine.languages.rasp.types import Ratio as RatioType
from softmachine.languages.rasp.types import Type
from softmachine.languages.rasp.values import apply, identity, is_number
from softmachine.support.errors import ConstructionError, Place
from softmachine.support.polynomial import Bound
from softmachine.theorems.rasp.elementwise import RELATIONS, Pointwise
from softmachine.theorems.rasp.integers import Finder, both
from softmachine.theorems.rasp.layout import Frame, Line
from softmachine.theorems.rasp.rasp.aggregation import Aggregates
from softmachine.theorems.rasp.rasp.attention import Heads
from softmachine.theorems.rasp.rasp.loops import repeated
from softmachine.theorems.rasp.rasp.selection import Algebra, Grid, Pairing, Product, Selector
from softmachine.theorems.rasp.values import (
    Category,
    Number,
    Ratio,
    Value,
    constant,
    has_symbols,
    line_number,
    numeric,
    one_hot,
    partial,
)
from softmachine.transformer.attention import Mask

NONE = "there is no construction for"
MOST_COMPARED = 64
"""An unbounded integer is compared with up to this many values one by one; with more, as integers."""


NONE_OF_THEM: ir.Value = ("none of them",)
"""Stands for all numbers that are not listed; a tuple, so that it equals no number."""


@contextmanager
def construction_of(name: str, place: Place | None) -> Iterator[None]:
    """Add the name and place of a definition to construction errors raised within the context."""
    try:
        yield
    except ConstructionError as error:
        if error.message.startswith(NONE):
            raise
        raise ConstructionError(f"{NONE} {name!r}: {error.message}", place=place, hint=error.hint) from None


@dataclass
class Build:
    """Lowers a program; holds the values and selectors that have been built.

    Args:
        program: The program.
        frame: The layout of positions.
        letters: The input symbol, as a one-hot vector over the alphabet.
        length: The maximal length of words, if the weights are built for one.
    """

    program: Program
    frame: Frame
    letters: Signal
    length: int | None = None
    values: dict[str, Value] = field(default_factory=dict)
    selectors: dict[str, Selector] = field(default_factory=dict)
    nodes: dict[str, ir.Node] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.finder = Finder(self.frame)
        self.pointwise = Pointwise(self.finder, self.length)
        self.heads = Heads(self.finder)
        self.aggregates = Aggregates(self.heads, self.pointwise)
        self.algebra = Algebra(self.frame.letter, self._rebuilt)

    def all(self) -> None:
        """Build every definition that the output depends on.

        Raises:
            ConstructionError: If there is no construction for one; the message gives its name and the reason.
        """
        self.nodes = dict(self.program.nodes)
        for definition in needed(self.program):
            self.define(definition)

    @property
    def place(self) -> Place | None:
        """The place of the output's definition."""
        return next(item.place for item in self.program.definitions if item.name == self.program.output)

    def define(self, definition: Definition) -> None:
        """Build one definition."""
        name, node = definition.name, definition.node
        self.nodes[name] = node
        with construction_of(name, definition.place):
            match node:
                case ir.Select() | ir.SelectPairs() | ir.SelectAll() | ir.Combine():
                    self.selectors[name] = self._selector(name, node)
                case _:
                    self.values[name] = self._typed(self._value(name, node), self.program.types[name])

    def _typed(self, value: Value, found: Type) -> Value:
        """The value, with the tighter bounds of its type."""
        if isinstance(found, FiniteType) and len(found.values) == 1 and not found.partial:
            return constant(found.values[0], self.frame.letter)
        if not isinstance(value, Number) or not isinstance(found, IntegerType) or value.line is not None:
            return value
        low, high = (Bound(tuple(map(Fraction, end.coefficients))) for end in (found.low, found.high))
        zero = Bound.of(0)
        low = zero if min(found.low.at(1), found.low.at(2) - found.low.at(1)) >= 0 else low.meet(zero)
        kind = integer(low, high.join(zero))
        if found.low.degree > 1 or found.high.degree > 1 or not kind.within(value.kind):
            return value
        return replace(value, low=kind.low, high=kind.high, value=value.value.known(kind))

    def _value(self, name: str, node: ir.Node) -> Value:
        letter = self.frame.letter
        match node:
            case ir.Tokens():
                return self._tokens()
            case ir.Indices():
                return line_number(Line(-1, 1), letter)
            case ir.Length():
                return line_number(self.frame.end, letter)
            case ir.Constant(value=value):
                return constant(value, letter)
            case ir.Apply():
                return self._apply(name, node)
            case ir.Table():
                return self.pointwise.table(name, [self.values[operand] for operand in node.operands], node.rows)
            case ir.Width():
                width = self.aggregates.width(name, self.selectors[node.selector])
                return replace(width, width_of=node.selector)
            case ir.Aggregate():
                return self._aggregate(name, node)
            case ir.Repeat():
                loop = replace(node, result="")
                if loop not in self._loops:
                    self._loops[loop] = repeated(self, f"loop of {name}", node)
                return self._loops[loop][node.result]
        raise AssertionError(f"{node!r} is not a sequence operator")

    def _apply(self, name: str, node: ir.Apply) -> Value:
        """An elementwise operation; with a repeated categorical operand, a table of the distinct operands."""
        values = [self.values[operand] for operand in node.operands]
        once = dict(zip(node.operands, values, strict=True))
        if len(once) < len(values) and all(isinstance(value, Category) for value in values):
            places = [list(once).index(operand) for operand in node.operands]
            categories = [value for value in once.values() if isinstance(value, Category)]
            return self.pointwise.tabulated(
                name, categories, lambda *given: apply(node.operator, [given[place] for place in places])
            )
        if node.operator is Operator.CHOOSE and (has_symbols(values[0]) or has_symbols(values[2])):
            values = list(map(self._enumerated, node.operands))
        average = self.values[node.operands[-1]]
        if counted(node, self.nodes) and isinstance(average, Ratio) and average.over is not None:
            return average.over[1]  # one over the weight of one key
        return self.pointwise.apply(name, node.operator, values)

    def _enumerated(self, name: str) -> Value:
        """A value as a category, if its type is finite: so it can be an alternative to None or a symbol."""
        value, found = self.values[name], self.program.types[name]
        if isinstance(value, Category) or not isinstance(found, FiniteType):
            return value
        listed = self.pointwise.sorted_out(f"{name}, listed", value, found.values)
        return replace(listed, partial=value.presence is not None)

    def _tokens(self) -> Category:
        meanings: dict[object, tuple[ir.Value, list[Affine]]] = {}
        for value, form in zip(self.program.letters, self.letters.forms, strict=True):
            meanings.setdefault(identity(value), (value, []))[1].append(form)
        values = tuple(value for value, _ in meanings.values())
        forms = tuple(Affine.sum(forms) for _, forms in meanings.values())
        return Category(values, Signal(forms, (BIT,) * len(forms), exclusive=True), partial=False)

    def _aggregate(self, name: str, node: ir.Aggregate) -> Value:
        found, values, default = self.program.types[name], self.values[node.values], self.values[node.default]
        numbers = not has_symbols(values)
        # The mean of different numbers is a fraction, of different symbols undefined; otherwise all are equal.
        alike = not isinstance(found, RatioType) and (numbers or not found.partial)
        result = self.aggregates.of(name, self.selectors[node.selector], values, default, node.reduction, alike=alike)
        return result if isinstance(result, Category | Number) else replace(result, mean_over=node.selector)

    # Selectors

    def _selector(self, name: str, node: ir.Node) -> Selector:
        match node:
            case ir.SelectAll(selected=selected):
                return Selector(((1, Product()),) if selected else ())
            case ir.Select():
                return self._select(name, node)
            case ir.SelectPairs():
                return self._pairs(name, node)
            case ir.Combine():
                return self._combined(name, node)
        raise AssertionError(f"{node!r} is not a selector")

    def _combined(self, name: str, node: ir.Combine) -> Selector:
        first, *others = (self.selectors[selector] for selector in node.selectors)
        if node.operator is Operator.NOT:
            return self.algebra.negated(first)
        combined = first
        for other in others:
            join = self.algebra.both if node.operator is Operator.AND else self.algebra.either
            combined = join(combined, other)
        presence = both(f"{name} is defined", *(self.selectors[selector].presence for selector in node.selectors))
        return replace(combined, presence=presence)

    def _pairs(self, name: str, node: ir.SelectPairs) -> Selector:
        key, query = self.values[node.key], self.values[node.query]
        if not isinstance(key, Category):
            key = self._listed(f"{name}: key", key, [pair[0] for pair in node.pairs])
        if not isinstance(query, Category):
            query = self._listed(f"{name}: query", query, [pair[1] for pair in node.pairs])
        wanted = {identity(pair) for pair in node.pairs}
        return self._grid(name, node.key, node.query, key, query, lambda k, q: identity((k, q)) in wanted)

    def _listed(self, name: str, number: Number | Ratio, wanted: Sequence[ir.Value]) -> Category:
        """A number as a category over the given values and one for all others, so that the bits cover every case."""
        listed = self.pointwise.sorted_out(name, number, wanted)
        defined = self.frame.letter if number.presence is None else number.presence
        rest = defined - listed.bits.total if listed.values else defined
        values = (*listed.values, NONE_OF_THEM)
        bits = one_hot(values, (*listed.bits.forms, rest.forms[0]))
        return Category(values, bits, partial=number.presence is not None)

    def _select(self, name: str, node: ir.Select) -> Selector:
        key, query = self.values[node.key], self.values[node.query]
        if isinstance(key, Category) and isinstance(query, Category):
            return self._grid(name, node.key, node.query, key, query, lambda k, q: apply(node.comparison, (k, q)))
        small = key if isinstance(key, Category) else query
        number = query if isinstance(key, Category) else key
        if isinstance(small, Category) and not self._as_integers(node, key, small):
            return self._mixed(name, node, small, number, key_is_small=small is key)
        one, other = numeric(key), numeric(query)
        if not isinstance(one, Number) or not isinstance(other, Number):
            raise ConstructionError(
                "it selects by unbounded fractions", hint="select by integers, or by finitely many values"
            )
        presence = self._presence(name, key, query, ())
        return replace(self._ordered(node, one, other), presence=presence)

    def _as_integers(self, node: ir.Select, key: Value, small: Category) -> bool:
        """Whether to compare a category with an integer as integers: if the key's integer determines its position."""
        whole = all(is_number(value) and Fraction(value).denominator == 1 for value in small.values)
        place = isinstance(key, Number) and key.line is not None and key.line.b != 0
        equality = node.comparison in (Operator.EQUAL, Operator.UNEQUAL)
        return whole and ((place and equality) or len(small.values) > MOST_COMPARED)

    def _ordered(self, node: ir.Select, key: Number, query: Number) -> Selector:
        """The selector of pairs whose integers are in the relation."""
        names = (node.key, node.query)
        match node.comparison:
            case Operator.EQUAL | Operator.UNEQUAL:
                selector = Selector(((1, Product(equal=(self._equal(names, key, query),))),))
            case Operator.LESS | Operator.AT_LEAST:
                selector = self._less(Pairing(names, key, query))
            case _:
                selector = self._less(Pairing(names, key, query, inclusive=True))
        negative = node.comparison in (Operator.UNEQUAL, Operator.AT_LEAST, Operator.GREATER)
        return self.algebra.negated(selector) if negative else selector

    def _equal(self, names: tuple[str, str], key: Number, query: Number) -> Pairing:
        """An equality; if the key is the position, a query outside the range is clipped to just outside."""
        where: Line | None = key.line
        if where is None or (where.b, where.c) != (1, 0) or query.square is not None or query.pieces == (0, 1):
            return Pairing(names, key, query)
        letter, name = self.frame.letter, " == ".join(names)
        place = self.finder.plus(query, line_number(Line(-1 - where.a), letter), None)
        return Pairing(names, line_number(Line(-1, 1), letter), self.finder.clipped(name, place))

    def _less(self, pair: Pairing) -> Selector:
        """The selector of keys with a smaller integer: a mask, if both integers determine the position."""
        if pair.key.line is None and pair.key.pieces[1] == 0 < pair.key.pieces[0]:
            # For integers that are not positive: y < x unless -y <= -x.
            theirs, ours = self.finder.times(pair.key, -1), self.finder.times(pair.query, -1)
            operands = (f"-{pair.operands[0]}", f"-{pair.operands[1]}")
            mirrored = Pairing(operands, theirs, ours, not pair.inclusive)
            return self.algebra.negated(Selector(((1, Product(less=(mirrored,))),)))
        here, there = pair.query.line, pair.key.line
        if here is not None and there is not None and there.b == 1 and here.b == 1 and here.c == there.c:
            distance = here.a - there.a + pair.inclusive
            if distance == 0:
                return Selector(((1, Product(mask=Mask.PAST)),))
            if distance >= 1 and self.frame.causal:
                return Selector(((1, Product()),))
            if distance == 1:
                return Selector(((1, Product(mask=Mask.CAUSAL)),))
        return Selector(((1, Product(less=(pair,))),))

    def _grid(
        self, name: str, key_name: str, query_name: str, key: Category, query: Category, holds: object
    ) -> Selector:
        """The selector of pairs of categorical values, by a table."""
        assert callable(holds)
        results = [[holds(k, q) for k in key.values] for q in query.values]
        rows = tuple(frozenset(m for m, result in enumerate(row) if result is True) for row in results)
        grid = self._rebuilt_of((key_name, query_name), key, query, rows)
        lost = tuple(frozenset(m for m, result in enumerate(row) if result is UNDEFINED) for row in results)
        product = self.algebra.joined(Product(), Product((grid,)))
        # A category made from an integer is also undefined at integers that are not listed: use the original values.
        presence = self._presence(name, self.values[key_name], self.values[query_name], lost)
        return Selector(() if product is None else ((1, product),), presence)

    def _rebuilt_of(
        self, operands: tuple[str, str], key: Category, query: Category, rows: tuple[frozenset[int], ...]
    ) -> Grid:
        self._operands[operands] = (key, query)
        return Grid(operands, rows, query.bits, _some_of(key, rows), len(key.values), "key")

    _operands: dict[tuple[str, str], tuple[Category, Category]] = field(default_factory=dict)
    _loops: dict[ir.Repeat, dict[str, Value]] = field(default_factory=dict)

    def _rebuilt(self, grid: Grid, rows: tuple[frozenset[int], ...]) -> Grid:
        return self._rebuilt_of(grid.operands, *self._operands[grid.operands], rows)

    def _mixed(self, name: str, node: ir.Select, small: Category, number: Value, *, key_is_small: bool) -> Selector:
        """A category on one side, an unbounded number on the other: one bit per value of the category."""
        assert not isinstance(number, Category)
        bits = []
        for value in small.values:
            other = constant(value, self.frame.letter)
            sides = (other, number) if key_is_small else (number, other)
            label = f"{name}: {value}"
            bits.append(self.pointwise.compared(label, node.comparison, *sides).bit(True))
        ours, theirs = (stack(*bits), small.bits) if key_is_small else (small.bits, stack(*bits))
        operands = (f"{node.key} {RELATIONS[node.comparison]}", node.query)
        grid = Grid(operands, None, ours, theirs, len(small.values), "query" if key_is_small else "key")
        presence = self._presence(name, self.values[node.key], self.values[node.query], ())
        return Selector(((1, Product((grid,))),), presence)

    def _presence(self, name: str, key: Value, query: Value, lost: tuple[frozenset[int], ...]) -> Signal | None:
        """A bit: whether the query and every visible key are defined and comparable; None if they always are."""
        presences = [_defined(query)] if partial(query) else []
        if partial(key):
            undefined = (self.frame.letter - _defined(key)).known(BIT)
            grid = Grid((f"{name}: undefined", ""), None, self.frame.letter, undefined, 1, "key")
            some = self.heads.some(f"{name}: an undefined key", Product((grid,)))
            presences.append((self.frame.letter - some).known(BIT))
        if any(lost):
            assert isinstance(key, Category)
            assert isinstance(query, Category)
            bits = _some_of(key, lost)
            grid = Grid((f"{name}: incomparable", ""), None, query.bits, bits, len(key.values), "key")
            some = self.heads.some(f"{name}: an incomparable key", Product((grid,)))
            presences.append((self.frame.letter - some).known(BIT))
        return both(f"{name} is defined", *presences)


def _some_of(key: Category, rows: tuple[frozenset[int], ...]) -> Signal:
    """A bit per row: whether the key has one of the row's values."""
    forms = tuple(Affine.sum(key.bits.forms[m] for m in sorted(row)) for row in rows)
    return Signal(forms, (BIT,) * len(forms))


def _defined(value: Value) -> Signal:
    if isinstance(value, Category):
        return value.defined
    assert value.presence is not None
    return value.presence


def needed(program: Program) -> list[Definition]:
    """The definitions that the output depends on, in order."""
    nodes: Mapping[str, ir.Node] = program.nodes
    wanted, waiting = set[str](), [program.output]
    while waiting:
        name = waiting.pop()
        if name not in wanted:
            wanted.add(name)
            waiting += ir.operands(nodes[name])
    return [definition for definition in program.definitions if definition.name in wanted]
