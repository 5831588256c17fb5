"""Myhill–Nerode slices of a language, its words decided in this process or on workers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from pathlib import Path

from softmachine.languages.deciding import decider
from softmachine.languages.formats import source_from, source_text
from softmachine.languages.source import Source
from softmachine.studies.measure.slices import Slice, deciding, require_few, slices_of, words_between
from softmachine.support.errors import MismatchError, Place, SourceError, UsageError
from softmachine.support.parallel import Crew, Journal, Json, Part, Work, parts
from softmachine.support.progress import Tell, nobody
from softmachine.support.version import __version__


@dataclass(frozen=True)
class Job:
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


def work_on(source: Source, lengths: Sequence[int], max_steps: int) -> Work:
    """Return a function that decides a part of the words in this process."""
    accepts = decider(source, max_steps=max_steps)

    def work(start: int, stop: int) -> Json:
        bits = "".join("01"[bool(accepts(word))] for word in words_between(source.alphabet, lengths, start, stop))
        return {"accepted": f"{int(bits, 2):x}"}

    return work


@lru_cache(maxsize=2)
def _prepared(job: Job) -> Work:
    if job.version != __version__:
        raise MismatchError(f"a worker has softmachine {__version__}, not {job.version}")
    return work_on(source_from(job.language, job.name, job.text), job.lengths, job.max_steps)


def do(job: Job, start: int, stop: int) -> Json:
    """Decide a part of the words on a worker."""
    return _prepared(job)(start, stop)


def slices(
    source: Source,
    lengths: Sequence[int],
    max_steps: int,
    *,
    crew: Crew | None = None,
    journal: Path | None = None,
    tell: Tell = nobody,
) -> Iterator[Slice]:
    """Yield the slices of the language of a source.

    Args:
        source: The source.
        lengths: The lengths of the words.
        max_steps: Maximum number of steps of a run.
        crew: The executor for long sweeps.
        journal: File that records finished parts.
        tell: Progress callback; called if the executor cannot be used.
    """
    letters = len(source.alphabet)
    here = work_on(source, lengths, max_steps)
    wanted = require_few(letters, lengths)
    hands = crew.size if crew else 1

    def job() -> Job:
        return Job(source.language, source.name, source_text(source), tuple(wanted), max_steps)

    def away() -> Work | None:
        try:
            return partial(do, job())
        except UsageError:  # a source of another package may have no text
            return None

    def opened() -> AbstractContextManager[Journal | None]:
        return nullcontext() if journal is None else closing(Journal(journal, {"sweep": "slices", **asdict(job())}))

    def truth() -> Iterator[bool]:
        with opened() as kept:
            foresight = deciding(letters, wanted, hands, kept.count if kept else 0)
            total = sum(letters**length for length in wanted)
            found = parts(here, total, away=away, crew=crew, journal=kept, judge=foresight.judge, tell=tell)
            with closing(found):
                for part in found:
                    yield from _truth(part, journal)

    return slices_of(truth(), letters, wanted)


def _truth(part: Part, journal: Path | None) -> Iterator[bool]:
    """Decode for each word of a part whether it is accepted."""
    count = part.stop - part.start
    try:
        bits = f"{int(part.result['accepted'], 16):0{count}b}"
    except (LookupError, TypeError, ValueError):
        bits = ""
    if len(bits) != count:
        raise SourceError("the journal is damaged: invalid verdicts", place=Place(str(journal)))
    return (bit == "1" for bit in bits)
