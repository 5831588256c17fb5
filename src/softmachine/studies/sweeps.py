"""Sweeps over many words, in this process or on workers, part by part; such as the check of a model.

Workers receive text and numbers, never weights: a model is sent as its recipe (theorem, source text, attention and
lengths), with the digest of the weights. A worker compiles it again and compares the digest. Digests differ if the
worker has another version of softmachine, or if the weights were not compiled from the source, such as edited weights
of a folder; such a model is not sent to workers.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import asdict, dataclass, replace
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path

from softmachine.certify import certify_theorem_program
from softmachine.certify.promises import check_plugin_promises
from softmachine.compiler import compile_program
from softmachine.compiler.model import Model
from softmachine.engines import check
from softmachine.engines.check import Disagreement, InputSelection, Report
from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.numerics import Arithmetic
from softmachine.exports.native import load_theorem_and_source, serialize_source
from softmachine.support import __version__
from softmachine.support.errors import (
    BrokenPromiseError,
    FixHint,
    SourceError,
    SourceLocation,
    UsageError,
    WorkerMismatchError,
)
from softmachine.support.parallel import ExecutorFactory, Journal, Json, PartResult, RangeFunction, map_range
from softmachine.support.progress import ProgressCallback, ignore_progress
from softmachine.support.resources import allow_expensive, is_allowed
from softmachine.transformer.weights import compute_digest


@dataclass(frozen=True)
class Recipe:
    """Everything needed to compile a model again.

    Args:
        theorem: The name of the theorem.
        source: The source as text: its language, name and text; None if the theorem is about a single source.
        attention: The kind of attention.
        length: The length that the weights are built for.
        certified: The length for which softmax is certified, and the sharpness.
        digest: The digest of the weights.
        version: The version of softmachine.
    """

    theorem: str
    source: tuple[tuple[str, str], ...] | None
    attention: str
    length: int | None
    certified: tuple[int, int] | None
    digest: str
    version: str = __version__

    @staticmethod
    def from_model(model: Model) -> Recipe | None:
        """The recipe of a model; None if its source has no text."""
        try:
            written = serialize_source(model.source, model.theorem)
        except UsageError:
            return None
        theorem = model.theorem
        attention = model.attention if model.attention in theorem.attentions else theorem.attentions[0]
        source = None if written is None else tuple(written.items())
        certified = (
            None
            if model.valid_certificate is None
            else (model.valid_certificate.length, model.valid_certificate.sharpness)
        )
        return Recipe(theorem.name, source, attention, model.context, certified, compute_digest(model.weights))

    def compile(self) -> Model:
        """Compile the model, once per process.

        Raises:
            WorkerMismatchError: If the version of softmachine or the digest differs.
        """
        if self.version != __version__:
            raise WorkerMismatchError(
                f"a worker has softmachine {__version__} instead of {self.version}",
                hint="install the same version on all machines",
            )
        model = _compile_cached(self)
        found = compute_digest(model.weights)
        if found != self.digest:
            name = model.name
            raise WorkerMismatchError(
                f"a worker compiled other weights of {name!r} by {self.theorem}: their digest is {found[:12]}…, not "
                f"{self.digest[:12]}…",
                hint=FixHint(
                    "weights that this version did not compile run in one process only: {}", workers=1, cluster=None
                ),
            )
        return model


@lru_cache(maxsize=4)
def _compile_cached(recipe: Recipe) -> Model:
    theorem, source = load_theorem_and_source(recipe.theorem, None if recipe.source is None else dict(recipe.source))
    codec = theorem.build_codec(source, recipe.length)
    model = Model(compile_program(theorem.signals(codec, recipe.attention)), codec, theorem, recipe.length)
    if recipe.certified is None:
        return model
    proof = certify_theorem_program(model, *recipe.certified)
    return replace(model, weights=proof.soft_transformer, certificate=proof)


@dataclass(frozen=True)
class CheckOptions:
    """Which words are checked, and how; sent to workers.

    Args:
        up_to: Every word up to this length.
        sample: Number of random words of length ``length``.
        length: Length of the random words.
        seed: Seed of the random words.
        arithmetic: The arithmetic; one that is not given by name is confined to its process.
        max_steps: Longer runs are compared up to this step.
        stop_at_first: Whether to stop at the first word on which model and interpreter differ.
    """

    up_to: int | None = None
    sample: int | None = None
    length: int | None = None
    seed: int = 0
    arithmetic: str | Arithmetic = "float64"
    max_steps: int = 10_000
    stop_at_first: bool = False

    def select_inputs(self, model: Model) -> InputSelection:
        """Return the words of a model to check."""
        return InputSelection.choose(model, up_to=self.up_to, sample=self.sample, length=self.length, seed=self.seed)


@dataclass(frozen=True)
class CheckJob:
    """Description of a check that is sent to a worker.

    Args:
        recipe: How the model is compiled.
        options: Which words are checked, and how.
        allow_expensive: Whether estimates of time and memory are ignored.
    """

    recipe: Recipe
    options: CheckOptions
    allow_expensive: bool


def make_check_worker(model: Model, options: CheckOptions) -> RangeFunction:
    """Return a function that checks a part of the words in this process; the weights are prepared once."""
    inputs, engine = options.select_inputs(model), DenseEngine(model.weights, options.arithmetic)

    def work(start: int, stop: int) -> Json:
        report = _check_part(inputs, engine, options, start, stop)
        return {
            "inputs": report.inputs,
            "tokens": report.tokens,
            "disagreements": [asdict(each) for each in report.disagreements],
        }

    return work


def _check_part(inputs: InputSelection, engine: DenseEngine, options: CheckOptions, start: int, stop: int) -> Report:
    """Check a part of the words; with ``stop_at_first``, up to the first disagreement."""

    def checked(count: int) -> Report:
        words = islice(inputs.slice(start, stop), count)
        return check.check_inputs(inputs.model, words, arithmetic=engine, max_steps=options.max_steps)

    report = checked(stop - start)
    if report.holds or not options.stop_at_first:
        return report
    # The words before it agree, so the counts do not depend on how the words are divided into parts.
    wrong = report.disagreements[0].word
    return checked(next(k for k, word in enumerate(inputs.slice(start, stop), 1) if word == wrong))


@lru_cache(maxsize=2)
def _cached_worker(recipe: Recipe, options: CheckOptions) -> RangeFunction:
    return make_check_worker(recipe.compile(), options)


def check_part(job: CheckJob, start: int, stop: int) -> Json:
    """Check a part of the words on a worker."""
    with allow_expensive(job.allow_expensive):
        return _cached_worker(job.recipe, job.options)(start, stop)


class CheckRun:
    """Check of a model: iterating performs it and updates ``report``, which is complete at the end.

    Apart from ``seconds``, the report does not depend on the number of workers: all words are checked in one order, or
    all up to the first disagreement.

    Args:
        model: The model.
        options: Which words, and how.
        factory: The executor for long checks.
        journal: File that records finished parts.
        progress: Progress callback; called if the executor cannot be used.
    """

    def __init__(
        self,
        model: Model,
        options: CheckOptions,
        *,
        factory: ExecutorFactory | None = None,
        journal: Path | None = None,
        progress: ProgressCallback = ignore_progress,
    ) -> None:
        self.model, self.options, self.factory, self.progress = model, options, factory, progress
        self.inputs = options.select_inputs(model)
        self.journal = journal
        self.report = Report(inputs=0, tokens=0, disagreements=(), seconds=0.0, notes=model.notes)

    def __iter__(self) -> Iterator[PartResult]:
        began = time.perf_counter()
        self._check_promises()
        with self._open_journal() as journal, closing(self._parts(journal)) as found:
            for part in found:
                self.report = replace(self.report.merge(self._decode_report(part)), seconds=time.perf_counter() - began)
                yield part
                if self.options.stop_at_first and not self.report.holds:
                    return

    def _check_promises(self) -> None:
        """Test the promises of a plug-in, which certificates depend on."""
        try:
            tested = check_plugin_promises(self.model, self.inputs.max_length)
        except BrokenPromiseError as error:
            self.report = replace(self.report, broken_promise=error.message)
        else:
            notes = self.report.notes if tested is None else (*self.report.notes, str(tested))
            self.report = replace(self.report, notes=notes)

    def _parts(self, journal: Journal | None) -> Generator[PartResult, None, None]:
        workers, known = self.factory.worker_count if self.factory else 1, journal.finished_count if journal else 0
        forecast = self.inputs.forecast_cost(self.options.arithmetic, self.options.max_steps, workers, known)
        here = make_check_worker(self.model, self.options)
        return map_range(
            here,
            self.inputs.total,
            remote_work=self._make_remote_work,
            factory=self.factory,
            journal=journal,
            check=forecast.check,
            progress=self.progress,
        )

    def _make_remote_work(self) -> RangeFunction | None:
        recipe = self._recipe()
        return None if recipe is None else partial(check_part, CheckJob(recipe, self.options, is_allowed()))

    def _recipe(self) -> Recipe | None:
        return Recipe.from_model(self.model) if isinstance(self.options.arithmetic, str) else None

    def _open_journal(self) -> AbstractContextManager[Journal | None]:
        if self.journal is None:
            return nullcontext()
        recipe = self._recipe()
        if recipe is None:
            raise UsageError(
                f"a sweep of {self.model.name!r} cannot have a journal: no source text determines its weights"
            )
        return closing(Journal(self.journal, {"sweep": "check", **asdict(recipe), **asdict(self.options)}))

    def _decode_report(self, part: PartResult) -> Report:
        """Decode the report of a part; a matching journal without one was modified."""
        try:
            found = [
                Disagreement(**{**each, **{name: tuple(each[name]) for name in ("word", "before", "names")}})
                for each in part.result["disagreements"]
            ]
            return Report(int(part.result["inputs"]), int(part.result["tokens"]), tuple(found), part.seconds)
        except (LookupError, TypeError, ValueError):
            raise SourceError(
                "the journal is damaged: invalid report", place=SourceLocation(str(self.journal))
            ) from None
