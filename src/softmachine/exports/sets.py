"""Bundles of models with known circuits, exported together to one folder."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Protocol

from softmachine.exports.folder import new_folder
from softmachine.exports.formats import stock_format
from softmachine.exports.manifest import seal
from softmachine.exports.writing import Exported
from softmachine.support.errors import Remedy, UsageError
from softmachine.support.progress import Tell, nobody
from softmachine.support.text import did_you_mean


class Export(Protocol):
    """Compiles and exports one model: :func:`softmachine.export`."""

    def __call__(
        self, model: str, folder: Path, *, to: str, context: int | None, dtype: str | None, tell: Tell
    ) -> Exported:
        """Export the model of a source."""


_GROWING = {
    "interp": (
        ("majority-crasp flip-flop-formula dyck-1-crasp parity-formula majority-formula bigram-formula", 64),
        ("parity-counter dyck-1-formula alternating-formula bit-inversion increment parity", 64),
        ("divisible-by-three busy-beaver-3", 64),
        ("busy-beaver-4 palindrome", 128),
        ("binary-addition", 256),
        ("two-tape-palindrome", 128),
    ),
    "encoders": (
        ("majority-formula bigram-program flip-flop-formula last-symbol shift-program", 32),
        ("lookahead-adder-4 sorting-6", 128),
        ("trigram-program dyck-1-program response-formula induction-head majority-rule reverse-program", 32),
        ("flip-flop-program dyck-2-program two-hop-induction-head", 32),
    ),
}
SETS = {
    name: tuple((source, length) for sources, length in rows for source in sources.split())
    for name, rows in _GROWING.items()
}
"""Bundles of models with known circuits, in order of size: names of the zoo with numbers of positions.

``interp`` holds decoders, ``encoders`` is for formats with bidirectional attention.
"""


def export_set(
    name: str, folder: Path, *, to: str, dtype: str | None, force: bool, export: Export, tell: Tell = nobody
) -> tuple[Exported, ...]:
    """Export every model of a bundle to a subfolder, all or nothing; see :data:`SETS`."""
    if name not in SETS:
        raise UsageError(f"unknown set {name!r}", hint=did_you_mean(name, SETS))
    form = stock_format(to)
    if name == "encoders" and not form.encodes:
        raise UsageError(
            f"the set encoders cannot be written as {to}", hint=Remedy("choose {} or --to onnx", to="bert")
        )
    if name == "interp" and not (form.decodes and form.positions):
        raise UsageError(f"the set interp cannot be written as {to}", hint="choose gpt2, gpt2-default or onnx")
    written: list[Exported] = []
    with new_folder(folder, force=force) as new:
        for number, (source, length) in enumerate(SETS[name], 1):
            report_one = partial(_told_of_one, tell, f"{source} ({number} of {len(SETS[name])})")
            made = export(source, new / source, to=to, context=length, dtype=dtype, tell=report_one)
            written.append(replace(made, folder=folder / source))
        models = [
            {"folder": item.folder.name, "architecture": item.architecture, "positions": item.length}
            for item in written
        ]
        seal(new, {"format": "softmachine-set", "version": 2, "name": name, "models": models})
    return tuple(written)


def _told_of_one(tell: Tell, model: str, doing: str) -> None:
    tell(f"{model}: {doing}")
