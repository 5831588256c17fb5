"""Interpretability section of model cards: sizes, idle heads, and code that patches activations like our engine."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softmachine as sm
from softmachine.compiler.model import Model
from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.dense.forward_pass import DenseLayer, Pass
from softmachine.engines.numerics import Tensor
from softmachine.exports.gpt2 import to_gpt2
from softmachine.exports.lowering import lower
from softmachine.exports.model_card import (
    attention_weights,
    describe_internals,
    find_flipping_patch,
    format_sizes,
    residual_streams,
)
from softmachine.exports.prompt_format import build_prompt_format
from tests.exports.helpers import checkpoint_model
from tests.exports.plain import lowered_logits

TORCH = importlib.util.find_spec("torch") is not None and importlib.util.find_spec("transformers") is not None
needs_torch = pytest.mark.skipif(not TORCH, reason="torch or transformers is missing: pip install 'softmachine[hf]'")

NAMED = """
import json
print("<<<>>>")
names = [c for c in coordinates]
out = run()
streams = [[[read(row, name).item() for name in names] for row in state[0]] for state in out.hidden_states]
layer, position, values = json.loads({patch!r})
patched = run(layer, position, values)
layers = list(zip(maps, facts["layers"]))
heads = [[found[0, head["index"]].tolist() for head in entry["heads"]] for found, entry in layers]
idle = [[found[0, head, -1].tolist() for head in entry["idle_heads"]] for found, entry in layers]
print(json.dumps({{
    "streams": streams, "logits": out.logits[0].tolist(), "patched": patched.logits[0].tolist(), "maps": heads,
    "idle": idle, "count": [maps[0].shape[1], len(maps)], "width": out.hidden_states[0].shape[-1],
    "ids": inputs["input_ids"][0].tolist(),
}}))
"""


@dataclass
class Found:
    """The output of a card's code, the output that the card gives, and the results of its functions."""

    card: str
    printed: list[str]
    promised: list[str]
    facts: dict[str, Any]
    seen: dict[str, Any]


def as_the_card_says(folder: Path, patch: tuple[int, int, Mapping[str, float]]) -> Found:
    """Run all Python code of a card, then read and write with its functions, in a process without softmachine."""
    card = (folder / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", card, re.MULTILINE | re.DOTALL)
    code = "\n".join([*blocks, NAMED.format(patch=json.dumps(patch))])
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], cwd=folder, capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    printed, _, seen = done.stdout.partition("<<<>>>\n")
    promised = [line for block in blocks for line in re.findall("^# (.*)$", block, re.MULTILINE)]
    facts = json.loads((folder / "softmachine.json").read_text(encoding="utf-8"))
    return Found(card, printed.splitlines(), promised, facts, json.loads(seen))


class Patched(Pass):
    """A pass of the dense engine that writes values to coordinates before a layer, at one position."""

    def __init__(self, engine: DenseEngine, layer: int, position: int, values: Mapping[str, float]) -> None:
        super().__init__(engine, 1, None)
        self.layer, self.position, self.values = layer, position, values
        self.streams: list[Any] = []

    def run_layer(self, layer: DenseLayer, stream: Tensor, positions: range, where: tuple[int, int, int]) -> Tensor:
        if len(self.streams) == self.layer:
            value = stream.value.copy()
            for name, number in self.values.items():
                value[0, self.position, self.engine.transformer.coordinates.index(name)] = number
            stream = Tensor(value, stream.error)
        self.streams.append(stream.value[0].astype(float))
        return super().run_layer(layer, stream, positions, where)


def engine_finds(model: Model, tokens: list[str], layer: int, position: int, values: Mapping[str, float]) -> Any:
    """The residual streams before each layer and after the last, and the logits, of the dense engine with a patch."""
    engine = DenseEngine(model.weights, "float64")
    run = Patched(engine, layer, position, values)
    last = run.extend([tokens])
    return [*run.streams, last.value[0].astype(float)], engine.unembedding(last).value[0].astype(float)


def example(card: str) -> tuple[int, int, dict[str, float]]:
    """The patch of a card's example."""
    shown = re.search(r"^print\(answer\(run\((\d+), (-?\d+), (.*)\), -?\d+\)\)$", card, re.MULTILINE)
    assert shown is not None
    layer, position, values = shown.groups()
    return int(layer), int(position), json.loads(values)


