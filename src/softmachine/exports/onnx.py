"""ONNX export: a lowered transformer as a graph of standard operators, for onnxruntime and other ONNX runtimes.

ReLU, no layer norms, no KV cache: ``input_ids`` and ``attention_mask`` (both batch × sequence) in, ``logits`` out.
Position ids count the unmasked tokens, so batches may be padded at the left.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from softmachine.compiler.model import Model
from softmachine.exports.formats import ExportFormat
from softmachine.exports.hf_checkpoint import make_library_check
from softmachine.exports.lowered_model import Array, DenseAffine, LoweredHead, LoweredTransformer, max_heads
from softmachine.exports.lowering import lower
from softmachine.exports.model_card import SPACES_REQUIRED, CardTexts
from softmachine.exports.prompt_format import PromptFormat
from softmachine.exports.tensors import SAMPLING_GAIN, ArchitectureTensors
from softmachine.exports.verification import ExpectedAnswers, Verification
from softmachine.exports.writer import WrittenModel
from softmachine.support.files import write_file
from softmachine.support.progress import ProgressCallback, with_progress

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto

OPSET = 17
DTYPES = ("float32", "float64")
MODEL_FILE = "model.onnx"
MASKED_SCORE = -1e30


def write_model(
    compiled: Model, folder: Path, length: int, dtype: str, prompt_format: PromptFormat, progress: ProgressCallback
) -> WrittenModel:
    """Write ``model.onnx`` to a folder, and verify it with onnxruntime; see :data:`.writer.ModelWriter`."""
    progress("placing the weights")
    model = lower(compiled, length, bidirectional=not prompt_format.is_decoder and not compiled.weights.is_causal)
    graph = _GraphBuilder(model, dtype)
    write_file(folder / MODEL_FILE, graph.build_model().SerializeToString())
    manual = CardTexts(
        library="onnx",
        kind="an ONNX graph",
        usage_template=_READ + (_GENERATE if prompt_format.is_decoder else _ANSWER),
        is_autoregressive=prompt_format.is_decoder,
        special_tokens_intro="The code above adds",
        notes=f"{SPACES_REQUIRED} The code above rejects text that is not in the vocabulary, and inputs that are too "
        f"long.",
    )
    placed = ArchitectureTensors("ONNX", {}, {}, model, None, SAMPLING_GAIN, 1.0, model.width, max_heads(model))
    size = sum(int(weight.size) for weight in graph.weights.values())
    verified = (_verify(folder / MODEL_FILE, model, prompt_format, dtype, progress),)
    return WrittenModel(placed, "ONNX", verified, size, 0, manual)


_READ = """\
```python
import json
from pathlib import Path

import numpy as np
import onnxruntime

word = {word}
session = onnxruntime.InferenceSession("model.onnx")
facts = json.loads(Path("softmachine.json").read_text(encoding="utf-8"))
by_token, by_text = ({{entry[key]: entry["id"] for entry in facts["vocabulary"]}} for key in ("token", "text"))
before, after = ([by_token[token] for token in facts[key]] for key in ("before_input", "after_input"))
texts = {texts}
unknown = [text for text in texts if by_text.get(text, {unknown}) == {unknown}]
if unknown:
    raise ValueError(f"not in the vocabulary: {{unknown}}")
ids = [*before, *(by_text[text] for text in texts), *after]
if len(ids) > facts["positions"]:
    raise ValueError("the input does not fit in {length} positions")


def logits(ids):
    tokens = np.array([ids])
    return session.run(["logits"], {{"input_ids": tokens, "attention_mask": np.ones_like(tokens)}})[0][0]


"""

_GENERATE = """\
stops = [by_token[token] for token in facts["stops"]]
while ids[-1] not in stops and len(ids) < facts["positions"]:
    ids.append(int(logits(ids)[-1].argmax()))
print(*(facts["vocabulary"][k]["text"] for k in ids))
# {shown}
if ids[-1] not in stops:
    print("no verdict: the run does not end within {length} positions")
```
"""

_ANSWER = """\
answers = [facts["labels"][k] for k in logits(ids).argmax(-1)]
{prints}
```
"""


class _GraphBuilder:
    """Builder of the graph: nodes and weights, layer by layer."""

    def __init__(self, model: LoweredTransformer, dtype: str) -> None:
        self.model, self.dtype = model, np.dtype(dtype)
        self.nodes: list[NodeProto] = []
        self.weights: dict[str, NDArray[np.float64 | np.float32 | np.int64]] = {}
        self._build()

    def _build(self) -> None:
        model = self.model
        self.add_weight("embedding", model.embedding)
        self.add_weight("positions", model.positions)
        one, zero = self.add_integers("one", [1]), self.add_integers("zero", [0])
        # Position ids count the unmasked tokens.
        self.add_node("CumSum", ["attention_mask", self.add_integers("axis 1", 1)], "counted")
        self.add_node("Sub", ["counted", one], "shifted")
        self.add_node("Max", ["shifted", zero], "position_ids")
        self.add_node("Gather", ["embedding", "input_ids"], "embedded", axis=0)
        self.add_node("Gather", ["positions", "position_ids"], "placed", axis=0)
        self.add_node("Add", ["embedded", "placed"], "stream")
        self._mask()
        stream = "stream"
        for depth, layer in enumerate(model.layers):
            before = stream
            for h, head in enumerate(layer.heads):
                stream = self.add_head(f"layer {depth} head {h}", head, before, stream)
            if layer.units or layer.second.bias.any():
                units = self.add_affine(f"layer {depth} units", layer.first, stream)
                active = self.add_node("Relu", [units], f"layer {depth} active")
                added = self.add_affine(f"layer {depth} output", layer.second, active)
                stream = self.add_node("Add", [stream, added], f"stream {depth + 1}")
            else:
                stream = self.add_node("Identity", [stream], f"stream {depth + 1}")
        logits = self.add_affine("unembedding", model.unembedding.scaled_by(SAMPLING_GAIN), stream)
        self.add_node("Identity", [logits], "logits")

    def _mask(self) -> None:
        """The attention mask, added to scores: a large negative number at padding and, in a decoder, where j > i."""
        self.add_node("Cast", ["attention_mask"], "there flat", to=_BOOL)
        self.add_node("Unsqueeze", ["there flat", self.add_integers("axes 1 too", [1])], "there")
        visible = "there"
        if self.model.causal:
            self.add_node("Shape", ["input_ids"], "shape")
            self.add_node("Gather", ["shape", self.add_integers("index 1", 1)], "sequence length", axis=0)
            self.add_node(
                "Range", [self.add_integers("from", 0), "sequence length", self.add_integers("by", 1)], "range"
            )
            self.add_node("Unsqueeze", ["range", self.add_integers("axes 0", [0])], "keys")
            self.add_node("Unsqueeze", ["range", self.add_integers("axes 1", [1])], "queries")
            self.add_node("LessOrEqual", ["keys", "queries"], "past")
            visible = self.add_node("And", ["past", "there"], "visible")
        self.add_node("Where", [visible, self.add_weight("seen", 0.0), self.add_weight("unseen", MASKED_SCORE)], "mask")

    def add_head(self, name: str, head: LoweredHead, before: str, stream: str) -> str:
        """One head: reads the stream before the layer, and adds to the stream after the previous head."""
        value = self.add_affine(f"{name} value", head.value, before)
        scores = "mask"
        if len(head.query.bias):
            query = self.add_affine(f"{name} query", head.query, before)
            key = self.add_affine(f"{name} key", head.key, before)
            keys = self.add_node("Transpose", [key], f"{name} keys", perm=[0, 2, 1])
            products = self.add_node("MatMul", [query, keys], f"{name} products")
            scores = self.add_node("Add", [products, "mask"], f"{name} scores")
        weights = self.add_node("Softmax", [scores], f"{name} weights", axis=-1)
        found = self.add_node("MatMul", [weights, value], f"{name} found")
        added = self.add_node("MatMul", [found, self.add_weight(f"{name} output", head.output.T)], f"{name} added")
        return self.add_node("Add", [stream, added], f"{name} stream")

    def add_affine(self, name: str, affine: DenseAffine, of: str) -> str:
        weight, bias = self.add_weight(f"{name} weight", affine.weight.T), self.add_weight(f"{name} bias", affine.bias)
        product = self.add_node("MatMul", [of, weight], f"{name} product")
        return self.add_node("Add", [product, bias], name)

    def add_weight(self, name: str, value: Array | float) -> str:
        self.weights[name] = np.asarray(value, dtype=self.dtype, order="C")
        return name

    def add_integers(self, name: str, value: int | Sequence[int]) -> str:
        self.weights[name] = np.array(value, dtype=np.int64)
        return name

    def add_node(self, kind: str, inputs: Sequence[str], output: str, **attributes: int | Sequence[int]) -> str:
        from onnx import helper

        self.nodes.append(helper.make_node(kind, list(inputs), [output], name=output, **attributes))
        return output

    def build_model(self) -> ModelProto:
        """The ONNX model."""
        import onnx
        from onnx import TensorProto, helper, numpy_helper

        shape, real = ["batch", "sequence"], helper.np_dtype_to_tensor_dtype(self.dtype)
        inputs = [
            helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name in ("input_ids", "attention_mask")
        ]
        output = helper.make_tensor_value_info("logits", real, [*shape, len(self.model.labels)])
        weights = [numpy_helper.from_array(value, name) for name, value in self.weights.items()]
        graph = helper.make_graph(self.nodes, self.model.name, inputs, [output], weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="softmachine")
        model.ir_version = 8
        onnx.checker.check_model(model)
        return model


_BOOL = 9
"""``TensorProto.BOOL``."""


def _verify(
    file: Path, model: LoweredTransformer, prompt_format: PromptFormat, dtype: str, progress: ProgressCallback
) -> Verification:
    """Compare the logits of onnxruntime with the expected outputs, one sample at a time, with teacher forcing."""
    import onnxruntime

    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    hearing, failure, margin, longest = ExpectedAnswers(model, prompt_format, dtype), None, float("inf"), 0
    for sample in with_progress(prompt_format.samples, f"verifying in {dtype}: input", progress):
        batch = np.array([hearing.input_ids(sample)])
        (logits,) = session.run(["logits"], {"input_ids": batch, "attention_mask": np.ones_like(batch)})
        wrong, smallest = hearing.compare_logits(sample, logits[0])
        failure, margin, longest = failure or wrong, min(margin, smallest), max(longest, batch.size)
    return hearing.summarise(longest, margin / SAMPLING_GAIN, failure)


_LIBRARIES = make_library_check(("onnx", "onnx"), ("onnxruntime", "onnx"))
EXPORT_FORMAT = ExportFormat(
    "onnx", "ONNX, for onnxruntime", write_model, DTYPES, supports_encoders=True, check_libraries=_LIBRARIES, rank=7
)
