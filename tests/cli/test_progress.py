"""Long work says on a terminal what it is doing, and nowhere else."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from softmachine import api
from softmachine.certify.empirical import measure_precision
from softmachine.cli import output
from softmachine.cli.output import Output, advance_after_each, bar, spinner
from softmachine.exports.export import export_bundle
from softmachine.exports.formats import ExportFormat
from softmachine.studies.circuits import to_circuit
from softmachine.support.progress import with_progress
from tests.cli.test_process import _on_a_terminal

CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _terminal(monkeypatch: pytest.MonkeyPatch) -> _Terminal:
    """Standard error, as a terminal on which everything is shown at once; pytest takes it back after a fixture."""
    shown = _Terminal()
    monkeypatch.setattr("sys.stderr", shown)
    monkeypatch.setattr(output, "SPINNER_DELAY", 0.0)
    monkeypatch.setenv("TERM", "xterm-256color")
    return shown


def test_a_terminal_sees_what_is_being_done(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _terminal(monkeypatch)
    with spinner("exporting", Output()) as tell:
        tell("verifying in [b]float32[/]: input 3 of 40")
    assert "verifying in [b]float32[/]: input 3 of 40" in CODES.sub("", terminal.getvalue())


def test_nobody_else_sees_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _terminal(monkeypatch)
    with spinner("exporting", Output(quiet=True)) as tell, bar("checking", 2, Output(quiet=True)) as advance:
        tell("verifying")
        assert list(advance_after_each("ab", advance)) == ["a", "b"]
    assert terminal.getvalue() == ""
    monkeypatch.setattr(terminal, "isatty", lambda: False)
    with spinner("exporting", Output()) as tell, bar("checking", 1, Output()):
        tell("verifying")
    assert terminal.getvalue() == ""


def test_items_are_announced_by_their_numbers() -> None:
    said: list[str] = []
    assert list(with_progress("abc", "verifying: input", said.append)) == ["a", "b", "c"]
    assert said == ["verifying: input 1 of 3", "verifying: input 2 of 3", "verifying: input 3 of 3"]


def test_an_export_tells_of_its_phases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(ExportFormat, "require_libraries", lambda _: None)
    monkeypatch.setattr("softmachine.exports.hf_checkpoint.require_libraries", lambda: None)

    def stop(*_: object, **__: object) -> None:
        raise InterruptedError

    monkeypatch.setattr("softmachine.exports.hf_checkpoint.write_verified_checkpoint", stop)
    with pytest.raises(Exception, match="cannot write"):
        api.export("parity", tmp_path / "model", context=32, progress=said.append)
    assert said == [
        "compiling",
        "certifying for 32 positions",
        "choosing inputs to try",
        "placing the weights",
    ]
    said.clear()
    with pytest.raises(Exception, match="cannot write"):
        export_bundle(
            "interp", tmp_path / "set", to="gpt2", dtype=None, force=False, export=api.export, progress=said.append
        )
    assert said[0] == "majority-crasp (1 of 18): compiling"


def test_circuits_and_measurements_tell_how_far_they_are() -> None:
    model, said = api.compile("prev Q_a", "temporal-masked", attention="hard"), list[str]()
    to_circuit(model, 2, "fixed:5", progress=said.append)
    assert said == [
        f"building gates: layer {k} of {len(model.weights.layers)}" for k in range(1, len(model.weights.layers) + 1)
    ]
    said.clear()
    measure_precision(api.soften("prev Q_a", length=4)[0], "float32", 4, said.append)
    assert said[:2] == ["measuring in float32:plain: length 0", "measuring in float32:plain: length 1"]
    assert said[-1] == "measuring in float32: length 4"


def test_a_check_shows_a_bar_and_leaves_one_line() -> None:
    status, written = _on_a_terminal(["check", "full-adder"])
    assert status == 0
    assert re.search(r"checking .*8/8", CODES.sub("", written))
    assert re.split(r"[\r\n]+", CODES.sub("", written).strip())[-1].startswith("all 8 inputs, 280 tokens")
