"""Speed of softmax that is not proved hard, here and in another checkout, in alternating new processes.

Run with ``python benchmarks/soft.py OTHER_SRC``, the ``src`` folder of another checkout, such as that of commit
3e33771 of 16 November 2026. Seconds are those of one core, from the prepared model to its last token; the median of
several rounds is reported. Second runs are in the same processes, with position features already computed.
"""

from __future__ import annotations

import one_core  # noqa: F401

# isort: split

import json
import os
import subprocess
import sys
import time
from itertools import islice
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

import softmachine as sm
from softmachine.compiler.model import Model
from softmachine.engines.dense.decoding import decode, decode_segments
from softmachine.engines.dense.engine import DenseEngine
from softmachine.theorems.codec import DecoderCodec, SegmentedCodec

CASES = (
    ("busy-beaver-5", None, "", 500),
    ("busy-beaver-5", None, "", 2000),
    ("busy-beaver-5", "turing-average-hard-summary", "", 500),
    ("busy-beaver-5", "turing-average-hard-summary", "", 2687),
    ("binary-counter", None, "", 1000),
    ("prime-counter", None, "a" * 31, 2000),
    ("power-of-two-crasp", None, "a" * 128, 2000),
)
"""Sources, theorems, inputs, and the maximum number of tokens."""
ROUNDS = 3


def decoding(model: Model, word: str, most: int) -> tuple[float, list[str]]:
    """Return the seconds of a run, and its tokens."""
    codec = model.codec
    assert isinstance(codec, DecoderCodec)
    began = time.process_time()
    engine, prompt = DenseEngine(model.weights), codec.prompt(word)
    if isinstance(codec, SegmentedCodec):
        marks = codec.is_stop_token, codec.begins_segment, codec.ends_segment
        tokens = [emitted.token for emitted in islice(decode_segments(engine, prompt, *marks), most)]
    else:
        tokens = list(islice(decode(engine, prompt, codec.is_stop_token), most))
    return time.process_time() - began, tokens


def measured(case: int) -> tuple[float, float, list[str]]:
    """Return the seconds of a first and a second run, and the tokens."""
    source, theorem, word, most = CASES[case]
    model = sm.soften(sm.compile(source, theorem), length=300)[0]
    (first, tokens), (second, _) = (decoding(model, word, most) for _ in range(2))
    return first, second, tokens


def elsewhere(source: Path, case: int) -> tuple[float, float, list[str]]:
    """Return the same for another checkout, in its own process."""
    command = [sys.executable, __file__, "--only", str(case)]
    environment = {**os.environ, "PYTHONPATH": str(source)}
    first, second, tokens = json.loads(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)
    return first, second, tokens


def main(other: Path) -> None:
    """Print a table."""
    table, here = Table(title="dense engine, softmax, seconds of one core"), Path(sm.__file__).parents[1]
    for heading in ("model", "tokens", "there", "here", "ratio", "least", "second runs"):
        table.add_column(heading, justify="left" if heading == "model" else "right")
    for case, (source, theorem, *_) in enumerate(CASES):
        pairs = [(elsewhere(other, case), elsewhere(here, case)) for _ in range(ROUNDS)]
        if any(there[2] != now[2] for there, now in pairs):
            raise SystemExit(f"{source}: the runs differ")
        there, now = (median(pair[k][0] for pair in pairs) for k in (0, 1))
        second = median(pair[0][1] for pair in pairs) / median(pair[1][1] for pair in pairs)
        least = min(there[0] / now[0] for there, now in pairs)
        row = f"{len(pairs[0][0][2]):,}", f"{there:.3f}", f"{now:.3f}", f"{there / now:.2f}", f"{least:.2f}"
        table.add_row(", ".join(filter(None, (source, theorem))), *row, f"{second:.2f}")
    Console(width=110).print(table)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--only"]:
        print(json.dumps(measured(int(sys.argv[2]))))
    else:
        main(Path(sys.argv[1]))
