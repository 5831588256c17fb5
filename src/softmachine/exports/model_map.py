"""Reader of the map of an exported folder: layers, heads (idle ones included) and signals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from softmachine.exports.manifest import MANIFEST_FILE, compute_digest, present, read_manifest
from softmachine.support.errors import SourceError, SourceLocation
from softmachine.support.text import abbreviate_names, format_range, pluralize, vector_name
from softmachine.transformer.diagram import format_diagram_line


@dataclass(frozen=True)
class MapLayer:
    """Names in a layer: heads with the signals they write, units, and the indices of idle heads."""

    heads: tuple[tuple[str, tuple[str, ...]], ...]
    units: tuple[str, ...]
    idle_heads: tuple[int, ...]


@dataclass(frozen=True)
class ModelMap:
    """An exported model as described by its map; weights are not read.

    Args:
        name: The name of the model.
        architecture: The class that loads it.
        theorem: The theorem by which it was compiled.
        positions: The number of positions.
        dtype: The number format of its weights.
        dtypes: The number formats in which every output was correct during export.
        vocabulary: The number of tokens.
        coordinates: The signals of its residual stream.
        layers: Its layers.
    """

    name: str
    architecture: str
    theorem: str
    positions: int
    dtype: str
    dtypes: tuple[str, ...]
    vocabulary: int
    coordinates: tuple[str, ...]
    layers: tuple[MapLayer, ...]

    def format_lines(self, *, show_all: bool = False) -> Iterator[str]:
        """The architecture diagram of the model; ``show_all`` shows all names instead of folding long lists."""
        names = ", ".join if show_all else abbreviate_names
        yield (
            f"{self.architecture}  {self.name}  by {self.theorem}, {pluralize(len(self.layers), 'layer')}, "
            f"{pluralize(self.positions, 'position')}, {pluralize(self.vocabulary, 'token')}, {self.dtype}"
        )
        yield format_diagram_line(
            "stream", pluralize(len(self.coordinates), "signal"), names(_vectors(self.coordinates))
        )
        for number, layer in enumerate(self.layers):
            label = f"layer {number}"
            for k, (name, writes) in enumerate(layer.heads):
                yield format_diagram_line(label, f"attention  {k}: {name}", names(_vectors(writes)) or "nothing")
                label = ""
            if layer.idle_heads:
                yield format_diagram_line(label, f"attention  idle: {format_range(layer.idle_heads)}", "nothing")
                label = ""
            if layer.units:
                kinds = [*dict.fromkeys(vector_name(unit.split(":")[0]) for unit in layer.units)]
                yield f"  {label:<10}feed-forward  {names(kinds)} ({pluralize(len(layer.units), 'unit')})"
        yield f"  correct in  {', '.join(self.dtypes) or 'no number format'}"

    def to_json(self) -> dict[str, object]:
        """The same as JSON data."""
        return {
            "name": self.name,
            "architecture": self.architecture,
            "theorem": self.theorem,
            "positions": self.positions,
            "dtype": self.dtype,
            "dtypes_that_hold": list(self.dtypes),
            "vocabulary": self.vocabulary,
            "layers": len(self.layers),
            "heads": sum(len(layer.heads) for layer in self.layers),
            "idle_heads": [list(layer.idle_heads) for layer in self.layers],
            "coordinates": list(self.coordinates),
        }


def read_map(folder: Path) -> ModelMap | None:
    """Read the map of an exported folder; None if it is not one.

    Verifies the digest of the map, if it has one; other files are not read.

    Raises:
        SourceError: If the map cannot be read, or has changed.
    """
    if not (folder / MANIFEST_FILE).is_file():
        return None
    facts = read_manifest(folder)
    if facts["format"] != "softmachine-map":
        return None
    try:
        if "digests" in facts and facts["digests"][MANIFEST_FILE] != compute_digest(facts):
            raise ValueError("its digest differs, so it was changed after it was written")
        return _parse_map(present(facts))
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise SourceError(
            f"{MANIFEST_FILE} is damaged: {type(error).__name__}: {error}", place=SourceLocation(str(folder))
        ) from None


def _parse_map(data: dict[str, Any]) -> ModelMap:
    layers = tuple(
        MapLayer(
            heads=tuple((str(head["name"]), tuple(map(str, head["writes"]))) for head in layer["heads"]),
            units=tuple(str(unit["name"]) for unit in layer["units"]),
            idle_heads=tuple(map(int, layer.get("idle_heads", ()))),
        )
        for layer in data["layers"]
    )
    return ModelMap(
        name=str(data["name"]),
        architecture=str(data["architecture"]),
        theorem=str(data["theorem"]),
        positions=int(data["positions"]),
        dtype=str(data["dtype"]),
        dtypes=tuple(map(str, data["dtypes_that_hold"])),
        vocabulary=len(data["vocabulary"]),
        coordinates=tuple(str(coordinate["name"]) for coordinate in data["coordinates"]),
        layers=layers,
    )


def _vectors(names: tuple[str, ...]) -> list[str]:
    return [*dict.fromkeys(map(vector_name, names))]
