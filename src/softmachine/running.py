"""The public functions that run models: on one input, or on many, compared with the reference interpreter."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from softmachine.compiler.model import Model
from softmachine.compiling import compile, compile_for  # noqa: A004
from softmachine.languages.source import Source, input_of
from softmachine.loading import load, load_for_many_words, source_of
from softmachine.support.arguments import validated
from softmachine.support.errors import SoftmachineError
from softmachine.support.estimates import consent
from softmachine.theorems import Theorem, theorem_for

if TYPE_CHECKING:
    from softmachine.engines.check import Report
    from softmachine.engines.numerics import Arithmetic
    from softmachine.engines.result import Run

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
