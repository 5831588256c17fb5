"""Saved models: loading returns the saved model, nothing is overwritten or left behind, damage is a SourceError."""

from __future__ import annotations

import contextlib
import copy
import errno
import hashlib
import json
import os
import random
import re
import stat
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

import softmachine as sm
from softmachine.compiler import compile_program
from softmachine.compiler.model import Model
from softmachine.exports import manifest, native
from softmachine.exports.manifest import MANIFEST_FILE, WEIGHTS_FILE, compute_digest, is_saved
from softmachine.exports.native_tensors import deserialize_transformer, serialize_transformer
from softmachine.languages import zoo
from softmachine.languages.turing import Rule, TuringMachine
from softmachine.support.errors import SourceError, UsageError
from softmachine.theorems import find_theorem
from softmachine.transformer.attention import AVERAGE_HARD, softmax_weighting
from softmachine.transformer.features import RECIPROCAL, Bit, Distance, Logarithm, N, Residue
from softmachine.transformer.saved_features import STANDARD_FEATURES
from softmachine.transformer.table_features import OffsetFeature, TableFeature
from softmachine.transformer.weights import AffineMap, Block, Matrix, Transformer
from tests.models import model_of, with_weights
from tests.sources.signal_programs import random_program
from tests.sources.transformers import HARD, RandomTransformer

MACHINE = TuringMachine(
    name="flip",
    states=("q", "halt"),
    alphabet=("0", "1"),
    symbols=("_", "0", "1"),
    blank="_",
    rules=(Rule("q", ("0",), ("1",), ("R",), "q"), Rule("q", ("1",), ("0",), ("R",), "q")),
    start="q",
    accept=("halt",),
)


def weights(seed: int = 3) -> Transformer:
    """Random weights with softmax scales, features with parameters and loops among them, for the tokens of Q_a."""
    weightings, own = (*HARD, softmax_weighting(Fraction(7, 3)), softmax_weighting(RECIPROCAL)), model_of("Q_a").weights
    drawn = RandomTransformer(seed, weightings=weightings, vocabulary=own.vocabulary, outputs=own.outputs)
    return drawn.transformer(f"model {seed}")


def model(seed: int = 3) -> Model:
    return with_weights(weights(seed))


# Round trips


@pytest.mark.parametrize("seed", range(40))
def test_a_random_model_is_loaded_as_it_was_saved(seed: int, tmp_path: Path) -> None:
    native.save(model(seed), tmp_path / "model")
    assert native.load(tmp_path / "model") == model(seed)


@pytest.mark.parametrize("seed", range(20))
def test_a_compiled_program_is_read_as_it_was_written(seed: int) -> None:
    made = compile_program(random_program(seed))
    names, tensors = serialize_transformer(made)
    assert deserialize_transformer(json.loads(json.dumps(names)), tensors, STANDARD_FEATURES) == made


def test_features_relations_and_scales_keep_their_parameters(tmp_path: Path) -> None:
    features = (
        TableFeature("wiring", (Fraction(1), Fraction(-1, 3))),
        Residue(5, 2),
        Bit(10),
        OffsetFeature(3, Logarithm(of_length=True)),
    )
    plain = next(candidate for seed in range(100) if len((candidate := weights(seed)).heads) > 1)
    layer = plain.blocks[0].layers[0]
    heads = tuple(
        replace(head, bias=Distance(), weighting=weighting)
        for head, weighting in zip(layer.heads, (softmax_weighting(Fraction(10**18, 7)), AVERAGE_HARD), strict=False)
    )
    transformer = replace(
        plain,
        name="Δ <b>“name”</b>\n",
        features=features,
        position_embedding=Matrix.of([{0: Fraction(1)}] * 4, plain.width),
        blocks=(Block((replace(layer, heads=heads),), N, "loop"), *plain.blocks),
    )
    native.save(with_weights(transformer), tmp_path / "model")
    assert native.load(tmp_path / "model").weights == transformer


