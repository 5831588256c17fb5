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
from softmachine.exports.formats import StockFormat
from softmachine.exports.hf_checkpoint import needing
from softmachine.exports.lowered_model import Affine, Array, Lowered, LoweredHead, most_heads
from softmachine.exports.lowering import lower
from softmachine.exports.model_card import SEPARATED, Manual
from softmachine.exports.prompt_format import Dialogue
from softmachine.exports.tensors import SAMPLING_GAIN, Placed
from softmachine.exports.verification import Hearing, Verification
from softmachine.exports.writer import Filled
from softmachine.support.files import write
from softmachine.support.progress import Tell, told

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto

OPSET = 17
DTYPES = ("float32", "float64")
FILE = "model.onnx"
UNSEEN = -1e30


def fill(compiled: Model, folder: Path, length: int, dtype: str, prompt_format: Dialogue, tell: Tell) -> Filled:
    """Write ``model.onnx`` to a folder, and verify it with onnxruntime; see :data:`.writing.Fill`."""
    tell("placing the weights")
    model = lower(compiled, length, ahead=not prompt_format.decodes and not compiled.weights.causal)
    graph = _Graph(model, dtype)
    write(folder / FILE, graph.proto().SerializeToString())
    manual = Manual(
        library="onnx",
        form="an ONNX graph",
        sample=_READ + (_GENERATE if prompt_format.decodes else _ANSWER),
        generates=prompt_format.decodes,
        adds="The code above adds",
        notes=f"{SEPARATED} The code above rejects text that is not in the vocabulary, and inputs that are too long.",
    )
    placed = Placed("ONNX", {}, {}, model, None, SAMPLING_GAIN, 1.0, model.width, most_heads(model))
    size = sum(int(weight.size) for weight in graph.weights.values())
    verified = (_verified(folder / FILE, model, prompt_format, dtype, tell),)
    return Filled(placed, "ONNX", verified, size, 0, manual)


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


class _Graph:
    """Builder of the graph: nodes and weights, layer by layer."""

    def __init__(self, model: Lowered, dtype: str) -> None:
        self.model, self.dtype = model, np.dtype(dtype)
        self.nodes: list[NodeProto] = []
        self.weights: dict[str, NDArray[np.float64 | np.float32 | np.int64]] = {}
        self._build()

    def _build(self) -> None:
        model = self.model
        self.weight("embedding", model.embedding)
        self.weight("positions", model.positions)
        one, zero = self.integers("one", [1]), self.integers("zero", [0])
        # Position ids count the unmasked tokens.
        self.node("CumSum", ["attention_mask", self.integers("axis 1", 1)], "counted")
        self.node("Sub", ["counted", one], "shifted")
        self.node("Max", ["shifted", zero], "position_ids")
        self.node("Gather", ["embedding", "input_ids"], "embedded", axis=0)
        self.node("Gather", ["positions", "position_ids"], "placed", axis=0)
        self.node("Add", ["embedded", "placed"], "stream")
        self._mask()
        stream = "stream"
        for depth, layer in enumerate(model.layers):
            before = stream
            for h, head in enumerate(layer.heads):
                stream = self.head(f"layer {depth} head {h}", head, before, stream)
            if layer.units or layer.second.bias.any():
                units = self.affine(f"layer {depth} units", layer.first, stream)
                active = self.node("Relu", [units], f"layer {depth} active")
                added = self.affine(f"layer {depth} output", layer.second, active)
                stream = self.node("Add", [stream, added], f"stream {depth + 1}")
            else:
                stream = self.node("Identity", [stream], f"stream {depth + 1}")
        logits = self.affine("unembedding", model.unembedding.times(SAMPLING_GAIN), stream)
        self.node("Identity", [logits], "logits")

    def _mask(self) -> None:
        """The attention mask, added to scores: a large negative number at padding and, in a decoder, where j > i."""
        self.node("Cast", ["attention_mask"], "there flat", to=_BOOL)
        self.node("Unsqueeze", ["there flat", self.integers("axes 1 too", [1])], "there")
        visible = "there"
        if self.model.causal:
            self.node("Shape", ["input_ids"], "shape")
            self.node("Gather", ["shape", self.integers("index 1", 1)], "sequence length", axis=0)
            self.node("Range", [self.integers("from", 0), "sequence length", self.integers("by", 1)], "range")
            self.node("Unsqueeze", ["range", self.integers("axes 0", [0])], "keys")
            self.node("Unsqueeze", ["range", self.integers("axes 1", [1])], "queries")
            self.node("LessOrEqual", ["keys", "queries"], "past")
            visible = self.node("And", ["past", "there"], "visible")
        self.node("Where", [visible, self.weight("seen", 0.0), self.weight("unseen", UNSEEN)], "mask")

    def head(self, name: str, head: LoweredHead, before: str, stream: str) -> str:
        """One head: reads the stream before the layer, and adds to the stream after the previous head."""
        value = self.affine(f"{name} value", head.value, before)
        scores = "mask"
        if len(head.query.bias):
            query = self.affine(f"{name} query", head.query, before)
            key = self.affine(f"{name} key", head.key, before)
            keys = self.node("Transpose", [key], f"{name} keys", perm=[0, 2, 1])
            products = self.node("MatMul", [query, keys], f"{name} products")
            scores = self.node("Add", [products, "mask"], f"{name} scores")
        weights = self.node("Softmax", [scores], f"{name} weights", axis=-1)
        found = self.node("MatMul", [weights, value], f"{name} found")
        added = self.node("MatMul", [found, self.weight(f"{name} output", head.output.T)], f"{name} added")
        return self.node("Add", [stream, added], f"{name} stream")

    def affine(self, name: str, affine: Affine, of: str) -> str:
        weight, bias = self.weight(f"{name} weight", affine.weight.T), self.weight(f"{name} bias", affine.bias)
        product = self.node("MatMul", [of, weight], f"{name} product")
        return self.node("Add", [product, bias], name)

    def weight(self, name: str, value: Array | float) -> str:
        self.weights[name] = np.asarray(value, dtype=self.dtype, order="C")
        return name

    def integers(self, name: str, value: int | Sequence[int]) -> str:
        self.weights[name] = np.array(value, dtype=np.int64)
        return name

    def node(self, kind: str, inputs: Sequence[str], output: str, **attributes: int | Sequence[int]) -> str:
        from onnx import helper

        self.nodes.append(helper.make_node(kind, list(inputs), [output], name=output, **attributes))
        return output

    def proto(self) -> ModelProto:
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


def _verified(file: Path, model: Lowered, prompt_format: Dialogue, dtype: str, tell: Tell) -> Verification:
    """Compare the logits of onnxruntime with the expected outputs, one sample at a time, with teacher forcing."""
    import onnxruntime

    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    hearing, failure, margin, longest = Hearing(model, prompt_format, dtype), None, float("inf"), 0
    for sample in told(prompt_format.samples, f"verifying in {dtype}: input", tell):
        batch = np.array([hearing.sequence(sample)])
        (logits,) = session.run(["logits"], {"input_ids": batch, "attention_mask": np.ones_like(batch)})
        wrong, smallest = hearing.judged(sample, logits[0])
        failure, margin, longest = failure or wrong, min(margin, smallest), max(longest, batch.size)
    return hearing.summary(longest, margin / SAMPLING_GAIN, failure)


_LIBRARIES = needing(("onnx", "onnx"), ("onnxruntime", "onnx"))
EXPORT_FORMAT = StockFormat("onnx", "ONNX, for onnxruntime", fill, DTYPES, encodes=True, libraries=_LIBRARIES, rank=7)
