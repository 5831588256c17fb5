"""GGUF: the LLaMA form of a model in one file for llama.cpp.

llama.cpp keeps keys in float16 unless told otherwise; scores of these models need float32: run it with
``--cache-type-k f32 --cache-type-v f32`` and without flash attention.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from softmachine.errors import UsageError
from softmachine.exports import checkpoint
from softmachine.exports.dialogue import Dialogue
from softmachine.exports.formats import StockFormat
from softmachine.exports.llama import llama
from softmachine.exports.lower import lower
from softmachine.exports.manual import Manual
from softmachine.exports.placed import Placed
from softmachine.exports.writing import Filled
from softmachine.model import Model
from softmachine.progress import Tell

FILE = "model.gguf"
_NEEDED = "pip install 'softmachine[gguf]'"
_NAMES = {
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def require_libraries() -> None:
    """Complain unless gguf is there, and what verifies a checkpoint."""
    try:
        import gguf  # noqa: F401
    except ImportError as error:
        raise UsageError(f"exporting to gguf needs {error.name}, which is not installed", hint=_NEEDED) from None
    checkpoint.require_libraries()


def fill(model: Model, folder: Path, length: int, dtype: str, dialogue: Dialogue, tell: Tell) -> Filled:
    """Put ``model.gguf`` into a folder, after transformers has run the same weights; see :data:`.writing.Fill`."""
    require_libraries()
    tell("placing the weights")
    placed = llama(lower(model, length), dtype)
    with TemporaryDirectory(dir=folder) as scratch:
        rounded, parameters, results = checkpoint.new_checkpoint(
            placed, Path(scratch), dtype, dialogue, every_format=False, tell=tell
        )
    _write_file(model.name, placed, folder / FILE, dialogue)
    return Filled(placed, "llama (GGUF)", results, parameters, rounded, _MANUAL)


_MANUAL = Manual(
    library="gguf",
    form="a LLaMA in GGUF",
    sample="""\
Start `llama-server -m model.gguf --cache-type-k f32 --cache-type-v f32 -fa off -c {length}` and post, as tokens:

```sh
curl localhost:8080/completion -d '{{"prompt": [{ids}], "temperature": 0, "return_tokens": true}}'
# {prompt}
# … gives the tokens of: {shown}
```

llama.cpp keeps keys and values in float16 by default, which is *not* enough. The texts of tokens are in
`softmachine.json`. The numbers below are of the same weights in `transformers`.
""",
    generates=True,
    adds="There must be",
)


def _write_file(name: str, placed: Placed, path: Path, dialogue: Dialogue) -> None:
    import gguf

    model, config = placed.model, placed.config
    heads = int(config["num_attention_heads"])
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_name(name)
    writer.add_context_length(len(model.positions))
    writer.add_embedding_length(int(config["hidden_size"]))
    writer.add_block_count(int(config["num_hidden_layers"]))
    writer.add_feed_forward_length(int(config["intermediate_size"]))
    writer.add_head_count(heads)
    writer.add_head_count_kv(heads)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_dimension_count(int(config["hidden_size"]) // heads)
    writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
    writer.add_rope_scaling_factor(float(config["rope_parameters"]["factor"]))
    writer.add_vocab_size(len(model.vocabulary) + 1)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    _add_tokens(writer, placed, dialogue)
    for key, tensor in placed.tensors.items():
        rows = tensor
        if key in ("model.embed_tokens.weight", "lm_head.weight"):  # one more token, which is never produced
            rows = np.vstack([tensor, tensor[model.pad]])
        writer.add_tensor(_tensor_name(key), np.ascontiguousarray(rows, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_tokens(writer: object, placed: Placed, dialogue: Dialogue) -> None:
    """The vocabulary, every token a word of its own; llama.cpp insists on one for what it does not know."""
    import gguf

    assert isinstance(writer, gguf.GGUFWriter)
    model = placed.model
    index = {token: k for k, token in enumerate(model.vocabulary)}
    stops = [index[token] for token in dialogue.stops]
    marks = {*stops, model.pad, *(index[token] for token in dialogue.prefix)}
    types = [
        gguf.TokenType.CONTROL if k in marks else gguf.TokenType.USER_DEFINED for k in range(len(model.vocabulary))
    ]
    writer.add_tokenizer_model("llama")
    writer.add_token_list([*model.spellings, "<unknown>"])
    writer.add_token_scores([0.0] * (len(model.vocabulary) + 1))
    writer.add_token_types([*types, gguf.TokenType.UNKNOWN])
    writer.add_unk_token_id(len(model.vocabulary))
    writer.add_pad_token_id(model.pad)
    if dialogue.prefix:
        writer.add_bos_token_id(index[dialogue.prefix[0]])
    writer.add_add_bos_token(False)
    writer.add_eos_token_id(stops[0])
    for stop, add in zip(stops[1:], (writer.add_eot_token_id, writer.add_eom_token_id), strict=False):
        add(stop)


def _tensor_name(key: str) -> str:
    """llama.cpp's name of a tensor."""
    whole = {
        "model.embed_tokens.weight": "token_embd.weight",
        "model.norm.weight": "output_norm.weight",
        "lm_head.weight": "output.weight",
    }
    if key in whole:
        return whole[key]
    _, _, layer, rest = key.split(".", 3)
    return f"blk.{layer}.{_NAMES[rest.removesuffix('.weight')]}.weight"


STOCK = StockFormat(
    "gguf", "GGUF, for llama.cpp", fill, ("float32",), positions=False, libraries=require_libraries, rank=8
)