def test_the_largest_numbers_of_64_bits_are_kept_and_larger_ones_refused(tmp_path: Path) -> None:
    transformer = weights()
    for number, fits in ((Fraction(2**63 - 1, 2**63 - 2), True), (Fraction(-(2**63)), True), (Fraction(2**63), False)):
        bias = (number, *transformer.unembedding.bias[1:])
        large = replace(transformer, unembedding=AffineMap(transformer.unembedding.weight, bias))
        folder = tmp_path / str(number).replace("/", "over")
        if fits:
            native.save(with_weights(large), folder)
            assert native.load(folder).weights == large
        else:
            with pytest.raises(UsageError, match=r"a weight of unembedding.bias does not fit in 64 bits"):
                native.save(with_weights(large), folder)
            assert not folder.exists()


def test_a_machine_comes_back_with_its_codec(tmp_path: Path) -> None:
    made = sm.compile(MACHINE)
    sm.save(made, tmp_path / "flip")
    again = sm.load(tmp_path / "flip")
    assert isinstance(again, Model)
    assert again == made
    assert again.source == MACHINE
    assert sm.run(again, "0110").output == sm.run(made, "0110").output


def test_the_same_model_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        native.save(model(), tmp_path / name)
    for file in (WEIGHTS_FILE, MANIFEST_FILE):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_names_are_for_people_to_read(tmp_path: Path) -> None:
    native.save(with_weights(replace(weights(), name="größe")), tmp_path / "model")
    text = (tmp_path / "model" / MANIFEST_FILE).read_text(encoding="utf-8")
    assert '"name": "größe"' in text


def test_a_saved_model_may_be_read_by_everybody_who_may_read_new_files(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    native.save(model(), tmp_path / "model")
    ordinary = stat.S_IMODE((tmp_path / "file").stat().st_mode)
    for name in (WEIGHTS_FILE, MANIFEST_FILE):
        assert stat.S_IMODE((tmp_path / "model" / name).stat().st_mode) == ordinary


# Nothing is overwritten or left behind


def everything(folder: Path) -> dict[str, bytes | None]:
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def test_nothing_that_exists_is_overwritten(tmp_path: Path) -> None:
    native.save(model(1), tmp_path / "model")
    (tmp_path / "file").write_text("mine")
    before = everything(tmp_path)
    for name in ("model", "file"):
        with pytest.raises(UsageError, match="exists already"):
            native.save(model(2), tmp_path / name)
    assert everything(tmp_path) == before


def test_with_force_only_saved_models_and_empty_folders_are_replaced(tmp_path: Path) -> None:
    native.save(model(1), tmp_path / "model")
    (tmp_path / "empty").mkdir()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for name in ("model", "empty"):
        native.save(model(2), tmp_path / name, force=True)
        assert native.load(tmp_path / name) == model(2)
    for name, why in (("full", "only models written by softmachine are replaced"), ("file", "and is not a folder")):
        with pytest.raises(UsageError, match=why):
            native.save(model(2), tmp_path / name, force=True)
    assert (tmp_path / "full" / "file").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "file", "full", "model"]


def failing(monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """Simulate a full disk after ``after`` files have been flushed; folders count as well."""
    original, calls = os.fsync, 0

    def wrapped(handle: int) -> None:
        nonlocal calls
        calls += 1
        if calls > after:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        original(handle)

    monkeypatch.setattr(os, "fsync", wrapped)


@pytest.mark.parametrize("after", [0, 2, 4])
@pytest.mark.parametrize("exists", [False, True])
def test_a_full_disk_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int, exists: bool
) -> None:
    if exists:
        native.save(model(1), tmp_path / "model")
    before = everything(tmp_path)
    with monkeypatch.context() as patch:
        failing(patch, after)
        with pytest.raises(UsageError, match="No space left on device"):
            native.save(model(2), tmp_path / "model", force=True)
    assert everything(tmp_path) == before


