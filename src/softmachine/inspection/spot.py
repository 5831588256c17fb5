"""Which position is meant, as people write it: a step, a position, or the last one."""

from __future__ import annotations

import re
from dataclasses import dataclass

from softmachine.inspection.inspection import Inspection
from softmachine.support.errors import UsageError
from softmachine.theorems.codec import DecoderCodec

_WRITTEN = re.compile(r"(@?)(-?\d{1,18})")


@dataclass(frozen=True)
class Spot:
    """A position that is asked for.

    Args:
        number: Its number; negative ones count from the end.
        is_step: Whether it is that of a step of the source language; where there are no steps, a position is meant.
    """

    number: int = -1
    is_step: bool = False

    @staticmethod
    def parse(text: str) -> Spot:
        """A step like "12", a position like "@30", or "last".

        Raises:
            UsageError: If it is none of these.
        """
        if text == "last":
            return Spot()
        found = _WRITTEN.fullmatch(text)
        if not found:
            raise UsageError(
                f"{text!r} is not a step", hint="write a step as the trace has it, @N for position N, or last"
            )
        return Spot(int(found[2]), is_step=not found[1])

    def of(self, inspection: Inspection) -> int:
        """The position in a run.

        Raises:
            UsageError: If there is none.
        """
        decodes = isinstance(inspection.run.model.codec, DecoderCodec)
        if self.is_step and decodes and self.number >= 0:
            return inspection.position_of(self.number)
        return inspection.index(self.number)
