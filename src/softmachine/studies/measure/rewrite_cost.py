"""Cost of a rewrite of weights, and comparison of the new transformer with the given one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from softmachine.compiler.rewrites import causal_masks, fixed_point_softmax, no_masks, one_head, one_loop
from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.dense.weight_names import iterate_named_weights, min_fixed_point_bits
from softmachine.engines.numerics import find_arithmetic
from softmachine.engines.numerics.fixed_point import FixedPointArithmetic
from softmachine.engines.numerics.fixed_point_array import min_bits
from softmachine.support.errors import FixHint, PrecisionError, UsageError
from softmachine.transformer.weights import Transformer


class RewriteForm(StrEnum):
    """Target form of a rewrite."""

    ONE_HEAD = "one-head"
    ONE_LOOP = "one-loop"
    UNMASKED = "unmasked"
    CAUSAL = "causal"
    SOFTMAX = "softmax-fixed-point"

    @property
    def statement(self) -> str:
        """The form, and the result that it is based on."""
        return STATEMENTS[self]


PAPER = "Revisiting Padded Transformer Expressivity"
STATEMENTS = {
    RewriteForm.ONE_HEAD: "one head per layer",
    RewriteForm.ONE_LOOP: f"one loop with a phase flag ({PAPER}, Definition A.6, Lemma 5.3)",
    RewriteForm.UNMASKED: f"no masks, with padding ({PAPER}, section 6)",
    RewriteForm.CAUSAL: f"causal masks only, with padding ({PAPER}, section 6)",
    RewriteForm.SOFTMAX: f"softmax for average-hard attention, in fixed point ({PAPER}, Lemma 3.1)",
}


@dataclass(frozen=True)
class TransformerCost:
    """Cost of a transformer for one input.

    Args:
        positions: Number of tokens, with padding.
        blocks: Number of consecutive blocks.
        iterations: Total number of their iterations.
        layers: Number of distinct layers.
        applied_layers: Number of layers applied to an input.
        heads: Maximum number of heads per layer.
        width: Width of the residual stream.
        masks: The masks of its heads.
    """

    positions: int
    blocks: int
    iterations: int
    layers: int
    applied_layers: int
    heads: int
    width: int
    masks: tuple[str, ...]

    @staticmethod
    def from_transformer(transformer: Transformer, positions: int, length: int | None) -> TransformerCost:
        """Return the cost of a transformer."""
        return TransformerCost(
            positions,
            len(transformer.blocks),
            one_loop.count_iterations(transformer, length),
            len(transformer.layers),
            transformer.depth(length),
            max((len(layer.heads) for layer in transformer.layers), default=0),
            transformer.width,
            tuple(sorted({str(head.mask) for head in transformer.heads})),
        )


@dataclass
class RewriteComparison:
    """Rewrite of a transformer, performed for each length that occurs, and compared with the given one.

    Args:
        given: The transformer.
        form: The target form.
        arithmetic: In exact arithmetic logits are compared, in any other the predictions. Softmax for average-hard
            attention needs fixed point, with more bits inside attention, and residual streams are compared; see
            :func:`choose_fixed_point`.
        inputs: Number of inputs compared.
        costs: Cost before and after, for the longest of them.
    """

    given: Transformer
    form: RewriteForm
    arithmetic: str = "exact"
    inputs: int = 0
    costs: tuple[TransformerCost, TransformerCost] | None = None
    _made: dict[tuple[int, int | None], DenseEngine] = field(default_factory=dict, repr=False)

    def rewrite(self, positions: int, length: int | None) -> Transformer:
        """Return the new transformer for sequences of this number of positions."""
        match self.form:
            case RewriteForm.ONE_HEAD:
                return one_head.to_one_head(self.given)
            case RewriteForm.ONE_LOOP:
                return one_loop.to_one_loop(self.given, positions, length)
            case RewriteForm.UNMASKED:
                return no_masks.to_no_masks(self.given, positions, length)
            case RewriteForm.CAUSAL:
                return causal_masks.to_causal_masks(self.given, positions, length)

            case RewriteForm.SOFTMAX:
                return fixed_point_softmax.soften_in_fixed_point(self.given, *_precision_of(self.arithmetic))

    @property
    def inverse_temperature(self) -> int | None:
        """The inverse temperature of the softmax that replaces average-hard attention; None for other forms."""
        if self.form is RewriteForm.SOFTMAX:
            return fixed_point_softmax.min_scale(*_precision_of(self.arithmetic))
        return None

    @property
    def compared_values(self) -> str:
        """The values that are compared at every position: residual streams, logits or answers."""
        if self.form is RewriteForm.SOFTMAX:
            return "residual streams"
        return "logits" if self.arithmetic == "exact" else "answers"

    def pad(self, tokens: Sequence[str], length: int | None) -> tuple[list[str], slice]:
        """Return the tokens with padding, and the slice of the original positions."""
        many = len(tokens)
        match self.form:
            case RewriteForm.UNMASKED:
                return [*tokens, *no_masks.unmasked_padding(many)], slice(0, many)
            case RewriteForm.CAUSAL:
                padding = causal_masks.causal_padding(self.given, many, length)
                return [*tokens, *padding], slice(len(padding), len(padding) + many)
        return list(tokens), slice(0, many)

    def find_difference(self, tokens: Sequence[str], length: int | None) -> int | None:
        """Compare both transformers on an input; return the first position where they differ, or None."""
        key = len(tokens), length
        padded, answers = self.pad(tokens, length)
        if key not in self._made:
            made = self.rewrite(*key)
            self._made[key] = DenseEngine(made, self.arithmetic)
            costs = (
                TransformerCost.from_transformer(self.given, len(tokens), length),
                TransformerCost.from_transformer(made, len(padded), length),
            )
            if self.costs is None or self.costs[1].positions <= costs[1].positions:
                self.costs = costs
        before = self._outputs(DenseEngine(self.given, self.arithmetic), tokens, length)
        after = self._outputs(self._made[key], padded, length)[answers]
        self.inputs += 1
        return next((i for i, (one, other) in enumerate(zip(before, after, strict=True)) if one != other), None)

    def _outputs(self, engine: DenseEngine, tokens: Sequence[str], length: int | None) -> list[object]:
        """Compute the compared values at every position: the residual stream, logits, or answers."""
        if self.compared_values == "answers":
            return list(engine.predict([tokens], length)[0])
        stream = engine.residual_stream([tokens], length)
        found = (stream if self.form is RewriteForm.SOFTMAX else engine.unembedding(stream)).value
        return list(found.reshape(len(tokens), -1).tolist())


def choose_fixed_point(transformer: Transformer, positions: int, name: str | None = None) -> str:
    """Choose a fixed-point arithmetic in which softmax equals average-hard attention, and averages are exact.

    Args:
        transformer: The transformer with average-hard attention.
        positions: Maximum number of positions of an input, including padding.
        name: "fixed:B", to which the bits inside attention are added, or "fixed:B:C", which is returned unchanged.
            Default: the least B whose F_B contains all weights.

    Raises:
        UsageError: If the name is that of another arithmetic.
        PrecisionError: If a weight is in no F_b.
    """
    if name is None:
        least = min_fixed_point_bits(transformer)
        if least is None:
            place, weight = next(each for each in iterate_named_weights(transformer) if min_bits(each[1]) is None)
            raise PrecisionError(f"{place} is {weight}, which is not a number of any F_b")
        name = f"fixed:{least}"
    bits, inner = _precision_of(name)
    return name if inner > bits else f"fixed:{bits}:{fixed_point_softmax.min_attention_bits(bits, positions)}"


def _precision_of(name: str) -> tuple[int, int]:
    """Return the precision of a fixed-point arithmetic, and that inside attention."""
    numbers = find_arithmetic(name)
    if not isinstance(numbers, FixedPointArithmetic):
        raise UsageError(
            f"softmax equals average-hard attention in fixed point, not in {name}",
            hint=FixHint(
                "omit --arithmetic, or choose fixed:B, or fixed:B:C with C bits in attention", arithmetic=None
            ),
        )
    return numbers.arrays.bits, numbers.attention_arrays.bits
