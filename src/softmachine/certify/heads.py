"""What is known of a head from its weights: whether it is uniform, and whether errors can reach it."""

from __future__ import annotations

from softmachine.support.errors import ConstructionError
from softmachine.transformer.weights import Head, Transformer


def flat(head: Head) -> bool:
    """Whether all visible keys always have one score: nothing is asked for, or all keys are alike."""
    silent = not head.query.weight.nonzeros and not any(head.query.bias)
    return head.bias is None and (silent or not head.key.weight.nonzeros)


def uniform(head: Head) -> bool:
    """Whether it takes the mean of all visible keys, which is the same hard and soft."""
    return flat(head) and not head.weighting.unique


def exact_heads(transformer: Transformer, length: int) -> set[Head]:
    """The heads that read no errors: softmax has taken the place of no head before that chooses."""
    found: set[Head] = set()
    later: set[Head] = set()
    chosen = False
    for layer in transformer.unrolled(length):
        (later if chosen else found).update(layer.heads)
        chosen = chosen or not all(map(uniform, layer.heads))
    return found - later


def require_hard(transformer: Transformer) -> None:
    """See that every head has hard attention, or is uniform.

    Raises:
        ConstructionError: If one has a temperature already; the message names it.
    """
    for head in transformer.heads:
        if not head.weighting.hard and not uniform(head):
            raise ConstructionError(
                f"head {head.name!r} is {head.weighting}: it has a temperature already",
                hint="only hard attention is softened",
            )


def step_after_errors(transformer: Transformer, length: int) -> str | None:
    """The name of a step or layer norm that errors can reach; none of Theorem 26's bounds holds then."""
    chosen = False
    for layer in transformer.unrolled(length):
        chosen = chosen or not all(map(uniform, layer.heads))
        forward = layer.feed_forward
        for name, activation in zip(forward.units, forward.activations, strict=True):
            if chosen and activation != "relu":
                return name
    return None
