"""Cost of a rewrite of weights, and comparison of the new transformer with the given one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from softmachine.compiler.rewrites import causal_masks, fixed_point_softmax, no_masks, one_head, one_loop
from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.dense.weight_names import least_precision, named_weights
from softmachine.engines.numerics import arithmetic
from softmachine.engines.numerics.fixed_point import Fixed
from softmachine.engines.numerics.fixed_point_array import least_bits
from softmachine.support.errors import PrecisionError, Remedy, UsageError
from softmachine.transformer.weights import Transformer


class Form(StrEnum):
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


STATEMENTS = {
    Form.ONE_HEAD: "one head per layer",
    Form.ONE_LOOP: "one loop with a phase flag (Revisiting Padded Transformer Expressivity, Definition A.6, Lemma 5.3)",
    Form.UNMASKED: "no masks, with padding (Revisiting Padded Transformer Expressivity, section 6)",
    Form.CAUSAL: "causal masks only, with padding (Revisiting Padded Transformer Expressivity, section 6)",
    Form.SOFTMAX: "softmax for average-hard attention, in fixed point (Revisiting Padded Transformer Expressivity, "
    "Lemma 3.1)",
}


@dataclass(frozen=True)
class Cost:
    """Cost of a transformer for one input.

    Args:
        positions: Number of tokens, with padding.
        blocks: Number of consecutive blocks.
        turns: Total number of their iterations.
        layers: Number of distinct layers.
        passed: Number of layers applied to an input.
        heads: Maximum number of heads per layer.
        width: Width of the residual stream.
        masks: The masks of its heads.
    """

    positions: int
    blocks: int
    turns: int
    layers: int
    passed: int
    heads: int
    width: int
    masks: tuple[str, ...]

    @staticmethod
    def of(transformer: Transformer, positions: int, length: int | None) -> Cost:
        """Return the cost of a transformer."""
        return Cost(
            positions,
            len(transformer.blocks),
            one_loop.turns(transformer, length),
            len(transformer.layers),
            transformer.depth(length),
            max((len(layer.heads) for layer in transformer.layers), default=0),
            transformer.width,
            tuple(sorted({str(head.mask) for head in transformer.heads})),
        )


@dataclass
class Rewriting:
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
    form: Form
    arithmetic: str = "exact"
    inputs: int = 0
    costs: tuple[Cost, Cost] | None = None
    _made: dict[tuple[int, int | None], DenseEngine] = field(default_factory=dict, repr=False)

    def rewritten(self, positions: int, length: int | None) -> Transformer:
        """Return the new transformer for sequences of this number of positions."""
        match self.form:
            case Form.ONE_HEAD:
                return one_head.one_head(self.given)
            case Form.ONE_LOOP:
                return one_loop.one_loop(self.given, positions, length)
            case Form.UNMASKED:
                return no_masks.unmasked(self.given, positions, length)
            case Form.CAUSAL:
                return causal_masks.causal(self.given, positions, length)

            case Form.SOFTMAX:
                return fixed_point_softmax.soften_in_fixed_point(self.given, *_bits(self.arithmetic))

    @property
    def scale(self) -> int | None:
        """The inverse temperature of the softmax that replaces average-hard attention; None for other forms."""
        if self.form is Form.SOFTMAX:
            return fixed_point_softmax.least_scale(*_bits(self.arithmetic))
        return None

    @property
    def compared(self) -> str:
        """The values that are compared at every position: residual streams, logits or answers."""
        if self.form is Form.SOFTMAX:
            return "residual streams"
        return "logits" if self.arithmetic == "exact" else "answers"

    def padded(self, tokens: Sequence[str], length: int | None) -> tuple[list[str], slice]:
        """Return the tokens with padding, and the slice of the original positions."""
        many = len(tokens)
        match self.form:
            case Form.UNMASKED:
                return [*tokens, *no_masks.padding(many)], slice(0, many)
            case Form.CAUSAL:
                padding = causal_masks.padding(self.given, many, length)
                return [*tokens, *padding], slice(len(padding), len(padding) + many)
        return list(tokens), slice(0, many)

    def difference(self, tokens: Sequence[str], length: int | None) -> int | None:
        """Compare both transformers on an input; return the first position where they differ, or None."""
        key = len(tokens), length
        padded, answers = self.padded(tokens, length)
        if key not in self._made:
            made = self.rewritten(*key)
            self._made[key] = DenseEngine(made, self.arithmetic)
            costs = Cost.of(self.given, len(tokens), length), Cost.of(made, len(padded), length)
            if self.costs is None or self.costs[1].positions <= costs[1].positions:
                self.costs = costs
        before = self._outputs(DenseEngine(self.given, self.arithmetic), tokens, length)
        after = self._outputs(self._made[key], padded, length)[answers]
        self.inputs += 1
        return next((i for i, (one, other) in enumerate(zip(before, after, strict=True)) if one != other), None)

    def _outputs(self, engine: DenseEngine, tokens: Sequence[str], length: int | None) -> list[object]:
        """Compute the compared values at every position: the residual stream, logits, or answers."""
        if self.compared == "answers":
            return list(engine.answers([tokens], length)[0])
        stream = engine.residual_stream([tokens], length)
        found = (stream if self.form is Form.SOFTMAX else engine.unembedding(stream)).value
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
        least = least_precision(transformer)
        if least is None:
            place, weight = next(each for each in named_weights(transformer) if least_bits(each[1]) is None)
            raise PrecisionError(f"{place} is {weight}, which is not a number of any F_b")
        name = f"fixed:{least}"
    bits, inner = _bits(name)
    return name if inner > bits else f"fixed:{bits}:{fixed_point_softmax.least_attention_bits(bits, positions)}"


def _bits(name: str) -> tuple[int, int]:
    """Return the precision of a fixed-point arithmetic, and that inside attention."""
    numbers = arithmetic(name)
    if not isinstance(numbers, Fixed):
        raise UsageError(
            f"softmax equals average-hard attention in fixed point, not in {name}",
            hint=Remedy("omit --arithmetic, or choose fixed:B, or fixed:B:C with C bits in attention", arithmetic=None),
        )
    return numbers.grid.bits, numbers.inner.bits
