"""Up to which length a float format runs a softmax model rightly, as measured on random inputs."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from softmachine.checking import check_words, random_words
from softmachine.runs import codec_of
from softmachine.transformer import Transformer

SAMPLES = 5
"""So many random inputs of each length are tried."""


@dataclass(frozen=True)
class Measurement:
    """What was measured.

    Args:
        arithmetic: The format.
        holds_to: The largest length tried at which all inputs came out right.
        fails_at: The smallest length tried at which one did not; None if none did.
        reason: What went wrong there.
    """

    arithmetic: str
    holds_to: int
    fails_at: int | None
    reason: str | None

    def to_json(self) -> dict[str, object]:
        """As plain data."""
        return asdict(self)

    def __str__(self) -> str:
        if self.fails_at is None:
            return f"{self.arithmetic} was right on random inputs up to length {self.holds_to}"
        return f"{self.arithmetic} was right up to length {self.holds_to}; at length {self.fails_at}: {self.reason}"


def measure(model: Transformer, arithmetic: str, up_to: int) -> Measurement:
    """Try random inputs of lengths that double, then halve the distance to the first length that fails.

    The steps of a machine are limited so that input and run together stay within the length.
    """

    def problem(length: int) -> str | None:
        words = random_words(codec_of(model).alphabet, SAMPLES, length, seed=length)
        report = check_words(model, words, arithmetic=arithmetic, max_steps=max(up_to - length - 2, 0))
        return str(report.disagreements[0]) if report.disagreements else None

    good, bad, reason = 0, None, problem(0)
    if reason is not None:
        return Measurement(arithmetic, 0, 0, reason)
    length = 1
    while length <= up_to and bad is None:
        found = problem(length)
        good, bad, reason = (length, None, None) if found is None else (good, length, found)
        length = up_to if length < up_to < 2 * length else 2 * length
    while bad is not None and bad - good > 1:
        middle = (good + bad) // 2
        found = problem(middle)
        good, bad, reason = (middle, bad, reason) if found is None else (good, middle, found)
    return Measurement(arithmetic, good, bad, reason)
