"""Native format: a folder with the exact weights (safetensors) and all names (JSON).

Weights are sparse and exact: for each matrix the indices of its non-zeros, their numerators and their denominators as
64-bit integers. The source is stored as text, with the name of the theorem, from which loading rebuilds the codec; a
digest of each file detects changes. The same model always gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import NoReturn

from softmachine.certify import recompute_certificate
from softmachine.compiler.model import Model
from softmachine.exports.folder import new_folder
from softmachine.exports.manifest import (
    MANIFEST_FILE,
    WEIGHTS_FILE,
    compute_digest,
    present,
    read_bytes,
    read_manifest,
    require_digests,
    verify_digests,
    write_manifest,
)
from softmachine.exports.native_tensors import Array, Json, deserialize_transformer, serialize_transformer
from softmachine.languages.formats import deserialise_source, serialise_source
from softmachine.languages.source import Source
from softmachine.support.errors import SoftmachineError, SourceError, SourceLocation, UsageError
from softmachine.support.files import write_file
from softmachine.support.stored_names import present_theorem
from softmachine.theorems import Theorem, get_theorem
from softmachine.transformer.saved_features import STANDARD_FEATURES
from softmachine.transformer.weights import Transformer

FORMAT = "softmachine-transformer"
VERSION = 2
WEIGHTS_FORMAT = "softmachine-weights"
"""The format of weights without a source."""
DAMAGE_ERRORS = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError, MemoryError)
"""Exceptions that reading a modified file can raise."""


def save(model: Model, folder: Path, *, force: bool = False) -> None:
    """Write a model to a folder, all or nothing.

    Raises:
        UsageError: If the folder exists and ``force`` is not given, or was not written by softmachine, or cannot be
            written; or if the model could not be rebuilt from the written files.
    """
    from safetensors.numpy import save as to_bytes

    theorem = model.theorem
    if theorem.build_codec(model.source, model.context) != model.codec:
        raise UsageError(f"{model.name!r} cannot be saved: its codec is not that of {theorem.name}")
    if problem := _vocabulary_problem(model):
        raise UsageError(f"{model.name!r} cannot be saved: {problem}")
    names, tensors = serialize_transformer(model.weights)
    proof = model.valid_certificate
    facts = {
        "format": FORMAT,
        "version": VERSION,
        "theorem": theorem.name,
        "context": model.context,
        **({} if proof is None else {"certificate": proof.to_json()}),
        **({"notes": list(model.notes)} if model.notes else {}),
        "source": serialize_source(model.source, theorem),
        "weights": names,
    }
    with new_folder(folder, force=force) as new:
        write_file(new / WEIGHTS_FILE, to_bytes(tensors))
        write_manifest(new, facts)


def save_weights(transformer: Transformer, folder: Path, *, force: bool = False) -> None:
    """Write bare weights, without a source and a theorem, to a folder, all or nothing.

    Raises:
        UsageError: If the folder exists and ``force`` is not given, or was not written by softmachine, or cannot be
            written.
    """
    from safetensors.numpy import save as to_bytes

    names, tensors = serialize_transformer(transformer)
    with new_folder(folder, force=force) as new:
        write_file(new / WEIGHTS_FILE, to_bytes(tensors))
        write_manifest(new, {"format": WEIGHTS_FORMAT, "version": VERSION, "weights": names})


def has_bare_weights(folder: Path) -> bool:
    """Whether a folder holds weights without a source."""
    return bool(read_manifest(folder)["format"] == WEIGHTS_FORMAT)


def load_weights(folder: Path) -> Transformer:
    """Read the weights of a folder, of a model or bare, and verify their digests.

    Raises:
        SourceError: If the folder does not hold weights of a supported version; the message names the file.
    """
    if not has_bare_weights(folder):
        return load(folder).weights
    facts, tensors = _read(folder)
    place = SourceLocation(str(folder / MANIFEST_FILE))
    try:
        return deserialize_transformer(facts["weights"], tensors, STANDARD_FEATURES)
    except DAMAGE_ERRORS as error:
        raise SourceError(f"the saved weights are damaged: {type(error).__name__}: {error}", place=place) from None


def _vocabulary_problem(model: Model) -> str | None:
    """The difference between the tokens of a model and those of its theorem, if there is one.

    Builds the theorem's signals, which takes half the time of compiling. Weights are not compared: they may be edited.
    ``check`` compares the model's output with the interpreter.
    """
    program = model.theorem.signals(model.codec, model.theorem.choose_attention(None))
    for what, found, right in (
        ("vocabulary is", model.weights.vocabulary, program.vocabulary),
        ("table of outputs is", model.weights.outputs, program.outputs),
    ):
        if found != right:
            return f"its {what} not that of {model.theorem.name}: {_difference(found, right)}"
    return None


def _difference(found: tuple[str, ...], right: tuple[str, ...]) -> str:
    if len(found) != len(right):
        return f"it has {len(found)} entries, not {len(right)}"
    place, pair = next((k, pair) for k, pair in enumerate(zip(found, right, strict=True)) if pair[0] != pair[1])
    return f"entry {place} is {pair[0]!r}, not {pair[1]!r}"


def serialize_source(source: Source, theorem: Theorem) -> dict[str, str] | None:
    """The source as text; None if the theorem is about this source only."""
    if source == theorem.source:
        return None
    return {"language": source.language, "name": source.name, "text": serialise_source(source)}


def load(folder: Path) -> Model:
    """Read a model from a folder, and verify its digests.

    Files that do not belong to the model are ignored.

    Raises:
        SourceError: If the folder does not hold a complete model of a supported version; the message names the file.
    """
    place = SourceLocation(str(folder / MANIFEST_FILE))
    if has_bare_weights(folder):
        raise SourceError(
            "the folder holds weights without a source, so there is no reference to run or check them against",
            place=place,
            hint="`softmachine certify FOLDER` softens them; sm.load_weights reads them in Python",
        )
    facts, tensors = _read(folder)
    try:
        model = _model(present(facts), tensors)
        problem = _vocabulary_problem(model)
    except SoftmachineError as error:
        at = replace(error.place, source=place.source) if error.place else place
        raise SourceError(error.message, place=at, hint=error.hint) from None
    except DAMAGE_ERRORS as error:
        raise SourceError(f"the saved model is damaged: {type(error).__name__}: {error}", place=place) from None
    if problem:
        raise SourceError(f"the saved model is damaged: {problem}", place=place)
    return model


def _read(folder: Path) -> tuple[Json, Mapping[str, Array]]:
    """The facts of the manifest, and the tensors, after verifying their digests."""
    from safetensors import SafetensorError
    from safetensors.numpy import load as from_bytes

    place = SourceLocation(str(folder / MANIFEST_FILE))
    weights, facts = read_bytes(folder, WEIGHTS_FILE), read_manifest(folder)
    name, version = facts["format"], facts.get("version")
    if name in ("softmachine-map", "softmachine-set"):
        _refuse_export(folder, facts)
    if name not in (FORMAT, WEIGHTS_FORMAT) or type(version) is not int or version != VERSION:
        raise SourceError(f"format {name!r} version {version!r} is not supported", place=place)
    require_digests(folder, facts, {WEIGHTS_FILE: sha256(weights).hexdigest(), MANIFEST_FILE: compute_digest(facts)})
    try:
        return facts, from_bytes(weights)
    except (SafetensorError, ValueError, KeyError) as error:
        raise SourceError(
            f"{WEIGHTS_FILE} is damaged: {error}", place=SourceLocation(str(folder / WEIGHTS_FILE))
        ) from None


def _refuse_export(folder: Path, facts: Json) -> NoReturn:
    """Refuse an exported folder, after verifying its digests."""
    known = "digests" in facts
    if known:
        verify_digests(folder, facts)
    intact = "all of its files are unchanged; " if known else ""
    raise SourceError(
        "this folder was written by `softmachine export`; softmachine cannot run it",
        place=SourceLocation(str(folder)),
        hint=f"{intact}its README.md explains how to use it",
    )


def _model(facts: Json, tensors: Mapping[str, Array]) -> Model:
    """Build the model from the facts and the tensors."""
    theorem, source = load_theorem_and_source(str(facts["theorem"]), facts["source"])
    certificate = facts.get("certificate")
    length = _length(facts["context"])
    certified = _length(facts.get("certified") if certificate is None else certificate["length"])
    weights = deserialize_transformer(facts["weights"], tensors, (*STANDARD_FEATURES, *theorem.features))
    notes = _notes(facts.get("notes", []))
    model = Model(weights, theorem.build_codec(source, length), theorem, length, notes=notes)
    return model if certified is None else _with_certificate(model, certified, certificate)


def _with_certificate(model: Model, length: int, stored: Json | None) -> Model:
    """The model with its certificate, which is recomputed: the stored one is not a proof.

    Args:
        model: The model, with softmax attention.
        length: The length for which it was certified.
        stored: The stored certificate; None in folders without one.

    Raises:
        SourceError: If the recomputed certificate does not hold or differs.
    """
    proof = recompute_certificate(model, length, None if stored is None else stored["sharpness"])
    model = replace(model, certificate=proof)
    facts = proof.to_json()
    claims = {} if stored is None else {key: stored[key] for key in ("length", "sharpness", "digests", "holds")}
    if model.valid_certificate is None or any(facts[key] != claim for key, claim in claims.items()):
        raise SourceError(
            f"the folder states that softmax is certified up to length {length:,}, but recomputing the certificate of "
            "these weights does not confirm it",
            hint="compile the source again, and soften it",
        )
    return model


def load_theorem_and_source(name: str, stored: Mapping[str, str] | None) -> tuple[Theorem, Source]:
    """The theorem of a stored name, and the source that :func:`serialize_source` stored.

    Raises:
        SourceError: If one of them is unknown.
        ValueError: If they do not belong together.
    """
    theorem = get_theorem(present_theorem(name))
    if theorem is None:
        raise SourceError(f"unknown theorem {name!r}, by which the model was compiled")
    if stored is None:
        if isinstance(theorem.source, type):
            raise ValueError("there is no source")
        source: Source = theorem.source
    else:
        source = deserialise_source(*(str(stored[key]) for key in ("language", "name", "text")))
    if not theorem.applies_to(source):
        raise ValueError(f"{theorem.name} is not about {source.name!r}")
    return theorem, source


def _notes(notes: object) -> tuple[str, ...]:
    if not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
        raise ValueError("the notes are not a list of strings")
    return tuple(notes)


def _length(value: object) -> int | None:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
        raise ValueError(f"{value!r} is not a length")
    return value
