"""GGUF export: the LLaMA checkpoint of a model in one file for llama.cpp.

The KV cache of llama.cpp is float16 by default; these models need float32: run it with
``--cache-type-k f32 --cache-type-v f32`` and without flash attention.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from softmachine.compiler.model import Model
from softmachine.exports import hf_checkpoint
from softmachine.exports.formats import ExportFormat
from softmachine.exports.llama import to_llama
from softmachine.exports.lowering import lower
from softmachine.exports.model_card import CardTexts
from softmachine.exports.prompt_format import PromptFormat
from softmachine.exports.requirements import ROPE_FACTOR
from softmachine.exports.tensors import ArchitectureTensors
from softmachine.exports.writer import WrittenModel
from softmachine.support.files import temporary_folder
from softmachine.support.progress import ProgressCallback

if TYPE_CHECKING:
    from gguf import GGUFWriter

MODEL_FILE = "model.gguf"
_TENSOR_NAMES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
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


def write_model(
    model: Model, folder: Path, length: int, dtype: str, prompt_format: PromptFormat, progress: ProgressCallback
) -> WrittenModel:
    """Write ``model.gguf`` to a folder after verifying its weights in transformers; see :data:`.writer.ModelWriter`."""
    progress("placing the weights")
    placed = to_llama(lower(model, length), dtype)
    with temporary_folder(dir=folder) as scratch:
        facts = hf_checkpoint.write_verified_checkpoint(
            placed, Path(scratch), dtype, prompt_format, all_dtypes=False, progress=progress
        )
    _write_file(model.name, placed, folder / MODEL_FILE, prompt_format)
    return WrittenModel(placed, "llama (GGUF)", *facts, _CARD_TEXTS)


_CARD_TEXTS = CardTexts(
    library="gguf",
    kind="a LLaMA in GGUF",
    usage_template="""\
Start the server and post the prompt as token ids:

```sh
llama-server -m model.gguf --cache-type-k f32 --cache-type-v f32 -fa off -c {length} &
curl localhost:8080/completion -d '{{"prompt": [{ids}], "temperature": 0, "return_tokens": true, "n_predict": {left}}}'
# prompt: {prompt}
# output: {shown}
```

`n_predict` is the number of tokens that fit after the prompt, out of {length}. If `stop_type` in the response is
`limit` rather than `eos`, the run did not end within them and has no verdict. `softmachine.json` lists the text of
every token. Other text becomes token {unknown}, which is not a symbol; the output is then meaningless.

By default, llama.cpp stores keys and values in float16, which is *not* precise enough. The evaluation below was done
with the same weights in `transformers`.
""",
    is_autoregressive=True,
    special_tokens_intro="The prompt must have",
)


def _write_file(name: str, placed: ArchitectureTensors, path: Path, prompt_format: PromptFormat) -> None:
    import gguf

    model = placed.model
    sizes = {key: value for key, value in placed.config.items() if isinstance(value, int)}
    heads = sizes["num_attention_heads"]
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_name(name)
    writer.add_context_length(len(model.positions))
    writer.add_embedding_length(sizes["hidden_size"])
    writer.add_block_count(sizes["num_hidden_layers"])
    writer.add_feed_forward_length(sizes["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(heads)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_dimension_count(sizes["hidden_size"] // heads)
    writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
    writer.add_rope_scaling_factor(ROPE_FACTOR)
    writer.add_vocab_size(len(model.vocabulary))
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    _add_tokens(writer, placed, prompt_format)
    for key, tensor in placed.tensors.items():
        writer.add_tensor(_tensor_name(key), np.ascontiguousarray(tensor, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_tokens(writer: GGUFWriter, placed: ArchitectureTensors, prompt_format: PromptFormat) -> None:
    """Write the vocabulary, each token as one word, and the token for unknown text."""
    import gguf

    model, index = placed.model, placed.model.index
    stops = [index[token] for token in prompt_format.stop_tokens]
    marks = {*stops, model.pad_id, *(index[token] for token in prompt_format.prefix)}
    kinds = gguf.TokenType
    types = [kinds.CONTROL if k in marks else kinds.USER_DEFINED for k in range(model.unknown_id)]
    writer.add_tokenizer_model("llama")
    writer.add_token_list(model.spellings)
    writer.add_token_scores([0.0] * len(model.vocabulary))
    writer.add_token_types([*types, kinds.UNKNOWN])
    writer.add_unk_token_id(model.unknown_id)
    writer.add_pad_token_id(model.pad_id)
    if prompt_format.prefix:
        writer.add_bos_token_id(index[prompt_format.prefix[0]])
    writer.add_add_bos_token(False)
    writer.add_eos_token_id(stops[0])
    for stop, add in zip(stops[1:], (writer.add_eot_token_id, writer.add_eom_token_id), strict=False):
        add(stop)


def _tensor_name(key: str) -> str:
    """The name of a tensor in llama.cpp."""
    found = re.fullmatch(r"(?:model\.layers\.(\d+)\.)?(.+)\.weight", key)
    assert found is not None
    layer, rest = found.groups()
    return f"{'' if layer is None else f'blk.{layer}.'}{_TENSOR_NAMES[rest]}.weight"


_LIBRARIES = hf_checkpoint.make_library_check(("gguf", "gguf"), ("torch", "hf"), ("transformers", "hf"))
EXPORT_FORMAT = ExportFormat(
    "gguf", "GGUF, for llama.cpp", write_model, ("float32",), has_positions=False, check_libraries=_LIBRARIES, rank=8
)
