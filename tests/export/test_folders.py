"""What is written, and what is not: folders, refusals, the command line. What needs torch is skipped without it."""

from __future__ import annotations

import errno
import importlib.util
import json
import sys
from pathlib import Path

import pytest

import softmachine as sm
from softmachine import exporting
from softmachine.errors import SourceError, UsageError
from softmachine.exports.folder import new_folder
from softmachine.exports.formats import StockFormat
from tests.cli.conftest import Cli, cli  # noqa: F401

TORCH = importlib.util.find_spec("torch") is not None and importlib.util.find_spec("transformers") is not None
needs_torch = pytest.mark.skipif(not TORCH, reason="torch or transformers is missing: pip install 'softmachine[hf]'")


def write_half(folder: Path) -> None:
    with new_folder(folder, force=False) as new:
        (new / "half").write_text("x", encoding="utf-8")
        raise ZeroDivisionError


def test_a_folder_appears_only_when_it_is_whole(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        write_half(tmp_path / "deep" / "model")
    assert list(tmp_path.iterdir()) == []
    with new_folder(tmp_path / "deep" / "model", force=False) as new:
        (new / "whole").write_text("x", encoding="utf-8")
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["model"]


def test_a_full_disk_is_one_clear_message_and_leaves_nothing(tmp_path: Path) -> None:
    with (
        pytest.raises(UsageError, match=r"cannot write .*model: No space left on device"),
        new_folder(tmp_path / "model", force=False),
    ):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert list(tmp_path.iterdir()) == []


def test_only_folders_of_ours_are_replaced(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.png").write_bytes(b"cat")
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    for name in ("photos", "file"):
        for force in (False, True):
            with pytest.raises(UsageError, match="exists already"), new_folder(tmp_path / name, force=force):
                pytest.fail("it must not come this far")
    assert (tmp_path / "photos" / "cat.png").read_bytes() == b"cat"


def test_what_was_there_survives_a_failed_replacement(tmp_path: Path) -> None:
    with new_folder(tmp_path / "model", force=False) as new:
        (new / "softmachine.json").write_text('{"format": "softmachine-map"}', encoding="utf-8")
    with pytest.raises(ZeroDivisionError), new_folder(tmp_path / "model", force=True):
        raise ZeroDivisionError
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    assert (tmp_path / "model" / "softmachine.json").exists()


def test_without_torch_the_message_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setattr(exporting, "compile_program", lambda *_: pytest.fail("nothing is compiled for nothing"))
    with pytest.raises(UsageError, match="exporting needs torch, which is not installed") as caught:
        sm.export("increment", tmp_path / "model", length=16)
    assert caught.value.hint == "pip install 'softmachine[hf]'"
    assert list(tmp_path.iterdir()) == []


@needs_torch
def test_a_format_that_does_not_hold_is_refused_with_the_step_and_the_remedy(cli: Cli, tmp_path: Path) -> None:  # noqa: F811
    wanted = ("--dtype", "bfloat16", "--construction", "address-bits", "--length", 64)
    called = cli("export", "palindrome", *wanted, "-o", tmp_path / "model")
    assert called.status == 2
    assert "does not hold: in bfloat16, on 'ba" in called.err
    assert "token 16 should be" in called.err
    assert "the construction residues is made for bfloat16" in called.err
    assert list(tmp_path.iterdir()) == []


@needs_torch
def test_a_formula_is_exported_and_says_true_or_false(cli: Cli, tmp_path: Path) -> None:  # noqa: F811
    called = cli("export", "Q_a since Q_b", "--length", 32, "-o", tmp_path / "model", "--json")
    assert called.status == 0, called.err
    answer = called.json
    assert {"path", "length", "dtype"} <= set(answer)
    assert "float32" in answer["dtypes_that_hold"]
    assert answer["files"] == [
        "README.md",
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "softmachine.json",
        "tokenizer.json",
        "tokenizer_config.json",
    ]
    config = json.loads((tmp_path / "model" / "config.json").read_text(encoding="utf-8"))
    assert config["dtype"] == "float32"
    assert config["softmachine"] == {"positions": 32, "dtypes_that_hold": answer["dtypes_that_hold"]}
    generation = json.loads((tmp_path / "model" / "generation_config.json").read_text(encoding="utf-8"))
    facts = json.loads((tmp_path / "model" / "softmachine.json").read_text(encoding="utf-8"))
    texts = [entry["text"] for entry in facts["vocabulary"]]
    assert generation["eos_token_id"] == [texts.index("false"), texts.index("true")]
    assert [c["name"] for c in facts["coordinates"]] == list(lowered_names())
    card = (tmp_path / "model" / "README.md").read_text(encoding="utf-8")
    assert "AutoModelForCausalLM" in card
    assert "| float32 | yes |" in card
    with pytest.raises(SourceError, match="it is not a model that softmachine runs"):
        sm.load(tmp_path / "model")


def lowered_names() -> tuple[str, ...]:
    model = sm.compile("Q_a since Q_b", "temporal-masked", attention="hard")
    return model.coordinates


def test_mistakes_are_one_clear_message(
    cli: Cli,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(StockFormat, "require_libraries", lambda _: None)  # what else is wrong is said without torch
    for arguments, message in (
        (["palindrome", "--to", "gpt3"], "there is no format 'gpt3' to export to"),
        (["reverse-program"], "is an encoder: head"),
        (["reverse-program"], "export it to bert or onnx"),
        (["palindrome", "--to", "bert"], "is a decoder: it goes on from its input token by token"),
        (["adder-8", "--to", "bert", "--length", "100"], "its shortest input takes 202 positions: --length 202"),
        ([], "say what to export"),
        (["palindrome", "--set", "interp"], "say what to export"),
        (["--set", "nothing"], "there is no set 'nothing'"),
        (["palindrome", "--dtype", "int8"], "int8"),
        (["palindrome", "--to", "native", "--dtype", "float32"], "exact weights, and no --dtype"),
        (["palindrome", "--length", "2"], "no input of 'palindrome' fits in 2 positions"),
        (["palindrome", "--length", "99999999"], "positions"),
    ):
        called = cli("export", *arguments, "-o", tmp_path / "model")
        assert called.status == 2, arguments
        assert message in called.err, called.err
        assert list(tmp_path.iterdir()) == []


def test_the_native_format_is_what_compile_writes(cli: Cli, tmp_path: Path) -> None:  # noqa: F811
    assert cli("export", "parity", "--to", "native", "-o", tmp_path / "one", "--json").json["format"] == "native"
    assert cli("compile", "parity", "-o", tmp_path / "two").status == 0
    for name in ("model.safetensors", "softmachine.json"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("transformer_lens") is None,
    reason="TransformerLens is missing: pip install 'transformer-lens>=4'",
)
@needs_torch
@pytest.mark.filterwarnings("ignore")
def test_transformer_lens_shows_head_symbol_and_state_in_the_residual_stream(tmp_path: Path) -> None:
    import torch
    from transformer_lens.model_bridge import TransformerBridge

    from softmachine.languages.turing import Configuration
    from softmachine.theorems.shared.stream_tokens import StreamCodec

    sm.export("palindrome", tmp_path / "model", to="gpt2", length=64)
    facts = json.loads((tmp_path / "model" / "softmachine.json").read_text(encoding="utf-8"))
    codec = StreamCodec.from_json(facts["codec"])
    ids = {entry["token"]: entry["id"] for entry in facts["vocabulary"]}
    prompt, said = codec.prompt("abba").tokens, list(codec.expected("abba", 99))

    lens = TransformerBridge.boot_transformers(str(tmp_path / "model"), device="cpu")
    stream = lens.run_with_cache(torch.tensor([[ids[token] for token in [*prompt, *said]]]))[1][
        "blocks.2.hook_resid_post"
    ]
    where = {c["name"]: c for c in facts["coordinates"]}
    value = {name: (stream[0, :, c["index"]] / c["scale"]).round().int() for name, c in where.items()}

    now = Configuration.initial(codec.machine, "abba")
    for i, token in enumerate(["<run>", *said[:-1]], len(prompt) - 1):
        if token != "<run>":
            now.apply(codec.meanings[token])
        bits = [int(value[f"head[bit {k}]"][i]) for k in range(6)]
        sign = -1 if value["head[negative]"][i] else 1
        assert sign * sum(bit << k for k, bit in enumerate(bits)) == now.heads[0]
        assert value[f"symbol[{now.read()[0]}]"][i] == 1
        assert value[f"state[{now.state}]"][i] == 1


@pytest.mark.slow
@needs_torch
def test_the_sets_for_interpretability_have_at_least_twelve_models_of_growing_size(tmp_path: Path) -> None:
    from softmachine.exporting import export_set

    for name, to in (("interp", "gpt2"), ("encoders", "bert")):
        written = export_set(name, tmp_path / name, to=to, dtype=None, force=False)
        assert len(written) >= 12
        assert all((item.folder / "model.safetensors").is_file() for item in written)
        assert written[0].parameters * 10 < written[-1].parameters