def test_a_model_that_cannot_be_replaced_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The old model is already moved away when moving the new one fails."""
    native.save(model(1), tmp_path / "model")
    before = everything(tmp_path)
    original, calls = Path.replace, []

    def replace_twice(self: Path, target: Path) -> Path:
        calls.append(target)
        if len(calls) == 2:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return original(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", replace_twice)
        with pytest.raises(UsageError, match="Input/output error"):
            native.save(model(2), tmp_path / "model", force=True)
    assert everything(tmp_path) == before


def test_folders_that_were_made_on_the_way_are_removed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        failing(patch, 0)
        with pytest.raises(UsageError, match="No space left"):
            native.save(model(), tmp_path / "a" / "b" / "model")
    assert everything(tmp_path) == {}
    native.save(model(), tmp_path / "a" / "b" / "model")
    assert native.load(tmp_path / "a" / "b" / "model") == model()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_a_usage_error(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(UsageError, match="Permission denied"):
            native.save(model(), tmp_path / "model")
    finally:
        tmp_path.chmod(0o700)
    assert everything(tmp_path) == {}


@pytest.mark.parametrize("name", ["file/model", "x" * 300, "file"])
def test_a_place_where_no_folder_can_be_is_a_usage_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(UsageError):
        native.save(model(), tmp_path / name, force=True)
    assert everything(tmp_path) == {"file": b"mine"}


def test_a_name_may_be_as_long_as_the_system_allows(tmp_path: Path) -> None:
    native.save(model(), tmp_path / ("x" * 255))
    assert native.load(tmp_path / ("x" * 255)) == model()


def test_half_a_character_in_a_name_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="half a character"):
        native.save(with_weights(replace(weights(), name="a\ud800")), tmp_path / "model")
    assert everything(tmp_path) == {}


# Damage

Data = dict[str, Any]
Tensors = dict[str, NDArray[Any]]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved model that uses every part of the format."""
    seed = next(
        seed
        for seed in range(1000)
        if len((candidate := weights(seed)).heads) > 2
        and candidate.features
        and any(block.name for block in candidate.blocks)
        and all(layer.feed_forward.units for layer in candidate.layers)
        and all(layer.heads for layer in candidate.layers)
        and candidate.heads[0].query.weight.nonzero_count > 1
    )
    folder = tmp_path_factory.mktemp("saved") / "model"
    native.save(model(seed), folder)
    return folder


def sign(data: Any, folder: Path) -> None:
    """Write arbitrary data, with matching digests."""
    if isinstance(data, dict) and isinstance(data.get("digests"), dict):
        facts = {key: value for key, value in data.items() if key != "digests"}
        found = {
            WEIGHTS_FILE: hashlib.sha256((folder / WEIGHTS_FILE).read_bytes()).hexdigest(),
            MANIFEST_FILE: compute_digest(facts),
        }
        data = {**facts, "digests": {**data["digests"], **found}}
    (folder / MANIFEST_FILE).write_text(json.dumps(data), encoding="utf-8")


def damaged(
    whole: Path, folder: Path, names: Callable[[Data], object] | None, tensors: Callable[[Tensors], object] | None
) -> Path:
    """A copy of a saved model with changes and matching digests."""
    data: Data = json.loads((whole / MANIFEST_FILE).read_text(encoding="utf-8"))
    arrays: Tensors = {name: array.copy() for name, array in load_file(whole / WEIGHTS_FILE).items()}
    if names:
        data = names(data) or data  # type: ignore[assignment]
    if tensors:
        tensors(arrays)
    folder.mkdir()
    save_file(arrays, folder / WEIGHTS_FILE)
    sign(data, folder)
    return folder


def put(path: str, value: Any) -> Callable[[Data], None]:
    """A change of one entry, given by its path."""

    def change(data: Data) -> None:
        *way, last = path.split(".")
        place: Any = data
        for key in way:
            place = place[int(key)] if key.isdigit() else place[key]
        place[int(last) if last.isdigit() else last] = value

    return change


