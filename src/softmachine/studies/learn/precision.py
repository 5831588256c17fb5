"""Numbers of fewer bits, emulated: activations are float32 that are rounded after every operation that counts.

No machine computes like that. Sums inside a product of matrices are float32, as they are in the units of GPUs; what
leaves it is rounded to so many significant bits, half to even. Gradients pass as if nothing had been rounded.
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
"""How many significant bits numbers have, the leading 1 included."""


def significant_bits(name: str) -> int:
    """How many significant bits a precision has.

    Raises:
        UsageError: If there is no such precision.
    """
    if name in BITS:
        return BITS[name]
    found = re.fullmatch(r"bits:(\d{1,2})", name)
    if not found or not 1 <= int(found[1]) <= 24:
        raise UsageError(f"there is no precision {name!r}", hint=f"there are {', '.join(NAMES)}, B from 1 to 24")
    return int(found[1])


def rounding(name: str) -> Callable[[torch.Tensor], torch.Tensor]:
    """What rounds a tensor to a precision; gradients pass through it unchanged."""
    bits = significant_bits(name)
    if bits == 24:
        return lambda tensor: tensor
    import torch

    gone = 24 - bits

    class _Rounded(torch.autograd.Function):
        @staticmethod
        def forward(_context: object, tensor: torch.Tensor) -> torch.Tensor:
            whole = tensor.detach().contiguous().view(torch.int32)
            rounded = (whole >> gone).bitwise_and_(1)  # whether the last bit that stays is odd: half goes to even
            rounded += whole
            rounded += (1 << (gone - 1)) - 1
            rounded &= -1 << gone
            return rounded.view(torch.float32)

        @staticmethod
        def backward(_context: object, gradient: torch.Tensor) -> torch.Tensor:
            return gradient

    return _Rounded.apply  # type: ignore[no-any-return]
