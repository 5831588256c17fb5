"""What an exported folder says of itself, read back from its map: layers, heads, idle ones too, and signals."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from softmachine.errors import Place, SourceError
from softmachine.exports.folder import MARK
from softmachine.text import brief, family, many, span
from softmachine.transformer.board import line

MOST_BYTES = 1 << 28
"""Larger maps are refused."""


@dataclass(frozen=True)
class MappedLayer:
    """What has a name in a layer: heads with what they write, units, and the numbers of idle heads."""

    heads: tuple[tuple[str, tuple[str, ...]], ...]
    units: tuple[str, ...]
    idle: tuple[int, ...]


@dataclass(frozen=True)
class Mapped:
    """An exported model as its map describes it; no weights are read.

    Args:
        name: What it is called.
        architecture: The class that loads it.
        theorem: The theorem that it was compiled by.
        positions: How many positions it has.
        dtype: The format of its weights.
        dtypes: The formats in which everything was right when it was written.
        vocabulary: The number of tokens.
        coordinates: The signals of its residual stream.
        layers: What is in its layers.
    """

    name: str
    architecture: str
    theorem: str
    positions: int
    dtype: str
    dtypes: tuple[str, ...]
    vocabulary: int
    coordinates: tuple[str, ...]
    layers: tuple[MappedLayer, ...]

    def lines(self, *, every: bool = False) -> Iterator[str]:
        """The board of the model; long lists of names are folded, unless ``every`` name is wanted."""
        names = ", ".join if every else brief
        yield (
            f"{self.architecture}  {self.name}  by {self.theorem}, {many(len(self.layers), 'layer')}, "
            f"{many(self.positions, 'position')}, {many(self.vocabulary, 'token')}, {self.dtype}"
        )
        yield line("stream", many(len(self.coordinates), "signal"), names(_vectors(self.coordinates)))
        for number, layer in enumerate(self.layers):
            label = f"layer {number}"
            for k, (name, writes) in enumerate(layer.heads):
                yield line(label, f"attention  {k}: {name}", names(_vectors(writes)) or "nothing")
                label = ""
            if layer.idle:
                yield line(label, f"attention  idle: {span(layer.idle)}", "nothing")
                label = ""
            if layer.units:
                kinds = [*dict.fromkeys(family(unit.split(":")[0]) for unit in layer.units)]
                yield f"  {label:<10}feed-forward  {names(kinds)} ({many(len(layer.units), 'unit')})"
        yield f"  right in  {', '.join(self.dtypes) or 'no format'}"

    def to_json(self) -> dict[str, object]:
        """The same as data."""
        return {
            "name": self.name,
            "architecture": self.architecture,
            "construction": self.theorem,
            "positions": self.positions,
            "dtype": self.dtype,
            "dtypes_that_hold": list(self.dtypes),
            "vocabulary": self.vocabulary,
            "layers": len(self.layers),
            "heads": sum(len(layer.heads) for layer in self.layers),
            "idle_heads": [list(layer.idle) for layer in self.layers],
            "coordinates": list(self.coordinates),
        }


def read_map(folder: Path) -> Mapped | None:
    """What a folder that was exported says of itself; None if it is no such folder.

    Raises:
        SourceError: If the map cannot be read.
    """
    file, place = folder / MARK, Place(str(folder))
    try:
        if not file.is_file():
            return None
        if file.stat().st_size > MOST_BYTES:
            raise SourceError(f"{MARK} is larger than {MOST_BYTES >> 20} MiB", place=place)
        data = json.loads(file.read_text(encoding="utf-8"))
        if not isinstance(data, dict) or data.get("format") != "softmachine-map":
            return None
        return _mapped(data)
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror or error}", place=place) from None
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise SourceError(f"{MARK} is damaged: {type(error).__name__}: {error}", place=place) from None


def _mapped(data: dict[str, Any]) -> Mapped:
    layers = tuple(
        MappedLayer(
            heads=tuple((str(head["name"]), tuple(map(str, head["writes"]))) for head in layer["heads"]),
            units=tuple(str(unit["name"]) for unit in layer["units"]),
            idle=tuple(map(int, layer.get("idle_heads", ()))),
        )
        for layer in data["layers"]
    )
    return Mapped(
        name=str(data["name"]),
        architecture=str(data["architecture"]),
        theorem=str(data["construction"]),
        positions=int(data["positions"]),
        dtype=str(data["dtype"]),
        dtypes=tuple(map(str, data["dtypes_that_hold"])),
        vocabulary=len(data["vocabulary"]),
        coordinates=tuple(str(coordinate["name"]) for coordinate in data["coordinates"]),
        layers=layers,
    )


def _vectors(names: tuple[str, ...]) -> list[str]:
    return [*dict.fromkeys(map(family, names))]