HEAD = "blocks.0.layers.0.heads.0"
NAMED = f"weights.{HEAD}"
BIT = {"k": 1, "signed": False, "cells": 0, "offset": 0}
POWERS = {"factor": "1", "i": 0, "next": 0, "n": 0, "length": 0, "rest": 0}
VECTOR = {"title": "t", "component": 0, "bits": 1, "addresses": [1]}


@pytest.mark.parametrize(
    "change",
    [
        lambda data: [data],
        lambda _: ["nothing"],
        lambda _: {"a": 1},
        put("format", "other"),
        put("version", 3),
        put("version", None),
        put("weights.vocabulary", "abc"),
        put("weights.vocabulary", ["a", "b", 3]),
        put("weights.vocabulary", ["a", "a", "b"]),
        put("weights.vocabulary", ["a", "b"]),
        put("weights.vocabulary", None),
        put("weights.coordinates", []),
        put("weights.coordinates", {"a": 1}),
        put("weights.outputs", ["x"]),
        put("weights.features", [{"is": "no such feature"}]),
        put("weights.features", [{"is": "Bit"}]),
        put("weights.features", [{"is": "Bit", **BIT, "l": 2}]),
        put("weights.features", [{"is": "Bit", **BIT, "k": "x"}]),
        put("weights.features", [{"is": "Bit", **BIT, "k": 1.5}]),
        put("weights.features", [{"is": "Bit", **BIT, "k": -1}]),
        put("weights.features", [{"is": "Residue", "modulus": 0, "remainder": 0}]),
        put("weights.features", [{"is": "Table", "title": "t", "values": [1, 2]}]),
        put("weights.features", [{"is": "Table", "title": "t", "values": ["1/0"]}]),
        put("weights.features", [{"is": "Distance"}]),
        put("weights.features", ["i"]),
        put("weights.features", 3),
        put("theorem", "unknown"),
        put("theorem", ["temporal"]),
        put("theorem", "turing-average-hard"),
        put("context", -1),
        put("context", "x"),
        put("context", True),
        put("source", None),
        put("source", ["temporal"]),
        put("source", "Q_a"),
        put("source", {"language": "temporal"}),
        put("source.language", "turing"),
        put("source.language", "no such language"),
        put("source.text", 5),
        put("source.text", "Q_a since"),
        put("digests", None),
        put("weights", None),
        put("weights.blocks", []),
        put("weights.blocks", None),
        put("weights.blocks.0", 5),
        put("weights.blocks.0.repeats", -1),
        put("weights.blocks.0.repeats", 1.5),
        put("weights.blocks.0.repeats", "n"),
        put("weights.blocks.0.repeats", None),
        put("weights.blocks.0.layers.0.units", []),
        put("weights.blocks.0.layers.0.activations", ["relu"] * 50),
        put("weights.blocks.0.layers.0.activations.0", "gelu"),
        put(f"{NAMED}.mask", "sideways"),
        put(f"{NAMED}.weighting", "random"),
        put(f"{NAMED}.scale", "1/0"),
        put(f"{NAMED}.scale", "0.5"),
        put(f"{NAMED}.scale", "1e999999999"),
        put(f"{NAMED}.scale", "9" * 5000),
        put(f"{NAMED}.scale", 1),
        put(f"{NAMED}.scale", {"kind": "Prime", "k": 1}),
        put(f"{NAMED}.bias", {"is": "no such relation"}),
        put(f"{NAMED}.bias", {"is": "Distance", "k": 2}),
        put(f"{NAMED}.bias", "distance"),
        put(NAMED, {}),
    ],
)
def test_damaged_names_are_a_source_error(whole: Path, tmp_path: Path, change: Callable[[Data], object]) -> None:
    folder = damaged(whole, tmp_path / "model", change, None)
    with pytest.raises(SourceError) as caught:
        sm.load(folder)
    assert str(folder) in str(caught.value)


