"""Checkpoints: a run on disk, from which it resumes with identical output.

The file is in the safetensors format: plain arrays and a header, nothing executable. It is written atomically, so that
a full disk or a power cut leaves the previous one, and it replaces only a run of the same model on the same input that
is not longer. Before compiled code works on the arrays they are validated: same model, checksum, and no index outside
of an array. An ended run is saved as it was before its last decision, so that after loading the model makes that
decision again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from softmachine.engines.fast import status
from softmachine.engines.fast.bytecode.memory import BytecodeHeap
from softmachine.engines.fast.codegen.emitter import GeneratedCode
from softmachine.engines.fast.indexes.arrays import RunArrays
from softmachine.engines.fast.segments import SegmentedPass
from softmachine.engines.fast.tokens import Tokens
from softmachine.support.errors import FixHint, SoftmachineError, SourceError, SourceLocation, UsageError
from softmachine.support.files import convert_os_errors, write_file
from softmachine.support.resources import require_memory
from softmachine.support.stored_names import present_head
from softmachine.support.text import pluralize
from softmachine.support.token_array import BLOCK_SIZE, CodedSequence, CompressedSequence

if TYPE_CHECKING:
    from softmachine.engines.fast.engine import FastEngine, FastPass

Arrays = dict[str, NDArray[Any]]
FORMAT = "softmachine checkpoint 2"
SEGMENTS_FORMAT = "softmachine checkpoint of segments 2"
_DTYPES = {"uint8": "U8", "int8": "I8", "int16": "I16", "int32": "I32", "int64": "I64"}
_SCALAR_LIMIT = 2**62
_MAX_HEADER_BYTES = 1 << 24
_MAX_DIGITS = 30


def require_replaceable(path: Path, run: FastPass | SegmentedPass | None = None, steps: int | None = None) -> None:
    """Raise if a file must not be replaced: not a checkpoint, or one of another model or input, or of a longer run.

    Args:
        path: The file.
        run: The run to be saved, if it is known yet.
        steps: Its step limit; None if it may be shorter.

    Raises:
        UsageError: If the file must not be replaced.
    """
    with convert_os_errors(path):
        if not path.exists():  # or it is a dangling link
            return
    header = _read_header(path)
    if not path.is_file() or header.get("format") not in (FORMAT, SEGMENTS_FORMAT):
        raise UsageError(
            f"{path} exists already, and is not a checkpoint of this version of softmachine",
            hint="choose another name; only checkpoints are overwritten",
        )
    if run is None:
        return
    same = not {header.get("weights"), header.get("model")}.isdisjoint((*run.engine.identities, *run.engine.digests))
    if not same or header.get("input", _prompt_hash(run)) != _prompt_hash(run):
        what = "on another input" if same else "of another model"
        raise UsageError(f"{path} is the checkpoint of a run {what}", hint="choose another name")
    if steps is not None and (before := _header_number(header, "steps")) > steps:
        raise UsageError(
            f"{path} is the checkpoint of a run of up to {pluralize(before, 'step')}, and this one is of up to "
            f"{steps:,}",
            hint=FixHint("to continue that run: {}; or choose another name", checkpoint=None, resume=str(path)),
        )


def _read_header(path: Path) -> dict[str, str]:
    """The header of a checkpoint, with its number of tokens; empty for any other file."""
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(length) if length <= _MAX_HEADER_BYTES else b"")
        *blocks, rest = (header[name]["shape"][0] for name in header if name.startswith(("tokens ", "said ")))
        known = {str(key): str(value) for key, value in header["__metadata__"].items()}
        return known | {"tokens": str(BLOCK_SIZE * len(blocks) + rest)}
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return {}


def saved_step_limit(path: Path) -> int:
    """The step limit of a saved run; 0 if the file does not have one or cannot be read."""
    return _header_number(_read_header(path), "steps")


def _header_number(header: dict[str, str], name: str) -> int:
    """A number in the header of a file; 0 if it is missing or malformed."""
    found = header.get(name, "")
    return int(found) if found.isascii() and found.isdecimal() and len(found) <= _MAX_DIGITS else 0


def save(run: FastPass | SegmentedPass, path: Path, steps: int = 0, context: int | None = None) -> None:
    """Save a run.

    Args:
        run: The run.
        path: The file.
        steps: Its step limit.
        context: The context length the weights are built for, if they depend on one.

    Raises:
        SourceError: If the file cannot be written; the run continues in memory.
        UsageError: If another file exists there by now.
    """
    require_replaceable(path, run)
    if _header_number(_read_header(path), "tokens") > (
        len(run.stored_output()) if isinstance(run, SegmentedPass) else run.token_count
    ):
        return  # the file contains this run and more of it
    less = {"general": run.engine.general_heads, "uneven": run.engine.fractional_heads}
    common = {"model": run.engine.digests[0], "steps": str(steps)} | ({"context": str(context)} if context else {})
    common |= {what: json.dumps(sorted(names)) for what, names in less.items()}
    common |= {"weights": run.engine.identities[0], "input": _prompt_hash(run)}
    if isinstance(run, SegmentedPass):  # the current segment is read again, so its tokens suffice
        arrays, own = _compress("said", run.stored_output()), {"format": SEGMENTS_FORMAT, "prompt": _prompt_hash(run)}
    else:
        arrays, own = _run_arrays(run), {"format": FORMAT, "prompt": str(run.prompt_length)}
    try:
        content = _encode_file(arrays, {**common, **own, "checksum": _checksum(arrays)})
        write_file(Path(os.path.realpath(path)), content, force=True)  # follows a link instead of replacing it
    except UsageError as problem:
        raise SourceError(
            f"the checkpoint cannot be written: {problem.message}",
            place=SourceLocation(str(path)),
            hint="the previous checkpoint, if any, is unchanged",
        ) from None


def _run_arrays(run: FastPass) -> Arrays:
    """The arrays of a run in one context; of a large model only the tokens, which are read again."""
    with suppress(SoftmachineError, MemoryError):  # the same error recurs in the run
        run.handle_status()
    tokens = _compress("tokens", run.tokens.names_between(0, run.token_count))
    if isinstance(run.memory, BytecodeHeap):
        return tokens
    info = run.info.copy()
    info[status.STATUS] = status.RUNNING
    return (
        tokens
        | {"info": info, "scalars": run.memory.scalars}
        | {f"storage {name}": np.ascontiguousarray(array) for name, array in run.memory.parts.items()}
    )


def _compress(name: str, codes: CodedSequence[str]) -> Arrays:
    """A token sequence as numbered, compressed arrays; compression keeps writing a long run fast."""
    packed: CompressedSequence[str] = CompressedSequence(codes.names)
    for part in codes.code_arrays():
        packed.extend(part)
    return {f"{name} {number}": part for number, part in enumerate(packed.arrays_to_save())}


def _decompress(name: str, arrays: Arrays, like: FastPass) -> CompressedSequence[str]:
    """The token sequence stored in such arrays, checked against the model's vocabulary."""
    count = sum(found.startswith(f"{name} ") for found in arrays)
    packed: CompressedSequence[str] = CompressedSequence(like.names)
    try:
        packed.restore([arrays[f"{name} {number}"] for number in range(count)], len(like.engine.transformer.vocabulary))
    except (ValueError, KeyError):
        raise _RefusedError("does not fit the model") from None
    return packed


