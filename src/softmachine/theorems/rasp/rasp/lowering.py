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
from softmachine.languages.rasp.ir import UNDEFINED, Definition, Operator
from softmachine.languages.rasp.program import RaspProgram
from softmachine.languages.rasp.selector_facts import match_counted_selector
from softmachine.languages.rasp.types import FiniteType, FractionType, IntegerType, Type, is_at_least
from softmachine.languages.rasp.values import apply, identity_key, is_number
from softmachine.support.errors import ConstructionError, SourceLocation
from softmachine.support.polynomial import Polynomial
from softmachine.theorems.rasp.elementwise import RELATIONS, ElementwiseGadgets
from softmachine.theorems.rasp.integers import IntegerGadgets, conjunction
from softmachine.theorems.rasp.layout import LinearInPosition, PositionLayout
from softmachine.theorems.rasp.rasp.aggregation import Aggregates
from softmachine.theorems.rasp.rasp.attention import SelectorHeads
from softmachine.theorems.rasp.rasp.loops import lower_loop
from softmachine.theorems.rasp.rasp.selection import (
    IntegerCondition,
    PairTable,
    SelectorAlgebra,
    SelectorProduct,
    SignedSelector,
)
from softmachine.theorems.rasp.values import (
    BoundedFraction,
    BoundedInteger,
    Categorical,
    Value,
    as_number,
    constant_value,
    has_symbols,
    linear_integer,
    may_be_undefined,
    one_hot,
)
from softmachine.transformer.attention import Mask

NO_CONSTRUCTION = "there is no construction for"
MAX_COMPARED_VALUES = 64
"""An unbounded integer is compared with up to this many values one by one; with more, as integers."""


NONE_OF_THEM: ir.Value = ("none of them",)
"""Stands for all numbers that are not listed; a tuple, so that it equals no number."""


@contextmanager
def errors_located_at(name: str, place: SourceLocation | None) -> Iterator[None]:
    """Add the name and place of a definition to construction errors raised within the context."""
    try:
        yield
    except ConstructionError as error:
        if error.message.startswith(NO_CONSTRUCTION):
            raise
        raise ConstructionError(f"{NO_CONSTRUCTION} {name!r}: {error.message}", place=place, hint=error.hint) from None


