"""Damaged folders: for any change of a file, loading raises an error that names the file, or returns the saved model.

A damage changes what was written and leaves the digests alone. Whoever makes the digests fit as well has written
another model: then there is one clear error, or the answers of what was loaded, and nothing else.
"""

from __future__ import annotations

import copy
import hashlib
import json
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from safetensors.numpy import load as from_bytes
from safetensors.numpy import save as to_bytes

import softmachine as sm
from softmachine.compiler.model import Model
from softmachine.exports import native
from softmachine.exports.manifest import MANIFEST_FILE, WEIGHTS_FILE, compute_digest
from softmachine.support.errors import SoftmachineError, SourceError
from tests.models import model_of

FILES = Path(__file__).parents[1] / "command_output" / "files"
SOURCES = {
    "turing": (str(FILES / "flip.yaml"), None),
    "turing-ternary": (str(FILES / "tiny.yaml"), "turing-ternary"),
    "temporal": ("Q_a since Q_b", None),
    "srasp": (str(FILES / "bigram.srasp"), None),
    "crasp": (str(FILES / "most.crasp"), None),
    "counter": (str(FILES / "most.cm"), None),
    "circuit": (str(FILES / "gates.bench"), None),
    "graph": (str(FILES / "streets.edges"), None),
}
"""A model of every language: the source, and the theorem."""
NONSENSE: tuple[Any, ...] = (None, -1, 2, 10**30, 1.5, "x", "", [], {}, [[]], {"is": "Prime"}, True, False)
Files = dict[str, bytes]
Damage = Callable[[Files, random.Random], Files]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Files, Model]]:
    """For each language the files of a saved model, and the model."""
    found, folder = {}, tmp_path_factory.mktemp("saved")
    for name, (source, theorem) in SOURCES.items():
        model = model_of(source, theorem, length=16 if theorem else None)
        sm.save(model, folder / name)
        found[name] = {file: (folder / name / file).read_bytes() for file in (MANIFEST_FILE, WEIGHTS_FILE)}, model
    return found


# Damages


