"""Emulated low precision: float32 activations rounded to fewer significant bits.

This does not reproduce any hardware exactly. Sums inside a matrix product are float32, as on GPU tensor cores; the
results are rounded to the given number of significant bits, half to even. Gradients pass through unchanged
(straight-through estimator).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from softmachine.support.errors import UsageError

if TYPE_CHECKING:
    import torch

NAMES = ("float32", "bfloat16", "bits:B")
BITS = {"float32": 24, "bfloat16": 8}
"""Number of significant bits, including the leading 1."""


def significant_bits(name: str) -> int:
    """Return the number of significant bits of a precision.

    Raises:
        UsageError: If there is no such precision.
    """
    if name in BITS:
        return BITS[name]
    found = re.fullmatch(r"bits:(\d{1,2})", name)
    if not found or not 1 <= int(found[1]) <= 24:
        raise UsageError(
            f"there is no precision {name!r}", hint=f"choose one of {', '.join(NAMES)}, with B from 1 to 24"
        )
    return int(found[1])


def rounding(name: str) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return a function that rounds tensors to a precision; gradients pass through it unchanged."""
    bits = significant_bits(name)
    if bits == 24:
        return lambda tensor: tensor
    import torch

    dropped = 24 - bits

    class _Rounded(torch.autograd.Function):
        @staticmethod
        def forward(_context: object, tensor: torch.Tensor) -> torch.Tensor:
            whole = tensor.detach().contiguous().view(torch.int32)
            rounded = (whole >> dropped).bitwise_and_(1)  # the last kept bit: ties round to even
            rounded += whole
            rounded += (1 << (dropped - 1)) - 1
            rounded &= -1 << dropped
            return rounded.view(torch.float32)

        @staticmethod
        def backward(_context: object, gradient: torch.Tensor) -> torch.Tensor:
            return gradient

    return _Rounded.apply  # type: ignore[no-any-return]
