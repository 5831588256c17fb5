"""The public functions: load, compile, soften, certificate, run, check, inspect, page, save, export, dataset."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, overload

from softmachine.compiler import compile_program
from softmachine.compiler.model import Model
from softmachine.languages.source import Extensible, Source, input_of, with_letters_of, with_two_letters
from softmachine.support.arguments import validated
from softmachine.support.errors import OutgrownError, Remedy, SoftmachineError, UsageError
from softmachine.support.estimates import consent
from softmachine.support.progress import Tell, nobody
from softmachine.theorems import Theorem, theorem_for
from softmachine.theorems.theorem import MOST_CONTEXT
from softmachine.transformer.weights import Transformer

if TYPE_CHECKING:
    from softmachine.certify import Certificate, WeightCertificate
    from softmachine.engines.check import Report
    from softmachine.engines.numerics import Arithmetic
    from softmachine.engines.result import Run
    from softmachine.exports.writing import Exported
    from softmachine.inspection import Inspection
    from softmachine.inspection.svg import Picture
    from softmachine.studies.datasets import Dataset


MOST_STEPS = 100_000_000
"""As many as the fast engine makes unasked."""


@validated
def compile(  # noqa: A001
    source: str | Path | Source | Model,
    theorem: str | Theorem | None = None,
    *,
    attention: str | None = None,
    context: int | None = None,
    length: int | None = None,
    alphabet: str | Iterable[str] | None = None,
    format: str | None = None,  # noqa: A002
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
        alphabet: For a formula: more symbols that words may have.
        format: The format of the source; by default it is recognised.
        construction: An older name of ``theorem``.
    """
    item = load(source, format, alphabet=alphabet)
    theorem = theorem or construction
    if isinstance(item, Model):
        _require_as_compiled(item, theorem, attention, max(context or 0, length or 0))
        return item
    chosen = theorem_for(item, theorem)
    context, length = length if context is None else context, context if length is None else length
    own = chosen.length and "soft" in chosen.attentions
    if length is not None and attention == "soft" and not own:
        return soften(compile(item, chosen, attention="hard", context=context), length=length)[0]
    attention, made_for = chosen.attention(attention), context if chosen.takes_length(item) else None
    codec = chosen.codec_for(item, made_for)
    return Model(compile_program(chosen.signals(codec, attention)), codec, chosen, made_for, notes=codec.notes)


def _require_as_compiled(model: Model, theorem: str | Theorem | None, attention: str | None, length: int) -> None:
    """Complain if a model is wanted as it was not compiled."""
    if not compiled_by(model, theorem) or attention not in (None, model.attention):
        raise UsageError(f"{model.name!r} is already compiled, by {model.theorem.name}, {model.attention} attention")
    if model.length is not None and length > model.length:
        raise UsageError(f"{model.name!r} was made for length {model.length}, not {length}")


def compiled_by(model: Model, theorem: str | Theorem | None) -> bool:
    """Whether a model was compiled by this theorem, if one is named."""
    return theorem is None or model.theorem.name == (theorem.name if isinstance(theorem, Theorem) else theorem)


@validated
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
    item = load(source)
    if isinstance(item, Model):
        return compile(item, theorem, attention=attention, context=context, length=length)
    item = with_letters_of(item, word)
    chosen = theorem_for(item, theorem)
    notes: tuple[str, ...] = ()
    steps = MOST_STEPS if max_steps is None else max_steps
    if context is None and length is None and chosen.wants_length(item, word, steps):
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


