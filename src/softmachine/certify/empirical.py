"""Empirical precision: the length up to which a float format runs a softmax model correctly, on random inputs.

Two lengths are measured: where the answers of the plain format, as any software would compute them, become wrong; and
where its error bounds no longer prove them correct, which is earlier.

Certificates can be plotted: margin against temperature, and required temperature against length.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from softmachine.compiler.model import Model
from softmachine.engines.check import check_inputs
from softmachine.engines.inputs import sample_words
from softmachine.engines.numerics.float_unchecked import FORMATS
from softmachine.support.errors import ConstructionError
from softmachine.support.figures import curve_styles, open_figure
from softmachine.support.progress import ProgressCallback, ignore_progress
from softmachine.support.resources import EXTRAPOLATION_SECONDS, Estimate, require_affordable

if TYPE_CHECKING:
    from softmachine.certify.certificate import Certificate


SAMPLES_PER_LENGTH = 5
"""Random inputs per length."""
LENGTH_FACTOR = 4
"""Factor of the time for twice the length, at least."""


@dataclass(frozen=True)
class PrecisionMeasurement:
    """What was measured.

    Args:
        arithmetic: The format.
        holds_to: The largest length tried at which all inputs came out right.
        fails_at: The smallest length tried at which one did not; None if none did.
        reason: What went wrong there.
        proven_to: The largest length tried up to which the error bounds of the format leave no doubt.
    """

    arithmetic: str
    holds_to: int
    fails_at: int | None
    reason: str | None
    proven_to: int

    def to_json(self) -> dict[str, object]:
        """As plain data."""
        return asdict(self)

    def __str__(self) -> str:
        proven = f"its error bounds leave no doubt up to length {self.proven_to}"
        if self.fails_at is None:
            return f"{self.arithmetic} was right on random inputs up to length {self.holds_to}; {proven}"
        return (
            f"{self.arithmetic} was right on random inputs up to length {self.holds_to}, and wrong at length "
            f"{self.fails_at} ({self.reason}); {proven}"
        )


def measure_precision(
    model: Model, arithmetic: str, up_to: int, progress: ProgressCallback = ignore_progress
) -> PrecisionMeasurement:
    """Measure a format on a model; arithmetics other than floats have nothing plain about them.

    Raises:
        TooExpensiveError: Where the next length would take too long, and expensive work is not allowed.
    """
    plain = f"{arithmetic}:plain" if f"{arithmetic}:plain" in FORMATS else arithmetic
    holds_to, fails_at, reason = _search(model, plain, up_to, progress)
    return PrecisionMeasurement(arithmetic, holds_to, fails_at, reason, _search(model, arithmetic, up_to, progress)[0])


def _search(
    model: Model, arithmetic: str, up_to: int, progress: ProgressCallback
) -> tuple[int, int | None, str | None]:
    """Up to which length it holds, at which it fails, and why.

    Lengths double; then the distance to the first one that fails is halved. The steps of a machine are limited so that
    input and run together stay within the length.
    """
    spent = 0.0

    def problem(length: int) -> str | None:
        nonlocal spent
        if spent > EXTRAPOLATION_SECONDS:
            what = f"measuring in {arithmetic} at length {length:,}"
            require_affordable(
                Estimate(what, LENGTH_FACTOR * spent), "certify for a shorter length, or without --arithmetic"
            )
        progress(f"measuring in {arithmetic}: length {length:,}")
        began = time.perf_counter()
        words = sample_words(model.codec, SAMPLES_PER_LENGTH, length, seed=length)
        report = check_inputs(model, words, arithmetic=arithmetic, max_steps=max(up_to - length - 2, 0))
        spent = time.perf_counter() - began
        return str(report.disagreements[0]) if report.disagreements else None

    good, bad, reason = 0, None, problem(0)
    if reason is not None:
        return 0, 0, reason
    length = 1
    while length <= up_to and bad is None:
        found = problem(length)
        good, bad, reason = (length, None, None) if found is None else (good, length, found)
        length = up_to if length < up_to < 2 * length else 2 * length
    while bad is not None and bad - good > 1:
        middle = (good + bad) // 2
        found = problem(middle)
        good, bad, reason = (middle, bad, reason) if found is None else (good, middle, found)
    return good, bad, reason


MAX_CURVES = 4


def draw_margins(name: str, prove: Callable[[int, int | None], Certificate], length: int, file: Path) -> None:
    """Draw margins for lengths up to the given one, to a PNG or SVG file; nothing is overwritten.

    Args:
        name: What the model is called.
        prove: The certificate for a length and a sharpness (None for the smallest that does).
        length: The largest length.
        file: Where to draw.

    Raises:
        UsageError: If matplotlib is missing, or the file exists or has another ending.
    """
    with open_figure(file, 10, 4.2) as figure:
        left, right = figure.subplots(1, 2)
        figure.suptitle(name)
        proofs = {}
        for part in sorted({max(1, length * k // MAX_CURVES) for k in range(1, MAX_CURVES + 1)}):
            with suppress(ConstructionError):
                proofs[part] = prove(part, None)
        for (part, proof), style in zip(proofs.items(), curve_styles(len(proofs)), strict=True):
            scales = range(1, proof.sharpness + 6)
            # Where the budget breaks, nothing is certified: the margin is drawn as 0, whatever the bound is.
            margins = [max(prove(part, scale).margin, 0.0) for scale in scales]
            left.plot(scales, margins, label=f"length {part}, from {proof.sharpness} on", **style)
        left.set_xlabel("scale · gap (inverse temperature)")
        left.set_ylabel("certified margin of the logits")
        left.legend(loc="best", fontsize="small")
        under, over = curve_styles(2)
        right.plot(list(proofs), [proof.sharpness for proof in proofs.values()], label="error budget", **under)
        right.plot(list(proofs), [proof.theorem.sharpness for proof in proofs.values()], label="Theorem 26", **over)
        right.set_xlabel("length")
        right.set_ylabel("scale · gap that is needed")
        right.set_yscale("log")
        right.legend(loc="best", fontsize="small")
