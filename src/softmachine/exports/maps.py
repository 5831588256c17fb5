"""What an exported folder says of itself, read back from its map: layers, heads, idle ones too, and signals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from softmachine.exports.manifest import MARK, digest, read_mark
from softmachine.support.errors import Place, SourceError
from softmachine.support.text import brief, family, many, span
from softmachine.transformer.board import line


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

    The map must be what was written, if it has a digest; other files are not looked at.

    Raises:
        SourceError: If the map cannot be read, or is not what was written.
    """
    if not (folder / MARK).is_file():
        return None
    facts = read_mark(folder)
    if facts["format"] != "softmachine-map":
        return None
    try:
        if "digests" in facts and facts["digests"][MARK] != digest(facts):
            raise ValueError("it is not what was written: its digest is another")
        return _mapped(facts)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise SourceError(f"{MARK} is damaged: {type(error).__name__}: {error}", place=Place(str(folder))) from None


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