@overload
def soften(
    model: Transformer, *, length: int, sharpness: int | None = ..., yes: bool = ...
) -> tuple[Transformer, WeightCertificate]: ...
@overload
def soften(
    model: Model | Source | str | Path, *, length: int, sharpness: int | None = ..., yes: bool = ...
) -> tuple[Model, Certificate]: ...
@validated
def soften(
    model: Model | Source | str | Path | Transformer, *, length: int, sharpness: int | None = None, yes: bool = False
) -> tuple[Model, Certificate] | tuple[Transformer, WeightCertificate]:
    """The softmax model that gives what the hard one gives, on every input up to a length, and the proof.

    Args:
        model: A model with hard attention, or a source; or bare weights, built by hand or read by
            :func:`load_weights`, of which every sequence of up to n+1 tokens is an input.
        length: Inputs (of a decoder: input and run together) have at most so many symbols.
        sharpness: The scaled gap of every head; by default the smallest that is certified.
        yes: Whether to go on, even if it takes more than ten minutes or half of the free memory.

    Raises:
        ConstructionError: If no temperature, or not this one, is certified, or if the weights of a model are not those
            that its theorem compiles; the message gives the reason.
    """
    from softmachine.certify import certify_model, soften_weights

    with consent(yes):
        if isinstance(model, Transformer):
            return soften_weights(model, length, sharpness)
        hard = model if isinstance(model, Model) else compile(model, attention="hard", length=length)
        proof = certify_model(hard, length, sharpness)
    return replace(hard, weights=proof.softened, certificate=proof), proof


@overload
def certificate(
    model: Transformer, *, length: int, sharpness: int | None = ..., yes: bool = ...
) -> WeightCertificate: ...
@overload
def certificate(
    model: Model | Source | str | Path, *, length: int, sharpness: int | None = ..., yes: bool = ...
) -> Certificate: ...
@validated
def certificate(
    model: Model | Source | str | Path | Transformer, *, length: int, sharpness: int | None = None, yes: bool = False
) -> Certificate | WeightCertificate:
    """The certificate of :func:`soften`; it may say that it does not hold."""
    from softmachine.certify import certify_model, certify_weights

    with consent(yes):
        if isinstance(model, Transformer):
            return certify_weights(model, length, sharpness)
        return certify_model(compile(model, attention="hard", length=length), length, sharpness)


MOST_FRAMED = 2_000
"""Notebooks show the page of a run of so many positions at most; of a longer one, its text."""


@validated
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
    """Run a model (or a source, compiled on the way) on an input until it stops, or for so many steps.

    Args:
        model: A model, or a source.
        word: The input: text, its symbols, or for a RASP program the values of its vocabulary, such as numbers; by
            default the one that the source suggests, or else the empty word.
        theorem: What to compile by, if the model is compiled on the way.
        attention: "hard" or "soft", likewise.
        context: The length to make the weights for, likewise; by default what the run needs.
        length: The length to certify softmax for, likewise; by default what the run needs.
        alphabet: For a formula: more symbols than it and the input have.
        format: The format of the source; by default it is recognised.
        arithmetic: The arithmetic to run it in; the fast engine is exact whatever it is.
        max_steps: How many steps of the source language to allow; by default a million, and a hundred million on the
            fast engine.
        engine: "dense", "fast", or "auto": fast if the input is long, or the run turns out to be.
        checkpoint: A file that a long run is written to now and then.
        resume: The saved run to go on from.
        yes: Whether to go on, even if reading the input takes more than ten minutes or half of the free memory.
        verify: Whether to compare every token with the reference interpreter, as it comes; ``Run.verified`` and
            ``Run.difference`` say what came of it. Without it, a run that is not the source's is an error in the end.
        checked: False for a model whose weights were edited: the run is whatever the weights emit, it is not compared
            with the reference interpreter, and it is labelled as unchecked.

    Raises:
        PartedError: If the model says what the source does not, and neither ``verify``, ``checked=False`` nor an
            arithmetic that rounds by definition allows for it.
        UsageError: If both ``verify`` and ``checked=False`` are given.
    """
    from softmachine.engines.run import Running

    item = load(model, format, alphabet=alphabet)
    if word is None:
        word = source_of(item).default_input
    word = input_of(source_of(item), word)
    lengths = {"context": context, "length": length, "max_steps": max_steps}
    with consent(yes):
        running = Running(
            compile_for(item, word, theorem, attention=attention, **lengths),
            word,
            arithmetic=arithmetic,
            max_steps=max_steps,
            engine=engine,
            checkpoint=checkpoint,
            resume=resume,
            verify=verify,
            checked=checked,
        )
        for _ in running.pieces():
            pass
        return replace(running.so_far(), viewer=_framed)


