"""A format to export to: the lowered weights as text, which nobody needs torch for."""

from __future__ import annotations

from pathlib import Path

from softmachine.compiler.model import Model
from softmachine.exports.formats import ExportFormat
from softmachine.exports.gpt2 import to_gpt2
from softmachine.exports.lowering import lower
from softmachine.exports.model_card import CardTexts
from softmachine.exports.prompt_format import PromptFormat
from softmachine.exports.verification import Verification
from softmachine.exports.writer import WrittenModel
from softmachine.support.progress import ProgressCallback


def fill(
    model: Model, folder: Path, length: int, dtype: str, prompt_format: PromptFormat, tell: ProgressCallback
) -> WrittenModel:
    placed = to_gpt2(lower(model, length), dtype)
    (folder / "weights.txt").write_text("\n".join(model.weights.coordinates), encoding="utf-8")
    verified = Verification(dtype, 0, 0, 0, None, None)
    return WrittenModel(placed, "text", (verified,), 0, 0, CardTexts("none", "text", "", False, "nobody"))


EXPORT_FORMAT = ExportFormat("text", "text", fill, check_libraries=lambda: None)
