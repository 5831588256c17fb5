"""Construction by induction over subformulas: one bit per subformula and position, for any implementation of heads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from softmachine.ir import Program, Signal, constant, position, recogniser
from softmachine.ir.gadgets import all_of, any_of, round_unit_bit
from softmachine.ir.primitives import one_hot
from softmachine.languages import temporal as logic
from softmachine.languages.linear import LinearExpression, Relation
from softmachine.languages.temporal import Formula, Specification, subformulas, to_core
from softmachine.languages.temporal.predicates import depends_on_length, predicate_holds
from softmachine.support.errors import ConstructionError
from softmachine.theorems.shared.recogniser_codec import START_TOKEN, unused_token
from softmachine.transformer.attention import Mask
from softmachine.transformer.features import Feature
from softmachine.transformer.head_view import HeadExplanation


@dataclass(frozen=True)
class PositionPredicate(Feature, stored_name="PositionPredicate"):
    """1 where a unary predicate of the logic holds of the position, else 0."""

    predicate: str
    parameters: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """The predicate and its parameters."""
        return f"predicate({','.join(map(str, (self.predicate, *self.parameters)))})"

    def value(self, i: int, n: int) -> int:
        """1 if the predicate holds at position i."""
        return int(predicate_holds(self.predicate, i, self.parameters, n))

    @property
    def needs_length(self) -> bool:
        """Whether the predicate is a θ_n, which depends on the length (Definition 19 of Yang et al. 2024)."""
        return depends_on_length(self.predicate, self.parameters)


class TemporalHeadsProtocol(Protocol):
    """The operators that need attention. Results are defined at positions 1 … n; position 0 is the start token."""

    @property
    def first(self) -> Signal:
        """A bit: 1 at position 1."""

    @property
    def last(self) -> Signal:
        """A bit: 1 at position n."""

    def fetch_neighbour(self, name: str, of: Signal, mask: Mask) -> Signal:
        """``of`` at the previous or the next position; 0 if there is none."""

    def fetch_witness(
        self, name: str, holding: Signal, reached: Signal, mask: Mask, explains: HeadExplanation
    ) -> Signal:
        """Since (causal mask) and until (anticausal mask), with the standard semantics."""

    def fetch_at_count(self, name: str, count: logic.Count, of: Signal, read: Signal) -> Signal:
        """``read`` at the position whose number is the count."""

    def compare_counts(
        self, name: str, difference: LinearExpression[logic.Count], relation: Relation, known: Mapping[Formula, Signal]
    ) -> Signal:
        """A bit: whether a sum of counts is in the relation to 0."""


def build_program(
    specification: Specification,
    build_heads: Callable[[Signal], TemporalHeadsProtocol],
    require: Callable[[Formula], None],
) -> Program:
    """A transformer that outputs at every position whether the formula holds there.

    Args:
        specification: The formula.
        build_heads: Makes the heads, given the bit of the start token.
        require: Raises ConstructionError for a subformula that the heads do not support.
    """
    formula, start = to_core(specification.formula), unused_token(START_TOKEN, specification.alphabet)
    tokens = (start, *specification.alphabet)
    letters = one_hot("symbol", tokens)
    heads = build_heads(letters[start])
    known: dict[Formula, Signal] = {}
    for part in subformulas(formula):
        require(part)
        known[part] = _lower_formula(part, known, letters, heads)
    return recogniser(specification.name, tokens, known[formula])


def _lower_formula(
    formula: Formula, truth_values: Mapping[Formula, Signal], symbols: Signal, heads: TemporalHeadsProtocol
) -> Signal:
    """A bit: whether a formula of the core holds, given its parts; unspecified at position 0."""
    name, of = str(formula), [truth_values[part] for part in formula.parts]
    match formula:
        # Step 1. Symbols, positions and Boolean operators.
        case logic.Symbol(symbol):
            return symbols[symbol]
        case logic.BooleanConstant(value):
            return constant(int(value))
        case logic.First():
            return heads.first
        case logic.Last():
            return heads.last
        case logic.NumericalPredicate(argument=logic.Position()):
            return position(PositionPredicate(formula.name, formula.parameters))
        case logic.Not():
            return ~of[0]
        case logic.And():
            return all_of(name, *of)
        case logic.Or():
            return any_of(name, *of)
        # Step 2. Previous and next.
        case logic.Previous():
            return heads.fetch_neighbour(name, of[0], Mask.CAUSAL)
        case logic.Next():
            return heads.fetch_neighbour(name, of[0], Mask.ANTICAUSAL)
        # Step 3. Since and until.
        case logic.Since() | logic.Until():
            mask = Mask.CAUSAL if isinstance(formula, logic.Since) else Mask.ANTICAUSAL
            holding, reached = formula.parts
            explains = f"the nearest where ({holding}) fails or ({reached}) holds, if anywhere"
            return heads.fetch_witness(name, of[0], of[1], mask, explains)
        # Step 4. Counts: a predicate is read at the position numbered by the count; sums of counts are compared with 0.
        case logic.NumericalPredicate(argument=logic.LeftCount() | logic.RightCount() as count):
            predicate = position(PositionPredicate(formula.name, formula.parameters))
            return round_unit_bit(name, heads.fetch_at_count(name, count, truth_values[count.formula], predicate))
        case logic.CountComparison():
            return heads.compare_counts(name, formula.difference, formula.relation, truth_values)
    raise ConstructionError(f"there is no construction for {name!r}")