def _prompt_hash(run: FastPass | SegmentedPass) -> str:
    """A hash of the prompt."""
    if isinstance(run, SegmentedPass):
        return hashlib.sha256(json.dumps(run.first_prompt).encode()).hexdigest()
    return hashlib.sha256(run.tokens.slice_codes(0, run.prompt_length).astype(np.int64).tobytes()).hexdigest()


def _encode_file(arrays: Arrays, header: dict[str, str]) -> Iterator[bytes | memoryview]:
    """A safetensors file, part by part: a run may fill most of the memory, so nothing is copied."""
    entries: dict[str, object] = {"__metadata__": header}
    begin = 0
    for name, array in arrays.items():
        shape, end = list(array.shape), begin + array.nbytes
        entries[name] = {"dtype": _DTYPES[array.dtype.name], "shape": shape, "data_offsets": [begin, end]}
        begin = end
    text = json.dumps(entries).encode()
    text += b" " * (-len(text) % 8)
    yield len(text).to_bytes(8, "little")
    yield text
    for array in arrays.values():
        yield _bytes(array)


def _bytes(array: NDArray[Any]) -> memoryview:
    """The bytes of an array, without copying if it is contiguous."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


RESTART_HINT = "start without --resume"


class _RefusedError(Exception):
    """A file is rejected: the reason, and a fix-it hint."""

    def __init__(self, why: str, remedy: FixHint | None = None) -> None:
        super().__init__(why)
        self.remedy = remedy or FixHint(RESTART_HINT, resume=None)


def load(run: FastPass | SegmentedPass, path: Path, context: int | None = None) -> None:
    """Load a checkpoint into a fresh run of the same model and prompt.

    Args:
        run: The run.
        path: The file.
        context: The context length its weights are built for, if they depend on one.

    Raises:
        SourceError: If the file is missing or damaged, or belongs to another model or prompt.
        TooExpensiveError: If there is not enough memory for it.
    """
    from safetensors import SafetensorError, safe_open

    with suppress(OSError):
        require_memory(path.stat().st_size, f"the checkpoint {path} cannot be read: its arrays")
    try:
        with safe_open(str(path), framework="numpy") as file:
            header = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  (it is no dictionary)
        _restore(run, header, arrays, context)
    except _RefusedError as error:
        refused = error
    except (OSError, SafetensorError, ValueError, KeyError) as problem:
        refused = _RefusedError(f"cannot be read: {problem}")
    else:
        return
    raise SourceError(f"the checkpoint {refused}", place=SourceLocation(str(path)), hint=refused.remedy)


def _restore(run: FastPass | SegmentedPass, header: dict[str, str], arrays: Arrays, context: int | None) -> None:
    known = header.get("format") in (FORMAT, SEGMENTS_FORMAT)
    if not known or header.get("checksum") != _checksum(arrays):
        raise _RefusedError("is damaged, or was not written by softmachine")
    run.engine.set_assumptions(*(_heads(run.engine, header.get(what, "[]")) for what in ("general", "uneven")))
    segmented = isinstance(run, SegmentedPass)
    if segmented != (header["format"] == SEGMENTS_FORMAT) or header.get("model") not in run.engine.digests:
        before = _header_number(header, "context")
        if context and before not in (0, context):
            raise _RefusedError(
                f"is of weights built for {before:,} positions, not {context:,}",
                FixHint(f"to continue with those weights while the run fits: {{}}; or {RESTART_HINT}", context=before),
            )
        raise _RefusedError("is of another model, or of another version of softmachine")
    prompt = _prompt_hash(run) if isinstance(run, SegmentedPass) else str(run.prompt_length)
    if header.get("prompt") != prompt:
        raise _RefusedError("is of a run on another input")
    if isinstance(run, SegmentedPass):
        _restore_segments(run, arrays)
        return
    tokens = _decompress("tokens", arrays, run)
    if len(tokens) < max(run.prompt_length, 1):
        raise _RefusedError("does not fit the model")
    if not np.array_equal(tokens.slice_codes(0, run.prompt_length), run.tokens.slice_codes(0, run.prompt_length)):
        raise _RefusedError("is of a run on another input")
    if isinstance(run.engine.code, GeneratedCode):
        _restore_arrays(run, RunArrays(run.engine.code), tokens, arrays)
    else:  # a large model reads the tokens again
        run.resume_from(Tokens.from_compressed(tokens, run.engine.code.token_classes), len(tokens))


def _restore_segments(run: SegmentedPass, arrays: Arrays) -> None:
    output = _decompress("said", arrays, run.current)
    if len(output):
        run.resume_from(output)


def _restore_arrays(run: FastPass, memory: RunArrays, tokens: CompressedSequence[str], arrays: Arrays) -> None:
    info, scalars = arrays.get("info"), arrays.get("scalars")
    if info is None or scalars is None or not _is_plausible(memory, len(tokens), info, scalars):
        raise _RefusedError("does not fit the model")
    for storage in memory.code.storages:
        found = [array for name in storage.arrays if (array := arrays.get(f"storage {name}")) is not None]
        if not storage.is_valid(found, int(info[status.POSITION])):
            raise _RefusedError("does not fit the model")
        memory.parts |= zip(storage.arrays, found, strict=True)
    memory.scalars = scalars
    run.memory, run.tokens, run.info, run.given_count = (
        memory,
        Tokens.from_compressed(tokens, run.engine.code.token_classes),
        info,
        len(tokens),
    )
    run.info[status.STATUS] = status.RUNNING
    run.first_output = len(tokens) - 1


def _heads(engine: FastEngine, names: str) -> frozenset[str]:
    """The heads listed in a file; none unless all of them are heads of this model."""
    try:
        found = json.loads(names)
    except ValueError:
        found = []
    plans = engine.code.plans if isinstance(engine.code, GeneratedCode) else ()
    known = {plan.head.name for plan in plans}
    present = [present_head(str(name)) for name in found] if isinstance(found, list) else []
    return frozenset(present if known.issuperset(present) else ())


def _is_plausible(memory: RunArrays, count: int, info: NDArray[np.int64], scalars: NDArray[np.int64]) -> bool:
    """Whether a run of ``count`` tokens can have left these numbers."""
    whole = info.dtype == scalars.dtype == np.int64
    if not whole or info.shape != (5,) or scalars.shape != memory.scalars.shape:
        return False
    running = 0 <= info[status.POSITION] <= info[status.TOKEN_COUNT] == count and info[status.STATUS] == status.RUNNING
    return bool(running) and bool((np.abs(scalars.astype(np.float64)) < _SCALAR_LIMIT).all())


def _checksum(arrays: Arrays) -> str:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype} {array.shape}\n".encode())
        digest.update(_bytes(array))
    return digest.hexdigest()
