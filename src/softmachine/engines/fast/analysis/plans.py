"""Which index serves a head: chosen from facts that are proved on the weights, and explained.

The score of a head is split into the part of the key's position and the rest: query · key = rest + slope · j +
curve · j². Then, from the cheapest:

- nothing differs between keys: running sums;
- only the position counts: the best position of a parabola, in closed form;
- the query is constant: the best score so far;
- the rest is a parabola in one integer, and the position only breaks ties: a table indexed by that integer (that the
  second component is the square of the first is checked for every key);
- the same, plus a number for each of a few kinds of tokens: a table for each kind;
- parabolas in some integers, plus other numbers, and all that match best count: equal keys in groups, found by hash;
- a part of the score is any function of the two positions: every key is looked at;
- anything else: equal keys in groups.
"""

from __future__ import annotations

from dataclasses import dataclass

from softmachine.engines.fast.analysis.flow import LiftedHead
from softmachine.engines.fast.analysis.forms import AffineForm
from softmachine.engines.fast.analysis.grids import Denominator, LinearNumerator, NumberRange
from softmachine.transformer.attention import Mask
from softmachine.transformer.features import Relation


@dataclass(frozen=True, eq=False)
class HeadPlan:
    """A head and what it retrieves.

    Args:
        head: The head.
        results: The atoms it gives, and the components of its value that they are.
        values: What is known of these components, at a key.
    """

    head: LiftedHead
    results: tuple[tuple[int, int], ...]
    values: tuple[NumberRange, ...]

    @property
    def single(self) -> bool:
        """Whether of keys that tie one is chosen."""
        return self.head.weighting.is_unique_hard

    @property
    def whole(self) -> bool:
        """Whether all values are integers over constants."""
        return all(number.steady for number in self.values)


@dataclass(frozen=True, eq=False)
class IndexPlan(HeadPlan):
    """How a head is served.

    Args:
        numbers: What is known of the components of its value as retrieved.
        why: For people.
    """

    numbers: tuple[NumberRange, ...]
    why: str

    kind = "plan"
    takes_means = False
    """Whether the values of several keys may be added up."""

    @property
    def may_scan(self) -> bool:
        """Whether many keys may have to be looked at, one by one."""
        return False

    @property
    def sees_itself(self) -> bool:
        """Whether a position sees itself."""
        return self.head.mask is Mask.CAUSAL

    @property
    def width(self) -> int:
        """The integers that a value is kept as: numerators, or these and denominators."""
        return len(self.results) * (1 if self.whole else 2)

    def shares_values_with(self, other: IndexPlan) -> bool:
        """Whether some of what it retrieves is what another plan retrieves, too."""
        mine, theirs = ({plan.head.value[c].key for _, c in plan.results} for plan in (self, other))
        return bool(mine & theirs)

    @property
    def assumes_integer_means(self) -> bool:
        """Whether means of tied values are taken to be integers, as the values are; that is checked at every step."""
        return self.takes_means and not self.single and any(number.grid is not None for number in self.numbers)


@dataclass(frozen=True, eq=False)
class UniformPlan(IndexPlan):
    """All keys have the same score."""

    kind = "running sums"


@dataclass(frozen=True, eq=False)
class PositionPlan(IndexPlan):
    """The score is slope · j + curve · j²: a closed form.

    Args:
        slope: The coefficient of j, and
        curve: of j², over one denominator; None if they are fractions.
        vertex: If the best j is known to be this integer, cut to what is visible.
        forms: Slope and curve as forms.
    """

    forms: tuple[AffineForm, AffineForm]
    slope: LinearNumerator | None
    curve: LinearNumerator | None
    vertex: LinearNumerator | None

    kind = "closed form in the position"
    takes_means = True

    @property
    def assumes_integer_means(self) -> bool:
        """Whether means of tied values are taken to be integers; if the best is known to be one, there are none."""
        return self.vertex is None and super().assumes_integer_means


@dataclass(frozen=True)
class ParabolaLookup:
    """A score that is curve · (x - vertex)² for integers x, but for what is the same for all keys.

    Args:
        x: The key's integer, and
        square: its square, both over constants.
        vertex: The integer that is looked up.
        curve: The coefficient of the square, below 0, over
        grid: the denominators of scores.
        later: Of equal keys, whether the last is chosen (or else the first).
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
        queries: What x and its square are multiplied with, and
        keys: x and its square, as forms.
        slope: The coefficient of the position.
    """

    lookup: ParabolaLookup
    queries: tuple[AffineForm, AffineForm]
    keys: tuple[AffineForm, AffineForm]
    slope: LinearNumerator

    kind = "table indexed by an integer"


@dataclass(frozen=True)
class KeyScore:
    """A score: Σ query · key + slope · j.

    Args:
        queries: The components of the query, and
        keys: of the key, without the position's part.
        slope: The coefficient of the key's position.
        fractional: Whether keys are fractions.
    """

    queries: tuple[AffineForm, ...]
    keys: tuple[AffineForm, ...]
    slope: AffineForm
    fractional: bool

    @property
    def key_width(self) -> int:
        """The integers that a key is kept as."""
        return len(self.keys) * (2 if self.fractional else 1)


@dataclass(frozen=True, eq=False)
class ScoredKeys(IndexPlan):
    """The scores of keys differ, and are compared.

    Args:
        score: What they are.
    """

    score: KeyScore

    takes_means = True


@dataclass(frozen=True, eq=False)
class RunningBest(ScoredKeys):
    """The query is constant: every key has one score for good, so that the best so far is all there is to keep.

    Args:
        lasting: The score of a key, over a constant.
    """

    lasting: LinearNumerator

    kind = "the best so far"


@dataclass(frozen=True, eq=False)
class GatedTable(ScoredKeys):
    """The score is a parabola in an integer x, plus a number for each kind of token, plus a smaller part for recency.

    "The latest token of this kind that wrote to this cell": the kind is a component of the key that the token decides,
    and for every kind there is a table indexed by the cell. The best of each table are compared.

    Args:
        lookup: The parabola.
        kinds: For each token, of which kind its key is.
        extra: For each kind, what it adds to the score, over the same denominators as the curve.
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
        few: Whether no more than a few keys are different.
    """

    few: bool

    kind = "groups of equal keys"

    @property
    def may_scan(self) -> bool:
        """Whether many keys may have to be looked at."""
        return not self.few


@dataclass(frozen=True, eq=False)
class MatchingPlan(ScoredKeys):
    """The score is a sum of parabolas in integers and of other numbers, and the mean over the best keys is wanted.

    "The mean over all keys of the same count and the same letter, and the sink": the components of the key are the
    others (the gates), and then each integer and its square.

    Args:
        integers: How many integers there are.
    """

    integers: int

    kind = "groups of matching keys"

    @property
    def gates(self) -> int:
        """How many other components there are."""
        return len(self.score.keys) - 2 * self.integers


@dataclass(frozen=True, eq=False)
class LinearScanPlan(ScoredKeys):
    """Every visible key is looked at, because the score has a part that is any function of the two positions.

    Args:
        bias: The function of the two positions.
    """

    bias: Relation

    kind = "every key"
    takes_means = False
    may_scan = True