def test_any_entry_of_the_names_may_be_missing_or_nonsense(whole: Path, tmp_path: Path) -> None:
    """After any change, the model is loaded or a SourceError is raised."""
    original: Data = json.loads((whole / MANIFEST_FILE).read_text(encoding="utf-8"))
    places: list[tuple[Any, ...]] = []

    def walk(item: Any, way: tuple[Any, ...]) -> None:
        places.append(way)
        for key in item if isinstance(item, dict) else range(len(item)) if isinstance(item, list) else ():
            walk(item[key], (*way, key))

    walk(original, ())
    folder, chooser = tmp_path / "model", random.Random(0)
    damaged(whole, folder, None, None)
    nonsense: list[Any] = [None, -1, 10**30, 1.5, "x", [], {}, [[]], {"is": "Prime"}, True]
    for way in chooser.sample(places[1:], min(250, len(places) - 1)):
        data: Any = copy.deepcopy(original)
        place = data
        for key in way[:-1]:
            place = place[key]
        if chooser.random() < 0.3:
            del place[way[-1]]
        else:
            place[way[-1]] = chooser.choice(nonsense)
        sign(data, folder)
        try:
            sm.load(folder)
        except SourceError:
            continue


def put_tensor(name: str, values: Any, dtype: Any = np.int64) -> Callable[[Tensors], None]:
    def change(tensors: Tensors) -> None:
        assert name in tensors
        tensors[name] = np.array(values, dtype=dtype)

    return change


def changed(name: str, change: Callable[[NDArray[Any]], Any]) -> Callable[[Tensors], None]:
    def apply(tensors: Tensors) -> None:
        tensors[name] = np.ascontiguousarray(change(tensors[name]))

    return apply


QUERY = f"{HEAD}.query.weight"


@pytest.mark.parametrize(
    "change",
    [
        lambda tensors: tensors.pop("embedding.shape"),
        lambda tensors: tensors.pop("embedding.denominator"),
        lambda tensors: tensors.pop("unembedding.bias.numerator"),
        lambda tensors: tensors.update({"unknown.weight": np.zeros(3)}),
        lambda tensors: tensors.clear() or tensors.update(x=np.zeros(1)),
        put_tensor("embedding.shape", [2**60, 4]),
        put_tensor("embedding.shape", [3, 2**60]),
        put_tensor("embedding.shape", [-1, -1]),
        put_tensor("embedding.shape", [3]),
        put_tensor("embedding.shape", [3, 4, 5]),
        put_tensor("embedding.shape", [np.nan, np.inf], np.float64),
        put_tensor("embedding.shape", 3),
        put_tensor(f"{QUERY}.shape", [2**60, 4]),
        put_tensor(f"{HEAD}.output.shape", [2**60, 2**60]),
        put_tensor("position_embedding.shape", [2**62, 1]),
        changed(f"{QUERY}.index", lambda index: index + 1000),
        changed(f"{QUERY}.index", lambda index: index - 1000),
        changed(f"{QUERY}.index", lambda index: index[:-1]),
        changed(f"{QUERY}.index", lambda index: index * 0),
        changed(f"{QUERY}.index", lambda index: index.astype(np.float64) + 0.5),
        changed(f"{QUERY}.index", lambda index: index.reshape(-1)[:-1]),
        changed(f"{QUERY}.denominator", lambda numbers: numbers * 0),
        changed(f"{QUERY}.numerator", lambda numbers: numbers[:-1]),
        changed(f"{QUERY}.numerator", lambda numbers: numbers.astype(np.float64)),
        changed(f"{QUERY}.numerator", lambda numbers: numbers.reshape(1, -1)),
        changed(f"{HEAD}.key.bias.numerator", lambda numbers: np.append(numbers, 1)),
        changed("blocks.0.layers.0.second.bias.numerator", lambda numbers: numbers[:-1]),
        changed("blocks.0.layers.0.first.bias.denominator", lambda numbers: numbers * 0),
        changed("unembedding.bias.numerator", lambda numbers: np.append(numbers, 1)),
    ],
)
def test_damaged_weights_are_a_source_error(whole: Path, tmp_path: Path, change: Callable[[Tensors], object]) -> None:
    folder = damaged(whole, tmp_path / "model", None, change)
    with pytest.raises(SourceError) as caught:
        sm.load(folder)
    assert str(folder) in str(caught.value)


