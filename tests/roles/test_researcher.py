"""A researcher in interpretability: a stock model whose every coordinate has a name, to read, to patch and to probe."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.roles.conftest import Desk

TORCH = importlib.util.find_spec("torch") is not None and importlib.util.find_spec("transformers") is not None
pytestmark = pytest.mark.skipif(not TORCH, reason="torch or transformers is missing: pip install 'softmachine[hf]'")
SCRIPT = """
import json
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("parity-gpt2")
model = AutoModelForCausalLM.from_pretrained("parity-gpt2", dtype="auto").eval()
where = {c["name"]: c for c in json.loads(Path("parity-gpt2/softmachine.json").read_text())["coordinates"]}


def encoded(text):
    return tokenizer(text, return_tensors="pt", return_token_type_ids=False)


# 1. Does the stock model say what the data set says, of every word?
rows = [json.loads(line) for line in Path("parity.jsonl").read_text().splitlines()]
for row in rows:
    said = tokenizer.decode(model.generate(**encoded(" ".join(row["input"])), pad_token_id=0)[0]).split()
    verdict = {"ACC": "accept", "REJ": "reject"}[said[-1]]
    assert verdict == row["verdict"], row
print("rows that agree:", len(rows))

# 2. Read a coordinate: at every step, is the state that the tokens tell in the stream?
text = "<bos> 1 0 1 1 <run> (odd,1,R) (odd,0,R) (even,1,R)"
ids = tokenizer(text, add_special_tokens=False, return_tensors="pt").input_ids
with torch.no_grad():
    stream = model(ids, output_hidden_states=True).hidden_states[2][0]
c = where["state[odd]"]
print("odd:", [round((stream[k, c["index"]] / c["scale"]).item()) for k in (6, 7, 8)])


# 3. Patch it: both places, before the last layer, at the last position.
def write(stream, name, value, both=True):
    c = where[name]
    stream[..., c["index"]] = value * c["scale"]
    if both:
        stream[..., c["mirror"]] = -value * c["scale"]


def patched(**how):
    def patch(block, args):
        stream = args[0].clone()
        write(stream[:, -1], "state[even]", 0, **how)
        write(stream[:, -1], "state[odd]", 1, **how)
        return (stream, *args[1:])

    hook = model.transformer.h[2].register_forward_pre_hook(patch)
    with torch.no_grad():
        answer = tokenizer.decode([model(ids).logits[0, -1].argmax().item()])
    hook.remove()
    return answer


with torch.no_grad():
    print("as it is:", tokenizer.decode([model(ids).logits[0, -1].argmax().item()]))
print("patched:", patched())
"""


def test_export_data_set_read_and_patch(desk: Desk) -> None:
    said = desk.types("softmachine export parity --to gpt2 --context 32 -o parity-gpt2").out
    assert said.startswith("wrote parity-gpt2: GPT2LMHeadModel, 32 positions, float32\n")
    assert "softmachine.json" in desk.types("softmachine show parity-gpt2").out + desk.reads("parity-gpt2/README.md")
    said = desk.types("softmachine dataset parity --up-to 4 -o parity.jsonl").out
    assert said.startswith("31 rows in parity.jsonl\n  verdicts  16 reject, 15 accept\n")
    script = desk.writes("probe.py", SCRIPT)
    assert printed(script) == ["rows that agree: 31", "odd: [1, 1, 0]", "as it is: (odd,1,R)", "patched: (even,1,R)"]


def printed(script: Path) -> list[str]:
    """What a script prints, in a process that knows nothing of softmachine."""
    done = subprocess.run(
        [sys.executable, "-I", str(script)],
        cwd=script.parent,
        env={**os.environ, "OMP_NUM_THREADS": "1", "TRANSFORMERS_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


def test_a_data_set_to_train_on(desk: Desk) -> None:
    words = "--sample 60 --length 1-10,11-14 --balance --split train=0.9,validation=0.1,longer=11-14"
    command = f"softmachine dataset palindrome {words}"
    first, second = (desk.types(f"{command} -o {name}.jsonl") for name in ("one", "two"))
    assert desk.reads("one.jsonl") == desk.reads("two.jsonl")
    assert first.out.splitlines()[1:] == second.out.splitlines()[1:]
    rows = [json.loads(line) for line in desk.reads("one.jsonl").splitlines()]
    assert sum(row["verdict"] == "accept" for row in rows) == len(rows) / 2 == 60
    assert all((row["split"] == "longer") == (row["length"] > 10) for row in rows)
    answer = desk.types(f"softmachine run palindrome {rows[0]['input']} --json --tokens").json
    assert answer["trace_tokens"] == rows[0]["trace"]