def require_sizes(folder: Path, found: Found) -> None:
    """The sizes of the card are those of the configuration, and its idle heads attend uniformly."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    layers, heads, width = (config[key] for key in ("n_layer", "n_head", "n_embd"))
    assert f"{layers} layers, {heads} heads per layer, width {width}," in found.card
    assert found.seen["count"] == [heads, layers]
    assert found.seen["width"] == width
    assert (
        "| 1 | 0: `recover head position`, 1: `recover -head position`, 2: `recover cell position`, 3: " in found.card
    )
    for entry, maps in zip(found.facts["layers"], found.seen["idle"], strict=True):
        assert [head["index"] for head in entry["heads"]] + entry["idle_heads"] == list(range(heads))
        for row in maps:
            assert np.allclose(row, 1 / len(row))


@needs_torch
@pytest.mark.parametrize(
    ("to", "theorem"),
    [
        ("gpt2", "turing-binary-address"),
        pytest.param("llama", "turing-residue-address-no-positions", marks=pytest.mark.slow),
        pytest.param("gpt2-default", "turing-binary-address", marks=pytest.mark.slow),
    ],
)
def test_a_card_teaches_to_read_and_write_what_our_engine_has(to: str, theorem: str, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    sm.export("increment", folder, to=to, context=24)
    model = checkpoint_model("increment", theorem, 24, to)
    # Values that the model does not compute itself, which would reveal half a write: before and between layers.
    patch = (1, 5, {"state[right]": 0.25, "state[done]": 0.75})
    found = as_the_card_says(folder, patch)
    seen, vocabulary = found.seen, [entry["token"] for entry in found.facts["vocabulary"]]
    tokens = [vocabulary[k] for k in seen["ids"]]
    names = model.weights.coordinates

    stages, logits = engine_finds(model, tokens, 0, 0, {})
    width = len(names)
    assert [entry["name"] for entry in found.facts["coordinates"]][:width] == list(names)
    # A checkpoint stores a coordinate times its scale, so float32 rounds relative to the scale: i² up to 2¹⁰ is stored
    # times 2⁻¹⁰, and the final layer norm of gpt2-default leaves an error of 10⁻⁶ there, which is 10⁻³ in i².
    scales = np.array([entry["scale"] for entry in found.facts["coordinates"]])[:width]
    for ours, theirs in zip(stages, seen["streams"], strict=True):
        assert np.allclose(ours * scales, np.array(theirs)[:, :width] * scales, rtol=1e-5, atol=1e-5)
    outputs = [vocabulary.index(output) for output in model.weights.outputs]
    gain = found.facts["logit_scale"]
    close = 0.05 if to == "gpt2-default" else 1e-3  # tied embeddings add a little to the logits
    assert np.allclose(np.array(seen["logits"])[:, outputs] / gain, logits, atol=close)

    _, changed = engine_finds(model, tokens, *patch)
    assert np.allclose(np.array(seen["patched"])[:, outputs] / gain, changed, atol=close)
    assert not np.allclose(changed, logits, atol=2 * close)

    assert found.printed[: len(found.promised)] == found.promised
    layer, position, values = example(found.card)
    _, changed = engine_finds(model, tokens, layer, position, values)
    before, after = (model.weights.outputs[row[position].argmax()] for row in (logits, changed))
    assert before != after
    assert found.promised[2:] == [before, after]
    was = stages[layer][position, names.index(next(iter(values)))]
    assert abs(float(found.promised[1]) - was) < 1e-4
    if to == "gpt2":
        require_sizes(folder, found)


@needs_torch
def test_the_attention_maps_of_a_card_are_those_of_its_heads(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    sm.export("dyck-1-program", folder, to="bert", context=12)
    found = as_the_card_says(folder, (0, 0, {}))
    emitted = "\n".join(found.printed[: len(found.promised)])
    assert re.fullmatch(re.escape("\n".join(found.promised)).replace("·", r"\S+"), emitted)
    assert len(found.promised) == 5
    model = lower(checkpoint_model("dyck-1-program", "srasp", 12, "bert"), 12, bidirectional=True)
    for layer, stream, maps in zip(
        model.layers, residual_streams(model, found.seen["ids"]), found.seen["maps"], strict=False
    ):
        for head, theirs in zip(layer.heads, maps, strict=True):
            assert np.allclose(attention_weights(head, stream, causal=False), theirs, atol=1e-4)


def test_the_plain_reading_of_a_card_is_that_of_the_oracle() -> None:
    model = lower(checkpoint_model("increment", "turing-binary-address", 24), 24)
    ids = [model.index[token] for token in ("<bos>", "1", "0", "1", "<run>")]
    *_, last = residual_streams(model, ids)
    assert np.array_equal(model.unembedding.apply(last), lowered_logits(model, ids))


def test_a_telling_patch_changes_the_answer() -> None:
    model = lower(checkpoint_model("increment", "turing-binary-address", 24), 24)
    ids = [model.index[token] for token in ("<bos>", "1", "0", "1", "<run>")]
    patch = find_flipping_patch(model, ids, -1)
    assert patch is not None
    assert (patch.layer, patch.values, patch.old_value) == (2, {"state[right]": 0, "state[carry]": 1}, 1)
    assert [model.vocabulary[k] for k in (patch.before, patch.after)] == ["(right,1,R)", "(carry,0,L)"]


def test_a_card_of_a_wide_model_is_short() -> None:
    """A counter machine of a Turing machine has hundreds of signals with long names."""
    compiled = checkpoint_model("palindrome", "turing-counter", 24)
    placed = to_gpt2(lower(compiled, 24), "float32")
    text = describe_internals(placed, "", build_prompt_format(compiled, [("a",)], 24))
    assert format_sizes(placed) == f"5 layers, {placed.heads} heads per layer, width {placed.config['n_embd']:,}"
    assert len(text) < 6_000
