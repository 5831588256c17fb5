"""What stock architectures cannot hold, with the reason."""

from __future__ import annotations

from softmachine.compiler.model import Model
from softmachine.support.errors import ConstructionError, UsageError
from softmachine.theorems.codec import DecoderCodec
from softmachine.transformer.features import Feature
from softmachine.transformer.weights import Transformer

MOST_LAYERS = 512
"""Loops that unroll to more layers are refused."""
MOST_POSITIONS = 1 << 20
"""No stock checkpoint has more positions."""
MOST_TABLED = 1024
"""Nor more than this if a head's scores need a table of all pairs of positions, or the length must be found out."""

WHOLE = "the norms of a stock checkpoint are of the whole stream, not of a part of it: there is no place for that one"
"""Why the layer norm of a few numbers is not exported."""


def require_length(length: int) -> None:
    """Complain about a number of positions that no checkpoint has."""
    if not 1 <= length <= MOST_POSITIONS:
        hint = f"1 to {MOST_POSITIONS:,} are possible"
        raise UsageError(f"a model with {length} positions cannot be written", hint=hint)


def require_tabled(transformer: Transformer, positions: int, why: str) -> None:
    """Complain about more positions than a table of all pairs may have."""
    if positions > MOST_TABLED:
        raise ConstructionError(
            f"{transformer.name!r} cannot be written for {positions:,} positions: {why}, which takes a table of all "
            "pairs of positions",
            hint=f"at most {MOST_TABLED:,} positions are possible then",
        )


def require_decoder(transformer: Transformer) -> None:
    """Complain about what no decoder can do: see ahead, or know how long its input will be."""
    needed = [*transformer.features, *(head.weighting.scale for head in transformer.heads)]
    hint = (
        "export it to bert or onnx, which see all positions; "
        "for formulas of the past there is the theorem temporal-masked"
    )
    for head in transformer.heads:
        if not head.mask.causal:
            raise ConstructionError(
                f"{transformer.name!r} is an encoder: head {head.name!r} sees {head.mask}, but a decoder sees j ≤ i",
                hint=hint,
            )
    for item in (*needed, *(block.repeats for block in transformer.blocks)):
        if isinstance(item, Feature) and item.needs_length:
            raise ConstructionError(
                f"{transformer.name!r} is an encoder: it uses {item}, which depends on the length of the input, and a "
                "decoder does not know how long its input will be",
                hint=hint,
            )


def require_encoder(model: Model) -> None:
    """Complain about what no encoder can do: go on from its input."""
    if isinstance(model.codec, DecoderCodec):
        raise ConstructionError(
            f"{model.name!r} is a decoder: it goes on from its input token by token, but an encoder answers at "
            "the positions of its input and that is all",
            hint="export it to gpt2",
        )


def require_soft(transformer: Transformer) -> None:
    """Complain about attention that is not softmax."""
    for head in transformer.heads:
        if head.weighting.unique or (head.weighting.hard and head.query.bias):
            raise ConstructionError(
                f"head {head.name!r} has {head.weighting} attention; stock checkpoints have softmax",
                hint="make it soft first: sm.soften(model, length=N)",
            )
