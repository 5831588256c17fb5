"""Myhill–Nerode slices of a language, its words decided in this process or on workers.

Membership of a word in the language of a source, decided by the reference interpreter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TypeAlias

from softmachine.languages import counter, crasp, srasp, temporal, turing
from softmachine.languages.formats import source_from, source_text
from softmachine.languages.source import Source
from softmachine.studies.measure.myhill_nerode import Slice, deciding, require_few, slices_of, words_between
from softmachine.support import __version__
from softmachine.support.errors import MismatchError, Place, SourceError, UsageError
from softmachine.support.parallel import Crew, Journal, Json, Part, Work, parts
from softmachine.support.progress import Tell, nobody
from softmachine.support.text import many

MAX_STEPS = 1_000_000

Word: TypeAlias = tuple[str, ...]


def decider(source: Source, *, max_steps: int = MAX_STEPS) -> Callable[[Word], bool]:
    """Return the membership predicate of a source.

    The predicate raises a `UsageError` for a word on which the run does not end within the step limit.

    Raises:
        UsageError: If the source is not a machine, formula or program with a verdict.
    """
    run = _runner(source, max_steps)

    def accepts(word: Word) -> bool:
        verdict = run(word)
        if verdict is None:
            shown = " ".join(word) or "the empty word"
            limit = many(max_steps, "step")
            raise UsageError(f"{source.name!r} has no verdict on {shown} within {limit}", hint="allow more steps")
        return verdict == "accept"

    return accepts


def _runner(source: Source, max_steps: int) -> Callable[[Word], str | None]:
    """Return the function from a word to the verdict; None if the step limit was reached."""
    match source:
        case turing.TuringMachine():
            return lambda word: turing.execute(source, word, max_steps=max_steps).verdict
        case counter.CounterMachine():
            return lambda word: counter.execute(source, word, max_steps=max_steps).verdict
        case crasp.Program():
            return lambda word: crasp.run(source, word, max_tokens=max_steps).verdict
        case temporal.Specification():
            return lambda word: "accept" if temporal.satisfies(source, word) else "reject"
        case srasp.Program() if source.decides:
            return lambda word: "accept" if srasp.accepts(source, word) else "reject"
        case _:
            raise UsageError(f"{source.name!r} does not accept or reject words of every length, so it has no language")


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
