"""A format to export to: the lowered weights as text, which nobody needs torch for."""

from __future__ import annotations

from pathlib import Path

from softmachine.compiler.model import Model
from softmachine.exports.formats import StockFormat
from softmachine.exports.gpt2 import gpt2
from softmachine.exports.lowering import lower
from softmachine.exports.model_card import Manual
from softmachine.exports.prompt_format import Dialogue
from softmachine.exports.verification import Verification
from softmachine.exports.writer import Filled
from softmachine.support.progress import Tell


def fill(model: Model, folder: Path, length: int, dtype: str, prompt_format: Dialogue, tell: Tell) -> Filled:
    placed = gpt2(lower(model, length), dtype)
    (folder / "weights.txt").write_text("\n".join(model.weights.coordinates), encoding="utf-8")
    verified = Verification(dtype, 0, 0, 0, None, None)
    return Filled(placed, "text", (verified,), 0, 0, Manual("none", "text", "", False, "nobody"))


EXPORT_FORMAT = StockFormat("text", "text", fill, libraries=lambda: None)
