"""Selectors as signed sums of products, each of which one head implements (inclusion–exclusion).

A product is a conjunction of finite tables, equalities of integers, a mask and at most one order of integers; one head
implements it. Every selector is Σ ±1 · product: ``not s`` is 1 - s, ``s or t`` is s + t - s t. A count over a selector
is therefore a signed sum of counts over products.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, starmap

from softmachine.ir import Signal
from softmachine.ir.ranges import BIT
from softmachine.support.errors import ConstructionError
from softmachine.theorems.rasp.values import BoundedInteger
from softmachine.transformer.attention import Mask

MAX_PRODUCTS = 64
"""The largest number of products of a selector."""
_STRICTER = (Mask.ALL, Mask.CAUSAL, Mask.PAST)


@dataclass(frozen=True, eq=False)
class PairTable:
    """A table over pairs of values: Σ_v A_v(query) B_v(key) is 1 if the pair is selected, else 0.

    Args:
        operands: The names of key and query.
        rows: For each value of the query, the indices of the selected values of the key; None if one of the two is an
            unbounded integer.
        query: A bit per v.
        key: A bit per v.
        width: The number of values of the key.
        independent_of: The side, "key" or "query", that is not one-hot: negation complements it.
    """

    operands: tuple[str, str]
    rows: tuple[frozenset[int], ...] | None
    query: Signal
    key: Signal
    width: int
    independent_of: str

    @property
    def is_full(self) -> bool:
        """Whether every pair is selected."""
        return self.rows is not None and all(len(row) == self.width for row in self.rows)

    @property
    def is_reflexive(self) -> bool:
        """Whether every value is paired with itself."""
        same = self.operands[0] == self.operands[1] and self.rows is not None
        return same and all(k in row for k, row in enumerate(self.rows or ()))

    def negate(
        self, letter: Signal, rebuilt: Callable[[PairTable, tuple[frozenset[int], ...]], PairTable]
    ) -> PairTable:
        """The table of the pairs that are not selected."""
        if self.rows is not None:
            every = frozenset(range(self.width))
            return rebuilt(self, tuple(every - row for row in self.rows))
        if self.independent_of == "key":
            return replace(self, key=_complement(self.key, letter), operands=_name_of_negation(self.operands))
        return replace(self, query=_complement(self.query, letter), operands=_name_of_negation(self.operands))


def _name_of_negation(operands: tuple[str, str]) -> tuple[str, str]:
    key, query = operands
    return (key[4:] if key.startswith("not ") else f"not {key}"), query


def _complement(bits: Signal, letter: Signal) -> Signal:
    forms = tuple((letter - bits[k]).forms[0] for k in range(len(bits)))
    return Signal(forms, (BIT,) * len(forms))


@dataclass(frozen=True, eq=False)
class IntegerCondition:
    """A condition on an integer of the key and one of the query: that they are equal, or the key's is smaller.

    Args:
        operands: The names of key and query.
        key: The key's integer.
        query: The query's integer.
        inclusive: For an order, whether the key's may also be equal.
    """

    operands: tuple[str, str]
    key: BoundedInteger
    query: BoundedInteger
    inclusive: bool = False

    @property
    def operand_names(self) -> tuple[str, str]:
        """The names of the operands, without a minus sign on both sides."""
        key, query = self.operands
        both = key.startswith("-") and query.startswith("-")
        return (key[1:], query[1:]) if both else self.operands

    @property
    def relation(self) -> str:
        """The comparison as source text."""
        return f"{self.operands[0]} {'<=' if self.inclusive else '<'} {self.operands[1]}"


@dataclass(frozen=True, eq=False)
class SelectorProduct:
    """A conjunction of tables, equalities, orders and a mask."""

    tables: tuple[PairTable, ...] = ()
    equalities: tuple[IntegerCondition, ...] = ()
    orders: tuple[IntegerCondition, ...] = ()
    mask: Mask = Mask.ALL

    @property
    def is_mask_only(self) -> bool:
        """Whether it is only a mask."""
        return not (self.tables or self.equalities or self.orders)

    @property
    def is_unique(self) -> bool:
        """Whether it selects at most one key: an equality determines its position."""
        return any(pair.key.linear_form is not None and pair.key.linear_form.b != 0 for pair in self.equalities)

    @property
    def is_reflexive(self) -> bool:
        """Whether every position is known to select itself, if the mask permits it."""
        same = all(pair.operands[0] == pair.operands[1] for pair in self.equalities)
        return same and not self.orders and all(grid.is_reflexive for grid in self.tables)

    @property
    def signature(self) -> tuple[object, ...]:
        """A hashable key; equal for equal products."""
        grids = sorted(repr((grid.operands, grid.rows and [sorted(row) for row in grid.rows])) for grid in self.tables)
        pairs = [sorted(pair.relation for pair in pairs) for pairs in (self.equalities, self.orders)]
        return (tuple(grids), *map(tuple, pairs), self.mask)


@dataclass(frozen=True, eq=False)
class SignedSelector:
    """A selector Σ sign · product, which is 0 or 1; and where it is defined.

    Args:
        products: The products with their integer coefficients.
        presence: A bit: whether it is defined at the query; None if it always is.
    """

    products: tuple[tuple[int, SelectorProduct], ...]
    presence: Signal | None = None

    @property
    def single_product(self) -> SelectorProduct | None:
        """The only product, if one head implements the selector; otherwise None."""
        if len(self.products) == 1 and self.products[0][0] == 1 and not self.products[0][1].orders:
            return self.products[0][1]
        return None


@dataclass(frozen=True)
class SelectorAlgebra:
    """Conjunction, disjunction and negation of selectors.

    Args:
        input_bit: The bit that is 1 at input positions.
        rebuild: Makes a table over the same operands with other rows.
    """

    input_bit: Signal
    rebuild: Callable[[PairTable, tuple[frozenset[int], ...]], PairTable]

    def negate(self, selector: SignedSelector) -> SignedSelector:
        """The selector of all other keys."""
        grid = _only_grid(selector)
        if grid is not None:
            return replace(selector, products=self._of_table(grid.negate(self.input_bit, self.rebuild)))
        flipped = [(-sign, product) for sign, product in selector.products]
        return replace(selector, products=_merge_products([(1, SelectorProduct()), *flipped]))

    def intersect(self, one: SignedSelector, other: SignedSelector) -> SignedSelector:
        """The selector of keys that both select."""
        parts = [
            (sign * factor, joined)
            for sign, product in one.products
            for factor, item in other.products
            if (joined := self.multiply(product, item)) is not None
        ]
        return SignedSelector(_merge_products(parts))

    def unite(self, one: SignedSelector, other: SignedSelector) -> SignedSelector:
        """The selector of keys that at least one selects."""
        first, second = _only_grid(one), _only_grid(other)
        if first and second and first.operands == second.operands and first.rows and second.rows:
            rows = tuple(a | b for a, b in zip(first.rows, second.rows, strict=True))
            return SignedSelector(self._of_table(self.rebuild(first, rows)))
        common = [(-sign, product) for sign, product in self.intersect(one, other).products]
        return SignedSelector(_merge_products([*one.products, *other.products, *common]))

    def _of_table(self, grid: PairTable) -> tuple[tuple[int, SelectorProduct], ...]:
        product = self.multiply(SelectorProduct(), SelectorProduct((grid,)))
        return () if product is None else ((1, product),)

    def multiply(self, one: SelectorProduct, other: SelectorProduct) -> SelectorProduct | None:
        """The conjunction of two products; None if it is unsatisfiable."""
        grids: dict[tuple[str, str], PairTable] = {}
        for item in (*one.tables, *other.tables):
            grid, known = item, grids.get(item.operands)
            if known is not None and known.rows is not None and item.rows is not None:
                grid = self.rebuild(item, tuple(a & b for a, b in zip(known.rows, item.rows, strict=True)))
            if grid.rows is not None and not any(grid.rows):
                return None
            if _name_of_negation(grid.operands) in grids:
                return None
            grids[grid.operands] = grid
        every = {key: grid for key, grid in grids.items() if not grid.is_full}
        mask = max(one.mask, other.mask, key=_STRICTER.index)
        equal, less = _are_distinct(one.equalities, other.equalities), _are_distinct(one.orders, other.orders)
        same = {pair.operands for pair in equal}
        decided = [pair for pair in less if pair.operand_names in same]
        if any(not pair.inclusive for pair in decided) or any(starmap(_are_contradictory, combinations(equal, 2))):
            return None
        return SelectorProduct(tuple(every.values()), equal, tuple(pair for pair in less if pair not in decided), mask)


def _are_contradictory(one: IntegerCondition, other: IntegerCondition) -> bool:
    """Whether two equalities are contradictory: one integer of the key would equal two that differ by a constant."""
    ours, theirs = one.query.linear_form, other.query.linear_form
    if one.operands[0] != other.operands[0] or ours is None or theirs is None:
        return False
    return (ours.b, ours.c) == (theirs.b, theirs.c) and ours.a != theirs.a


def _are_distinct(one: Sequence[IntegerCondition], other: Sequence[IntegerCondition]) -> tuple[IntegerCondition, ...]:
    return tuple({pair.relation: pair for pair in (*one, *other)}.values())


def _only_grid(selector: SignedSelector) -> PairTable | None:
    """The table, if the selector is a single table."""
    if len(selector.products) != 1 or selector.products[0][0] != 1:
        return None
    product = selector.products[0][1]
    plain = not product.equalities and not product.orders and product.mask is Mask.ALL
    return product.tables[0] if plain and len(product.tables) == 1 else None


def _merge_products(parts: Sequence[tuple[int, SelectorProduct]]) -> tuple[tuple[int, SelectorProduct], ...]:
    """Combines equal products, and removes those that cancel."""
    signs: dict[tuple[object, ...], int] = {}
    products: dict[tuple[object, ...], SelectorProduct] = {}
    for sign, product in parts:
        signature = product.signature
        signs[signature] = signs.get(signature, 0) + sign
        products[signature] = product
    kept = tuple((sign, products[signature]) for signature, sign in signs.items() if sign)
    if len(kept) > MAX_PRODUCTS:
        raise ConstructionError(
            f"the selector is a sum of {len(kept)} products of conditions; the limit is {MAX_PRODUCTS}"
        )
    return kept
