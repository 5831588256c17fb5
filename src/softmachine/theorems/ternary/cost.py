"""Cost of the ternary constructions, without and with summaries; docs/low-precision.md lists the paper's costs."""

from __future__ import annotations

from softmachine.theorems.cost import Cost, apply, largest, let, parameter
from softmachine.theorems.shared.turing_tokens import STATES, TAPES
from softmachine.theorems.ternary.embedding import Words

_BITS = parameter("r", "bits of a position", lambda codec: codec.bits)
_HALF = apply("⌈{}/2⌉", lambda bits: (bits + 1) // 2, _BITS)
_STATE = parameter("d_Q", "bits of a state", lambda codec: len(Words(codec).start))
_SYMBOL = parameter("d_Γ", "bits of a symbol", lambda codec: len(Words(codec).blank))
_RULES = parameter("D", "rules", lambda codec: len(codec.machine.rules))
_TWO_WAY = parameter("t", "1 for two-way tapes and 0 for tapes with a left end", lambda codec: int(codec.two_way))
_EMITTED = let("w", _STATE + TAPES * _SYMBOL + 2 * TAPES)
_RULE_UNITS = _RULES + STATES + 2 * _EMITTED + 4
_DENOISED_UNITS = largest(14 * TAPES * _BITS + 2 * _BITS + 20, _RULES + STATES + 6 * _EMITTED + 4)
_HEADS = {
    "key width": 4 * _BITS - 1,
    "value width": largest(_BITS + _TWO_WAY, _STATE, _SYMBOL + 1, TAPES + 1),
}

PLAIN_COST = Cost(
    {"layers": _HALF + 2 * _BITS + 4, "layers with softmax": _HALF + 3 * _BITS + 7},
    {
        "heads per layer": TAPES + 1,
        "width": largest(TAPES + 7, 3 * TAPES + 2) * _BITS + _STATE + TAPES * _SYMBOL + 4 * TAPES + 12,
        **_HEADS,
        "units per layer": largest(10 * TAPES * _BITS + 4 * TAPES + 4, _RULE_UNITS),
        "units per layer with softmax": _DENOISED_UNITS,
    },
    also="about two tokens per step",
)
SUMMARY_COST = Cost(
    {
        "layers": largest(_HALF + 1, 6) + 2 * _BITS + 3,
        "layers with softmax": largest(_HALF + 2, 9) + 3 * _BITS + 5,
    },
    {
        "heads per layer": largest(2 * TAPES + 1, 5),
        "width": largest(TAPES + 11, 4 * TAPES + 2) * _BITS + 4 * _STATE + 2 * TAPES * _SYMBOL + 5 * TAPES + 14,
        **_HEADS,
        "units per layer": _DENOISED_UNITS,
    },
    also="about two tokens per step, plus summaries",
)
