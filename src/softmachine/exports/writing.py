"""What writing a model is, whatever the format: fill a folder, see that it holds, and say what is in it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from softmachine.errors import PrecisionError
from softmachine.exports.card import card
from softmachine.exports.dialogue import Dialogue
from softmachine.exports.exported import Exported
from softmachine.exports.folder import MARK, listing, new_folder, require_free
from softmachine.exports.manual import Manual
from softmachine.exports.mapping import mapping
from softmachine.exports.placed import Placed
from softmachine.exports.verify import Verification
from softmachine.progress import Tell, nobody
from softmachine.transformer.weights import Transformer


@dataclass(frozen=True)
class Filled:
    """What a format has put into a folder.

    Args:
        placed: The weights, and where everything went.
        architecture: What loads them.
        verified: What other people's software said in each number format that was tried, that of the weights first.
        parameters: The number of weights, zeros included.
        rounded: How many of the weights that are not 0 were rounded.
        manual: How to use it.
    """

    placed: Placed
    architecture: str
    verified: tuple[Verification, ...]
    parameters: int
    rounded: int
    manual: Manual


Fill = Callable[[Transformer, Path, int, str, Dialogue, Tell], Filled]
"""Puts a model with so many positions, in a format of numbers, into an empty folder, and lets it say what it should;
and tells meanwhile what it does."""


def write(
    fill: Fill,
    transformer: Transformer,
    folder: Path,
    *,
    length: int,
    dtype: str,
    dialogue: Dialogue,
    about: str,
    remedy: str = "",
    force: bool = False,
    tell: Tell = nobody,
) -> Exported:
    """Write a model, after other people's software has said what it should.

    Args:
        fill: Puts the model into an empty folder.
        transformer: A model with softmax attention.
        folder: Where to.
        length: The number of positions.
        dtype: The format of the weights.
        dialogue: How to talk to it, and what it should say.
        about: What it computes, in a line.
        remedy: What would help if the format does not hold.
        force: Whether to replace a model that is there.
        tell: Is told what is being done.

    Raises:
        PrecisionError: If the format does not hold; it names the step at which it fails.
        ConstructionError: If the architecture cannot hold the model.
        UsageError: If the folder cannot be written.
    """
    require_free(folder, force=force)
    with new_folder(folder, force=force) as new:
        filled = fill(transformer, new, length, dtype, dialogue, tell)
        placed, verified = filled.placed, filled.verified
        if not verified[0].holds:
            raise PrecisionError(f"{transformer.name!r} does not hold: {verified[0].failure}", hint=remedy or None)
        positions = len(placed.model.positions)
        exported = Exported(folder, filled.architecture, positions, dtype, verified, filled.parameters, filled.rounded)
        text = card(transformer, placed, exported, dialogue, about, filled.manual)
        (new / "README.md").write_text(text, encoding="utf-8")
        data = {**mapping(transformer, placed, exported, dialogue), "files": listing(new)}
        (new / MARK).write_text(json.dumps(data, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return exported
