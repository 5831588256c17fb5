"""Somebody who has transformers and nothing of ours: loads a folder, generates, and prints what came out as JSON.

Run as a process of its own: ``python stranger.py FOLDER < jobs.json``. A job is a list of texts, which go through the
model in one left-padded batch, and how to run it; every answer is the text that was generated, marks included.
"""

from __future__ import annotations

import json
import sys
from importlib.abc import MetaPathFinder
from typing import Any


class _NothingOfOurs(MetaPathFinder):
    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name.partition(".")[0] == "softmachine":
            raise ImportError(f"{name} is not for strangers")


def main() -> None:
    sys.meta_path.insert(0, _NothingOfOurs())
    try:
        import softmachine  # noqa: F401
    except ImportError:
        pass
    else:
        raise SystemExit("softmachine can be imported")
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, pipeline
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    torch.set_num_threads(1)
    folder = sys.argv[1]
    tokenizer = AutoTokenizer.from_pretrained(folder)
    answers = []
    for job in json.load(sys.stdin):
        settings = {"dtype": job.get("dtype", "auto"), "attn_implementation": job.get("attention", "sdpa")}
        if job.get("pipeline"):
            generate = pipeline("text-generation", model=folder, tokenizer=folder, dtype="auto")
            answers.append([generate(text)[0]["generated_text"] for text in job["texts"]])
            continue
        model = AutoModelForCausalLM.from_pretrained(folder, **settings).eval()
        batch = tokenizer(job["texts"], return_tensors="pt", padding=True, return_token_type_ids=False)
        with torch.no_grad():
            said = model.generate(**batch, **job.get("generate", {}))
        answers.append([tokenizer.decode(row[row != tokenizer.pad_token_id]) for row in said])
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()
