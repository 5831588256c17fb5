"""Public functions: load, compile, soften, certificate, run, check, inspect, page, picture, save, export, dataset."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, overload

from softmachine.compiler import compile_program
from softmachine.compiler.model import CompileOptions, Model
from softmachine.languages.source import (
    ExtensibleSource,
    Source,
    add_symbols_of_input,
    ensure_two_symbols,
    normalise_input,
)
from softmachine.support.argument_validation import validate_arguments
from softmachine.support.errors import ContextTooShortError, FixHint, SoftmachineError, UsageError
from softmachine.support.progress import ProgressCallback, ignore_progress
from softmachine.support.resources import allow_expensive
from softmachine.support.text import did_you_mean
from softmachine.theorems import Theorem, find_theorem
from softmachine.theorems.codec import DecoderCodec
from softmachine.theorems.theorem import MAX_AUTOMATIC_CONTEXT
from softmachine.transformer.weights import Transformer

if TYPE_CHECKING:
    from softmachine.certify import Certificate, ExhaustiveCertificate
    from softmachine.engines.check import Report
    from softmachine.engines.numerics import Arithmetic
    from softmachine.engines.result import Run
    from softmachine.exports.writer import ExportRecord
    from softmachine.inspection import Inspection
    from softmachine.inspection.svg import Picture
    from softmachine.studies.datasets import Dataset
    from softmachine.studies.sweeps import CheckOptions


ATTENTIONS = ("hard", "soft")
MAX_RUNS_MEASURED = 100_000
"""Maximum number of inputs among whose runs `check` looks for the longest one."""
MAX_STEPS = 100_000_000
"""Default step limit of the fast engine."""


@validate_arguments
def compile(  # noqa: A001
    source: str | Path | Source | Model,
    theorem: str | Theorem | None = None,
    *,
    attention: str | None = None,
    context: int | None = None,
    length: int | None = None,
    alphabet: str | Iterable[str] | None = None,
    format: str | None = None,  # noqa: A002
) -> Model:
    """Compiles a source to a transformer.

    Args:
        source: The source: a zoo name, a path, a one-line source or a loaded object; a model is returned unchanged.

    Returns:
        The model: weights, codec, theorem and source.
    """
    options = CompileOptions(theorem, attention, context, length, alphabet, format)
    return compile_item(load(source, format, alphabet=alphabet), options)


def compile_item(item: Source | Model, options: CompileOptions) -> Model:
    """Compile a source that is already loaded; a model is returned unchanged.

    Raises:
        UsageError: If the options differ from those that the model was compiled with.
    """
    if options.attention not in (None, *ATTENTIONS):
        hint = did_you_mean(options.attention, ATTENTIONS)
        raise UsageError(f"unknown attention {options.attention!r}", hint=hint)
    if isinstance(item, Model):
        _require_as_compiled(item, options)
        return item
    theorem = find_theorem(item, options.theorem)
    context, length = options.context, options.length
    context, length = length if context is None else context, context if length is None else length
    own = theorem.length and "soft" in theorem.attentions
    if length is not None and options.attention == "soft" and not own:
        return soften(compile_item(item, CompileOptions(theorem, "hard", context)), length=length)[0]
    attention = theorem.choose_attention(options.attention)
    context = context if theorem.takes_context(item) else None
    codec = theorem.build_codec(item, context)
    return Model(compile_program(theorem.signals(codec, attention)), codec, theorem, context, notes=codec.notes)


def _require_as_compiled(model: Model, options: CompileOptions) -> None:
    """Raise UsageError if options differ from those that the model was compiled with."""
    if not is_compiled_by(model, options.theorem) or options.attention not in (None, model.attention):
        raise UsageError(f"{model.name!r} is already compiled with {model.theorem.name}, {model.attention} attention")
    length = max(options.context or 0, options.length or 0)
    if model.context is not None and length > model.context:
        raise UsageError(f"{model.name!r} was built for length {model.context}, not {length}")


def is_compiled_by(model: Model, theorem: str | Theorem | None) -> bool:
    """Return whether a model was compiled with this theorem; True if ``theorem`` is None."""
    return theorem is None or model.theorem.name == (theorem.name if isinstance(theorem, Theorem) else theorem)


@validate_arguments
def compile_for(
    item: Source | Model, word: str | Iterable[str], options: CompileOptions, max_steps: int | None = None
) -> Model:
    """Compile a source for one run: by default, context and certified length are those of the run.

    Args:
        item: The source, whose alphabet is extended by the symbols of the input if it is a formula; or a model.
        word: The input.
        options: How to compile it.
        max_steps: Maximum number of steps.

    Raises:
        ContextTooShortError: If the run does not fit in the largest context that is built by default.
    """
    word = word if isinstance(word, str) else tuple(word)
    if isinstance(item, Model):
        return compile_item(item, options)
    item = add_symbols_of_input(item, word)
    theorem, context, length = find_theorem(item, options.theorem), options.context, options.length
    notes: tuple[str, ...] = ()
    steps = MAX_STEPS if max_steps is None else max_steps
    if context is None and length is None and theorem.needs_context(item, word, steps):
        context = theorem.find_context(item, word, steps)
        if context is None:
            raise ContextTooShortError(
                f"the run takes more than {MAX_AUTOMATIC_CONTEXT:,} positions, and the weights of {theorem.name} "
                f"depend on it",
                hint=FixHint("limit the steps, for example {}, or pass --context N", max_steps=1000),
            )
        notes = (f"built for {context:,} positions, which the run fits in",)
    if options.attention == "soft" and "soft" not in theorem.attentions and length is None:
        length = context or theorem.build_codec(item, None).count_positions(word, steps)
        notes = (*notes, f"softmax certified for {length:,} positions")
    model = compile_item(item, replace(options, theorem=theorem, context=context, length=length))
    return replace(model, notes=(*model.notes, *notes))


@overload
def soften(
    model: Transformer, *, length: int, sharpness: int | None = ..., yes: bool = ...
) -> tuple[Transformer, Certificate | ExhaustiveCertificate]: ...
@overload
def soften(
    model: Model | Source | str | Path, *, length: int, sharpness: int | None = ..., yes: bool = ...
) -> tuple[Model, Certificate]: ...
@validate_arguments
def soften(
    model: Model | Source | str | Path | Transformer, *, length: int, sharpness: int | None = None, yes: bool = False
) -> tuple[Model, Certificate] | tuple[Transformer, Certificate | ExhaustiveCertificate]:
    """Replaces hard attention by softmax, with a proof that the outputs agree on every input up to a length.

    Args:
        model: A model with hard attention, or a source; or bare weights, built by hand or read by
            :func:`load_weights`, whose inputs are all sequences of up to n+1 tokens.
        length: Maximum length of inputs; for a decoder, of input and run together.
        sharpness: Scaled score gap of every head. Default: the smallest that can be certified.

    Returns:
        The model with softmax attention, and its certificate.

    Raises:
        ConstructionError: If no temperature, or not the requested one, can be certified; the message gives the reason.
    """
    from softmachine.certify import certify_model, certify_or_run

    with allow_expensive(yes):
        if isinstance(model, Transformer):
            found = certify_or_run(model, length, sharpness)
            return found.soft_transformer, found
        hard = model if isinstance(model, Model) else compile(model, attention="hard", length=length)
        proof = certify_model(hard, length, sharpness)
    return replace(hard, weights=proof.soft_transformer, certificate=proof), proof


@overload
def certificate(
    model: Transformer, *, length: int, sharpness: int | None = ..., yes: bool = ...
) -> Certificate | ExhaustiveCertificate: ...
@overload
def certificate(
    model: Model | Source | str | Path, *, length: int, sharpness: int | None = ..., yes: bool = ...
) -> Certificate: ...
@validate_arguments
def certificate(
    model: Model | Source | str | Path | Transformer, *, length: int, sharpness: int | None = None, yes: bool = False
) -> Certificate | ExhaustiveCertificate:
    """Returns the certificate of :func:`soften` without building the model; the certificate may fail to hold.

    Args:
        model: A model with hard attention, a source, or bare weights.
        length: Maximum length of inputs; for a decoder, of input and run together.
        sharpness: Scaled score gap of every head. Default: the smallest that can be certified.
    """
    from softmachine.certify import certify_model, certify_or_run

    with allow_expensive(yes):
        if isinstance(model, Transformer):
            return certify_or_run(model, length, sharpness)
        return certify_model(compile(model, attention="hard", length=length), length, sharpness)


MAX_PAGE_POSITIONS = 2_000
"""Maximum number of positions of a run that notebooks show as a page; longer runs are shown as text."""


@validate_arguments
def run(
    model: Model | Source | str | Path,
    word: str | Iterable[object] | None = None,
    *,
    theorem: str | Theorem | None = None,
    attention: str | None = None,
    context: int | None = None,
    length: int | None = None,
    alphabet: str | Iterable[str] | None = None,
    format: str | None = None,  # noqa: A002
    arithmetic: str | Arithmetic = "float64",
    max_steps: int | None = None,
    engine: str = "auto",
    checkpoint: str | Path | None = None,
    resume: str | Path | None = None,
    yes: bool = False,
    verify: bool = False,
    checked: bool = True,
) -> Run:
    """Runs a model on an input until it halts or reaches the step limit.

    Args:
        model: A model, or a source, which is compiled first.
        word: The input: a string, its symbols, or for a RASP program values of its vocabulary, such as numbers.
            Default: the input that the source suggests, or else the empty word.
        context: Number of positions that the weights are built for, if a source is compiled. Default: the length of
            the run.
        length: Length that softmax is certified for, if a source is compiled. Default: the length of the run.
        alphabet: Additional input symbols of a formula, beyond its own and those of the input.
        arithmetic: Number format of the dense engine; the fast engine is always exact.
        max_steps: Maximum number of steps of the source language. Default: 10^6, and 10^8 on the fast engine.
        engine: ``"dense"``, ``"fast"``, or ``"auto"``: fast if the input or the run is long.
        checkpoint: File to which a long run is saved periodically.
        resume: Saved run to resume from.
        verify: If True, compares every token with the reference interpreter during the run; the outcome is in
            ``Run.verified_count`` and ``Run.difference``. If False, a run that diverges raises an error at the end.
        checked: If False, the run is not compared with the reference interpreter and is labelled as unchecked. Use it
            for models with edited weights.

    Returns:
        The run: tokens, verdict, tape or output, and statistics.

    Raises:
        DivergedError: If the output of the model diverges from the reference interpreter, unless ``verify``,
            ``checked=False`` or an arithmetic that rounds by definition permits it.
        UsageError: If both ``verify`` and ``checked=False`` are given.
    """
    from softmachine.engines.run import RunSession

    item = load(model, format, alphabet=alphabet)
    if word is None:
        word = source_of(item).default_input
    word = normalise_input(source_of(item), word)
    with allow_expensive(yes):
        running = RunSession(
            compile_for(item, word, CompileOptions(theorem, attention, context, length), max_steps),
            word,
            arithmetic=arithmetic,
            max_steps=max_steps,
            engine=engine,
            checkpoint=checkpoint,
            resume=resume,
            verify=verify,
            checked=checked,
        )
        for _ in running.chunks():
            pass
        return replace(running.result(), viewer=_notebook_page)


def _notebook_page(run: Run) -> str | None:
    """Return the page of a run for a notebook; None if the run is too long."""
    from softmachine.inspection.page import render_frame

    positions = len(run.prompt.tokens) + len(run.tokens)
    try:
        return render_frame(run) if positions <= MAX_PAGE_POSITIONS else None
    except SoftmachineError:  # notebooks show the text instead
        return None


@validate_arguments
def check(
    model: Model | Source | str | Path,
    source: Source | None = None,
    *,
    up_to: int | None = None,
    sample: int | None = None,
    length: int | None = None,
    seed: int = 0,
    theorem: str | Theorem | None = None,
    attention: str | None = None,
    context: int | None = None,
    alphabet: str | Iterable[str] | None = None,
    format: str | None = None,  # noqa: A002
    arithmetic: str | Arithmetic = "float64",
    max_steps: int = 10_000,
    first: bool = False,
    workers: int = 1,
    cluster: str | None = None,
    journal: str | Path | None = None,
    yes: bool = False,
) -> Report:
    """Compares a model with the reference interpreter on every input up to a length, or on a random sample.

    Args:
        model: A model, or a source, which is compiled first.
        source: The source that the model is compared with. Default: the one that it was compiled from.
        up_to: Checks every input up to this length. Default for circuits and graphs: all inputs, if they are few.
        sample: Checks this number of random inputs, all of length ``length``.
        length: Length of the random inputs; not needed for circuits and graphs, whose inputs have one length.
        context: Number of positions that the weights are built for, and length that soft attention is certified for,
            if a source is compiled. Default of the latter: the longest run tried.
        alphabet: Additional input symbols of a formula. By default, its alphabet is extended to at least two symbols.
        arithmetic: Number format that the model runs in.
        max_steps: Longer runs are compared up to this step.
        first: If True, stops at the first input on which model and interpreter differ.
        workers: Number of worker processes for long checks. They are started with the ``spawn`` method, so a script
            must protect its entry point with ``if __name__ == "__main__"``.
        cluster: Address of a Dask scheduler whose workers run the check; see ``docs/cluster.md``.
        journal: File that records finished parts; an interrupted check resumes from it.

    Returns:
        The report: inputs and tokens checked, and all disagreements.
    """
    from softmachine.studies.sweeps import CheckOptions, CheckRun
    from softmachine.support.parallel import select_executor

    item = load_with_two_letters(model, format, alphabet) if source is None else load(model, format, alphabet=alphabet)
    wanted = CheckOptions(up_to, sample, length, seed, arithmetic, max_steps, first)
    compiled = compile_for_check(item, wanted, CompileOptions(theorem, attention, context))
    if source is not None:
        other = find_theorem(source, compiled.theorem.name)
        compiled = replace(compiled, codec=other.build_codec(source, compiled.context), theorem=other)
    with allow_expensive(yes):
        factory = select_executor(None if cluster is not None and workers == 1 else workers, cluster)
        checking = CheckRun(compiled, wanted, factory=factory, journal=None if journal is None else Path(journal))
        for _ in checking:
            pass
        return checking.report


def compile_for_check(item: Source | Model, wanted: CheckOptions, options: CompileOptions) -> Model:
    """Compile a source to be checked: soft attention is certified for the context, or else for the longest run tried.

    Raises:
        UsageError: If finding the longest run would take too long.
    """
    if (
        options.attention != "soft"
        or options.context is not None
        or isinstance(item, Model)
        or "soft" in find_theorem(item, options.theorem).attentions
    ):
        return compile_item(item, options)
    hard = compile_item(item, replace(options, attention="hard"))
    sweep = wanted.select_inputs(hard)
    if isinstance(hard.codec, DecoderCodec):
        if sweep.total > MAX_RUNS_MEASURED:
            raise UsageError(
                f"soft attention is certified for the longest run, which is too expensive to find for "
                f"{sweep.count_text}",
                hint="check fewer inputs, or choose the context",
            )
        words = sweep.slice(0, int(sweep.total))
    else:
        words = islice(hard.codec.words(sweep.max_length), 1)  # all inputs of a length need as many positions
    longest = max((hard.codec.count_positions(word, wanted.max_steps) for word in words), default=0)
    return soften(hard, length=longest)[0]


@validate_arguments
def load(
    source: str | Path | Source | Model,
    format: str | None = None,  # noqa: A002
    *,
    alphabet: str | Iterable[str] | None = None,
) -> Source | Model:
    """Loads a source or a saved model.

    Args:
        source: A zoo name, a file, a string in a one-line format, or a folder written by :func:`save`; an object that
            is already loaded is returned unchanged.

    Returns:
        A model if ``source`` is a folder written by :func:`save`, otherwise a source.

    Raises:
        SourceError: If the source cannot be parsed.
        UsageError: If the string is not a zoo name, a file or a source in any format.
    """
    item = _read(source, format) if isinstance(source, str | Path) else source
    return item if alphabet is None else extend_alphabet(item, alphabet)


def load_with_two_letters(
    source: str | Path | Source | Model, format_name: str | None = None, alphabet: str | Iterable[str] | None = None
) -> Source | Model:
    """Load a source to run on many words: without ``alphabet``, a formula is extended to at least two letters."""
    item = load(source, format_name, alphabet=alphabet)
    return item if isinstance(item, Model) or alphabet is not None else ensure_two_symbols(item)


def source_of(item: Source | Model) -> Source:
    """Return the source itself, or the source that a model was compiled from."""
    return item.source if isinstance(item, Model) else item


def _read(source: str | Path, format_name: str | None) -> Source | Model:
    folder = find_saved_folder(source)
    if folder:
        from softmachine.exports import native

        return native.load(folder)
    from softmachine.theorems.read_source import read_source

    return read_source(str(source), format_name)


def find_saved_folder(source: str | Path) -> Path | None:
    """Return the folder of a saved model, or None; every ``Path`` to a folder counts as one."""
    from softmachine.exports.manifest import is_saved

    folder = Path(source)
    try:
        meant = is_saved(folder) or (isinstance(source, Path) and folder.is_dir())
    except (OSError, ValueError):  # a one-line source can be longer than a path may be
        return None
    return folder if meant else None


def extend_alphabet(item: Source | Model, alphabet: str | Iterable[str]) -> Source:
    """Extend the alphabet of a formula by the characters of a string, or by its words if it contains spaces.

    Raises:
        UsageError: If the source is not a formula.
    """
    if not isinstance(item, ExtensibleSource):
        raise UsageError("--alphabet is for formulas; other sources define their own input alphabet")
    if not isinstance(alphabet, str):
        return item.with_symbols(alphabet)
    return item.with_symbols(alphabet.split() if " " in alphabet.strip() else alphabet.strip())


@validate_arguments
def save(model: Model | Transformer, folder: str | Path, *, force: bool = False) -> None:
    """Saves a model to a folder that :func:`load` reads, or bare weights for :func:`load_weights`.

    Args:
        model: A model, or bare weights.
        folder: The folder to write.
    """
    from softmachine.exports import native

    if isinstance(model, Transformer):
        native.save_weights(model, Path(folder), force=force)
    else:
        native.save(model, Path(folder), force=force)


@validate_arguments
def load_weights(folder: str | Path) -> Transformer:
    """Loads the weights from a folder written by :func:`save`, without codec, theorem or source.

    Args:
        folder: The folder of a model or of bare weights.
    """
    from softmachine.exports import native

    return native.load_weights(Path(folder))


@validate_arguments
def export(
    model: Model | Source | str | Path,
    folder: str | Path,
    *,
    to: str = "gpt2",
    context: int | None = None,
    dtype: str | None = None,
    theorem: str | Theorem | None = None,
    force: bool = False,
    progress: ProgressCallback = ignore_progress,
    workers: int = 1,
) -> ExportRecord:
    """Exports a model as a checkpoint that other software loads, such as Hugging Face Transformers.

    The folder is written only after a stock model, loaded from the checkpoint, reproduces the output of the reference
    interpreter on sample inputs.

    Args:
        model: A model, or a source, which is compiled first. Hard attention is replaced by softmax, certified for
            ``context``.
        folder: The folder to write.
        to: Target format; see ``docs/export.md``.
        context: Number of positions: markers, input and steps together.
        dtype: Floating-point format of the weights. Default: ``"float32"``.
        theorem: The theorem to compile a source with. Default: the one designed for the format.
        progress: Progress callback; called with a short description of each stage.
        workers: Number of processes that run the stock model on sample inputs; see :func:`check`.

    Returns:
        The files written and the results of the verification.
    """
    from softmachine.exports.export import (
        DEFAULT_LENGTH,
        export_model,
        find_checkpoint_theorem,
        prepare_export,
        resolve_length,
    )
    from softmachine.support.parallel import ProcessPoolFactory, current_executor, use_executor

    item = load(model)
    dtype, folder = dtype or "float32", Path(folder)
    if isinstance(item, Model) and not is_compiled_by(item, theorem):
        raise UsageError(f"{item.name!r} is already compiled with {item.theorem.name}")
    form = prepare_export(to, dtype, folder, context, force=force)
    if isinstance(item, Model):
        positions, compiled = resolve_length(item, context), item
    else:
        positions = DEFAULT_LENGTH if context is None else context
        progress("compiling")
        chosen = find_theorem(item, theorem)
        if theorem is None:
            chosen = find_checkpoint_theorem(item, form, dtype) or chosen
        attention = "hard" if "hard" in chosen.attentions else "soft"
        compiled = compile(item, chosen, attention=attention, context=positions if chosen.length else None)
    with use_executor(ProcessPoolFactory(workers, requested=False) if workers > 1 else current_executor()):
        return export_model(compiled, folder, form, context=positions, dtype=dtype, force=force, progress=progress)


__all__ = ["gallery", "inspect", "page", "picture"]


@validate_arguments
def inspect(run: Run, *, yes: bool = False) -> Inspection:
    """Returns the activations of a run: attention, residual stream and logits at any position, in exact numbers.

    Args:
        run: The run.
    """
    from softmachine.inspection import Inspection

    return Inspection(run, yes=yes)


@validate_arguments
def page(
    run: Run,
    file: str | Path,
    *,
    position: int | None = None,
    step: int | None = None,
    command: str | None = None,
    yes: bool = False,
) -> None:
    """Writes a self-contained HTML page with the activations of a run.

    Args:
        run: The run.
        file: A new file with the extension .html or .htm.
        position: Position at which the page opens; of a long run, the page contains a window around it.
        step: The same, given as a step of the source language.
        command: The command that produces the page, shown on it.
    """
    from softmachine.inspection.page import render_html
    from softmachine.support.files import write_file

    require_page_file(Path(file))
    if step is not None:
        position = inspect(run).position_of_step(step)
    with allow_expensive(yes):
        write_file(Path(file), render_html(run, command, position))


def require_page_file(file: Path) -> None:
    """Require the name of a new file with the extension .html or .htm.

    Raises:
        UsageError: If the file exists or has another extension.
    """
    from softmachine.support.files import require_creatable, require_suffix

    require_suffix(file, ".html", ".htm")
    require_creatable(file)


@validate_arguments
def gallery(folder: str | Path, *, progress: ProgressCallback = ignore_progress) -> list[Path]:
    """Writes pages of selected runs of the zoo, and an index.

    Args:
        folder: A new folder.
        progress: Progress callback; called with a short description of each stage.

    Returns:
        The pages written, without the index.
    """
    from softmachine.inspection.page import GALLERY_ITEMS, render_html, render_index
    from softmachine.support.files import atomic_folder, require_creatable, write_file

    folder, pages, shown = Path(folder), {}, []
    require_creatable(folder)
    for item in GALLERY_ITEMS:
        progress(f"writing the page of {item.title}")
        found = run(item.source, item.input, theorem=item.theorem, attention=item.attention)
        pages[item.file] = render_html(found, item.command)
        shown.append((item, found.model.source.language, found.verdict or "not halted"))
    with atomic_folder(folder) as new:
        for file, text in (*pages.items(), ("index.html", render_index(shown))):
            write_file(new / file, text)
    return [folder / file for file in pages]


@validate_arguments
def picture(
    subject: Run | Model, *, position: int | None = None, step: int | None = None, attention: bool | str = False
) -> Picture:
    """Draws one step of a run, its attention patterns, or the architecture diagram of a model, as SVG.

    Args:
        subject: A run, or a model.
        position: Position of the run. Default: the last one.
        step: The same, given as a step of the source language.
        attention: If True, draws the attention of all heads up to the position; if a string, that of the head with
            this name.
    """
    from softmachine.inspection.svg import draw_architecture, draw_attention, draw_step

    if isinstance(subject, Model):
        return draw_architecture(subject.weights)
    inspection = inspect(subject)
    if step is not None:
        position = inspection.position_of_step(step)
    where = -1 if position is None else position
    if attention:
        return draw_attention(inspection, attention if isinstance(attention, str) else None, where)
    return draw_step(inspection, where)


@validate_arguments
def dataset(
    source: Model | Source | str | Path,
    *,
    up_to: int | None = None,
    sample: int | None = None,
    length: int | str | None = None,
    seed: int = 0,
    balance: bool = False,
    near_misses: bool = False,
    long_traces: float = 0.0,
    split: str = "train=0.8,validation=0.1,test=0.1",
    max_steps: int = 100_000,
    skip_unfinished: bool = False,
    theorem: str | Theorem | None = None,
    context: int | None = None,
    alphabet: str | Iterable[str] | None = None,
    format: str | None = None,  # noqa: A002
) -> Dataset:
    """Creates a data set of words with their traces, outputs and verdicts. Iterate over it, or ``save`` it to a file.

    No weights are compiled: the traces are those of the reference interpreter, in the tokens of the theorem.

    Args:
        source: A source, or a model, whose tokens are used.
        up_to: Includes every word up to this length. Default for circuits and graphs: all inputs, if they are few.
        sample: Number of distinct random words for each range of ``length``.
        length: Length of the random words, or ranges of lengths, like ``"1-50"`` or ``"1-50,51-100"``.
        seed: Seed of the random words; the same seed gives the same rows.
        balance: If True, half of the words are accepted and half rejected.
        near_misses: If True, words come in pairs at edit distance 1, one accepted and one rejected.
        long_traces: Minimum share of words whose traces have more than ten tokens.
        split: Assignment of words to parts, like ``"train=0.9,test=0.1"`` or ``"train=0-50,longer=51-100"``; see
            ``docs/datasets.md``.
        max_steps: Maximum number of steps of a run.
        skip_unfinished: If True, omits words whose runs take more steps; otherwise they raise an error.
        theorem: The theorem whose tokens are used. Default: the first that applies.
        context: Number of positions that its weights would be built for, if they depend on it.
        alphabet: Additional input symbols of a formula. By default, its alphabet is extended to at least two symbols.
    """
    from softmachine.studies.datasets import Constraints, Dataset, Split, parse_bins

    item = load_with_two_letters(source, format, alphabet)
    if isinstance(item, Model):
        model = compile(item, theorem, context=context)
        codec, positions, notes = model.codec, model.context, model.notes
    else:
        notes = ()
        chosen = find_theorem(item, theorem)
        positions = context if chosen.takes_context(item) else None
        codec = chosen.build_codec(item, positions)
    return Dataset(
        codec=codec,
        bins=parse_bins(codec, up_to=up_to, sample=sample, length=length),
        sample=sample,
        seed=seed,
        constraints=Constraints(balance, near_misses, long_traces),
        split=Split.parse(split),
        max_steps=max_steps,
        positions=positions,
        skip_unfinished=skip_unfinished,
        notes=notes,
    )
