"""``softmachine show``, ``compile`` and ``zoo``."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from softmachine.cli.zoo import LANGUAGES
from softmachine.exports.gpt2 import to_gpt2
from softmachine.exports.lowering import lower
from softmachine.exports.model_card import CardTexts
from softmachine.exports.prompt_format import build_prompt_format
from softmachine.exports.verification import Verification
from softmachine.exports.writer import ExportRecord, WrittenModel, write_card_and_map
from softmachine.languages import formats, zoo
from tests.cli.conftest import Cli
from tests.exports.helpers import checkpoint_model

ONNX = importlib.util.find_spec("onnx") is not None and importlib.util.find_spec("onnxruntime") is not None


def test_show_draws_the_board_and_says_what_it_costs(cli: Cli) -> None:
    called = cli("show", "palindrome")
    assert called.status == 0
    assert called.out.startswith("Turing machine palindrome: 8 states")
    for said in ("Transformer  palindrome", "layer 5", "last write", "Theorem 8.2", "parameters", "largest weight"):
        assert said in called.out


def test_show_lists_coordinates_on_request(cli: Cli) -> None:
    assert "head/(i+1)\n" not in cli("show", "parity").out
    assert "head/(i+1)\n" in cli("show", "parity", "--coordinates").out


def test_show_in_json_has_all_keys(cli: Cli) -> None:
    answer = cli("show", "parity", "--json").json
    assert (answer["layers"], answer["theorem"]) == (5, "turing-average-hard")
    assert answer["position_features"] == ["1/(i+1)", "i", "i²"]
    assert len(answer["coordinates"]) == answer["width"]
    assert answer["nonzeros"] < answer["parameters"]
    assert answer.keys() >= {"heads", "vocabulary"}


def test_show_quietly_is_the_board_alone(cli: Cli) -> None:
    assert cli("show", "parity", "--quiet").out.startswith("Transformer  parity")


def test_show_folds_long_lists_of_names_unless_all_are_wanted(cli: Cli) -> None:
    command = ("show", "busy-beaver-2", "--theorem", "turing-counter", "--quiet")
    folded, every = cli(*command).out, cli(*command, "--all").out
    assert len(folded) < 2_000
    assert "rule 1 (start_0_1) … rule 248 (pop_left_0_B_11) (248 of them)" in folded
    assert len(every) > 100_000
    assert "rule 117 (" in every


def test_show_describes_a_folder_that_was_exported(cli: Cli, tmp_path: Path) -> None:
    folder, model = tmp_path / "exported", checkpoint_model("increment", "turing-binary-address", 24)
    folder.mkdir()
    placed, dialogue = to_gpt2(lower(model, 24), "float32"), build_prompt_format(model, [("1",)], 24)
    verified = (Verification("float32", 1, 1, 1, 1.0, None),)
    filled = WrittenModel(
        placed,
        placed.architecture,
        verified,
        0,
        0,
        CardTexts("test", "a test", "", is_autoregressive=True, special_tokens_intro=""),
    )
    write_card_and_map(
        folder,
        model,
        filled,
        ExportRecord(folder, placed.architecture, 24, "float32", verified, 0, 0, "turing-binary-address"),
        dialogue,
    )
    called = cli("show", folder)
    assert called.status == 0
    assert called.out.startswith(
        "GPT2LMHeadModel  increment  by turing-binary-address, 3 layers, 24 positions, 12 tokens,"
    )
    assert "attention  1: recover -head position ............. → head\n" in called.out
    assert "attention  idle: 4 to 5 .......................... → nothing\n" in called.out
    answer = cli("show", folder, "--json").json
    assert answer["idle_heads"] == [[1, 2, 3, 4, 5], [4, 5], [1, 2, 3, 4, 5]]
    assert answer["coordinates"] == list(placed.model.coordinates)
    mark = folder / "softmachine.json"
    mark.write_text(mark.read_text(encoding="utf-8").replace("recover -head position", "undo"), encoding="utf-8")
    assert "its digest differs" in cli("show", folder).err


@pytest.mark.parametrize("data", ["{", '{"format": "softmachine-map"}', '{"format": "softmachine-map", "layers": 3}'])
def test_show_says_what_is_wrong_with_an_exported_folder(cli: Cli, tmp_path: Path, data: str) -> None:
    (tmp_path / "softmachine.json").write_text(data, encoding="utf-8")
    called = cli("show", tmp_path)
    assert called.status == 2
    assert "softmachine.json is damaged: " in called.err
    assert str(tmp_path) in called.err


def test_show_takes_a_saved_model(cli: Cli, saved: Path) -> None:
    assert cli("show", saved).out == cli("show", "parity").out


def test_compile_says_what_it_wrote(cli: Cli, tmp_path: Path) -> None:
    called = cli("compile", "palindrome", "-o", tmp_path / "model")
    assert called.status == 0
    assert str(tmp_path / "model") in called.out
    assert "parameters" in called.out


def test_compile_in_json(cli: Cli, tmp_path: Path) -> None:
    answer = cli("compile", "parity", "-o", tmp_path / "model", "--json").json
    assert answer["path"] == str(tmp_path / "model")
    assert answer["parameters"] == cli("show", "parity", "--json").json["parameters"]
    assert answer["bytes"] > 0


def test_compile_replaces_a_model_only_by_force(cli: Cli, saved: Path) -> None:
    called = cli("compile", "palindrome", "-o", saved)
    assert called.status == 2
    assert "--force" in called.err
    assert cli("run", saved, "1", "--json").json["name"] == "parity"
    assert cli("compile", "palindrome", "-o", saved, "--force").status == 0
    assert cli("run", saved, "a", "--json").json["name"] == "palindrome"


def test_compile_never_replaces_anything_else(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("precious")
    assert cli("compile", "parity", "-o", tmp_path, "--force").status == 2
    assert cli("compile", "parity", "-o", tmp_path / "thesis.txt", "--force").status == 2
    assert (tmp_path / "thesis.txt").read_text() == "precious"


def test_compile_needs_a_folder(cli: Cli) -> None:
    called = cli("compile", "parity")
    assert called.status == 2
    assert "-o" in called.err


def test_zoo_lists_every_entry_by_language(cli: Cli) -> None:
    called = cli("zoo")
    assert called.status == 0
    assert all(entry.name in called.out for entry in zoo.list_entries())
    titles = [line for line in called.out.splitlines()[:-1] if line and not line.startswith(" ")]
    assert titles == list(LANGUAGES.values())
    assert all(len(line) <= 80 for line in called.out.splitlines())


def test_zoo_quietly_is_one_name_a_line(cli: Cli) -> None:
    assert cli("zoo", "--quiet").out.split() == [entry.name for entry in zoo.list_entries()]


def test_zoo_in_json(cli: Cli) -> None:
    entries = cli("zoo", "--json").json["entries"]
    assert [entry["name"] for entry in entries] == [entry.name for entry in zoo.list_entries()]
    assert entries[0]["samples"][0].keys() >= {"input", "verdict", "output", "steps"}


def test_zoo_shows_an_entry_with_its_source_and_runs_of_it(cli: Cli) -> None:
    called = cli("zoo", "increment")
    assert called.out.startswith("increment: adds 1 to a binary number")
    assert "start state: right" in called.out
    assert "softmachine run increment 1011\n      halt after 8 steps, leaves '1100'" in called.out
    assert "start state" in cli("zoo", "increment", "--json").json["entries"][0]["source"]


@pytest.mark.parametrize("entry", zoo.list_entries(), ids=lambda entry: entry.name)
def test_what_the_zoo_prints_as_a_source_is_one(cli: Cli, tmp_path: Path, entry: zoo.ZooEntry) -> None:
    file = tmp_path / Path(entry.file).name
    file.write_text(cli("zoo", entry.name, "--quiet").out)
    assert cli("show", file, "--quiet").status == 0


def test_zoo_suggests_names(cli: Cli) -> None:
    called = cli("zoo", "palindrmoe")
    assert called.status == 2
    assert "did you mean palindrome" in called.err
    assert "did you mean sort or sorted?" in cli("zoo", "srot").err


def test_zoo_searches_names_descriptions_and_languages(cli: Cli) -> None:
    found = [entry["name"] for entry in cli("zoo", "sort", "--json").json["entries"]]
    assert {"sort-bits", "sorting-6", "sort-rasp"} <= {*found} < {entry.name for entry in zoo.list_entries()}
    assert cli("zoo", "sort", "--quiet").out.split() == found
    assert cli("zoo", "RASP reverse", "--quiet").out.split() == ["reverse-program", "reverse-rasp"]


def test_help_names_every_format(cli: Cli) -> None:
    words = cli("run", "--help").out.replace("│", " ").replace(",", " ").replace(".", " . ").split()
    shown = " ".join(words).replace(" . ", ".")
    assert [name for name in formats.formats() if name not in shown] == []


@pytest.mark.skipif(not ONNX, reason="onnx or onnxruntime is missing: pip install 'softmachine[onnx]'")
def test_export_prints_the_theorem_and_which_one_other_commands_use(cli: Cli, tmp_path: Path) -> None:
    made = "compiled with the theorem turing-binary-address"
    folder = ("--to", "onnx", "--context", 12, "-o", tmp_path / "model", "--force")
    chosen = cli("export", "parity", *folder).out
    assert f"  {made}, designed for stock checkpoints; run and show use turing-average-hard by default\n" in chosen
    assert f"  {made}\n" in cli("export", "parity", "--theorem", "turing-binary-address", *folder).out
    assert json.loads(cli("export", "parity", "--json", *folder).out)["theorem"] == "turing-binary-address"