def _framed(run: Run) -> str | None:
    """The page of a run for a notebook; None if it is too long to be made while somebody waits."""
    from softmachine.inspection.page import frame

    positions = len(run.prompt.tokens) + len(run.tokens)
    try:
        return frame(run) if positions <= MOST_FRAMED else None
    except SoftmachineError:  # the text says what there is to say
        return None


@validated
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
    certified: int | None = None,
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
    """Compare a model with the reference interpreter: on every input up to a length, or on a random sample.

    Args:
        model: A model, or a source that is compiled on the way.
        source: The object the model should implement; left out, the one that it was compiled from.
        up_to: Try every input up to this length; by default all of a circuit or graph, if they are few.
        sample: Try so many random inputs …
        length: … of this length; those of a circuit or graph have one.
        seed: Which random inputs.
        theorem: What to compile by, if the model is compiled on the way.
        attention: "hard" or "soft", likewise.
        context: The length to make the weights for, likewise.
        certified: The length to certify softmax for, likewise.
        alphabet: For a formula: more symbols that words may have; by default it has two letters at least.
        format: The format of the source; by default it is recognised.
        arithmetic: The arithmetic to run the model in.
        max_steps: Longer runs are compared up to here.
        first: Whether to stop at the first input on which they differ.
        workers: How many processes work on it, if it takes a while. They start as Python's own do, so a script that
            asks for them keeps its work below ``if __name__ == "__main__"``.
        cluster: The address of a Dask scheduler, whose workers do it; see ``docs/cluster.md``.
        journal: A file that keeps what is done; a sweep that was interrupted goes on from it.
        yes: Whether to go on, even if it takes more than ten minutes or half of the free memory.
    """
    from softmachine.studies.sweeps.check import Checking, Wanted
    from softmachine.support.parallel import crew_of

    item = load_for_many_words(model, format, alphabet) if source is None else load(model, format, alphabet=alphabet)
    compiled = compile(item, theorem, attention=attention, context=context, length=certified)
    if source is not None:
        other = theorem_for(source, compiled.theorem.name)
        compiled = replace(compiled, codec=other.codec_for(source, compiled.length), theorem=other)
    with consent(yes):
        crew = crew_of(None if cluster is not None and workers == 1 else workers, cluster)
        wanted = Wanted(up_to, sample, length, seed, arithmetic, max_steps, first)
        checking = Checking(compiled, wanted, crew=crew, journal=None if journal is None else Path(journal))
        for _ in checking:
            pass
        return checking.report


@validated
def load(
    source: str | Path | Source | Model,
    format: str | None = None,  # noqa: A002
    *,
    alphabet: str | Iterable[str] | None = None,
) -> Source | Model:
    """A zoo name, a file, a string in a one-line format, or a folder that :func:`save` wrote.

    Args:
        source: What to load; what is loaded already is taken as it is.
        format: The name of its format; by default it is recognised.
        alphabet: For a formula: more symbols that words may have.

    Raises:
        SourceError: If it cannot be read.
        UsageError: If it is nothing that could be.
    """
    item = _read(source, format) if isinstance(source, str | Path) else source
    return item if alphabet is None else extended(item, alphabet)


def load_for_many_words(
    source: str | Path | Source | Model, format_name: str | None = None, alphabet: str | Iterable[str] | None = None
) -> Source | Model:
    """The same to try many words on: a formula has at least two letters, if nothing is said about its alphabet."""
    item = load(source, format_name, alphabet=alphabet)
    return item if isinstance(item, Model) or alphabet is not None else with_two_letters(item)


def source_of(item: Source | Model) -> Source:
    """What was loaded, or what it was compiled from."""
    return item.source if isinstance(item, Model) else item


def _read(source: str | Path, format_name: str | None) -> Source | Model:
    folder = saved_folder(source)
    if folder:
        from softmachine.exports import native

        return native.load(folder)
    from softmachine.theorems.read_source import read_source

    return read_source(str(source), format_name)


