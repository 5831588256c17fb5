from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import softmachine as sm
from softmachine.compiler.model import Model
from softmachine.exports.export import _soften
from softmachine.exports.formats import find_format
from softmachine.languages.source import Source
from softmachine.support.progress import ignore_progress
from softmachine.theorems import find_theorem, get_theorem
from softmachine.theorems.codec import Codec
from softmachine.theorems.shared.checkpoints import CheckpointCodec

STRANGER = Path(__file__).with_name("stranger.py")


def ask(folder: Path, *jobs: Mapping[str, Any]) -> list[list[str]]:
    """Run the jobs in a process that cannot import softmachine, and return its output."""
    done = subprocess.run(
        [sys.executable, "-I", str(STRANGER), str(folder)],
        input=json.dumps(jobs),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    answers: list[list[str]] = json.loads(done.stdout)
    return answers


def spelled(tokens: Iterable[str | None]) -> str:
    return " ".join("".join("␣" if c.isspace() else c for c in token or "") for token in tokens)


def runs(codec: CheckpointCodec, words: Sequence[Sequence[str]]) -> tuple[list[str], list[str]]:
    """The input texts of words, and the expected texts."""
    texts = [spelled(word) for word in words]
    wanted = [spelled([*codec.prompt(word).tokens, *codec.expected(word, 10**6)]) for word in words]
    return texts, wanted


def answers(codec: Codec[Source], words: Sequence[Sequence[str]]) -> tuple[list[str], list[list[str | None]]]:
    """The input texts of words for an encoder, and the expected labels; None where the output is unconstrained."""
    return [spelled(word) for word in words], [list(codec.expected(word, 0)) for word in words]


def agree(emitted: Sequence[str], wanted: Sequence[Sequence[str | None]]) -> bool:
    """Whether labels agree with the expected ones where the output is constrained."""
    rows = [text.split() for text in emitted]
    return len(rows) == len(wanted) and all(
        len(row) == len(right) and all(b in (None, a) for a, b in zip(row, right, strict=True))
        for row, right in zip(rows, wanted, strict=True)
    )


def codec_of(folder: Path) -> CheckpointCodec:
    """The codec of an exported machine."""
    codec = any_codec_of(folder)
    assert isinstance(codec, CheckpointCodec)
    return codec


def any_codec_of(folder: Path) -> Codec[Source]:
    """The codec of an exported model, from its map, which names the theorem and the source (of the zoo)."""
    facts = json.loads((folder / "softmachine.json").read_text(encoding="utf-8"))
    theorem = get_theorem(facts["theorem"])
    assert theorem is not None
    loaded = sm.load(facts["source"]["name"])
    assert isinstance(loaded, Source)
    return theorem.build_codec(loaded, facts["positions"])


def checkpoint_model(source: str | Source, theorem: str, length: int, to: str = "gpt2") -> Model:
    """The model that is written to a Hugging Face checkpoint: compiled, with softmax."""
    loaded = sm.load(source) if isinstance(source, str) else source
    assert isinstance(loaded, Source)
    chosen = find_theorem(loaded, theorem)
    attention = "hard" if "hard" in chosen.attentions else "soft"
    compiled = sm.compile(loaded, chosen, attention=attention, length=length if chosen.length else None)
    return _soften(compiled, length, find_format(to), ignore_progress)
