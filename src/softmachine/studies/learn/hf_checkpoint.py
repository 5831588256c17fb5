"""Export of a trained model as a LLaMA checkpoint that ``LlamaForCausalLM.from_pretrained`` loads without softmachine.

The parameters already have LLaMA's names. Without position encoding, the rotary frequencies are set so low that nothing
rotates (:mod:`softmachine.exports.requirements`). Tokens are separated by spaces; ``vocabulary.json`` contains the
original tokens, which may contain spaces.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import torch

from softmachine.exports.requirements import make_rope_off_config
from softmachine.studies.learn.config import LLAMA_ENCODINGS
from softmachine.studies.learn.data import PAD, Corpus
from softmachine.studies.learn.model import EPSILON, ROPE_BASE, Decoder, hidden_units
from softmachine.support.errors import UsageError
from softmachine.support.files import atomic_folder, roll_back_interrupted, write_file


def require_llama_compatible(positions: str, precision: str, folder: Path) -> None:
    """Require, before training, that the model can be saved as a LLaMA checkpoint.

    Raises:
        UsageError: If LLaMA lacks the position encoding or precision, or the folder is not empty.
    """
    if positions not in LLAMA_ENCODINGS or precision != "float32":
        what = f"positions {positions!r}" if positions not in LLAMA_ENCODINGS else f"a precision of {precision}"
        raise UsageError(
            f"LLaMA does not support {what}", hint=f"save a model with {' or '.join(LLAMA_ENCODINGS)}, in float32"
        )
    roll_back_interrupted(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} exists already", hint="choose another name")


def replace_whitespace(token: str) -> str:
    """Replace the whitespace of a token by ``␣``."""
    return re.sub(r"\s", "␣", token)


def save_checkpoint(decoder: Decoder, corpus: Corpus, folder: Path) -> None:
    """Save a model as an unmodified LLaMA checkpoint with its tokenizer.

    Raises:
        UsageError: If the folder cannot be written.
    """
    from safetensors.torch import save

    shape = decoder.shape
    require_llama_compatible(shape.positions, shape.precision, folder)
    rope = {"rope_type": "default", "rope_theta": ROPE_BASE}
    ends = sorted({corpus.index[trace[-1]] for each in corpus.all_examples for _, trace in each.segments})
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": shape.width,
        "intermediate_size": hidden_units(shape.width),
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.heads,
        "max_position_embeddings": corpus.context,
        "rms_norm_eps": EPSILON,
        "rope_parameters": rope if shape.positions == "rope" else make_rope_off_config(ROPE_BASE),
        "tie_word_embeddings": False,
        "hidden_act": "silu",
        "vocab_size": len(corpus.vocabulary),
        "pad_token_id": 0,
        "bos_token_id": None,
        "eos_token_id": ends,
        "dtype": "float32",
    }
    marks = {"pad_token_id": 0, "eos_token_id": ends, "do_sample": False, "max_length": corpus.context}
    weights = {name: each.detach().to(torch.float32).contiguous() for name, each in decoder.named_parameters()}
    files = {
        "config.json": config,
        "generation_config.json": marks,
        "tokenizer.json": _tokenizer(corpus),
        "tokenizer_config.json": {"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": PAD},
        "vocabulary.json": list(corpus.vocabulary),
    }
    with atomic_folder(folder) as new:
        for name, data in files.items():
            write_file(new / name, json.dumps(data, ensure_ascii=False, indent=1))
        write_file(new / "model.safetensors", save(weights, metadata={"format": "pt"}))


def _tokenizer(corpus: Corpus) -> dict[str, object]:
    """Return the tokenizer: tokens are separated by spaces; unknown tokens are errors."""
    names = [replace_whitespace(token) for token in corpus.vocabulary]
    if len(set(names)) < len(names):
        raise UsageError(
            f"two tokens of {corpus.task.name!r} differ only in whitespace, which a tokenizer cannot distinguish"
        )
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": 0,
                "content": PAD,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
        ],
        "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "WordLevel",
            "vocab": {name: number for number, name in enumerate(names)},
            "unk_token": "<no such token>",
        },
    }
