"""The formats that models are written in, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from softmachine.errors import UsageError
from softmachine.export.gpt2 import gpt2, gpt2_default
from softmachine.export.llama import llama, mistral, qwen2
from softmachine.export.lowered import Lowered
from softmachine.export.placed import Placed


@dataclass(frozen=True)
class StockFormat:
    """A way to write a model so that other people's software loads it.

    Args:
        name: What the command line calls it.
        about: What it is, in a line.
        place: Puts a lowered model into the architecture.
        positions: Whether the architecture has an embedding of positions.
        wrap: What becomes of the checkpoint: "" if it is kept as it is, else the name of a file format.
    """

    name: str
    about: str
    place: Callable[[Lowered, str], Placed]
    positions: bool = True
    wrap: str = ""


STOCK_FORMATS = {
    item.name: item
    for item in (
        StockFormat("gpt2", "Hugging Face, GPT2LMHeadModel with neutral norms, ReLU, untied", gpt2),
        StockFormat("gpt2-default", "Hugging Face, GPT2LMHeadModel with the default configuration", gpt2_default),
        StockFormat("llama", "Hugging Face, LlamaForCausalLM", llama, positions=False),
        StockFormat("mistral", "Hugging Face, MistralForCausalLM", mistral, positions=False),
        StockFormat("qwen2", "Hugging Face, Qwen2ForCausalLM", qwen2, positions=False),
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