def saved_folder(source: str | Path) -> Path | None:
    """The folder of a saved model, if the source is one; a path to a folder is taken for one."""
    from softmachine.exports.manifest import is_saved

    folder = Path(source)
    try:
        meant = is_saved(folder) or (isinstance(source, Path) and folder.is_dir())
    except (OSError, ValueError):  # a one-line source can be longer than a path may be
        return None
    return folder if meant else None


def extended(item: Source | Model, alphabet: str | Iterable[str]) -> Source:
    """A formula over more symbols: characters of a text, or its words if there are blanks in it.

    Raises:
        UsageError: If it is no formula.
    """
    if not isinstance(item, Extensible):
        raise UsageError("--alphabet is for formulas; other sources say themselves what an input may have")
    if not isinstance(alphabet, str):
        return item.extended(alphabet)
    return item.extended(alphabet.split() if " " in alphabet.strip() else alphabet.strip())


@validated
def save(model: Model | Transformer, folder: str | Path, *, force: bool = False) -> None:
    """Write a model to a folder, from which :func:`load` reads it; or bare weights, for :func:`load_weights`."""
    from softmachine.exports import native

    if isinstance(model, Transformer):
        native.save_weights(model, Path(folder), force=force)
    else:
        native.save(model, Path(folder), force=force)


@validated
def load_weights(folder: str | Path) -> Transformer:
    """The weights of a folder that :func:`save` wrote, of a model or bare, without what they are for."""
    from softmachine.exports import native

    return native.load_weights(Path(folder))


