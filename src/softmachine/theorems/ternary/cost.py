"""What the ternary constructions cost, as formulas; the tests hold the networks to them."""

from __future__ import annotations

from dataclasses import dataclass

from softmachine.theorems.ternary.embedding import Words
from softmachine.theorems.ternary.tokens import TernaryCodec


@dataclass(frozen=True)
class Cost:
    """What the construction spends: the largest numbers of any layer, and the width of the residual stream.

    Layers, heads, keys and values are exact; units and width are bounds, since coordinates are shared where they can.
    """

    layers: int
    heads: int
    key_width: int
    value_width: int
    units: int
    width: int


def cost(codec: TernaryCodec, *, denoised: bool = False) -> Cost:
    """The cost for K tapes, D rules, d_Q and d_Γ bits for states and symbols, and w = d_Q + K d_Γ + 2K.

    Layers: ⌈r/2⌉ + 2r + 4; with summaries max(⌈r/2⌉ + 1, 6) + 2r + 3; denoised ⌈r/2⌉ + 3r + 7, and with summaries
    max(⌈r/2⌉ + 2, 9) + 3r + 5. The paper has 5r/2 + 8, and twice as many after denoising.
    Heads: K + 1; with summaries max(2K + 1, 5). The paper has 3K and 3K + 2.
    Keys: 4r - 1, as in the paper. Values: max(r, d_Q, d_Γ + 1, K + 1), one more than r for two-way tapes.
    Units: at most max(10Kr + 4K + 4, D + |Q| + 2w + 4); with summaries or denoised max(14Kr + 2r + 20, the same + 4w).
    Width: at most max(K + 7, 3K + 2) r + d_Q + K d_Γ + 4K + 12; with summaries max(K + 11, 4K + 2) r + 2 d_Q + 2K d_Γ +
    5K + 14. The paper has 6(K + 1)r + … and (7K + 9)r + ….
    """
    words = Words(codec)
    tapes, bits, rules = codec.machine.tapes, codec.bits, len(codec.machine.rules)
    state, symbol = len(words.start), len(words.blank)
    half, emitted = (bits + 1) // 2, state + tapes * symbol + 2 * tapes
    transition = rules + len(codec.machine.states) + 2 * emitted + 4
    layers, heads = half + 2 * bits + 4, tapes + 1
    units = max(10 * tapes * bits + 4 * tapes + 4, transition)
    width = max(tapes + 7, 3 * tapes + 2) * bits + state + tapes * symbol + 4 * tapes + 12
    if denoised:
        layers = half + 3 * bits + 7
    if codec.summarises:
        layers = max(half + 2, 9) + 3 * bits + 5 if denoised else max(half + 1, 6) + 2 * bits + 3
        heads = max(2 * tapes + 1, 5)
        width = max(tapes + 11, 4 * tapes + 2) * bits + 2 * state + 2 * tapes * symbol + 5 * tapes + 14
    if denoised or codec.summarises:
        units = max(14 * tapes * bits + 2 * bits + 20, transition + 4 * emitted)
    values = max(bits + codec.two_way, state, symbol + 1, tapes + 1)
    return Cost(layers, heads, 4 * bits - 1, values, units, width)
