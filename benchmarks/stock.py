"""Speed of exported checkpoints with ``generate()``, and whether every token is right.

Run with ``python benchmarks/stock.py [--machine busy-beaver-5] [--steps 8000] [--to gpt2] [--dtype float32]``.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import softmachine as sm
from softmachine.compiler.model import Model
from softmachine.languages.source import Source
from softmachine.theorems import Theorem
from softmachine.theorems.codec import DecoderCodec


def main() -> None:
    parser = argparse.ArgumentParser(description="Generate a run with transformers, and compare every token.")
    parser.add_argument("--machine", default="busy-beaver-5")
    parser.add_argument("--steps", type=int, default=8000)
    parser.add_argument("--to", default="gpt2")
    parser.add_argument("--dtype", default="float32")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        measure(wanted.machine, wanted.steps, wanted.to, wanted.dtype, Path(scratch) / "model")


def measure(machine: str, steps: int, to: str, dtype: str, folder: Path) -> None:
    began = time.perf_counter()
    exported = sm.export(machine, folder, to=to, context=steps + 2, dtype=dtype)
    print(f"export: {time.perf_counter() - began:.1f} s, {exported.parameters:,} parameters", flush=True)

    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    torch.set_num_threads(1)  # matrices are small, so more threads are slower
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForCausalLM.from_pretrained(folder, dtype="auto")
    began = time.perf_counter()
    tokens = model.generate(**tokenizer("", return_tensors="pt", return_token_type_ids=False))[0].tolist()
    seconds = time.perf_counter() - began
    codec = sm.compile(machine, theorem_of(sm.load(machine), to, dtype), length=steps + 2).codec
    assert isinstance(codec, DecoderCodec)
    expected = [*codec.prompt("").tokens, *codec.expected("", steps)]
    right = tokenizer.convert_ids_to_tokens(tokens) == expected
    print(
        f"generate: {len(tokens):,} tokens, {len(tokens) / seconds:.0f} tokens/s, {'all right' if right else 'WRONG'}"
    )


def theorem_of(source: Source | Model, to: str, dtype: str) -> Theorem | None:
    """Return the theorem by which an export compiles a source."""
    from softmachine.exports.export import find_checkpoint_theorem
    from softmachine.exports.formats import find_format

    assert not isinstance(source, Model)
    return find_checkpoint_theorem(source, find_format(to), dtype)


if __name__ == "__main__":
    main()
