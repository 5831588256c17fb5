"""Verification by several processes: the same results as by one, and the same first failure."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path

import pytest

from softmachine import api
from softmachine.exports import export as exporting
from softmachine.exports import verification
from softmachine.exports.prompt_format import PromptFormat, build_prompt_format
from softmachine.support.errors import PrecisionError
from softmachine.support.parallel import ExecutorFactory, use_executor
from tests.workers.crews import Eager, Threads

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None or importlib.util.find_spec("transformers") is None,
    reason="exports need torch: pip install 'softmachine[hf]'",
)


def wrong(prompt_format: PromptFormat) -> PromptFormat:
    """A prompt format with wrong expected ends of two runs, one of them long."""
    samples = list(prompt_format.samples)
    for place in (3, 7):
        right = samples[place].expected
        samples[place] = replace(samples[place], expected=(*right[:-1], right[0]))
    return replace(prompt_format, samples=tuple(samples))


@pytest.mark.parametrize("source", [pytest.param("parity", marks=pytest.mark.slow), "reverse-program"])
def test_several_verify_what_one_does(source: str, tmp_path: Path) -> None:
    to = "gpt2" if source == "parity" else "bert"
    alone = api.export(source, tmp_path / "alone", to=to, context=24)
    crew = Threads(1, losing=0.2)  # transformers loads one model at a time in a process
    with use_executor(crew):
        together = api.export(source, tmp_path / "together", to=to, context=24)
    assert together.verifications == alone.verifications
    assert crew.opened
    for file in sorted((tmp_path / "alone").iterdir()):
        assert file.read_bytes() == (tmp_path / "together" / file.name).read_bytes()


def test_the_first_failure_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporting, "build_prompt_format", lambda *given: wrong(build_prompt_format(*given)))
    monkeypatch.setattr(verification, "MAX_GENERATED_TOKENS", 0)
    output = set()
    helping = Threads(1, losing=0.2)
    crews: tuple[ExecutorFactory | None, ...] = (None, helping)
    for crew in crews:
        with use_executor(crew), pytest.raises(PrecisionError) as refused:
            api.export("parity", tmp_path / "model", context=24)
        output.add(str(refused.value))
    assert len(output) == 1
    assert helping.opened


@pytest.mark.slow
def test_processes_verify_what_one_does(tmp_path: Path) -> None:
    alone = api.export("parity", tmp_path / "alone", context=24)
    with use_executor(Eager(2)):
        together = api.export("parity", tmp_path / "together", context=24)
    assert together.verifications == alone.verifications