@pytest.mark.parametrize(
    ("file", "content"),
    [
        (MANIFEST_FILE, b""),
        (MANIFEST_FILE, b"{"),
        (MANIFEST_FILE, b"\xff\xfe{}"),
        (MANIFEST_FILE, b"[" * 200_000),
        (MANIFEST_FILE, b'{"a":' * 100_000),
        (MANIFEST_FILE, b"1" * 10_000),
        (MANIFEST_FILE, b"null"),
        (WEIGHTS_FILE, b""),
        (WEIGHTS_FILE, b"\x00" * 7),
        (WEIGHTS_FILE, b"\xff" * 64),
        (WEIGHTS_FILE, b"\x08\x00\x00\x00\x00\x00\x00\x00{}      "),
        (WEIGHTS_FILE, b"\x02\x00\x00\x00\x00\x00\x00\x00[]"),
    ],
)
def test_files_that_are_something_else_are_a_source_error(
    whole: Path, tmp_path: Path, file: str, content: bytes
) -> None:
    folder = damaged(whole, tmp_path / "model", None, None)
    (folder / file).write_bytes(content)
    with pytest.raises(SourceError):
        sm.load(folder)


def test_a_truncated_file_is_a_source_error(whole: Path, tmp_path: Path) -> None:
    folder = damaged(whole, tmp_path / "model", None, None)
    for file in (MANIFEST_FILE, WEIGHTS_FILE):
        content = (folder / file).read_bytes()
        for part in (0.1, 0.5, 0.9, 0.999):
            (folder / file).write_bytes(content[: int(len(content) * part)])
            with pytest.raises(SourceError):
                sm.load(folder)
        (folder / file).write_bytes(content)
    assert isinstance(sm.load(folder), Model)


def test_flipped_bytes_are_noticed_or_change_nothing(whole: Path, tmp_path: Path) -> None:
    folder, chooser = damaged(whole, tmp_path / "model", None, None), random.Random(1)
    right = native.load(whole)
    for file in (MANIFEST_FILE, WEIGHTS_FILE):
        content = (folder / file).read_bytes()
        for _ in range(60):
            broken = bytearray(content)
            broken[chooser.randrange(len(broken))] = chooser.randrange(256)
            (folder / file).write_bytes(broken)
            with contextlib.suppress(SourceError):
                assert sm.load(folder) == right
        (folder / file).write_bytes(content)


@pytest.mark.parametrize("missing", [MANIFEST_FILE, WEIGHTS_FILE])
def test_a_digest_that_is_missing_is_an_error_that_names_the_file(whole: Path, tmp_path: Path, missing: str) -> None:
    folder = damaged(whole, tmp_path / "model", None, None)
    data = json.loads((folder / MANIFEST_FILE).read_text(encoding="utf-8"))
    del data["digests"][missing]
    (folder / MANIFEST_FILE).write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(SourceError, match=f"{missing} is not verified: softmachine.json has no digest of it"):
        sm.load(folder)


def test_a_digest_of_a_file_that_is_no_part_of_a_model_is_an_error(whole: Path, tmp_path: Path) -> None:
    folder = damaged(whole, tmp_path / "model", lambda data: data["digests"].update({"config.json": "0"}), None)
    with pytest.raises(SourceError, match=r"config.json is missing, but softmachine.json has a digest of it"):
        sm.load(folder)


