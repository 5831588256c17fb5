"""Pictures in files: matplotlib where it is installed, PNG or SVG, and nothing is overwritten."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from softmachine.errors import UsageError
from softmachine.files import new_file, require_free

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@contextmanager
def picture(file: Path, width: float, height: float) -> Iterator[Figure]:
    """A figure of matplotlib to draw on, so many inches wide and high; it is written to the file at the end.

    Raises:
        UsageError: If matplotlib is missing, or the file exists, has another ending or cannot be written.
    """
    if file.suffix.lower() not in (".png", ".svg"):
        raise UsageError(f"{file} should end in .png or .svg")
    require_free(file)
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise UsageError("drawing needs matplotlib", hint="pip install 'softmachine[plot]'") from None
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    yield figure
    with new_file(file) as scratch:
        figure.savefig(scratch, format=file.suffix[1:].lower(), dpi=150)
