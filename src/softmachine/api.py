"""The public functions: load, compile, run, check, save. Each reads as the pipeline that it is."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softmachine.certify import Certificate, certify, softened
from softmachine.codec import Codec
from softmachine.compiler import compile_program
from softmachine.engines.check import Report, all_words, check_words, only_length, random_words
from softmachine.engines.runs import Run, Running, codec_of
from softmachine.errors import UsageError
from softmachine.exports import native
from softmachine.languages.source import Source
from softmachine.progress import Tell, nobody
from softmachine.signals import Program
from softmachine.sources import read_source
from softmachine.theorems import codec_from_json, construction_for
from softmachine.transformer.weights import Transformer

if TYPE_CHECKING:
    from softmachine.exports.exported import Exported

__all__ = ["certificate", "check", "compile", "export", "load", "run", "save", "soften"]


def load(source: str | Path, format: str | None = None) -> Source | Transformer:  # noqa: A002
    """A zoo name, a file, a string in a one-line format, or a folder that :func:`save` wrote."""
    folder = _saved(source)
    return native.load(folder, codec_from_json) if folder else read_source(str(source), format)


def _saved(source: str | Path) -> Path | None:
    """The folder of a saved model, if the source is one; a path to a folder is taken for one."""
    folder = Path(source)
    try:
        meant = native.is_saved(folder) or (isinstance(source, Path) and folder.is_dir())
    except (OSError, ValueError):  # a one-line source can be longer than a path may be
        return None
    return folder if meant else None


def compile(  # noqa: A001
    source: str | Path | Source | Transformer,
    construction: str | None = None,
    *,
    attention: str | None = None,
    length: int | None = None,
) -> Transformer:
    """The transformer of a source.

    Args:
        source: What to compile; a transformer is taken as it is.
        construction: The theorem; by default the first that applies.
        attention: "hard" or "soft"; by default the one that the construction prefers.
        length: The length to make the weights for, if they depend on one. Else, with soft attention: certified for
            every input up to this length (see :func:`soften`).
    """
    item = load(source) if isinstance(source, str | Path) else source
    if isinstance(item, Transformer):
        if construction not in (None, item.construction) or attention not in (None, item.attention):
            raise UsageError(f"{item.name!r} is already compiled, by {item.construction}, {item.attention} attention")
        if length is not None and item.length is not None and length > item.length:
            raise UsageError(f"{item.name!r} was made for length {item.length}, not {length}")
        return item
    theorem = construction_for(item, construction)
    own = theorem.family and "soft" in theorem.attentions
    if length is not None and attention == "soft" and not own:
        return soften(compile(item, construction, attention="hard", length=length), length=length)[0]
    made_for = length if theorem.family else None
    program, codec = theorem.program(item, theorem.attention(attention), made_for)
    return compile_program(program).with_codec(codec, theorem.name, made_for)


def soften(
    model: Transformer | Source | str | Path, *, length: int, sharpness: int | None = None
) -> tuple[Transformer, Certificate]:
    """The softmax transformer that gives what the hard one gives, on every input up to a length, and the proof.

    Args:
        model: A transformer with hard attention that was compiled from a source, or a source.
        length: Inputs (of a decoder: input and run together) have at most so many symbols.
        sharpness: The scaled gap of every head; by default the smallest that is certified.

    Raises:
        ConstructionError: If no temperature, or not this one, is certified; it says why.
    """
    transformer = compile(model, attention="hard", length=length)
    program, codec = _program(transformer)
    proof = certify(program, length, sharpness)
    return compile_program(softened(program, proof)).with_codec(
        codec, transformer.construction, transformer.length
    ), proof


def certificate(model: Transformer | Source | str | Path, *, length: int, sharpness: int | None = None) -> Certificate:
    """The certificate of :func:`soften`; it may say that it does not hold."""
    return certify(_program(compile(model, attention="hard", length=length))[0], length, sharpness)


def _program(transformer: Transformer) -> tuple[Program, Codec]:
    """The signals that a model with hard attention was compiled from."""
    source = codec_of(transformer).source
    theorem = construction_for(source, transformer.construction)
    return theorem.program(source, theorem.softened, transformer.length)


def run(
    model: Transformer | Source | str | Path,
    word: str | Iterable[str] = "",
    *,
    attention: str | None = None,
    arithmetic: str | Any = "float64",
    max_steps: int | None = None,
    engine: str = "auto",
    checkpoint: str | Path | None = None,
    resume: str | Path | None = None,
) -> Run:
    """Run a model (or a source, compiled on the way) on an input until it stops, or for so many steps.

    Args:
        model: A transformer, or a source.
        word: The input.
        attention: "hard" or "soft", if the model is compiled on the way.
        arithmetic: The arithmetic to run it in; the fast engine is exact whatever it is.
        max_steps: How many steps of the source language to allow; by default a million, and a hundred million on the
            fast engine.
        engine: "dense", "fast", or "auto": fast if the input is long, or the run turns out to be.
        checkpoint: A file that a long run is written to now and then.
        resume: The checkpoint to go on from.
    """
    transformer = compile(model, attention=attention)
    running = Running(
        transformer,
        word,
        arithmetic=arithmetic,
        max_steps=max_steps,
        engine=engine,
        checkpoint=checkpoint,
        resume=resume,
    )
    for _ in running.pieces():
        pass
    return running.so_far()


def check(
    model: Transformer | Source | str | Path,
    source: object = None,
    *,
    up_to: int | None = None,
    sample: int | None = None,
    length: int | None = None,
    attention: str | None = None,
    arithmetic: str | Any = "float64",
    max_steps: int = 10_000,
) -> Report:
    """Compare a model with the reference interpreter: on every input up to a length, or on a random sample.

    Args:
        model: A transformer, or a source that is compiled on the way.
        source: The object the model should implement; left out, the one that it was compiled from.
        up_to: Try every input up to this length.
        sample: Try so many random inputs …
        length: … of this length.
        attention: "hard" or "soft", if the model is compiled on the way.
        arithmetic: The arithmetic to run the model in.
        max_steps: Longer runs are compared up to here.
    """
    transformer = compile(model, attention=attention)
    if source is not None:
        theorem = construction_for(source, transformer.construction or None)
        codec = theorem.program(source, transformer.attention, transformer.length)[1]
        transformer = transformer.with_codec(codec, theorem.name, transformer.length)
    alphabet = codec_of(transformer).alphabet
    if (up_to is None) == (sample is None) or (sample is None) != (length is None):
        raise UsageError("say which inputs to check", hint="up_to=N, or sample=K and length=N")
    if up_to is not None:
        words = all_words(alphabet, up_to, only_length(codec_of(transformer), up_to))
    else:
        words = random_words(alphabet, sample or 0, length or 0)
    return check_words(transformer, words, arithmetic=arithmetic, max_steps=max_steps)


def save(transformer: Transformer, folder: str | Path, *, force: bool = False) -> None:
    """Write a model to a folder, from which :func:`load` reads it."""
    native.save(transformer, Path(folder), force=force)


def export(
    model: Transformer | Source | str | Path,
    folder: str | Path,
    *,
    to: str = "gpt2",
    length: int | None = None,
    dtype: str | None = None,
    construction: str | None = None,
    force: bool = False,
    tell: Tell = nobody,
) -> Exported:
    """Write a model (or a source, compiled on the way) so that other people's software loads it.

    Nothing is written unless a stock model, loaded from what would be written, says on sample inputs what the
    reference interpreter says.

    Args:
        model: What to export. A model with hard attention is made soft, with a certificate for the length.
        folder: Where to.
        to: The format, see ``docs/export.md``.
        length: The number of positions: marks, input and steps together.
        dtype: The floating-point format of the weights; by default float32.
        construction: The theorem to compile a source by; by default the one that is made for the format.
        force: Whether to replace a model that is there.
        tell: Is told what is being done, since it may take minutes.
    """
    from softmachine.exporting import export_stock

    item = load(model) if isinstance(model, str | Path) else model
    if isinstance(item, Transformer) and construction not in (None, item.construction):
        raise UsageError(f"{item.name!r} is already compiled, by {item.construction}")
    return export_stock(
        item, Path(folder), to=to, length=length, dtype=dtype, construction=construction, force=force, tell=tell
    )
