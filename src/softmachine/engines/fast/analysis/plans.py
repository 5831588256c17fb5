"""Which index serves a head: chosen from facts that are proved on the weights, and explained.

The score of a head is split into the part of the key's position and the rest: query · key = rest + slope · j +
curve · j². Then, from the cheapest:

- nothing differs between keys: running sums;
- only the position counts: the best position of a parabola, in closed form;
- the rest is a parabola in one integer, and the position only breaks ties: a table indexed by that integer (that the
  second component is the square of the first is checked for every key);
- a part of the score is any function of the two positions: every key is looked at;
- anything else: equal keys in groups. If there may be many different keys, a k-d forest finds the best of them; if not,
  every group is looked at.
"""

from __future__ import annotations

from dataclasses import dataclass

from softmachine.engines.fast.analysis.flow import FlowHead
from softmachine.engines.fast.analysis.forms import Form
from softmachine.engines.fast.analysis.grids import Grid, Linear, Number
from softmachine.transformer.attention import Choice
from softmachine.transformer.features import Relation


@dataclass(frozen=True, eq=False)
class Plan:
    """How a head is served.

    Args:
        head: The head.
        results: The atoms it gives, and the components of its value that they are.
        values: What is known of these components, at a key.
        numbers: What is known of them as retrieved.
        why: For people.
    """

    head: FlowHead
    results: tuple[tuple[int, int], ...]
    values: tuple[Number, ...]
    numbers: tuple[Number, ...]
    why: str

    kind = "plan"

    @property
    def whole(self) -> bool:
        """Whether all values are integers over constants."""
        return all(number.steady for number in self.values)

    @property
    def evenly(self) -> bool:
        """Whether means of tied values are taken to be integers, as the values are; that is checked at every step."""
        return False


@dataclass(frozen=True, eq=False)
class Uniform(Plan):
    """All keys have the same score."""

    kind = "running sums"


@dataclass(frozen=True, eq=False)
class ByPosition(Plan):
    """The score is slope · j + curve · j²: a closed form.

    Args:
        slope: The coefficient of j, and
        curve: of j², over one denominator; None if they are fractions.
        vertex: If the best j is known to be this integer, cut to what is visible.
        forms: Slope and curve as forms.
    """

    forms: tuple[Form, Form]
    slope: Linear | None
    curve: Linear | None
    vertex: Linear | None

    kind = "closed form in the position"

    @property
    def evenly(self) -> bool:
        """Whether means of tied values are taken to be integers."""
        return self.vertex is None and _are_means(self)


@dataclass(frozen=True, eq=False)
class Parabola(Plan):
    """The score is a parabola in an integer x, plus a smaller part that grows or falls with the position, or none.

    Args:
        x: The key's integer, and
        square: its square, both over constants.
        vertex: Where the parabola is largest.
        later: Of equal keys, whether the last is chosen (or else the first).
        queries: What x and its square are multiplied with, and
        keys: x and its square, as forms.
        slope: The coefficient of the position.
        scores: The denominators of scores, without the position's part.
    """

    x: Linear
    square: Linear
    vertex: Linear
    later: bool
    queries: tuple[Form, Form]
    keys: tuple[Form, Form]
    slope: Linear
    scores: Grid

    kind = "table indexed by an integer"


@dataclass(frozen=True, eq=False)
class Groups(Plan):
    """Equal keys in groups.

    Args:
        queries: The components of the query, and
        keys: of the key, without the position's part.
        slope: The coefficient of the key's position.
        fractional: Whether keys are fractions.
    """

    queries: tuple[Form, ...]
    keys: tuple[Form, ...]
    slope: Form
    fractional: bool

    kind = "groups of equal keys"

    @property
    def evenly(self) -> bool:
        """Whether means of tied values are taken to be integers."""
        return _are_means(self)


@dataclass(frozen=True, eq=False)
class Forest(Groups):
    """Equal keys in groups, of which there may be many, so that trees are kept over them."""

    kind = "k-d forest over groups of equal keys"


@dataclass(frozen=True, eq=False)
class Dense(Plan):
    """Every visible key is looked at, because the score has a part that is any function of the two positions.

    Args:
        queries: The components of the query, and
        keys: of the key, without the position's part.
        slope: The coefficient of the key's position.
        fractional: Whether keys are fractions.
        bias: The function of the two positions.
    """

    queries: tuple[Form, ...]
    keys: tuple[Form, ...]
    slope: Form
    fractional: bool
    bias: Relation

    kind = "every key"


def _are_means(plan: Plan) -> bool:
    single = plan.head.weighting.choice in (Choice.LEFTMOST, Choice.RIGHTMOST)
    return not single and any(number.grid is not None for number in plan.numbers)