@validated
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
    workers: int = 1,
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
        workers: How many processes run the stock model on sample inputs, if that takes a while; see :func:`check`.
    """
    from softmachine.exports.export import DEFAULT_LENGTH, positions_of, ready, stock_theorem, written
    from softmachine.support.parallel import Processes, hired, hiring

    item = load(model)
    wanted, dtype, folder = theorem or construction, dtype or "float32", Path(folder)
    if isinstance(item, Model) and not compiled_by(item, wanted):
        raise UsageError(f"{item.name!r} is already compiled, by {item.theorem.name}")
    form = ready(to, dtype, folder, length, force=force)
    if isinstance(item, Model):
        positions, compiled = positions_of(item, length), item
    else:
        positions = DEFAULT_LENGTH if length is None else length
        tell("compiling")
        chosen = theorem_for(item, wanted)
        if wanted is None:
            chosen = stock_theorem(item, form, dtype) or chosen
        attention = "hard" if "hard" in chosen.attentions else "soft"
        compiled = compile(item, chosen, attention=attention, length=positions if chosen.length else None)
    with hiring(Processes(workers, asked=False) if workers > 1 else hired()):
        return written(compiled, folder, form, length=positions, dtype=dtype, force=force, tell=tell)


__all__ = ["gallery", "inspect", "page", "picture"]


@validated
def inspect(run: Run, *, yes: bool = False) -> Inspection:
    """A run from the inside: what heads saw, the residual stream and the logits at any position, in exact numbers.

    Args:
        run: The run.
        yes: Whether to go on, even if that takes more than ten minutes or half of the free memory.
    """
    from softmachine.inspection import Inspection

    return Inspection(run, yes=yes)


@validated
def page(
    run: Run,
    file: str | Path,
    *,
    position: int | None = None,
    step: int | None = None,
    command: str | None = None,
    yes: bool = False,
) -> None:
    """Write a page that shows a run from the inside: one file that a browser opens, and that needs nothing else.

    Args:
        run: The run.
        file: A new file, which ends in .html or .htm.
        position: The position that it opens at, and that it has a window around if the run is long.
        step: The same as a step of the source language.
        command: What makes this page, for its readers.
        yes: Whether to go on, even if that takes more than ten minutes or half of the free memory.
    """
    from softmachine.inspection.page import html
    from softmachine.support.files import write

    require_page_file(Path(file))
    if step is not None:
        position = inspect(run).position_of(step)
    with consent(yes):
        write(Path(file), html(run, command, position))


def require_page_file(file: Path) -> None:
    """Require a name that a page can be written to: a new one, which ends in .html or .htm.

    Raises:
        UsageError: If it is not one.
    """
    from softmachine.support.files import require_new, require_suffix

    require_suffix(file, ".html", ".htm")
    require_new(file)


@validated
def gallery(folder: str | Path, *, tell: Tell = nobody) -> list[Path]:
    """Write pages of some runs of the zoo, and an index of them; the files that were written.

    Args:
        folder: A new folder.
        tell: Is told what is being done.
    """
    from softmachine.inspection.page import EXHIBITS, html, index
    from softmachine.support.files import new_folder, require_new, write

    folder, pages, shown = Path(folder), {}, []
    require_new(folder)
    for item in EXHIBITS:
        tell(f"making the page of {item.title}")
        found = run(item.source, item.word, theorem=item.theorem, attention=item.attention)
        pages[item.file] = html(found, item.command)
        shown.append((item, found.model.source.language, found.verdict or "goes on"))
    with new_folder(folder) as new:
        for file, text in (*pages.items(), ("index.html", index(shown))):
            write(new / file, text)
    return [folder / file for file in pages]


@validated
def picture(
    shown: Run | Model, *, position: int | None = None, step: int | None = None, attention: bool | str = False
) -> Picture:
    """A picture for a paper or a slide, as SVG: of one step of a run, of attention patterns, or of a model's board.

    Args:
        shown: A run, or a model.
        position: The position of the run; by default the last one.
        step: The same as a step of the source language.
        attention: What all heads of a run looked at up to there, or what the head of this name did.
    """
    from softmachine.inspection.svg import attention_picture, board_picture, step_picture

    if isinstance(shown, Model):
        return board_picture(shown.weights)
    inspection = inspect(shown)
    if step is not None:
        position = inspection.position_of(step)
    where = -1 if position is None else position
    if attention:
        return attention_picture(inspection, attention if isinstance(attention, str) else None, where)
    return step_picture(inspection, where)


@validated
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
    """Words of a source with their traces, outputs and verdicts: iterate over it for rows, or ``save`` it to a file.

    Nothing is compiled: what a model should say is what the reference interpreter says, in the tokens of the theorem.

    Args:
        source: A source, or a model, whose tokens are taken.
        up_to: Every word up to this length; by default all of a circuit or graph, if they are few.
        sample: So many different random words …
        length: … of this length, or of each of these ranges, like "1-50" or "1-50,51-100".
        seed: Which random words; the same seed gives the same rows.
        balance: Whether half of the words are accepted and half rejected.
        near_misses: Whether words come in pairs, one edit apart, of which one is accepted and one rejected.
        long_traces: The share of words whose traces have more than ten tokens, at least.
        split: Which words belong to which part, like "train=0.9,test=0.1" or "train=0-50,longer=51-100"; see
            ``docs/datasets.md``.
        max_steps: How many steps a run may take.
        skip_unfinished: Whether words are left out whose runs take more; else they are refused.
        theorem: The theorem whose tokens are used; by default the first that applies.
        context: The length that its weights would be made for, if they depend on one.
        alphabet: For a formula: more symbols that words may have; by default it has two letters at least.
        format: The format of the source; by default it is recognised.
    """
    from softmachine.studies.datasets import Dataset, Split, Wishes, bins_of

    item = load_for_many_words(source, format, alphabet)
    if isinstance(item, Model):
        model = compile(item, theorem, context=context)
        codec, positions, notes = model.codec, model.length, model.notes
    else:
        notes = ()
        chosen = theorem_for(item, theorem)
        positions = context if chosen.takes_length(item) else None
        codec = chosen.codec_for(item, positions)
    return Dataset(
        codec=codec,
        bins=bins_of(codec, up_to=up_to, sample=sample, length=length),
        sample=sample,
        seed=seed,
        wishes=Wishes(balance, near_misses, long_traces),
        split=Split.parse(split),
        max_steps=max_steps,
        positions=positions,
        skip_unfinished=skip_unfinished,
        notes=notes,
    )
