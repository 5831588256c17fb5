"""The layer-norm hash: a vector of length √2 that depends on the ratio of two numbers alone.

Due to Merrill and Sabharwal; "Revisiting Padded Transformer Expressivity" mentions it in section B.3. Layer norm of
(x, y, -x, -y) is that vector over the root of (x² + y²)/2, whose mean is 0 already; there is no ε, as there is in
section B.3. So numbers that come divided by something, as counts over i+1 do, hash alike with other divisors:
φ(c/(i+1), 1/(i+1)) = φ(c, 1). The product of two hashes is 2 for equal ratios, and smaller otherwise. No number is
squared and no position feature needed.
"""

from __future__ import annotations

from softmachine.ir.primitives import attend, norm
from softmachine.ir.signal import Signal, stack
from softmachine.transformer.attention import Mask


def hashed(name: str, over: Signal, under: Signal) -> Signal:
    """φ(x, y): the same for all x and y of one ratio, y positive; different ratios have different ones. Two units."""
    return norm(name, stack(over, under).labelled(("over", "under")))


def look_up(
    name: str, index: Signal, per: Signal, place: Signal, place_per: Signal, read: Signal, mask: Mask
) -> Signal:
    """What ``read`` is at the position whose number is ``index / per``, for positions that are ``place / place_per``.

    Assumes that ``per`` and ``place_per`` are positive, and that the position is visible. For numbers up to n the best
    score exceeds the next by about 1/n⁴ at least; no gap is promised, since it is no rational number.
    """
    query, key = hashed(f"{name}: hash asked for", index, per), hashed("hash of the position", place, place_per)
    return attend(name, query=query, key=key, value=read, mask=mask)
