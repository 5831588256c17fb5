"""Writing of folders, refusals, and the command line. Tests that need torch are skipped without it."""

from __future__ import annotations

import errno
import importlib.util
import json
import os
import sys
from pathlib import Path
from typing import NoReturn

import pytest

import softmachine as sm
from softmachine import api as compiling
from softmachine.compiler.model import Model
from softmachine.exports.folder import new_folder
from softmachine.exports.formats import ExportFormat
from softmachine.exports.manifest import write_manifest
from softmachine.support.errors import SourceError, UsageError
from tests.cli.conftest import Cli, cli  # noqa: F401
from tests.exports.helpers import codec_of
from tests.models import model_of

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


def everything(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def mark(**data: object) -> str:
    return json.dumps({"format": "softmachine-map", **data})


def filled(folder: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    return folder


OURS = {"softmachine.json": mark(files=["old.bin", "softmachine.json"]), "old.bin": "old"}
THEIRS = {"thesis.tex": "mine", "photos/cat.png": "cat", "config.json": "mine"}


def test_only_listed_files_are_removed(tmp_path: Path) -> None:
    filled(tmp_path / "model", OURS | THEIRS)
    (tmp_path / "model" / "empty").mkdir()
    (tmp_path / "model" / "link").symlink_to("thesis.tex")
    with new_folder(tmp_path / "model", force=True) as new:
        filled(new, {"softmachine.json": "new", "new.bin": "new"})
    assert everything(tmp_path / "model") == {"softmachine.json": "new", "new.bin": "new", "link": "mine", **THEIRS}
    assert (tmp_path / "model" / "empty").is_dir()
    assert (tmp_path / "model" / "link").is_symlink()
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


@pytest.mark.parametrize(
    ("files", "stays"),
    [
        ({"softmachine.json": mark(), "README.md": "", "model.onnx": "", "notes.md": ""}, {"notes.md"}),
        ({"softmachine.json": '{"format": "softmachine-transformer"}', "model.safetensors": "", "README.md": ""},
         {"README.md"}),
        ({"softmachine.json": '{"format": "softmachine-set", "models": [{"folder": "one"}]}',
          "one/softmachine.json": "",
          "one/config.json": "", "one/notes": "", "two/config.json": ""}, {"one/notes", "two/config.json"}),
        ({"softmachine.json": mark(files=["one/x", "softmachine.json"]), "one/x": "", "one/two/x": ""}, {"one/two/x"}),
        ({"softmachine.json": mark(files=["../file", "thesis"]), "thesis/chapter": ""}, {"thesis/chapter"}),
    ],
)  # fmt: skip
def test_a_folder_that_lists_nothing_has_what_is_always_written(
    tmp_path: Path, files: dict[str, str], stays: set[str]
) -> None:
    filled(tmp_path, {"file": "mine"})
    filled(tmp_path / "model", files)
    with new_folder(tmp_path / "model", force=True) as new:
        filled(new, {"new": "new"})
    assert set(everything(tmp_path)) == {"file", "model/new"} | {f"model/{name}" for name in stays}


@pytest.mark.parametrize("name", ["thesis.tex", "photos", "thesis.tex/x"])
def test_a_file_of_someone_else_is_not_overwritten(tmp_path: Path, name: str) -> None:
    before = everything(filled(tmp_path / "model", OURS | THEIRS))
    with (
        pytest.raises(UsageError, match=r"was not written by softmachine, and is in the way"),
        new_folder(tmp_path / "model", force=True) as new,
    ):
        filled(new, {name: "new"})
    assert everything(tmp_path / "model") == before
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


@pytest.mark.parametrize("exists", [False, True])
def test_a_link_to_a_folder_stays_a_link(tmp_path: Path, exists: bool) -> None:
    (tmp_path / "link").symlink_to("deep/model")
    if exists:
        filled(tmp_path / "deep" / "model", OURS | THEIRS)
    with new_folder(tmp_path / "link", force=True) as new:
        filled(new, {"new.bin": "new"})
    assert (tmp_path / "link").is_symlink()
    assert everything(tmp_path / "deep") == {
        f"model/{name}": content for name, content in ({"new.bin": "new"} | (THEIRS if exists else {})).items()
    }
    assert sorted(path.name for path in tmp_path.iterdir()) == ["deep", "link"]


def sealed(folder: Path, files: dict[str, str]) -> Path:
    """A folder written by softmachine, with digests."""
    filled(folder, files)
    write_manifest(folder, {"format": "softmachine-map", "version": 2})
    return folder


@pytest.mark.parametrize("name", ["README.md", "deep/config.json", "softmachine.json"])
def test_a_file_of_ours_that_was_edited_is_named_and_not_replaced(tmp_path: Path, name: str) -> None:
    folder = sealed(tmp_path / "model", {"README.md": "old", "deep/config.json": "old"})
    path = folder / name
    path.write_text(path.read_text().replace("old", "mine").replace("-map", "-mine"), encoding="utf-8")
    before = everything(folder)
    with (
        pytest.raises(
            UsageError, match=f"is not replaced: {name} was changed after it was written: its digest differs"
        ),
        new_folder(folder, force=True),
    ):
        pytest.fail("it must not come this far")
    assert everything(folder) == before


def test_a_file_that_is_edited_while_the_new_ones_are_made_is_not_replaced(tmp_path: Path) -> None:
    folder = sealed(tmp_path / "model", {"README.md": "old"})
    with pytest.raises(UsageError, match=r"README.md was changed after it was written"), new_folder(folder, force=True):
        filled(folder, {"README.md": "mine"})
    assert (folder / "README.md").read_text() == "mine"


def test_files_of_ours_that_somebody_has_removed_are_no_obstacle(tmp_path: Path) -> None:
    folder = sealed(tmp_path / "model", {"README.md": "old", "config.json": "old"})
    (folder / "README.md").unlink()
    with new_folder(folder, force=True) as new:
        filled(new, {"new.bin": "new"})
    assert everything(folder) == {"new.bin": "new"}


def test_a_link_in_the_place_of_a_file_of_ours_is_someone_elses(tmp_path: Path) -> None:
    folder = sealed(tmp_path / "model", {"README.md": "old"})
    (folder / "README.md").rename(tmp_path / "README.md")
    (folder / "README.md").symlink_to(tmp_path / "README.md")
    with pytest.raises(UsageError, match=r"README.md was not written"), new_folder(folder, force=True) as new:
        filled(new, {"README.md": "new"})
    with new_folder(folder, force=True) as new:
        filled(new, {"new.bin": "new"})
    assert (folder / "README.md").is_symlink()
    assert (tmp_path / "README.md").read_text() == "old"


@pytest.mark.parametrize("given", [".", "../model", "absolute"])
def test_the_folder_may_be_the_current_one_and_stays_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    folder = sealed(tmp_path / "model", {"README.md": "old"} | {"thesis.tex": "mine"})
    monkeypatch.chdir(folder)
    before = folder.stat().st_ino
    with new_folder(folder if given == "absolute" else Path(given), force=True) as new:
        filled(new, {"new.bin": "new"})
    assert everything(Path()) == {"new.bin": "new"}
    assert Path().stat().st_ino == before


def test_a_folder_inside_of_a_model_is_not_the_models(tmp_path: Path) -> None:
    folder = sealed(tmp_path / "model", {"README.md": "old"})
    sealed(folder / "inner", {"README.md": "inner"})
    with new_folder(folder, force=True) as new:
        filled(new, {"new.bin": "new"})
    assert set(everything(folder)) == {"new.bin", "inner/README.md", "inner/softmachine.json"}


@pytest.mark.parametrize("force", [False, True])
def test_a_file_in_the_place_of_a_folder_is_one_clear_message(tmp_path: Path, force: bool) -> None:
    filled(tmp_path, {"model": "mine"})
    for path, message in (("model", "model exists already, and is not a folder"), ("model/x", "Not a directory")):
        with pytest.raises(UsageError, match=message), new_folder(tmp_path / path, force=force):
            pytest.fail("it must not come this far")
    assert everything(tmp_path) == {"model": "mine"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_only_be_read_is_one_clear_message(tmp_path: Path) -> None:
    folder = sealed(tmp_path / "model", {"README.md": "old"})
    before = everything(folder)
    folder.chmod(0o500)
    try:
        with pytest.raises(UsageError, match=r"cannot write .*: Permission denied"), new_folder(folder, force=True):
            pytest.fail("it must not come this far")
    finally:
        folder.chmod(0o700)
    assert everything(folder) == before


def replace_until_killed(model: Model, folder: Path, moves: int) -> NoReturn:
    """Replace a model, and kill the process after ``moves`` moves of files; status 0 if it finishes."""
    original, left = Path.replace, moves

    def counted(self: Path, target: Path) -> Path:
        nonlocal left
        left -= 1
        if not left:
            os._exit(9)
        return original(self, target)

    try:
        Path.replace = counted  # type: ignore[method-assign,assignment]
        sm.save(model, folder, force=True)
        os._exit(0)
    finally:
        os._exit(1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are killed by forking")
@pytest.mark.parametrize("moves", range(1, 6))
def test_a_process_that_is_killed_leaves_no_half_of_a_model(tmp_path: Path, moves: int) -> None:
    """Killed before each move: the folder holds the old or the new model afterwards, and other files stay."""
    one, other = model_of("Q_a"), model_of("Q_a since Q_b")
    sm.save(one, tmp_path / "model")
    filled(tmp_path / "model", THEIRS)
    child = os.fork()
    if not child:
        replace_until_killed(other, tmp_path / "model", moves)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == (9 if moves < 5 else 0)
    assert sm.load(tmp_path / "model") == (one if moves < 5 else other)
    assert everything_but_ours(tmp_path / "model") == THEIRS


@pytest.mark.parametrize("failing", range(1, 4))
def test_an_interruption_leaves_the_old_model_and_all_other_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    filled(tmp_path / "model", OURS | THEIRS)
    original, calls = Path.replace, 0

    def interrupted(self: Path, target: Path) -> Path:
        nonlocal calls
        calls += 1
        if calls == failing:
            raise KeyboardInterrupt
        return original(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", interrupted)
        with pytest.raises(KeyboardInterrupt), new_folder(tmp_path / "model", force=True) as new:
            filled(new, {"new.bin": "new"})
    assert calls >= failing
    assert everything(tmp_path / "model") == OURS | THEIRS
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_without_torch_the_message_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setattr(compiling, "compile_program", lambda *_: pytest.fail("nothing is compiled for nothing"))
    with pytest.raises(UsageError, match="exporting needs torch, which is not installed") as caught:
        sm.export("increment", tmp_path / "model", context=16)
    assert caught.value.hint == "pip install 'softmachine[hf]'"
    assert list(tmp_path.iterdir()) == []


@needs_torch
def test_a_format_that_does_not_hold_is_refused_with_the_step_and_the_remedy(cli: Cli, tmp_path: Path) -> None:  # noqa: F811
    wanted = ("--dtype", "bfloat16", "--theorem", "turing-binary-address", "--context", 64)
    called = cli("export", "palindrome", *wanted, "-o", tmp_path / "model")
    assert called.status == 2
    assert "gives a wrong output: in bfloat16, on 'ab" in called.err
    assert "token 16 should be" in called.err
    assert "the theorem turing-residue-address is designed for bfloat16" in called.err
    assert list(tmp_path.iterdir()) == []


@needs_torch
def test_a_formula_is_exported_and_says_true_or_false(cli: Cli, tmp_path: Path) -> None:  # noqa: F811
    called = cli("export", "Q_a since Q_b", "--context", 32, "-o", tmp_path / "model", "--json")
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
    assert sorted(facts["digests"]) == sorted(answer["files"])
    with pytest.raises(SourceError, match="softmachine cannot run it") as caught:
        sm.load(tmp_path / "model")
    assert "all of its files are unchanged" in str(caught.value.hint)
    for name in answer["files"]:
        content = (tmp_path / "model" / name).read_bytes()
        (tmp_path / "model" / name).write_bytes(content.replace(b"a", b"b", 1))
        with pytest.raises(SourceError, match=f"{name} (was changed after it was written|is damaged)"):
            sm.load(tmp_path / "model")
        (tmp_path / "model" / name).write_bytes(content)


def lowered_names() -> tuple[str, ...]:
    model = sm.compile("Q_a since Q_b", "temporal-masked", attention="hard")
    return model.weights.coordinates


def test_mistakes_are_one_clear_message(
    cli: Cli,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ExportFormat, "require_libraries", lambda _: None)  # other errors are raised without torch
    for arguments, message in (
        (["palindrome", "--to", "gpt3"], "unknown format 'gpt3'"),
        (["reverse-program"], "is an encoder: head"),
        (["reverse-program"], "export it to bert or onnx"),
        (["palindrome", "--to", "bert"], "is a decoder: it generates token by token"),
        (["adder-8", "--to", "bert", "--context", "100"], "its shortest input takes 202 positions: --context 202"),
        ([], "choose a SOURCE or a --set"),
        (["palindrome", "--set", "interp"], "choose a SOURCE or a --set"),
        (["--set", "nothing"], "unknown set 'nothing'"),
        (["palindrome", "--dtype", "int8"], "int8"),
        (["palindrome", "--to", "native", "--dtype", "float32"], "exact weights; --dtype does not apply"),
        (["palindrome", "--context", "2"], "no input of 'palindrome' fits in 2 positions"),
        (["palindrome", "--context", "99999999"], "positions"),
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


def test_other_files_in_the_folder_are_neither_removed_nor_reported(cli: Cli, tmp_path: Path) -> None:  # noqa: F811
    assert cli("compile", "parity", "-o", tmp_path / "model").status == 0
    filled(tmp_path / "model", THEIRS)
    for command in (("compile", "parity"), ("export", "parity", "--to", "native")):
        called = cli(*command, "-o", tmp_path / "model", "--force", "--json")
        assert called.json["files"] == ["model.safetensors", "softmachine.json"]
        assert everything_but_ours(tmp_path / "model") == THEIRS


def everything_but_ours(folder: Path) -> dict[str, str]:
    return {name: (folder / name).read_text() for name in THEIRS}


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

    from softmachine.languages.turing import Action, Configuration

    sm.export("palindrome", tmp_path / "model", to="gpt2", context=64)
    facts = json.loads((tmp_path / "model" / "softmachine.json").read_text(encoding="utf-8"))
    codec = codec_of(tmp_path / "model")
    ids = {entry["token"]: entry["id"] for entry in facts["vocabulary"]}
    prompt, output = codec.prompt("abba").tokens, list(codec.expected("abba", 99))

    lens = TransformerBridge.boot_transformers(str(tmp_path / "model"), device="cpu")
    stream = lens.run_with_cache(torch.tensor([[ids[token] for token in [*prompt, *output]]]))[1][
        "blocks.2.hook_resid_post"
    ]
    where = {c["name"]: c for c in facts["coordinates"]}
    value = {name: (stream[0, :, c["index"]] / c["scale"]).round().int() for name, c in where.items()}

    now = Configuration.initial(codec.machine, "abba")
    for i, token in enumerate(["<run>", *output[:-1]], len(prompt) - 1):
        if token != "<run>":
            action = codec.meanings[token]
            assert isinstance(action, Action)
            now.apply(action)
        bits = [int(value[f"head[bit {k}]"][i]) for k in range(6)]
        sign = -1 if value["head[negative]"][i] else 1
        assert sign * sum(bit << k for k, bit in enumerate(bits)) == now.heads[0]
        assert value[f"symbol[{now.read_symbols()[0]}]"][i] == 1
        assert value[f"state[{now.state}]"][i] == 1


@pytest.mark.slow
@needs_torch
def test_the_sets_for_interpretability_have_at_least_twelve_models_of_growing_size(tmp_path: Path) -> None:
    from softmachine.exports.export import export_bundle

    for name, to in (("interp", "gpt2"), ("encoders", "bert")):
        written = export_bundle(name, tmp_path / name, to=to, dtype=None, force=False, export=sm.export)
        assert len(written) >= 12
        assert all((item.folder / "model.safetensors").is_file() for item in written)
        assert written[0].parameters * 10 < written[-1].parameters
