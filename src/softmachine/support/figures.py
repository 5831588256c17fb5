"""Matplotlib figures written to new PNG or SVG files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from softmachine.support.errors import UsageError
from softmachine.support.files import atomic_file, require_creatable

if TYPE_CHECKING:
    from matplotlib.figure import Figure


MARKERS = "os^Dvp*"


class CurveStyle(TypedDict):
    """Line style of a curve."""

    linewidth: float
    markersize: float
    marker: str


def curve_styles(count: int) -> list[CurveStyle]:
    """Line styles that keep coinciding curves distinguishable: each curve is thinner than those below it.

    Where curves coincide, the wider ones are visible on both sides of the thinner ones.
    """
    widths = [1.5 + 1.8 * below for below in reversed(range(count))]
    return [
        CurveStyle(linewidth=width, markersize=width + 3.5, marker=MARKERS[k % len(MARKERS)])
        for k, width in enumerate(widths)
    ]


def require_drawable(file: Path) -> None:
    """Check, before the work starts, that a figure can be drawn and written.

    Raises:
        UsageError: If matplotlib is missing, or the file exists or has another suffix.
    """
    if file.suffix.lower() not in (".png", ".svg"):
        raise UsageError(f"{file} should end in .png or .svg")
    require_creatable(file)
    if find_spec("matplotlib") is None:
        raise UsageError("drawing needs matplotlib", hint="pip install 'softmachine[plot]'")


@contextmanager
def open_figure(file: Path, width: float, height: float) -> Iterator[Figure]:
    """A matplotlib figure of a width and height in inches, which is written to the file on exit.

    Raises:
        UsageError: If matplotlib is missing, or the file exists, has another suffix or cannot be written.
    """
    require_drawable(file)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    yield figure
    with atomic_file(file) as scratch:
        figure.savefig(scratch, format=file.suffix[1:].lower(), dpi=150)
