"""What ``run`` shows of the inside of a run: one step as text, or as a picture."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from softmachine.cli.output import Output
from softmachine.cli.progress import working
from softmachine.errors import UsageError
from softmachine.files import require_new
from softmachine.inspection.spot import Spot

if TYPE_CHECKING:
    from softmachine.engines.result import Run
    from softmachine.inspection import Inspection
    from softmachine.inspection.pictures import Picture

STEP, ATTENTION = "step", "attention"


@dataclass(frozen=True)
class Looking:
    """What is to be shown after a run.

    Args:
        spot: Where to look.
        told: Whether it is told as text.
        picture: The file for a picture, if one is wanted.
        of: What it is a picture of: "step", "attention", or "attention:" and the name of a head.
    """

    spot: Spot
    told: bool
    picture: Path | None = None
    of: str = STEP

    @staticmethod
    def wanted(explain: str | None, picture: Path | None, of: str | None) -> Looking | None:
        """What the options ask for; None if it is nothing.

        Raises:
            UsageError: If they cannot be followed; it is said before the run.
        """
        if of is not None and picture is None:
            raise UsageError("--svg-of says what the picture of --svg shows", hint="name its file: --svg FILE")
        if of is not None and of != STEP and of.partition(":")[0] != ATTENTION:
            raise UsageError(
                f"there is no picture of {of!r}",
                hint="choose step, attention, or attention:HEAD; `softmachine show SOURCE --svg FILE` draws the board",
            )
        if explain is None and picture is None:
            return None
        if picture is not None:
            if picture.suffix.lower() != ".svg":
                raise UsageError(f"{picture} should end in .svg")
            require_new(picture)
        spot = Spot() if explain is None else Spot.parse(explain)
        return Looking(spot, explain is not None, picture, of or STEP)

    def at(self, run: Run, output: Output) -> dict[str, object]:
        """Look into a run: write the picture, say what is to be said, or give it as JSON has it."""
        from softmachine import api
        from softmachine.inspection.explaining import explained, explanation

        answer: dict[str, object] = {}
        with working("looking inside, in exact arithmetic", output):
            inspection = api.inspect(run)
            position = self.spot.of(inspection)
            moment = inspection.at(position) if self.told else None
            if self.picture is not None:
                self._drawn(inspection, position).save(self.picture)
        if moment is not None and output.as_json:
            answer["explain"] = explained(moment, run.model)
        elif moment is not None:
            output.say(f"\n{explanation(moment, run.model)}")
        if self.picture is not None and output.as_json:
            answer["svg"] = str(self.picture)
        elif self.picture is not None and not output.quiet:
            output.say(f"wrote {self.picture}")
        return answer

    def _drawn(self, inspection: Inspection, position: int) -> Picture:
        from softmachine.inspection.pictures import attention_picture, step_picture

        if self.of == STEP:
            return step_picture(inspection, position)
        return attention_picture(inspection, self.of.partition(":")[2] or None, position)
