"""Random sources of a theorem, in every arithmetic and on every engine, compared with independent interpreters."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import softmachine as sm
from softmachine.compiler.model import Model
from softmachine.support.errors import ConstructionError, PrecisionError, UsageError
from softmachine.theorems.codec import DecoderCodec
from tests.fuzz.interpreters import Answer
from tests.fuzz.subjects import REFUSALS, SUBJECTS, Subject, reread

PLAIN = ("float64", "dense")
FEW_STEPS = 100
"""Step limit in the slower ways of running, where only the verdict counts."""
MAX_EXACT_POSITIONS = 1_000
"""Longer prompts are not run in rationals, which would take hours."""
ATTEMPTS = 400
"""Maximum number of consecutive random sources that a theorem refuses."""


class WrongError(AssertionError):
    """A wrong answer."""


def try_one(theorem: str, attention: str, seed: int, tally: Counter[str]) -> None:
    """Compare one source on all its words, in float64 and in some other ways."""
    subject, rng, (source, model) = SUBJECTS[theorem], *drawn(theorem, attention, seed)
    for word in subject.words(rng, source):
        right = subject.truth(source, word, long(subject))
        for arithmetic, engine in ways(subject, model, seed, len(model.codec.prompt(word).tokens)):
            found = answered(model, word, subject, arithmetic, engine)
            tally[found if isinstance(found, str) else "compared"] += 1
            if isinstance(found, Answer) and not agree(found, right, subject, tally):
                raise WrongError(
                    f"{theorem}, {attention}, seed {seed}, {arithmetic} on {engine}: {source!r} on {word!r} is "
                    f"{right}, but the model gives {found}"
                )


def drawn(theorem: str, attention: str, seed: int) -> tuple[random.Random, tuple[sm.Source, Model]]:
    """The first random source that the theorem takes, and its model."""
    for attempt in range(ATTEMPTS):
        rng = random.Random(f"{theorem} {attention} {seed} {attempt}")
        try:
            source = SUBJECTS[theorem].make(rng)
            if not promising(SUBJECTS[theorem], source):
                continue
            length = SUBJECTS[theorem].length
            return rng, (source, sm.compile(reread(rng, source), theorem, attention=attention, length=length))
        except REFUSALS:
            continue
    raise AssertionError(f"{theorem} refuses {ATTEMPTS} random sources")


def promising(subject: Subject, source: sm.Source) -> bool:
    """Whether a run will come to an end where only its verdict counts."""
    return not subject.verdict_only or subject.truth(source, source.alphabet[:1], 8).verdict is not None


def long(subject: Subject) -> int:
    return 2_000 if subject.verdict_only else subject.steps


def ways(subject: Subject, model: Model, seed: int, positions: int) -> Iterator[tuple[str, str]]:
    """The ways in which a model is run: float64, and another one by turns; rationals only for short prompts."""
    yield PLAIN
    if seed % 4 == 3 and isinstance(model.codec, DecoderCodec):
        yield "float64", "fast"
    else:
        rational = "exact" if positions <= MAX_EXACT_POSITIONS else subject.fixed
        yield ("float32", rational, subject.fixed, rational)[seed % 4], "dense"


def answered(model: Model, word: tuple[str, ...], subject: Subject, arithmetic: str, engine: str) -> Answer | str:
    """The answer of the model, or the reason why there is none."""
    try:
        steps = subject.steps if (arithmetic, engine) == PLAIN else min(subject.steps, FEW_STEPS)
        run = sm.run(model, word, arithmetic=arithmetic, engine=engine, max_steps=steps)
    except PrecisionError:
        if arithmetic == "float32":
            return "stopped in float32"
        raise
    except UsageError as error:
        if engine == "fast" and "the fast engine cannot run" in str(error):
            return "declined by the fast engine"
        raise
    except ConstructionError as error:
        if arithmetic == "exact" and "not a rational number" in str(error):
            return "softmax is not rational"
        if arithmetic != "exact" and "layer norm is not defined" in str(error):
            return f"no layer norm in {arithmetic}"
        raise
    found = run.outcome
    return Answer(found.verdict, found.steps, found.output, found.values)


def agree(found: Answer, right: Answer, subject: Subject, tally: Counter[str]) -> bool:
    """Whether an answer is right in everything that the interpreter defines."""
    if subject.verdict_only:
        tally["decided" if found.verdict else "undecided"] += 1
        return found.verdict in (None, right.verdict)
    if found.verdict != right.verdict:
        return False
    defined = [name for name in ("steps", "output", "values") if getattr(right, name) is not None]
    return all(getattr(found, name) == getattr(right, name) for name in defined)
