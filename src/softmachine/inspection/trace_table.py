"""Trace table of a run: one row per position, with the columns that the theorem defines.

Every entry is read off the residual stream after the last layer, as computed by the model; nothing is simulated.
"""

from __future__ import annotations

from collections.abc import Iterator

from softmachine.compiler.model import Model
from softmachine.inspection.inspection import Inspection
from softmachine.support.errors import UsageError
from softmachine.transformer.trace_column import TraceColumn

POSITION, TOKEN, OUTPUT = "i", "x", "y"
"""Titles of the columns of the position, its token, and the output."""


def require_columns(model: Model) -> tuple[TraceColumn, ...]:
    """The columns that the theorem of a model defines.

    Raises:
        UsageError: If it defines none.
    """
    columns = model.theorem.columns
    if columns is None:
        raise UsageError(
            f"the theorem {model.theorem.name} has no table",
            hint="models of turing-average-hard have one",
        )
    return tuple(columns(model.codec))


def iterate_rows(inspection: Inspection, max_rows: int) -> Iterator[dict[str, str]]:
    """The first rows, at most ``max_rows``: entries by the titles of their columns."""
    columns = require_columns(inspection.run.model)
    for activations in inspection.at_positions(range(min(len(inspection), max_rows))):
        stream = dict(activations.residual_streams[-1])
        entries = {column.title: column.format_entry(stream) for column in columns}
        yield {
            POSITION: f"{activations.position}",
            TOKEN: activations.token,
            **entries,
            OUTPUT: activations.logits.winner or "",
        }