@dataclass
class Lowering:
    """Lowers a program; holds the values and selectors that have been built.

    Args:
        program: The program.
        layout: The layout of positions.
        symbols: The input symbol, as a one-hot vector over the alphabet.
        length: The maximal length of words, if the weights are built for one.
    """

    program: RaspProgram
    layout: PositionLayout
    symbols: Signal
    length: int | None = None
    values: dict[str, Value] = field(default_factory=dict)
    selectors: dict[str, SignedSelector] = field(default_factory=dict)
    nodes: dict[str, ir.Node] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.finder = IntegerGadgets(self.layout)
        self.pointwise = ElementwiseGadgets(self.finder, self.length)
        self.heads = SelectorHeads(self.finder)
        self.aggregates = Aggregates(self.heads, self.pointwise)
        self.algebra = SelectorAlgebra(self.layout.input_bit, self._rebuild)

    def lower_all(self) -> None:
        """Build every definition that the output depends on.

        Raises:
            ConstructionError: If there is no construction for one; the message gives its name and the reason.
        """
        self.nodes = dict(self.program.nodes)
        for definition in needed_definitions(self.program):
            self.lower(definition)

    @property
    def place(self) -> SourceLocation | None:
        """The place of the output's definition."""
        return next(item.place for item in self.program.definitions if item.name == self.program.output)

    def lower(self, definition: Definition) -> None:
        """Build one definition."""
        name, node = definition.name, definition.node
        self.nodes[name] = node
        with errors_located_at(name, definition.place):
            match node:
                case ir.Select() | ir.SelectPairs() | ir.SelectAll() | ir.Combine():
                    self.selectors[name] = self._selector(name, node)
                case _:
                    self.values[name] = self._tighten(self._value(name, node), self.program.types[name])

    def _tighten(self, value: Value, found: Type) -> Value:
        """The value, with the tighter bounds of its type."""
        if isinstance(found, FiniteType) and len(found.values) == 1 and not found.partial:
            return constant_value(found.values[0], self.layout.input_bit)
        if not isinstance(value, BoundedInteger) or not isinstance(found, IntegerType) or value.linear_form is not None:
            return value
        zero = Polynomial(0)
        low = zero if is_at_least(found.low, zero) else found.low.lower_bound(zero)
        kind = integer(low, found.high.upper_bound(zero))
        if found.low.degree > 1 or found.high.degree > 1 or not kind.is_within(value.value_range):
            return value
        return replace(value, value=value.value.with_range(kind))

    def _value(self, name: str, node: ir.Node) -> Value:
        letter = self.layout.input_bit
        match node:
            case ir.Tokens():
                return self._tokens()
            case ir.Indices():
                return linear_integer(LinearInPosition(-1, 1), letter)
            case ir.Length():
                return linear_integer(self.layout.last_visible, letter)
            case ir.Constant(value=value):
                return constant_value(value, letter)
            case ir.Apply():
                return self._apply(name, node)
            case ir.Table():
                return self.pointwise.table(name, [self.values[operand] for operand in node.operands], node.rows)
            case ir.Width():
                width = self.aggregates.selector_width(name, self.selectors[node.selector])
                return replace(width, selector_of_width=node.selector)
            case ir.Aggregate():
                return self._aggregate(name, node)
            case ir.Repeat():
                loop = replace(node, result="")
                if loop not in self._loops:
                    self._loops[loop] = lower_loop(self, f"loop of {name}", node)
                return self._loops[loop][node.result]
        raise AssertionError(f"{node!r} is not a sequence operator")

    def _apply(self, name: str, node: ir.Apply) -> Value:
        """An elementwise operation; with a repeated categorical operand, a table of the distinct operands."""
        values = [self.values[operand] for operand in node.operands]
        once = dict(zip(node.operands, values, strict=True))
        if len(once) < len(values) and all(isinstance(value, Categorical) for value in values):
            places = [list(once).index(operand) for operand in node.operands]
            categories = [value for value in once.values() if isinstance(value, Categorical)]
            return self.pointwise.tabulate(
                name, categories, lambda *given: apply(node.operator, [given[place] for place in places])
            )
        if node.operator is Operator.CHOOSE and (has_symbols(values[0]) or has_symbols(values[2])):
            values = list(map(self._as_category, node.operands))
        average = self.values[node.operands[-1]]
        if (
            match_counted_selector(node, self.nodes)
            and isinstance(average, BoundedFraction)
            and average.numerator_and_denominator is not None
        ):
            return average.numerator_and_denominator[1]  # one over the weight of one key
        return self.pointwise.apply(name, node.operator, values)

    def _as_category(self, name: str) -> Value:
        """A value as a category, if its type is finite: so it can be an alternative to None or a symbol."""
        value, found = self.values[name], self.program.types[name]
        if isinstance(value, Categorical) or not isinstance(found, FiniteType):
            return value
        listed = self.pointwise.to_category(f"{name}, listed", value, found.values)
        return replace(listed, may_be_undefined=value.presence is not None)

    def _tokens(self) -> Categorical:
        meanings: dict[object, tuple[ir.Value, list[Affine]]] = {}
        for value, form in zip(self.program.letters, self.symbols.forms, strict=True):
            meanings.setdefault(identity_key(value), (value, []))[1].append(form)
        values = tuple(value for value, _ in meanings.values())
        forms = tuple(Affine.sum(forms) for _, forms in meanings.values())
        return Categorical(values, Signal(forms, (BIT,) * len(forms), is_one_hot=True), may_be_undefined=False)

    def _aggregate(self, name: str, node: ir.Aggregate) -> Value:
        found, values, default = self.program.types[name], self.values[node.values], self.values[node.default]
        numbers = not has_symbols(values)
        # The mean of different numbers is a fraction, of different symbols undefined; otherwise all are equal.
        alike = not isinstance(found, FractionType) and (numbers or not found.partial)
        result = self.aggregates.aggregate(
            name, self.selectors[node.selector], values, default, node.reduction, alike=alike
        )
        return (
            result
            if isinstance(result, Categorical | BoundedInteger)
            else replace(result, selector_of_mean=node.selector)
        )

    # Selectors

    def _selector(self, name: str, node: ir.Node) -> SignedSelector:
        match node:
            case ir.SelectAll(selected=selected):
                return SignedSelector(((1, SelectorProduct()),) if selected else ())
            case ir.Select():
                return self._select(name, node)
            case ir.SelectPairs():
                return self._pair_selector(name, node)
            case ir.Combine():
                return self._combine(name, node)
        raise AssertionError(f"{node!r} is not a selector")

    def _combine(self, name: str, node: ir.Combine) -> SignedSelector:
        first, *others = (self.selectors[selector] for selector in node.selectors)
        if node.operator is Operator.NOT:
            return self.algebra.negate(first)
        combined = first
        for other in others:
            join = self.algebra.intersect if node.operator is Operator.AND else self.algebra.unite
            combined = join(combined, other)
        presence = conjunction(
            f"{name} is defined", *(self.selectors[selector].presence for selector in node.selectors)
        )
        return replace(combined, presence=presence)

    def _pair_selector(self, name: str, node: ir.SelectPairs) -> SignedSelector:
        key, query = self.values[node.key], self.values[node.query]
        if not isinstance(key, Categorical):
            key = self._list_values(f"{name}: key", key, [pair[0] for pair in node.pairs])
        if not isinstance(query, Categorical):
            query = self._list_values(f"{name}: query", query, [pair[1] for pair in node.pairs])
        wanted = {identity_key(pair) for pair in node.pairs}
        return self._table_selector(name, node.key, node.query, key, query, lambda k, q: identity_key((k, q)) in wanted)

    def _list_values(
        self, name: str, number: BoundedInteger | BoundedFraction, wanted: Sequence[ir.Value]
    ) -> Categorical:
        """A number as a category over the given values and one for all others, so that the bits cover every case."""
        listed = self.pointwise.to_category(name, number, wanted)
        defined = self.layout.input_bit if number.presence is None else number.presence
        rest = defined - listed.bits.total if listed.values else defined
        values = (*listed.values, NONE_OF_THEM)
        bits = one_hot(values, (*listed.bits.forms, rest.forms[0]))
        return Categorical(values, bits, may_be_undefined=number.presence is not None)

    def _select(self, name: str, node: ir.Select) -> SignedSelector:
        key, query = self.values[node.key], self.values[node.query]
        if isinstance(key, Categorical) and isinstance(query, Categorical):
            return self._table_selector(
                name, node.key, node.query, key, query, lambda k, q: apply(node.comparison, (k, q))
            )
        small = key if isinstance(key, Categorical) else query
        number = query if isinstance(key, Categorical) else key
        if isinstance(small, Categorical) and not self._as_integers(node, key, small):
            return self._mixed_selector(name, node, small, number, key_is_small=small is key)
        one, other = as_number(key), as_number(query)
        if not isinstance(one, BoundedInteger) or not isinstance(other, BoundedInteger):
            raise ConstructionError(
                "it selects by unbounded fractions", hint="select by integers, or by finitely many values"
            )
        presence = self._presence(name, key, query, ())
        return replace(self._order_selector(node, one, other), presence=presence)

    def _as_integers(self, node: ir.Select, key: Value, small: Categorical) -> bool:
        """Whether to compare a category with an integer as integers: if the key's integer determines its position."""
        whole = all(is_number(value) and Fraction(value).denominator == 1 for value in small.values)
        place = isinstance(key, BoundedInteger) and key.linear_form is not None and key.linear_form.b != 0
        equality = node.comparison in (Operator.EQUAL, Operator.UNEQUAL)
        return whole and ((place and equality) or len(small.values) > MAX_COMPARED_VALUES)

    def _order_selector(self, node: ir.Select, key: BoundedInteger, query: BoundedInteger) -> SignedSelector:
        """The selector of pairs whose integers are in the relation."""
        names = (node.key, node.query)
        match node.comparison:
            case Operator.EQUAL | Operator.UNEQUAL:
                selector = SignedSelector(
                    ((1, SelectorProduct(equalities=(self._equality_selector(names, key, query),))),)
                )
            case Operator.LESS | Operator.AT_LEAST:
                selector = self._smaller_selector(IntegerCondition(names, key, query))
            case _:
                selector = self._smaller_selector(IntegerCondition(names, key, query, inclusive=True))
        negative = node.comparison in (Operator.UNEQUAL, Operator.AT_LEAST, Operator.GREATER)
        return self.algebra.negate(selector) if negative else selector

    def _equality_selector(
        self, names: tuple[str, str], key: BoundedInteger, query: BoundedInteger
    ) -> IntegerCondition:
        """An equality; if the key is the position, a query outside the range is clipped to just outside."""
        where: LinearInPosition | None = key.linear_form
        if where is None or (where.b, where.c) != (1, 0) or query.square is not None or query.pieces == (0, 1):
            return IntegerCondition(names, key, query)
        letter, name = self.layout.input_bit, " == ".join(names)
        place = self.finder.add(query, linear_integer(LinearInPosition(-1 - where.a), letter), None)
        return IntegerCondition(names, linear_integer(LinearInPosition(-1, 1), letter), self.finder.clip(name, place))

    def _smaller_selector(self, pair: IntegerCondition) -> SignedSelector:
        """The selector of keys with a smaller integer: a mask, if both integers determine the position."""
        if pair.key.linear_form is None and pair.key.pieces[1] == 0 < pair.key.pieces[0]:
            # For integers that are not positive: y < x unless -y <= -x.
            theirs, ours = self.finder.multiply(pair.key, -1), self.finder.multiply(pair.query, -1)
            operands = (f"-{pair.operands[0]}", f"-{pair.operands[1]}")
            mirrored = IntegerCondition(operands, theirs, ours, not pair.inclusive)
            return self.algebra.negate(SignedSelector(((1, SelectorProduct(orders=(mirrored,))),)))
        here, there = pair.query.linear_form, pair.key.linear_form
        if here is not None and there is not None and there.b == 1 and here.b == 1 and here.c == there.c:
            distance = here.a - there.a + pair.inclusive
            if distance == 0:
                return SignedSelector(((1, SelectorProduct(mask=Mask.PAST)),))
            if distance >= 1 and self.layout.causal:
                return SignedSelector(((1, SelectorProduct()),))
            if distance == 1:
                return SignedSelector(((1, SelectorProduct(mask=Mask.CAUSAL)),))
        return SignedSelector(((1, SelectorProduct(orders=(pair,))),))

    def _table_selector(
        self, name: str, key_name: str, query_name: str, key: Categorical, query: Categorical, holds: object
    ) -> SignedSelector:
        """The selector of pairs of categorical values, by a table."""
        assert callable(holds)
        results = [[holds(k, q) for k in key.values] for q in query.values]
        rows = tuple(frozenset(m for m, result in enumerate(row) if result is True) for row in results)
        grid = self._rebuild_for((key_name, query_name), key, query, rows)
        lost = tuple(frozenset(m for m, result in enumerate(row) if result is UNDEFINED) for row in results)
        product = self.algebra.multiply(SelectorProduct(), SelectorProduct((grid,)))
        # A category made from an integer is also undefined at integers that are not listed: use the original values.
        presence = self._presence(name, self.values[key_name], self.values[query_name], lost)
        return SignedSelector(() if product is None else ((1, product),), presence)

    def _rebuild_for(
        self, operands: tuple[str, str], key: Categorical, query: Categorical, rows: tuple[frozenset[int], ...]
    ) -> PairTable:
        self._operands[operands] = (key, query)
        return PairTable(operands, rows, query.bits, _row_bits(key, rows), len(key.values), "key")

    _operands: dict[tuple[str, str], tuple[Categorical, Categorical]] = field(default_factory=dict)
    _loops: dict[ir.Repeat, dict[str, Value]] = field(default_factory=dict)

    def _rebuild(self, grid: PairTable, rows: tuple[frozenset[int], ...]) -> PairTable:
        return self._rebuild_for(grid.operands, *self._operands[grid.operands], rows)

    def _mixed_selector(
        self, name: str, node: ir.Select, small: Categorical, number: Value, *, key_is_small: bool
    ) -> SignedSelector:
        """A category on one side, an unbounded number on the other: one bit per value of the category."""
        assert not isinstance(number, Categorical)
        bits = []
        for value in small.values:
            other = constant_value(value, self.layout.input_bit)
            sides = (other, number) if key_is_small else (number, other)
            label = f"{name}: {value}"
            bits.append(self.pointwise.compare(label, node.comparison, *sides).bit_of(True))
        ours, theirs = (stack(*bits), small.bits) if key_is_small else (small.bits, stack(*bits))
        operands = (f"{node.key} {RELATIONS[node.comparison]}", node.query)
        grid = PairTable(operands, None, ours, theirs, len(small.values), "query" if key_is_small else "key")
        presence = self._presence(name, self.values[node.key], self.values[node.query], ())
        return SignedSelector(((1, SelectorProduct((grid,))),), presence)

    def _presence(self, name: str, key: Value, query: Value, lost: tuple[frozenset[int], ...]) -> Signal | None:
        """A bit: whether the query and every visible key are defined and comparable; None if they always are."""
        presences = [_presence_of(query)] if may_be_undefined(query) else []
        if may_be_undefined(key):
            undefined = (self.layout.input_bit - _presence_of(key)).with_range(BIT)
            grid = PairTable((f"{name}: undefined", ""), None, self.layout.input_bit, undefined, 1, "key")
            some = self.heads.exists(f"{name}: an undefined key", SelectorProduct((grid,)))
            presences.append((self.layout.input_bit - some).with_range(BIT))
        if any(lost):
            assert isinstance(key, Categorical)
            assert isinstance(query, Categorical)
            bits = _row_bits(key, lost)
            grid = PairTable((f"{name}: incomparable", ""), None, query.bits, bits, len(key.values), "key")
            some = self.heads.exists(f"{name}: an incomparable key", SelectorProduct((grid,)))
            presences.append((self.layout.input_bit - some).with_range(BIT))
        return conjunction(f"{name} is defined", *presences)


def _row_bits(key: Categorical, rows: tuple[frozenset[int], ...]) -> Signal:
    """A bit per row: whether the key has one of the row's values."""
    forms = tuple(Affine.sum(key.bits.forms[m] for m in sorted(row)) for row in rows)
    return Signal(forms, (BIT,) * len(forms))


def _presence_of(value: Value) -> Signal:
    if isinstance(value, Categorical):
        return value.presence
    assert value.presence is not None
    return value.presence


def needed_definitions(program: RaspProgram) -> list[Definition]:
    """The definitions that the output depends on, in order."""
    nodes: Mapping[str, ir.Node] = program.nodes
    wanted, waiting = set[str](), [program.output]
    while waiting:
        name = waiting.pop()
        if name not in wanted:
            wanted.add(name)
            waiting += ir.operands(nodes[name])
    return [definition for definition in program.definitions if definition.name in wanted]
