"""The public functions: load, compile, run, check, save, export. Each reads as the pipeline that it is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from softmachine.compiler import compile_program
from softmachine.errors import OutgrownError, Remedy, UsageError
from softmachine.estimates import consent
from softmachine.languages.source import Source, with_letters_of
from softmachine.model import Model
from softmachine.progress import Tell, nobody
from softmachine.signals.program import Program
from softmachine.theorems import Theorem, theorem_for
from softmachine.theorems.theorem import MOST_CONTEXT

if TYPE_CHECKING:
    from softmachine.arithmetic import Arithmetic
    from softmachine.certify import Certificate
    from softmachine.engines.check import Report
    from softmachine.engines.result import Run
    from softmachine.exports.writing import Exported

MOST_STEPS = 100_000_000
"""As many as the fast engine makes unasked."""

__all__ = ["certificate", "check", "compile", "export", "load", "run", "save", "soften"]


def load(source: str | Path, format: str | None = None) -> Source | Model:  # noqa: A002
    """A zoo name, a file, a string in a one-line format, or a folder that :func:`save` wrote."""
    folder = _saved(source)
    if folder:
        from softmachine.exports import native

        return native.load(folder)
    from softmachine.sources import read_source

    return read_source(str(source), format)


def _saved(source: str | Path) -> Path | None:
    """The folder of a saved model, if the source is one; a path to a folder is taken for one."""
    from softmachine.exports.manifest import is_saved

    folder = Path(source)
    try:
        meant = is_saved(folder) or (isinstance(source, Path) and folder.is_dir())
    except (OSError, ValueError):  # a one-line source can be longer than a path may be
        return None
    return folder if meant else None


def compile(  # noqa: A001
    source: str | Path | Source | Model,
    theorem: str | Theorem | None = None,
    *,
    attention: str | None = None,
    context: int | None = None,
    length: int | None = None,
    construction: str | None = None,
) -> Model:
    """The model of a source.

    Args:
        source: What to compile; a model is taken as it is.
        theorem: The theorem to compile by, or its name; by default the first that applies.
        attention: "hard" or "soft"; by default the one that the theorem prefers.
        context: The length to make the weights for, if they depend on one.
        length: With soft attention: certified for every input up to this length (see :func:`soften`). Where only one of
            the two is given, it stands for both.
        construction: An older name of ``theorem``.
    """
    item = load(source) if isinstance(source, str | Path) else source
    theorem = theorem or construction
    if isinstance(item, Model):
        name = theorem.name if isinstance(theorem, Theorem) else theorem
        if name not in (None, item.theorem.name) or attention not in (None, item.attention):
            raise UsageError(f"{item.name!r} is already compiled, by {item.theorem.name}, {item.attention} attention")
        wanted = max(context or 0, length or 0)
        if item.length is not None and wanted > item.length:
            raise UsageError(f"{item.name!r} was made for length {item.length}, not {wanted}")
        return item
    chosen = theorem if isinstance(theorem, Theorem) else theorem_for(item, theorem)
    context, length = length if context is None else context, context if length is None else length
    own = chosen.length and "soft" in chosen.attentions
    if length is not None and attention == "soft" and not own:
        return soften(compile(item, chosen, attention="hard", context=context), length=length)[0]
    attention, made_for = chosen.attention(attention), context if chosen.length else None
    codec = chosen.codec_for(item, made_for)
    return Model(compile_program(chosen.signals(codec, attention)), codec, chosen, made_for)


def _certifiable(model: Model) -> Program:
    """The signals with hard attention that a model was compiled from, in the variant that is certified."""
    return model.theorem.signals(model.codec, model.theorem.certified)


def compile_for(
    source: str | Path | Source | Model,
    word: str | Iterable[str],
    theorem: str | Theorem | None = None,
    *,
    attention: str | None = None,
    context: int | None = None,
    length: int | None = None,
    max_steps: int | None = None,
) -> Model:
    """The model of a source for one run: made, and with soft attention certified, for as long as the run takes.

    Args:
        source: What to compile; a model is taken as it is. A formula gets the letters of the input.
        word: The input.
        theorem: The theorem to compile by, or its name; by default the first that applies.
        attention: "hard" or "soft"; by default the one that the theorem prefers.
        context: The length to make the weights for; by default they are made for the input, and that is doubled until
            the run fits.
        length: The length that softmax is certified for; by default what the run needs.
        max_steps: How many steps are allowed.

    Raises:
        OutgrownError: If the run does not end in a context that anyone would make weights for unasked.
    """
    word = word if isinstance(word, str) else tuple(word)
    item = load(source) if isinstance(source, str | Path) else source
    if isinstance(item, Model):
        return compile(item, theorem, attention=attention, context=context, length=length)
    item = with_letters_of(item, word)
    chosen = theorem if isinstance(theorem, Theorem) else theorem_for(item, theorem)
    notes: tuple[str, ...] = ()
    steps = MOST_STEPS if max_steps is None else max_steps
    if chosen.length and context is None and length is None:
        context = chosen.context_for(item, word, steps)
        if context is None:
            raise OutgrownError(
                f"the run takes more than {MOST_CONTEXT:,} positions, and the weights of {chosen.name} depend on it",
                hint=Remedy("limit the steps, for example {}, or say --context N", max_steps=1000),
            )
        notes = (f"made for {context:,} positions, which the run fits in",)
    if attention == "soft" and "soft" not in chosen.attentions and length is None:
        length = context or chosen.codec_for(item, None).positions(word, steps)
        notes = (*notes, f"softmax certified for {length:,} positions")
    model = compile(item, chosen, attention=attention, context=context, length=length)
    return replace(model, notes=(*model.notes, *notes))


def soften(
    model: Model | Source | str | Path, *, length: int, sharpness: int | None = None, yes: bool = False
) -> tuple[Model, Certificate]:
    """The softmax model that gives what the hard one gives, on every input up to a length, and the proof.

    Args:
        model: A model with hard attention, or a source.
        length: Inputs (of a decoder: input and run together) have at most so many symbols.
        sharpness: The scaled gap of every head; by default the smallest that is certified.
        yes: Whether to go on, even if it takes more than ten minutes or half of the free memory.

    Raises:
        ConstructionError: If no temperature, or not this one, is certified; it says why.
    """
    from softmachine.certify import certify, softened

    with consent(yes):
        hard = compile(model, attention="hard", length=length)
        program = _certifiable(hard)
        proof = certify(program, length, sharpness)
    weights = compile_program(softened(program, proof))
    return replace(hard, weights=weights, certified=length), proof


def certificate(
    model: Model | Source | str | Path, *, length: int, sharpness: int | None = None, yes: bool = False
) -> Certificate:
    """The certificate of :func:`soften`; it may say that it does not hold."""
    from softmachine.certify import certify

    with consent(yes):
        return certify(_certifiable(compile(model, attention="hard", length=length)), length, sharpness)


def run(
    model: Model | Source | str | Path,
    word: str | Iterable[str] = "",
    *,
    theorem: str | Theorem | None = None,
    attention: str | None = None,
    context: int | None = None,
    length: int | None = None,
    arithmetic: str | Arithmetic = "float64",
    max_steps: int | None = None,
    engine: str = "auto",
    checkpoint: str | Path | None = None,
    resume: str | Path | None = None,
    yes: bool = False,
    verify: bool = False,
) -> Run:
    """Run a model (or a source, compiled on the way) on an input until it stops, or for so many steps.

    Args:
        model: A model, or a source.
        word: The input.
        theorem: What to compile by, if the model is compiled on the way.
        attention: "hard" or "soft", likewise.
        context: The length to make the weights for, likewise; by default what the run needs.
        length: The length to certify softmax for, likewise; by default what the run needs.
        arithmetic: The arithmetic to run it in; the fast engine is exact whatever it is.
        max_steps: How many steps of the source language to allow; by default a million, and a hundred million on the
            fast engine.
        engine: "dense", "fast", or "auto": fast if the input is long, or the run turns out to be.
        checkpoint: A file that a long run is written to now and then.
        resume: The saved run to go on from.
        yes: Whether to go on, even if reading the input takes more than ten minutes or half of the free memory.
        verify: Whether to compare every token with the reference interpreter, as it comes; ``Run.verified`` and
            ``Run.difference`` say what came of it. Without it, a run that is not the source's is an error in the end.

    Raises:
        PartedError: If the model says what the source does not, and neither ``verify`` nor an arithmetic that rounds
            by definition has that compared beforehand.
    """
    from softmachine.engines.run import Running

    word = word if isinstance(word, str) else tuple(word)
    lengths = {"context": context, "length": length, "max_steps": max_steps}
    with consent(yes):
        running = Running(
            compile_for(model, word, theorem, attention=attention, **lengths),
            word,
            arithmetic=arithmetic,
            max_steps=max_steps,
            engine=engine,
            checkpoint=checkpoint,
            resume=resume,
            verify=verify,
        )
        for _ in running.pieces():
            pass
        return running.so_far()


def check(
    model: Model | Source | str | Path,
    source: Source | None = None,
    *,
    up_to: int | None = None,
    sample: int | None = None,
    length: int | None = None,
    attention: str | None = None,
    arithmetic: str | Arithmetic = "float64",
    max_steps: int = 10_000,
    yes: bool = False,
) -> Report:
    """Compare a model with the reference interpreter: on every input up to a length, or on a random sample.

    Args:
        model: A model, or a source that is compiled on the way.
        source: The object the model should implement; left out, the one that it was compiled from.
        up_to: Try every input up to this length.
        sample: Try so many random inputs …
        length: … of this length.
        attention: "hard" or "soft", if the model is compiled on the way.
        arithmetic: The arithmetic to run the model in.
        max_steps: Longer runs are compared up to here.
        yes: Whether to go on, even if it takes more than ten minutes or half of the free memory.
    """
    from softmachine.engines.check import check_words
    from softmachine.engines.sweep import Sweep

    compiled = compile(model, attention=attention)
    if source is not None:
        theorem = theorem_for(source, compiled.theorem.name)
        compiled = replace(compiled, codec=theorem.codec_for(source, compiled.length), theorem=theorem)
    if (up_to is None) == (sample is None) or (sample is None) != (length is None):
        raise UsageError("say which inputs to check", hint="up_to=N, or sample=K and length=N")
    with consent(yes):
        sweep = Sweep.random(compiled, sample or 0, length or 0) if up_to is None else Sweep.every(compiled, up_to)
        words = sweep.foreseen(arithmetic, max_steps)
        return check_words(compiled, words, arithmetic=arithmetic, max_steps=max_steps)


def save(model: Model, folder: str | Path, *, force: bool = False) -> None:
    """Write a model to a folder, from which :func:`load` reads it."""
    from softmachine.exports import native

    native.save(model, Path(folder), force=force)


def export(
    model: Model | Source | str | Path,
    folder: str | Path,
    *,
    to: str = "gpt2",
    length: int | None = None,
    dtype: str | None = None,
    theorem: str | Theorem | None = None,
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
        theorem: The theorem to compile a source by; by default the one that is made for the format.
        construction: An older name of ``theorem``.
        force: Whether to replace a model that is there.
        tell: Is told what is being done, since it may take minutes.
    """
    from softmachine.exports.export import DEFAULT_LENGTH, positions_of, ready, stock_theorem, written

    item = load(model) if isinstance(model, str | Path) else model
    wanted, dtype, folder = theorem or construction, dtype or "float32", Path(folder)
    name = wanted.name if isinstance(wanted, Theorem) else wanted
    if isinstance(item, Model) and name not in (None, item.theorem.name):
        raise UsageError(f"{item.name!r} is already compiled, by {item.theorem.name}")
    form = ready(to, dtype, folder, length, force=force)
    if isinstance(item, Model):
        positions, compiled = positions_of(item, length), item
    else:
        positions = DEFAULT_LENGTH if length is None else length
        tell("compiling")
        chosen = wanted if isinstance(wanted, Theorem) else theorem_for(item, wanted)
        if wanted is None:
            chosen = stock_theorem(item, form, dtype) or chosen
        attention = "hard" if "hard" in chosen.attentions else "soft"
        compiled = compile(item, chosen, attention=attention, length=positions if chosen.length else None)
    return written(compiled, folder, form, length=positions, dtype=dtype, force=force, tell=tell)
