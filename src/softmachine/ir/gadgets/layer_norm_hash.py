"""Layer-norm hash: a vector of length √2 that depends only on the ratio of two numbers.

Due to Merrill and Sabharwal; see section B.3 of "Revisiting Padded Transformer Expressivity". The layer norm of
(x, y, -x, -y), whose mean is 0, divides the vector by the root of (x² + y²)/2; unlike section B.3 there is no ε. Hence
numbers with a common divisor, such as counts over i+1, have the hash of the undivided numbers:
φ(c/(i+1), 1/(i+1)) = φ(c, 1). The dot product of two hashes is 2 for equal ratios, and smaller otherwise. Neither
squares nor position features are needed.
"""

from __future__ import annotations

from softmachine.ir.primitives import attend, norm
from softmachine.ir.signal import Signal, stack
from softmachine.transformer.attention import Mask


def layer_norm_hash(name: str, numerator: Signal, denominator: Signal) -> Signal:
    """φ(x, y), an injective function of the ratio x/y for positive y. Two units."""
    return norm(name, stack(numerator, denominator).with_labels(("over", "under")))


def lookup_by_hash(
    name: str, index: Signal, index_scale: Signal, position: Signal, position_scale: Signal, read: Signal, mask: Mask
) -> Signal:
    """The value of ``read`` at position ``index / per``, where positions are given as ``place / place_per``.

    Assumes that ``index_scale`` and ``position_scale`` are positive, and that the position is visible. For numbers up
    to n the best score exceeds the next by at least about 1/n⁴; no gap is declared, because it is not a rational
    number.
    """
    query, key = (
        layer_norm_hash(f"{name}: query hash", index, index_scale),
        layer_norm_hash("hash of the position", position, position_scale),
    )
    return attend(name, query=query, key=key, value=read, mask=mask)
