"""A picture of a certificate: the margin that is left against the scale, for several lengths."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from softmachine.errors import ConstructionError, UsageError

if TYPE_CHECKING:
    from softmachine.transformer import Transformer

CURVES = 4


def draw(model: Transformer, length: int, file: Path) -> None:
    """Draw margins for lengths up to the given one, to a PNG or SVG file; nothing is overwritten.

    Raises:
        UsageError: If matplotlib is missing, or the file exists or has another ending.
    """
    if file.suffix.lower() not in (".png", ".svg"):
        raise UsageError(f"{file} should end in .png or .svg")
    if file.exists():
        raise UsageError(f"{file} exists already", hint="choose another name")
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise UsageError("drawing needs matplotlib", hint="pip install 'softmachine[plot]'") from None
    from softmachine import api

    figure = Figure(figsize=(7, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for part in sorted({max(1, length * k // CURVES) for k in range(1, CURVES + 1)}):
        try:
            enough = api.certificate(model, length=part).sharpness
        except ConstructionError:
            continue
        scales = range(1, 2 * enough + 3)
        margins = [api.certificate(model, length=part, sharpness=scale).margin for scale in scales]
        axes.plot(scales, margins, marker=".", label=f"length {part}, from {enough} on")
    axes.axhline(0, color="grey", linewidth=0.8)
    axes.set_xlabel("scale · gap")
    axes.set_ylabel("certified margin of the logits")
    axes.set_title(model.name)
    axes.legend(loc="lower right", fontsize="small")
    scratch = file.with_name(f".{file.name}.part")
    try:
        figure.savefig(scratch, format=file.suffix[1:].lower(), dpi=150)
        scratch.replace(file)
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror}") from None
    finally:
        scratch.unlink(missing_ok=True)
