"""Index plans: the data structure that evaluates a head, chosen from facts proved on the weights, with an explanation.

The score of a head is split into the part of the key's position and the rest: query · key = rest + slope · j +
curve · j². The cases, cheapest first:

- all keys have the same score: running sums;
- the score depends only on the position: the best position of a parabola, in closed form;
- the query is constant: the best score so far;
- the rest is a parabola in one integer, and the position only breaks ties: a table indexed by that integer (for every
  key it is checked that the second component is the square of the first);
- the same, plus a number for each of a few kinds of tokens: a table for each kind;
- parabolas in some integers, plus other numbers, and the mean over the best keys: equal keys in groups, found by hash;
- part of the score is an arbitrary function of the two positions: every key is compared;
- otherwise: equal keys in groups.
"""

from __future__ import annotations

from dataclasses import dataclass

from softmachine.engines.fast.analysis.grids import Denominator, LinearNumerator, NumberRange
from softmachine.engines.fast.analysis.unrolled_program import UnrolledHead
from softmachine.ir.signal import Affine
from softmachine.transformer.attention import Mask
from softmachine.transformer.features import Relation


@dataclass(frozen=True, eq=False)
class HeadPlan:
    """A head and the components that it retrieves.

    Args:
        head: The head.
        components: The components of its value that are read.
        values: The ranges of these components, at a key.
    """

    head: UnrolledHead
    components: tuple[int, ...]
    values: tuple[NumberRange, ...]

    @property
    def single(self) -> bool:
        """Whether one of the tied keys is chosen."""
        return self.head.weighting.is_unique_hard

    @property
    def whole(self) -> bool:
        """Whether all values are integers over constants."""
        return all(number.steady for number in self.values)


@dataclass(frozen=True, eq=False)
class IndexPlan(HeadPlan):
    """The index of a head.

    Args:
        numbers: The ranges of the retrieved components.
        why: An explanation of the choice.
    """

    numbers: tuple[NumberRange, ...]
    why: str

    kind = "plan"
    takes_means = False
    """Whether the values of several keys may be averaged."""

    @property
    def may_scan(self) -> bool:
        """Whether a query may have to compare many keys, one by one."""
        return False

    @property
    def sees_itself(self) -> bool:
        """Whether a position attends to itself."""
        return self.head.mask is Mask.CAUSAL

    @property
    def width(self) -> int:
        """The number of integers stored per value: numerators, or numerators and denominators."""
        return len(self.components) * (1 if self.whole else 2)

    def shares_values_with(self, other: IndexPlan) -> bool:
        """Whether another plan retrieves some of the same numbers."""
        mine, theirs = ({plan.head.value[c].key for c in plan.components} for plan in (self, other))
        return bool(mine & theirs)

    @property
    def assumes_integer_means(self) -> bool:
        """Whether means of tied integers are assumed to be integers, which is checked at every step."""
        return self.takes_means and not self.single and any(number.grid is not None for number in self.numbers)


@dataclass(frozen=True, eq=False)
class UniformPlan(IndexPlan):
    """All keys have the same score."""

    kind = "running sums"


@dataclass(frozen=True, eq=False)
class PositionPlan(IndexPlan):
    """The score is slope · j + curve · j²: a closed form.

    Args:
        forms: Slope and curve as forms.
        slope: The coefficient of j over the denominator of ``curve``; None if they are fractions.
        curve: The coefficient of j².
        vertex: The best j, clamped to the visible positions, if it is proved to be an integer.
    """

    forms: tuple[Affine, Affine]
    slope: LinearNumerator | None
    curve: LinearNumerator | None
    vertex: LinearNumerator | None

    kind = "closed form in the position"
    takes_means = True

    @property
    def assumes_integer_means(self) -> bool:
        """Whether means of tied integers are assumed to be integers; with an integer vertex there are no ties."""
        return self.vertex is None and super().assumes_integer_means


