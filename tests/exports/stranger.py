"""A process with third-party software and without softmachine: loads a folder, runs it, and prints the output.

Run as a process of its own: ``python stranger.py FOLDER < jobs.json``. A job is a list of texts and how to run them;
with transformers they go through the model in one padded batch. Every answer is the text that was generated, marks
included, or for an encoder the labels of all tokens. Jobs "as the card says" run the code of the model card, with each
text in the place of the card's own (None leaves that); the answers are what it prints, and the message of a ValueError.
"""

from __future__ import annotations

import json
import os
import re
import sys
from contextlib import redirect_stdout
from importlib.abc import MetaPathFinder
from io import StringIO
from pathlib import Path
from typing import Any


class _NothingOfOurs(MetaPathFinder):
    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name.partition(".")[0] == "softmachine":
            raise ImportError(f"{name} is not for strangers")


def with_transformers(folder: Path, jobs: list[dict[str, Any]]) -> list[list[str]]:
    import torch
    import transformers
    from transformers import AutoModelForCausalLM, AutoModelForTokenClassification, pipeline
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    torch.set_num_threads(1)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    # As in the model card of a qwen2: AutoTokenizer would ignore the tokenizer in the folder.
    loader = "PreTrainedTokenizerFast" if config["model_type"] == "qwen2" else "AutoTokenizer"
    tokenizer = getattr(transformers, loader).from_pretrained(folder)
    encoder = config["architectures"] == ["BertForTokenClassification"]
    stock = AutoModelForTokenClassification if encoder else AutoModelForCausalLM
    answers = []
    for job in jobs:
        settings = {"dtype": job.get("dtype", "auto"), "attn_implementation": job.get("attention", "sdpa")}
        if job.get("pipeline"):
            generate = pipeline("text-generation", model=str(folder), tokenizer=tokenizer, dtype="auto")
            answers.append([generate(text)[0]["generated_text"] for text in job["texts"]])
            continue
        model = stock.from_pretrained(folder, **settings).eval()
        batch = tokenizer(job["texts"], return_tensors="pt", padding=True, return_token_type_ids=False)
        with torch.no_grad():
            if encoder:
                output = model(**batch).logits.argmax(-1)
                rows = [row[mask.bool()].tolist() for row, mask in zip(output, batch.attention_mask, strict=True)]
                answers.append([" ".join(config["id2label"][str(k)] for k in row) for row in rows])
            else:
                output = model.generate(**batch, **job.get("generate", {}))
                answers.append([tokenizer.decode(row[row != tokenizer.pad_token_id]) for row in output])
    return answers


def as_the_card_says(folder: Path, jobs: list[dict[str, Any]]) -> list[list[str]]:
    os.chdir(folder)
    card = Path("README.md").read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", card, re.MULTILINE | re.DOTALL)[:1])
    answers = []
    for job in jobs:
        printed = []
        for text in job["texts"]:
            mine = code if text is None else re.sub("^word = .*$", f"word = {text!r}", code, flags=re.MULTILINE)
            with redirect_stdout(StringIO()) as out:
                try:
                    exec(compile(mine, "README.md", "exec"), {})
                except ValueError as error:
                    print(f"ValueError: {error}")
            printed.append(out.getvalue())
        answers.append(printed)
    return answers


class _Facts:
    """The facts of softmachine.json, for software that has no tokenizer."""

    def __init__(self, folder: Path) -> None:
        facts = json.loads((folder / "softmachine.json").read_text(encoding="utf-8"))
        self.texts = [entry["text"] for entry in facts["vocabulary"]]
        self.tokens = [entry["token"] for entry in facts["vocabulary"]]
        self.labels, self.positions = facts["labels"], facts["positions"]
        self.before, self.after, self.stops = (
            [self.tokens.index(token) for token in facts[key]] if facts[key] and facts[key][0] in self.tokens else []
            for key in ("before_input", "after_input", "stops")
        )

    def ids(self, text: str) -> list[int]:
        return [*self.before, *(self.texts.index(word) for word in text.split()), *self.after]

    def text(self, ids: list[int]) -> str:
        return " ".join(self.texts[k] for k in ids)


def with_onnxruntime(folder: Path, jobs: list[dict[str, Any]]) -> list[list[str]]:
    import numpy as np
    import onnxruntime

    facts = _Facts(folder)
    session = onnxruntime.InferenceSession(str(folder / "model.onnx"))

    def logits(rows: list[list[int]], *, left: bool) -> Any:
        """The logits of a batch, padded on one side."""
        widest = max(map(len, rows))
        batch, mask = np.zeros((len(rows), widest), dtype=np.int64), np.zeros((len(rows), widest), dtype=np.int64)
        for row, ids, there in zip(rows, batch, mask, strict=True):
            place = slice(widest - len(row), None) if left else slice(0, len(row))
            ids[place], there[place] = row, 1
        return session.run(["logits"], {"input_ids": batch, "attention_mask": mask})[0]

    answers = []
    for job in jobs:
        rows = [facts.ids(text) for text in job["texts"]]
        if facts.labels != facts.tokens:
            output = logits(rows, left=False).argmax(-1)
            kept = [out[: len(row)] for out, row in zip(output, rows, strict=True)]
            answers.append([" ".join(facts.labels[k] for k in out) for out in kept])
            continue
        going = rows
        while going:
            for row, out in zip(going, logits(going, left=True), strict=True):
                row.append(int(out[-1].argmax()))
            going = [row for row in going if row[-1] not in facts.stops and len(row) < facts.positions]
        answers.append([facts.text(row) for row in rows])
    return answers


def with_llama_cpp(folder: Path, jobs: list[dict[str, Any]]) -> list[list[str]]:
    import xllamacpp

    facts = _Facts(folder)
    settings = xllamacpp.CommonParams()
    settings.model.path = str(folder / "model.gguf")
    settings.n_ctx, settings.warmup = max(facts.positions, 128), False
    for threads in (settings.cpuparams, settings.cpuparams_batch):
        threads.n_threads, threads.poll = 1, 0
    settings.cache_type_k = settings.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
    settings.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    server = xllamacpp.Server(settings)
    answers = []
    for job in jobs:
        output = []
        for text in job["texts"]:
            ids = facts.ids(text)
            asked = {"prompt": ids, "temperature": 0, "n_predict": facts.positions - len(ids), "return_tokens": True}
            answer = server.handle_completions(asked)
            output.append(
                f"{facts.text(ids)} | {answer['choices'][0]['text']} | {answer['choices'][0]['finish_reason']}"
            )
        answers.append(output)
    return answers


def main() -> None:
    sys.meta_path.insert(0, _NothingOfOurs())
    try:
        import softmachine  # noqa: F401
    except ImportError:
        pass
    else:
        raise SystemExit("softmachine can be imported")
    folder, jobs = Path(sys.argv[1]), json.load(sys.stdin)
    if any(job.get("as the card says") for job in jobs):
        answers = as_the_card_says(folder, jobs)
    elif (folder / "model.onnx").exists():
        answers = with_onnxruntime(folder, jobs)
    elif (folder / "model.gguf").exists():
        answers = with_llama_cpp(folder, jobs)
    else:
        answers = with_transformers(folder, jobs)
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()
