"""A trained model, loaded by transformers in a process without softmachine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install 'softmachine[learn]'")

from softmachine.studies.learn.data import load_corpus
from softmachine.studies.learn.hf_checkpoint import replace_whitespace, require_llama_compatible, save_checkpoint
from softmachine.studies.learn.metrics import check_traces
from softmachine.studies.learn.training import train
from softmachine.support.errors import UsageError
from tests.learn.helpers import parity, setting
from tests.optional import require

require("transformers", reason="transformers is not installed: pip install 'softmachine[hf]'")

STRANGER = """
import json, sys
sys.modules["softmachine"] = None
import torch
from transformers import AutoTokenizer, LlamaForCausalLM

torch.set_num_threads(1)
found = []
for folder, examples in json.load(sys.stdin).items():
    model, tokenizer = LlamaForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    right = []
    for prompt, said in examples:
        ids = torch.tensor([tokenizer.encode(" ".join(prompt), add_special_tokens=False)])
        out = model.generate(ids, max_new_tokens=len(said), attention_mask=torch.ones_like(ids))[0, len(prompt):]
        right.append(tokenizer.convert_ids_to_tokens(out.tolist()) == said)
    found.append(right)
print("FOUND", json.dumps(found))
"""


def test_it_loads_without_softmachine_and_has_the_accuracy_that_was_reported(tmp_path: Path) -> None:
    corpus = load_corpus(parity())
    examples = [each for bin_ in corpus.tests.values() for each in bin_][:24]
    asked, reported = {}, []
    for positions in ("none", "rope"):
        decoder, _ = train(setting(steps=40, positions=positions, layers=2), corpus)
        folder = tmp_path / positions
        save_checkpoint(decoder, corpus, folder)
        asked[str(folder)] = [[[replace_whitespace(t) for t in side] for side in each.segments[0]] for each in examples]
        reported.append(check_traces(decoder, corpus, examples))
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-W", "ignore", "-c", STRANGER]
    done = subprocess.run(
        command, input=json.dumps(asked), capture_output=True, text=True, check=True, env=environment, cwd=tmp_path
    )
    (answer,) = [line for line in done.stdout.splitlines() if line.startswith("FOUND ")]
    assert json.loads(answer.removeprefix("FOUND ")) == reported
    assert all({True, False} == set(right) for right in reported)


@pytest.mark.parametrize(
    ("positions", "precision"), [("alibi", "float32"), ("none+log", "float32"), ("rope", "bfloat16")]
)
def test_what_no_llama_has_is_refused(positions: str, precision: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="LLaMA does not support"):
        require_llama_compatible(positions, precision, tmp_path / "new")


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(UsageError, match="exists already"):
        require_llama_compatible("none", "float32", tmp_path)