def places(item: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths to all values of a JSON object."""
    for key in item if isinstance(item, dict) else range(len(item)) if isinstance(item, list) else ():
        yield (*way, key)
        yield from places(item[key], (*way, key))


def at(data: Any, way: tuple[Any, ...]) -> Any:
    for key in way:
        data = data[key]
    return data


def _entry(files: Files, chooser: random.Random, change: Callable[[Any, Any], None]) -> Files:
    data = json.loads(files[MANIFEST_FILE])
    *way, last = chooser.choice(list(places(data)))
    change(at(data, tuple(way)), last)
    return files | {MANIFEST_FILE: json.dumps(data, indent=1).encode()}


def replaced_entry(files: Files, chooser: random.Random) -> Files:
    return _entry(files, chooser, lambda item, key: item.__setitem__(key, chooser.choice(NONSENSE)))


def removed_entry(files: Files, chooser: random.Random) -> Files:
    return _entry(files, chooser, lambda item, key: item.__delitem__(key))


def doubled_entry(files: Files, chooser: random.Random) -> Files:
    """Replacements of a JSON value that contain it: a longer list, an object with a duplicate key."""
    text = files[MANIFEST_FILE].decode()
    *_, name = chooser.choice([way for way in places(json.loads(text)) if isinstance(way[-1], str)])
    before, after = text.split(f'"{name}":', 1)
    return files | {
        MANIFEST_FILE: f'{before}"{name}": {json.dumps(chooser.choice(NONSENSE))}, "{name}":{after}'.encode()
    }


def exchanged_entries(files: Files, chooser: random.Random) -> Files:
    data = json.loads(files[MANIFEST_FILE])
    lists = [item for way in places(data) if isinstance(item := at(data, way), list) and len(item) > 1]
    chosen = chooser.choice(lists)
    one, other = chooser.sample(range(len(chosen)), 2)
    chosen[one], chosen[other] = chosen[other], chosen[one]
    return files | {MANIFEST_FILE: json.dumps(data).encode()}


def flipped_bit(files: Files, chooser: random.Random) -> Files:
    name = chooser.choice((WEIGHTS_FILE, WEIGHTS_FILE, MANIFEST_FILE))
    broken = bytearray(files[name])
    broken[chooser.randrange(len(broken))] ^= 1 << chooser.randrange(8)
    return files | {name: bytes(broken)}


def cut(files: Files, chooser: random.Random) -> Files:
    name = chooser.choice((WEIGHTS_FILE, MANIFEST_FILE))
    return files | {name: files[name][: chooser.randrange(len(files[name]))]}


def lengthened(files: Files, chooser: random.Random) -> Files:
    name = chooser.choice((WEIGHTS_FILE, MANIFEST_FILE))
    return files | {name: files[name] + chooser.choice((b"\0", b"}", b"null", files[name]))}


def exchanged_tensors(files: Files, chooser: random.Random) -> Files:
    tensors = from_bytes(files[WEIGHTS_FILE])
    one, other = chooser.sample(sorted(tensors), 2)
    tensors[one], tensors[other] = tensors[other], tensors[one]
    return files | {WEIGHTS_FILE: to_bytes(tensors)}


def changed_number(files: Files, chooser: random.Random) -> Files:
    tensors = {name: array.copy() for name, array in from_bytes(files[WEIGHTS_FILE]).items()}
    array = tensors[chooser.choice([name for name, array in tensors.items() if array.size])].reshape(-1)
    array[chooser.randrange(array.size)] += chooser.choice((-1, 1))
    return files | {WEIGHTS_FILE: to_bytes(tensors)}


def missing_file(files: Files, chooser: random.Random) -> Files:
    missing = chooser.choice((WEIGHTS_FILE, MANIFEST_FILE))
    return {name: content for name, content in files.items() if name != missing}


DAMAGES: tuple[Damage, ...] = (
    replaced_entry,
    replaced_entry,
    removed_entry,
    doubled_entry,
    exchanged_entries,
    flipped_bit,
    flipped_bit,
    cut,
    lengthened,
    exchanged_tensors,
    changed_number,
    missing_file,
)


def put(folder: Path, files: Files) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def loaded(folder: Path) -> Model | None:
    """The loaded model; None if loading raises an error that names a file of the folder."""
    try:
        return native.load(folder)
    except SourceError as error:
        message = str(error)
    assert MANIFEST_FILE in message or WEIGHTS_FILE in message, message
    return None


def sweep(saved: dict[str, tuple[Files, Model]], folder: Path, count: int, seed: int) -> int:
    """Damage every model ``count`` times; return the number of errors."""
    refused, chooser = 0, random.Random(seed)
    for name, (files, right) in saved.items():
        others = [item for other, (item, _) in saved.items() if other != name]
        exchanges = [files | {file: other[file]} for other in others for file in (MANIFEST_FILE, WEIGHTS_FILE)]
        damages = (chooser.choice(DAMAGES)(files, chooser) for _ in range(count))
        for damaged in (*exchanges, *damages):
            found = loaded(put(folder, damaged))
            assert found in (None, right), name
            refused += found is None
    return refused


def test_no_damaged_model_answers_otherwise(saved: dict[str, tuple[Files, Model]], tmp_path: Path) -> None:
    """880 damages of models of every language."""
    assert sweep(saved, tmp_path / "model", count=96, seed=0) > 800


@pytest.mark.slow
def test_no_damaged_model_answers_otherwise_however_often_it_is_tried(
    saved: dict[str, tuple[Files, Model]], tmp_path: Path
) -> None:
    """40,000 damages."""
    assert sweep(saved, tmp_path / "model", count=5_000, seed=1) > 35_000


@pytest.mark.parametrize("name", SOURCES)
def test_every_entry_of_a_saved_model_is_verified(
    saved: dict[str, tuple[Files, Model]], tmp_path: Path, name: str
) -> None:
    """If any entry differs, loading raises an error that names the file."""
    files, _ = saved[name]
    data = json.loads(files[MANIFEST_FILE])
    ways = list(places(data))
    for way in ways if len(ways) < 60 else random.Random(0).sample(ways, 60):
        changed = copy.deepcopy(data)
        item, before = at(changed, way[:-1]), at(changed, way)
        item[way[-1]] = "another" if before != "another" else 0
        assert loaded(put(tmp_path / "model", files | {MANIFEST_FILE: json.dumps(changed).encode()})) is None, way


# Recomputed digests


def signed(files: Files) -> Files:
    """The files with recomputed digests, if the manifest is an object."""
    try:
        data = json.loads(files[MANIFEST_FILE])
        data["digests"] = {
            WEIGHTS_FILE: hashlib.sha256(files[WEIGHTS_FILE]).hexdigest(),
            MANIFEST_FILE: compute_digest(data),
        }
    except (ValueError, TypeError, KeyError):
        return files
    return files | {MANIFEST_FILE: json.dumps(data).encode()}


EDITS = (replaced_entry, removed_entry, exchanged_entries, exchanged_tensors, changed_number)


def word_for(model: Model) -> tuple[str, ...]:
    length = model.codec.input_length
    return model.codec.alphabet[:1] * (2 if length is None else length)


def edited(saved: dict[str, tuple[Files, Model]], folder: Path, count: int, seed: int) -> tuple[int, int]:
    """Edit every model ``count`` times and run those that load; return the numbers of errors and of runs."""
    refused = ran = 0
    chooser = random.Random(seed)
    for files, right in saved.values():
        for _ in range(count):
            found = loaded(put(folder, signed(chooser.choice(EDITS)(files, chooser))))
            if found is None:
                refused += 1
                continue
            assert found.weights.vocabulary == right.weights.vocabulary
            assert found.weights.outputs == right.weights.outputs
            try:
                sm.run(found, word_for(found), max_steps=20, engine="dense")
                ran += 1
            except SoftmachineError:
                continue
    return refused, ran


def test_a_model_that_was_edited_is_refused_or_runs_as_it_is(
    saved: dict[str, tuple[Files, Model]], tmp_path: Path
) -> None:
    refused, ran = edited(saved, tmp_path / "model", count=5, seed=0)
    assert refused > 10
    assert ran > 5


@pytest.mark.slow
def test_a_model_that_was_edited_is_refused_or_runs_as_it_is_however_often_it_is_tried(
    saved: dict[str, tuple[Files, Model]], tmp_path: Path
) -> None:
    refused, ran = edited(saved, tmp_path / "model", count=200, seed=1)
    assert refused > 400
    assert ran > 100
