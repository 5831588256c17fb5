"""The formats that models are written in, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from softmachine.errors import UsageError
from softmachine.exports import checkpoint, gguf, onnx
from softmachine.exports.bert import bert
from softmachine.exports.exported import Exported
from softmachine.exports.gpt2 import gpt2, gpt2_default
from softmachine.exports.llama import llama, mistral, qwen2
from softmachine.exports.writing import Fill, write
from softmachine.model import Model


@dataclass(frozen=True)
class StockFormat:
    """A way to write a model so that other people's software loads it.

    Args:
        name: What the command line calls it.
        about: What it is, in a line.
        fill: Puts a model into a folder.
        dtypes: The formats of weights that it can have.
        positions: Whether the architecture has an embedding of positions.
        decodes: Whether it can go on from its input.
        encodes: Whether every position may see all others.
        libraries: Complains unless the software is there that verifies and writes it.
    """

    name: str
    about: str
    fill: Fill
    dtypes: tuple[str, ...] = checkpoint.DTYPES
    positions: bool = True
    decodes: bool = True
    encodes: bool = False
    libraries: Callable[[], None] = checkpoint.require_libraries

    def require_libraries(self) -> None:
        """Complain, before anything is done, unless the software is there."""
        self.libraries()

    def require_dtype(self, dtype: str) -> None:
        """Complain about a format of weights that it cannot have."""
        if dtype not in self.dtypes:
            more = "" if self.dtypes == checkpoint.DTYPES else f"; gpt2 has {', '.join(checkpoint.DTYPES)}"
            hint = f"choose {' or '.join(self.dtypes)}{more}"
            raise UsageError(f"models are not written to {self.name} in {dtype}", hint=hint)

    def write(self, model: Model, folder: Path, **options: Any) -> Exported:
        """Write a model; the options are those of :func:`.writing.write`."""
        return write(self.fill, model, folder, **options)


WIDE = tuple(dtype for dtype in checkpoint.DTYPES if dtype != "float16")
"""Where norms need constants that float16 has no room for."""


STOCK_FORMATS = {
    item.name: item
    for item in (
        StockFormat("gpt2", "Hugging Face, GPT2LMHeadModel, neutral norms", partial(checkpoint.fill, place=gpt2)),
        StockFormat(
            "gpt2-default",
            "Hugging Face, GPT2LMHeadModel, default configuration",
            partial(checkpoint.fill, place=gpt2_default),
            WIDE,
        ),
        StockFormat("llama", "Hugging Face, LlamaForCausalLM", partial(checkpoint.fill, place=llama), WIDE, False),
        StockFormat(
            "mistral", "Hugging Face, MistralForCausalLM", partial(checkpoint.fill, place=mistral), WIDE, False
        ),
        StockFormat("qwen2", "Hugging Face, Qwen2ForCausalLM", partial(checkpoint.fill, place=qwen2), WIDE, False),
        StockFormat(
            "bert",
            "Hugging Face, BertForTokenClassification, for encoders",
            partial(checkpoint.fill, place=bert, ahead=True),
            decodes=False,
            encodes=True,
        ),
        StockFormat(
            "onnx",
            "ONNX, for onnxruntime",
            onnx.fill,
            onnx.DTYPES,
            encodes=True,
            libraries=onnx.require_libraries,
        ),
        StockFormat(
            "gguf",
            "GGUF, for llama.cpp",
            gguf.fill,
            ("float32",),
            positions=False,
            libraries=gguf.require_libraries,
        ),
    )
}


def stock_format(name: str) -> StockFormat:
    """The format of this name.

    Raises:
        UsageError: If there is none.
    """
    if name not in STOCK_FORMATS:
        raise UsageError(f"there is no format {name!r} to export to", hint=f"choose native, {', '.join(STOCK_FORMATS)}")
    return STOCK_FORMATS[name]
