"""The worked table of a run: a row for each position, with the numbers that the theorem names.

Nothing is simulated. Every entry is read off the residual stream after the last layer, as the model computed it.
"""

from __future__ import annotations

from collections.abc import Iterator

from softmachine.compiler.model import Model
from softmachine.inspection.inspection import Inspection
from softmachine.support.errors import UsageError
from softmachine.transformer.column import Column

POSITION, TOKEN, SAYS = "i", "x", "y"
"""The position, the token there, and what the model says."""


def require_columns(model: Model) -> tuple[Column, ...]:
    """The columns that the theorem of a model has.

    Raises:
        UsageError: If it has none.
    """
    columns = model.theorem.columns
    if columns is None:
        raise UsageError(
            f"the theorem {model.theorem.name} has no table",
            hint="models of chapter-8 have one",
        )
    return tuple(columns(model.codec))


def rows(inspection: Inspection, most: int) -> Iterator[dict[str, str]]:
    """The first rows, at most so many: entries by the titles of their columns."""
    columns = require_columns(inspection.run.model)
    for moment in inspection.moments(range(min(len(inspection), most))):
        stream = dict(moment.streams[-1])
        said = moment.logits.winner
        entries = {column.title: column.entry(stream) for column in columns}
        yield {POSITION: f"{moment.position}", TOKEN: moment.token, **entries, SAYS: "" if said is None else said}
