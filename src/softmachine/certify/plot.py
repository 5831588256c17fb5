"""A picture of certificates: margin against temperature, and the temperature that is needed against length."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from softmachine.support.errors import ConstructionError
from softmachine.support.figures import picture, styles

if TYPE_CHECKING:
    from softmachine.certify.certificate import Certificate

CURVES = 4


def draw(name: str, prove: Callable[[int, int | None], Certificate], length: int, file: Path) -> None:
    """Draw margins for lengths up to the given one, to a PNG or SVG file; nothing is overwritten.

    Args:
        name: What the model is called.
        prove: The certificate for a length and a sharpness (None for the smallest that does).
        length: The largest length.
        file: Where to draw.

    Raises:
        UsageError: If matplotlib is missing, or the file exists or has another ending.
    """
    with picture(file, 10, 4.2) as figure:
        left, right = figure.subplots(1, 2)
        figure.suptitle(name)
        proofs = {}
        for part in sorted({max(1, length * k // CURVES) for k in range(1, CURVES + 1)}):
            with suppress(ConstructionError):
                proofs[part] = prove(part, None)
        for (part, proof), style in zip(proofs.items(), styles(len(proofs)), strict=True):
            scales = range(1, proof.sharpness + 6)
            # Where the budget breaks, nothing is certified: the margin is drawn as 0, whatever the bound is.
            margins = [max(prove(part, scale).margin, 0.0) for scale in scales]
            left.plot(scales, margins, label=f"length {part}, from {proof.sharpness} on", **style)
        left.set_xlabel("scale · gap (inverse temperature)")
        left.set_ylabel("certified margin of the logits")
        left.legend(loc="best", fontsize="small")
        under, over = styles(2)
        right.plot(list(proofs), [proof.sharpness for proof in proofs.values()], label="error budget", **under)
        right.plot(list(proofs), [proof.theorem.sharpness for proof in proofs.values()], label="Theorem 26", **over)
        right.set_xlabel("length")
        right.set_ylabel("scale · gap that is needed")
        right.set_yscale("log")
        right.legend(loc="best", fontsize="small")
