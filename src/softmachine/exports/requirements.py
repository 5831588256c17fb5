"""Requirements of third-party architectures: checks that a model fits, with the reason if it does not.

Also defines the RoPE configuration without rotation, for compiled and trained checkpoints.
"""

from __future__ import annotations

from softmachine.compiler.model import Model
from softmachine.support.errors import ConstructionError, UsageError
from softmachine.theorems.codec import DecoderCodec
from softmachine.transformer.features import Feature
from softmachine.transformer.weights import Transformer

MAX_LAYERS = 512
"""The largest number of layers, with loops unrolled."""
MAX_POSITIONS = 1 << 20
"""The largest number of positions of a checkpoint."""
MAX_TABLE_POSITIONS = 1024
"""The largest number of positions if scores need a table of all pairs of positions, or the length is computed."""

PARTIAL_NORM_REASON = "the norms of an exported model apply to the whole stream, not to a part of it"
"""Why a layer norm of several numbers cannot be exported."""


def require_length(length: int) -> None:
    """Check that a number of positions is possible."""
    if not 1 <= length <= MAX_POSITIONS:
        hint = f"choose 1 to {MAX_POSITIONS:,}"
        raise UsageError(f"a model with {length} positions cannot be written", hint=hint)


def require_table_size(transformer: Transformer, positions: int, why: str) -> None:
    """Check that a table of all pairs of positions is not too large."""
    if positions > MAX_TABLE_POSITIONS:
        raise ConstructionError(
            f"{transformer.name!r} cannot be written for {positions:,} positions: {why}, which takes a table of all "
            "pairs of positions",
            hint=f"choose at most {MAX_TABLE_POSITIONS:,} positions",
        )


def require_decoder(transformer: Transformer) -> None:
    """Check that a decoder can hold a transformer: no attention to later positions, no use of the input length."""
    needed = [*transformer.features, *(head.weighting.scale for head in transformer.heads)]
    hint = (
        "export it to bert or onnx, whose attention is bidirectional; "
        "for formulas of the past, use the theorem temporal-masked"
    )
    for head in transformer.heads:
        if not head.mask.is_causal:
            raise ConstructionError(
                f"{transformer.name!r} is an encoder: head {head.name!r} sees {head.mask}, but a decoder sees j ≤ i",
                hint=hint,
            )
    for item in (*needed, *(block.repeats for block in transformer.blocks)):
        if isinstance(item, Feature) and item.needs_length:
            raise ConstructionError(
                f"{transformer.name!r} is an encoder: it uses {item}, which depends on the length of the input, and a "
                "decoder does not have that length",
                hint=hint,
            )


def require_encoder(model: Model) -> None:
    """Check that an encoder can hold a model: it is not autoregressive."""
    if isinstance(model.codec, DecoderCodec):
        raise ConstructionError(
            f"{model.name!r} is a decoder: it generates token by token, but an encoder answers only at the positions "
            "of its input",
            hint="export it to gpt2",
        )


def require_softmax(transformer: Transformer) -> None:
    """Check that all attention is softmax."""
    for head in transformer.heads:
        if head.weighting.is_unique_hard or (head.weighting.is_hard and head.query.bias):
            raise ConstructionError(
                f"head {head.name!r} has {head.weighting} attention; exported models have softmax",
                hint="make it soft first: sm.soften(model, length=N)",
            )


ROPE_FACTOR = 1e37
"""The divisor of positions: every rotation angle is 0 up to rounding in all number formats."""


def make_rope_off_config(base: float = 10_000.0) -> dict[str, str | float]:
    """The RoPE parameters of a LLaMA configuration, scaled so that no vector is rotated: a model without positions."""
    return {"rope_type": "linear", "factor": ROPE_FACTOR, "rope_theta": base}
