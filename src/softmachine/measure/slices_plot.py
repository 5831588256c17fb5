"""A picture of slices: how many Myhill–Nerode classes they have, against their length."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from softmachine.measure.figures import picture
from softmachine.measure.slice_growth import fit
from softmachine.measure.slices import Slice


def draw_slices(name: str, found: Sequence[Slice], file: Path) -> None:
    """Draw the number of Myhill–Nerode classes of slices against their length, twice.

    With a logarithmic axis for the classes, exponentials are straight lines; with two, powers are.

    Args:
        name: What the language is called.
        found: The slices.
        file: Where to draw.

    Raises:
        UsageError: If matplotlib is missing, or the file exists, has another ending or cannot be written.
    """
    with picture(file, 10, 4.2) as figure:
        left, right = figure.subplots(1, 2)
        grown = fit({each.length: each.total for each in found})
        law = "" if grown is None else f": {grown.law}"
        figure.suptitle(f"Myhill–Nerode classes of the slices of {name}{law}")
        lengths = [each.length for each in found if each.length]
        for axes in (left, right):
            axes.plot(lengths, [each.total for each in found if each.length], marker="o", label="classes")
            axes.plot(lengths, [each.width for each in found if each.length], marker=".", label="widest level")
            axes.set_yscale("log")
            axes.set_xlabel("length n" + (" (logarithmic)" if axes is right else ""))
            axes.legend(loc="best", fontsize="small")
        right.set_xscale("log")
        left.set_ylabel("states of the smallest automaton")
        if grown is not None:
            exponential = f"{grown.base:.2f}^n misses by {grown.exponential_error:.1%}"
            power = f"n^{grown.degree:.2f} misses by {grown.power_error:.1%}"
            left.set_title(f"exponentials are straight here; {exponential}", fontsize="small")
            right.set_title(f"powers are straight here; {power}", fontsize="small")