def test_files_that_are_not_listed_are_not_looked_at(whole: Path, tmp_path: Path) -> None:
    folder = damaged(whole, tmp_path / "model", None, None)
    (folder / "model-00002-of-00002.safetensors").write_bytes(b"x")
    assert sm.load(folder) == native.load(whole)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"format": "softmachine-transformer", "format": "x"}', "duplicate key 'format'"),
        ('{"format": "x", "a": {"b": [{"c": 1, "c": 1}]}}', "duplicate key 'c'"),
        ('{"format": "x", "a": NaN}', "NaN is not a number"),
        ('{"format": "x", "a": -Infinity}', "-Infinity is not a number"),
        ('{"format": "x", "a": 1e999}', "1e999 is not a number"),
        ('{"format": "x", "a": 9223372036854775808}', "9223372036854775808 does not fit in 64 bits"),
        ('{"format": "x", "a": ' + "1" * 9000 + "}", "11111111111111111111… does not fit in 64 bits"),
        ('{"format": "x", "a": ' + "[" * 100_000, "it is nested too deeply"),
        ('{"format": 5}', "it has no format"),
        ("[]", "it has no format"),
    ],
)
def test_json_that_is_not_plain_is_one_clear_message(whole: Path, tmp_path: Path, text: str, message: str) -> None:
    folder = damaged(whole, tmp_path / "model", None, None)
    (folder / MANIFEST_FILE).write_text(text, encoding="utf-8")
    with pytest.raises(SourceError) as caught:
        sm.load(folder)
    assert str(caught.value).splitlines()[0] == f"{folder / MANIFEST_FILE}: softmachine.json is damaged: {message}"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put("weights.vocabulary", ["<s>", "b"]), "its vocabulary is not that of temporal-encoder: entry 1 is 'b', "),
        (
            put("weights.outputs", ["true", "false"]),
            "its table of outputs is not that of temporal-encoder: entry 0",
        ),
        (put("weights.name", 5), "5 is not a name"),
        (put("weights.features", [{"is": "Monomial", **POWERS, "i": 10**9}]), "are not the factor and the exponents"),
        (
            put("weights.features", [{"is": "AddressVector", **VECTOR, "bits": 10**12}]),
            "an address vector has no component 0 of ",
        ),
        (put("notes", "unverified"), "the notes are not a list of strings"),
        (put("version", True), "version True is not supported"),
        (put("version", 2.0), "version 2.0 is not supported"),
    ],
)
def test_what_was_edited_is_one_clear_message(
    whole: Path, tmp_path: Path, change: Callable[[Data], object], message: str
) -> None:
    folder = damaged(whole, tmp_path / "model", change, None)
    with pytest.raises(SourceError) as caught:
        sm.load(folder)
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(folder / MANIFEST_FILE))


@pytest.mark.parametrize("digests", [True, False])
def test_a_model_that_claims_to_be_of_version_1_is_not_taken_for_verified(
    whole: Path, tmp_path: Path, digests: bool
) -> None:
    def claim(data: Data) -> None:
        data["version"] = 1
        if not digests:
            del data["digests"]

    folder = damaged(whole, tmp_path / "model", claim, None)
    with pytest.raises(SourceError, match="version 1 is not supported"):
        sm.load(folder)


def test_a_model_of_other_words_than_its_theorem_has_is_not_saved(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="its vocabulary is not that of temporal-encoder: it has 3 entries, not 2"):
        native.save(with_weights(RandomTransformer(1).transformer()), tmp_path / "model")
    assert everything(tmp_path) == {}


@pytest.mark.parametrize("file", [MANIFEST_FILE, WEIGHTS_FILE])
def test_a_file_that_was_changed_is_named(whole: Path, tmp_path: Path, file: str) -> None:
    folder = damaged(whole, tmp_path / "model", None, None)
    other = damaged(whole, tmp_path / "other", None, _negate)
    if file == WEIGHTS_FILE:
        (folder / file).write_bytes((other / file).read_bytes())
    else:
        text = (folder / file).read_text(encoding="utf-8")
        (folder / file).write_text(text.replace('"context": null', '"context": 5'), encoding="utf-8")
    with pytest.raises(SourceError, match=f"{file} was changed after it was written: its digest differs"):
        sm.load(folder)


