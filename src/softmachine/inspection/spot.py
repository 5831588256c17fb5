"""Position argument of the command line: a step, a position, or the last one."""

from __future__ import annotations

import re
from dataclasses import dataclass

from softmachine.inspection.inspection import Inspection
from softmachine.support.errors import UsageError
from softmachine.theorems.codec import DecoderCodec

_WRITTEN = re.compile(r"(@?)(-?\d{1,18})")


@dataclass(frozen=True)
class Spot:
    """A position selector.

    Args:
        number: The number; negative ones count from the end.
        is_step: Whether it is a step of the source language; without steps, it is a position.
    """

    number: int = -1
    is_step: bool = False

    @staticmethod
    def parse(text: str) -> Spot:
        """Parse a step like "12", a position like "@30", or "last".

        Raises:
            UsageError: If the text is none of these.
        """
        if text == "last":
            return Spot()
        found = _WRITTEN.fullmatch(text)
        if not found:
            raise UsageError(
                f"{text!r} is not a step", hint="write a step number of the trace, @N for position N, or last"
            )
        return Spot(int(found[2]), is_step=not found[1])

    def of(self, inspection: Inspection) -> int:
        """The selected position of a run.

        Raises:
            UsageError: If the run does not have it.
        """
        decodes = isinstance(inspection.run.model.codec, DecoderCodec)
        if self.is_step and decodes and self.number >= 0:
            return inspection.position_of(self.number)
        return inspection.index(self.number)