@dataclass(frozen=True)
class ParabolaLookup:
    """A score that is curve · (x - vertex)² for integers x, plus a number that is the same for all keys.

    Args:
        x: The key's integer, over a constant.
        square: Its square, over a constant.
        vertex: The integer that is looked up.
        curve: The negative coefficient of the square, over ``grid``.
        grid: The denominators of scores.
        later: Whether the last of equal keys is chosen, rather than the first.
    """

    x: LinearNumerator
    square: LinearNumerator
    vertex: LinearNumerator
    curve: int
    grid: Denominator
    later: bool


@dataclass(frozen=True, eq=False)
class TablePlan(IndexPlan):
    """The score is a parabola in an integer x, plus a smaller part that grows or falls with the position, or none.

    Args:
        lookup: The parabola.
        queries: The factors of x and its square.
        keys: The forms of x and its square.
        slope: The coefficient of the position.
    """

    lookup: ParabolaLookup
    queries: tuple[Affine, Affine]
    keys: tuple[Affine, Affine]
    slope: LinearNumerator

    kind = "table indexed by an integer"


@dataclass(frozen=True)
class KeyScore:
    """A score: Σ query · key + slope · j.

    Args:
        queries: The components of the query.
        keys: The components of the key, without its position.
        slope: The coefficient of the key's position.
        fractional: Whether keys are fractions.
    """

    queries: tuple[Affine, ...]
    keys: tuple[Affine, ...]
    slope: Affine
    fractional: bool

    @property
    def key_width(self) -> int:
        """The number of integers stored per key."""
        return len(self.keys) * (2 if self.fractional else 1)


@dataclass(frozen=True, eq=False)
class ScoredKeys(IndexPlan):
    """The scores of keys are compared.

    Args:
        score: The score of a key.
    """

    score: KeyScore

    takes_means = True


@dataclass(frozen=True, eq=False)
class RunningBest(ScoredKeys):
    """The query is constant: the score of a key never changes, so that only the best one so far is stored.

    Args:
        lasting: The score of a key, over a constant.
    """

    lasting: LinearNumerator

    kind = "the best so far"


@dataclass(frozen=True, eq=False)
class GatedTable(ScoredKeys):
    """The score is a parabola in an integer x, plus a number for each kind of token, plus a smaller part for recency.

    "The latest token of this kind that wrote to this cell": the kind is a component of the key that depends only on the
    token, and every kind has a table indexed by the cell. The best results of all tables are compared.

    Args:
        lookup: The parabola.
        kinds: For each token, the kind of its key.
        extra: For each kind, its part of the score, over the same denominators as the curve.
    """

    lookup: ParabolaLookup
    kinds: tuple[int, ...]
    extra: tuple[LinearNumerator, ...]

    kind = "tables indexed by an integer"
    takes_means = False


@dataclass(frozen=True, eq=False)
class GroupsPlan(ScoredKeys):
    """Equal keys in groups.

    Args:
        few: Whether there are only a few different keys.
    """

    few: bool

    kind = "groups of equal keys"

    @property
    def may_scan(self) -> bool:
        """Whether a query may have to compare many keys."""
        return not self.few


@dataclass(frozen=True, eq=False)
class MatchingPlan(ScoredKeys):
    """The score is a sum of parabolas in integers and of other numbers, and the result is the mean over the best keys.

    "The mean over all keys of the same count and the same letter, and the sink": the components of the key are first
    the other numbers (the gates), and then each integer and its square.

    Args:
        integers: The number of integers.
    """

    integers: int

    kind = "groups of matching keys"

    @property
    def gates(self) -> int:
        """The number of other components."""
        return len(self.score.keys) - 2 * self.integers


@dataclass(frozen=True, eq=False)
class LinearScanPlan(ScoredKeys):
    """Every visible key is compared, because part of the score is an arbitrary function of the two positions.

    Args:
        bias: The function of the two positions.
    """

    bias: Relation

    kind = "every key"
    takes_means = False
    may_scan = True
