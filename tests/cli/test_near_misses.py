"""Unknown names, values and options: the message suggests the right one, formerly used names included."""

from __future__ import annotations

from pathlib import Path

import pytest

import softmachine as sm
from softmachine.languages import zoo
from tests.cli.conftest import Cli


@pytest.mark.parametrize(
    ("arguments", "suggestion"),
    [
        ("run parity 1 --arithmetic fp16", "float16?"),
        ("run parity 1 --arithmetic exakt", "exact?"),
        ("run parity 1 --attention softmax", "soft?"),
        ("run parity 1 --engine fasst", "fast?"),
        ("run parity 1 --format turingmachine", "turingmachine.io?"),
        ("run parity 1 --theorem ternery", "turing-ternary?"),
        ("run pairty 1", "parity"),
        ("theorems ternery", "turing-ternary"),
        ("zoo pairty", "parity"),
        ("bench startng", "starting?"),
        ("rewrite parity --as one-hed", "one-head?"),
        ("uniform majorty", "majority?"),
        ("export parity --to gtp2 -o made", "gpt2?"),
        ("export --set intrep -o made", "interp?"),
        ("run parity 1 --arithmatic exact", "--arithmetic"),
        ("run parity 1 --construction turing-ternary", "--theorem?"),
        ("run parity 1 --bound 16", "--context?"),
        ("compile parity -o made --certified=16", "--context?"),
        ("check parity --up-to 3 --certified 16", "--context?"),
        ("export parity --length 16 -o made", "--context?"),
        ("circuit parity --inputs 3", "--length?"),
    ],
)
def test_a_near_miss_is_suggested(cli: Cli, arguments: str, suggestion: str) -> None:
    called = cli(*arguments.split())
    assert called.status == 2
    assert f"did you mean {suggestion}" in called.err


def test_a_file_of_another_extension_is_suggested(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    entry = zoo.find_entry("anbncn")
    assert entry is not None
    Path("anbncn.yaml").write_text(entry.read_text(), encoding="utf-8")
    assert "did you mean anbncn.yaml or anbncn?" in cli("run", "anbncn.yml", "abc").err
    assert f"did you mean {tmp_path}/anbncn.yaml" in cli("run", tmp_path / "anbncn.yml", "abc").err


@pytest.mark.parametrize(
    ("former", "present"), [("construction", "theorem"), ("bound", "context"), ("certified", "context")]
)
def test_a_former_keyword_is_suggested(former: str, present: str) -> None:
    for function in (sm.compile, sm.run, sm.check):
        with pytest.raises(sm.SoftmachineError, match=rf"'{former}'\n  did you mean {present}\?"):
            function("parity", **{former: 8})  # type: ignore[arg-type]
