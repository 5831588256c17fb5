from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from softmachine.constructions.turing_stream import StreamCodec

STRANGER = Path(__file__).with_name("stranger.py")


def ask(folder: Path, *jobs: Mapping[str, Any]) -> list[list[str]]:
    """What a process without softmachine makes of the jobs."""
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


def runs(codec: StreamCodec, words: Sequence[Sequence[str]]) -> tuple[list[str], list[str]]:
    """The texts to ask for words, and the texts that should come back."""
    texts = [spelled(word) for word in words]
    wanted = [spelled([*codec.prompt(word).tokens, *codec.expected(word, 10**6)]) for word in words]
    return texts, wanted


def codec_of(folder: Path) -> StreamCodec:
    """How to talk to an exported machine, from its map."""
    data = json.loads((folder / "softmachine.json").read_text(encoding="utf-8"))
    return StreamCodec.from_json(data["codec"])