def _negate(tensors: Tensors) -> None:
    tensors["embedding.numerator"] *= -1


def test_a_theorem_that_is_not_known_here_is_named(whole: Path, tmp_path: Path) -> None:
    folder = damaged(whole, tmp_path / "model", put("theorem", "Theorem 9"), None)
    with pytest.raises(SourceError, match="unknown theorem 'Theorem 9', by which the model was compiled"):
        sm.load(folder)


def test_a_model_that_its_theorem_would_talk_to_otherwise_is_not_saved(tmp_path: Path) -> None:
    made = sm.compile("increment", "turing-residue-address", length=32)
    assert made.theorem.name == "turing-residue-address"
    with pytest.raises(UsageError, match="its codec is not that of turing-residue-address"):
        native.save(replace(made, context=64), tmp_path / "model")
    assert everything(tmp_path) == {}


# Fresh processes

READ = """
import sys
from pathlib import Path
from softmachine.exports import manifest, native
for folder in map(Path, sys.argv[2:]):
    native.save(native.load(folder), Path(sys.argv[1]) / folder.name)
"""


def read_and_write_again(folders: list[Path], to: Path) -> None:
    """Load models and save them again, in a process that has imported nothing else."""
    subprocess.run([sys.executable, "-c", READ, str(to), *map(str, folders)], check=True)


def test_every_default_model_of_the_zoo_comes_back_in_a_fresh_process(tmp_path: Path) -> None:
    names = [entry.name for entry in zoo.list_entries()]
    for entry in zoo.list_entries():
        needed = 3 if find_theorem(entry.load()).length else None
        sm.save(model_of(entry.name, length=needed), tmp_path / "saved" / entry.name)
    read_and_write_again([tmp_path / "saved" / name for name in names], tmp_path / "again")
    assert everything(tmp_path / "again") == everything(tmp_path / "saved")


VERSION_2 = sorted((Path(__file__).parents[1] / "command_output" / "version2").glob("*/softmachine.json"))


def test_models_of_version_2_are_read_in_a_fresh_process(tmp_path: Path) -> None:
    folders = [file.parent for file in VERSION_2]
    assert len(folders) > 10
    read_and_write_again(folders, tmp_path)
    for folder in folders:
        assert native.load(folder) == native.load(tmp_path / folder.name)


def test_a_folder_without_a_model_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"the folder has no softmachine\.json"):
        native.load(tmp_path)


@pytest.mark.parametrize("name", [MANIFEST_FILE, WEIGHTS_FILE])
def test_a_model_that_has_lost_a_file_says_which_also_where_the_folder_is_named_as_text(
    tmp_path: Path, name: str
) -> None:
    folder = tmp_path / "model"
    sm.save(sm.compile("palindrome"), folder)
    (folder / name).unlink()
    with pytest.raises(SourceError, match=f"the folder has no {re.escape(name)}"):
        sm.load(str(folder))


def test_files_that_are_too_large_are_not_read(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = damaged(whole, tmp_path / "model", None, None)
    monkeypatch.setattr(manifest, "MAX_FILE_BYTES", 100)
    with pytest.raises(SourceError, match="is larger than"):
        native.load(folder)


def test_a_file_that_cannot_be_read_is_a_source_error(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = damaged(whole, tmp_path / "model", None, None)

    def refuse(*_: Any, **__: Any) -> bytes:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", refuse)
        with pytest.raises(SourceError, match="cannot be read: Permission denied"):
            native.load(folder)


def test_a_folder_is_a_saved_model_if_both_files_are_there(whole: Path, tmp_path: Path) -> None:
    assert is_saved(whole)
    assert not is_saved(tmp_path)
    assert not is_saved(tmp_path / "missing")
