"""Myhill–Nerode slices of a language, its words decided in this process or on workers.

Membership is decided by the reference interpreter of the source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TypeAlias

from softmachine.languages import counter, crasp, srasp, temporal, turing
from softmachine.languages.formats import deserialise_source, serialise_source
from softmachine.languages.source import Source
from softmachine.studies.measure.myhill_nerode import (
    MyhillNerodeSlice,
    forecast_deciding,
    iterate_words,
    require_enumerable,
    slices_from_verdicts,
)
from softmachine.support import __version__
from softmachine.support.errors import SourceError, SourceLocation, UsageError, WorkerMismatchError
from softmachine.support.parallel import ExecutorFactory, Journal, Json, PartResult, RangeFunction, map_range
from softmachine.support.progress import ProgressCallback, ignore_progress
from softmachine.support.text import pluralize

MAX_STEPS = 1_000_000

Word: TypeAlias = tuple[str, ...]


def membership_predicate(source: Source, *, max_steps: int = MAX_STEPS) -> Callable[[Word], bool]:
    """Return the membership predicate of a source.

    The predicate raises a `UsageError` for a word on which the run does not end within the step limit.

    Raises:
        UsageError: If the source is not a machine, formula or program with a verdict.
    """
    run = _verdict_function(source, max_steps)

    def accepts(word: Word) -> bool:
        verdict = run(word)
        if verdict is None:
            shown = " ".join(word) or "the empty word"
            limit = pluralize(max_steps, "step")
            raise UsageError(f"{source.name!r} has no verdict on {shown} within {limit}", hint="allow more steps")
        return verdict == "accept"

    return accepts


def _verdict_function(source: Source, max_steps: int) -> Callable[[Word], str | None]:
    """Return the function from a word to the verdict; None if the step limit was reached."""
    match source:
        case turing.TuringMachine():
            return lambda word: turing.execute(source, word, max_steps=max_steps).verdict
        case counter.CounterMachine():
            return lambda word: counter.execute(source, word, max_steps=max_steps).verdict
        case crasp.CraspProgram():
            return lambda word: crasp.run(source, word, max_tokens=max_steps).verdict
        case temporal.Specification():
            return lambda word: "accept" if temporal.satisfies(source, word) else "reject"
        case srasp.SraspProgram() if source.has_verdict:
            return lambda word: "accept" if srasp.accepts(source, word) else "reject"
        case _:
            raise UsageError(f"{source.name!r} does not accept or reject words of every length, so it has no language")


@dataclass(frozen=True)
class SliceJob:
    """Description of a sweep that is sent to a worker.

    Args:
        language: The language of the source.
        name: The name of the source.
        text: The text of the source.
        lengths: The lengths of the words.
        max_steps: Maximum number of steps of a run.
        version: The version of softmachine.
    """

    language: str
    name: str
    text: str
    lengths: tuple[int, ...]
    max_steps: int
    version: str = __version__


def make_slice_worker(source: Source, lengths: Sequence[int], max_steps: int) -> RangeFunction:
    """Return a function that decides a part of the words in this process."""
    accepts = membership_predicate(source, max_steps=max_steps)

    def work(start: int, stop: int) -> Json:
        bits = "".join("01"[bool(accepts(word))] for word in iterate_words(source.alphabet, lengths, start, stop))
        return {"accepted": f"{int(bits, 2):x}"}

    return work


@lru_cache(maxsize=2)
def _cached_worker(job: SliceJob) -> RangeFunction:
    if job.version != __version__:
        raise WorkerMismatchError(f"a worker has softmachine {__version__}, not {job.version}")
    return make_slice_worker(deserialise_source(job.language, job.name, job.text), job.lengths, job.max_steps)


def decide_part(job: SliceJob, start: int, stop: int) -> Json:
    """Decide a part of the words on a worker."""
    return _cached_worker(job)(start, stop)


def sweep_slices(
    source: Source,
    lengths: Sequence[int],
    max_steps: int,
    *,
    factory: ExecutorFactory | None = None,
    journal: Path | None = None,
    progress: ProgressCallback = ignore_progress,
) -> Iterator[MyhillNerodeSlice]:
    """Yield the slices of the language of a source.

    Args:
        source: The source.
        lengths: The lengths of the words.
        max_steps: Maximum number of steps of a run.
        factory: The executor for long sweeps.
        journal: File that records finished parts.
        progress: Progress callback; called if the executor cannot be used.
    """
    letters = len(source.alphabet)
    here = make_slice_worker(source, lengths, max_steps)
    wanted = require_enumerable(letters, lengths)
    workers = factory.worker_count if factory else 1

    def job() -> SliceJob:
        return SliceJob(source.language, source.name, serialise_source(source), tuple(wanted), max_steps)

    def away() -> RangeFunction | None:
        try:
            return partial(decide_part, job())
        except UsageError:  # a source of another package may have no text
            return None

    def opened() -> AbstractContextManager[Journal | None]:
        return nullcontext() if journal is None else closing(Journal(journal, {"sweep": "slices", **asdict(job())}))

    def truth() -> Iterator[bool]:
        with opened() as kept:
            forecast = forecast_deciding(letters, wanted, workers, kept.finished_count if kept else 0)
            total = sum(letters**length for length in wanted)
            found = map_range(
                here, total, remote_work=away, factory=factory, journal=kept, check=forecast.check, progress=progress
            )
            with closing(found):
                for part in found:
                    yield from _decode_verdicts(part, journal)

    return slices_from_verdicts(truth(), letters, wanted)


def _decode_verdicts(part: PartResult, journal: Path | None) -> Iterator[bool]:
    """Decode for each word of a part whether it is accepted."""
    count = part.stop - part.start
    try:
        bits = f"{int(part.result['accepted'], 16):0{count}b}"
    except (LookupError, TypeError, ValueError):
        bits = ""
    if len(bits) != count:
        raise SourceError("the journal is damaged: invalid verdicts", place=SourceLocation(str(journal)))
    return (bit == "1" for bit in bits)
